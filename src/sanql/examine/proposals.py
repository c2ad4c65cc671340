"""Rows looked at for a draft: types, ends and few values of columns, for `sanql init --look`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

from sanql.errors import PolicyError
from sanql.examine.rows import Rows, examined_rows
from sanql.kernel import CANONICAL, quote_name
from sanql.policy import (
    DOMAIN_PROPOSED_MOST,
    Column,
    Policy,
    SeenColumn,
    SeenTables,
    Table,
    load_with_faults,
    look_form,
    names_somebody,
    units_by_name,
)

OFTEN = 20
"""How many must have a value before it is proposed as a public key."""
_UNITS_LEAST = 100
_TEXT_MOST = 200


def look_to_draft(
    files: Sequence[Path], name: str, output: Path, progress: Callable[[str], None]
) -> SeenTables:
    """Return what is seen in the rows of files of which a policy is drafted as `output`.

    That they are looked at is put on record beside where the policy will have its ledger.
    """
    policy = _for_looking(files, name, output.absolute())
    with examined_rows(policy, "init --look", progress, drafted=True) as rows:
        return {table.name: _seen(rows, table) for table in policy.tables.values()}


def _for_looking(files: Sequence[Path], name: str, output: Path) -> Policy:
    """Return a policy under which every column of the files is read as the type that fits it."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "policy.toml"
        file.write_text(look_form([path.absolute() for path in files], name), encoding="utf-8")
        policy, faults = load_with_faults(file)
    if policy is None or faults:
        raise PolicyError(faults)
    return replace(policy, path=output, ledger=output.parent / f"{name}.ledger")


def _seen(rows: Rows, table: Table) -> Mapping[str, SeenColumn]:
    columns = rows.bound[table.name].inferred or {}
    whose = next(iter(units_by_name(list(columns))), None)
    return {name: _column(rows, table, column, whose) for name, column in columns.items()}


def _column(rows: Rows, table: Table, column: Column, whose: str | None) -> SeenColumn:
    read, relation = quote_name(column.name), rows.relation(table)
    if CANONICAL[column.type] == "DOUBLE":  # what is infinite or no number counts as missing
        read = f"CASE WHEN isfinite({read}) THEN {read} END"
    end = {"date": f"year({read})", "timestamp": f"year({read})"}.get(column.type, read)
    if column.type in ("text", "boolean"):
        end = "NULL::BIGINT"
    found = rows.first(
        f"SELECT count(*) AS every, count({read}) AS had, count(DISTINCT {read}) AS several, "  # noqa: S608
        f"min({end}) AS low, max({end}) AS high FROM {relation}"
    )
    low, high, named = found["low"], found["high"], names_somebody(column.name)
    identified = found["had"] == found["every"] and found["several"] >= _UNITS_LEAST
    return SeenColumn(
        column.type,
        None if low is None or named else (Fraction(low), Fraction(high)),
        None if named else _values(rows, table, column, found["several"], whose),
        missing=found["had"] < found["every"],
        likely_unit=identified and column.type in ("integer", "text"),
    )


def _values(
    rows: Rows, table: Table, column: Column, several: int, whose: str | None
) -> tuple[int | str, ...] | None:
    """Return a column's values where they are few and many people have each; None elsewhere."""
    if column.type not in ("integer", "text") or not 1 <= several <= DOMAIN_PROPOSED_MOST:
        return None
    name = quote_name(column.name)
    have = "count(*)" if whose is None else f"count(DISTINCT {quote_name(whose)})"
    found = rows.all(
        f"SELECT {name} AS v, {have} AS n FROM {rows.relation(table)} "  # noqa: S608
        f"WHERE {name} IS NOT NULL GROUP BY {name} ORDER BY {name}"
    )
    if any(row["n"] < OFTEN or _unfit(row["v"]) for row in found):
        return None
    return tuple(row["v"] for row in found)


def _unfit(value: int | str) -> bool:
    return isinstance(value, str) and ("\0" in value or len(value) > _TEXT_MOST)
