"""A price as it is shown and sent: an (epsilon, delta) that an answer costs, exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from sanql.numbers import number_upper, parse_rational, rational_text, show_upper

LEAST_PRICE = "the least that a question may cost"


class Price(Protocol):
    """What an answer costs: the ledger's charge, or what a server says of it."""

    @property
    def epsilon(self) -> Fraction:
        """The epsilon of the whole answer."""

    @property
    def delta(self) -> Fraction:
        """Its delta."""

    @property
    def protects(self) -> tuple[str, ...]:
        """The kinds of privacy unit whose accounts it is charged to; none where there is one kind."""


@dataclass(frozen=True)
class ReceivedPrice:
    """A price that a server has sent."""

    epsilon: Fraction
    delta: Fraction
    protects: tuple[str, ...] = ()

    @classmethod
    def from_dict(cls, shape: Mapping[str, Any]) -> ReceivedPrice:
        """Return the price that `price_exactly` wrote."""
        pair = parse_rational(shape["epsilon"]), parse_rational(shape["delta"])
        return cls(*pair, tuple(map(str, shape.get("protects", ()))))


def is_free(price: Price) -> bool:
    """Return whether nothing is charged, since nothing depends on any unit."""
    return price.epsilon == 0 and price.delta == 0


def price_in_words(price: Price) -> str:
    """Return what is charged, rounded up, and to whose accounts where there are several kinds of unit."""
    accounts = f"{' and '.join(price.protects)} account{'s' if len(price.protects) > 1 else ''}"
    whose = f" on the {accounts}" if price.protects else ""
    return f"epsilon {show_upper(price.epsilon)}, delta {show_upper(price.delta)}{whose}"


def price_to_dict(price: Price, *, cached: bool = False) -> dict[str, float]:
    """Return what is charged as plain numbers, rounded up; a repeat is charged nothing."""
    return {
        "epsilon": 0.0 if cached else number_upper(price.epsilon),
        "delta": 0.0 if cached else number_upper(price.delta),
    }


def price_exactly(price: Price) -> dict[str, Any]:
    """Return a price as exact fractions, in text."""
    pair = {"epsilon": rational_text(price.epsilon), "delta": rational_text(price.delta)}
    return pair | ({"protects": list(price.protects)} if price.protects else {})
