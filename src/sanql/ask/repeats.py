"""Answers that were repeated lately, so that one more repeat is looked up and not planned again.

A repeat of a repeat is the same text, parameters and options from the same analyst. What it rests on is
looked at each time, in one view of the ledger: the version of the data, the cells on record and what is
left of the budget, and whether there are other profiles. Where anything but the budget is another than it
was, the question goes the long way.
What rests on bounds that were found is not kept: they may be found afresh.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sanql.answer import MeasuredContent
from sanql.ask.request import Request

if TYPE_CHECKING:
    from sanql.account import Balance, Ledger, RecordedNow
    from sanql.results import Answer

_ANSWERS_MAX = 1_000
_BYTES_MAX = 1 << 16  # of cells on record, to be kept

_SIMPLE = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class RepeatedAnswer:
    """An answer, what of the ledger it was made of, and its forms as they were last written."""

    question: str
    version: int
    cells: bytes
    answer: Answer
    published: int
    written: dict[str, tuple[tuple[Balance, ...], bytes]] = field(default_factory=dict)

    def again(self, remaining: tuple[Balance, ...]) -> Answer:
        """Return the answer once more; nobody can change what others are given."""
        content = self.answer.content
        ends = {name: (low.copy(), high.copy()) for name, (low, high) in content.ends.items()}
        return replace(
            self.answer,
            content=MeasuredContent(content.table, ends),
            noise=dict(self.answer.noise),
            remaining=remaining,
        )


class Repeats:
    """The answers of one session that were repeated lately; safe to share among threads."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._mutex = threading.Lock()
        self._kept: OrderedDict[Hashable, RepeatedAnswer] = OrderedDict()

    def find(self, request: Request) -> Answer | None:
        """Return the answer to a request that was repeated before; None where it must be looked for."""
        found = self._find(request, self._ledger.recorded_now)
        return None if found is None else found[0].again(found[1])

    def at_hand(
        self, request: Request, form: str, write: Callable[[Answer], bytes]
    ) -> bytes | None:
        """Return in a form what `find` would return, where nobody has to be waited for; None otherwise.

        `write` writes an answer in this form; what it has written is kept while as much is left.
        """
        found = self._find(request, self._ledger.recorded_at_hand)
        if found is None:
            return None
        kept, remaining = found
        left, written = kept.written.get(form, ((), b""))
        if left != remaining:
            written = write(kept.again(remaining))
            if len(written) <= _BYTES_MAX:
                kept.written[form] = remaining, written
        return written

    def _find(
        self, request: Request, look_up: Callable[[str, str], RecordedNow | None]
    ) -> tuple[RepeatedAnswer, tuple[Balance, ...]] | None:
        """Return an answer that stands as it was kept, and what is left now."""
        name = _name(request)
        kept = self._kept.get(name) if name is not None else None
        now = None if kept is None else look_up(request.analyst, kept.question)
        if kept is None or now is None or now.version is None or now.version.formerly:
            return None
        stands = now.version.number == kept.version and now.answer == kept.cells
        stands = stands and self._ledger.published.revision() == kept.published
        return (kept, now.remaining) if stands else None

    def keep(self, request: Request, repeated: RepeatedAnswer) -> None:
        """Remember an answer that was found on record."""
        name = _name(request)
        if name is None or len(repeated.cells) > _BYTES_MAX:
            return
        own = replace(repeated, answer=repeated.again(repeated.answer.remaining), written={})
        with self._mutex:
            self._kept[name] = own
            self._kept.move_to_end(name)
            while len(self._kept) > _ANSWERS_MAX:
                self._kept.popitem(last=False)


def _name(request: Request) -> Hashable | None:
    """Return what requests that are the same have in common; None where that is not so simple."""
    parameters = request.asked.parameters
    if request.options.fresh or request.options.exact:
        return None
    if parameters is None:
        given: Hashable = None
    elif isinstance(parameters, list | tuple) and all(type(v) in _SIMPLE for v in parameters):
        given = tuple((type(value), repr(value)) for value in parameters)
    else:
        return None
    return request.analyst, request.asked.sql, given, request.options
