"""Bad declarations are refused with what, the value, the rule and a remedy."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import pytest

from sanql.errors import Refused
from sanql.mechanisms.noiseless import (
    BinomialPrior,
    CountAdversary,
    DiscardPrior,
    HistogramAdversary,
    LikelyGood,
    MapAdversary,
    Part,
    PoissonPrior,
    SizePrior,
    StableFunction,
    SumAdversary,
    continuous_sum,
    delta_at,
    discard_prior,
    epsilon_at,
    heterogeneous_sum,
    known_max,
    lattice_sum,
    others_min,
    partial_sum,
)
from sanql.mechanisms.noiseless.map_enumeration import enumerated_epsilon

GOOD = continuous_sum(others=100, eta="0.25")
COINS = (("0.9", "0.1"), ("0.1", "0.9"))
BAD: list[tuple[str, str, Callable[[], object]]] = [
    ("eta", "0.51", lambda: continuous_sum(others=10, eta=0.51)),
    ("eta", "0", lambda: continuous_sum(others=10, eta=0)),
    ("eta", "-0.1", lambda: continuous_sum(others=10, eta=-0.1)),
    ("number", "nan", lambda: continuous_sum(others=10, eta=math.nan)),
    ("number", "inf", lambda: continuous_sum(others=10, eta=math.inf)),
    ("number", "'lots'", lambda: continuous_sum(others=10, eta="lots")),
    ("number", "True", lambda: continuous_sum(others=10, eta=True)),
    ("count", "0", lambda: continuous_sum(others=0, eta=0.1)),
    ("count", "10000001", lambda: continuous_sum(others=10_000_001, eta=0.1)),
    ("count", "2.5", lambda: continuous_sum(others=2.5, eta=0.1)),  # type: ignore[arg-type]
    ("known", "10 of 10", lambda: continuous_sum(others=10, eta=0.1, known=10)),
    ("count", "-1", lambda: continuous_sum(others=10, eta=0.1, known=-1)),
    ("probability", "1.2", lambda: partial_sum(others=9, lower=0, upper=1, width=1, alpha=1.2)),
    ("width", "2", lambda: partial_sum(others=9, lower=0, upper=1, width=2, alpha=0.5)),
    ("probability", "0.3", lambda: lattice_sum(others=9, lower=1, upper=5, mass=0.3)),
    ("range", "7", lambda: lattice_sum(others=9, lower=1, upper=5, mass=0.1, last=7)),
    ("lattice", "0.5", lambda: lattice_sum(others=9, lower=0.5, upper=5, mass=0.1)),
    ("step", "0", lambda: lattice_sum(others=9, lower=0, upper=5, mass=0.1, step=0)),
    ("number", "1000 digits", lambda: continuous_sum(others=10, eta="1e-999999999")),
    ("number", "1000 digits", lambda: continuous_sum(others=10, eta=Decimal("1e-999999999"))),
    ("number", "1000 digits", lambda: continuous_sum(others=10, eta="0." + "3" * 5000)),
    ("number", "1000 digits", lambda: delta_at(GOOD, 10**5000)),
    ("number", "'1/0'", lambda: delta_at(GOOD, "1/0")),
    ("number", "'１'", lambda: delta_at(GOOD, "１")),
    ("epsilon", "about 1e+", lambda: delta_at(GOOD, "9e999")),
    ("probability", "about 1e-", lambda: CountAdversary(10, "1e-900")),
    ("eta", "about 1e+900", lambda: continuous_sum(others=10, eta="1e900")),
    ("probability", "nothing is computed", lambda: continuous_sum(others=10, eta="1e-400")),
    ("count", "1e+30", lambda: continuous_sum(others=10**30, eta="0.1")),
    ("reach", "1e-300", lambda: SumAdversary(10, Fraction(1, 2), Fraction(1, 10**300))),
    (
        "reach",
        "500000000000000000 widths",
        lambda: partial_sum(others=9, lower=0, upper="1e18", width=1, alpha="0.5"),
    ),
    ("width", "0 wide", lambda: heterogeneous_sum([Part(9, "0.5", 0)], lower=0, upper=1)),
    ("width", "0 wide", lambda: partial_sum(others=9, lower=0, upper=1, width=0, alpha="0.5")),
    ("laws", "400 values", lambda: MapAdversary(9, ((Fraction(1, 400),) * 400, COINS[0] * 200))),
    ("laws", "1e-", lambda: MapAdversary(9, (("1e-400", 1), ("0.5", "0.5")))),
    ("parts", "no records", lambda: heterogeneous_sum([], lower=0, upper=1)),
    ("probability", "0.6", lambda: CountAdversary(10, 0.6)),
    ("known", "10 of 10", lambda: CountAdversary(10, 0.1, known=10)),
    ("rate", "1", lambda: BinomialPrior(1)),
    ("rate", "0", lambda: BinomialPrior(0)),
    ("known", "9 known", lambda: HistogramAdversary(10, PoissonPrior(), known=9)),
    ("count", "0", lambda: HistogramAdversary(0, PoissonPrior())),
    ("census", "100 of 100", lambda: DiscardPrior(100, 100, 0.1, 5)),
    ("epsilon_size", "0", lambda: DiscardPrior(100, 50, 0, 5)),
    ("rate", "about 1e-", lambda: BinomialPrior("1e-500")),
    ("rate", "1", lambda: BinomialPrior(1 - Fraction(1, 10**400))),
    ("count", "10001", lambda: SizePrior(10**9, 5, ("0.0001",) * 10_001)),
    *(
        (
            "epsilon_size",
            "between 0.001 and 10",
            lambda level=level: discard_prior(
                population=100, sample=50, epsilon_size=level, delta="1e-9"
            ),
        )
        for level in ("1e-500", "1e500", "0")
    ),
    ("masses", "add up", lambda: SizePrior(100, 5, (0.5, 0.4))),
    ("census", "9", lambda: SizePrior(9, 8, (0.5, 0.5))),
    ("laws", "above 0", lambda: MapAdversary(10, ((1, 0), (0, 1)))),
    ("laws", "same", lambda: MapAdversary(10, (("0.5", "0.5"), ("0.5", "0.5")))),
    ("weights", "1 weights", lambda: MapAdversary(10, COINS, weights=(1,))),
    ("known", "10 of 10", lambda: MapAdversary(10, COINS, known=10)),
    ("instability", "0.2", lambda: StableFunction(0.2, 0.1)),
    ("probability", "0", lambda: StableFunction(0)),
    ("failure", "fails", lambda: LikelyGood(10**6, 1, 1e-6).certificate(1e-3)),
    ("epsilon", "-1", lambda: delta_at(GOOD, -1)),
    ("epsilon", "101", lambda: delta_at(GOOD, 101)),
    ("number", "nan", lambda: delta_at(GOOD, math.nan)),
    ("delta", "0", lambda: epsilon_at(GOOD, 0)),
    ("delta", "1", lambda: epsilon_at(GOOD, 1)),
    ("no_epsilon", "up to 0.5", lambda: epsilon_at(GOOD, 1e-6, cap=0.5)),
    ("known", "no known record", lambda: known_max(GOOD, 0.5, 1e-6)),
    ("records", "10000000", lambda: others_min(GOOD, "0.00001", 1e-6)),
]


@pytest.mark.parametrize(("code", "quoted", "declare"), BAD, ids=lambda x: str(x)[:20])
def test_a_bad_declaration_is_refused(
    code: str, quoted: str, declare: Callable[[], object]
) -> None:
    with pytest.raises(Refused) as caught:
        declare()
    assert caught.value.code == f"certificate_{code}"
    assert quoted in caught.value.message
    assert caught.value.remedy


def test_a_refusal_to_know_too_much_says_how_many_records_would_do() -> None:
    with pytest.raises(Refused) as caught:
        known_max(GOOD, 1, 1e-7)
    needed = others_min(GOOD, 1, 1e-7)
    assert str(needed) in caught.value.remedy


def test_known_members_of_a_sample_of_given_size_are_refused() -> None:
    """They tell of the size: at 40,000/2,000 and L = 100, delta is at least 3.17e-4, not 1.3e-7."""
    prior = discard_prior(population=40_000, sample=2_000, epsilon_size="0.1", delta="1e-6")
    with pytest.raises(Refused) as caught:
        HistogramAdversary(200, prior, 100)
    assert caught.value.code == "certificate_known"


def test_the_pure_guarantee_of_an_estimator_is_refused_with_known_records() -> None:
    laws = ((Fraction(5, 9), Fraction(4, 9)), (Fraction(1, 4), Fraction(3, 4)))
    with pytest.raises(Refused) as caught:
        enumerated_epsilon(MapAdversary(6, laws, known=1), Fraction(1, 5))
    assert caught.value.code == "certificate_known"


def test_an_instability_that_no_float_holds_is_rounded_up() -> None:
    assert StableFunction("1e-400").certificate().delta_upper > 0
    assert StableFunction(Fraction(1, 3)).certificate().delta_upper >= Fraction(1, 3)
    assert StableFunction(Fraction(1, 3)).certificate().delta_upper < 0.3333333334


def test_a_record_that_reaches_further_than_all_the_others_is_seen_at_once() -> None:
    found = delta_at(partial_sum(others=900, lower=0, upper="1e9", width="0.5", alpha="0.9"), 5)
    assert found.delta_upper == 1
    far = SumAdversary(10**7, Fraction(1, 10), Fraction(400_000))
    assert delta_at(far, 1).delta_upper == pytest.approx(1)
