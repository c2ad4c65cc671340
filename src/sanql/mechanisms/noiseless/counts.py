"""Adversaries against whom an exact count (the sum of a column of zeros and ones) is private.

Every unknown record is 1 with some probability in [beta, 1 − beta], independently. The divergence
is convex in each record's law, so only the ends beta and 1 − beta matter: `a` records with beta and
the rest with 1 − beta, for the worst a. Up to `SINGLES_MAX` records every a is looked at. Leaving
records out only helps, so all a between `low` and `high` are covered by `low` records with beta and
m − `high` with 1 − beta; with more records a runs through `INTERVALS` intervals whose ends are fixed
shares of m. Then `low` and m − `high` never fall as m rises, so the bound never rises: of one more
record the true delta has no more either, being post-processing. The mixture with two-point uniform
records (alpha = 2·beta) is a second bound; the smaller of the two counts.

The simulator answers with the count of the others, plus 0 (or 1) for the protected record. With it
the worst a attains the bound. DDP allows any simulator, so this is an upper bound of the class's
own delta, not equal to it: one that adds a fair coin may do with about half.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from sanql.mechanisms.noiseless.certificate import Bound
from sanql.mechanisms.noiseless.coins import Pair, coins_deltas, rough_coins_deltas
from sanql.mechanisms.noiseless.numbers import (
    SMALLEST,
    Number,
    checked_count,
    checked_epsilon,
    checked_known,
    checked_probability,
    shown,
)
from sanql.mechanisms.noiseless.summands import Lattice
from sanql.mechanisms.noiseless.sums import SumAdversary

SINGLES_MAX = 320
INTERVALS = 128
_AS_GOOD = SINGLES_MAX + SINGLES_MAX // (INTERVALS - 1) + 2
"""From here on every interval leaves at least `SINGLES_MAX` records: m − ⌈(m+1)/128⌉ ≥ 320."""
_MIXED_FROM = Fraction(12, 25)
"""Below this beta the mixture leaves out more than intervals do."""
_SAMPLES = 32


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
        if least or self.chance < _MIXED_FROM:
            return ends
        return min(ends, self.mixture.bound(level), key=lambda bound: bound.delta_upper)

    def _end_points(self, level: Fraction) -> Bound:
        pairs = _pairs(self.unknown)
        delta = max(coins_deltas(self.chance, pairs, level))
        if SINGLES_MAX < self.unknown <= _AS_GOOD:
            # intervals begin: until they are as good, fewer records, each looked at, are better
            delta = min(delta, max(coins_deltas(self.chance, _pairs(SINGLES_MAX), level)))
        return Bound(delta, (f"worst of {len(pairs)} numbers of end points",))

    def rough_delta(self, epsilon: float) -> float:
        """Return delta at epsilon in floats, for searching only."""
        mixed = 1.0 if self.chance < _MIXED_FROM else self.mixture.rough_delta(epsilon)
        if self.chance == Fraction(1, 2):
            return mixed
        pairs = _pairs(self.unknown)
        some = sorted({round(i * (len(pairs) - 1) / _SAMPLES) for i in range(_SAMPLES + 1)})
        return min(mixed, max(rough_coins_deltas(self.chance, [pairs[i] for i in some], epsilon)))

    def with_others(self, others: int) -> CountAdversary:
        """Return the same class with another number of other records."""
        return replace(self, others=others)

    def with_known(self, known: int) -> CountAdversary:
        """Return the same class with another number of known records."""
        return replace(self, known=known)


def _pairs(unknown: int) -> list[Pair]:
    """Return numbers of records with beta and with 1 − beta, one pair of which every way to share
    out the unknown records has at least."""
    parts = unknown + 1 if unknown <= SINGLES_MAX else INTERVALS
    cuts = [i * (unknown + 1) // parts for i in range(parts + 1)]
    return [(low, unknown + 1 - end) for low, end in pairwise(cuts)]
