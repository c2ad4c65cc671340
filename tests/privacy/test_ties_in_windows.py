"""Rows that agree in everything keep their places in all windows, whoever else has rows.

Which of two equal rows comes first does not matter to one window. It matters to two: their places are
pairs, and which pairs there are must be decided by the unit's own rows alone.
"""

from __future__ import annotations

import pytest

from privacy.native_storage import Native

pytestmark = pytest.mark.slow

POLICY = """
[table.t]
privacy_unit = "id"
rows_per_unit_max = 20
[table.t.column]
g = { type = "integer", bounds = [0, 9] }
v = { type = "integer", bounds = [0, 99] }
[table.s]
privacy_unit = "id"
rows_per_unit_max = 20
[table.s.column]
z = { type = "integer", bounds = [0, 99] }
[table.p]
public = true
[table.p.column]
g = { type = "integer", bounds = [0, 9] }
"""
SCHEMA = [
    "CREATE TABLE t (id BIGINT, g BIGINT, v BIGINT)",
    "CREATE TABLE s (id BIGINT, z BIGINT)",
    "CREATE TABLE p (g BIGINT)",
]


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Native:
    return Native(tmp_path_factory.mktemp("ties"), POLICY, SCHEMA)


def world(units: int) -> list[str]:
    """Return units with the same rows, most of them twice or more, in no order."""
    rows = "[(1, 5), (1, 5), (1, 5), (2, 5), (2, 5), (2, 7), (1, 7), (1, 7)]"
    return [
        f"INSERT INTO t SELECT id, r[1], r[2] FROM (SELECT i % {units} AS id, "
        f"([{rows[1:-1].replace('(', '[').replace(')', ']')}])[1 + i // {units}] AS r "
        f"FROM range({8 * units}) AS x(i)) ORDER BY hash(id, r, 3)",
        f"INSERT INTO s SELECT i % {units}, 4 FROM range({2 * units}) AS x(i)",
        "INSERT INTO p VALUES (1), (1), (2)",
    ]


UP = "OVER (PARTITION BY id ORDER BY v)"
DOWN = "OVER (PARTITION BY id ORDER BY v DESC)"
ACROSS = "OVER (PARTITION BY id ORDER BY g DESC)"
QUESTIONS = [
    f"SELECT SUM(a * b) FROM (SELECT LEAST(ROW_NUMBER() {UP}, 9) AS a, "
    f"LEAST(ROW_NUMBER() {DOWN}, 9) AS b FROM t) w",
    f"SELECT COUNT(*) FROM (SELECT ROW_NUMBER() {UP} AS a, ROW_NUMBER() {DOWN} AS b FROM t) w "
    "WHERE a < b",
    f"SELECT COUNT(*) FROM (SELECT ROW_NUMBER() {UP} AS a, LAG(g) {ACROSS} AS b FROM t) w "
    "WHERE a < 4 AND b = 2",
    f"SELECT COUNT(*) FROM (SELECT LEAD(v) {ACROSS} AS a, ROW_NUMBER() {DOWN} AS b FROM t) w "
    "WHERE a = 5 AND b > 3",
    f"SELECT COUNT(*) FROM (SELECT v FROM t QUALIFY ROW_NUMBER() {UP} < 4 AND "
    f"ROW_NUMBER() {DOWN} > 6) w",
    f"SELECT COUNT(*) FROM (SELECT ROW_NUMBER() {UP} - ROW_NUMBER() {ACROSS} AS a FROM t) w "
    "WHERE a > 1",
    "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY t.id ORDER BY v) AS a, "
    "ROW_NUMBER() OVER (PARTITION BY t.id ORDER BY v DESC) AS b "
    "FROM t JOIN s ON s.id = t.id) w WHERE a < b",
    "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY t.id ORDER BY v) AS a, "
    "ROW_NUMBER() OVER (PARTITION BY t.id ORDER BY v DESC) AS b "
    "FROM t LEFT JOIN s ON s.id = t.id WHERE v > 1) w WHERE a < b",
    "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY id ORDER BY x) AS a, "
    "ROW_NUMBER() OVER (PARTITION BY id ORDER BY x DESC) AS b "
    "FROM (SELECT id, v + g * 0 AS x FROM t) d) w WHERE a < b",
    "SELECT COUNT(*) FROM (SELECT FIRST_VALUE(g) OVER (PARTITION BY id ORDER BY v) AS a, "
    "ROW_NUMBER() OVER (PARTITION BY id ORDER BY v DESC) AS b FROM t) w WHERE a = 1 AND b > 4",
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_pairs_of_places_are_the_units_own(native: Native, question: str) -> None:
    ((alone,),) = [native.cells(question, world(1), threads=1)]
    for units, threads in ((2, 1), (37, 2), (700, 2), (900, 8)):
        assert native.cells(question, world(units), threads) == [{"m0": alone["m0"] * units}]


def alike(units: int, rows: int) -> list[str]:
    """Return units all of whose rows are equal."""
    return [
        f"INSERT INTO t SELECT i // {rows}, 1, 5 FROM range({units * rows}) AS x(i)",
        f"INSERT INTO s SELECT i, 4 FROM range({units}) AS x(i)",
        "INSERT INTO p VALUES (1)",
    ]


ALIKE = [
    f"SELECT COUNT(*) FROM (SELECT ROW_NUMBER() {UP} AS a, ROW_NUMBER() {DOWN} AS b FROM t) w "
    "WHERE a < b",
    f"SELECT SUM(a * b) FROM (SELECT LEAST(ROW_NUMBER() {UP}, 20) AS a, "
    f"LEAST(ROW_NUMBER() {DOWN}, 20) AS b FROM t) w",
    f"SELECT COUNT(*) FROM (SELECT v FROM t QUALIFY ROW_NUMBER() {UP} = ROW_NUMBER() {DOWN}) w",
    "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY t.id ORDER BY v) AS a, "
    "ROW_NUMBER() OVER (PARTITION BY t.id ORDER BY v DESC) AS b "
    "FROM t JOIN s ON s.id = t.id) w WHERE a < b",
]


@pytest.mark.parametrize("question", ALIKE)
def test_pairs_of_equal_rows_are_the_same_however_many_units_there_are(
    native: Native, question: str
) -> None:
    """Sorted by a method that keeps no order, equal rows of a few hundred units change places.

    The engine sorts all units' rows together, so how many there are decides which way their ties fall,
    on one thread too. Where nothing numbers equal rows, the first of these questions counts none of
    one unit's rows, and some rows of the same unit among 380.
    """
    for rows, sizes in ((4, (60, 380)), (20, (10, 300))):
        ((alone,),) = [native.cells(question, alike(1, rows), threads=1)]
        for units in sizes:
            for threads in (1, 2):
                found = native.cells(question, alike(units, rows), threads)
                assert found == [{"m0": alone["m0"] * units}]
