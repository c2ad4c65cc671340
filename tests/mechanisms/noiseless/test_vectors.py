"""All 89 vectors: a bound is never below the true value, and equals the vector's or is tighter.

Where it is tighter, by how much is stated beside the check and why it may be is in docs/exact.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sanql.errors import Refused
from sanql.mechanisms.noiseless import (
    CountAdversary,
    LikelyGood,
    MapAdversary,
    StableFunction,
    SumAdversary,
    continuous_sum,
    epsilon_at,
    threshold_min,
)
from sanql.mechanisms.noiseless.fourier import many_delta
from sanql.mechanisms.noiseless.histograms import BinomialPrior, PoissonPrior
from sanql.mechanisms.noiseless.irwin_hall import EXACT_MAX, few_delta
from sanql.mechanisms.noiseless.map_enumeration import enumerated_delta, enumerated_epsilon
from sanql.mechanisms.noiseless.map_estimators import (
    chernoff_delta,
    printed_delta,
    sharpened_epsilon,
)
from sanql.mechanisms.noiseless.sampled_cells import cell_deltas
from sanql.mechanisms.noiseless.sampled_sizes import DiscardPrior, sampled_deltas
from sanql.mechanisms.noiseless.summands import Interval, Lattice
from sanql.mechanisms.noiseless.sums import closed_form_delta
from sanql.mechanisms.noiseless.truncation import binomial_deltas, poisson_deltas
from sanql.theory.constants import tv_constant

pytestmark = pytest.mark.slow

Vector = dict[str, Any]
VECTORS: list[Vector] = json.loads(
    (Path(__file__).parent / "noiseless_vectors.json").read_text(encoding="utf-8")
)["vectors"]


def rational(value: float) -> Fraction:
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def check(bound: float, vector: Vector, *, tighter: float, looser: float = 5e-9) -> None:
    """Compare a bound with a vector: at least the true value, at most `looser` above the vector,
    at most `tighter` below it (relative)."""
    if vector["true_value"] is not None:
        assert bound >= vector["true_value"] * (1 - 5e-9)  # the vector has nine digits
    assert vector["upper_bound"] * (1 - tighter) <= bound <= vector["upper_bound"] * (1 + looser)


def delta_of_few_and_many(vector: Vector) -> None:
    i = vector["inputs"]
    part = Lattice(i["N"]) if i["N"] else Interval()
    shift = Fraction(i["r"]) if i["N"] else rational(i["s"])
    level = rational(i["eps"])
    if i["K"] <= EXACT_MAX:
        found = few_delta(part, i["K"], shift, level)
    else:
        found = many_delta([part], [i["K"]], shift, level)
    # vectors 7 and below were computed on a grid: number 7 is 1e-7 above the true maximum
    check(found, vector, tighter=2e-7)


def sum_delta(vector: Vector) -> None:
    i = vector["inputs"]
    if "eta" in i:
        adversary = continuous_sum(others=i["m"], eta=i["eta"])
    else:
        adversary = SumAdversary(i["m"], rational(i["alpha"]), Fraction(i["r"]), Lattice(i["N"]))
    if vector["kind"] == "noiseless_sum":
        adversary = adversary.noiseless()
    if "dens" in i:  # 64 blocks there, 64 blocks here, placed better
        check(adversary.bound(i["eps"]).delta_upper, vector, tighter=0.05)
        return
    full = replace(adversary, fineness=None).bound(i["eps"]).delta_upper
    check(full, vector, tighter=1e-6)
    blocks = adversary.bound(i["eps"]).delta_upper
    check(blocks, vector, tighter=1e-6, looser=0.1)
    if "via_cor2" in vector:
        assert full < vector["via_cor2"]


def sum_epsilon(vector: Vector) -> None:
    i = vector["inputs"]
    if "eta" in i:
        adversary = continuous_sum(others=i["m"], eta=i["eta"])
    else:
        adversary = SumAdversary(i["m"], rational(i["alpha"]), Fraction(i["r"]), Lattice(i["N"]))
    if vector["upper_bound"] is None:
        with pytest.raises(Refused, match="no epsilon"):
            epsilon_at(adversary, i["delta"])
        return
    found = epsilon_at(adversary, i["delta"])
    assert found.delta_upper <= i["delta"]
    check(found.epsilon, vector, tighter=0.006, looser=1e-3)
    # and the epsilon is not just tighter: with all the blocks its delta passes by itself
    fine = replace(adversary, fineness=100).bound(found.epsilon).delta_upper
    assert fine <= i["delta"]


def closed_form(vector: Vector) -> None:
    i = vector["inputs"]
    check(closed_form_delta(others=i["m"], eta=i["eta"], epsilon=i["eps"]), vector, tighter=1e-8)


def poisson(vector: Vector) -> None:
    i = vector["inputs"]
    one, two = poisson_deltas(i["k"], rational(i["eps"]))
    check(max(one, two), vector, tighter=1e-8)
    assert one == pytest.approx(vector["dir1"], rel=1e-11)
    assert two == pytest.approx(vector["dir2"], rel=1e-11)


def binomial(vector: Vector) -> None:
    i = vector["inputs"]
    one, two = binomial_deltas(i["k"], rational(i["eps"]), rational(i["p"]))
    check(max(one, two), vector, tighter=1e-8)
    assert one == pytest.approx(vector["dir1"], rel=1e-11)
    assert two == pytest.approx(vector["dir2"], rel=1e-11)


def smallest_threshold(vector: Vector) -> None:
    i = vector["inputs"]
    prior = BinomialPrior(i["p"]) if "p" in i else PoissonPrior()
    assert threshold_min(prior, i["eps"], i["delta"]) == vector["upper_bound"]


def discarded(vector: Vector) -> None:
    i = vector["inputs"]
    prior = DiscardPrior(i["P"], i["n0"], rational(i["epsN"]), i["c0"])
    one, two = cell_deltas(i["k"], rational(i["eps"]), prior, i["m"])
    check(max(one, two), vector, tighter=1e-8)
    # the vector's second direction ends where its list of sizes ends, at about 1e-28
    assert two <= vector["dir2"] * (1 + 1e-9)
    bound = sampled_deltas(i["k"], rational(i["eps"]), prior)
    assert bound[0] >= one
    assert bound[1] >= two


def family(vector: Vector, known: int = 0) -> MapAdversary:
    i = vector["inputs"]
    return MapAdversary(i["n"], tuple(tuple(law) for law in i["f"]), known=known)


def map_delta(vector: Vector) -> None:
    adversary = family(vector)
    # the vector adds what can go wrong with and without the record, where the larger is enough
    check(chernoff_delta(adversary), vector, tighter=0.55)
    exact = enumerated_delta(adversary, Fraction(0))
    assert exact == pytest.approx(vector["true_value"], rel=5e-9)
    assert printed_delta(adversary) == pytest.approx(vector["paper_bound"], rel=1e-9)


def map_epsilon(vector: Vector) -> None:
    adversary = family(vector)
    check(sharpened_epsilon(adversary, vector["inputs"]["lam"]), vector, tighter=5e-4)
    exact = enumerated_epsilon(adversary, vector["inputs"]["lam"])
    assert exact == pytest.approx(vector["true_value"], rel=5e-9)


def known_records(vector: Vector) -> None:
    adversary = family(vector, vector["inputs"]["L"])
    check(chernoff_delta(adversary), vector, tighter=0.55)
    exact = enumerated_delta(adversary, Fraction(0))
    assert exact == pytest.approx(vector["true_value"], rel=5e-9)
    assert printed_delta(adversary) == pytest.approx(vector["paper_bound"], rel=1e-9)
    assert printed_delta(adversary) < exact


def stable(vector: Vector) -> None:
    i = vector["inputs"]
    found = StableFunction(i["mu"], i["c"]).certificate()
    check(found.epsilon, vector, tighter=5e-9)
    assert found.delta_upper == 0
    assert found.epsilon < vector["paper_bound"]
    assert vector["paper_bound"] == pytest.approx(
        math.log((i["c"] + i["mu"]) / (i["c"] - i["mu"])), rel=1e-9
    )


def likely_good(vector: Vector) -> None:
    i = vector["inputs"]
    found = LikelyGood(i["n"], i["eps"], i["delta"]).certificate(i["eta"])
    check(found.epsilon, vector, tighter=5e-9)
    constant = tv_constant(math.exp(i["eps"]), found.epsilon)
    sharp = i["n"] * i["delta"] * constant
    assert found.delta_upper == pytest.approx(min(vector["delta_prime"], sharp), rel=1e-9)


def count(vector: Vector) -> None:
    i = vector["inputs"]
    adversary = CountAdversary(i["m"], i["beta"])
    found = adversary.bound(i["eps"]).delta_upper
    # number 89 was a block bound; here the blocks are refined to the true value
    check(found, vector, tighter=0.07)
    assert found == pytest.approx(vector["true_value"], rel=2e-3)
    mixed = replace(adversary.mixture, fineness=None).bound(i["eps"]).delta_upper
    assert mixed == pytest.approx(vector["k_mixture"], rel=1e-6)


CHECKS: dict[str, Callable[[Vector], None]] = {
    "delta_K": delta_of_few_and_many,
    "sum_delta_cont": sum_delta,
    "sum_delta_disc": sum_delta,
    "noiseless_sum": sum_delta,
    "sum_eps_cont": sum_epsilon,
    "sum_eps_disc": sum_epsilon,
    "sum_delta_closed": closed_form,
    "hist_poisson_delta": poisson,
    "hist_binom_delta": binomial,
    "hist_k_poisson": smallest_threshold,
    "hist_k_binom": smallest_threshold,
    "hist_laplace_discard_exact": discarded,
    "map_delta0": map_delta,
    "map_eps": map_epsilon,
    "map_thm15_counterexample": known_records,
    "thm12_eps": stable,
    "cor52": likely_good,
    "count_delta": count,
}


def test_there_are_89_vectors() -> None:
    assert [vector["id"] for vector in VECTORS] == list(range(1, 90))


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: f"{v['id']}-{v['kind']}")
def test_the_bound_equals_the_vector_or_is_tighter(vector: Vector) -> None:
    CHECKS[vector["kind"]](vector)
