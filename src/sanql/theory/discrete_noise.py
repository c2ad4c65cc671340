"""Neighbouring output distributions of integer noise: discrete Laplace and discrete Gaussian.

The likelihood ratio is monotone in the output, so every best test is a half-line and every number
below is a difference of two tails.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from sanql.theory.closed_forms import reaches
from sanql.theory.errors import TheoryError
from sanql.theory.exact import as_count, as_level, as_loss, as_rate, as_width, log_lower, up

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SLACK = 1e-13
_TINY = 1e-300  # covers the tail beyond 40 sigma
_GAMMA_MAX = sys.float_info.max
_REACH_MAX = 1e12  # no output of the widest noise lies that far out


@dataclass(frozen=True)
class DiscreteLaplacePair:
    """Two-sided geometric noise, Pr[k] proportional to e^(-|k|/scale), and an integer shift.

    Outcomes outside [0, shift] carry the same loss as the nearest end, so clamping to it loses
    nothing.

    >>> pair = DiscreteLaplacePair(scale=1 / math.log(2), shift=1)
    >>> round(pair.hockey_stick(1.5), 9), round(pair.tradeoff(1 / 3), 9)
    (0.166666667, 0.333333333)
    """

    scale: float
    shift: int = 1

    def __post_init__(self) -> None:
        as_width(self.scale, "scale")
        as_count(self.shift, "shift", most=2**63)

    @property
    def epsilon_max(self) -> float:
        """The ratio shift/scale."""
        return up(self.shift / self.scale, 1)

    def hockey_stick(self, gamma: float) -> float:
        """Return the excess of the best half-line, rounded up."""
        gamma = as_level(gamma)
        if log_lower(gamma) >= self.epsilon_max:
            return 0.0
        last = math.ceil((self.shift - math.log(gamma) * self.scale) / 2) + 1
        candidates = (last - 3, last - 2, last - 1, last)
        gains = (self._below(j) - gamma * self._below(j - self.shift) for j in candidates)
        return min(1.0, max(0.0, *gains) + _SLACK)

    def tradeoff(self, false_positive: float) -> float:
        """Return the best false negative rate, interpolated between half-lines; rounded down."""
        false_positive = as_rate(false_positive, "false_positive")
        if false_positive >= 1:
            return 0.0
        vertices = [
            (1.0, 0.0),
            *(self._errors(j) for j in self._around(false_positive)),
            (0.0, 1.0),
        ]
        best = 1.0
        for (right, right_fn), (left, left_fn) in pairwise(vertices):
            if left <= false_positive <= right and right > left:
                share = (false_positive - left) / (right - left)
                best = min(best, left_fn + share * (right_fn - left_fn))
        # rates and misses err by shares of themselves, and the slope times the rate is at most 1
        return max(0.0, best - 4 * _SLACK)

    def loss_tail(self, epsilon: float) -> float:
        """Return Pr[|shift - 2k| > epsilon scale] for k clamped to [0, shift], rounded up."""
        epsilon = as_loss(epsilon)
        if reaches(epsilon, self.scale, self.shift):
            return 0.0
        reach = epsilon * self.scale * (1 - _SLACK)  # an outcome on the edge counts as outside
        low = math.ceil((self.shift - reach) / 2) - 1
        high = math.floor((self.shift + reach) / 2)
        return min(1.0, self._below(low) + self._below(-high - 1) + _SLACK)

    def _errors(self, threshold: int) -> tuple[float, float]:
        """(FP, FN) when P is rejected above the threshold; the upper tail by symmetry, as 1 - below
        would keep none of its digits."""
        return self._below(-threshold - 1), self._below(threshold - self.shift)

    def _around(self, false_positive: float) -> list[int]:
        """Thresholds whose false positive rates enclose the given one, in rising order."""
        low, high = -1, self.shift
        while high - low > 1:
            middle = (low + high) // 2
            if self._below(-middle - 1) > false_positive:
                low = middle
            else:
                high = middle
        return [j for j in (low - 1, low, high, high + 1) if 0 <= j < self.shift]

    def _below(self, k: int) -> float:
        """Pr[noise <= k]."""
        ratio = math.exp(-1 / self.scale)
        if k < 0:
            return math.exp(k / self.scale) / (1 + ratio)
        return 1 - math.exp(-(k + 1) / self.scale) / (1 + ratio)


@dataclass(frozen=True)
class DiscreteGaussianPair:
    """Discrete Gaussian noise, Pr[k] proportional to e^(-k^2/(2 sigma^2)), and an integer shift.

    >>> 0.398 < DiscreteGaussianPair(sigma=1.0, shift=1).hockey_stick(1.0) < 0.399
    True
    """

    sigma: float
    shift: int = 1

    def __post_init__(self) -> None:
        as_width(self.sigma, "sigma")
        as_count(self.shift, "shift", most=2**63)
        if self.sigma * 80 + self.shift > 4e7:
            raise TheoryError(
                "too_wide",
                f"sigma {self.sigma} needs more than 40,000,000 terms",
                "at such widths use continuous noise: GaussianPair(shift / sigma), --mechanism gaussian",
            )

    @property
    def epsilon_max(self) -> float:
        """Infinite: some output is arbitrarily telling."""
        return math.inf

    def hockey_stick(self, gamma: float) -> float:
        """Return Pr[N <= j] - gamma Pr[N <= j - shift] at the best j, rounded up.

        Both tails are sums of positive terms, so their errors are shares of them and the bound
        falls with gamma as the excess does; beyond the floats a smaller level bounds from above.
        """
        gamma = min(as_level(gamma), _GAMMA_MAX)
        loss_per_step = self.shift / self.sigma**2
        best = math.floor(self.shift / 2 - math.log(gamma) / loss_per_step)
        return min(1.0, max(self._gain_upper(j, gamma) for j in (best - 1, best, best + 1)))

    def _gain_upper(self, j: int, gamma: float) -> float:
        """Pr[N <= j] - gamma Pr[N <= j - shift], rounded up."""
        import numpy as np

        kind = np.finfo(np.longdouble)
        caught = self._share(j)
        blamed = np.longdouble(gamma) * self._share(j - self.shift)
        # a term e^-x errs by 2 x units, and x < 11,400 or it is 0; a sum by one for each term; both
        # are divided
        share = kind.eps * (160 * np.longdouble(self.sigma) + 50_000)
        gain = max(np.longdouble(0), caught - blamed) + share * (caught + blamed)
        return up(float(gain + kind.smallest_subnormal * gamma), 1) + _TINY

    def tradeoff(self, false_positive: float) -> float:
        """Return the best false negative rate, interpolated between half-lines; rounded down."""
        import numpy as np

        false_positive = as_rate(false_positive, "false_positive")
        if false_positive <= 0 or false_positive >= 1:
            return 1.0 if false_positive <= 0 else 0.0
        cumulative, start = _cumulative(self.sigma)
        # the upper tail is the lower one mirrored; 1 - below would keep none of its digits
        index = int(np.searchsorted(cumulative, false_positive, side="right")) - 1
        high = -(start + index) - 1
        left, right = self._share(-high - 1), self._share(-high)
        left_fn, right_fn = self._share(high - self.shift), self._share(high - 1 - self.shift)
        part = (false_positive - left) / (right - left) if right > left else np.longdouble(0)
        best = float(left_fn + part * (right_fn - left_fn))
        return max(0.0, best - 4 * _slack(self.sigma))

    def loss_tail(self, epsilon: float) -> float:
        """Return Pr[|shift (shift - 2k)| > 2 sigma^2 epsilon], rounded up."""
        epsilon = as_loss(epsilon)
        reach = min(2 * self.sigma**2 * epsilon / self.shift * (1 - _SLACK), _REACH_MAX)
        low = math.ceil((self.shift - reach) / 2) - 1
        high = math.floor((self.shift + reach) / 2)
        tail = self._below(low) + self._below(-high - 1)
        return min(1.0, tail + 2 * _slack(self.sigma))

    def _below(self, k: int) -> float:
        return float(self._share(k))

    def _share(self, k: int) -> np.longdouble:
        """Pr[noise <= k], unrounded."""
        import numpy as np

        cumulative, start = _cumulative(self.sigma)
        index = k - start
        if index < 0:
            return np.longdouble(0)
        return np.longdouble(1) if index >= len(cumulative) else cumulative[index]


@lru_cache(maxsize=8)
def _cumulative(sigma: float) -> tuple[NDArray[np.longdouble], int]:
    """Pr[noise <= k] for k from the returned start on; beyond 40 sigma the mass is below 1e-300."""
    import numpy as np

    reach = math.ceil(40 * sigma) + 1
    k = np.arange(-reach, reach + 1, dtype=np.longdouble)
    weights = np.exp(-(k**2) / (2 * np.longdouble(sigma) ** 2))
    cumulative = np.cumsum(weights)
    return cumulative / cumulative[-1], -reach


def _slack(sigma: float) -> float:
    """A bound on the rounding of one cumulative sum."""
    import numpy as np

    return float(np.finfo(np.longdouble).eps) * (80 * sigma + 8) + 1e-15
