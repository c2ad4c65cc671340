"""Adversaries against whom an exact sum or mean is private.

Each of the other records the adversary does not know is, independently and with probability at
least alpha, uniform on some interval of width w (or on N consecutive lattice points), otherwise
anything. The released column is held between public bounds, c is their middle (a lattice point),
and one record moves the sum away from c by at most s = max|x − c|. The simulator answers with the
sum of the others plus c. Then delta ≤ E[delta_K], K binomial: see `mixture`.

The mean with a public number of rows is a rescaled sum, so it has the same certificate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from sanql.mechanisms.noiseless.certificate import Bound
from sanql.mechanisms.noiseless.copies import copies_deltas, rough_deltas
from sanql.mechanisms.noiseless.mixture import (
    BinomialWeights,
    binomial_weights,
    mixed_delta,
    rungs,
    useful,
)
from sanql.mechanisms.noiseless.numbers import (
    SMALLEST,
    Number,
    checked_count,
    checked_epsilon,
    checked_known,
    checked_probability,
    exact,
    refusal,
    shown,
)
from sanql.mechanisms.noiseless.precision import precision
from sanql.mechanisms.noiseless.summands import Interval, Lattice

FINENESS = 12
"""How many blocks of the number of uniform records there are to one deviation of it."""
POINTS_MAX = 10**9
_REACH_MIN, _REACH_MAX = Fraction(1, 10**6), Fraction(10**12)
_INTERVAL = Interval()
_SAMPLES = 40
"""At how many blocks delta is computed when floats will do."""


@dataclass(frozen=True)
class SumAdversary:
    """The class of one certificate: `others` records besides the protected one, `known` of them
    known, the rest uniform with probability `alpha`; `reach` is in units of the width or lattice.

    `others` + 1 is the number of rows of the table. `part` says what an unknown record does in the
    column's own units, where these are known: "is uniform with probability …".
    """

    others: int
    alpha: Fraction
    reach: Fraction
    summand: Interval | Lattice = _INTERVAL
    known: int = 0
    part: str = field(default="", compare=False)
    fineness: int | None = FINENESS

    def __post_init__(self) -> None:
        checked_count(self.others, "the number of other records", least=1)
        checked_known(self.known, self.others)
        object.__setattr__(self, "alpha", checked_probability(self.alpha, "alpha"))
        object.__setattr__(self, "reach", exact(self.reach, "the reach"))
        if self.reach <= 0:
            raise refusal(
                "reach",
                f"a record moves the sum by {shown(self.reach)}; it must be above 0",
                "give bounds whose ends differ",
            )
        if not _REACH_MIN <= self.reach <= _REACH_MAX:
            raise refusal(
                "reach",
                f"a record moves the sum by {shown(self.reach)} widths of the uniform part; between "
                f"{shown(_REACH_MIN)} and {shown(_REACH_MAX)} are computed",
                "clip the column to narrower bounds, or declare a wider uniform part",
            )
        match self.summand:
            case Lattice(points):
                checked_count(points, "the number of lattice points", least=2, most=POINTS_MAX)
                if self.reach.denominator != 1:
                    raise refusal(
                        "lattice",
                        f"a record moves the sum by {shown(self.reach)} lattice steps",
                        "take the middle of the bounds on the lattice, so that steps are whole",
                    )

    @property
    def unknown(self) -> int:
        """The number m of unknown other records."""
        return self.others - self.known

    @property
    def name(self) -> str:
        """The class in a few words."""
        return f"each of {self.unknown:,} unknown records {self._part}"

    @property
    def _part(self) -> str:
        least = f"is uniform with probability at least {shown(self.alpha)}"
        return self.part or f"{least} {self._where}"

    @property
    def _where(self) -> str:
        match self.summand:
            case Interval():
                return f"on some interval, one record reaching {shown(self.reach)} of its width"
            case Lattice(points):
                return (
                    f"on some {points:,} consecutive lattice points, one record reaching "
                    f"{int(self.reach):,} of them"
                )

    @property
    def theorem(self) -> str:
        """The theorem used."""
        return (
            "Bassily, Groce, Katz, Smith, Theorems 8 and 9, with explicit constants and for "
            "lattices and partial uniform components"
        )

    @property
    def printed(self) -> str:
        """How the paper's own statement differs."""
        return (
            "delta = exp(-Omega(eta·min(eta, eps²)·(n - L))) without a constant; the canonical "
            "simulator is replaced by the sum of the others plus the middle of the bounds"
        )

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Everything that must be true of the adversary."""
        return (
            f"the adversary knows at most {self.known:,} of the {self.others:,} other records",
            "to the adversary the other records are independent of each other and of the "
            "protected one, or a mixture of such beliefs",
            f"every unknown record {self._part}",
            "the number of rows and the bounds are public, and values are held between the bounds",
            "nothing else is released about the same records beyond unions of certified cells",
        )

    def bound(self, epsilon: Number) -> Bound:
        """Return the rigorous bound of delta at epsilon."""
        level = checked_epsilon(epsilon)
        if self._apart:
            return Bound(1.0, ("the sum moves by more than it can vary",))
        weights, starts, rough = self._blocks(float(level))
        low, high = useful(weights, starts, rough)
        used = starts[low : high + 1]
        deltas, tiers = copies_deltas(self.summand, used, self.reach, level)
        delta = mixed_delta(weights, used, deltas)
        return Bound(delta, (*sorted(tiers), f"{len(used)} blocks of a binomial mixture"))

    def rough_delta(self, epsilon: float) -> float:
        """Return the bound in floats, for searching only."""
        if self._apart:
            return 1.0
        weights, starts, rough = self._blocks(epsilon)
        return mixed_delta(weights, starts, rough)

    @property
    def _apart(self) -> bool:
        """Whether a record may move the sum beyond everything it can otherwise be."""
        return self.reach >= self.unknown * 2 * self.summand.top + self.summand.lattice

    def _blocks(self, epsilon: float) -> tuple[BinomialWeights, list[int], np.ndarray]:
        """Return the weights of K, where blocks begin, and delta there in floats: computed at some
        and interpolated between."""
        weights = _weights(self.unknown, self.alpha)
        mode = weights.first + int(np.argmax(weights.masses))
        middle = math.log(max(self._rough([mode], epsilon)[0], SMALLEST))
        # where a block matters its mass is not far below delta at the mode
        kept = np.flatnonzero(weights.masses >= weights.masses.max() * math.exp(middle - 45))
        first, last = (weights.first + int(kept[i]) for i in (0, -1))
        starts = rungs(first, last, self.alpha, self.fineness)
        places = np.unique(np.linspace(0, len(starts) - 1, _SAMPLES).round().astype(int))
        found = self._rough([starts[i] for i in places], epsilon)
        logs = np.interp(np.arange(len(starts)), places, np.log(np.maximum(found, 1e-320)))
        return weights, starts, np.exp(logs)

    def _rough(self, counts: list[int], epsilon: float) -> np.ndarray:
        return rough_deltas(self.summand, counts, self.reach, epsilon)

    def with_others(self, others: int) -> SumAdversary:
        """Return the same class with another number of other records."""
        return replace(self, others=others)

    def with_known(self, known: int) -> SumAdversary:
        """Return the same class with another number of known records."""
        return replace(self, known=known)

    def noiseless(self) -> SumAdversary:
        """Return the class for noiseless privacy (Definition 6): two values of one record differ
        by the whole range, twice as far as one is from the middle."""
        return replace(self, reach=2 * self.reach)


@lru_cache(maxsize=32)
def _weights(trials: int, chance: Fraction) -> BinomialWeights:
    return binomial_weights(trials, chance)


def continuous_sum(*, others: int, eta: Number, known: int = 0) -> SumAdversary:
    """Return the class of Theorem 8: on bounds scaled to [−1, 1] every density is at least eta.

    >>> continuous_sum(others=1000, eta=0.25).bound(0.4).delta_upper < 1e-8
    True
    """
    density = exact(eta, "eta")
    if not 0 < density <= Fraction(1, 2):
        raise refusal(
            "eta",
            f"eta is {shown(density)}; a density on [-1, 1] can be at least eta only for "
            "0 < eta <= 1/2",
            "declare the least density after scaling the bounds to [-1, 1], at most 0.5",
        )
    return SumAdversary(others, 2 * density, Fraction(1, 2), known=known)


def partial_sum(
    *, others: int, lower: Number, upper: Number, width: Number, alpha: Number, known: int = 0
) -> SumAdversary:
    """Return the class of a real column within [lower, upper] whose records are, with probability
    alpha, uniform on some interval of the given width, which may be narrower than the bounds."""
    low, high, wide = exact(lower, "lower"), exact(upper, "upper"), exact(width, "width")
    if not 0 < wide <= high - low:
        raise refusal(
            "width",
            f"the uniform part is {shown(wide)} wide in bounds [{shown(low)}, {shown(high)}]",
            "declare a width above 0 and at most the distance between the bounds",
        )
    share = checked_probability(alpha, "alpha")
    return SumAdversary(others, share, (high - low) / 2 / wide, known=known)


def lattice_sum(
    *,
    others: int,
    lower: Number,
    upper: Number,
    mass: Number,
    first: Number | None = None,
    last: Number | None = None,
    step: Number = 1,
    known: int = 0,
) -> SumAdversary:
    """Return the class of a column of whole numbers (or multiples of `step`) within the bounds,
    every value from `first` to `last` having probability at least `mass` for every record.

    >>> likert = lattice_sum(others=1000, lower=1, upper=5, mass=0.05)
    >>> likert.alpha, likert.reach
    (Fraction(1, 4), Fraction(2, 1))
    """
    grid = exact(step, "step")
    if grid <= 0:
        raise refusal("step", f"the step is {shown(grid)}", "give a step above 0, such as 1")
    low, high = _whole(lower, grid, "lower"), _whole(upper, grid, "upper")
    start = low if first is None else _whole(first, grid, "first")
    end = high if last is None else _whole(last, grid, "last")
    if not low <= start < end <= high:
        raise refusal(
            "range",
            f"the uniform part runs from {shown(start * grid)} to {shown(end * grid)} in bounds "
            f"[{shown(low * grid)}, {shown(high * grid)}]",
            "declare a part of at least two values within the bounds",
        )
    points = end - start + 1
    least = checked_probability(mass, "mass", most=Fraction(1, points))
    return SumAdversary(
        others, points * least, Fraction(-(-(high - low) // 2)), Lattice(points), known
    )


def _whole(value: Number, grid: Fraction, what: str) -> int:
    steps = exact(value, what) / grid
    if steps.denominator != 1:
        raise refusal(
            "lattice",
            f"{what} is {shown(steps * grid)}, not a multiple of the step {shown(grid)}",
            "give bounds on the lattice of the column's values",
        )
    return steps.numerator


@dataclass(frozen=True)
class Part:
    """A number of records that are uniform with probability alpha on an interval of some width."""

    records: int
    alpha: Number
    width: Number


def heterogeneous_sum(
    parts: Sequence[Part], *, lower: Number, upper: Number, known: int = 0
) -> tuple[SumAdversary, ...]:
    """Return the classes any one of which covers records that differ in alpha and width.

    An interval that is ⌊w/v⌋ times as wide as v holds a mixture of intervals of width v, with the
    share ⌊w/v⌋·v/w. Records that are left out only help (post-processing), and the least alpha
    stands for all that are kept. Known records are taken from those that are kept.
    """
    if not parts:
        raise refusal("parts", "no records are described", "describe at least one part")
    for part in parts:
        if exact(part.width, "width") <= 0:
            raise refusal(
                "width",
                f"a part is {shown(exact(part.width, 'width'))} wide",
                "declare a width above 0 and at most the distance between the bounds",
            )
    found = []
    for part in parts:
        wide = exact(part.width, "width")
        kept = [
            (checked_count(p.records, "records", least=1), _share(p, wide))
            for p in parts
            if exact(p.width, "width") >= wide
        ]
        kept.sort(key=lambda pair: -pair[1])
        for upto in range(1, len(kept) + 1):
            others = sum(count for count, _ in kept[:upto])
            if others > known:
                found.append(
                    partial_sum(
                        others=others,
                        lower=lower,
                        upper=upper,
                        width=wide,
                        alpha=kept[upto - 1][1],
                        known=known,
                    )
                )
    if not found:
        raise refusal(
            "known", f"{known} known records leave none unknown", "declare fewer known records"
        )
    return tuple(dict.fromkeys(found))


def _share(part: Part, width: Fraction) -> Fraction:
    own = exact(part.width, "width")
    return checked_probability(part.alpha, "alpha") * (own // width) * width / own


def closed_form_delta(*, others: int, eta: Number, epsilon: Number) -> float:
    """Return e^{1/4}(1 − 2eta(1 − e^{−tanh²(eps/2)/2}))^m, a bound that fits on a line.

    It is loose by orders of magnitude; it is there to check the certificates by hand.
    """
    from sanql.mechanisms.noiseless.numbers import as_ball, upper

    adversary = continuous_sum(others=others, eta=eta)
    with precision(128):
        slope = (as_ball(checked_epsilon(epsilon)) / 2).tanh()
        base = 1 - as_ball(adversary.alpha) * (1 - (-(slope**2) / 2).exp())
        return min(1.0, upper(as_ball(Fraction(1, 4)).exp() * base**others))
