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
from sanql.plan.known_units import KnownUnits, groups_left, lengths_over_groups
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
    """256 rows of 5,000 miles are 1,280,000; nobody flies more than 180 times 1,500."""
    sql = "SELECT carrier, SUM(miles) FROM flights GROUP BY carrier"
    assert deviation(planned(sql)) < deviation(planned(sql, None)) / 4
    assert norm(planned(sql)) <= 270_000
    unbounded = planned("SELECT SUM(miles) FROM flights")
    assert norm(unbounded) == 270_000  # one group of all flights: hardly anything is worth losing


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


@pytest.mark.slow
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


def test_a_table_joined_to_a_public_one_is_known_like_the_table() -> None:
    """Keys of the public table tell nothing of groups: rows of a plane may all be in one of them."""
    columns = {"carrier": Column("carrier", "text"), "name": Column("name", "text")}
    names = Table("names", None, columns, key="carrier")
    tables = {"flights": TABLE, "names": names}
    joined = "FROM flights JOIN names USING (carrier) GROUP BY"
    found = {}
    for sql in (f"SELECT name, COUNT(*) {joined} name", f"SELECT month, COUNT(*) {joined} month"):
        query = parse(sql, tables).query
        assert isinstance(query, Query)
        outlined = with_known_norms(outline(query, tables, "add-remove"), KNOWN, PRICE)
        norms = outlined.levels[0].measuring.unit_norms
        assert norms is not None and norms.l2_squared is not None
        found[sql.split()[1]] = norms.l1, math.isqrt(norms.l2_squared)
    assert found["name,"][0] == found["month,"][0] == 180
    assert found["month,"][1] < 180 / 2 < found["name,"][1]


def test_a_condition_on_keys_leaves_as_many_groups_as_it_names() -> None:
    """An average group of five keys is larger than one of all that there may be."""
    sql = "SELECT dest, COUNT(*) FROM flights WHERE dest IN ('a', 'b', 'c', 'd') GROUP BY dest"
    (level,) = asked(sql).levels
    assert groups_left(level.query, PLANES, level.tables) == 4
    (level,) = asked("SELECT dest, COUNT(*) FROM flights GROUP BY dest").levels
    assert groups_left(level.query, PLANES, level.tables) == 19  # twice what an average plane is in


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ("month IN (6, 7, 8)", 3 / 12),
        ("month BETWEEN 6 AND 8", 3 / 12),
        ("month > 9", 3 / 12),
        ("month < 13", None),  # leaves all
        ("dest = 'LAX'", 1 / 19),
        ("delay > 15", None),  # not looked at
    ],
)
def test_as_many_rows_are_taken_to_pass_as_values_are_left(where: str, left: float | None) -> None:
    (level,) = asked(f"SELECT carrier, COUNT(*) FROM flights WHERE {where} GROUP BY carrier").levels
    rows, _ = lengths_over_groups(level.query, PLANES, level.tables)
    whole = sum(each.units * each.rows for each in rows)
    assert whole == pytest.approx((left or 1) * sum(e.units * e.rows for e in PLANES.rows))


def test_a_column_of_which_nothing_is_told_from_noise_decides_nothing() -> None:
    """Red where no lengths count as short ones: sums had no norm then, and counts one of a single row."""
    drowned = replace(PLANES, norms={**PLANES.norms, "dest": ()})
    unseen = replace(PLANES, norms={k: v for k, v in PLANES.norms.items() if k != "dest"})
    for shown in ("COUNT(*)", "SUM(miles)", "AVG(delay)"):
        sql = f"SELECT month, {shown} FROM flights WHERE dest = 'LAX' GROUP BY month"
        known, unknown = planned(sql, drowned), planned(sql, unseen)
        assert [part.norm for part in known.measurements] == [p.norm for p in unknown.measurements]


HEAVY = ((0.2, 0.9), (4.0, 0.09), (46.0, 0.01))
"""One unit in a hundred has a value 46 times as large as the average, that is nearly half of all."""


@pytest.mark.parametrize("shown", ["SUM(miles)", "AVG(miles)"])
def test_sums_have_room_for_few_large_values_of_units_with_few_rows(shown: str) -> None:
    """Of many rows one large value is little; of few it is nearly all of a sum."""

    def rows_of_average_value(known: KnownUnits) -> float:
        level = planned(f"SELECT carrier, {shown} FROM flights GROUP BY carrier", known)
        (place,) = (n for n, part in enumerate(level.measurements) if part.kind is Measured.SUM)
        return norm(level, place) / 100

    few = KnownUnits(
        evenly(10**6, 2), {"carrier": evenly(10**6, 2)}, sizes={"miles": Fraction(100)}
    )
    many = KnownUnits(
        evenly(10**6, 80), {"carrier": evenly(10**6, 80)}, sizes={"miles": Fraction(100)}
    )
    spread = {"miles": HEAVY}
    assert rows_of_average_value(few) < 10
    assert rows_of_average_value(replace(few, spread=spread)) > 40
    change = rows_of_average_value(replace(many, spread=spread)) / rows_of_average_value(many)
    assert change < 2


# ---- columns that most rows lack

SPARSE = replace(
    PLANES,
    values={"delay": (UnitLengths(1500.0, 2.0, 2.0), UnitLengths(300.0, 6.0, 6.0))},
    sizes={"delay": Fraction(300)},
)
"""Of 83 flights of a plane two or so have a delay, and of most planes none."""


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(delay) FROM flights",
        "SELECT month, SUM(delay) FROM flights GROUP BY month",
        "SELECT month, COUNT(delay) FROM flights GROUP BY month",
        "SELECT month, AVG(delay) FROM flights GROUP BY month",
    ],
)
def test_rows_without_a_value_make_no_noise(sql: str) -> None:
    """Red where norms of a column that most rows lack are those of all rows."""
    whole = replace(SPARSE, values={})
    assert deviation(planned(sql, SPARSE)) < deviation(planned(sql, whole)) / 3


def test_rows_count_where_they_are_shown_or_most_have_a_value() -> None:
    both = "SELECT month, COUNT(*), COUNT(delay) FROM flights GROUP BY month"
    most = replace(SPARSE, values={"delay": evenly(4000, 80)})
    for sql, known in ((both, SPARSE), ("SELECT COUNT(*) FROM flights", SPARSE), (both, most)):
        assert planned(sql, known).measurements[0].norm == planned(sql).measurements[0].norm


def test_large_units_have_values_in_their_share_of_rows() -> None:
    """Forty units of 5,000 rows, of which a fortieth have a value: 125 each, and noise hid them there."""
    seen = replace(SPARSE, rows=(*PLANES.rows, UnitLengths(40.0, 5000.0, 5000.0)))
    level = asked("SELECT SUM(delay) FROM flights").levels[0]
    part = level.measuring.measurements[0]
    rows, _ = lengths_over_groups(level.query, seen, level.tables, part.expression)
    assert 20 < max(each.length for each in rows) < 130


@pytest.mark.parametrize("low", [10**9, 2 * 10**3, -(10**9)])
def test_averages_of_values_far_from_zero_leave_epsilon_for_their_counts(low: int) -> None:
    """Red where values a billion times as large as their bounds are wide give counts nothing."""
    columns = {**COLUMNS, "delay": Column("delay", "integer", bounds=(low, low + 8))}
    table = replace(TABLE, columns=columns)
    known = {"flights": replace(PLANES, sizes={"delay": Fraction(abs(low) + 4)})}
    for shown in ("AVG(delay)", "AVG(delay), COUNT(dest)", "AVG(delay), COUNT(DISTINCT dest)"):
        outlined = asked(f"SELECT month, {shown} FROM flights GROUP BY month", table, "change-one")
        level = price(with_known_norms(outlined, known, PRICE), PRICE.epsilon, PRICE.delta).levels[
            0
        ]
        assert all(noise.standard_deviation < math.inf for noise in level.noises)
