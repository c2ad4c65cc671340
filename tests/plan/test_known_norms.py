"""What is known of units decides their norms and limits: less noise for few rows, and never more."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction

import pytest

from sanql.measurements import Measured
from sanql.parse import parse
from sanql.plan.best_norm import Lengths, UnitLengths
from sanql.plan.known_norms import NO_LIMITS, ChosenLimits, limits_by_profile, with_known_norms
from sanql.plan.known_units import KnownUnits
from sanql.plan.level import Level
from sanql.plan.plan import Outline, outline, price
from sanql.policy import Budget
from sanql.policy.model import Column, ColumnUnit, ListedDomain, Neighbours, Table
from sanql.question import Query

CARRIERS = tuple("ABCDEFGHIJKLMNOP")
COLUMNS = {
    "carrier": Column("carrier", "text", domain=ListedDomain(CARRIERS)),
    "month": Column("month", "integer", bounds=(1, 12)),
    "day": Column("day", "integer", bounds=(1, 31)),
    "dest": Column("dest", "text"),
    "delay": Column("delay", "integer", bounds=(-60, 600)),
    "miles": Column("miles", "integer", bounds=(0, 5000)),
}
TABLE = Table("flights", ColumnUnit("plane"), COLUMNS, 256, None, 24)
PRICE = Budget(Fraction(1, 2), Fraction(1, 10**8))


def evenly(units: int, length: float, rows: float | None = None) -> Lengths:
    """Return units from a quarter to twice as long as one."""
    return tuple(
        UnitLengths(units / 4, length * part, (rows or length) * part) for part in (0.25, 0.5, 1, 2)
    )


# 4,000 planes of 83 flights on average: for one airline each, on some routes, in most months
PLANES = KnownUnits(
    evenly(4000, 90),
    norms={
        "month": evenly(4000, 28, 90),
        "day": evenly(4000, 20, 90),
        "dest": evenly(4000, 36, 90),
    },
    groups={"carrier": (UnitLengths(4000, 1.0, 1.0),), "dest": evenly(4000, 10)},
    sizes={"miles": Fraction(1000), "delay": Fraction(25)},
)
KNOWN = {"flights": PLANES}


def asked(sql: str, table: Table = TABLE, neighbours: Neighbours = "add-remove") -> Outline:
    tables = {"flights": table}
    query = parse(sql, tables).query
    assert isinstance(query, Query)
    return outline(query, tables, neighbours)


def planned(sql: str, known: KnownUnits | None = PLANES) -> Level:
    found = {} if known is None else {"flights": known}
    outlined = with_known_norms(asked(sql), found, PRICE)
    return price(outlined, PRICE.epsilon, PRICE.delta).levels[0]


def deviation(level: Level, place: int = 0) -> float:
    return level.noises[place].standard_deviation * float(level.measurements[place].cell_step)


def norm(level: Level, place: int = 0) -> float:
    found = level.measurements[place].norm
    assert found is not None
    return found.bound if found.order == 1 else math.sqrt(found.bound)


def test_without_anything_known_nothing_changes() -> None:
    outlined = asked("SELECT month, COUNT(*) FROM flights GROUP BY month")
    assert with_known_norms(outlined, {}, PRICE) == outlined
    assert limits_by_profile(outlined, {}, PRICE) == NO_LIMITS


def test_rows_over_two_columns_are_known_to_be_shorter_than_over_either() -> None:
    days = planned("SELECT month, day, COUNT(*) FROM flights GROUP BY month, day")
    month = planned("SELECT month, COUNT(*) FROM flights GROUP BY month")
    assert norm(days) < 20 < norm(month)
    assert deviation(days) < deviation(month) / 2


def test_a_condition_on_a_column_leaves_no_more_rows_than_its_length() -> None:
    """Of a plane with the length 72 over destinations no more than 72 flights go to one of them."""
    all_of_them = planned("SELECT carrier, COUNT(*) FROM flights GROUP BY carrier")
    one = planned("SELECT carrier, COUNT(*) FROM flights WHERE dest = 'LAX' GROUP BY carrier")
    four = planned(
        "SELECT carrier, COUNT(*) FROM flights WHERE dest IN ('a', 'b', 'c', 'd') GROUP BY carrier"
    )
    assert norm(one) <= 72 < norm(all_of_them)
    assert norm(one) < norm(four) <= 144
    assert deviation(one) < deviation(all_of_them) / 2


def test_a_sum_has_the_noise_of_values_as_they_are_and_drops_no_row() -> None:
    """256 rows of 5,000 miles are 1,280,000; nobody flies more than 180 times 1,000."""
    sql = "SELECT carrier, SUM(miles) FROM flights GROUP BY carrier"
    assert deviation(planned(sql)) < deviation(planned(sql, None)) / 6
    assert norm(planned(sql)) <= 180_000
    unbounded = planned("SELECT SUM(miles) FROM flights")
    assert norm(unbounded) == 180_000  # one group of all flights: hardly anything is worth losing


def test_an_average_weighs_large_units_less_and_a_count_does_not() -> None:
    unsized = replace(PLANES, sizes={})
    mean = planned("SELECT carrier, AVG(delay) FROM flights GROUP BY carrier", unsized)
    count = planned("SELECT carrier, COUNT(*) FROM flights GROUP BY carrier")
    both = planned("SELECT carrier, COUNT(*), AVG(delay) FROM flights GROUP BY carrier")
    share = planned(
        "SELECT carrier, 1.0 * COUNT_IF(delay > 15) / COUNT(*) FROM flights GROUP BY carrier"
    )
    assert norm(mean) < norm(count) / 2
    assert norm(share) == norm(mean)
    assert norm(both) > 2 * norm(mean)


def test_a_mean_of_large_values_loses_fewer_rows_than_one_of_small_values() -> None:
    """Miles are two fifths of their bound on average, minutes an eighth: less of a mean is at stake."""
    larger = {"flights": replace(PLANES, sizes={"miles": Fraction(2000), "delay": Fraction(85)})}
    miles, minutes = (
        limits_by_profile(asked(f"SELECT AVG({column}) FROM flights"), larger, PRICE).rows
        for column in ("miles", "delay")
    )
    assert miles is not None and minutes is not None and miles > minutes


def test_a_plane_of_one_airline_is_counted_in_one_group() -> None:
    outlined = asked("SELECT carrier, COUNT(DISTINCT plane) FROM flights GROUP BY carrier")
    assert limits_by_profile(outlined, KNOWN, PRICE) == ChosenLimits(groups=1)


def test_rows_without_groups_are_limited_as_suits_what_is_shown() -> None:
    mean, count, totals = (
        limits_by_profile(asked(f"SELECT {shown} FROM flights"), KNOWN, PRICE)
        for shown in ("AVG(miles)", "COUNT(*)", "SUM(miles)")
    )
    assert mean.rows is not None and count.rows is not None
    assert mean.rows < count.rows == 180
    assert totals == NO_LIMITS  # by norm: no row is dropped


def test_rows_of_quantiles_are_limited_like_those_of_means() -> None:
    """A value picked among many is off by more rows than a count: fewer rows of a unit, less noise."""
    middle, last, mean, both = (
        limits_by_profile(asked(f"SELECT {shown} FROM flights"), KNOWN, PRICE).rows
        for shown in ("MEDIAN(miles)", "MAX(miles)", "AVG(miles)", "MEDIAN(miles), COUNT(*)")
    )
    assert middle is not None and last is not None and mean is not None and both is not None
    assert middle == last <= mean < TABLE.rows_per_unit_max
    assert middle < both  # a count is not to lose more than a tenth of all rows


def test_units_in_groups_that_are_selected_are_counted_in_as_many_as_they_are_in() -> None:
    counted, rows, both = (
        limits_by_profile(
            asked(f"SELECT dest, {shown} FROM flights GROUP BY dest"), KNOWN, PRICE
        ).groups
        for shown in ("COUNT(DISTINCT plane)", "COUNT(*)", "COUNT(*), COUNT(DISTINCT plane)")
    )
    assert counted is not None and counted < 24
    assert rows is None and both is None  # rows are bounded by norm, and drop no group


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ("SELECT COUNT(DISTINCT carrier) FROM flights", 1),
        ("SELECT COUNT(DISTINCT month) FROM flights", 1),  # twelve months of 4,000 planes
        ("SELECT COUNT(DISTINCT delay) FROM flights", None),  # 661 values: they may need more
        ("SELECT COUNT(DISTINCT dest) FROM flights", None),
        ("SELECT month, COUNT(DISTINCT carrier) FROM flights GROUP BY month", 1),
        ("SELECT carrier, COUNT(DISTINCT day) FROM flights GROUP BY carrier", None),
    ],
)
def test_one_value_of_a_unit_counts_where_values_are_few_and_units_many(
    sql: str, values: int | None
) -> None:
    assert limits_by_profile(asked(sql), KNOWN, PRICE).values == values


def test_keys_need_less_weight_where_no_unit_is_in_many_groups() -> None:
    """Of 256 groups that a plane could be in it is in twenty: as many need not be ruled out at once."""
    sql = "SELECT dest, COUNT(*) FROM flights GROUP BY dest"
    known, without = planned(sql), planned(sql, replace(PLANES, groups={}))
    places = [level.outline.measuring.selection for level in (known, without)]
    (weights, others) = (
        level.measurements[place]
        for level, place in zip((known, without), places, strict=True)
        if place
    )
    assert (weights.groups_max, others.groups_max) == (30, 256)
    assert known.noises[places[0] or 0] == without.noises[places[1] or 0]
    assert known.priced.threshold is not None and without.priced.threshold is not None
    assert known.priced.threshold < 0.96 * without.priced.threshold


SHOWN = ("COUNT(*)", "SUM(miles)", "SUM(delay)", "AVG(delay)", "COUNT(*), SUM(miles)")
GROUPED = ("", "carrier", "month", "dest", "month, day")


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_whatever_is_known_no_norm_is_beyond_limits(neighbours: Neighbours) -> None:
    """A profile may be all noise: bounds stay those that the policy sets, or less."""
    rng = random.Random(1)
    for _ in range(60):
        known = KnownUnits(
            evenly(rng.choice([0, 4, 10**6]), rng.choice([0.5, 3, 300, 1e6])),
            {name: evenly(rng.choice([1, 10**5]), rng.choice([1, 500])) for name in COLUMNS},
            {name: evenly(rng.choice([1, 10**5]), rng.choice([1, 500])) for name in COLUMNS},
            {name: Fraction(rng.choice([1, 30, 10**9])) for name in ("miles", "delay")},
        )
        shown, keys = rng.choice(SHOWN), rng.choice(GROUPED)
        by = f"{keys}, " if keys else ""
        sql = f"SELECT {by}{shown} FROM flights" + (f" GROUP BY {keys}" if keys else "")
        plain = asked(sql, neighbours=neighbours)
        within = Budget(Fraction(rng.choice(["0.01", "1", "50"])), PRICE.delta)
        outlined = with_known_norms(plain, {"flights": known}, within)
        limits = limits_by_profile(plain, {"flights": known}, within)
        assert 1 <= (limits.rows or 1) <= 256 and 1 <= (limits.groups or 1) <= 24
        for level in price(outlined, within.epsilon, within.delta).levels:
            total, _, squared = level.outline.limits.row_norms
            for part in level.measurements:
                if part.norm is None:
                    continue
                most = total if part.norm.order == 1 else squared
                size = part.size if part.norm.alone else 1
                assert 1 <= part.norm.bound <= most * size**part.norm.order
                assert part.kind in (Measured.ROWS, Measured.VALUES, Measured.SUM)
