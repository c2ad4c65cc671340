"""Edges among the forms of differential privacy: Claim 3.3, tests, groups, simulation, Bayes."""

from __future__ import annotations

import math
from fractions import Fraction

from sanql.theory import constants
from sanql.theory.exact import exp_upper, float_upper, sqrt_upper, up
from sanql.theory.implications.edges import (
    EVERY_DISTRIBUTION,
    KNOWN_GROUP,
    KNOWN_RECORDS,
    PURE,
    Edge,
    level,
    plain,
)
from sanql.theory.implications.guarantees import Guarantee, Setting
from sanql.theory.implications.guarantees import guarantee as make

KS = "Kasiviswanathan-Smith"
V = "Vadhan"
NOTE = "hockey-stick note"


def _tau(gamma: Fraction) -> Fraction:
    """tanh(epsilon/4), the largest prior-posterior distance."""
    root = sqrt_upper(gamma)
    return (root - 1) / (root + 1)


def _pointwise(g: Guarantee, _: Setting) -> Guarantee:
    if g["delta"] == 0:
        return make("pointwise_dp", epsilon=g["epsilon"], delta=0.0)
    if g["epsilon"] == 0:
        gamma = Fraction(exp_upper(1.0))
        return level(
            "pointwise_dp",
            gamma,
            delta=constants.pointwise_bound(Fraction(1), g.exact("delta"), gamma),
        )
    bound = constants.pointwise_bound(g.gamma, g.exact("delta"), g.gamma**2)
    return level("pointwise_dp", g.gamma**2, delta=bound)


def _pointwise_printed(g: Guarantee, _: Setting) -> Guarantee:
    delta = 1.0
    if g["epsilon"] > 0:
        delta = min(1.0, constants.printed_pointwise_bound(g.gamma, g.exact("delta")))
    return make("pointwise_dp", epsilon=2 * g["epsilon"], delta=delta)


def _pointwise_refuted(g: Guarantee, _: Setting) -> bool:
    """Whether two outputs of mass a and b, swapped between neighbours, with a/b just above g^2 and
    a - g b = delta, break the printed bound.

    Together they have mass delta (1 + 1/g^2)/(1 - 1/g), for which there is room while it is below
    1. It is above 2 delta/(g ln g) for every g > 1: ln g > (g - 1)/g and (g^2 + 1)/g > 2.
    """
    if g["epsilon"] == 0 or g["delta"] == 0:
        return False
    return constants.pointwise_bound(g.gamma, g.exact("delta"), g.gamma**2) < 1


def _group(g: Guarantee, s: Setting) -> Guarantee:
    size = s.group or 1
    delta = constants.group_delta(g.gamma, g.exact("delta"), size)
    return make("group_dp", epsilon=up(size * g["epsilon"], 1), delta=float_upper(delta))


def _usually(g: Guarantee, s: Setting) -> Guarantee:
    slack = s.delta_hat or math.sqrt(g["delta"])
    spread = Fraction(1) if s.values is None else 1 - Fraction(1, s.values)
    failure = Fraction(0) if g["delta"] == 0 else g.exact("delta") * spread / Fraction(slack)
    return level("prior_posterior_usually", g.gamma, delta_hat=Fraction(slack), failure=failure)


EDGES: tuple[Edge, ...] = (
    Edge(
        "perfect", f"{NOTE}, perfect privacy", "perfect_privacy", "pure_dp", "holds",
        lambda g, s: make("pure_dp", epsilon=0.0),
    ),
    Edge(
        "pure-zero", f"{NOTE}, perfect privacy", "pure_dp", "approximate_dp", "holds",
        lambda g, s: make("approximate_dp", epsilon=g["epsilon"], delta=0.0),
        remark="epsilon-differential privacy is the case delta = 0",
    ),
    Edge(
        "approximate-zero", f"{KS} Def. 1.2", "approximate_dp", "pure_dp", "holds",
        lambda g, s: make("pure_dp", epsilon=g["epsilon"]), hypotheses=(PURE,),
    ),
    Edge(
        "ks-3.3.1", f"{KS} Claim 3.3(1)", "pointwise_dp", "approximate_dp", "holds",
        lambda g, s: make("approximate_dp", epsilon=g["epsilon"], delta=g["delta"]),
    ),
    Edge(
        "ks-3.3.2", f"{KS} Claim 3.3(2)", "approximate_dp", "pointwise_dp", "false in general",
        _pointwise,
        printed=_pointwise_printed,
        remark="delta (1 + 1/g')/(1 - g/g') at any g' > g; shown at 2 epsilon",
        refuted=_pointwise_refuted,
    ),
    Edge(
        "ks-3.3.6", f"{KS} Claim 3.3(6)", "approximate_dp", "statistical_difference", "corrected",
        lambda g, s: plain(
            "statistical_difference",
            delta=constants.statistical_difference_bound(g.gamma, g.exact("delta")),
        ),
        printed=lambda g, s: plain(
            "statistical_difference",
            delta=constants.printed_statistical_difference_bound(g.gamma, g.exact("delta")),
        ),
        remark="(e^eps - 1 + 2 delta)/(e^eps + 1), tight; tanh(eps/2) at delta = 0",
    ),
    Edge(
        "v-case-1", f"{V} 1.1 case 1", "statistical_difference", "any_two_databases", "corrected",
        lambda g, s: plain("any_two_databases", delta=(s.records or 1) * g.exact("delta")),
        hypotheses=(KNOWN_RECORDS,), remark="at most n delta (printed: less than)",
    ),
    Edge(
        "tests", f"{NOTE}, theorem", "approximate_dp", "testing", "holds",
        lambda g, s: make("testing", epsilon=g["epsilon"], delta=g["delta"]),
    ),
    Edge(
        "tests-back", f"{NOTE}, theorem", "testing", "approximate_dp", "holds",
        lambda g, s: make("approximate_dp", epsilon=g["epsilon"], delta=g["delta"]),
        remark="both inequalities together are equivalent to indistinguishability",
    ),
    Edge(
        "group", "group privacy", "approximate_dp", "group_dp", "holds", _group,
        hypotheses=(KNOWN_GROUP,), remark="(k eps, delta (e^(k eps) - 1)/(e^eps - 1))",
    ),
    Edge(
        "add-remove", "coupled worlds section II-A", "add_remove_dp", "approximate_dp", "corrected",
        lambda g, s: level(
            "approximate_dp", g.gamma**2,
            delta=constants.group_delta(g.gamma, g.exact("delta"), 2),
        ),
        remark="(2 eps, (1 + e^eps) delta); the converse is false: release the exact size",
    ),
    Edge(
        "v-1.1", f"{V} Claim 1.1", "approximate_dp", "simulation_dp", "corrected",
        lambda g, s: make("simulation_dp", epsilon=g["epsilon"], delta=g["delta"]),
        remark="the simulator must be told the position, or the mechanism ignore order",
    ),
    Edge(
        "v-1.2", f"{V} Claim 1.2", "simulation_dp", "approximate_dp", "holds",
        lambda g, s: level(
            "approximate_dp", g.gamma**2,
            delta=constants.group_delta(g.gamma, g.exact("delta"), 2),
        ),
        remark="(2 eps, (1 + e^eps) delta), tight",
    ),
    Edge(
        "v-prop-1", f"{V} Prop. 1", "pure_dp", "prior_posterior_ratio", "holds",
        lambda g, s: make("prior_posterior_ratio", epsilon=g["epsilon"]),
    ),
    Edge(
        "v-prop-1-back", f"{V} Prop. 1, converse", "prior_posterior_ratio", "pure_dp", "holds",
        lambda g, s: make("pure_dp", epsilon=g["epsilon"]),
        remark="an equivalence with the same epsilon; the supremum is not attained",
    ),
    Edge(
        "v-prop-1-tv", f"{V} Prop. 1, statistical distance", "pure_dp", "prior_posterior",
        "corrected",
        lambda g, s: plain("prior_posterior", tau=_tau(g.gamma)),
        remark="tanh(eps/4), tight",
    ),
    Edge(
        "v-prop-2", f"{V} Prop. 2", "prior_posterior", "pure_dp", "corrected",
        lambda g, s: level("pure_dp", constants.gamma_from_tau(g.exact("tau"))),
        printed=lambda g, s: level("pure_dp", constants.gamma_from_tau_uniform(g.exact("tau"))),
        remark="O(tau) made explicit: 4 artanh(tau); the printed proof gives 2 artanh(2 tau)",
    ),
    Edge(
        "v-remark", f"{V} remark on (eps, delta)", "approximate_dp", "prior_posterior_usually",
        "corrected", _usually,
        remark="failure at most delta (1 - sum of squared priors)/delta_hat",
    ),
    Edge(
        "cw-dp-ddp", "coupled worlds, after Def. 3", "approximate_dp", "ddp", "corrected",
        lambda g, s: make("ddp", epsilon=g["epsilon"], delta=g["delta"]),
        remark="for every class of distributions, unchanged parameters",
    ),
    Edge(
        "cw-def-3-all", "coupled worlds, after Def. 3", "ddp", "approximate_dp", "corrected",
        lambda g, s: level(
            "approximate_dp", g.gamma**2,
            delta=constants.group_delta(g.gamma, g.exact("delta"), 2),
        ),
        hypotheses=(EVERY_DISTRIBUTION,),
        remark="point distributions suffice; costs (2 eps, (1 + e^eps) delta)",
    ),
)  # fmt: skip
