"""Policies of tests: the section that every policy has, and tables over files of a test's own."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from sanql.kernel import ColumnType
from sanql.policy import (
    Budget,
    Column,
    ColumnUnit,
    EngineLimits,
    Neighbours,
    Policy,
    RowUnit,
    Table,
)


def dataset(
    source: str,
    *,
    name: str = "data",
    neighbours: str = "add-remove",
    epsilon: object = 100,
    delta: object = None,
    accounting: str = "pure",
) -> str:
    """Return the section [dataset] of a policy; more keys of it may follow, then other sections.

    It has no braces, so that what stands in them is left to `str.format`.
    """
    lines = [
        "[dataset]",
        f'name = "{name}"',
        f'source = "{source}"',
        f'neighbours = "{neighbours}"',
        f"budget.epsilon = {epsilon}",
        *([] if delta is None else [f"budget.delta = {delta}"]),
        f'accounting = "{accounting}"',
    ]
    return "\n".join(lines) + "\n"


def build_policy(
    root: Path,
    tables: dict[str, tuple[str | None, dict[str, ColumnType]]],
    source: str = "data",
    limits: EngineLimits | None = None,
    *,
    neighbours: Neighbours = "add-remove",
) -> Policy:
    """Return a policy that declares tables: name → (unit column, "row" or None; columns)."""
    declared = {}
    for name, (unit, columns) in tables.items():
        kind = None if unit is None else RowUnit() if unit == "row" else ColumnUnit(unit)
        facts = {column: Column(column, type_) for column, type_ in columns.items()}
        declared[name] = Table(name, kind, facts)
    return Policy(
        path=root / "policy.toml",
        name="test",
        source=source,
        ledger=root / "test.ledger",
        neighbours=neighbours,
        budget=Budget(Fraction(1), Fraction(0)),
        accounting="pure",
        tables=declared,
        analysts={},
        coalitions={},
        engine=limits or EngineLimits(512 << 20, 60.0, 1),
        delta_per_query=None,
        failures_max=3,
    )
