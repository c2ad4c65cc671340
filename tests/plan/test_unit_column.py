"""Declaring the unit's own column changes nothing about how much of a unit counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sanql.plan.level import Level
from sanql.policy.model import Column, ColumnUnit, Table, ViaUnit
from support.cells import priced

FLIGHTS = Table(
    "flights",
    ColumnUnit("tailnum"),
    {c.name: c for c in (Column("carrier", "text"), Column("delay", "integer", (0, 60)))},
    256,
    None,
    256,
)
PLANES = Table("planes", ColumnUnit("tailnum"), {"seats": Column("seats", "integer", (1, 500))}, 1)
REPAIRS = Table(
    "repairs",
    ViaUnit("plane", "planes", "tailnum"),
    {"cost": Column("cost", "integer", (0, 9))},
    20,
)
CARRIERS = Table("carriers", None, {"carrier": Column("carrier", "text")})
UNDECLARED = {table.name: table for table in (FLIGHTS, PLANES, REPAIRS, CARRIERS)}

ONE_ROW_EACH = [
    "SELECT AVG(n) FROM (SELECT tailnum, COUNT(*) n FROM flights GROUP BY tailnum)",
    "SELECT AVG(n) FROM (SELECT COUNT(*) n FROM flights GROUP BY tailnum)",
    "SELECT AVG(n) FROM (SELECT tailnum, COUNT(*) n FROM flights GROUP BY 1)",
    "SELECT AVG(n) FROM (SELECT tailnum AS t, COUNT(*) n FROM flights AS f GROUP BY t)",
    "SELECT AVG(n) FROM (SELECT (f.tailnum) t, COUNT(*) n FROM flights f GROUP BY (f.tailnum))",
    "WITH p AS (SELECT tailnum t, COUNT(*) n FROM flights GROUP BY t) SELECT SUM(n) FROM p",
    "WITH p AS (SELECT tailnum t, delay FROM flights WHERE delay > 3) "
    "SELECT AVG(m) FROM (SELECT t, MAX(delay) m FROM p GROUP BY t)",
    "SELECT AVG(m) FROM (SELECT u.t, MAX(u.delay) m FROM (SELECT v.t, v.delay FROM (SELECT tailnum t, "
    "delay FROM flights) v) u GROUP BY u.t)",
    "SELECT AVG(s) FROM (SELECT p.tailnum, p.seats, SUM(f.delay) s FROM planes p JOIN flights f "
    "ON p.tailnum = f.tailnum GROUP BY p.tailnum, p.seats)",
    "SELECT AVG(s) FROM (SELECT tailnum, SUM(f.delay) s FROM planes p JOIN flights f USING (tailnum) "
    "GROUP BY tailnum)",
    "SELECT AVG(s) FROM (SELECT plane, SUM(cost) s FROM repairs GROUP BY plane)",
    "SELECT AVG(s) FROM (SELECT p.tailnum, r.plane, SUM(cost) s FROM repairs r JOIN planes p "
    "ON r.plane = p.tailnum GROUP BY p.tailnum, r.plane)",
    "SELECT n, COUNT(*) FROM (SELECT tailnum, COUNT(*) n FROM flights GROUP BY tailnum) GROUP BY n",
]
SEVERAL_ROWS_EACH = [
    "SELECT AVG(n) FROM (SELECT tailnum, carrier, COUNT(*) n FROM flights GROUP BY tailnum, carrier)",
    "SELECT AVG(n) FROM (SELECT tailnum, CONCAT(carrier, 'x') k, COUNT(*) n FROM flights GROUP BY 1, 2)",
    "SELECT AVG(n) FROM (SELECT tailnum, c.carrier, COUNT(*) n FROM flights f JOIN carriers c "
    "ON c.carrier = f.carrier GROUP BY tailnum, c.carrier)",
    "SELECT AVG(delay) FROM (SELECT tailnum, delay FROM flights)",
]
COMPUTED = [
    "SELECT AVG(n) FROM (SELECT tailnum, UPPER(tailnum) k, COUNT(*) n FROM flights GROUP BY 1, 2)",
    "SELECT AVG(n) FROM (SELECT tailnum, LEFT(tailnum, 2) k, COUNT(*) n FROM flights GROUP BY 1, 2)",
]


def declared() -> dict[str, Table]:
    """Return the same tables with the columns that name the unit among those that have values."""
    units = {"flights": "tailnum", "planes": "tailnum", "repairs": "plane"}
    return {
        name: replace(
            table, columns=table.columns | {units[name]: Column(units[name], "text")}
        ) if name in units else table
        for name, table in UNDECLARED.items()
    }  # fmt: skip


def planned(sql: str, tables: dict[str, Table]) -> Level:
    return priced(sql, tables, delta="1e-6").levels[0]


@pytest.mark.parametrize("sql", ONE_ROW_EACH)
def test_a_group_for_each_unit_is_one_row_a_unit_declared_or_not(sql: str) -> None:
    with_line, without = planned(sql, declared()), planned(sql, UNDECLARED)
    assert with_line.outline.limits.rows == without.outline.limits.rows == 1
    assert with_line.noises == without.noises


@pytest.mark.parametrize("sql", SEVERAL_ROWS_EACH)
def test_other_groups_of_a_unit_are_as_many_as_its_rows(sql: str) -> None:
    with_line, without = planned(sql, declared()), planned(sql, UNDECLARED)
    assert with_line.outline.limits.rows == without.outline.limits.rows == 256
    assert with_line.noises == without.noises


@pytest.mark.parametrize("sql", COMPUTED)
def test_what_is_computed_from_the_units_column_alone_is_the_same_in_all_its_rows(sql: str) -> None:
    assert planned(sql, declared()).outline.limits.rows == 1


def test_a_column_of_a_row_that_an_outer_join_leaves_out_does_not_name_the_unit() -> None:
    sql = (
        "SELECT AVG(n) FROM (SELECT f.tailnum, p.tailnum other, COUNT(*) n FROM flights f "
        "LEFT JOIN planes p ON p.tailnum = f.tailnum AND f.delay > 5 GROUP BY f.tailnum, p.tailnum)"
    )
    assert planned(sql, declared()).outline.limits.rows == 256
