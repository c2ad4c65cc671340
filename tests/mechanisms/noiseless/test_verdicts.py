"""Verdicts against every database: no certified delta is below the truth, ties are decided exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest

from sanql.errors import Refused
from sanql.mechanisms.noiseless import (
    MAP,
    Verdict,
    VerdictAdversary,
    lower_median,
    mode,
    others_min,
    share_test,
)
from sanql.mechanisms.noiseless.multiplicative import sign_of_product

INSTANCES = 250
Law = tuple[Fraction, ...]


def laws_at_random(rng: np.random.Generator, count: int, values: int) -> tuple[Law, ...]:
    """Return different laws, some of them with values that are next to impossible."""
    while True:
        found = []
        for _ in range(count):
            weights = [int(w) for w in rng.integers(1, 40, size=values)]
            if rng.random() < 0.3:
                weights[int(rng.integers(values))] *= 500
            found.append(tuple(Fraction(w, sum(weights)) for w in weights))
        if len(set(found)) == count:
            return tuple(found)


def vectors(total: int, values: int) -> Iterator[tuple[int, ...]]:
    if values == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in vectors(total - first, values - 1):
            yield (first, *rest)


def plain(
    verdict: Verdict, laws: Sequence[Law], weights: Sequence[Fraction], counts: Sequence[int]
) -> int:
    """Return the verdict, computed in another way: from records in order, or from whole products."""
    values = len(counts)
    if verdict.scores is None:
        fits = [
            w * math.prod(p**n for p, n in zip(law, counts, strict=True))
            for w, law in zip(weights, laws, strict=True)
        ]
        return fits.index(max(fits))
    if verdict.name == mode(2).name:
        return list(counts).index(max(counts))
    if verdict.name == lower_median(2).name:
        rows = [value for value in range(values) for _ in range(counts[value])]
        return rows[math.ceil(len(rows) / 2) - 1] if rows else 0
    counted = sum(n for n, s in zip(counts, verdict.scores[0], strict=True) if s > 0)
    share = -min(verdict.scores[0])
    return 0 if counted >= share * sum(counts) else 1


def truth(adversary: VerdictAdversary) -> float:
    """Return the exact delta at epsilon 0: over laws, known records and the protected one, both ways."""
    laws, weights = adversary.as_map.rational_laws, adversary.as_map.rational_weights
    values, worst = len(laws[0]), Fraction(0)
    outputs = len(laws) if adversary.verdict.scores is None else len(adversary.verdict.scores)
    whole = list(vectors(adversary.unknown, values))
    for known, x in product(vectors(adversary.known, values), range(values)):
        found = []
        for unknown in whole:
            without = [n + k for n, k in zip(unknown, known, strict=True)]
            with_it = [n + (v == x) for v, n in enumerate(without)]
            decide = partial(plain, adversary.verdict, laws, weights)
            found.append((decide(with_it), decide(without)))
        for law in laws:
            apart = [Fraction(0)] * outputs
            for unknown, (real, ideal) in zip(whole, found, strict=True):
                if real != ideal:
                    ways = math.factorial(sum(unknown))
                    chance = Fraction(1)
                    for n, p in zip(unknown, law, strict=True):
                        ways //= math.factorial(n)
                        chance *= p**n
                    apart[real] += ways * chance
                    apart[ideal] -= ways * chance
            worst = max(worst, sum((a for a in apart if a > 0), Fraction(0)))
    return float(worst)


def verdicts(rng: np.random.Generator, values: int) -> Verdict:
    match int(rng.integers(4)):
        case 0:
            return MAP
        case 1:
            return mode(values)
        case 2:
            return lower_median(values)
        case _:
            counted = [bool(rng.integers(2)) for _ in range(values - 1)] + [True]
            return share_test(counted, Fraction(int(rng.integers(1, 20)), 20))


@pytest.mark.slow
def test_no_certified_delta_is_below_that_of_all_databases() -> None:
    rng = np.random.default_rng(11)
    informative = 0
    for _ in range(INSTANCES):
        values = int(rng.integers(2, 4))
        laws = laws_at_random(rng, int(rng.integers(2, 4)), values)
        known = int(rng.integers(0, 3))
        others = known + int(rng.integers(1, 9 if values == 3 else 14))
        weights = tuple(Fraction(int(w)) for w in rng.integers(1, 4, size=len(laws)))
        adversary = VerdictAdversary(others, laws, verdicts(rng, values), weights, known)
        claimed = adversary.bound(0).delta_upper
        assert claimed >= truth(adversary)
        informative += claimed < 1
    assert informative > INSTANCES / 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verdict", "laws", "known"),
    [
        (mode(2), ((0.9, 0.1), (0.1, 0.9)), 0),
        (mode(3), ((0.8, 0.15, 0.05), (0.05, 0.15, 0.8)), 1),
        (lower_median(3), ((0.9, 0.05, 0.05), (0.05, 0.05, 0.9)), 1),
        (share_test([False, True], "0.5"), ((0.95, 0.05), (0.05, 0.95)), 2),
        (MAP, ((0.9, 0.1), (0.1, 0.9)), 1),
    ],
)
def test_a_bound_below_one_falls_with_every_further_record_and_holds(
    verdict: Verdict, laws: tuple[tuple[float, ...], ...], known: int
) -> None:
    deltas = []
    for others in range(known + 4, known + 18):
        adversary = VerdictAdversary(others, laws, verdict, known=known)
        deltas.append(adversary.bound(0).delta_upper)
        assert deltas[-1] >= truth(adversary) > 0
    assert deltas[-1] < 0.5
    below = [delta for delta in deltas if delta < 1]
    assert below == sorted(below, reverse=True)


def test_the_least_number_of_records_passes_and_one_fewer_does_not() -> None:
    start = VerdictAdversary(11, ((0.6, 0.4), (0.4, 0.6)), mode(2), known=10)
    least = others_min(start, 0, "1e-6")
    assert start.with_others(least).bound(0).delta_upper <= 1e-6
    assert start.with_others(least - 1).bound(0).delta_upper > 1e-6


def test_decisions_are_those_of_plain_arithmetic_at_ties_too() -> None:
    rng = np.random.default_rng(12)
    ties = 0
    for _ in range(1500):
        values = int(rng.integers(2, 5))
        laws = laws_at_random(rng, int(rng.integers(2, 4)), values)
        if rng.random() < 0.4:  # mirrored laws tie often
            laws = (laws[0], tuple(reversed(laws[0])))
            if laws[0] == laws[1]:
                continue
        weights = tuple(Fraction(int(w)) for w in rng.integers(1, 3, size=len(laws)))
        verdict = verdicts(rng, values)
        counts = [int(n) for n in rng.integers(0, 6, size=values)]
        adversary = VerdictAdversary(40, laws, verdict, weights)
        assert adversary.decide(counts) == plain(verdict, laws, weights, counts)
        ties += counts == counts[::-1]
    assert ties > 50


def test_ties_of_a_million_records_are_seen_and_one_record_breaks_them() -> None:
    laws = ((Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4)))
    adversary = VerdictAdversary(2 * 10**6, laws, MAP)
    assert adversary.decide([10**6, 10**6]) == 0
    assert adversary.decide([10**6, 10**6 + 1]) == 1
    assert sign_of_product([(Fraction(2, 3), 10**7), (Fraction(4, 9), -5 * 10**6)]) == 0
    close = [(Fraction(10**40 + 1, 10**40), 1)]
    assert sign_of_product(close) == 1
    assert sign_of_product([(value, -power) for value, power in close]) == -1


def test_scores_of_other_values_than_those_of_the_laws_are_refused() -> None:
    with pytest.raises(Refused) as refused:
        VerdictAdversary(10, ((0.5, 0.5), (0.4, 0.6)), mode(3))
    assert refused.value.code == "certificate_verdict"
