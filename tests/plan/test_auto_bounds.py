"""Orders of magnitude, the range they show, and which columns a question needs bounds of."""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial

import pytest

from sanql.errors import Refused
from sanql.parse.question import parse
from sanql.plan.bounds_needed import parse_guessing_bounds
from sanql.plan.find_bounds import (
    Ends,
    Magnitudes,
    QualifiedColumn,
    magnitudes_of,
    plan_bounds_search,
    with_bounds,
)
from sanql.policy.model import Column, ColumnUnit, Neighbours, RowUnit, Table

STEPS = Magnitudes(Fraction(1), 5, gridded=True)
CENTS = Magnitudes(Fraction(1, 100), 5, gridded=True)
REALS = Magnitudes(Fraction(1, 8), 6, gridded=False)

COLUMNS = {
    column.name: column
    for column in (
        Column("x", "integer", bounds_auto=True),
        Column("y", "decimal", precision=Fraction(1, 100), bounds_auto=True),
        Column("z", "float", bounds_auto=True),
        Column("plain", "integer"),
        Column("age", "integer", (0, 120)),
    )
}
TABLES = {
    "visits": Table("visits", ColumnUnit("person_id"), COLUMNS, 6, None, 6),
    "rows": Table("rows", RowUnit(), COLUMNS, 1, None, 1),
}


def bin_by_logarithm(bins: Magnitudes, value: Fraction) -> int:
    """Return a value's bin worked out the other way: from how many bits its steps have."""
    size = math.floor(abs(value) / bins.step).bit_length()
    return int(math.copysign(min(size, bins.most), value)) if value else 0


def bin_by_comparisons(bins: Magnitudes, value: Fraction) -> int:
    for number in range(1 - bins.most, bins.most + 1):
        op, end = bins.below(number)
        if value < end or (op == "less_equal" and value == end):
            return number - 1
    return bins.most


@pytest.mark.parametrize("bins", [STEPS, CENTS, REALS])
def test_every_value_is_in_the_bin_of_its_order_of_magnitude(bins: Magnitudes) -> None:
    for eighths in range(-400, 401):
        value = eighths * bins.step / 8
        assert bin_by_comparisons(bins, value) == bin_by_logarithm(bins, value), value


@pytest.mark.parametrize("bins", [STEPS, CENTS, REALS])
def test_a_range_holds_the_values_of_its_bins_and_no_bin_more(bins: Magnitudes) -> None:
    values = [sign * step * bins.step for sign in (1, -1) for step in range(2**bins.most)]
    for first in range(-bins.most, bins.most + 1):
        for last in range(first, bins.most + 1):
            low, high = bins.range_of(first, last)
            held = [v for v in values if first <= bin_by_comparisons(bins, v) <= last]
            assert all(low <= value <= high for value in held)
            slack = bins.step if not bins.gridded or (first == last and abs(first) < 2) else 0
            assert min(held) - (0 if bins.gridded else bins.step) <= low
            assert max(held) <= high <= max(held) + slack
            assert low < high


@pytest.mark.parametrize("table", TABLES.values())
@pytest.mark.parametrize("name", ["x", "y"])
def test_what_a_unit_adds_up_to_stays_exact(table: Table, name: str) -> None:
    for rows in (1, 2, 3, 512, 513, 2**20):
        limited = Table(table.name, table.unit, table.columns, rows, None, rows)
        bins = magnitudes_of(limited, table.columns[name])
        low, high = bins.range_of(-bins.most, bins.most)
        for end in (low, high):
            assert (end / bins.step).denominator == 1
            assert abs(end / bins.step) <= 2**52
            assert rows * abs(end / bins.step) < 2**62


@pytest.mark.parametrize(
    ("neighbours", "table", "moved"),
    [
        ("add-remove", "visits", 1),
        ("add-remove", "rows", 1),
        ("change-one", "visits", 2),
        ("change-one", "rows", 2),
    ],
)
def test_a_unit_is_in_one_bin(neighbours: Neighbours, table: str, moved: int) -> None:
    found = plan_bounds_search((table, "x"), TABLES, neighbours, Fraction(1, 20))
    (part,) = found.plan.levels[0].measurements
    bounds = part.sensitivity
    assert (bounds.l1, bounds.linf, bounds.l2_squared) == (moved, 1, moved)
    assert (found.plan.charge.epsilon, found.plan.charge.delta) == (Fraction(1, 20), 0)
    # P(Z >= t) of discrete Laplace noise of scale s is exp(-t/s) / (1 + exp(-1/s))
    scale, bins = moved * 20, found.magnitudes.count
    alarm = [
        math.exp(-t / scale) / (1 + math.exp(-1 / scale)) for t in (found.least - 1, found.least)
    ]
    assert alarm[1] * bins <= 0.01 < alarm[0] * bins


def test_bounds_enclose_every_bin_that_is_high_enough() -> None:
    found = plan_bounds_search(("rows", "x"), TABLES, "add-remove", Fraction(1, 20))
    counts = dict.fromkeys(range(-52, 53), found.least - 1)

    def shown(**seen: int) -> object:
        changed = counts | {int(name[1:]): count for name, count in seen.items()}
        return found.ends(list(changed), list(changed.values()))

    assert shown() is None
    assert shown(b3=found.least) == (4, 7)
    assert shown(b3=found.least, b7=9999) == (4, 127)
    assert shown(b0=found.least) == (0, 1)
    assert found.ends([-2, 0, 1], [found.least, 0, found.least]) == (-3, 1)


NEEDED = [
    ("SELECT COUNT(*) FROM visits", ""),
    ("SELECT COUNT(x), COUNT(DISTINCT y) FROM visits WHERE z > 3", ""),
    ("SELECT x, COUNT(*) FROM visits GROUP BY x", ""),
    ("SELECT SUM(x) FROM visits", "x"),
    ("SELECT SUM(x), AVG(y) FROM visits", "x y"),
    ("SELECT SUM(x + y) FROM visits WHERE z > 3", "x y"),
    ("SELECT SUM(x) FROM visits WHERE x > 0", "x"),
    ("SELECT STDDEV(z), MEDIAN(x) FROM visits", "x z"),
    ("SELECT CORR(x, age) FROM visits", "x"),
    ("SELECT SUM(x) FROM visits WHERE x BETWEEN 1 AND 3", ""),
    ("SELECT SUM(y) FROM visits WHERE y BETWEEN 1 AND 3", ""),
    ("SELECT AVG(GREATEST(0, LEAST(100, x))) FROM visits", ""),
    ("SELECT AVG(x % 10), AVG(SIGN(z)), AVG(ATAN(x)) FROM visits", ""),
    ("SELECT SUM(CASE WHEN y BETWEEN 0 AND 5 THEN y ELSE x END) FROM visits", "x"),
    # a number is not bounded because its type is
    ("SELECT AVG(x / 1000) FROM visits", "x"),
    ("SELECT SUM(x // 5000) FROM visits", "x"),
    ("SELECT AVG(total) FROM (SELECT person_id, SUM(y) AS total FROM visits GROUP BY person_id) AS t", "y"),
    ("SELECT COUNT(*) FROM (SELECT person_id FROM visits GROUP BY person_id HAVING SUM(y) > 3) AS t", "y"),
    ("SELECT COUNT(*) FROM (SELECT person_id FROM visits GROUP BY person_id HAVING SUM(x) > 3) AS t", ""),
    ("SELECT SUM(a.x) FROM visits a JOIN visits b ON a.person_id = b.person_id", "x"),
    ("WITH t AS (SELECT * FROM visits) SELECT SUM(c) FROM (SELECT x AS a, z AS b, y AS c FROM t) AS u", "y"),
]  # fmt: skip


def _no_ranges(columns: Sequence[QualifiedColumn]) -> Mapping[QualifiedColumn, Ends]:
    """Return the ranges of public columns: there are none here."""
    assert not columns
    return {}


@pytest.mark.parametrize(("sql", "columns"), NEEDED)
def test_bounds_are_found_of_columns_that_need_them_and_no_others(sql: str, columns: str) -> None:
    parsed = parse_guessing_bounds(partial(parse, sql), TABLES, _no_ranges)
    assert parsed.bounds_needed == tuple(("visits", name) for name in columns.split())


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT SUM(plain) FROM visits", "bounds_missing"),
        ("SELECT SUM(plain) + SUM(x) FROM visits", "bounds_missing"),
        ("SELECT SUM(nothing) FROM visits", "column_unknown"),
        ("SELECT x FROM visits", "returns_rows"),
    ],
)
def test_what_bounds_would_not_help_is_refused_as_ever(sql: str, code: str) -> None:
    with pytest.raises(Refused) as caught:
        parse_guessing_bounds(partial(parse, sql), TABLES, _no_ranges)
    assert caught.value.code == code


def test_a_policy_without_such_columns_is_read_once() -> None:
    read: list[object] = []

    def reading(tables: object) -> object:
        read.append(tables)
        return parse("SELECT COUNT(*) FROM visits", tables)  # type: ignore[arg-type]

    declared = with_bounds(TABLES, {("visits", name): (Fraction(0), Fraction(1)) for name in "xyz"})
    tables = {
        "visits": Table(
            "visits",
            ColumnUnit("person_id"),
            {"age": declared["visits"].columns["age"]},
            6,
        )
    }
    parse_guessing_bounds(reading, tables, _no_ranges)  # type: ignore[arg-type]
    assert read == [tables]
