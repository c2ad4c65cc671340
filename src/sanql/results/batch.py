"""What a batch of questions will cost and how exact it will be, beside the questions one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sanql.results.balance import (
    Balance,
    balances_from_dicts,
    remaining_in_words,
    remaining_to_dict,
)
from sanql.results.explanation import Expected
from sanql.results.price import (
    Price,
    ReceivedPrice,
    price_exactly,
    price_in_words,
    price_to_dict,
)
from sanql.visible import visible


@dataclass(frozen=True)
class BatchQuestion:
    """One question of a batch: how it is measured, and how exact it will be, together and by itself."""

    sql: str
    measured: str
    expected: tuple[Expected, ...]
    expected_apart: tuple[Expected, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "sql": self.sql,
            "measured": self.measured,
            "expected": _plain(self.expected),
            "one_by_one": _plain(self.expected_apart),
        }

    @classmethod
    def from_dict(cls, shape: Mapping[str, Any]) -> BatchQuestion:
        """Return the question that `to_dict` wrote."""
        together, apart = _read(shape["expected"]), _read(shape["one_by_one"])
        return cls(shape["sql"], shape["measured"], together, apart)


@dataclass(frozen=True, repr=False)
class BatchExplanation:
    """The price of a batch, and what it is worth.

    One by one, each question would have its share of the same epsilon, split for the least error of all;
    `gain` is how many times smaller the root mean square error is together, as far as it can be told.
    """

    charge: Price
    remaining: tuple[Balance, ...]
    fits: bool
    cached: bool
    confidence: Fraction
    questions: tuple[BatchQuestion, ...]
    gain: float

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "charge": price_to_dict(self.charge, cached=self.cached),
            "remaining": remaining_to_dict(self.remaining),
            "fits": self.fits,
            "cached": self.cached,
            "confidence": float(self.confidence),
            "questions": [question.to_dict() for question in self.questions],
            "gain": self.gain,
            "price": price_exactly(self.charge),
            "balances": [balance.to_dict() for balance in self.remaining],
        }

    @classmethod
    def from_dict(cls, shape: Mapping[str, Any]) -> BatchExplanation:
        """Return the explanation that `to_dict` wrote."""
        return cls(
            charge=ReceivedPrice.from_dict(shape["price"]),
            remaining=balances_from_dicts(shape["balances"]),
            fits=bool(shape["fits"]),
            cached=bool(shape["cached"]),
            confidence=Fraction(repr(float(shape["confidence"]))),
            questions=tuple(map(BatchQuestion.from_dict, shape["questions"])),
            gain=float(shape["gain"]),
        )

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = []
        for number, question in enumerate(self.questions, 1):
            lines.append(f"{number}. {visible(' '.join(question.sql.split()))}")
            lines.append(f"   {question.measured}")
            for together, apart in zip(question.expected, question.expected_apart, strict=True):
                words = f"{visible(together.column)}: {together.in_words()}"
                lines.append(f"   {words}; one by one ± {apart.half_width:,.6g}")
        price = "a repeat, free" if self.cached else price_in_words(self.charge)
        fits = "" if self.fits else "; it does not fit"
        lines.append(
            f"{float(self.confidence):.4g} intervals; price: {price} for all; "
            f"{remaining_in_words(self.remaining)}{fits}"
        )
        lines.append(f"errors are about {self.gain:.1f} times smaller than one by one")
        return "\n".join(lines)


def _read(expected: Iterable[Mapping[str, Any]]) -> tuple[Expected, ...]:
    return tuple(Expected(**each) for each in expected)


def _plain(expected: tuple[Expected, ...]) -> list[dict[str, Any]]:
    return [
        {"column": each.column, "half_width": each.half_width, "note": each.note}
        for each in expected
    ]
