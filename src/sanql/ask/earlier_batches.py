"""The batches that analysts have answers to, found again in their histories as they are needed.

Only the latest are: of an analyst's last charges so many, and of these so many batches. What they were
planned as is remembered while the data and the profiles are the same; their texts are read from the
ledger each time, so that one that is erased is gone.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sanql.account import AskedQuestion

if TYPE_CHECKING:
    from sanql.account import Ledger
    from sanql.plan import BatchPlan

BATCH = "batch of"
"""How the purpose of a charge begins that is for several questions asked together."""

CHARGES_MAX = 1000
BATCHES_MAX = 10
_PLANS_MAX = 64


@dataclass
class _Seen:
    upto: int = 0  # the number of the last charge that needs no second look
    batches: list[int] = field(default_factory=list)


class EarlierBatches:
    """The latest batches of each analyst of one ledger; safe to share among threads."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._mutex = threading.Lock()
        self._seen: dict[str, _Seen] = {}
        self._plans: OrderedDict[Hashable, BatchPlan | None] = OrderedDict()

    def of(self, analyst: str) -> list[AskedQuestion]:
        """Return the latest batches of an analyst that have answers and texts, newest first."""
        with self._mutex:
            numbers = self._numbers(analyst)
        asked = [self._ledger.questions.numbered(analyst, number) for number in reversed(numbers)]
        return [each for each in asked if each and each.note and each.note.asked]

    def planned(self, about: Hashable, make: Callable[[], BatchPlan | None]) -> BatchPlan | None:
        """Return the plan of a batch, made anew where it is not remembered."""
        with self._mutex:
            if about in self._plans:
                self._plans.move_to_end(about)
                return self._plans[about]
        plan = make()
        with self._mutex:
            self._plans[about] = plan
            while len(self._plans) > _PLANS_MAX:
                self._plans.popitem(last=False)
        return plan

    def _numbers(self, analyst: str) -> list[int]:
        """Return the numbers of an analyst's latest batches that have answers, oldest first."""
        questions = self._ledger.questions
        seen = self._seen.setdefault(analyst, _Seen())
        seen.upto = max(seen.upto, questions.count(analyst) - CHARGES_MAX)
        for asked in questions.of(analyst, seen.upto, CHARGES_MAX):
            is_batch = asked.note is not None and asked.note.purpose.startswith(BATCH)
            if is_batch and asked.outcome == "running":
                break
            if is_batch and asked.outcome == "answered":
                seen.batches = [*seen.batches, asked.number][-BATCHES_MAX:]
            seen.upto = asked.number
        return seen.batches
