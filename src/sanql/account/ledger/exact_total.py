"""The joint guarantee of several exact releases about the same people, and the owner's cap on it.

Coupled-worlds Theorem 6, with the constant that is exactly tight: epsilons add up, and the delta of
two is max(dF·e^eG + dG, dF + dG·e^eF). More than two are composed one after the other. Everything is
rounded up.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from sanql.account.ledger.exact_book import ExactClaim
from sanql.errors import Refused
from sanql.numbers import number_upper, show_upper
from sanql.policy import show_number
from sanql.results import Budget
from sanql.theory.constants import composed_delta
from sanql.theory.exact import exp_upper

_EPSILON_MOST = 700
"""Beyond it e^epsilon leaves the floats, and the guarantee says nothing."""


def joint_guarantee(claims: Iterable[ExactClaim]) -> Budget:
    """Return the epsilon and delta that releases have together, each rounded up.

    Of nothing both are 0. They are composed in the order given; every order gives a valid bound.
    """
    epsilon, delta = Fraction(0), Fraction(0)
    for claim in claims:
        if epsilon + claim.epsilon > _EPSILON_MOST:
            return Budget(epsilon + claim.epsilon, Fraction(1))
        delta = composed_delta(_factor(epsilon), delta, _factor(claim.epsilon), claim.delta)
        epsilon += claim.epsilon
    return Budget(epsilon, delta)


def check_joint_cap(made: Iterable[ExactClaim], claim: ExactClaim, cap: Budget | None) -> None:
    """Refuse a release with which those already made would exceed what the owner lets leave together.

    A release is counted once it is reserved, whether or not cells followed; its own repeat is no
    other release. The words depend on declarations and on the book, never on a row.
    """
    if cap is None:
        return
    others = [one for one in made if one.name != claim.name]
    joint = joint_guarantee([*others, claim])
    if joint.epsilon <= cap.epsilon and joint.delta <= cap.delta:
        return
    names = " and ".join(f"[exact.{one.name}]" for one in [*others, claim])
    raise Refused(
        "exact_together",
        f"{names} together would guarantee epsilon {show_upper(joint.epsilon)}, delta"
        f" {show_upper(joint.delta, 3)} (Theorem 6), and the owner lets exact releases have epsilon"
        f" {show_number(cap.epsilon)}, delta {float(cap.delta):g} together at most (exact_together)",
        "ask with noise: pass an epsilon; what has been released exactly can be shown again",
    )


def _factor(epsilon: Fraction) -> Fraction:
    """Return a number that is at least e^epsilon."""
    return Fraction(exp_upper(number_upper(epsilon)))
