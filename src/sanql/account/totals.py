"""What charges add up to: the claims that pure accounting adds, the losses that a Rényi filter does.

Divergences are dear and claims are cheap, so totals may keep claims alone. Such totals are good for
pure accounting only: asked for their losses they raise, they never stand for a loss of nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from sanql.account.charge import Charge
from sanql.account.events import Event, leak, pure_epsilon
from sanql.account.renyi import ORDERS, charge_curve, curve


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
    def of_charge(cls, events: tuple[Event, ...]) -> Losses:
        """Return the losses of one charge."""
        return cls(leak(events), pure_epsilon(events), charge_curve(events))

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
    """What the charges of an account add up to; `kept` is None where only claims are counted."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    kept: Losses | None = Losses()

    @classmethod
    def of(cls, events: tuple[Event, ...], epsilon: Fraction, delta: Fraction) -> Totals:
        """Return the totals of one query."""
        return cls(epsilon, delta, Losses.of_charge(events))

    @property
    def losses(self) -> Losses:
        """The losses; a ValueError where only claims are counted."""
        if self.kept is None:
            raise ValueError("these totals count claims only; Rényi accounting needs the losses")
        return self.kept

    def add(self, charge: Charge) -> Totals:
        """Return the totals after one more charge, counted as these are."""
        kept = None if self.kept is None else self.kept.merge(Losses.of_charge(charge.events))
        return Totals(self.epsilon + charge.epsilon, self.delta + charge.delta, kept)

    def merge(self, other: Totals) -> Totals:
        """Return the totals of two sets of charges together."""
        both = self.kept is not None and other.kept is not None
        kept = self.losses.merge(other.losses) if both else None
        return Totals(self.epsilon + other.epsilon, self.delta + other.delta, kept)
