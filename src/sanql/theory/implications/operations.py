"""What can be done with guarantees: compose, post-process, mix beliefs, forget side information."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sanql.theory import constants
from sanql.theory.errors import TheoryError
from sanql.theory.implications.edges import level
from sanql.theory.implications.guarantees import Guarantee

CLOSURES: Mapping[str, tuple[str, ...]] = {
    "post-processing": (
        "perfect_privacy", "pure_dp", "approximate_dp", "add_remove_dp", "group_dp",
        "statistical_difference", "any_two_databases", "testing", "simulation_dp",
        "prior_posterior_ratio", "prior_posterior", "coupled_worlds", "ddp", "noiseless",
        "pufferfish",
    ),
    "mixtures of beliefs (convexity)": ("coupled_worlds", "ddp"),
    "less side information": ("coupled_worlds", "ddp"),
}  # fmt: skip
"""Operations that leave a guarantee unchanged (Claim 3.3(5); coupled worlds Theorems 3, 4, 5)."""


def composed(first: Guarantee, second: Guarantee) -> Guarantee:
    """Return the guarantee of releasing both outputs with independent coins, chosen in advance.

    >>> from sanql.theory.implications.guarantees import guarantee
    >>> both = composed(guarantee("pure_dp", epsilon=1), guarantee("pure_dp", epsilon=2))
    >>> round(both["epsilon"], 9)
    3.0
    """
    kinds = {first.kind, second.kind}
    if kinds <= {"pure_dp", "approximate_dp"}:
        deltas = [
            g.exact("delta") if g.kind == "approximate_dp" else Fraction(0) for g in (first, second)
        ]
        gamma = first.gamma * second.gamma
        if kinds == {"pure_dp"}:
            return level("pure_dp", gamma)
        return level("approximate_dp", gamma, delta=sum(deltas, Fraction(0)))
    raise TheoryError(
        "no_composition",
        f"{first.kind} and {second.kind} do not compose by themselves",
        "use coupled_worlds_composed when each is private given the other's output, or give "
        "pure_dp or approximate_dp",
    )


def coupled_worlds_composed(
    f: Guarantee, g: Guarantee, *, f_knows_simulated_g: bool, g_knows_f: bool
) -> Guarantee:
    """Return the guarantee of (F, G) from coupled worlds Theorem 6.

    Both side conditions are needed: G is private with F(X) as extra side information, and F with
    Sim_G(alt(X)) as extra side information. delta_H = max(dF e^epsG + dG, dF + dG e^epsF), exactly
    tight; dF + dG is wrong.
    """
    if not (f_knows_simulated_g and g_knows_f):
        missing = "G given F(X)" if not g_knows_f else "F given Sim_G(alt(X))"
        raise TheoryError(
            "side_condition",
            f"Theorem 6 needs the guarantee of {missing} as side information",
            "prove it for the class with that side information added; composition fails without it",
        )
    if f.kind != g.kind or f.kind not in ("coupled_worlds", "ddp"):
        raise TheoryError(
            "no_composition",
            f"{f.kind} and {g.kind} are not two of one kind",
            "give two of one kind",
        )
    delta = constants.composed_delta(f.gamma, f.exact("delta"), g.gamma, g.exact("delta"))
    return level(f.kind, f.gamma * g.gamma, delta=delta)
