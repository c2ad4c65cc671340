"""Every one of the 64 vectors holds, exactly where it is exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from theory.vector_checks import channels, pairs, worlds
from theory.vectors import ALL

Check = Callable[[dict[str, Any], dict[str, Any]], None]

CHECKS: dict[str, Check] = {
    "pair": pairs.pair,
    "interval_vs_event": pairs.interval_vs_event,
    "hockey_stick_small_gamma": pairs.hockey_stick_small_gamma,
    "tradeoff": pairs.tradeoff,
    "tradeoff_bound": pairs.tradeoff_bound,
    "ht_identity": pairs.ht_identity,
    "geometric_pair": pairs.geometric_pair,
    "laplace_pair": pairs.laplace_pair,
    "matrix_dp": channels.matrix_dp,
    "matrix_dp_tuple": channels.matrix_dp_tuple,
    "row_release": channels.row_release,
    "neighbours": channels.neighbours,
    "prior_posterior": channels.prior_posterior,
    "prior_posterior_Egamma": channels.prior_posterior_egamma,
    "prop2_conversion": channels.prop2_conversion,
    "games": channels.games,
    "semantic_fail": channels.semantic_fail,
    "reality_oblivious": channels.reality_oblivious,
    "gaussian_A2": channels.gaussian_a2,
    "sim_dp": channels.sim_dp,
    "sim_dp_anonymous": channels.sim_dp_anonymous,
    "ddp_lp": worlds.ddp_lp,
    "ddp_vs_noiseless": worlds.ddp_vs_noiseless,
    "composition": worlds.composition,
    "pufferfish_inference": worlds.pufferfish_inference,
    "pufferfish_inference_bot": worlds.pufferfish_inference_bot,
    "cw_inference": worlds.cw_inference,
    "inference_ddp_vacuous": worlds.inference_ddp_vacuous,
    "ddp_inference": worlds.ddp_inference,
    "chain": worlds.chain,
    "joint_mixture": worlds.joint_mixture,
    "conditional_lemma": worlds.conditional_lemma,
    "implication": worlds.implication,
}


def test_there_are_sixty_four_vectors() -> None:
    assert len(ALL) == 64


@pytest.mark.slow
@pytest.mark.parametrize("vector", ALL, ids=lambda vector: str(vector["id"]))
def test_vector_holds(vector: dict[str, Any]) -> None:
    CHECKS[vector["kind"]](vector["input"], vector["expect"])
