"""Quantiles from picked places, and intervals from the noisy counts around them.

Let b be the start of a bin and T the rows before it less a times all rows, a sum of ladder counts with
known weights. Where T < 0 for sure, the a-quantile lies at b or above; where T >= 0 for sure, below b.
The lower end is looked for from the lowest bin upward, and the first of which it is not sure ends the
search. It can be wrong only if the test of the first bin above the quantile is: that is one test,
whichever it is, so it has all of the error probability of its side, and likewise from above.

Of n rows in order, counted from 0, the a-quantile lies between those at the whole numbers on either side
of a (n - 1), or is row ⌈a n⌉ - 1. It is below b only if more than a (n - 1) rows are, so T > -a; and not
below b only if at most a (n - 1) + 1 rows are, so T <= 1 - a. These are the slack of either test.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import takewhile
from typing import ClassVar

import numpy as np

from sanql.errors import Refused
from sanql.measurements import (
    ROW,
    Band,
    Measured,
    Measurement,
    QuantileBins,
    ladder,
    make_quantile_bins,
    off_grid,
    pick_levels,
    rank_error_upper,
    sensitivity_of_ladder,
    sensitivity_of_picks,
    shared_confidence,
)
from sanql.mechanisms import (
    Geometric,
    Integers,
    Noise,
    NoNoise,
    deviation_upper,
    quantile_upper,
)
from sanql.question import Aggregate, Expr, Facts, Type
from sanql.statistics.collector import Collector
from sanql.statistics.noisy import NoisyMeasurements, PlannedNoise
from sanql.statistics.statistic import Estimate, Mask, Operand, Statistic, Values, Written
from sanql.statistics.values import number_bounds

FRACTION_DIGITS = 10**6


@dataclass(frozen=True)
class Quantile(Statistic):
    """PERCENTILE_CONT(x, a) and PERCENTILE_DISC(x, a): the value below which a share of the rows lies."""

    spellings: tuple[str, ...]
    between: bool  # whether it may lie between two whole numbers
    written: str = ""
    found: str = ""

    name = "quantile"
    operands = (Operand.VALUE, Operand.FRACTION)

    def ask(self, written: Written) -> Aggregate:
        fraction = written.fraction
        if fraction is None or not 0 <= fraction <= 1 or fraction.denominator > FRACTION_DIGITS:
            raise Refused(
                "quantile_invalid",
                f"{written.text} needs a constant between 0 and 1, of at most six digits",
                "write, for example, QUANTILE_CONT(x, 0.9)",
            )
        return ranked(written, written.argument, fraction, self.between)

    def measure(self, aggregate: Aggregate, collector: Collector) -> Estimate:
        """Pick all quantiles of a value together, and count rows around them."""
        argument = aggregate.value
        picks, around, places = collector.shared(
            (self.name, argument), lambda: _pick_together(argument, collector)
        )
        assert aggregate.fraction is not None  # noqa: S101  (it is asked for with one)
        return QuantileOf(
            picks,
            around,
            places[aggregate.fraction],
            aggregate.fraction,
            aggregate.facts.type is Type.INTEGER,
        )


QUANTILES: tuple[Quantile, ...] = (
    Quantile(
        ("PERCENTILE_CONT",),
        between=True,
        written=(
            "`MEDIAN(x)`, `QUANTILE_CONT(x, 0.9)`, `QUANTILE_DISC`, "
            "`PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)`, `PERCENTILE_DISC`, "
            "`APPROX_QUANTILE(x, 0.9)`, `APPROX_QUANTILES(x, 4)[OFFSET(1)]`"
        ),
        found=(
            "the best place between the bounds, by noisy ranks; noisy counts around it give the "
            "interval"
        ),
    ),
    Quantile(("PERCENTILE_DISC",), between=False),
)


def ranked(written: Written, argument: Expr, fraction: Fraction, between: bool) -> Aggregate:
    """Return the quantile of a number with bounds; of whole numbers it is whole unless `between`."""
    low, high = number_bounds(written, argument)
    whole = argument.facts.type is Type.INTEGER and not between
    facts = (
        Facts(Type.INTEGER, low, high, grid=Fraction(1)) if whole else Facts(Type.REAL, low, high)
    )
    return Aggregate(Quantile.name, (argument,), facts, written.text, fraction=fraction)


def _pick_together(argument: Expr, collector: Collector) -> tuple[int, int, dict[Fraction, int]]:
    """Return the places of the picks and of the counts around them, and each quantile's among the picks.

    Of what both may spend, six parts in seven go to the picks, however many: they are what is read.
    (Shares are cube roots of weight times squared sensitivity; see plan/pricing.py.)
    """
    fractions = _fractions_of(argument, collector)
    setting = replace(collector.setting, merged=False)  # of other groups nothing is picked
    if argument.facts.nullable:
        setting = replace(setting, always_present=False)
    steps = collector.gridded(argument, centred=False)
    part = Measurement(
        Measured.PICKS,
        argument,
        sensitivity_of_picks(setting, fractions),
        Fraction(1, ROW),
        high=ROW,
        quantile_bins=make_quantile_bins(
            steps.grid, steps.low, steps.high, len(fractions) > 1, collector.groups
        ),
        fractions=fractions,
    )
    picks = collector.add(part, 4.0)
    around = sensitivity_of_ladder(setting)
    moved = part.sensitivity.l1 / ROW / around.l1
    counts = collector.add(
        Measurement(Measured.LADDER, None, around, of=picks), 4 * moved**2 / 6**3
    )
    return picks, counts, {fraction: place for place, fraction in enumerate(fractions)}


def _fractions_of(argument: Expr, collector: Collector) -> tuple[Fraction, ...]:
    """Return all quantiles of a value that the question asks for, in ascending order."""
    asked = {
        aggregate.fraction
        for aggregate in collector.aggregates
        if aggregate.fraction is not None and aggregate.argument == argument
    }
    return tuple(sorted(asked))


@dataclass(frozen=True)
class QuantileOf(Estimate):
    """One of the quantiles picked from a value's bins; the ladder gives its interval."""

    picks: int
    ladder: int
    place: int
    fraction: Fraction
    is_whole: bool

    depends_on_spread: ClassVar[bool] = True
    width_in: ClassVar[str] = ", in rows between it and the true one"

    @property
    def measurements(self) -> frozenset[int]:
        return frozenset({self.ladder})

    def value(self, noisy: NoisyMeasurements) -> Values:
        """Return the picked place in every group, or none where the noisy counts see no row.

        Where they see rows that are not there, the place is one at random, and its interval says so
        by covering all of the bounds.
        """
        bins = self._bins(noisy.noise)
        picked = [places[self.place] for places in noisy.cells.lists(self.picks)]
        number, split = np.divmod(np.array(picked, dtype=float), bins.splits)
        steps = bins.bottom + number * bins.width
        if bins.width > 1:  # several values share a bin: the place says where in it
            steps = steps + (split + 0.5) / bins.splits * bins.width - 0.5
        if self.is_whole:
            steps = np.rint(steps)
        values = off_grid(np.clip(steps, bins.bottom, bins.top), bins.grid)
        empty = [counts.astype(float).sum() < 1 for counts in noisy.cells.lists(self.ladder)]
        return np.where(empty, np.nan, values)

    def band(self, noisy: NoisyMeasurements, confidence: Fraction) -> Band:
        bins, noise = self._bins(noisy.noise), noisy.noise.noises[self.ladder]
        lows, highs = [], []
        cells = noisy.cells
        pairs = zip(cells.lists(self.picks), cells.lists(self.ladder), strict=True)
        for picked, counts in pairs:
            numbers = [place // bins.splits for place in picked.tolist()]
            tests = self._tests(ladder(bins, numbers), counts, noise, float(1 - confidence) / 2)
            below = [bound for bound, _ in takewhile(lambda test: test[1](-1), tests)]
            above = [bound for bound, _ in takewhile(lambda test: test[1](1), reversed(tests))]
            low, high = max(below, default=0), min(above, default=bins.count) - 1
            lows.append(bins.bottom + low * bins.width)
            highs.append(min(bins.top, bins.bottom + high * bins.width + bins.width - 1))
        ends = (off_grid(np.array(steps, dtype=float), bins.grid) for steps in (lows, highs))
        return Band(*ends)

    def _tests(
        self, bounds: list[int], counts: Integers, noise: Noise, chance: float
    ) -> list[tuple[int, Callable[[int], bool]]]:
        """Return each bin with a test: whether fewer (-1) or more (1) rows are before it for sure."""
        share = float(self.fraction)
        upto = np.cumsum(counts.astype(float))

        def sure(number: int, side: int) -> bool:
            before = float(upto[number - 1])
            slack = share if side < 0 else 1 - share
            ranks = side * (before - share * float(upto[-1])) - slack
            weights = ((1 - share, number), (share, len(counts) - number))
            if ranks < 0 or ranks >= deviation_upper(noise, weights, chance):
                return ranks >= 0
            return ranks >= quantile_upper(noise, weights, chance)

        return [(bound, partial(sure, number)) for number, bound in enumerate(bounds, 1)]

    def missing(self, noisy: NoisyMeasurements, confidence: Fraction) -> Mask:
        """Return where there may be no row: where the interval is as wide as the bounds.

        Wherever it is narrower, the counts around it tell rows on one side from none.
        """
        bins, band = self._bins(noisy.noise), self.band(noisy, confidence)
        low, high = off_grid(np.array([bins.bottom, bins.top], dtype=float), bins.grid)
        unknown: Mask = (band.low <= low) & (band.high >= high)
        return unknown

    def half_width(self, noise: PlannedNoise, confidence: Fraction, rows: int) -> Fraction:
        """Return how many rows it is off: those of its own pick and of those it lies between."""
        part, drawn = noise.measurements[self.picks], noise.noises[self.picks]
        if isinstance(drawn, NoNoise):
            return Fraction(0)
        assert isinstance(drawn, Geometric)  # noqa: S101  (the largest noisy score is picked)
        turns = len(pick_levels(part.fractions))
        each = shared_confidence(confidence, turns)
        return turns * rank_error_upper(self._bins(noise), drawn.scale, each)

    def in_words(self) -> str:
        name = {0: "smallest value", 1: "largest value"}.get(int(self.fraction), "")
        if self.fraction not in (0, 1):
            name = f"{float(self.fraction):g}-quantile"
        return (
            f"{name} picked by noisy ranks (measurement {self.picks + 1}); its interval from counts "
            f"around it (measurement {self.ladder + 1})"
        )

    def _bins(self, noise: PlannedNoise) -> QuantileBins:
        bins = noise.measurements[self.picks].quantile_bins
        assert bins is not None  # noqa: S101  (picks have bins)
        return bins
