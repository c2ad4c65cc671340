"""What is known of an answer before its bounds are found: what holds whichever they will be.

The question is planned with two guesses of the bounds; what both plans say alike is said, and what
differs depends on bounds that nobody knows yet.
"""

from __future__ import annotations

from dataclasses import replace

from sanql.ask.explanation import Expected, Explanation
from sanql.certificate import Certificate
from sanql.kernel import Statement

WIDTHS = (1, 3)  # of the two guesses, in steps
LATER = "known once its bounds are found"


def before_bounds(one: Explanation, other: Explanation, search: Statement) -> Explanation:
    """Return what two explanations agree on, with the SQL that is sent first: a search's."""
    return replace(
        one,
        expected=tuple(map(_agreed, one.expected, other.expected)),
        certificate=_certificate(one.certificate, other.certificate),
        statement=search,
        levels=(),  # their SQL rests on guesses too
    )


def _agreed(one: Expected, other: Expected) -> Expected:
    return one if one == other else Expected(one.column, None, LATER)


def _certificate(one: Certificate, other: Certificate) -> Certificate:
    pairs = zip(one.measurements, other.measurements, strict=True)
    return replace(
        one, measurements=tuple(left if left == right else _later(left) for left, right in pairs)
    )


def _later(measurement: dict[str, object]) -> dict[str, object]:
    kept = {
        name: measurement[name] for name in ("level", "measures", "argument") if name in measurement
    }
    return dict.fromkeys(measurement) | kept | {"mechanism": f"noise {LATER}"}
