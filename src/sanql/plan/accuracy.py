"""How wide an answer's intervals will be, known before spending; and the least epsilon for a width.

The width of a count or sum depends on the noise alone. That of an average, a variance or a covariance
also depends on how many rows it is over, so a guess of that number is needed. A correlation's depends on
how much its values vary, which nothing bounds from below. What is known of a quantile is how many rows
lie between it and the true one.
"""

from __future__ import annotations

import math
from fractions import Fraction

from sanql.errors import Refused
from sanql.numbers import EPSILON_MIN
from sanql.options import Accuracy
from sanql.plan.level import Level
from sanql.plan.plan import Outline, price

EPSILON_MAX = Fraction(1000)
PRECISION = Fraction(1, 1000)


def half_width(
    level: Level, aggregate: int, confidence: Fraction, rows: int | None = None
) -> Fraction | None:
    """Return the half-width of an aggregate's interval, or None where a guess of rows is missing.

    Of a quantile it is the number of rows that it is off by.
    """
    estimate = level.estimates[aggregate]
    if rows is None and estimate.needs_rows:
        return None
    return estimate.half_width(level.planned_noise, confidence, rows or 1)


def least_epsilon(outlined: Outline, delta: Fraction, wanted: Accuracy) -> Fraction:
    """Return the smallest epsilon (to a part in a thousand) whose intervals are narrow enough."""
    estimates = [estimate for level in outlined.levels for estimate in level.measuring.estimates]
    texts = [aggregate.text for level in outlined.levels for aggregate in level.query.aggregates]
    for estimate, text in zip(estimates, texts, strict=True):
        if estimate.depends_on_spread:
            raise Refused(
                "accuracy_not_applicable",
                f"how exact {text} is depends on how its values are spread",
                "ask with epsilon instead; explain says what is known of its error",
            )
    for estimate, text in zip(estimates, texts, strict=True):
        if estimate.needs_rows and wanted.rows is None:
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


def _narrow_enough(outlined: Outline, epsilon: Fraction, delta: Fraction, wanted: Accuracy) -> bool:
    try:
        made = price(outlined, epsilon, delta)
    except Refused as refused:
        if refused.code != "noise_too_large":
            raise
        return False
    widths = [
        half_width(level, index, wanted.confidence, wanted.rows)
        for level in made.levels
        for index in range(len(level.estimates))
    ]
    return all(width is not None and width <= wanted.half_width for width in widths)
