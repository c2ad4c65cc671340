"""Averages of small values have sums with norms of their own, where a profile tells how small."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from plan.test_known_norms import PLANES, PRICE, TABLE, asked, deviation, planned
from sanql.measurements import Measured
from sanql.plan.known_norms import with_known_norms
from sanql.plan.level import Level
from sanql.plan.plan import price
from sanql.policy.model import Column


def jointly(level: Level) -> bool:
    return any(part.norm is not None and part.norm.jointly for part in level.measurements)


BY_MONTH = "SELECT month, AVG(delay) FROM flights GROUP BY month"
OTHER_WAYS = [
    ("SELECT month, AVG(delay + 1) FROM flights GROUP BY month", "its size is not known"),
    (
        "SELECT month, COUNT(DISTINCT plane), AVG(delay) FROM flights GROUP BY month",
        "units are counted by dropping",
    ),
    ("SELECT month, AVG(delay), STDDEV(delay) FROM flights GROUP BY month", "squares have no norm"),
    ("SELECT month, SUM(delay) FROM flights GROUP BY month", "not an average"),
    ("SELECT month, AVG(delay) FROM flights GROUP BY ROLLUP (month)", "levels are fitted"),
]


@pytest.mark.parametrize(
    "sql",
    [
        BY_MONTH,
        "SELECT AVG(delay) FROM flights",
        "SELECT month, COUNT(*), AVG(delay) FROM flights GROUP BY month",
        "SELECT month, COUNT(*), SUM(delay) FROM flights GROUP BY month",
        "SELECT month, AVG(delay) FROM flights WHERE delay > 0 GROUP BY month",
    ],
)
def test_an_average_of_small_values_has_less_noise_where_their_size_is_known(sql: str) -> None:
    level, without = planned(sql), planned(sql, replace(PLANES, sizes={}))
    assert jointly(level) and not jointly(without)
    places = [
        next(n for n, part in enumerate(each.measurements) if part.kind is Measured.SUM)
        for each in (level, without)
    ]
    assert deviation(level, places[0]) < deviation(without, places[1]) / 2
    part = level.measurements[places[0]]
    assert part.centre in (0, 1)  # the least, where it is above 0
    assert part.centre + part.high == 600


@pytest.mark.parametrize(("sql", "why"), OTHER_WAYS)
def test_what_is_no_average_of_known_values_is_measured_as_before(sql: str, why: str) -> None:
    assert not jointly(planned(sql)), why


def test_values_as_large_as_their_bounds_stay_in_pairs() -> None:
    large = replace(PLANES, sizes={"delay": PLANES.sizes["delay"] * 24})
    assert not jointly(planned(BY_MONTH, large))


def test_a_promised_accuracy_rests_on_bounds_and_not_on_the_size_of_values() -> None:
    """An interval of an average has the noise of its count times how large it may be."""
    promised = replace(PLANES, accuracy_asked=True)
    for sql in (BY_MONTH, "SELECT AVG(delay) FROM flights"):
        assert jointly(planned(sql)) and not jointly(planned(sql, promised))


def test_neither_norm_is_beyond_the_limits() -> None:
    """However large or small a profile says that values are."""
    for factor in (1, 10, 1000):
        sizes = {"delay": PLANES.sizes["delay"] / factor}
        level = planned(BY_MONTH, replace(PLANES, sizes=sizes))
        total, _, squared = level.outline.limits.row_norms
        for part in level.measurements:
            assert part.norm is not None
            longest = total if part.norm.order == 1 else squared
            size = part.size if part.norm.alone else 1
            assert part.norm.bound <= longest * size**part.norm.order


def test_deleting_the_profile_gives_the_bounds_their_noise_back() -> None:
    with_profile, without = planned(BY_MONTH), planned(BY_MONTH, None)
    assert deviation(without) > 4 * deviation(with_profile)
    assert TABLE.rows_per_unit_max == without.outline.limits.rows


@pytest.mark.parametrize("widest", [600, 2**31, 2**36])
@pytest.mark.parametrize("shown", ["AVG(delay)", "AVG(delay), AVG(miles)"])
def test_values_may_be_as_small_beside_their_bounds_as_they_like(shown: str, widest: int) -> None:
    """Red where the count's weight is a difference of what is added: it was 0, and had no share."""
    columns = {
        name: Column(name, "integer", bounds=(0, widest)) if name in ("delay", "miles") else column
        for name, column in TABLE.columns.items()
    }
    known = replace(PLANES, sizes={"delay": Fraction(1), "miles": Fraction(3)})
    asking = asked(f"SELECT {shown} FROM flights", replace(TABLE, columns=columns))
    outlined = with_known_norms(asking, {"flights": known}, PRICE)
    (level,) = price(outlined, PRICE.epsilon, PRICE.delta).levels
    assert all(noise.standard_deviation > 0 for noise in level.noises)
    assert jointly(level)
