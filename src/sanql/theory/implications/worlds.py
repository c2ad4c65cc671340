"""Edges of the coupled-worlds framework, noiseless privacy and Pufferfish."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from sanql.theory import constants
from sanql.theory.exact import exp_upper
from sanql.theory.implications.edges import (
    BINARY_SECRETS,
    CLOSE_SIMULATIONS,
    EVERY_DISTRIBUTION,
    EXACT_INFERENCE,
    INDEPENDENT,
    KNOWN_PROTECTIONS,
    KNOWN_RECORDS,
    RECORD_PROTECTIONS,
    Apply,
    Edge,
    level,
)
from sanql.theory.implications.guarantees import Guarantee, Setting
from sanql.theory.implications.guarantees import guarantee as make

CW = "coupled worlds"


def _inference(kind: str, count: Callable[[Setting], int]) -> Apply:
    """(2 eps, dh) with failure |Gamma| (delta/dh)(1 + e^eps (1 - dh)); one delta' if dh is not
    asked."""

    def apply(g: Guarantee, s: Setting) -> Guarantee:
        if s.delta_hat is None or g["delta"] == 0:
            both = constants.inference_delta(g.gamma, g.exact("delta"), count(s))
            return level(kind, g.gamma**2, delta_hat=Fraction(both), failure=Fraction(both))
        slack = Fraction(s.delta_hat)
        failure = count(s) * g.exact("delta") * constants.hat_constant(g.gamma, slack)
        return level(kind, g.gamma**2, delta_hat=slack, failure=failure)

    return apply


def _inference_printed(kind: str, count: Callable[[Setting], int]) -> Apply:
    def printed(g: Guarantee, s: Setting) -> Guarantee:
        both = min(1.0, 2 * math.sqrt(g["delta"] * count(s)))
        return make(kind, epsilon=3 * g["epsilon"], delta_hat=both, failure=both)

    return printed


def _records(s: Setting) -> int:
    return s.records or 1


def _protections(s: Setting) -> int:
    return s.protections or 1


def _pufferfish_inference(g: Guarantee, s: Setting) -> Guarantee:
    if g["delta"] == 0:
        return make("inference_pufferfish", epsilon=g["epsilon"], delta_hat=0.0, failure=0.0)
    slack = s.delta_hat or math.sqrt(g["delta"]) / math.sqrt(2)
    failure = constants.pufferfish_failure(g.exact("delta"), Fraction(slack), Fraction(1, 2))
    return level("inference_pufferfish", g.gamma, delta_hat=Fraction(slack), failure=failure)


def _pufferfish_inference_printed(g: Guarantee, s: Setting) -> Guarantee:
    both = min(1.0, 2 * math.sqrt(g["delta"]))
    return make("inference_pufferfish", epsilon=3 * g["epsilon"], delta_hat=both, failure=both)


def _chain(kind: str) -> Apply:
    def apply(g: Guarantee, s: Setting) -> Guarantee:
        middle = Fraction(exp_upper(s.simulator_epsilon or 0.0))
        delta = constants.chain_delta(
            g.gamma, g.exact("delta"), middle, Fraction(s.simulator_delta or 0.0)
        )
        return level(kind, g.gamma**2 * middle, delta=delta)

    return apply


EDGES: tuple[Edge, ...] = (
    Edge(
        "cw-ddp", f"{CW} Def. 3 as Def. 5", "coupled_worlds", "ddp", "holds",
        lambda g, s: make("ddp", epsilon=g["epsilon"], delta=g["delta"]),
        hypotheses=(RECORD_PROTECTIONS,),
        remark="with alt = priv = everything, publishing the database is (0, 0)-coupled-worlds",
    ),
    Edge(
        "cw-thm-1", f"{CW} Theorem 1", "ddp", "inference_ddp", "false in general",
        _inference("inference_ddp", _records),
        printed=_inference_printed("inference_ddp", _records), hypotheses=(KNOWN_RECORDS,),
        remark="2 eps suffices; printed (3 eps, 2 sqrt(delta n)) is false for large eps",
    ),
    Edge(
        "cw-thm-2", f"{CW} Theorem 2, with Lemma 1", "coupled_worlds", "inference_coupled_worlds",
        "false in general", _inference("inference_coupled_worlds", _protections),
        printed=_inference_printed("inference_coupled_worlds", _protections),
        hypotheses=(KNOWN_PROTECTIONS,),
        remark="as printed it is true when e^eps (1 - 2 sqrt(delta |Gamma|)) <= 3",
    ),
    Edge(
        "cw-def-2-all", f"{CW}, after Def. 3", "inference_ddp", "pure_dp", "corrected",
        lambda g, s: make("pure_dp", epsilon=g["epsilon"]),
        hypotheses=(EVERY_DISTRIBUTION, EXACT_INFERENCE),
        remark="point distributions alone make Def. 2 vacuous",
    ),
    Edge(
        "cw-thm-7", f"{CW} Theorem 7", "pufferfish", "inference_pufferfish", "corrected",
        _pufferfish_inference, printed=_pufferfish_inference_printed, hypotheses=(BINARY_SECRETS,),
        remark="eps stays eps, failure at most delta/(2 dh); false if a secret may be undecided",
    ),
    Edge(
        "cw-thm-16", f"{CW} Theorem 16", "coupled_worlds", "pufferfish", "holds",
        _chain("pufferfish"), hypotheses=(CLOSE_SIMULATIONS,),
        remark="(2 eps + eps1, delta (1 + e^(eps + eps1)) + delta1 e^eps), tight",
    ),
    Edge(
        "cw-cor-1", f"{CW} Corollary 1", "ddp", "noiseless", "holds", _chain("noiseless"),
        hypotheses=(CLOSE_SIMULATIONS,),
    ),
    Edge(
        "cw-cor-2", f"{CW} Corollary 2", "ddp", "noiseless", "holds",
        lambda g, s: level(
            "noiseless", g.gamma**2, delta=constants.group_delta(g.gamma, g.exact("delta"), 2)
        ),
        hypotheses=(INDEPENDENT,), remark="(2 eps, delta (1 + e^eps)), tight",
    ),
)  # fmt: skip
