"""A town of canaries: people who are there or not as fair coins have it, under the owner's terms.

Nobody in it is real, and nothing of the owner's data is in it: what is attacked is the system, with its
engine, its accounts and its doors. Everybody's seat is public and their own, so that all are attacked at
once, and nobody's coin says anything of another's.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sanql.entropy import OsEntropy

ROWS_MAX = 3
"""How many rows of one person count; those who are there have more."""
AMOUNT_MAX = 100
SMALL_BUDGET, SMALL_PRICE = "0.5", "0.1"
"""What one analyst may spend, with a delta of 1e-9, and what each of their questions costs: five fit.

No accounting can let more pass: six answers of 0.1 that tell as much as they may are within 0.5 but for a
delta of 0.002 (randomised response, Kairouz, Oh and Viswanath 2015), and five cost 0.5 less 1e-7.
"""
ACCOUNTING_SLACK = Fraction(1, 10**6)
SELECTION_DELTA = "0.01"

_POLICY = """\
[dataset]
name = "canaries"
source = "data/"
neighbours = "add-remove"
budget = {{ epsilon = 1000, delta = 0.5 }}
accounting = "{accounting}"

[analyst.canary]
[analyst.poor]
budget = {{ epsilon = {small}, delta = 1e-9 }}

[table.single]
privacy_unit = "person"
unique = true
[table.single.column]
seat = {{ type = "integer", bounds = [0, {last}] }}

[table.several]
privacy_unit = "person"
rows_per_unit_max = {rows}
[table.several.column]
seat = {{ type = "integer", bounds = [0, {last}] }}
amount = {{ type = "integer", bounds = [0, {amount}] }}

[table.alone]
privacy_unit = "person"
unique = true
[table.alone.column]
name = {{ type = "text" }}
"""


@dataclass(frozen=True)
class Town:
    """A town that was written: its policy, and the coins of its people, each told by their seat."""

    policy: Path
    coins: NDArray[np.bool_]

    @property
    def people(self) -> int:
        """How many might be there."""
        return len(self.coins)


def write_town(folder: Path, people: int, accounting: str) -> Town:
    """Write a town of so many canaries, whose coins are thrown here, into an empty folder."""
    import pyarrow as pa
    import pyarrow.parquet

    thrown = np.frombuffer(OsEntropy().bytes((people + 7) // 8), dtype=np.uint8)
    coins = np.unpackbits(thrown)[:people].astype(bool)
    seats = np.flatnonzero(coins)
    often = np.repeat(seats, 2 * ROWS_MAX + 1)
    tables = {
        "single": {"person": seats, "seat": seats},
        "several": {"person": often, "seat": often, "amount": np.full(len(often), AMOUNT_MAX)},
        "alone": {
            "person": np.arange(people),
            "name": pa.array([f"name {seat:06d}" for seat in range(people)]),
        },
    }
    (folder / "data").mkdir()
    for name, columns in tables.items():
        pyarrow.parquet.write_table(pa.table(columns), folder / "data" / f"{name}.parquet")
    policy = folder / "policy.toml"
    policy.write_text(
        _POLICY.format(
            accounting=accounting,
            small=SMALL_BUDGET,
            last=people - 1,
            rows=ROWS_MAX,
            amount=AMOUNT_MAX,
        ),
        encoding="utf-8",
    )
    return Town(policy, coins)
