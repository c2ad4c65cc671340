"""Questions priced one by one: an epsilon is split among them so that the error of all is least.

With each mechanism the least error of a question falls with its epsilon about as a power of it, which
two prices tell, but for what norms take away, which no epsilon brings back. Each question takes the
better mechanism at its share, and where the sum of errors is least all questions have the same
derivative. The split that is found so needs no proof: each question is then priced at its share as if
it were asked alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from sanql.account import Charge, total_charge
from sanql.errors import Refused
from sanql.plan.mechanism import Priced, is_free, split
from sanql.plan.pricing import MECHANISMS, expected_error, missed_error, price_best, price_bounded
from sanql.statistics import Measuring

_ROUNDS = 60
_POWER_MAX = (
    4.0  # errors of whole numbers fall faster in the end, and from 5 on rounds would not settle
)
_ERROR_LEAST = 1e-200
_LOG_MOST = 700.0  # of what floating point has an exponential of
_SHARE_LEAST = 1e-6  # nobody is left without any

Ways = Sequence[Sequence[Measuring]]
"""Several ways to measure all levels of one question."""
Questions = Sequence[Ways]
PricedQuestion = tuple[Sequence[Measuring], tuple[Priced, ...]]
"""The way that is taken, and the noise of its levels."""
PowerLaw = tuple[float, float, float]  # log a, p and m of the error a / e^p + m


def price_one_by_one(
    questions: Questions, epsilon: Fraction, delta: Fraction
) -> tuple[list[PricedQuestion], Charge] | None:
    """Return how every question is measured at its share, its noise, and the sum of what they cost.

    None where a share is too small for any noise. Those questions that are better off with a delta have
    equal parts of it.
    """
    deltas = [delta / len(questions) for _ in questions]
    try:
        priced = _priced(questions, epsilon, deltas)
        spending = [charge.delta > 0 for _, _, charge in priced]
        if any(spending):
            each = delta / sum(spending)
            priced = _priced(
                questions, epsilon, [each if spends else Fraction(0) for spends in spending]
            )
    except Refused as refused:
        if refused.code != "noise_too_large":
            raise
        return None
    charge = total_charge([charge for _, _, charge in priced])
    return [(way, levels) for way, levels, _ in priced], charge


def _priced(
    questions: Questions, epsilon: Fraction, deltas: Sequence[Fraction]
) -> list[tuple[Sequence[Measuring], tuple[Priced, ...], Charge]]:
    """Return the price of each question with its delta, at its share of epsilon."""
    shares = split(_proportions(questions, epsilon, deltas))
    return [
        price_best(ways, epsilon * share or epsilon, delta)  # without a share it is free
        for ways, share, delta in zip(questions, shares, deltas, strict=True)
    ]


def _proportions(
    questions: Questions, epsilon: Fraction, deltas: Sequence[Fraction]
) -> list[float]:
    """Return what each question's share of epsilon is proportional to."""
    even = epsilon / len(questions)
    laws = [_laws(ways, even, own) for ways, own in zip(questions, deltas, strict=True)]
    shares = [1.0 if own else 0.0 for own in laws]
    for _ in range(_ROUNDS):
        total = sum(shares)
        parts = [max(share / total, _SHARE_LEAST) if share else 0.0 for share in shares]
        logs = [math.log(float(epsilon) * part) if part else 0.0 for part in parts]
        wanted = [
            log + _log_slope(own, log) / 3 if own else -math.inf
            for own, log in zip(laws, logs, strict=True)
        ]
        most = max(wanted)
        least = math.log(_SHARE_LEAST)
        shares = [
            math.exp(max(each - most, least)) if own else 0.0
            for own, each in zip(laws, wanted, strict=True)
        ]
    return shares


def _laws(ways: Ways, epsilon: Fraction, delta: Fraction) -> list[PowerLaw]:
    """Return how the error falls, each way and with each mechanism, from here to twice this epsilon."""
    if all(map(is_free, ways[0])):
        return []
    laws = []
    for mechanism, levels in product(MECHANISMS, ways):
        at = [price_bounded(mechanism, levels, e, delta) for e in (epsilon, 2 * epsilon)]
        found = [priced for priced in at if priced is not None]
        if len(found) == len(at):
            missed = sum(map(missed_error, found[0][0]))
            errors = [sum(map(expected_error, *priced)) - missed for priced in found]
            here, there = (math.log(max(error, _ERROR_LEAST)) for error in errors)
            power = min(max((here - there) / math.log(2), 1 / _POWER_MAX), _POWER_MAX)
            laws.append((here + power * math.log(epsilon), power, missed))
    return laws


def _log_slope(laws: Sequence[PowerLaw], log_epsilon: float) -> float:
    """Return the logarithm of how fast the least error falls as epsilon grows."""
    factor, power, _ = min(laws, key=lambda law: _error(law, log_epsilon))
    return factor + math.log(power) - (power + 1) * log_epsilon


def _error(law: PowerLaw, log_epsilon: float) -> float:
    factor, power, missed = law
    return math.exp(min(factor - power * log_epsilon, _LOG_MOST)) + missed
