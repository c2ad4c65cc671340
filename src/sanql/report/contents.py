"""What a report says, as data: all that its page shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sanql.examine import Look
from sanql.results import Balance


@dataclass(frozen=True)
class LearnedAtMost:
    """What answers of a guarantee can tell the best informed attacker of one person, at most.

    `beliefs` are how likely they hold it before and after; all of them hold except with the probability
    `failure`. A test with 5 % false alarms finds no more than `found`.
    """

    epsilon: float
    delta: float
    beliefs: tuple[tuple[float, float], ...]
    failure: float
    found: float


@dataclass(frozen=True)
class AccountStanding:
    """One account: its budget, what is spent of it, and what that means, now and if all were spent."""

    balance: Balance
    questions: int
    so_far: LearnedAtMost
    in_the_end: LearnedAtMost

    @property
    def share(self) -> float:
        """How much of its epsilon is spent."""
        budget = float(self.balance.budget.epsilon)
        return float(self.balance.spent_upper.epsilon) / budget if budget else 1.0


@dataclass(frozen=True)
class ProtectedTable:
    """A table, and whose presence in it is protected; nobody's where it is public."""

    name: str
    unit: str


@dataclass(frozen=True)
class ContinualCount:
    """A count that is released period by period: of what, and how often so far."""

    name: str
    table: str
    by: str
    unit: str
    rows_per_unit: int
    epsilon: float
    released: int
    releases: int


@dataclass(frozen=True)
class ChangeOnRecord:
    """An event that is no question: limits, a version of the data, the owner's word on the account."""

    record: int
    time: str
    what: str


@dataclass(frozen=True)
class Report:
    """What was promised, what was asked and spent, and what anybody can have learned from it."""

    dataset: str
    made: datetime
    version: str
    neighbours: str
    accounting: str
    tables: tuple[ProtectedTable, ...]
    accounts: tuple[AccountStanding, ...]
    questions: tuple[Mapping[str, Any], ...]
    exact: tuple[Mapping[str, Any], ...]
    continual: tuple[ContinualCount, ...]
    alerts: tuple[str, ...]
    changes: tuple[ChangeOnRecord, ...]
    looks: tuple[Look, ...]
    chosen_looking: tuple[str, ...]
    audit: Mapping[str, Any] | None
    verification: Mapping[str, Any]

    @property
    def whole(self) -> AccountStanding:
        """The account of everybody together; of several kinds of unit, that of which most is spent."""
        shared = [each for each in self.accounts if each.balance.kind == "dataset"]
        return max(shared, key=lambda each: each.balance.spent_upper.epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON has it; numbers are rounded to the safe side."""
        plain = asdict(self)
        plain["made"] = self.made.isoformat()
        plain["accounts"] = [
            {
                **each.balance.to_dict(),
                "questions": each.questions,
                "so_far": asdict(each.so_far),
                "in_the_end": asdict(each.in_the_end),
            }
            for each in self.accounts
        ]
        return plain
