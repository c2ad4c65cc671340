"""What can be explained of an answer while bounds of its columns are still to be found.

The question is planned with two guesses of the bounds; what both plans say alike is said, and what
differs depends on bounds that nobody knows yet.
"""

from __future__ import annotations

from dataclasses import replace

from sanql.kernel import Statement
from sanql.results import Certificate, Expected, Explanation

WIDTHS = (1, 3)  # of the two guesses, in steps
LATER = "known once its bounds are found"


def before_bounds(first: Explanation, second: Explanation, search: Statement) -> Explanation:
    """Return what two explanations agree on, with the SQL of the search for bounds, which runs first."""
    return replace(
        first,
        expected=tuple(map(_agreed, first.expected, second.expected)),
        certificate=_certificate(first.certificate, second.certificate),
        statement=search,
        levels=(),  # their SQL rests on guesses too
    )


def _agreed(first: Expected, second: Expected) -> Expected:
    return first if first == second else Expected(first.column, None, LATER)


def _certificate(first: Certificate, second: Certificate) -> Certificate:
    pairs = zip(first.measurements, second.measurements, strict=True)
    return replace(
        first, measurements=tuple(left if left == right else _later(left) for left, right in pairs)
    )


def _later(measurement: dict[str, object]) -> dict[str, object]:
    kept = {
        name: measurement[name] for name in ("level", "measures", "argument") if name in measurement
    }
    return dict.fromkeys(measurement) | kept | {"mechanism": f"noise {LATER}"}
