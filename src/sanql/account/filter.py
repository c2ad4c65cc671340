"""The rule that decides whether one more charge fits an account, whatever was asked before.

An analyst chooses each question after seeing the answers to the ones before, so the charges are
random and stop at a random time. A *filter* is a stopping rule under which everything answered
together still satisfies the account's (epsilon, delta).

**Pure accounting.** The claims (epsilon_i, delta_i) are added, exactly. Basic composition holds for
adaptively chosen parameters as long as both sums stay within the budget on every path.

**Rényi accounting.** Fix, before the first question, the orders a of `ORDERS` and weights w_a that
sum to 1. A charge fits when afterwards

    the leaks add up to at most delta/2, and
    some order a has  sum of D_a(charge)  <=  B_a,   c_a exp((a-1)(B_a - epsilon)) = w_a delta/2,

or the pure epsilons, which are the divergences of order infinity, add up to at most epsilon.

*Proof.* Take two neighbouring databases, P and Q the laws of all answers on each, and L the privacy
loss ln(P/Q) accumulated until the filter stops. (epsilon, delta)-privacy is E_P (1 - exp(epsilon -
L))₊ <= delta. Write every (e, d)-private selection as "leak with probability d, else randomised
response" (Kairouz, Oh and Viswanath) and count leaks apart: on every path their probabilities add
up to at most delta/2, so P(some leak) <= delta/2. (For keys that surface under Gaussian noise, and
the losses on the other neighbour, see `FailureEvent`.) Without a leak, each M_a = exp((a-1)(L - sum
of D_a)) is a supermartingale under P: given the past, the next charge is fixed and multiplies it by
exp((a-1)(L_i - D_a)) whose mean is at most 1. So E_P M_a <= 1 at the stop. The path stops with some
order within its budget, which order depends on the path:

- infinity: L <= sum of pure epsilons <= epsilon, and (1 - exp(epsilon - L))₊ = 0;
- finite a: (1 - exp(epsilon - L))₊ <= c_a exp((a-1)(L - epsilon))
  = c_a exp((a-1)(sum of D_a - epsilon)) M_a <= w_a delta/2 M_a.

In both cases (1 - exp(epsilon - L))₊ <= sum over a of w_a delta/2 M_a, whose mean is at most
delta/2. ∎

Without the weights the last step fails: "some order within its budget" would be proved only for one
order named in advance. Half of the weight goes to the order at which Gaussian charges go furthest
with this budget, the rest is spread evenly over the others.

The guarantee is for limits fixed in advance. An owner who raises a budget after seeing answers has
chosen a new account, whose guarantee is that of the greater budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import assert_never

from sanql.account.charge import Charge
from sanql.account.conversion import gaussian_rho_lower
from sanql.account.events import (
    Event,
    FailureEvent,
    GaussianEvent,
    LaplaceEvent,
    SelectionEvent,
    leak,
)
from sanql.account.numbers import EPSILON_MIN, round_down_to_digits
from sanql.account.renyi import ORDERS, UNIT_BITS, conversion_upper, to_units_upper
from sanql.account.totals import Totals
from sanql.policy.model import Accounting, Budget

_ONE = 1 << UNIT_BITS
_BISECTIONS = 24


@dataclass(frozen=True)
class Filter:
    """The stopping rule of one account: a budget and the way it is counted."""

    budget: Budget
    accounting: Accounting

    def fits(self, totals: Totals, charge: Charge) -> bool:
        """Return whether the account may take this charge besides what it has taken."""
        return self.within(totals.add(charge))

    def within(self, totals: Totals) -> bool:
        """Return whether these totals keep to the budget."""
        match self.accounting:
            case "pure":
                return totals.epsilon <= self.budget.epsilon and totals.delta <= self.budget.delta
            case "renyi":
                return self._within_renyi(totals)
            case _:
                assert_never(self.accounting)

    def spent_upper(self, totals: Totals) -> tuple[Fraction, Fraction]:
        """Return an (epsilon, delta) that the queries with these totals satisfy, for showing.

        It holds for the queries as if they had been fixed in advance; the promise under adaptive
        questions is the budget itself.
        """
        claimed = (totals.epsilon, totals.delta)
        if self.accounting == "pure":
            return claimed
        proofs, losses = [claimed], totals.losses
        if losses.pure is not None:
            proofs.append((losses.pure, losses.leaked))
        if self.budget.delta > 0:
            half = self.budget.delta / 2
            cheapest = min(
                units + to_units_upper(conversion_upper(order, weight * half))
                for order, weight, units in zip(
                    ORDERS, order_weights(self.budget), losses.renyi, strict=True
                )
            )
            proofs.append((max(Fraction(0), Fraction(cheapest, _ONE)), losses.leaked + half))
        affordable = [proof for proof in proofs if proof[1] <= self.budget.delta]
        return min(affordable, default=claimed)

    def remaining_lower(self, totals: Totals) -> Budget:
        """Return what is left, for showing: any purely epsilon-private query up to it still fits.

        The delta left is what leaks may still use; under Rényi accounting that is at most half of
        the budget's, since the other half pays for the conversion.
        """
        match self.accounting:
            case "pure":
                left = self.budget.delta - totals.delta
                epsilon = max(Fraction(0), self.budget.epsilon - totals.epsilon)
                return Budget(epsilon if left >= 0 else Fraction(0), max(Fraction(0), left))
            case "renyi":
                left = self.budget.delta / 2 - totals.losses.leaked
                return Budget(self._remaining_pure(totals), max(Fraction(0), left))
            case _:
                assert_never(self.accounting)

    def largest_epsilon_that_fits(self, totals: Totals, charge: Charge) -> Fraction | None:
        """Return about the largest epsilon at which the same query would fit, or None.

        Exact for pure accounting. For Rényi accounting the events are scaled as a planner would
        scale them, so it is a suggestion: the query planned anew is checked like any other.
        """

        if charge.epsilon == 0:
            return None
        if self.accounting == "pure":
            left = min(charge.epsilon, self.budget.epsilon - totals.epsilon)
            fitting = self.within(totals.merge(Totals(left, charge.delta, None)))
            return left if left >= EPSILON_MIN and fitting else None

        def fits(epsilon: Fraction) -> bool:
            events = _scaled(charge, epsilon)
            return self.within(totals.merge(Totals.of(events, epsilon, charge.delta)))

        found = _largest(charge.epsilon, fits)
        rounded = round_down_to_digits(found, 3)
        return rounded if rounded >= EPSILON_MIN else None

    def _within_renyi(self, totals: Totals) -> bool:
        losses = totals.losses
        if losses.leaked > self.budget.delta / 2:
            return False
        if losses.pure is not None and losses.pure <= self.budget.epsilon:
            return True
        limits = order_limits(self.budget)
        return any(units <= limit for units, limit in zip(losses.renyi, limits, strict=False))

    def _remaining_pure(self, totals: Totals) -> Fraction:
        if not self.within(totals):
            return Fraction(0)
        exact, pure = Fraction(0), totals.losses.pure
        if pure is not None:
            exact = max(exact, self.budget.epsilon - pure)

        def fits(epsilon: Fraction) -> bool:
            event = SelectionEvent(epsilon, Fraction(0), 1)
            return self.within(totals.merge(Totals.of((event,), epsilon, Fraction(0))))

        quick = self._remaining_estimate(totals)
        if quick <= exact:
            return exact
        return max(exact, quick if fits(quick) else _largest(self.budget.epsilon, fits))

    def _remaining_estimate(self, totals: Totals) -> Fraction:
        """Return nearly the largest pure epsilon that fits some order.

        An epsilon-private query has a Rényi divergence of order a of at most min(epsilon, a
        epsilon^2 / 2), so what is left of an order's limit turns into an epsilon at once.
        """
        best = 0.0
        for order, used, limit in zip(
            ORDERS, totals.losses.renyi, order_limits(self.budget), strict=False
        ):
            left = (limit - used) / _ONE
            if left > 0:
                best = max(best, left, math.sqrt(2 * left / order))
        return min(self.budget.epsilon, Fraction(best * (1 - 2**-20)))


@lru_cache(maxsize=256)
def order_weights(budget: Budget) -> tuple[Fraction, ...]:
    """Return the weight of each of `ORDERS`, fixed by the budget alone; they add up to 1."""
    epsilon, share = float(budget.epsilon), budget.delta / 4

    def rho(order: float) -> float:
        return (epsilon - conversion_upper(order, share)) / order

    best = max(ORDERS, key=rho)
    others = Fraction(1, 2 * (len(ORDERS) - 1))
    return tuple(Fraction(1, 2) if order == best else others for order in ORDERS)


@lru_cache(maxsize=256)
def order_limits(budget: Budget) -> tuple[int, ...]:
    """Return B_a for each of `ORDERS` in units of 2^-80, rounded down; none without a delta."""
    if budget.delta == 0:
        return ()
    whole = math.floor(budget.epsilon * _ONE)
    return tuple(
        whole - to_units_upper(conversion_upper(order, weight * budget.delta / 2))
        for order, weight in zip(ORDERS, order_weights(budget), strict=True)
    )


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
