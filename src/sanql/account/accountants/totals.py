"""What charges that are counted together add up to: what they claim, and what they lose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from sanql.account.accountants.divergences import ORDERS, curve
from sanql.account.charge import Charge
from sanql.account.events import Event, leak, pure_epsilon
from sanql.numbers import exact_sum


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
