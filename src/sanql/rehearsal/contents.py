"""What a rehearsal found, as data: all that its page and its tables show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

OUTSIDE = (
    "These numbers come from the data without protection. They are for the owner alone, and outside the"
    " guarantee: neither this report nor a number of it may be shown to whoever asks. Values of the"
    " policy that are changed because of it are chosen by looking at the data."
)


@dataclass(frozen=True)
class ColumnTried:
    """How far one column of a question's answers is from the truth, over all its cells and runs.

    `error` is the median of |shown - true| / |true|, and `absolute` that of |shown - true|; a true
    group that is not shown has an error of 1. `worst` is what nine of ten relative errors are below.
    `coverage` is the share of intervals that hold the truth. Each is None where there is nothing to take
    it of, as where all true values are 0.
    """

    name: str
    error: float | None
    worst: float | None
    absolute: float | None
    coverage: float | None


@dataclass(frozen=True)
class EpsilonTried:
    """What the answers to a question are worth at one epsilon; `keys` are true groups that appear.

    Where it is `refused` there are no answers, and that says why, with a remedy.
    """

    epsilon: float
    columns: tuple[ColumnTried, ...] = ()
    keys: float | None = None
    refused: str | None = None

    @property
    def error(self) -> float | None:
        """The greatest error of its columns."""
        return max((each.error for each in self.columns if each.error is not None), default=None)


@dataclass(frozen=True)
class QuestionTried:
    """One question: the truth, what the policy takes away without any noise, and each epsilon.

    `true` are the first rows of the true answer, of `groups` in all, and `cut` is how far answers without
    noise are from them, column by column: what limits, bounds and domains take away, which no epsilon
    mends. `enough` is the least epsilon tried from which on every column's error is within what was
    asked for. Where nothing could be tried, `note` says why.
    """

    number: int
    sql: str
    columns: tuple[str, ...] = ()
    true: tuple[tuple[Any, ...], ...] = ()
    groups: int = 0
    cut: tuple[ColumnTried, ...] = ()
    cut_keys: float | None = None
    at: tuple[EpsilonTried, ...] = ()
    enough: float | None = None
    note: str = ""


@dataclass(frozen=True)
class BudgetTried:
    """All questions asked once at an epsilon, of an account that has spent nothing: who is refused first.

    `answered` of them fit; `refused` says what the account says of the next one.
    """

    epsilon: float
    answered: int
    refused: str | None = None


@dataclass(frozen=True)
class Rehearsal:
    """What a rehearsal of a policy's questions found."""

    dataset: str
    made: datetime
    version: str
    analyst: str
    runs: int
    within: float
    epsilons: tuple[float, ...]
    questions: tuple[QuestionTried, ...]
    budgets: tuple[BudgetTried, ...]

    @property
    def tried(self) -> tuple[QuestionTried, ...]:
        """The questions that have errors to show."""
        return tuple(each for each in self.questions if any(at.error is not None for at in each.at))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        plain = asdict(self)
        plain["outside_the_guarantee"] = OUTSIDE
        plain["made"] = self.made.isoformat()
        for question in plain["questions"]:
            question["true"] = [[_plain(value) for value in row] for row in question["true"]]
        return plain

    def to_html(self) -> str:
        """Return it as one page that needs nothing else (extra `sanql[report]`)."""
        from sanql.rehearsal.page import page_of_rehearsal

        return page_of_rehearsal(self)


def least_enough(at: Iterable[EpsilonTried], within: float) -> float | None:
    """Return the least epsilon from which on, among those tried, errors are within a share.

    >>> tried = [EpsilonTried(e, (ColumnTried("n", error, error, 1.0, None),))
    ...          for e, error in ((1.0, 0.02), (0.1, 0.3), (0.5, 0.04))]
    >>> least_enough(tried, 0.05), least_enough(tried, 0.01)
    (0.5, None)
    """
    enough = None
    for each in sorted(at, key=lambda each: -each.epsilon):
        if each.error is None or each.error > within:
            break
        enough = each.epsilon
    return enough


def _plain(value: object) -> object:
    return value if isinstance(value, int | float | str | bool | None) else str(value)
