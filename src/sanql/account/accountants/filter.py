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

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from sanql.policy import Budget

_NOTHING = Budget(Fraction(0), Fraction(0))


class Composition(Protocol):
    """Charges of one account that are counted together, by a rule fixed when the first one came.

    The theorem takes of it that E f(L' - `epsilon_upper`) is at most `delta_upper`.
    """

    @property
    def epsilon_upper(self) -> Fraction | None:
        """What the charges come to; None when no epsilon is enough."""

    @property
    def delta_upper(self) -> Fraction:
        """The delta that goes with it, leaks included."""

    def proved_upper(self, delta_max: Fraction) -> Budget:
        """Return the least epsilon, with its delta, proved for the charges as if fixed in advance.

        Of the proofs within `delta_max`; the claims added up where none is.
        """


@dataclass(frozen=True)
class Spent:
    """What an account has spent: charges paid one by one, and those that are counted together."""

    paid: Budget = _NOTHING
    together: Composition | None = None

    @property
    def epsilon_upper(self) -> Fraction | None:
        """The epsilon in the sense of the filter; None when no epsilon is enough."""
        if self.together is None:
            return self.paid.epsilon
        read = self.together.epsilon_upper
        return None if read is None else self.paid.epsilon + read

    @property
    def delta_upper(self) -> Fraction:
        """The delta in the sense of the filter."""
        if self.together is None:
            return self.paid.delta
        return self.paid.delta + self.together.delta_upper

    def within(self, budget: Budget) -> bool:
        """Return whether this keeps to a budget."""
        if self.delta_upper > budget.delta:
            return False
        epsilon = self.epsilon_upper
        return epsilon is not None and epsilon <= budget.epsilon

    def proved_upper(self, budget: Budget) -> Budget:
        """Return an (epsilon, delta) that the queries so far satisfy, for showing.

        It holds for the queries as if they had been fixed in advance; the promise under adaptive
        questions is the budget itself.
        """
        if self.together is None:
            return self.paid
        proved = self.together.proved_upper(budget.delta - self.paid.delta)
        return Budget(self.paid.epsilon + proved.epsilon, self.paid.delta + proved.delta)

    def pay(self, epsilon: Fraction, delta: Fraction) -> Spent:
        """Return what is spent after charges of these claims, paid one by one."""
        return replace(self, paid=Budget(self.paid.epsilon + epsilon, self.paid.delta + delta))
