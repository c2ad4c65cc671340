"""What an answer, and everything told with it, tells the attacker whom a budget is stated as."""

from __future__ import annotations

from fractions import Fraction

from sanql.account import Charge
from sanql.certificate.meaning_of_charge import belief_after, hits_of
from sanql.certificate.protected_also import over_steps
from sanql.policy import Neighbours, StatedAttacker
from sanql.results import Budget


def told_to_attacker(
    attacker: StatedAttacker, charge: Charge, spent: Budget, neighbours: Neighbours
) -> str:
    """Return, in the attacker's words, what a charge tells and what all that is spent with it tells.

    What the data of a group are differs by as many steps as it has units, twice as many under
    add-remove (out, and in again), as where the budget was read (`policy.attackers`).

    >>> from sanql.account import LaplaceEvent
    >>> charge = Charge((LaplaceEvent(Fraction(10), 1, 1),), Fraction(1, 10), Fraction(0))
    >>> suspects = StatedAttacker(Fraction(1, 10), Fraction(1, 5))
    >>> print(told_to_attacker(suspects, charge, Budget(Fraction(1, 2), Fraction(0)), "change-one"))
    what is believed of a unit at 10% may be believed at 20% at most: after this answer alone at 11.0%, \
after all answers with it at 15.5%
    """
    steps = attacker.group_of * (1 if neighbours == "change-one" else 2)
    one = over_steps(charge, steps)
    whole = _claim(spent, steps)
    whom = "a unit" if attacker.group_of == 1 else f"{attacker.group_of} units together"
    if attacker.prior is not None and attacker.posterior_at_most is not None:
        prior = float(attacker.prior)
        stated = (
            f"what is believed of {whom} at {_percent(attacker.prior)} may be believed at "
            f"{_percent(attacker.posterior_at_most)} at most"
        )
        alone, together = belief_after(one, prior), belief_after(whole, prior)
    else:
        assert attacker.false_alarms is not None  # noqa: S101  (a belief or a test, where it was read)
        assert attacker.hits_at_most is not None  # noqa: S101  (the same)
        alarms = float(attacker.false_alarms)
        stated = (
            f"a test of {whom} with {_percent(attacker.false_alarms)} false alarms may hit "
            f"{_percent(attacker.hits_at_most)} of the time at most"
        )
        alone, together = hits_of(one, alarms), hits_of(whole, alarms)
    return f"{stated}: after this answer alone at {alone}, after all answers with it at {together}"


def _claim(spent: Budget, steps: int) -> Charge | None:
    """Return what is spent as a charge over so many steps; None where it promises nothing."""
    if spent.delta >= 1:
        return None
    return over_steps(Charge((), spent.epsilon, spent.delta), steps)


def _percent(share: Fraction) -> str:
    """Return a share that was stated, as it was."""
    return f"{float(100 * share):.6g}%"
