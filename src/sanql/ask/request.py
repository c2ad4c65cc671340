"""A request: one analyst's question with all its options, the same from Python and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from sanql.answer import Display
from sanql.options import AnswerOptions, read_options
from sanql.parse import QuestionText


@dataclass(frozen=True)
class Request:
    """One question of one analyst, and everything that is asked of its answer."""

    asked: QuestionText
    analyst: str
    options: AnswerOptions

    @cached_property
    def display(self) -> Display:
        """What is done to noisy values before they are shown."""
        return Display(self.options.other, self.options.nonnegative, self.options.rounded)


def read_request(
    asked: QuestionText, analyst: str, passed: Mapping[str, object] | None = None
) -> Request:
    """Return a request, its options read from the text and from what was passed beside it.

    >>> text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5) COUNT(*) FROM people"
    >>> read_request(QuestionText(text), "ana", {"confidence": "0.9"}).options.epsilon
    Fraction(1, 2)
    """
    return Request(asked, analyst, read_options(asked.split[1], passed))
