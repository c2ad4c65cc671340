"""delta of a truncated histogram of a random-size sample, over every population of the cell.

With t = c + r others in the sample, q(t) their law, H_t(c) = P(C = c) for m members of the cell among
the P − 1 others, and κ_t(c) = H_{t−1}(c−1)/H_t(c) = c(P−t)/((m+1−c)t):

**Direction 1** (with against without) gains nothing from a hidden cell. Pairing what is shown with
the same without the person,

    delta₁(m) = Σ_t q(t)·D_t(m),   D_t(m) = Σ_{c ≥ k−1} H_t(c)·(1 − g_t/κ_{t+1}(c+1))_+,

g_t = g·q(t+1)/q(t). While κ_{t+1}(k−1) ≥ g_t the positive part is open for all c and one more member
changes D_t by P(the member is drawn, with k−2 others of t)·(1 − g_t/κ_{t+1}(k−1)) ≥ 0; after that
nothing is gained below k, so D_t is that of the histogram without truncation, and moving one person
into the cell is post-processing that keeps t. So every D_t rises and then falls, at a known m.

**Direction 2** is the hidden cell, for each r = t − (k−1) the positive part of
P(k−1, r) − (g−1)·Σ_{c<k−1} P(c, r), and what is shown, q(t)·H_t(c)·(1 − g·q(t−1)/q(t)·κ_t(c))_+ for
c ≥ k. It is at most U(m), the same without truncation, which falls with m.

Every part is therefore bounded on an interval of m: D_t by its value at the nearest point to its
mode, the rest by the largest H on the interval and the least κ. Intervals are halved until the bound
is within `TOLERANCE` of a delta that some m attains.

**Rounding.** Floats, but on the safe side, in three steps. Whatever decides a sign, 1 − g·κ·q(t±1)/q(t),
is a handful of products and one quotient of q, whose entries are within 1e-12 of themselves; it is
opened by `_SLACK`, far more than that, with g rounded down, so every positive part is at least the true
one. All that follows only adds and multiplies what is not negative: masses within 1e-7 of themselves
(`hypergeometric`) and at most 10⁵ roundings of 2^-53 in a row leave a sum within 2e-7 of itself or
above it, and `_rounded` adds 1e-6. What is too small for a float, and turning points that rounding
moves by one person where the derivative is a rounding of 0, are below that and `_TINY`. A number
that is none counts as infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sanql.mechanisms.noiseless.hypergeometric import Floats, hypergeometric

TOLERANCE = 0.01
_SLACK = 1e-9
"""Far more than what rounding can move a ratio that decides a sign."""
_REST = 1e-7
_TINY = 1e-250
_EVALUATIONS_MAX = 400


@dataclass(frozen=True)
class Sizes:
    """The law of the number of others in the sample: t, q(t), q(t+1)/q(t), q(t−1)/q(t)."""

    t: Floats
    mass: Floats
    up: Floats
    down: Floats
    cut: float


def sizes(first: int, masses: Floats, cut: float) -> Sizes:
    """Return the law with ends that are too rare to matter moved into `cut`."""
    up = np.append(masses[1:], 0.0) / masses
    down = np.append(0.0, masses[:-1]) / masses
    below = np.cumsum(masses)
    above = np.cumsum(masses[::-1])[::-1]
    kept = np.flatnonzero((below > 1e-20) & (above > 1e-20))
    low, high = int(kept[0]), int(kept[-1]) + 1
    lost = float(masses[:low].sum() + masses[high:].sum())
    t = first + np.arange(low, high, dtype=np.float64)
    return Sizes(t, masses[low:high], up[low:high], down[low:high], cut + lost * (1 + _SLACK))


def deltas_of_every_cell(
    k: int, epsilon: float, others: Sizes, population: int
) -> tuple[float, float]:
    """Return upper bounds of delta in both directions over all m; the larger within TOLERANCE.

    The smaller is only bounded as far as it takes to see that it is the smaller.
    """
    one, two, members = _directions(k, epsilon, others, population)
    first = _largest(one.bound, members, one.start(), 0.0)
    second = _largest(two.bound, members, two.start(), first / (1 + TOLERANCE))
    return _rounded(first, others), _rounded(second, others)


def every_cell_within(
    k: int, epsilon: float, others: Sizes, population: int, target: float
) -> bool:
    """Return whether delta is proved to be at most `target` for all m; quicker than its value."""
    one, two, members = _directions(k, epsilon, others, population)
    floor = target / (1 + TOLERANCE)
    return all(
        _rounded(_largest(part.bound, members, part.start(), floor, target), others) <= target
        for part in (one, two)
    )


def _directions(
    k: int, epsilon: float, others: Sizes, population: int
) -> tuple[_FirstDirection, _SecondDirection, tuple[int, int]]:
    beyond = max(0.0, math.expm1(epsilon) * (1 - 1e-15))  # e^ε − 1, rounded down
    one = _FirstDirection(k, 1 + beyond, others, population)
    two = _SecondDirection(k, beyond, others, population)
    return one, two, (min(k - 1, population - 1), population - 1)


def _rounded(found: float, others: Sizes) -> float:
    return min(1.0, found * (1 + 1e-6) + others.cut * (1 + 1e-6) + _TINY)


def _largest(
    bound: Callable[..., float],
    members: tuple[int, int],
    start: int,
    floor: float,
    enough: float = math.inf,
) -> float:
    """Return a bound of the maximum over m, within TOLERANCE of it or of the floor.

    What some m attains beyond `enough` ends the search: infinity is returned.
    """
    start = min(max(start, members[0]), members[1])
    whole = bound(*members, floor)
    reached = max(bound(start, start, floor), floor)
    if math.isnan(whole) or math.isnan(reached):
        return math.inf
    if reached > enough:
        return math.inf
    if whole <= reached * (1 + TOLERANCE):
        return whole
    if reached > floor:
        start, reached = _climbed(bound, members, start, reached)
    waiting, done, evaluations = _around(start, *members), reached, 0
    while waiting and reached <= enough:
        low, high = waiting.pop()
        above = bound(low, high, reached)
        evaluations += 1
        if math.isnan(above):
            return math.inf
        if low == high or above <= reached * (1 + TOLERANCE) or evaluations > _EVALUATIONS_MAX:
            done = max(done, above)
            continue
        middle = (low + high) // 2
        reached = max(reached, bound(middle, middle, reached))
        waiting += [(low, middle), (middle + 1, high)]
    return done if reached <= enough else math.inf


def _climbed(
    bound: Callable[..., float], members: tuple[int, int], start: int, reached: float
) -> tuple[int, float]:
    """Return an m, uphill of the start, and what it attains or what was attained before."""
    step, best = max(1, start // 64), reached
    while step > start // 4096:
        for m in (start + step, start - step):
            if members[0] <= m <= members[1] and (found := bound(m, m)) > best:
                start, best = m, found
                break
        else:
            step //= 2
    return start, max(reached, best)


def _around(start: int, low: int, high: int) -> list[tuple[int, int]]:
    """Return intervals that cover [low, high], short near the start and doubling away from it."""
    covered, width = [(start, start)], 1 + start // 4096
    above, below = start + 1, start - 1
    while above <= high or below >= low:
        if above <= high:
            covered.append((above, min(high, above + width - 1)))
        if below >= low:
            covered.append((max(low, below - width + 1), below))
        above, below, width = above + width, below - width, 2 * width
    return covered


class _FirstDirection:
    def __init__(self, k: int, g: float, others: Sizes, population: int) -> None:
        self.k, self.population, self.others = k, population, others
        self.level = g * others.up
        t = others.t
        with np.errstate(divide="ignore"):
            turn = (k - 1) * (population - 1 - t) / (self.level * (t + 1))
        self.mode = np.minimum(np.floor(np.minimum(turn, population)) + k - 1, population - 1.0)

    def start(self) -> int:
        """Return an m that is near the worst: where the terms at their own modes are largest."""
        terms = self._terms(self.mode)
        middle = np.searchsorted(np.cumsum(terms), terms.sum() / 2)
        return int(self.mode[min(int(middle), len(self.mode) - 1)])

    def bound(self, low: int, high: int, enough: float = 0.0) -> float:
        """Return Σ_t of the largest term over m in [low, high], whatever is enough."""
        return float(self._terms(np.clip(self.mode, low, high)).sum())

    def _terms(self, m: Floats) -> Floats:
        t, q, level, population = self.others.t, self.others.mass, self.level, self.population
        rest = population - 1 - m
        odds = level * (t + 1) / (population - 1 - t)
        last = np.minimum(m, t)
        opens = np.floor((odds * m - 1) / (1 + odds)) - 1
        c = np.maximum(np.maximum(float(self.k - 1), t - rest), np.minimum(opens, last))
        cut = np.floor((t + 1) * (m + 1) / (population + 1)) - _width(t, m, population)
        far = cut > c
        c = np.where(far, cut, c)
        mass = hypergeometric(c, t, m, population)
        with np.errstate(divide="ignore", invalid="ignore"):
            back = c * (rest - t + c) / ((m - c + 1) * (t - c + 1))
        # what is left out below falls faster than a geometric series
        total = np.where(far, mass * np.where(far, back, 0.0) / np.maximum(1 - back, _SLACK), 0.0)
        step = 0
        while True:
            ratio = odds * (m - c) / (c + 1)
            gain = np.maximum((1 + _SLACK) - ratio * (1 - _SLACK), 0.0)
            total = total + np.where(c <= last, mass * gain, 0.0)
            forth = (m - c) * (t - c) / ((c + 1) * (rest - t + c + 1))
            forth = np.where(c < last, np.maximum(forth, 0.0), 0.0)
            mass, c, step = mass * forth, c + 1, step + 1
            if step % 16 == 0 or not mass.any():
                # ratios fall, so the rest is below a geometric series
                following = np.where(
                    mass > 0, mass / np.maximum(1 - np.minimum(forth, 1.0), 1e-300), 0.0
                )
                if float((q * following).sum()) <= _REST * float((q * total).sum()) + _TINY:
                    terms: Floats = q * np.minimum(total + following, 1 + _SLACK)
                    return terms


class _SecondDirection:
    def __init__(self, k: int, beyond: float, others: Sizes, population: int) -> None:
        self.k, self.beyond, self.population, self.others = k, beyond, population, others
        self.level = (1 + beyond) * others.down

    def start(self) -> int:
        """Return an m that is near the worst for the likeliest size."""
        t = float(self.others.t[int(np.argmax(self.others.mass))])
        level = float(self.level[int(np.argmax(self.others.mass))])
        turn = level * (self.k - 1) * (self.population - t) / max(t, 1.0)
        return int(self.k - 1 + min(turn, self.population))

    def bound(self, low: int, high: int, enough: float = 0.0) -> float:
        """Return a bound for all m in [low, high], the first found that is at most `enough`.

        Where low and high are equal, it is delta itself.
        """
        without = self._untruncated(float(low))
        if without <= enough:
            return without
        hidden = self._hidden(low, high)
        return min(without, hidden + self._shown(low, high)) if hidden < without else without

    def _hidden(self, low: int, high: int) -> float:
        k, t, q = self.k, self.others.t, self.others.mass
        mode = np.floor((k - 1) * self.population / np.maximum(t, 1.0))
        mass = hypergeometric(
            np.full_like(t, k - 1.0), t, np.clip(mode, low, high), self.population
        )
        chain, product = np.zeros_like(t), np.ones_like(t)
        # sizes that were cut off are left out of the chain, which is the safe side
        for j in range(min(k - 1, len(t))):
            c, draws = k - 1 - j, t - j
            factor = c * (self.population - draws) / ((high + 1 - c) * np.maximum(draws, 1.0))
            step = np.zeros_like(t)
            step[j:] = self.others.down[: len(t) - j] if j else self.others.down
            # beyond 1e100 the share is 0 long since
            product = np.where(draws >= c, np.minimum(product * factor, 1e100) * step, 0.0)
            chain = np.minimum(chain + product, 1e100)
            if j % 16 == 15 and not ((product > 1e-12 * chain) & (self.beyond * chain < 2)).any():
                break
        share = np.maximum((1 + _SLACK) - self.beyond * chain * (1 - _SLACK), 0.0)
        return float((q * mass * share).sum())

    def _shown(self, low: int, high: int) -> float:
        """Return a bound of what counts from k on gain, for all m in [low, high].

        H_t(c) at m + 1 is (m+1)/(m+1−c) · (1 − (t−c)/(P−1−m)) times that at m, a factor that falls
        with m, so within the interval it is at most its value at `low` to the power of the width.
        Where that says nothing, all of a size gains at most what its count k does.
        """
        if high < self.k:
            return 0.0
        t, q, population = self.others.t, self.others.mass, self.population
        odds = self.level * (population - t) / np.maximum(t, 1.0)
        most = self._gain(odds, np.full_like(t, self.k), high)
        if low < self.k or not most.any():
            return float((q * most).sum())
        rest, m = float(population - 1 - low), float(low)
        c = np.maximum(float(self.k), t - rest)
        mode = (t + 1) * (m + 1) / (population + 1)
        known = mode - _width(t, m, population) <= c  # else H(c) may be too small for a float
        mass = hypergeometric(c, t, np.full_like(t, m), population)
        total, step = np.zeros_like(t), 0
        while True:
            gain = self._gain(odds, c, high)
            here = (gain > 0) & (c <= low)
            grow = (m + 1) / np.maximum(m + 1 - c, 1.0)
            grow = grow * np.maximum(1 - (t - c) / max(rest, 1.0), 0.0)
            power = (high - low) * np.log(np.maximum(grow, 1.0))
            known &= (power < 3) | ~here
            total = total + np.where(here, mass * gain * np.exp(np.minimum(power, 3.0)), 0.0)
            forth = (m - c) * (t - c) / ((c + 1) * np.maximum(rest - t + c + 1, 1.0))
            mass, c, step = mass * np.where(here, np.maximum(forth, 0.0), 0.0), c + here, step + 1
            if step % 16 == 0 or not (known & here).any():
                waiting = known & (self._gain(odds, c, high) > 0)
                beyond = np.where(waiting, self._beyond(c, high), 0.0)
                least = _REST * float((q * total).sum()) + _TINY
                if not (known & here).any() or float((q * beyond).sum()) <= least:
                    return float(
                        (q * np.where(known, np.minimum(total + beyond, most), most)).sum()
                    )

    def _gain(self, odds: Floats, c: Floats, m: int) -> Floats:
        """Return (1 − g·q(t−1)/q(t)·κ_t(c))_+ for m members, which grows with m; 0 beyond m."""
        ratio = odds * c / np.maximum(m + 1 - c, 1.0)
        return np.where(c <= m, np.maximum((1 + _SLACK) - ratio * (1 - _SLACK), 0.0), 0.0)

    def _beyond(self, c: Floats, m: int) -> Floats:
        """Return a bound of P(C ≥ c), which grows with m."""
        t, rest = self.others.t, float(self.population - 1 - m)
        mass = hypergeometric(c, t, np.full_like(t, m), self.population)
        forth = (m - c) * (t - c) / ((c + 1) * np.maximum(rest - t + c + 1, 1.0))
        falls = (c >= (t + 1) * (m + 1) / (self.population + 1)) & (c >= t - rest)
        tail: Floats = np.where(falls, mass / np.maximum(1 - np.minimum(forth, 1.0), 1e-12), 1.0)
        return np.minimum(tail, 1.0)

    def _untruncated(self, members: float) -> float:
        """Return U(m), from the highest count that can gain anything downward."""
        t, q, population = self.others.t, self.others.mass, self.population
        m = np.full_like(t, members)
        rest = population - 1 - m
        odds = self.level * (population - t) / np.maximum(t, 1.0)
        least = np.maximum(0.0, t - rest)
        closes = np.ceil((m + 1) / (1 + odds)) + 1
        c = np.maximum(np.minimum(np.minimum(m, t), closes), least)
        cut = np.floor((t + 1) * (m + 1) / (population + 1)) + _width(t, m, population)
        far = cut < c
        c = np.where(far, cut, c)
        mass = hypergeometric(c, t, m, population)
        forth = (m - c) * (t - c) / ((c + 1) * np.maximum(rest - t + c + 1, 1.0))
        total = np.where(far, mass * np.where(far, forth, 0.0) / np.maximum(1 - forth, _SLACK), 0.0)
        step = 0
        while True:
            ratio = odds * c / np.maximum(m + 1 - c, 1.0)
            gain = np.maximum((1 + _SLACK) - ratio * (1 - _SLACK), 0.0)
            total = total + np.where(c >= least, mass * gain, 0.0)
            back = c * (rest - t + c) / ((m - c + 1) * (t - c + 1))
            back = np.where(c > least, np.maximum(back, 0.0), 0.0)
            mass, c, step = mass * back, c - 1, step + 1
            if step % 16 == 0 or not mass.any():
                following = np.where(
                    mass > 0, mass / np.maximum(1 - np.minimum(back, 1.0), 1e-300), 0.0
                )
                if float((q * following).sum()) <= _REST * float((q * total).sum()) + _TINY:
                    return float((q * np.minimum(total + following, 1 + _SLACK)).sum())


def _width(t: Floats, m: Floats | float, population: int) -> Floats:
    """Return how far from the mode nothing is left: 10 deviations and 30."""
    width: Floats = np.ceil(10 * np.sqrt(t * m / (population - 1)) + 30)
    return width
