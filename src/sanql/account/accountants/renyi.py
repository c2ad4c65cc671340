"""The Rényi accountant: charges are counted together by an odometer, and many small ones cost less.

Which charges it counts, with which delta, and why that is sound whatever is asked: `filter` has the
rule and its proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, reduce
from typing import assert_never

from sanql.account.accountants.conversion import gaussian_rho_lower
from sanql.account.accountants.divergences import (
    ORDERS,
    UNIT_BITS,
    conversion_upper,
    to_units_upper,
)
from sanql.account.accountants.filter import Spent
from sanql.account.accountants.totals import NOTHING_CHARGED, ChargeHistory, Losses, Totals
from sanql.account.charge import Charge
from sanql.account.events import (
    Event,
    FailureEvent,
    GaussianEvent,
    LaplaceEvent,
    SelectionEvent,
    leak,
)
from sanql.numbers import EPSILON_MIN, parse_sum, round_down_to_digits, sum_text
from sanql.policy import Budget

CONVERSION_SHARE = Fraction(1, 8)
"""The part of the delta left that a new odometer takes for itself; leaks may use the rest."""

_ONE = 1 << UNIT_BITS
_BISECTIONS = 24


@dataclass(frozen=True)
class Odometer:
    """What is fixed when charges begin to be counted together: an epsilon to aim at, and a delta.

    The weights of the orders follow from both. With a delta of 0 only order infinity counts.
    """

    epsilon: Fraction
    delta: Fraction

    def read_upper(self, losses: Losses) -> Fraction | None:
        """Return the epsilon that these losses come to; None when no epsilon is enough."""
        readings = [] if losses.pure is None else [losses.pure]
        if self.delta > 0:
            units = min(map(int.__add__, losses.renyi, order_conversions(self)))
            readings.append(max(Fraction(0), Fraction(units, _ONE)))
        return min(readings, default=None)


@dataclass(frozen=True)
class RenyiComposition:
    """The charges that an odometer counts together."""

    odometer: Odometer
    totals: Totals

    @property
    def epsilon_upper(self) -> Fraction | None:
        """What the odometer reads; None when no epsilon is enough."""
        return self.odometer.read_upper(self.totals.losses)

    @property
    def delta_upper(self) -> Fraction:
        """The leaks of the charges, and the odometer's own delta."""
        return self.totals.losses.leaked + self.odometer.delta

    def proved_upper(self, delta_max: Fraction) -> Budget:
        """Return the least epsilon, with its delta, proved for these charges within a delta.

        Three proofs: their claims added; pure epsilons and leaks added; the odometer's reading.
        """
        totals, losses = self.totals, self.totals.losses
        claimed = (totals.epsilon, totals.delta)
        proofs = [claimed]
        if losses.pure is not None:
            proofs.append((losses.pure, losses.leaked))
        read = self.epsilon_upper
        if read is not None:
            proofs.append((read, self.delta_upper))
        return Budget(*min((proof for proof in proofs if proof[1] <= delta_max), default=claimed))

    def to_dict(self) -> dict[str, object]:
        """Return it in the ledger's words."""
        return {
            "epsilon": sum_text(self.odometer.epsilon),
            "delta": sum_text(self.odometer.delta),
            "totals": self.totals.to_dict(),
        }

    @classmethod
    def from_dict(cls, shape: object) -> RenyiComposition:
        """Return the charges that these words describe; anything else is a ValueError."""
        match shape:
            case {"epsilon": epsilon, "delta": delta, "totals": totals, **rest} if not rest:
                odometer = Odometer(parse_sum(epsilon), parse_sum(delta))
                return cls(odometer, Totals.from_dict(totals))
            case _:
                raise ValueError("not charges that an odometer counts")


@dataclass(frozen=True)
class RenyiAccountant:
    """The accountant that opens an odometer, and lets it count every charge from then on."""

    budget: Budget

    def fits(self, spent: Spent, charge: Charge) -> bool:
        """Return whether paid charges and the odometer keep to the budget with this charge."""
        return self.take(spent, charge).within(self.budget)

    def take(self, spent: Spent, charge: Charge) -> Spent:
        """Return what is spent after one more charge."""
        return self._take(spent, charge.events, charge.epsilon, charge.delta)

    def take_all(self, spent: Spent, charges: Sequence[Charge]) -> Spent:
        """Return what is spent after these charges; equal events have their divergences taken once.

        Where each is counted is decided in turn, from claims alone.
        """
        odometer, counted = None, []
        for charge in charges:
            odometer = odometer or self._odometer_for(spent, charge.epsilon, charge.delta)
            if odometer is None:
                spent = spent.pay(charge.epsilon, charge.delta)
            else:
                counted.append(charge)
        if odometer is None:
            return spent
        return _counted_by(odometer, spent, Totals.of_many(counted))

    def spent_upper(self, spent: Spent) -> Budget:
        """Return an (epsilon, delta) that the queries so far satisfy."""
        return spent.proved_upper(self.budget)

    def remaining_lower(self, spent: Spent) -> Budget:
        """Return an epsilon up to which any purely private query fits, and the delta left for leaks."""
        left = max(Fraction(0), self.budget.delta - spent.delta_upper)
        if spent.together is None:
            left *= 1 - CONVERSION_SHARE
        if not spent.within(self.budget):
            return Budget(Fraction(0), left)
        return Budget(self._remaining_epsilon(spent), left)

    def largest(self, spent: Spent, charge: Charge) -> Fraction | None:
        """Return about the largest epsilon at which the same query would fit, or None.

        The events are scaled as a planner would scale them, so it is a suggestion.
        """
        if charge.epsilon == 0:
            return None

        def fits(epsilon: Fraction) -> bool:
            events = _scaled(charge, epsilon)
            return self._take(spent, events, epsilon, charge.delta).within(self.budget)

        found = _largest(charge.epsilon, fits)
        rounded = round_down_to_digits(found, 3)
        return rounded if rounded >= EPSILON_MIN else None

    def spent_before(self, charged: Sequence[ChargeHistory]) -> Budget:
        """Return what these charges come to together, as an odometer of this budget reads them."""
        odometer = Odometer(self.budget.epsilon, CONVERSION_SHARE * self.budget.delta)
        together = reduce(Totals.merge, (history.totals for history in charged), NOTHING_CHARGED)
        composed = RenyiComposition(odometer, together)
        return composed.proved_upper(self.budget.delta)

    def delta_share(self, epsilon_share: Fraction) -> Fraction:
        """Return half of its square.

        About 1/r² queries of the share r fit, since a budget of Gaussian noise falls with the square
        of epsilon, and half of delta at the least is there for keys that surface.
        """
        return epsilon_share * epsilon_share / 2

    def _take(
        self, spent: Spent, events: tuple[Event, ...], epsilon: Fraction, delta: Fraction
    ) -> Spent:
        odometer = self._odometer_for(spent, epsilon, delta)
        if odometer is None:
            return spent.pay(epsilon, delta)
        return _counted_by(odometer, spent, Totals.of(events, epsilon, delta))

    def _odometer_for(self, spent: Spent, epsilon: Fraction, delta: Fraction) -> Odometer | None:
        """Return the odometer that counts the next charge, opened if need be; None if it is paid."""
        match spent.together:
            case RenyiComposition(odometer):
                return odometer
            case None:
                left, whole = self.budget.delta - spent.paid.delta, self.budget
                if left <= 0 or delta * whole.epsilon >= (1 - CONVERSION_SHARE) * (
                    epsilon * whole.delta
                ):
                    return None
                aim = max(Fraction(0), whole.epsilon - spent.paid.epsilon)
                return Odometer(aim, CONVERSION_SHARE * left)
            case _:
                return None  # counted together in another way, which has the account's one delta

    def _remaining_epsilon(self, spent: Spent) -> Fraction:
        def fits(epsilon: Fraction) -> bool:
            event = SelectionEvent(epsilon, Fraction(0), 1)
            return self._take(spent, (event,), epsilon, Fraction(0)).within(self.budget)

        exact, quick = self._remaining_added(spent), self._remaining_estimate(spent)
        if quick <= exact:
            return exact
        return max(exact, quick if fits(quick) else _largest(self.budget.epsilon, fits))

    def _remaining_added(self, spent: Spent) -> Fraction:
        """Return what is left where pure epsilons are added to what is spent."""
        match spent.together:
            case RenyiComposition(totals=totals):
                read = totals.losses.pure
            case None:
                read = Fraction(0)
            case _:
                read = spent.together.epsilon_upper
        left = Fraction(0) if read is None else self.budget.epsilon - spent.paid.epsilon - read
        return max(Fraction(0), left)

    def _remaining_estimate(self, spent: Spent) -> Fraction:
        """Return nearly the largest pure epsilon that fits some order.

        An epsilon-private query has a Rényi divergence of order a of at most min(epsilon, a
        epsilon^2 / 2), so what is left of an order's limit turns into an epsilon at once.
        """
        odometer = self._odometer_for(spent, Fraction(1), Fraction(0))
        if odometer is None or odometer.delta == 0:
            return Fraction(0)
        limit, best = math.floor((self.budget.epsilon - spent.paid.epsilon) * _ONE), 0.0
        for order, used, more in zip(
            ORDERS, _totals(spent).losses.renyi, order_conversions(odometer), strict=True
        ):
            left = (limit - used - more) / _ONE
            if left > 0:
                best = max(best, left, math.sqrt(2 * left / order))
        return min(self.budget.epsilon, Fraction(best * (1 - 2**-20)))


def _counted_by(odometer: Odometer, spent: Spent, more: Totals) -> Spent:
    """Return what is spent after charges that an odometer counts."""
    return replace(spent, together=RenyiComposition(odometer, _totals(spent).merge(more)))


def _totals(spent: Spent) -> Totals:
    """Return what an odometer has counted so far."""
    return spent.together.totals if isinstance(spent.together, RenyiComposition) else Totals()


@lru_cache(maxsize=256)
def order_weights(odometer: Odometer) -> tuple[Fraction, ...]:
    """Return the weight of each of `ORDERS`; they add up to 1."""
    epsilon, share = float(odometer.epsilon), odometer.delta / 2

    def rho(order: float) -> float:
        return (epsilon - conversion_upper(order, share)) / order

    best = max(ORDERS, key=rho)
    others = Fraction(1, 2 * (len(ORDERS) - 1))
    return tuple(Fraction(1, 2) if order == best else others for order in ORDERS)


@lru_cache(maxsize=256)
def order_conversions(odometer: Odometer) -> tuple[int, ...]:
    """Return what each order adds to its sum in a reading, in units of 2^-80, rounded up."""
    weighted = zip(ORDERS, order_weights(odometer), strict=True)
    added = [conversion_upper(order, weight * odometer.delta) for order, weight in weighted]
    return tuple(to_units_upper(added))


def _largest(most: Fraction, fits: Callable[[Fraction], bool]) -> Fraction:
    """Return nearly the largest epsilon up to `most` that fits, by bisection from below."""
    if fits(most):
        return most
    low, high = Fraction(0), most
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _scaled(charge: Charge, epsilon: Fraction) -> tuple[Event, ...]:
    """Return the events of the same query at another epsilon, as a planner would scale them."""
    factor = epsilon / charge.epsilon
    rest = charge.delta - leak(charge.events)
    shrink = factor * factor
    if rest > 0 and epsilon > 0:
        shrink = gaussian_rho_lower(epsilon, rest) / gaussian_rho_lower(charge.epsilon, rest)

    def scale(event: Event) -> Event:
        match event:
            case LaplaceEvent():
                return replace(event, scale=event.scale / factor)
            case GaussianEvent():
                return replace(event, sigma2=event.sigma2 / shrink)
            case SelectionEvent():
                return replace(event, epsilon=event.epsilon * factor)
            case FailureEvent():
                return event
            case _:
                assert_never(event)

    return tuple(scale(event) for event in charge.events)
