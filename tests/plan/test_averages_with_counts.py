"""An average and a count in one question are planned about as well as each by itself, at a split."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from plan.test_known_norms import TABLE, asked
from sanql.measurements import Measured
from sanql.plan.best_norm import Lengths, UnitLengths
from sanql.plan.known_norms import with_known_norms
from sanql.plan.known_units import KnownUnits
from sanql.plan.level import Level
from sanql.plan.plan import price
from sanql.policy import Budget

TOGETHER_MOST = 1.4
"""How much more the root of all squared errors may be: one factor scales the rows of both."""
SHARES = [Fraction(n, 10) for n in range(1, 10)]


def heavy(units: int, rows: float) -> Lengths:
    """Return units of which few have most rows, as riders do."""
    return tuple(
        UnitLengths(share * units, rows * more, rows * more)
        for share, more in ((0.3, 0.1), (0.4, 0.5), (0.2, 1.5), (0.08, 4.0), (0.02, 12.0))
    )


def even(units: int, rows: float) -> Lengths:
    return (UnitLengths(units, rows, rows),)


def planned(sql: str, known: KnownUnits, epsilon: Fraction) -> Level:
    within = Budget(epsilon, Fraction(0))
    table = replace(TABLE, rows_per_unit_max=4000, groups_per_unit_max=24)
    outlined = with_known_norms(asked(sql, table), {"flights": known}, within)
    (level,) = price(outlined, epsilon, Fraction(0)).levels
    return level


def squared_error(level: Level, known: KnownUnits, groups: int) -> float:
    """Return the squared errors of all its columns, each in rows of a group.

    What is lost moves a count by so many rows, and an average by a quarter of them.
    """
    size = float(known.sizes["delay"])
    sums = [n for n, part in enumerate(level.measurements) if part.kind is Measured.SUM]
    deviations = [
        noise.standard_deviation * float(part.cell_step)
        for noise, part in zip(level.noises, level.measurements, strict=True)
    ]
    counts = [n for n in range(len(deviations)) if n not in sums]
    shared = level.measurements[counts[0]]
    assert shared.norm is not None and shared.norm.order == 1
    norm = float(shared.norm.bound)
    for place in sums:
        own = level.measurements[place].norm
        assert own is not None
        if own.jointly:
            norm = min(norm, own.bound * float(level.measurements[place].grid) / size)
    whole = sum(each.units * each.rows for each in known.rows)
    kept = sum(each.units * each.rows * min(1, norm / each.length) for each in known.rows)
    lost, more = (whole - kept) / groups, (whole / kept) ** 2
    error = 0.0
    for estimate in level.estimates:
        if estimate.quotient is None:
            (place,) = estimate.measurements
            error += deviations[place] ** 2 + lost**2
        else:
            above, below = estimate.quotient
            noise = (deviations[above] / size) ** 2 + deviations[below] ** 2
            error += more * noise + (lost / 4) ** 2
    return error


@pytest.mark.slow
@pytest.mark.parametrize("size", [5, 40, 200])
@pytest.mark.parametrize("spread", [heavy, even])
@pytest.mark.parametrize(("units", "rows"), [(1500, 40), (20_000, 10), (300, 200)])
@pytest.mark.parametrize(("key", "groups"), [("month", 12), ("carrier", 16)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(1), Fraction(4)])
def test_an_average_and_a_count_are_about_as_good_as_each_by_itself_at_the_best_split(
    epsilon: Fraction, key: str, groups: int, units: int, rows: float, spread: object, size: int
) -> None:
    assert callable(spread)
    known = KnownUnits(spread(units, rows), sizes={"delay": Fraction(size)})
    together = planned(
        f"SELECT {key}, AVG(delay), COUNT(*) FROM flights GROUP BY {key}", known, epsilon
    )
    apart = min(
        sum(
            squared_error(
                planned(f"SELECT {key}, {shown} FROM flights GROUP BY {key}", known, part),
                known,
                groups,
            )
            for shown, part in (
                ("AVG(delay)", epsilon * share),
                ("COUNT(*)", epsilon * (1 - share)),
            )
        )
        for share in SHARES
    )
    ratio = math.sqrt(squared_error(together, known, groups) / apart)
    assert ratio <= TOGETHER_MOST
