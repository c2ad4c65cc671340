"""The pair of output laws of many noises together: privacy losses added up, rounded to the safe side.

A *loss* is ln(P(t)/Q(t)) at the output t that P draws. Where noises are independent, losses add, so
the law of the whole loss is a convolution; here on a grid, every loss rounded up to it, which makes
the two laws easier to tell apart and never harder. What is computed dominates every pair of
neighbouring answers: no hockey-stick divergence of theirs is larger.

*Laplace noise on many cells.* A unit moves cells by s₁, s₂, … with Σ sᵢ ≤ l1, each sᵢ ≤ linf. The
easiest moves to tell are as few as possible: full cells of linf, and the rest. With a = e^(−1/scale) and
two cells that move by s₁ ≥ s₂, S = s₁ + s₂, d = s₁ − s₂, the divergence H = 1 − Σ min(P, γQ) at γ =
a^(−t), t a whole number of the parity of S with |t| ≤ S (between these H is linear, beyond 0), has

    Σ min(P, γQ)/√γ = a^(S/2)/(1 + a) · [1 + a + (1 − a)(S − max(|t|, d))/2],

which falls as d grows: every step from the smaller to the larger move makes H larger, for any other
cells beside these two, until at most one cell is neither empty nor full.

*Gaussian noise on many cells.* Discrete Gaussian noise is nearly a randomised rounding of continuous
Gaussian noise of variance σ² − r² (`_smoothed`), which knows no direction: only the length of the
move counts, and several noises add up to one with μ² = Σ l2²/(σ² − r²).

*Selections* are randomised response but for their leak; whatever leaks is added to every divergence.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from sanql.theory.errors import TheoryError
from sanql.theory.exact import as_level, as_loss, as_rate, down, exp_upper, float_upper, up

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NOISES_MAX = 4096
LOSS_MAX = 60.0
"""Losses that are added up to more than this say nothing worth a grid."""

_GRID_BITS = 12
_SIZE_MAX = 2**18
_LEVELS = 512
_ROUNDING = 2e-11
"""A Fourier transform of 2^19 masses loses about 20 units in the last place of their length, and sums
of as many such losses 700 times as much: 3e-12 for each noise."""
_SLACK = 1e-13
_SIGMAS = 9.5
"""Beyond so many deviations lies less than 1e-20, which is counted as telling everything."""


@dataclass(frozen=True)
class LaplaceNoise:
    """Discrete Laplace noise of one scale on every cell; a unit moves cells by l1 in sum, linf each."""

    scale: Fraction
    l1: int
    linf: int

    def moves(self) -> list[tuple[int, int]]:
        """Return the worst moves, each with in how many cells it is made."""
        if self.l1 == 0:
            return []
        reach = min(self.l1, self.linf)
        full, rest = divmod(self.l1, reach)
        return [(reach, full), *([(rest, 1)] if rest else [])]


@dataclass(frozen=True)
class GaussianNoise:
    """Discrete Gaussian noise of parameter sigma2 on every cell; a unit moves cells by l2."""

    sigma2: Fraction
    l2_squared: Fraction


@dataclass(frozen=True)
class Responses:
    """Randomised response with odds e^epsilon, so many times."""

    epsilon: Fraction
    times: int


@dataclass(frozen=True)
class _Move:
    """One cell with Laplace noise that a unit moves."""

    scale: Fraction
    move: int

    @property
    def epsilon(self) -> Fraction:
        return self.move / self.scale

    def masses(self, step: float) -> Masses:
        return _laplace_masses(self.scale, self.move, step)


@dataclass(frozen=True)
class _Response:
    """One randomised response."""

    epsilon: Fraction

    def masses(self, step: float) -> Masses:
        return _response_masses(self.epsilon, step)


Noise = LaplaceNoise | GaussianNoise | Responses


@dataclass(frozen=True)
class ComposedPair:
    """Two neighbouring laws of the outputs of independent noises, and what else may leak.

    >>> pair = ComposedPair((LaplaceNoise(Fraction(1), 1, 1),) * 4)
    >>> pair.epsilon_max, 0.643 < pair.hockey_stick(1.0) < 0.645
    (4.0, True)
    """

    noises: tuple[Noise, ...]
    leak: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        as_rate(float(self.leak), "leak")
        if self._count > NOISES_MAX or self._reach > LOSS_MAX:
            raise TheoryError(
                "too_many_noises",
                f"{self._count} noises lose up to {self._reach:.6g} together",
                f"add up at most {NOISES_MAX} noises that lose at most {LOSS_MAX:g}; beyond that use "
                "the guarantee itself",
            )

    @property
    def epsilon_max(self) -> float:
        """The sum of all pure losses; infinite where something leaks or noise is Gaussian."""
        if self.leak > 0 or self.mu > 0:
            return math.inf
        return float_upper(self._pure_epsilon)

    @cached_property
    def mu(self) -> float:
        """The length of all Gaussian moves in deviations, rounded up; infinite where it is unknown."""
        return self._gaussian[0]

    @cached_property
    def _pure(self) -> Counter[_Move | _Response]:
        """Return what is not Gaussian, each with how often it occurs."""
        found: Counter[_Move | _Response] = Counter()
        for noise in self.noises:
            match noise:
                case LaplaceNoise(scale):
                    for move, count in noise.moves():
                        found[_Move(scale, move)] += count
                case Responses(epsilon, times) if times and epsilon:
                    found[_Response(epsilon)] += times
                case _:
                    pass
        return found

    @property
    def _pure_epsilon(self) -> Fraction:
        return sum((part.epsilon * n for part, n in self._pure.items()), Fraction(0))

    @cached_property
    def _gaussian(self) -> tuple[float, float]:
        """Return mu and ln kappa of the continuous pair that stands for all Gaussian noises."""
        total, log_kappa = Fraction(0), 0.0
        for noise in self.noises:
            if isinstance(noise, GaussianNoise) and noise.l2_squared > 0:
                variance, own = _smoothed(noise)
                if variance <= 0:
                    return math.inf, 0.0
                total += noise.l2_squared / variance
                log_kappa += own
        return (up(math.sqrt(float_upper(total))) if total else 0.0), up(log_kappa)

    @property
    def _count(self) -> int:
        return self._pure.total() + (self.mu > 0)

    @property
    def _reach(self) -> float:
        """Return a loss that is passed with next to no probability."""
        pure = float_upper(self._pure_epsilon)
        return up(pure + self.mu**2 / 2 + _SIGMAS * self.mu)

    @cached_property
    def _profile(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return levels of epsilon from 0 on, and an upper bound of delta at each."""
        import numpy as np

        levels = np.linspace(0.0, self._reach, _LEVELS) if self._count else np.zeros(1)
        return levels, np.array([self.hockey_stick(exp_upper(level)) for level in levels])

    @cached_property
    def _tails(self) -> tuple[float, float, NDArray[np.longdouble], NDArray[np.longdouble]]:
        """Return the grid's first loss, its step, and sums over losses from each on: of P, and of Q."""
        import numpy as np

        step = self._step
        parts = [(part.masses(step), n) for part, n in self._pure.items()]
        if self.mu > 0:
            parts.append((_gaussian_masses(self.mu, step), 1))
        size = 1 + sum(n * (len(masses) - 1) for (_, masses), n in parts)
        length = 1 << (size - 1).bit_length()
        spectrum = np.ones(length // 2 + 1, dtype=complex)
        first = 0
        for (start, masses), n in parts:
            spectrum *= np.fft.rfft(masses, length) ** n
            first += n * start
        whole = np.maximum(np.fft.irfft(spectrum, length)[:size], 0.0)
        losses = (first + np.arange(size)) * step
        kind = np.longdouble  # sums of many terms, of which differences are taken
        return (
            first * step,
            step,
            np.cumsum(whole[::-1], dtype=kind)[::-1],
            np.cumsum((whole * np.exp(-losses))[::-1], dtype=kind)[::-1],
        )

    @property
    def _step(self) -> float:
        # every noise rounds its loss up by a step, so more of them need finer ones
        bits = _GRID_BITS + self._count.bit_length()
        return 2 * self._reach / min(1 << bits, _SIZE_MAX)

    def hockey_stick(self, gamma: float) -> float:
        """Return an upper bound on H_gamma, the same in both orders."""
        level = as_level(gamma)
        if not self._count:
            return float(self.leak)
        if self.mu == math.inf:
            return 1.0
        log_kappa = self._gaussian[1]
        level = float(level) * math.exp(-2 * log_kappa) * (1 - _SLACK)
        first, step, above, weighed = self._tails
        at = max(0, math.floor((math.log(level) - first) / step) + 1)
        gain = float(above[at] - level * weighed[at]) if at < len(above) else 0.0
        lost = _ROUNDING * (self._count + 1) + _SLACK
        return min(1.0, up(math.exp(log_kappa) * (max(0.0, gain) + lost) + float(self.leak), 8))

    def tradeoff(self, false_positive: float) -> float:
        """Return a lower bound on the least miss rate: the best of all levels' bounds."""
        import numpy as np

        rate = as_rate(false_positive, "false_positive")
        levels, deltas = self._profile
        rest, odds = 1 - deltas, np.exp(levels) * (1 + _SLACK)
        best = np.maximum(rest - odds * rate, (rest - rate) / odds).max()
        return max(0.0, down(float(best), 8))

    def loss_tail(self, epsilon: float) -> float:
        """Return an upper bound on Pr[|loss| > epsilon] for every pair that this one dominates.

        From delta at a lower level g: P(L > epsilon)(1 − g/g′) ≤ delta with g′ = e^epsilon, and
        Q(L > epsilon) is what P(L < −epsilon) is in the other order, at most P's part over g′.
        """
        import numpy as np

        epsilon = as_loss(epsilon)
        if epsilon >= self.epsilon_max:
            return 0.0
        levels, deltas = self._profile
        lower = levels < epsilon
        if not lower.any() or epsilon == math.inf:
            return 1.0 if not lower.any() else float(self.leak)
        gaps = -np.expm1((levels[lower] - epsilon) * (1 - _SLACK))
        tails = deltas[lower] * (1 + math.exp(-epsilon)) / np.maximum(gaps * (1 - _SLACK), 1e-300)
        return min(1.0, up(float(tails.min()), 8))


def composed_pair(noises: Iterable[Noise], leak: Fraction = Fraction(0)) -> ComposedPair | None:
    """Return the pair of noises together, or None where there are too many or they lose too much."""
    try:
        return ComposedPair(tuple(noises), leak)
    except TheoryError:
        return None


def _smoothed(noise: GaussianNoise) -> tuple[Fraction, float]:
    """Return the variance of continuous noise, and ln kappa, that stand for discrete noise.

    Let X be N(c, σ² − r²) and Y an integer drawn with Pr ∝ e^(−(y − X)²/(2r²)). By Poisson summation
    the weights add up to r√(2π)(1 ± η), η = 2Σ e^(−2π²r²k²), k ≥ 1; so Y is within 1/(1 ± η) of a
    Gaussian of variance σ² at the integers, and discrete Gaussian noise around c, whose own weights add
    up to as much for every integer c, is within κ₁ = (1 + η)/(1 − η) of Y. A unit moves at most l2²
    cells, by whole steps; the others are the same under both laws. So P ≤ κP′ and Q ≥ Q′/κ with κ =
    κ₁^(l2²), and H_γ(P‖Q) ≤ κH_{γ/κ²}(P′‖Q′), where P′ and Q′ are post-processed Gaussians.
    """
    cells = max(1, math.floor(noise.l2_squared))
    # η·cells is at most 2e-10 or so: e^(-2π²r²) = 1e-10/(2·cells)
    width = Fraction(math.ceil(1000 * (math.log(2 * cells) + 23.1) / (2 * math.pi**2)), 1000)
    eta = 2.1 * math.exp(-2 * math.pi**2 * float(width))
    return noise.sigma2 - width, up(2.2 * eta * cells)


Masses = tuple[int, "NDArray[np.float64]"]
"""The first place on the grid, and the mass at each place from there on."""


def _laplace_masses(scale: Fraction, move: int, step: float) -> Masses:
    """Return the loss (move − 2j)/scale, j the noise held between 0 and the move, rounded up."""
    import numpy as np

    width = float(scale)
    ratio = math.exp(-1 / width)
    pure = float_upper(Fraction(move) / scale)

    def above(losses: NDArray[np.float64]) -> NDArray[np.float64]:
        # losses on an edge count as above it
        last = np.ceil((move - losses * width * (1 - _SLACK * np.sign(losses))) / 2) - 1
        share = 1 - np.exp(-(last + 1) / width) / (1 + ratio)
        found = np.where(last < 0, 0.0, np.where(last >= move, 1.0, share))
        return np.asarray(found * (1 + _SLACK))

    return _on_grid(above, pure, step)


def _gaussian_masses(mu: float, step: float) -> Masses:
    """Return the loss of a Gaussian pair, N(mu²/2, mu²), rounded up; what lies far out has no loss
    that is counted, and is made up for by the slack of every divergence."""
    import numpy as np

    def above(losses: NDArray[np.float64]) -> NDArray[np.float64]:
        z = (losses - mu * mu / 2) / (mu * math.sqrt(2))
        z -= _SLACK * (8 + mu + np.abs(z))
        return np.array([0.5 * math.erfc(float(x)) for x in z]) * (1 + _SLACK)

    return _on_grid(above, mu * mu / 2 + _SIGMAS * mu, step)


def _response_masses(epsilon: Fraction, step: float) -> Masses:
    """Return the two losses of randomised response, rounded up."""
    import numpy as np

    loss = float_upper(epsilon)
    truth = 1 / (1 + math.exp(-loss))

    def above(losses: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(
            np.where(losses >= loss, 0.0, np.where(losses >= -loss, up(truth, 4), 1.0))
        )

    return _on_grid(above, loss, step)


def _on_grid(
    above: Callable[[NDArray[np.float64]], NDArray[np.float64]], reach: float, step: float
) -> Masses:
    """Return masses at multiples of the step: what lies between two of them is at the upper one."""
    import numpy as np

    last = math.ceil(reach / step) + 1
    edges = np.arange(-last, last + 1, dtype=np.float64) * step
    share = np.minimum(above(edges), 1.0)
    share = np.maximum.accumulate(share[::-1])[::-1]
    share[0], share[-1] = 1.0, 0.0  # nothing lies further out
    return -last + 1, -np.diff(share)
