"""A request: one analyst's question with all its options, the same through every door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from sanql.account import Asked, Door
from sanql.answer import Display
from sanql.ask.typed_values import to_plain
from sanql.options import AnswerOptions, read_options
from sanql.parse import QuestionText, normalised


@dataclass(frozen=True)
class Request:
    """One question of one analyst, and everything that is asked of its answer.

    `typed` are the options that were passed beside the text, as they were typed.
    """

    asked: QuestionText
    analyst: str
    options: AnswerOptions
    typed: Mapping[str, object] = field(default_factory=dict)
    door: Door = "python"

    @cached_property
    def display(self) -> Display:
        """What is done to noisy values before they are shown."""
        return Display(self.options.other, self.options.nonnegative, self.options.rounded)

    @cached_property
    def said(self) -> Asked:
        """What was asked, as the ledger keeps it."""
        options = {name: to_plain(value) for name, value in self.typed.items()}
        parameters = to_plain(self.asked.parameters)
        return Asked(self.asked.sql, parameters, options, normalised(self.asked), self.door)


def read_request(
    asked: QuestionText,
    analyst: str,
    passed: Mapping[str, object] | None = None,
    *,
    door: Door = "python",
) -> Request:
    """Return a request, its options read from the text and from what was passed beside it.

    >>> text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5) COUNT(*) FROM people"
    >>> read_request(QuestionText(text), "ana", {"confidence": "0.9"}).options.epsilon
    Fraction(1, 2)
    """
    typed = {name: value for name, value in (passed or {}).items() if value is not None}
    options = read_options(asked.split[1], typed)
    return Request(asked, analyst, options, typed, door)
