"""What WHERE promises of a column holds wherever the column is computed with.

A condition makes values small enough for 64 bits, or for a count of months. The engine may compute with
a row before it looks at the condition, so a row that WHERE leaves out could overflow, and an overflow is
an error that everybody sees.
"""

from __future__ import annotations

import pytest

from privacy.native_storage import Native

POLICY = """
[table.t]
privacy_unit = "id"
rows_per_unit_max = 1
[table.t.column]
b = { type = "integer" }
d = { type = "date" }
"""
SCHEMA = ["CREATE TABLE t (id BIGINT, b BIGINT, d DATE)"]
ORDINARY = "INSERT INTO t SELECT i, i % 7, DATE '2020-01-01' FROM range(3000) AS r(i)"
EXTREME = "INSERT INTO t VALUES (3000, {}, DATE '9999-12-31')"
JOINED = "FROM t a FULL JOIN (SELECT id, {} AS c FROM t) s ON a.id = s.id WHERE {}"


def over(value: str, condition: str, shown: str) -> str:
    """Return a question that counts by a value of a joined subquery's column."""
    rows = JOINED.format(value, condition)
    return f"SELECT COUNT(*) FROM (SELECT {shown} AS q {rows}) z WHERE z.q IS NOT NULL"


QUESTIONS = {
    "a sum": over("b", "s.c BETWEEN 0 AND 200", "s.c + 9223372036854775000"),
    "a difference": over("b", "s.c >= -100 AND s.c < 200", "s.c - 9223372036854775000"),
    "a product": over("b", "s.c IN (1, 2, 3)", "s.c * 3000000000000000000"),
    "a sign": over("b - 1", "s.c BETWEEN -5 AND 5", "-s.c"),
    "a subquery's own sum": over("b + b", "s.c <= 12 AND 0 <= s.c", "s.c * 768614336404564650"),
    "a stored column": JOINED.replace(
        "FROM t a", "SELECT COUNT(a.b + 9223372036854775000) FROM t a"
    ).format("b", "a.b BETWEEN 0 AND 200"),
    "months": over("b", "s.c BETWEEN 0 AND 200", "DATEADD('month', s.c, DATE '2020-01-01')"),
    "months with one end": "SELECT COUNT(z.q) FROM (SELECT DATEADD('month', LEAST(a.b, 200), a.d) AS q "
    + JOINED.format("b", "a.b >= 0")
    + ") z WHERE YEAR(z.q) < 2100",
    "days with one end": "SELECT COUNT(z.q) FROM (SELECT DATEADD('day', GREATEST(a.b, 0), a.d) AS q "
    + JOINED.format("b", "a.b <= 200")
    + ") z WHERE YEAR(z.q) < 2100",
    "a date's end": over("d", "s.c <= DATE '2021-01-01'", "s.c + INTERVAL 200 YEAR"),
    "a real number": over("CAST(b AS DOUBLE)", "s.c BETWEEN 0 AND 200", "CAST(s.c AS BIGINT) * 4"),
    "two subqueries deep": over(
        "b",
        "s.c BETWEEN 0 AND 9",
        "(SELECT MAX(s.c + y.b % 2 + 9223372036854775000) FROM t y WHERE y.id = a.id)",
    ),
}


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Native:
    return Native(tmp_path_factory.mktemp("promises"), POLICY, SCHEMA)


@pytest.mark.slow
@pytest.mark.parametrize("about", QUESTIONS)
@pytest.mark.parametrize("extreme", ["9223372036854775807", "-9223372036854775807 - 1"])
def test_a_row_that_where_leaves_out_is_computed_with_safely(
    native: Native, about: str, extreme: str
) -> None:
    question = QUESTIONS[about]
    without = native.cells(question, [ORDINARY])
    assert native.cells(question, [ORDINARY, EXTREME.format(extreme)]) == without
