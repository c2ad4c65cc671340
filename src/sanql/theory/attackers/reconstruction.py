"""Reconstruction: many answers give back the data.

`differencer` asks two questions that differ by one person. `linear` is Dinur-Nissim: random subset
sums with small noise, solved by linear programming, give back nearly every secret bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from sanql.theory.attackers.outcome import Learned
from sanql.theory.errors import TheoryError
from sanql.theory.exact import as_count, as_nonnegative, quoted

_NOISE_MAX = 1e6
_VALUE_MAX = 10**12


def differencer(
    values: Sequence[int],
    person: int,
    answer: Callable[[int], float],
    ideal: Callable[[int], float],
) -> Learned:
    """Return one person's value as the difference of two sums.

    `answer` turns an exact sum into the published one; `ideal` answers in a world where the
    person's value is 0.

    >>> differencer([3, 5, 4], 1, answer=float, ideal=float).real
    5.0
    """
    as_count(person, "person", least=0, most=len(values) - 1)
    everybody, others = sum(values), sum(values) - values[person]
    return Learned(
        "differencer",
        "published sum of all minus published sum of all but one",
        answer(everybody) - answer(others),
        ideal(others) - ideal(others),
        {"truth": values[person]},
    )


def noisy_difference(
    values: Sequence[Fraction], person: int, scale: Fraction, *, seed: int = 0
) -> Learned:
    """Return one person's value, counted from 1, as the difference of two sums with Laplace noise.

    >>> noisy_difference([Fraction(3), Fraction(5)], 2, Fraction(0)).real
    5.0
    """
    import numpy as np

    as_count(person, "person", most=len(values))
    if not all(value.denominator == 1 and abs(value) <= _VALUE_MAX for value in values):
        raise TheoryError(
            "values",
            f"a value is not a whole number from {-_VALUE_MAX} to {_VALUE_MAX}",
            "give such numbers with commas between them",
        )
    as_count(seed, "seed", least=0, most=2**63)
    width, rng = _noise(float(scale)), np.random.default_rng(seed)

    def published(total: int) -> float:
        return total + (float(rng.laplace(0, width)) if width else 0.0)

    whole = [int(value) for value in values]
    learned = differencer(whole, person - 1, answer=published, ideal=published)
    return replace(learned, details={**learned.details, "scale of the noise": width})


def linear(people: int, queries: int, *, noise: float, seed: int = 0) -> Learned:
    """Return the share of secret bits recovered from noisy random subset sums.

    Each answer errs by at most `noise`; any bits consistent with all answers are close to the truth
    when noise is well below sqrt(people) and there are enough queries. In the ideal world the
    answers are about other people's bits: half is chance.
    """
    import numpy as np
    from scipy.optimize import linprog

    as_count(people, "people", most=1_000)
    as_count(queries, "queries", most=4_000)
    noise = _noise(noise)
    as_count(seed, "seed", least=0, most=2**63)
    rng = np.random.default_rng(seed)
    secret = rng.integers(0, 2, people)
    asked = rng.integers(0, 2, (queries, people)).astype(float)
    shares = []
    for answered in (secret, rng.integers(0, 2, people)):
        published = asked @ answered + rng.uniform(-noise, noise, queries)
        # min sum of slacks with |asked x - published| <= slack, 0 <= x <= 1
        identity = np.eye(queries)
        solved = linprog(
            np.concatenate([np.zeros(people), np.ones(queries)]),
            A_ub=np.block([[asked, -identity], [-asked, -identity]]),
            b_ub=np.concatenate([published, -published]),
            bounds=[(0, 1)] * people + [(0, None)] * queries,
            method="highs",
        )
        guess = np.round(solved.x[:people])
        shares.append(float((guess == secret).mean()))
    return Learned(
        "linear reconstruction",
        "share of secret bits recovered",
        shares[0],
        shares[1],
        {"people": people, "queries": queries, "noise": noise},
    )


def _noise(noise: float) -> float:
    read = float(as_nonnegative(noise, "noise"))
    if read > _NOISE_MAX:
        raise TheoryError(
            "noise",
            f"noise is {quoted(noise)}, beyond what the solver of linear programs can scale",
            f"give at most {_NOISE_MAX:g}; nothing is recovered from noise above people",
        )
    return read
