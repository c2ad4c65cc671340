"""What charges that are counted together add up to: what they claim, and what they lose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from sanql.account.accountants.divergences import ORDERS, curve
from sanql.account.charge import Charge
from sanql.account.events import Event, leak, pure_epsilon
from sanql.numbers import exact_sum, parse_sum, sum_text


@dataclass(frozen=True)
class Losses:
    """What events lose together, in every way that a Rényi filter may ask.

    `pure` is None once an event has no pure epsilon. `renyi` holds one sum for each of `ORDERS`, in
    units of 2^-80.
    """

    leaked: Fraction = Fraction(0)
    pure: Fraction | None = Fraction(0)
    renyi: tuple[int, ...] = (0,) * len(ORDERS)

    @classmethod
    @lru_cache(maxsize=256)
    def of_charge(cls, events: tuple[Event, ...]) -> Losses:
        """Return the losses of one charge, remembered: several accounts are asked about it in turn."""
        return cls(leak(events), pure_epsilon(events), curve(events))

    @classmethod
    def of_many(cls, events: Iterable[Event]) -> Losses:
        """Return the losses of many charges at once, equal to the merged losses of each."""
        everything = list(events)
        return cls(leak(everything), pure_epsilon(everything), curve(everything))

    def merge(self, other: Losses) -> Losses:
        """Return the losses of both together."""
        pure = None if self.pure is None or other.pure is None else self.pure + other.pure
        renyi = tuple(map(int.__add__, self.renyi, other.renyi))
        return Losses(self.leaked + other.leaked, pure, renyi)


@dataclass(frozen=True)
class Totals:
    """What charges add up to: the epsilons and deltas they claim, and their losses."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    losses: Losses = Losses()

    @classmethod
    def of(cls, events: tuple[Event, ...], epsilon: Fraction, delta: Fraction) -> Totals:
        """Return the totals of one query."""
        return cls(epsilon, delta, Losses.of_charge(events))

    @classmethod
    def of_many(cls, charges: Sequence[Charge]) -> Totals:
        """Return the totals of many charges at once, equal to the merged totals of each."""
        if len(charges) == 1:
            return cls.of(charges[0].events, charges[0].epsilon, charges[0].delta)
        return cls(
            exact_sum(charge.epsilon for charge in charges),
            exact_sum(charge.delta for charge in charges),
            Losses.of_many(event for charge in charges for event in charge.events),
        )

    def add(self, charge: Charge) -> Totals:
        """Return the totals after one more charge."""
        return self.merge(Totals.of(charge.events, charge.epsilon, charge.delta))

    def merge(self, other: Totals) -> Totals:
        """Return the totals of two sets of charges together."""
        losses = self.losses.merge(other.losses)
        return Totals(self.epsilon + other.epsilon, self.delta + other.delta, losses)

    def to_dict(self) -> dict[str, object]:
        """Return the totals in the ledger's words."""
        losses = self.losses
        return {
            "epsilon": sum_text(self.epsilon),
            "delta": sum_text(self.delta),
            "leaked": sum_text(losses.leaked),
            "pure": None if losses.pure is None else sum_text(losses.pure),
            "renyi": list(losses.renyi),
        }

    @classmethod
    def from_dict(cls, shape: object) -> Totals:
        """Return the totals that these words describe; anything else is a ValueError."""
        match shape:
            case {
                "epsilon": epsilon,
                "delta": delta,
                "leaked": leaked,
                "pure": pure,
                "renyi": list(renyi),
                **rest,
            } if not rest and len(renyi) == len(ORDERS) and {*map(type, renyi)} == {int}:
                added = None if pure is None else parse_sum(pure)
                losses = Losses(parse_sum(leaked), added, tuple(renyi))
                return cls(parse_sum(epsilon), parse_sum(delta), losses)
            case _:
                raise ValueError("not what charges add up to")


NOTHING_CHARGED = Totals()
"""What no charges add up to."""


class ChargeHistory:
    """What somebody was ever charged; divergences are summed when they are first needed."""

    def __init__(self, summed: Totals = NOTHING_CHARGED, charges: Iterable[Charge] = ()) -> None:
        self._summed = summed
        self._waiting = [*charges]

    def take(self, charge: Charge) -> None:
        """Take one more charge."""
        self._waiting.append(charge)

    @property
    def charges(self) -> list[Charge]:
        """The charges one by one; ValueError where some have been summed."""
        if self._summed != NOTHING_CHARGED:
            raise ValueError("charges that were summed are not known one by one")
        return self._waiting

    @property
    def claimed(self) -> tuple[Fraction, Fraction]:
        """The epsilons and the deltas that the charges claim, added up."""
        return (
            self._summed.epsilon + exact_sum(charge.epsilon for charge in self._waiting),
            self._summed.delta + exact_sum(charge.delta for charge in self._waiting),
        )

    @property
    def totals(self) -> Totals:
        """What the charges add up to, losses included."""
        if not self._waiting:
            return self._summed
        return self._summed.merge(Totals.of_many(self._waiting))

    def sum_up(self) -> Totals:
        """Return the totals, and from now on know only them."""
        # Replaced before what waited is let go: an interrupt in between counts charges twice,
        # the other way round not at all.
        self._summed = self.totals
        self._waiting = []
        return self._summed
