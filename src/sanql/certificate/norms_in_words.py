"""Bounding by norm in words: what is done to a unit's numbers, and how far that lets it move them."""

from __future__ import annotations

import math

from sanql.measurements import Measured, Measurement
from sanql.plan import Level, OneGroup


def bounding_in_words(level: Level) -> tuple[str, ...]:
    """Return what is done to the numbers of a unit beyond its limits."""
    said = []
    if is_scaled(level) and isinstance(level.outline.keys, OneGroup):
        held = norm_in_words(level)
        held = held if _own_norms(level) or is_joint(level) else f"what {held} may add"
        said.append(f"what a unit adds is held to {held}; none of its rows is dropped")
    elif is_scaled(level):
        said.append(
            "a unit's rows and sums in all its groups are scaled down together where they are more than "
            f"{norm_in_words(level)}; none of its groups is dropped"
        )
    if drops_groups(level):
        what = "what is not scaled so: " if is_scaled(level) else ""
        said.append(
            f"{what}a unit beyond its limits keeps some of its groups, drawn at random for this answer, "
            "and has its counts and sums scaled down in proportion"
        )
    return tuple(said)


def is_scaled(level: Level) -> bool:
    """Return whether any numbers of units are scaled down to a norm."""
    return any(part.norm is not None for part in level.measurements)


def is_joint(level: Level) -> bool:
    """Return whether rows and sums have the least factor of all."""
    return any(part.norm is not None and part.norm.jointly for part in level.measurements)


def drops_groups(level: Level) -> bool:
    """Return whether groups of a unit are dropped for some measurement."""
    return any(
        part.norm is None and part.of is None and part.kind is not Measured.KEY_WEIGHTS
        for part in level.measurements
    )


def norm_in_words(level: Level) -> str:
    """Return the norm that a unit's rows are scaled to, in rows, or the norms of its sums."""
    own = " and ".join(dict.fromkeys(map(_own_in_words, _own_norms(level).values())))
    if own and not is_joint(level):
        return own
    rows = _rows_in_words(level)
    return f"{rows} and {own}" if own else rows


def _rows_in_words(level: Level) -> str:
    order, bound = _norm_of_rows(level)
    if isinstance(level.outline.keys, OneGroup):
        order, bound = 1, bound if order == 1 else math.isqrt(bound)
    if order == 1:
        return f"{bound:,} row{'' if bound == 1 else 's'}"
    return f"an L2 norm of {math.sqrt(bound):.4g} rows"


def rows_kept_at_least(level: Level) -> int:
    """Return a number of rows of which a unit loses none: in L2 no vector is longer than in L1.

    Where rows and sums have one factor it is so of units whose sums are within their norms.
    """
    own = _own_norms(level)
    if own and not is_joint(level):
        return min(math.floor(_length(part) / part.size) for part in own.values())
    order, bound = _norm_of_rows(level)
    return bound if order == 1 else math.isqrt(bound)


def norms_of_rows(level: Level) -> dict[str, int]:
    """Return the norm that a unit's rows, or its sums, are scaled to, by name; nothing where none is."""
    if not is_scaled(level):
        return {}
    if own := _own_norms(level):
        of_rows = _of_rows(level) if is_joint(level) else {}
        return of_rows | {
            f"measurement_{place + 1}_norm_l{part.norm.order}": math.ceil(_length(part) * part.grid)
            for place, part in own.items()
            if part.norm is not None
        }
    return _of_rows(level)


def _of_rows(level: Level) -> dict[str, int]:
    order, bound = _norm_of_rows(level)
    return {"rows_norm_l1" if order == 1 else "rows_norm_l2_squared": bound}


def sensitivity_told(measurement: Measurement) -> dict[str, float]:
    """Return how far one unit moves a measurement; of what an L2 norm bounds, no L1 norm is told."""
    bounds, step = measurement.sensitivity, measurement.cell_step
    told = {
        "l1": float(bounds.l1 * step),
        "linf": float(bounds.linf * step),
        "l2": math.sqrt(bounds.l2_squared) * float(step),
    }
    if measurement.norm is not None and measurement.norm.order == 2:
        del told["l1"]
    return told


def _norm_of_rows(level: Level) -> tuple[int, int]:
    norm = next(part.norm for part in level.measurements if part.norm is not None)
    norms = level.outline.measuring.unit_norms
    bound = None if norms is None else norms.bound(norm.order)
    assert bound is not None  # noqa: S101  (a measurement has its norm from there)
    return norm.order, bound


def _own_norms(level: Level) -> dict[int, Measurement]:
    """Return the sums, by their places, that are scaled to other norms than their rows would tell."""
    return {
        place: part
        for place, part in enumerate(level.measurements)
        if part.norm is not None and part.norm.alone and not _is_of_rows(level, part)
    }


def _is_of_rows(level: Level, part: Measurement) -> bool:
    """Return whether a sum by itself has the norm of as many rows of its largest value as may count.

    It has not where a profile knows a norm of its own, nor where what two units may differ by is less.
    """
    norms, norm = level.outline.measuring.unit_norms, part.norm
    assert norms is not None and norm is not None  # noqa: S101  (it is scaled)
    known = norms.own_bound(part.expression, norm.order)
    return known is None and norm.bound == (norms.bound(norm.order) or 0) * part.size**norm.order


def _own_in_words(part: Measurement) -> str:
    length = _length(part) * float(part.grid)
    by_l2 = part.norm is not None and part.norm.order == 2
    return f"an L2 norm of {length:,.4g}" if by_l2 else f"a total of {length:,.10g}"


def _length(part: Measurement) -> float:
    """Return the norm of a sum by itself, in steps of its grid."""
    assert part.norm is not None  # noqa: S101  (whoever asks has looked)
    return float(part.norm.bound) if part.norm.order == 1 else math.sqrt(part.norm.bound)
