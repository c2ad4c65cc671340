"""Tables of three shapes, made the same every time, and the policies that an owner would write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from bench.utility.tails.asked import Asked

_DRAWN = "(hash({}, {}) % 1000000 / 1000000.0)"


def _drawn(what: str, place: int) -> str:
    return _DRAWN.format(what, place)


@dataclass(frozen=True)
class Shape:
    """A table of units with rows: how it is made, what is declared of it, and what is asked.

    `sizes` is how many rows unit `u` has, in SQL; `columns` are computed from a unit and a row `r`.
    """

    units: int
    sizes: str
    columns: str
    declared: str
    rows_max: int
    profiled: tuple[str, ...]
    asked: tuple[Asked, ...]

    def write(self, folder: Path) -> Path:
        """Write the table and its policy into an empty folder; return where the policy is."""
        data = folder / "data"
        data.mkdir(parents=True)
        folder.chmod(0o700)
        with duckdb.connect() as connection:
            connection.execute(
                f"COPY (SELECT u AS unit, {self.columns} FROM (SELECT u, {self.sizes} AS n FROM"
                f" range({self.units}) AS units(u)) AS t, range(CAST(n AS BIGINT)) AS rows(r))"
                f" TO '{data / 'events.parquet'}'"
            )
        policy = folder / "policy.toml"
        policy.write_text(POLICY.format(rows=self.rows_max, declared=self.declared))
        return policy


POLICY = """\
[dataset]
name = "events"
source = "data/"
neighbours = "add-remove"
budget = {{ epsilon = 1000000, delta = 0.1 }}
accounting = "renyi"

[table.events]
privacy_unit = "unit"
rows_per_unit_max = {rows}
[table.events.column]
{declared}"""

COUNT, BY_SHOP, BY_MONTH = (
    Asked("rows", "count"),
    Asked("rows by shop", "count", "shop"),
    Asked("rows by month", "count", "month"),
)
KEYS = """\
shop = { type = "text", domain = ["a", "b", "c", "d", "e"] }
month = { type = "integer", bounds = [1, 12] }
"""
KEYS_SQL = (
    f"chr(CAST(97 + floor(5 * {_drawn('u * 7919 + r', 1)}) AS INTEGER)) AS shop,"
    f" 1 + CAST(floor(12 * {_drawn('u * 7919 + r', 2)}) AS INTEGER) AS month"
)
AMOUNT = f"CAST(round(400 * {_drawn('u * 7919 + r', 3)} ** 3) AS INTEGER)"
AMOUNT_TOML = 'amount = { type = "integer", bounds = [0, 500] }\n'
FEW = f"1 + floor(-8 * ln(1 - {_drawn('u', 4)}))"

SHAPES: dict[str, Callable[[], Shape]] = {
    # 30 of 3,000 customers have three tenths of all rows
    "purchases": lambda: Shape(
        3000,
        f"CASE WHEN u % 100 = 0 THEN 150 + floor(370 * {_drawn('u', 5)}) ELSE {FEW} END",
        f"{KEYS_SQL}, {AMOUNT} AS amount",
        KEYS + AMOUNT_TOML,
        400,
        ("shop", "month", "amount"),
        (
            COUNT,
            BY_SHOP,
            BY_MONTH,
            Asked("sum of amounts", "sum", "", "amount", (0, 500)),
            Asked("sum of amounts by shop", "sum", "shop", "amount", (0, 500)),
            Asked("average amount", "mean", "", "amount", (0, 500)),
            Asked("average amount by shop", "mean", "shop", "amount", (0, 500)),
        ),
    ),
    # as many rows as a power law gives, cut where nobody clicks more in a year
    "clicks": lambda: Shape(
        5000,
        f"least(3000, floor(2 / {_drawn('u', 6)} ** 0.8))",
        KEYS_SQL,
        KEYS,
        500,
        ("shop", "month"),
        (COUNT, BY_SHOP, BY_MONTH),
    ),
    # one row in 25 has a fee
    "visits": lambda: Shape(
        4000,
        FEW,
        f"{KEYS_SQL}, CASE WHEN hash(u, r, 8) % 25 = 0 THEN {AMOUNT} END AS fee",
        KEYS + AMOUNT_TOML.replace("amount", "fee"),
        100,
        ("shop", "month", "fee"),
        (
            COUNT,
            BY_SHOP,
            BY_MONTH,
            Asked("sum of fees", "sum", "", "fee", (0, 500)),
            Asked("sum of fees by shop", "sum", "shop", "fee", (0, 500)),
            Asked("rows with a fee by shop", "present", "shop", "fee"),
            Asked("average fee", "mean", "", "fee", (0, 500)),
        ),
    ),
}  # fmt: skip
