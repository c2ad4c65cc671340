"""Edges between differential privacy and semantic privacy (Kasiviswanathan-Smith)."""

from __future__ import annotations

import math
from fractions import Fraction

from sanql.theory import constants
from sanql.theory.exact import float_upper, up
from sanql.theory.implications.edges import KNOWN_RECORDS, Edge, level, plain
from sanql.theory.implications.guarantees import Guarantee, Setting
from sanql.theory.implications.guarantees import guarantee as make

KS = "Kasiviswanathan-Smith"


def semantic_level(g: Guarantee, s: Setting) -> float:
    """Return the tau at which a failure probability is stated.

    It is the one asked for, else the printed e^(3 eps) - 1 + 2 sqrt(delta) while below 1, else the
    middle between tanh(eps/2) and 1. A failure of privacy itself counts into delta.
    """
    if s.tau is not None:
        return s.tau
    delta = _joint(g)
    if delta == 0:
        return float_upper(constants.semantic_tau(g.gamma))
    printed = constants.printed_semantic_tau(g["epsilon"], float_upper(delta))
    return printed if printed < 1 else (1 + float(constants.semantic_tau(g.gamma))) / 2


def _joint(g: Guarantee) -> Fraction:
    """The delta of the joint laws of database and output under a belief."""
    if g.kind != "mostly_dp":
        return g.exact("delta")
    return constants.mixture_bound(g.exact("failure"), g.exact("delta"))


def _failure(g: Guarantee, tau: float, times: float, delta: Fraction) -> float:
    if constants.semantic_tau(g.gamma) <= tau and delta == 0:
        return 0.0
    constant = constants.tv_constant(g.gamma, tau)
    return 1.0 if constant == math.inf else min(1.0, up(float_upper(delta) * (constant * times)))


def _approximate(g: Guarantee, s: Setting) -> Guarantee:
    tau = semantic_level(g, s)
    failure = _failure(g, tau, s.records or 1, g.exact("delta"))
    return make("approximate_semantic", tau=tau, delta=failure)


def _approximate_printed(g: Guarantee, s: Setting) -> Guarantee:
    tau = min(1.0, constants.printed_semantic_tau(g["epsilon"], g["delta"]))
    root = math.sqrt(g["delta"])
    # the constant hidden in O(n sqrt(delta)) that suffices
    return make(
        "approximate_semantic", tau=tau, delta=min(1.0, (s.records or 1) * root * (1 - root))
    )


def _posteriors(g: Guarantee, s: Setting) -> Guarantee:
    slack = s.delta_hat or min(1.0, 2 * math.sqrt(g["delta"])) or 1e-300
    if g["delta"] == 0:
        return level("posteriors", g.gamma**2, delta_hat=Fraction(0), failure=Fraction(0))
    failure = (s.records or 1) * g.exact("delta")
    failure *= constants.hat_constant(g.gamma, Fraction(slack))
    return level("posteriors", g.gamma**2, delta_hat=Fraction(slack), failure=failure)


def _posteriors_printed(g: Guarantee, s: Setting) -> Guarantee:
    slack = min(1.0, 2 * math.sqrt(g["delta"]))
    if g["delta"] == 0 or g["epsilon"] == 0:
        failed = 0.0 if g["delta"] == 0 else 1.0
        return make("posteriors", epsilon=3 * g["epsilon"], delta_hat=slack, failure=failed)
    failure = constants.printed_lemma_failure(g.gamma, g.exact("delta"), slack)
    return make(
        "posteriors", epsilon=3 * g["epsilon"], delta_hat=slack,
        failure=min(1.0, failure * (s.records or 1)),
    )  # fmt: skip


def _dp_from_semantic(g: Guarantee, s: Setting) -> Guarantee:
    tau = g.exact("tau")
    if tau >= 1:
        return make("approximate_dp", epsilon=math.inf, delta=1.0)
    gamma, delta = constants.dp_from_semantic(tau, g.exact("delta"), (1 - tau) / 2)
    return level("approximate_dp", gamma, delta=delta)


def _dp_from_semantic_half(g: Guarantee, s: Setting) -> Guarantee:
    tau = g.exact("tau")
    if tau >= Fraction(1, 2):
        return make("approximate_dp", epsilon=math.inf, delta=1.0)
    gamma, delta = constants.dp_from_semantic(tau, g.exact("delta"), Fraction(1, 2))
    return level("approximate_dp", gamma, delta=delta)


def _printed_dp(g: Guarantee, s: Setting) -> Guarantee:
    """(e^eps - 1)/2-semantic => 2 eps-differential privacy, as printed."""
    gamma = (1 + 2 * g.exact("tau")) ** 2
    if g.kind == "semantic":
        return level("pure_dp", gamma)
    return level("approximate_dp", gamma, delta=2 * g.exact("delta"))


def _printed_dp_refuted(g: Guarantee, s: Setting) -> bool:
    """Whether randomised response by one person, with odds ((1 + tau)/(1 - tau))^2, breaks it.

    Its semantic level is exactly tau, and its delta at the printed level g is (odds - g)/(odds + 1).
    """
    tau = g.exact("tau")
    if not 0 < tau < 1:
        return False
    odds, printed = Fraction(constants.gamma_from_tau(tau)), (1 + 2 * tau) ** 2
    allowed = Fraction(0) if g.kind == "semantic" else 2 * g.exact("delta")
    return (odds - printed) / (odds + 1) > allowed


def _believed(g: Guarantee, s: Setting) -> Guarantee:
    tau = semantic_level(g, s)
    failure = _failure(g, tau, s.records or 1, _joint(g))
    return make("believed_semantic", tau=tau, delta=failure)


def _informed(g: Guarantee, s: Setting) -> Guarantee:
    """delta [K + (n - 1) e^eps K + 1 if n > 1 + 1 for undefined posteriors]."""
    tau, n = semantic_level(g, s), s.records or 1
    if g["delta"] == 0 and constants.semantic_tau(g.gamma) <= tau:
        return make("reality_oblivious_informed", tau=tau, delta=0.0)
    constant = constants.tv_constant(g.gamma, tau)
    if constant == math.inf:
        return make("reality_oblivious_informed", tau=tau, delta=1.0)
    times = constant * (1 + (n - 1) * float_upper(g.gamma)) + (2 if n > 1 else 1)
    return make("reality_oblivious_informed", tau=tau, delta=min(1.0, up(g["delta"] * times, 8)))


EDGES: tuple[Edge, ...] = (
    Edge(
        "ks-2.2a", f"{KS} Theorem 2.2, first half", "pure_dp", "semantic", "corrected",
        lambda g, s: plain("semantic", tau=constants.semantic_tau(g.gamma)),
        printed=lambda g, s: plain("semantic", tau=g.gamma - 1),
        remark="tanh(eps/2), tight; posteriors move by e^(2 eps), not e^eps",
    ),
    Edge(
        "ks-2.2b", f"{KS} Theorem 2.2, second half", "semantic", "pure_dp", "false in general",
        lambda g, s: level("pure_dp", constants.gamma_from_tau(g.exact("tau"))),
        printed=_printed_dp,
        remark="4 artanh(tau), exact; printed: (e^eps - 1)/2-semantic gives 2 eps",
        refuted=_printed_dp_refuted,
    ),
    Edge(
        "semantic-zero", f"{KS} Def. 2.3", "semantic", "approximate_semantic", "holds",
        lambda g, s: make("approximate_semantic", tau=g["tau"], delta=0.0),
    ),
    Edge(
        "ks-2.4a", f"{KS} Theorem 2.4, first half", "approximate_dp", "approximate_semantic",
        "corrected", _approximate, printed=_approximate_printed, hypotheses=(KNOWN_RECORDS,),
        remark="n delta K_tv(e^eps, tau) for every tau > tanh(eps/2); of order n delta/eps",
    ),
    Edge(
        "ks-2.4b", f"{KS} Theorem 2.4, second half", "approximate_semantic", "approximate_dp",
        "false in general", _dp_from_semantic, printed=_printed_dp,
        remark="belief weight (1 - tau)/2: (4 artanh tau, 2 delta/(1 - tau))",
        refuted=_printed_dp_refuted,
    ),
    Edge(
        "ks-2.4b-uniform", f"{KS} Theorem 2.4, second half", "approximate_semantic",
        "approximate_dp", "false in general", _dp_from_semantic_half, printed=_printed_dp,
        remark="uniform belief, tau < 1/2: (ln((1 + 2 tau)/(1 - 2 tau)), 2 delta)",
        refuted=_printed_dp_refuted,
    ),
    Edge(
        "ks-4.1", f"{KS} Lemma 4.1", "approximate_dp", "posteriors", "false in general",
        _posteriors, printed=_posteriors_printed, hypotheses=(KNOWN_RECORDS,),
        remark="(2 eps, dh) fails with at most n (delta/dh)(1 + e^eps (1 - dh)), any dh; sharp",
    ),
    Edge(
        "ks-4.2", f"{KS} Corollary 4.2", "approximate_dp", "approximate_semantic", "corrected",
        _approximate, printed=_approximate_printed, hypotheses=(KNOWN_RECORDS,),
        remark="the conclusion is true although its lemma is false",
    ),
    Edge(
        "ks-5.1", f"{KS} Theorem 5.1", "mostly_dp", "believed_semantic", "corrected", _believed,
        hypotheses=(KNOWN_RECORDS,),
        remark="Claim 3.3(4) doubles delta: joint level failure + (1 - failure) delta",
    ),
    Edge(
        "ks-a.2-pure", f"{KS} Theorem A.2", "pure_dp", "reality_oblivious", "holds",
        lambda g, s: plain("reality_oblivious", tau=constants.semantic_tau(g.gamma), delta=0),
        remark="with delta > 0 nothing follows: see the attacker `reality`",
    ),
    Edge(
        "ks-a.3", f"{KS} Theorem A.3", "approximate_dp", "reality_oblivious_informed", "corrected",
        _informed, hypotheses=(KNOWN_RECORDS,),
        remark="delta (K + (n - 1) e^eps K + c); the printed step from A(b) to A(x) is invalid",
    ),
    Edge(
        "ks-footnote-4", f"{KS} footnote 4", "reality_oblivious", "approximate_dp",
        "false in general",
        lambda g, s: level(
            "approximate_dp", constants.gamma_from_tau(g.exact("tau")), delta=g.exact("delta")
        ),
        printed=_printed_dp, remark="(4 artanh tau, delta)",
        refuted=_printed_dp_refuted,
    ),
)  # fmt: skip
