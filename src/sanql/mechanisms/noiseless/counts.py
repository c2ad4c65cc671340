"""Adversaries against whom an exact count (the sum of a column of zeros and ones) is private.

Every unknown record is 1 with some probability in [beta, 1 − beta], independently. The divergence
is convex in each record's law, so only the ends beta and 1 − beta matter: `a` records with beta and
the rest with 1 − beta, for the worst a. Leaving records out only helps, so all a between `low` and
`high` are covered by `low` records with beta and m − `high` with 1 − beta; intervals are halved
where that bound is largest. The mixture with two-point uniform records (alpha = 2·beta) is a
second bound; the smaller of the two counts.

The simulator answers with the count of the others, plus 0 (or 1) for the protected record. With it
the worst a attains the bound. DDP allows any simulator, so this is an upper bound of the class's
own delta, not equal to it: one that adds a fair coin may do with about half.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from sanql.mechanisms.noiseless.certificate import Bound
from sanql.mechanisms.noiseless.fourier import many_delta
from sanql.mechanisms.noiseless.numbers import (
    SMALLEST,
    Number,
    as_ball,
    checked_count,
    checked_epsilon,
    checked_known,
    checked_probability,
    shown,
    upper,
)
from sanql.mechanisms.noiseless.saddle import rough_delta
from sanql.mechanisms.noiseless.summands import Coin, Lattice
from sanql.mechanisms.noiseless.sums import SumAdversary

EXACT_MAX = 64
_MANY = 2000
_PARTS = 24
_STEPS = 32
_TOLERANCE = 0.002


@dataclass(frozen=True)
class CountAdversary:
    """The class of a binary column whose unknown records are 1 with chance in [beta, 1 − beta]."""

    others: int
    beta: Number
    known: int = 0

    def __post_init__(self) -> None:
        checked_count(self.others, "the number of other records", least=1)
        checked_known(self.known, self.others)
        beta = checked_probability(self.beta, "beta", most=Fraction(1, 2))
        object.__setattr__(self, "beta", beta)

    @property
    def unknown(self) -> int:
        """The number m of unknown other records."""
        return self.others - self.known

    @property
    def chance(self) -> Fraction:
        """beta as a rational."""
        return Fraction(self.beta)

    @property
    def name(self) -> str:
        """The class in a few words."""
        chance = (
            "probability 0.5"
            if self.chance == Fraction(1, 2)
            else f"a probability between {shown(self.chance)} and {shown(1 - self.chance)}"
        )
        return f"each of {self.unknown:,} unknown records is 1 with {chance}"

    @property
    def theorem(self) -> str:
        """The theorem used."""
        return (
            "Bassily, Groce, Katz, Smith, Theorems 8 and 9, for binary records: worst end points, "
            "or the two-point mixture"
        )

    @property
    def printed(self) -> str:
        """How the paper's own statement differs."""
        return "the paper's densities say nothing about a binary column"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Everything that must be true of the adversary."""
        return (
            f"the adversary knows at most {self.known:,} of the {self.others:,} other records",
            "to the adversary the other records are independent of each other and of the "
            "protected one, or a mixture of such beliefs",
            f"no unknown record is 1, or 0, with a probability above {shown(1 - self.chance)}",
            "the number of rows is public",
            "nothing else is released about the same records beyond unions of certified cells",
        )

    @property
    def mixture(self) -> SumAdversary:
        """The same records as a mixture with two-point uniform ones."""
        return SumAdversary(self.others, 2 * self.chance, Fraction(1), Lattice(2), self.known)

    def bound(self, epsilon: Number) -> Bound:
        """Return the rigorous bound of delta at epsilon."""
        level = checked_epsilon(epsilon)
        if self.chance == Fraction(1, 2):
            return self.mixture.bound(level)
        ends = self._end_points(level)
        least = ends.delta_upper <= SMALLEST  # there is nothing smaller to report
        if least or self.mixture.rough_delta(float(level)) > ends.delta_upper:
            return ends
        return min(ends, self.mixture.bound(level), key=lambda bound: bound.delta_upper)

    def _end_points(self, level: Fraction) -> Bound:
        m = self.unknown
        parts = _PARTS if m > _MANY else 4
        cuts = sorted({0, 1, *(1 + (m - 1) * i // parts for i in range(1, parts)), m, m + 1})
        heap = [(-self._left(low, m - end + 1, level), low, end - 1) for low, end in pairwise(cuts)]
        heapq.heapify(heap)
        steps = 4 * m if m <= EXACT_MAX else _STEPS if m <= _MANY else _STEPS // 8
        for _ in range(steps):
            worst, low, high = heap[0]
            single = max((-value for value, a, b in heap if a == b), default=0.0)
            if low == high or -worst <= single * (1 + (_TOLERANCE if m > EXACT_MAX else 0)):
                break
            heapq.heappop(heap)
            middle = (low + high) // 2
            for a, b in ((low, middle), (middle + 1, high)):
                heapq.heappush(heap, (-self._left(a, m - b, level), a, b))
        return Bound(-heap[0][0], (f"worst of {len(heap)} intervals of end points",))

    def _left(self, rare: int, common: int, level: Fraction) -> float:
        """Return delta of the sum of `rare` coins with beta and `common` with 1 − beta."""
        if rare + common == 0:
            return 1.0
        if rare + common <= EXACT_MAX:
            return _few(rare, common, self.chance, level)
        coins = (Coin(self.chance), Coin(1 - self.chance))
        return many_delta(coins, (rare, common), Fraction(1), level)

    def rough_delta(self, epsilon: float) -> float:
        """Return delta at epsilon in floats, for searching only: the worse of the two ends."""
        if self.chance == Fraction(1, 2):
            return self.mixture.rough_delta(epsilon)
        if self.unknown <= EXACT_MAX:
            return self.bound(Fraction(epsilon)).delta_upper
        # with many records an interval of a 24th of them is left out of the sure bound
        kept = self.unknown - self.unknown // (_PARTS + 4) * (self.unknown > _MANY)
        return max(
            rough_delta([(Coin(chance), kept)], 1.0, epsilon)
            for chance in (self.chance, 1 - self.chance)
        )

    def with_others(self, others: int) -> CountAdversary:
        """Return the same class with another number of other records."""
        return replace(self, others=others)

    def with_known(self, known: int) -> CountAdversary:
        """Return the same class with another number of known records."""
        return replace(self, known=known)


def _few(rare: int, common: int, chance: Fraction, level: Fraction) -> float:
    """Return delta of few coins from the whole law of their sum."""
    from flint import arb, arb_poly, ctx

    with ctx.workprec(256):
        p, g = as_ball(chance), as_ball(level).exp()
        law = arb_poly([1 - p, p]) ** rare * arb_poly([p, 1 - p]) ** common
        masses = [law[k] for k in range(rare + common + 1)]
        best, above = arb(0), arb(0)
        for mass in reversed([arb(0), *masses]):  # P(S ≥ t − 1) − g·P(S ≥ t), from the top down
            wider = above + mass
            best, above = best.max(wider - g * above), wider
        return min(1.0, upper(best))
