"""Attackers who ask SQL for exact sums, and the database without rules that they defeat.

An attacker sees nothing but `ask`: SQL in, a number out, or a refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from sanql import San

Ask = Callable[[str], Any]


@dataclass(frozen=True)
class RulesOff:
    """A database that answers every exact question: no cells, no book, no certificate."""

    people: Path

    def __call__(self, sql: str) -> Any:
        """Return the single value of a question."""
        text = sql.replace("FROM people", f"FROM '{self.people}' AS people")
        (row,) = duckdb.sql(text).fetchall()
        return row[0]


def rules_on(san: San) -> Ask:
    """Return San's exact answers as an attacker sees them."""
    return lambda sql: san.query(sql, exact=True).value


def difference(ask: Ask, victim: str) -> float:
    """Return the victim's value as the sum of all minus the sum of all others."""
    everybody = ask("SELECT SUM(score) FROM people")
    others = ask(f"SELECT SUM(score) FROM people WHERE NOT ({victim})")
    return float(everybody - others)


def track(ask: Ask, victim: str) -> float:
    """Return the victim's value through a general tracker: every set asked about is large.

    q(C) = q(C ∪ T) + q(C ∪ ¬T) − q(all), with T about half of the people.
    """
    tracker = "age < 50"
    first = ask(f"SELECT SUM(score) FROM people WHERE ({victim}) OR {tracker}")
    second = ask(f"SELECT SUM(score) FROM people WHERE ({victim}) OR NOT {tracker}")
    return float(first + second - ask("SELECT SUM(score) FROM people"))


def reconstruct(ask: Ask, people: int, queries: int, seed: int = 0) -> NDArray[np.int64]:
    """Return everybody's bit from random subset sums; person i is the one of age i."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, 2, (queries, people))
    sums = []
    for row in chosen:
        ages = ", ".join(str(age) for age in np.flatnonzero(row)) or "-1"
        count = f"SELECT COUNT(*) FROM people WHERE member AND age IN ({ages})"
        sums.append(float(ask(count)))
    solved, *_ = np.linalg.lstsq(chosen.astype(float), np.array(sums), rcond=None)
    return np.round(solved).astype(np.int64)


def membership_scores(
    ask: Ask, columns: Sequence[str], population: NDArray[np.float64], records: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return each record's correlation with the published averages (Homer et al.)."""
    published = np.array(
        [float(ask(f"SELECT AVG(CASE WHEN {c} THEN 1 ELSE 0 END) FROM people")) for c in columns]
    )
    scores: NDArray[np.float64] = (records - population) @ (published - population)
    return scores
