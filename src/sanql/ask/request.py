"""A request: one analyst's question with all its options, the same through every door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sanql.account import Asked, Door, IdempotencyKey
from sanql.answer import Display
from sanql.ask.typed_values import to_plain
from sanql.computed_once import computed_once
from sanql.errors import Refused
from sanql.options import AnswerOptions, read_options
from sanql.parse import QuestionText, normalised

KEY_MAX = 200


@dataclass(frozen=True)
class Request:
    """One question of one analyst, and everything that is asked of its answer.

    `typed` are the options that were passed beside the text, as they were typed. What is sent again
    under the same `idempotency_key` is one request, which is charged once.
    """

    asked: QuestionText
    analyst: str
    options: AnswerOptions
    typed: Mapping[str, object] = field(default_factory=dict)
    door: Door = "python"
    idempotency_key: str | None = None

    @computed_once
    def display(self) -> Display:
        """What is done to noisy values before they are shown."""
        return Display(self.options.other, self.options.nonnegative, self.options.rounded)

    @computed_once
    def said(self) -> Asked:
        """What was asked, as the ledger keeps it."""
        options = {name: to_plain(value) for name, value in self.typed.items()}
        parameters = to_plain(self.asked.parameters)
        key = self.idempotency_key
        return Asked(
            self.asked.sql,
            parameters,
            options,
            normalised(self.asked),
            self.door,
            idempotency=None
            if key is None
            else IdempotencyKey.of(self.analyst, key, [self.asked.sql, parameters, options]),
        )


def read_request(
    asked: QuestionText,
    analyst: str,
    passed: Mapping[str, object] | None = None,
    *,
    door: Door = "python",
    idempotency_key: str | None = None,
) -> Request:
    """Return a request, its options read from the text and from what was passed beside it.

    >>> text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5) COUNT(*) FROM people"
    >>> read_request(QuestionText(text), "ana", {"confidence": "0.9"}).options.epsilon
    Fraction(1, 2)
    """
    typed = {name: value for name, value in (passed or {}).items() if value is not None}
    options = read_options(asked.options, typed)
    check_key(idempotency_key)
    return Request(asked, analyst, options, typed, door, idempotency_key)


def check_key(key: str | None) -> None:
    """Refuse an idempotency key that is no plain text."""
    if key is None:
        return
    plain = key.isascii() and key.isprintable()
    if not (plain and 0 < len(key) <= KEY_MAX):
        raise Refused(
            "idempotency_key_invalid",
            f"an idempotency key has 1 to {KEY_MAX} printable letters of ASCII, and {key[:40]!r} has not",
            "take a random number, or a UUID, for each request",
        )
