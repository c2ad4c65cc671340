"""What a guarantee means for one person: beliefs before and after, and the best test.

The attacker is the informed one: everything but one bit about the person is known to him, and he
holds a prior for that bit. A `Pair` is either the actual mechanism (`DiscreteLaplacePair`,
`GaussianPair`, …) or the worst mechanism that a bare (epsilon, delta) allows. Belief bands are
rounded outward, the attacker's error rates downward.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sanql.theory.closed_forms import GuaranteedPair, Pair
from sanql.theory.exact import as_rate, down, exp_upper, up

_NOISE = 1e-9
FALSE_POSITIVE_RATES = (0.01, 0.05, 0.1, 0.5)


def posterior_band(
    prior: float, epsilon: float, delta: float = 0.0, *, failure: float = 0.0
) -> tuple[float, float]:
    """Return the least and largest posterior that (epsilon, delta) allows for a prior.

    The odds move by at most a factor e^epsilon either way (Vadhan Prop. 1). With delta > 0 some
    output may tell everything, so the band for *every* output is (0, 1); with `failure` above delta
    it is the band that holds except with that probability over the output: odds move by at most
    (failure e^epsilon + delta)/(failure - delta).

    >>> low, high = posterior_band(0.1, math.log(2))
    >>> round(low, 6), round(high, 6)
    (0.052632, 0.181818)
    >>> posterior_band(0.1, 1.0, 1e-6)
    (0.0, 1.0)
    >>> round(posterior_band(0.1, 1.0, 1e-6, failure=1e-5)[1], 4)
    0.2581
    """
    return posterior_band_of(GuaranteedPair(epsilon, delta), prior, failure=failure)


def posterior_band_of(pair: Pair, prior: float, *, failure: float = 0.0) -> tuple[float, float]:
    """Return the belief band of an actual mechanism, except with the given probability."""
    return posterior_band_at(loss_bound(pair, failure), prior)


def posterior_band_at(epsilon: float, prior: float) -> tuple[float, float]:
    """Return the beliefs that odds moved by a factor of at most e^epsilon allow, rounded outward.

    >>> posterior_band_at(0.0, 0.3), posterior_band_at(math.inf, 0.3), posterior_band_at(1.0, 0.0)
    ((0.3, 0.3), (0.0, 1.0), (0.0, 0.0))
    """
    belief = as_rate(prior, "prior")
    if belief in (0.0, 1.0):
        return belief, belief
    if epsilon == math.inf:
        return 0.0, 1.0
    gamma = exp_upper(epsilon)
    if gamma == 1.0:
        return belief, belief
    low = belief / (belief + (1 - belief) * gamma)
    high = 1 / (1 + (1 - belief) / (belief * gamma))
    return max(0.0, down(low)), min(1.0, up(high))


def loss_bound(pair: Pair, failure: float) -> float:
    """Return the least epsilon with Pr[|privacy loss| > epsilon] <= failure, rounded up."""
    failure = as_rate(failure, "failure")
    if failure == 0 or pair.loss_tail(0.0) <= failure:
        return pair.epsilon_max if failure == 0 else 0.0
    high = 1.0
    while pair.loss_tail(high) > failure:
        high *= 2
        if high > 1e6:
            return min(math.inf, pair.epsilon_max)
    low = 0.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if pair.loss_tail(middle) <= failure else (middle, high)
    return min(high, pair.epsilon_max)


def best_test(false_positive: float, epsilon: float, delta: float = 0.0) -> float:
    """Return a lower bound on the miss rate of every test with this false alarm rate.

    >>> round(best_test(0.05, math.log(3)), 6)
    0.85
    """
    return best_test_of(GuaranteedPair(epsilon, delta), false_positive)


def best_test_of(pair: Pair, false_positive: float) -> float:
    """Return the least miss rate of any test of the actual mechanism, rounded down."""
    return pair.tradeoff(as_rate(false_positive, "false_positive"))


@dataclass(frozen=True)
class Meaning:
    """What one release lets the informed attacker learn about one person.

    `band` holds for every output, `usual_band` except with probability `failure`. `tests` pairs
    false alarm rates with the least miss rate. `advantage_upper` bounds how far the hit rate of any
    test exceeds its false alarm rate: the total variation distance TV of the pair. Who holds both
    possibilities for equally likely is then right with probability at most (1 + TV)/2, so the gain
    over guessing is half the advantage.
    """

    prior: float
    band: tuple[float, float]
    failure: float
    usual_band: tuple[float, float]
    advantage_upper: float
    tests: tuple[tuple[float, float], ...]

    @property
    def even_guess_upper(self) -> float:
        """How often a guess between two equally likely possibilities is right, at most."""
        return min(1.0, up((1 + self.advantage_upper) / 2, 1)) if self.advantage_upper else 0.5

    def sentences(self) -> tuple[str, ...]:
        """Return the meaning in plain words."""
        sure = f"Someone who believes it with probability {self.prior:.4g} before"
        told = [f"{sure} will believe it with {_range(self.band)} after any answer."]
        if self.usual_band != self.band:
            told.append(
                f"{sure} will believe it with {_range(self.usual_band)} after, "
                f"except with probability {self.failure:.3g}."
            )
        alarm, miss = self.tests[1] if len(self.tests) > 1 else self.tests[0]
        told.append(
            f"A test that accuses the innocent {alarm:.0%} of the time misses the guilty "
            f"at least {percent_down(miss)} of the time."
        )
        told.append(
            "A guess that is right 50% of the time without the answer is right at most "
            f"{percent_up(self.even_guess_upper)} of the time with it."
        )
        told.append(
            "No test's rate of hits exceeds its rate of false alarms by more than "
            f"{_tenths_up(self.advantage_upper):.1f} percentage points."
        )
        return tuple(told)

    def to_dict(self) -> dict[str, object]:
        """Return the meaning as plain data."""
        return {
            "prior": self.prior,
            "posterior": list(self.band),
            "failure": self.failure,
            "posterior_except_failure": list(self.usual_band),
            "advantage_upper": self.advantage_upper,
            "even_guess_upper": self.even_guess_upper,
            "tests": [{"false_positive": a, "false_negative_lower": b} for a, b in self.tests],
            "sentences": list(self.sentences()),
        }


def meaning_of(pair: Pair, prior: float, *, failure: float = 0.0) -> Meaning:
    """Return what the pair means for a prior.

    >>> from sanql.theory.closed_forms import GaussianPair
    >>> told = meaning_of(GaussianPair(mu=0.5), prior=0.1, failure=1e-6)
    >>> print(told.sentences()[1].split("before ")[1])
    will believe it with 0.8% to 57.8% after, except with probability 1e-06.
    """
    return Meaning(
        prior=as_rate(prior, "prior"),
        band=posterior_band_of(pair, prior),
        failure=failure,
        usual_band=posterior_band_of(pair, prior, failure=failure),
        advantage_upper=pair.hockey_stick(1.0),
        tests=tuple((rate, pair.tradeoff(rate)) for rate in FALSE_POSITIVE_RATES),
    )


def _range(band: tuple[float, float]) -> str:
    return f"{percent_down(band[0])} to {percent_up(band[1])}"


def percent_down(share: float) -> str:
    """Return a share as percent with one decimal, rounded down.

    >>> percent_down(0.12345), percent_up(0.12345)
    ('12.3%', '12.4%')
    """
    return f"{_tenths_down(share):.1f}%"


def percent_up(share: float) -> str:
    """Return a share as percent with one decimal, rounded up."""
    return f"{_tenths_up(share):.1f}%"


def _tenths_down(share: float) -> float:
    """Percent with one decimal, rounded down, forgiving only the noise of our own rounding."""
    return math.floor(share * 1000 + _NOISE) / 10


def _tenths_up(share: float) -> float:
    return math.ceil(share * 1000 - _NOISE) / 10
