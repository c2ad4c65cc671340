"""The attack on floating-point Laplace noise: many answers are possible for one true value only.

A generator of `bits` bits reaches 2^bits noises; added to a true value and rounded, they are a set of
floats that depends on it. Whoever sees an answer outside the set of a value knows that it was not the
value: no epsilon describes that, whatever the scale. This is why the database draws integers.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

from sanql.theory.attackers.outcome import Learned
from sanql.theory.errors import TheoryError
from sanql.theory.exact import Real, as_count, as_epsilon, as_fraction, exp_lower, float_lower
from sanql.theory.inverse_transform import noise_at

_ENUMERATED = 16
_BITS_MAX = 53
_VALUE_MAX = 2**40


def low_bits(
    value: int, other: int, epsilon: Real, *, bits: int = 53, trials: int = 1000, seed: int = 0
) -> Learned:
    """Return how often an answer about `value` is one that `other` can never give (real).

    Up to 16 bits every noise is tried, and the numbers are exact; beyond, answers are drawn, and whether
    the other value can give one is found by bisection, since the noise grows with the uniform number.

    >>> told = low_bits(0, 1, "1/2", bits=10)
    >>> told.real > Fraction(1, 2), told.ideal
    (True, Fraction(0, 1))
    """
    level = as_epsilon(as_fraction(epsilon, "epsilon"))
    if level == 0:
        raise TheoryError("epsilon", "at epsilon 0 the scale of the noise is infinite", "give more")
    for number, name in ((value, "value"), (other, "other")):
        as_count(number, name, least=-_VALUE_MAX, most=_VALUE_MAX)
    as_count(bits, "bits", least=2, most=_BITS_MAX)
    as_count(trials, "trials", most=100_000)
    as_count(seed, "seed", least=0, most=2**63)
    scale = 1 / level
    details: dict[str, object] = {"scale": scale, "bits of the generator": bits}
    if bits <= _ENUMERATED:
        given, others = (_answers(centre, bits, scale) for centre in (value, other))
        details["delta at the epsilon it is meant to have"] = _excess(given, others, bits, level)
        alone = sum(times for answer, times in given.items() if answer not in others)
        real = Fraction(alone, 2**bits)
    else:
        real = _sampled(value, other, scale, bits, trials, seed)
        details["answers drawn"] = trials
    return Learned(
        "low bits of Laplace noise",
        f"share of answers about {value} that {other} can never give",
        real,
        Fraction(0),
        details,
    )


def possible(answer: float, centre: int, bits: int, scale: float) -> bool:
    """Return whether some uniform number of so many bits leads from a true value to an answer."""
    steps = 2**bits
    low, high = 0, steps - 1
    while low < high:
        middle = (low + high) // 2
        if centre + noise_at(middle, steps, scale) < answer:
            low = middle + 1
        else:
            high = middle
    near = range(max(0, low - 8), min(steps, low + 9))  # the logarithm errs in its last place
    return any(centre + noise_at(step, steps, scale) == answer for step in near)


def _answers(centre: int, bits: int, scale: float) -> Counter[float]:
    return Counter(centre + noise_at(step, 2**bits, scale) for step in range(2**bits))


def _excess(given: Counter[float], others: Counter[float], bits: int, level: float) -> Fraction:
    """Return the exact delta between the two laws of answers, at the level rounded down."""
    gamma = Fraction(exp_lower(float_lower(Fraction(level))))
    found: list[Fraction] = []
    for p, q in ((given, others), (others, given)):
        gains = (times - gamma * q[answer] for answer, times in p.items())
        found.append(sum((gain for gain in gains if gain > 0), Fraction(0)))
    return max(found) / (1 << bits)


def _sampled(value: int, other: int, scale: float, bits: int, trials: int, seed: int) -> Fraction:
    import numpy as np

    rng = np.random.default_rng(seed)
    drawn: list[int] = rng.integers(0, 2**bits, trials, dtype=np.int64).tolist()
    answers = [value + noise_at(step, 2**bits, scale) for step in drawn]
    told = [math.isfinite(t) and not possible(t, other, bits, scale) for t in answers]
    return Fraction(told.count(True), trials)
