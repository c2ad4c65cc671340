"""Private selection: which group keys may be shown when the keys themselves are not public.

A key appears when the noisy number of privacy units behind it clears a threshold. A key that only
one unit has must appear with probability at most delta; keys nobody has are never candidates.
"""

from __future__ import annotations

import math
from fractions import Fraction

from sanql.errors import Refused
from sanql.mechanisms.enclosure import Enclosure, exp_minus, rational
from sanql.mechanisms.noise import DiscreteGaussian, Noise, TruncatedGeometric
from sanql.mechanisms.tails import least_reaching


def truncated_geometric(epsilon: Fraction, delta: Fraction) -> TruncatedGeometric:
    """Return the noise with the least limit whose own probability, P(Z = limit), is at most delta.

    A key appears iff count + noise > limit. For a count that moves by one the noisy count of the
    keys that appear, and which do, is (epsilon, delta)-differentially private. With delta' = P(Z
    = limit) the chance of appearing attains, at every count, the largest that (epsilon, delta')
    allows (Desfontaines, Voss, Gipson & Mandayam, PoPETs 2022).

    >>> truncated_geometric(Fraction(1), Fraction(1, 100000)).limit
    11
    """
    _check_delta(delta)
    TruncatedGeometric(epsilon, 1)  # refuses an epsilon that no limit can help

    def end_mass(limit: int, bits: int) -> Enclosure:
        # r^n·(1 - r)/(1 + r - 2·r^(n+1)), r = exp(-epsilon); the smallness of epsilon costs bits
        work = bits + epsilon.denominator.bit_length() + 16
        one, ratio = rational(Fraction(1), work), exp_minus(epsilon, work)
        beyond = exp_minus(epsilon * (limit + 1), work)
        whole = (one - beyond) + (ratio - beyond)
        return (exp_minus(epsilon * limit, work) * (one - ratio) / whole).rounded_to(bits)

    return TruncatedGeometric(epsilon, least_reaching(end_mass, delta, _guess(epsilon, delta)))


def gaussian_threshold(sigma2: Fraction, delta: Fraction) -> int:
    """Return the least tau of at least 2 with P(1 + Z ≥ tau) ≤ delta for a discrete Gaussian Z.

    A key appears iff count + noise ≥ tau. The answer is never less than the true one.
    """
    _check_delta(delta)
    return 1 + DiscreteGaussian(sigma2).least_reaching(delta)


def appearance_probability(noise: Noise, threshold: int, count: int) -> float:
    """Return the chance that a key of `count` units has count + noise ≥ threshold.

    For a truncated geometric the threshold is limit + 1. A key nobody has never appears.
    """
    return float(noise.tail_upper(threshold - count)) if count > 0 else 0.0


def _guess(epsilon: Fraction, delta: Fraction) -> int:
    """Return roughly the limit; it only saves time."""
    rate, chance = float(epsilon), float(delta)
    ratio = math.exp(-rate)
    minus_log = math.log(delta.denominator) - math.log(delta.numerator)
    odds = (-math.expm1(-rate) + 2 * chance * ratio) / (1 + ratio)
    return math.ceil((minus_log + math.log(odds)) / rate)


def _check_delta(delta: Fraction) -> None:
    if not isinstance(delta, Fraction) or not 0 < delta < 1:
        raise Refused(
            "delta_invalid",
            f"delta must be an exact number between 0 and 1, not {delta!r}",
            "choose a delta well below one over the number of privacy units, such as 1e-8",
        )
