"""How wide an answer's intervals will be, known before spending; and the least epsilon for a width.

The width of a count or sum depends on the noise alone. That of an average, a variance or a covariance
also depends on how many rows it is over, so a guess of that number is needed. A correlation's depends on
how much its values vary, which nothing bounds from below. What is known of a quantile is how many rows
lie between it and the true one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sanql.account.numbers import EPSILON_MIN
from sanql.errors import Refused
from sanql.mechanisms import Geometric, NoNoise
from sanql.plan.levels import Outlined, plan_question
from sanql.plan.measurements import (
    AverageOf,
    CorrelationOf,
    CountOf,
    CovarianceOf,
    Estimate,
    QuantileOf,
    SumOf,
    VarianceOf,
)
from sanql.plan.plan import Plan
from sanql.plan.quantiles import levels, rank_error_upper

EPSILON_MAX = Fraction(1000)
PRECISION = Fraction(1, 1000)


@dataclass(frozen=True)
class Accuracy:
    """The half-width an analyst wants at a confidence: absolute, or relative to a guessed answer.

    `rows` is a guess of the rows in the smallest group that matters; only averages need it.
    """

    half_width: Fraction
    confidence: Fraction = Fraction(95, 100)
    rows: int | None = None

    def __post_init__(self) -> None:
        """Check that the wish can be met by some epsilon."""
        if self.half_width <= 0 or not 0 < self.confidence < 1:
            raise Refused(
                "accuracy_invalid",
                f"accuracy ±{float(self.half_width):g} at {float(self.confidence):g} is impossible",
                "ask for a half-width above 0 at a confidence between 0 and 1",
            )
        if self.rows is not None and self.rows < 1:
            raise Refused(
                "accuracy_invalid", "the guess of rows must be at least 1", "guess more rows"
            )


def half_width(
    planned: Plan, aggregate: int, confidence: Fraction, rows: int | None = None
) -> Fraction | None:
    """Return the half-width of an aggregate's interval, or None where a guess of rows is missing.

    Of a quantile it is the number of rows that it is off by.
    """
    estimate = planned.estimates[aggregate]
    if rows is None and needs_rows(estimate):
        return None
    parts = planned.measurements
    match estimate:
        case CountOf(index):
            return Fraction(_reach(planned, index, confidence))
        case SumOf(index, None):
            return _reach(planned, index, confidence) * parts[index].grid
        case SumOf(index, count) if count is not None:
            each = shared_confidence(confidence, 2)
            moved = abs(parts[index].centre) * _reach(planned, count, each)
            return (_reach(planned, index, each) + moved) * parts[index].grid
        case AverageOf(index, count, low, high):
            each = shared_confidence(confidence, 2)
            own = _reach(planned, index, each) * parts[index].grid
            lost = _reach(planned, count, each)
            least = max(1, (rows or 1) - lost)
            return min((own + lost * (high - low) / 2) / least, high - low)
        case VarianceOf() | CovarianceOf():
            return _moment_half_width(planned, estimate, confidence, rows or 1)
        case CorrelationOf():
            return Fraction(2)
        case QuantileOf(picks):
            return _rank_half_width(planned, picks, confidence)
    raise AssertionError(estimate)


def _reach(planned: Plan, index: int, confidence: Fraction) -> int:
    """Return how far a measurement's noise reaches in any row, that of the other groups included."""
    measuring = planned.outline.measuring
    noises = [planned.noises[index]]
    if index == measuring.selection and measuring.rest is not None:
        noises.append(planned.noises[measuring.rest])
    return max(noise.half_width(confidence) for noise in noises)


def _rank_half_width(planned: Plan, picks: int, confidence: Fraction) -> Fraction:
    """Return how many rows a quantile is off: those of its own pick and of those it lies between."""
    part, noise = planned.measurements[picks], planned.noises[picks]
    if isinstance(noise, NoNoise):
        return Fraction(0)
    assert isinstance(noise, Geometric) and part.leaves is not None  # noqa: S101  (picks have both)
    turns = len(levels(part.fractions))
    return turns * rank_error_upper(part.leaves, noise.scale, shared_confidence(confidence, turns))


def needs_rows(estimate: Estimate) -> bool:
    """Return whether the width of an estimate depends on how many rows it is over."""
    return isinstance(estimate, AverageOf | VarianceOf | CovarianceOf)


def _moment_half_width(
    planned: Plan, estimate: VarianceOf | CovarianceOf, confidence: Fraction, rows: int
) -> Fraction:
    """Return how far a variance or covariance can be off: wherever the means lie, to first order."""
    match estimate:
        case VarianceOf(first, second, count, _, _, half):
            weighted = [(second, Fraction(1)), (first, 2 * half)]
            largest = half * half
        case CovarianceOf(first, other, product, count, _, largest):
            size = [part.size * part.grid for part in planned.measurements]
            weighted = [(product, Fraction(1)), (first, size[other]), (other, size[first])]
    each = shared_confidence(confidence, len(weighted) + 1)
    lost = _reach(planned, count, each)
    own = sum(
        _reach(planned, index, each) * planned.measurements[index].grid * weight
        for index, weight in weighted
    )
    width = min((own + lost * largest) / max(1, rows - lost), largest)
    if isinstance(estimate, VarianceOf) and estimate.rooted:
        return Fraction(math.sqrt(width))  # roots are no further apart than the root of the gap
    return Fraction(width)


def shared_confidence(confidence: Fraction, parts: int) -> Fraction:
    """Return the confidence each of several intervals needs so that all hold together."""
    return 1 - (1 - confidence) / parts


def least_epsilon(outlined: Outlined, delta: Fraction, wanted: Accuracy) -> Fraction:
    """Return the smallest epsilon (to a part in a thousand) whose intervals are narrow enough."""
    estimates = [part for level in outlined.levels for part in level.measuring.estimates]
    texts = [part.text for level in outlined.levels for part in level.query.aggregates]
    for estimate, text in zip(estimates, texts, strict=True):
        if isinstance(estimate, CorrelationOf | QuantileOf):
            raise Refused(
                "accuracy_not_applicable",
                f"how exact {text} is depends on how its values are spread",
                "ask with epsilon instead; explain says how many rows a quantile may be off",
            )
    for estimate, text in zip(estimates, texts, strict=True):
        if needs_rows(estimate) and wanted.rows is None:
            raise Refused(
                "accuracy_needs_rows",
                f"how exact {text} is depends on how many rows it is over",
                "add your own guess of the rows in a group, in place of 1000: "
                f"'{float(wanted.half_width):g} at {float(wanted.confidence):g} over 1000 rows'",
            )
    if outlined.free or not estimates:
        raise Refused(
            "accuracy_not_applicable",
            "nothing in this answer has noise that an accuracy could choose",
            "ask with epsilon instead",
        )
    if not _narrow_enough(outlined, EPSILON_MAX, delta, wanted):
        raise Refused(
            "accuracy_impossible",
            f"±{float(wanted.half_width):g} cannot be reached with epsilon up to {EPSILON_MAX}",
            "ask for a wider interval, fewer aggregates, or coarser groups",
        )
    low, high = EPSILON_MIN, EPSILON_MAX
    if _narrow_enough(outlined, low, delta, wanted):
        return low
    while high > low * (1 + PRECISION):
        middle = _between(low, high)
        if _narrow_enough(outlined, middle, delta, wanted):
            high = middle
        else:
            low = middle
    return high


def _between(low: Fraction, high: Fraction) -> Fraction:
    """Return the geometric middle with few digits, so that the charge reads well."""
    return Fraction(f"{math.sqrt(low * high):.6g}")


def _narrow_enough(
    outlined: Outlined, epsilon: Fraction, delta: Fraction, wanted: Accuracy
) -> bool:
    try:
        planned = plan_question(outlined, epsilon, delta)
    except Refused as refused:
        if refused.code != "noise_too_large":
            raise
        return False
    widths = [
        half_width(level, index, wanted.confidence, wanted.rows)
        for level in planned.levels
        for index in range(len(level.estimates))
    ]
    return all(width is not None and width <= wanted.half_width for width in widths)
