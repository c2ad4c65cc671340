"""The rule that decides whether one more charge fits an account, whatever was asked before.

An analyst chooses each question after seeing the answers to the ones before, and an owner may raise
or lower budgets and change the accounting after seeing them too. So charges, limits and the end are
all random. What is proved here covers that.

**The rule.** An account keeps two things: what it has *paid*, the sum of the claims (epsilon_i,
delta_i) of charges counted one by one; and, from some charge on, an *odometer*, which counts charges
together. An odometer is opened with a delta of its own, d, and weights w_a that sum to 1 over the
orders a of `ORDERS`; neither ever changes afterwards. It reads

    r = the least of  sum of D_a(charge) + (ln c_a - ln(w_a d)) / (a-1)  over all orders a, or
        the sum of the pure epsilons of its charges (order infinity).

A charge fits when afterwards, with the budget (epsilon, delta) in force,

    paid epsilons + r  <=  epsilon    and    paid deltas + leaks of the odometer's charges + d  <=  delta.

Which of the two counts a charge is decided before it is answered, from the records alone: with pure
accounting it is paid; with Rényi accounting the odometer counts it, once that is open. It is opened,
with an eighth of the delta that is left, by the first charge that uses up epsilon faster than delta:

    delta_i / delta  <  7/8 epsilon_i / epsilon.

Those before it are paid. So n equal selections fit Rényi accounting whenever they fit pure
accounting: if they use up delta as fast, both rules are the same; otherwise their leaks are n delta_i
< 7/8 n epsilon_i delta / epsilon <= 7/8 delta, and order infinity adds what pure accounting adds.

**Theorem.** Let the budgets in force never exceed (E, D), whatever happens. Then everything that is
answered from the account is (E, D)-differentially private.

*Proof.* Take two neighbouring databases, P and Q the laws of all answers on each, and L the privacy
loss ln(P/Q) at the end; (E, D)-privacy is E_P f(L - E) <= D with f(x) = (1 - exp(-x))₊. L is the sum of
the losses L_i of the paid charges and of the loss L' of the odometer's. f is increasing, f(0) = 0 and f
is concave from 0 on, so f(x + y) <= f(x) + f(y). When the last charge was taken, E was at least the
paid epsilons plus r, hence

    f(L - E)  <=  sum of f(L_i - epsilon_i)  +  f(L' - r).

1. *Paid charges.* Given what came before, a charge is (epsilon_i, delta_i)-private: the mean of its
   term is at most delta_i.
2. *Leaks.* Write each (e, d_i)-private selection in the odometer as "leak with probability d_i, else
   randomised response" (Kairouz, Oh and Viswanath). A leak makes f at most 1 and has, given what came
   before, a probability of at most d_i. (For keys that surface under Gaussian noise, and the losses on
   the other neighbour, see `FailureEvent`.)
3. *The odometer without a leak.* M_a = exp((a-1)(L' - sum of D_a)) is 1 when it is opened and a
   supermartingale under P from then on: given what came before, the next charge is fixed and
   multiplies it by exp((a-1)(L_i - D_a)), whose mean is at most 1; a charge that is paid leaves it as
   it is. At the end r is attained at some order, which order depends on the path. At infinity L' <= r
   and f(L' - r) = 0. At a finite a, (1 - exp(-x))₊ <= c_a exp((a-1) x) for all x gives

       f(L' - r)  <=  c_a exp((a-1)(sum of D_a - r)) M_a  =  w_a d M_a.

   In both cases f(L' - r) <= d times the sum of w_a M_a, whose mean, given all that came before the
   odometer was opened, is at most d.

So E_P f(L - E) is at most the mean of: paid deltas + leaks + d. When the last charge was taken this was
at most the delta in force, hence at most D, on every path. ∎

What the proof needs is that w_a and d are fixed when the odometer is opened. Weights that follow the
budget in force would let a path choose them after the fact: the sum over a of the largest w_a that
some path uses is then not 1 but up to 1.5 for a single raise, 2 for two. And one sum of all charges,
judged by pure accounting on some paths and by Rényi accounting on others, would let unlucky paths leak
all of delta and lucky ones convert besides. Half of the weight goes to the order at which Gaussian
charges go furthest with the budget in force at the opening, the rest is spread evenly over the others.

**Raised and lowered.** A raise by (e, d) adds (e, d) to what is guaranteed, no more. A lower budget
stops questions earlier and takes back no promise: the guarantee is that of the greatest in force.

**One analyst.** Read the theorem with P the law in which one analyst (or coalition) is answered from
the one database and everybody else from the other: then L is the loss of this account's charges alone,
and everything everybody sees, balances and refusals too, is (E, D)-private in the account's own
budget. That is: whatever the others' answers tell, this analyst's answers add (E, D). Where the
analyst sees nothing of the others' (their own account only, and no refusal for want of a shared
budget) that is all they learn. A refusal for want of a shared budget tells of the others' spending,
which can depend on the others' answers; it is covered by the dataset's account, whose charges are
everybody's and which everything seen by anybody is a function of.

**An account that is declared later** begins with what its members had spent before, as if paid. The
theorem then covers what is answered from there on, with what is left.

Format 1 opened an odometer with half of delta at the first charge and opened it anew, over the whole
history, with every record of limits; its last one goes on in format 2 and is not opened anew.
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
from sanql.account.totals import Losses, Totals
from sanql.policy.model import Accounting, Budget

CONVERSION_SHARE = Fraction(1, 8)
"""The part of the delta left that a new odometer takes for itself; leaks may use the rest."""

_ONE = 1 << UNIT_BITS
_BISECTIONS = 24
_NOTHING = Budget(Fraction(0), Fraction(0))
_NONE = Totals()


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
class Spent:
    """What an account has spent: charges paid one by one, and those an odometer counts together."""

    paid: Budget = _NOTHING
    odometer: Odometer | None = None
    metered: Totals = _NONE

    @property
    def epsilon_upper(self) -> Fraction | None:
        """The epsilon in the sense of the filter; None when no epsilon is enough."""
        if self.odometer is None:
            return self.paid.epsilon
        read = self.odometer.read_upper(self.metered.losses)
        return None if read is None else self.paid.epsilon + read

    @property
    def delta_upper(self) -> Fraction:
        """The delta in the sense of the filter."""
        if self.odometer is None:
            return self.paid.delta
        return self.paid.delta + self.metered.losses.leaked + self.odometer.delta

    def pay(self, epsilon: Fraction, delta: Fraction) -> Spent:
        """Return what is spent after charges of these claims, paid one by one."""
        return replace(self, paid=Budget(self.paid.epsilon + epsilon, self.paid.delta + delta))

    def meter(self, odometer: Odometer, more: Totals) -> Spent:
        """Return what is spent after charges that the odometer counts."""
        return Spent(self.paid, odometer, self.metered.merge(more))


@dataclass(frozen=True)
class Filter:
    """The stopping rule of one account: the budget in force and the way it is counted."""

    budget: Budget
    accounting: Accounting

    def fits(self, spent: Spent, charge: Charge) -> bool:
        """Return whether the account may take this charge besides what it has spent."""
        return self.within(self.take(spent, charge))

    def within(self, spent: Spent) -> bool:
        """Return whether this keeps to the budget."""
        if spent.delta_upper > self.budget.delta:
            return False
        epsilon = spent.epsilon_upper
        return epsilon is not None and epsilon <= self.budget.epsilon

    def take(self, spent: Spent, charge: Charge) -> Spent:
        """Return what is spent after one more charge."""
        return self._take(spent, charge.events, charge.epsilon, charge.delta)

    def odometer_for(
        self, paid: Budget, open_: Odometer | None, epsilon: Fraction, delta: Fraction
    ) -> Odometer | None:
        """Return the odometer that counts the next charge, opened if need be; None if it is paid."""
        match self.accounting:
            case "pure":
                return None
            case "renyi":
                if open_ is not None:
                    return open_
                left, whole = self.budget.delta - paid.delta, self.budget
                if left <= 0 or delta * whole.epsilon >= (1 - CONVERSION_SHARE) * (
                    epsilon * whole.delta
                ):
                    return None
                aim = max(Fraction(0), whole.epsilon - paid.epsilon)
                return Odometer(aim, CONVERSION_SHARE * left)
            case _:
                assert_never(self.accounting)

    def spent_upper(self, spent: Spent) -> tuple[Fraction, Fraction]:
        """Return an (epsilon, delta) that the queries so far satisfy, for showing.

        It holds for the queries as if they had been fixed in advance; the promise under adaptive
        questions is the budget itself.
        """
        if spent.odometer is None:
            return spent.paid.epsilon, spent.paid.delta
        read = together_upper(spent.metered, spent.odometer, self.budget.delta - spent.paid.delta)
        return spent.paid.epsilon + read[0], spent.paid.delta + read[1]

    def remaining_lower(self, spent: Spent) -> Budget:
        """Return what is left, for showing: any purely epsilon-private query up to it still fits.

        The delta left is what leaks may still use.
        """
        left = max(Fraction(0), self.budget.delta - spent.delta_upper)
        if self.accounting == "renyi" and spent.odometer is None:
            left *= 1 - CONVERSION_SHARE
        if not self.within(spent):
            return Budget(Fraction(0), left)
        if self.accounting == "pure":
            return Budget(self.budget.epsilon - (spent.epsilon_upper or 0), left)
        return Budget(self._remaining_metered(spent), left)

    def largest_epsilon_that_fits(self, spent: Spent, charge: Charge) -> Fraction | None:
        """Return about the largest epsilon at which the same query would fit, or None.

        Exact for pure accounting. For Rényi accounting the events are scaled as a planner would
        scale them, so it is a suggestion: the query planned anew is checked like any other.
        """
        if charge.epsilon == 0:
            return None
        if self.accounting == "pure":
            used = spent.epsilon_upper
            left = min(charge.epsilon, self.budget.epsilon - (used or 0))
            fitting = used is not None and self.within(spent.pay(left, charge.delta))
            return left if left >= EPSILON_MIN and fitting else None

        def fits(epsilon: Fraction) -> bool:
            events = _scaled(charge, epsilon)
            return self.within(self._take(spent, events, epsilon, charge.delta))

        found = _largest(charge.epsilon, fits)
        rounded = round_down_to_digits(found, 3)
        return rounded if rounded >= EPSILON_MIN else None

    def _take(
        self, spent: Spent, events: tuple[Event, ...], epsilon: Fraction, delta: Fraction
    ) -> Spent:
        odometer = self.odometer_for(spent.paid, spent.odometer, epsilon, delta)
        if odometer is None:
            return spent.pay(epsilon, delta)
        return spent.meter(odometer, Totals.of(events, epsilon, delta))

    def _remaining_metered(self, spent: Spent) -> Fraction:
        def fits(epsilon: Fraction) -> bool:
            event = SelectionEvent(epsilon, Fraction(0), 1)
            return self.within(self._take(spent, (event,), epsilon, Fraction(0)))

        pure, quick = spent.metered.losses.pure, self._remaining_estimate(spent)
        exact = Fraction(0)
        if pure is not None:
            exact = max(exact, self.budget.epsilon - spent.paid.epsilon - pure)
        if quick <= exact:
            return exact
        return max(exact, quick if fits(quick) else _largest(self.budget.epsilon, fits))

    def _remaining_estimate(self, spent: Spent) -> Fraction:
        """Return nearly the largest pure epsilon that fits some order.

        An epsilon-private query has a Rényi divergence of order a of at most min(epsilon, a
        epsilon^2 / 2), so what is left of an order's limit turns into an epsilon at once.
        """
        odometer = self.odometer_for(spent.paid, spent.odometer, Fraction(1), Fraction(0))
        if odometer is None or odometer.delta == 0:
            return Fraction(0)
        limit, best = math.floor((self.budget.epsilon - spent.paid.epsilon) * _ONE), 0.0
        for order, used, more in zip(
            ORDERS, spent.metered.losses.renyi, order_conversions(odometer), strict=True
        ):
            left = (limit - used - more) / _ONE
            if left > 0:
                best = max(best, left, math.sqrt(2 * left / order))
        return min(self.budget.epsilon, Fraction(best * (1 - 2**-20)))


def together_upper(
    totals: Totals, odometer: Odometer, delta_max: Fraction
) -> tuple[Fraction, Fraction]:
    """Return the least epsilon, with its delta, proved for these charges within a delta.

    Three proofs: their claims added; pure epsilons and leaks added; the odometer's reading.
    """
    claimed = (totals.epsilon, totals.delta)
    proofs, losses = [claimed], totals.losses
    if losses.pure is not None:
        proofs.append((losses.pure, losses.leaked))
    read = odometer.read_upper(losses)
    if read is not None:
        proofs.append((read, losses.leaked + odometer.delta))
    return min((proof for proof in proofs if proof[1] <= delta_max), default=claimed)


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
    return tuple(
        to_units_upper(conversion_upper(order, weight * odometer.delta))
        for order, weight in zip(ORDERS, order_weights(odometer), strict=True)
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
