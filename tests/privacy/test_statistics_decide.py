"""The least and greatest value of a column decide nothing but what is said of them themselves.

The engine notes both for every column and every block of its rows, and decides conditions by them.
Where it followed them through CASE, NULLIF or a function that is not quite monotone, one person's
value decided for everybody.
"""

from __future__ import annotations

import pytest

from privacy.native_storage import Native

pytestmark = pytest.mark.slow

POLICY = """
[table.t]
privacy_unit = "id"
rows_per_unit_max = 1
[table.t.column]
nm = { type = "text" }
age = { type = "integer", bounds = [0, 120] }
b = { type = "integer" }
day = { type = "date" }
ok = { type = "boolean" }
x = { type = "float" }
k = { type = "integer", bounds = [0, 9] }
[table.p]
public = true
[table.p.column]
k = { type = "integer", bounds = [0, 9] }
word = { type = "text" }
"""
SCHEMA = [
    "CREATE TABLE t (id BIGINT, nm VARCHAR, age BIGINT, b BIGINT, day DATE, ok BOOLEAN, x DOUBLE, "
    "k BIGINT)",
    "CREATE TABLE p (k BIGINT, word VARCHAR)",
]
PUBLIC = "INSERT INTO p VALUES (1, 'abc'), (2, 'abd'), (3, NULL)"


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Native:
    return Native(tmp_path_factory.mktemp("statistics"), POLICY, SCHEMA)


def people(many: int, first: int = 0, **values: str) -> str:
    """Return an INSERT of people who all have these values, and NULL in other columns."""
    columns = ("nm", "age", "b", "day", "ok", "x", "k")
    listed = ", ".join(values.get(column, "NULL") for column in columns)
    return f"INSERT INTO t SELECT i, {listed} FROM range({first}, {first + many}) AS r(i)"


ABC = [PUBLIC, people(1000, nm="'abc'", k="1"), people(3, 1000, nm="'abd'", k="1")]
TRUE_OR_NULL = {
    "NULLIF(nm, 'abc') LIKE 'a%'": 3,
    "STARTS_WITH(NULLIF(nm, 'abc'), 'ab')": 3,
    "REGEXP_MATCHES(NULLIF(nm, 'abc'), '^ab')": 3,
    "CASE WHEN nm = 'abd' THEN nm END LIKE 'ab%'": 3,
    "NULLIF(nm, 'abc') IN ('abc', 'abd', 'abe')": 3,
    "CASE WHEN nm > 'abc' THEN nm END < 'b'": 3,
    "NOT (NULLIF(nm, 'abc') NOT LIKE 'a%')": 3,
    "CASE WHEN nm = 'x' THEN 'old' END IN ('old', 'x')": 0,
    "IF(nm = 'abd', nm, NULL) BETWEEN 'a' AND 'b'": 3,
    "(NULLIF(nm, 'abc') LIKE 'a%') = TRUE": 3,
    "NULLIF(nm, 'abc') LIKE 'a%' AND NULLIF(k, 7) > 0": 3,
    "EXISTS (SELECT 1 FROM p WHERE p.k = t.k AND NULLIF(t.nm, p.word) LIKE 'a%')": 3,
}


@pytest.mark.parametrize("condition", TRUE_OR_NULL)
def test_a_condition_that_is_true_or_unknown_keeps_no_unknown_row(
    native: Native, condition: str
) -> None:
    question = f"SELECT COUNT(*) FROM t WHERE {condition}"
    one_more = [*ABC, people(1, 2000, nm="'xyz'")]
    for rows in (ABC, one_more):
        assert native.cells(question, rows) == [{"m0": TRUE_OR_NULL[condition]}]


@pytest.mark.parametrize(
    "question",
    [
        "SELECT SUM(CASE WHEN NULLIF(nm, 'abc') LIKE 'a%' THEN 1 ELSE 0 END) FROM t",
        "SELECT COUNT(*) FILTER (WHERE NULLIF(nm, 'abc') LIKE 'a%') FROM t",
        "SELECT COUNT_IF(NULLIF(nm, 'abc') LIKE 'a%') FROM t",
        "SELECT COUNT(*) FROM t JOIN p ON p.k = t.k AND NULLIF(t.nm, 'abc') LIKE 'a%'",
        "SELECT COUNT(*) FROM (SELECT nm AS n FROM t) s WHERE NULLIF(n, 'abc') LIKE 'a%'",
        "SELECT COUNT(*) FROM (SELECT NULLIF(nm, 'abc') AS n FROM t) s WHERE n LIKE 'a%'",
        "SELECT COUNT(*) FROM (SELECT id, nm, COUNT(*) AS c FROM t GROUP BY id, nm "
        "HAVING NULLIF(nm, 'abc') LIKE 'a%') s",
        "SELECT COUNT(*) FROM (SELECT nm FROM t QUALIFY ROW_NUMBER() OVER "
        "(PARTITION BY id ORDER BY nm) = 1 AND NULLIF(nm, 'abc') LIKE 'a%') s",
    ],
)
def test_nor_does_one_inside_an_aggregate_a_join_or_a_subquery(
    native: Native, question: str
) -> None:
    for rows in (ABC, [*ABC, people(1, 2000, nm="'xyz'")]):
        (cell,) = native.cells(question, rows)
        assert cell["m0"] == 3


CUBE = 9007199250740993
ALIKE = [people(4000, b=str(CUBE)), people(1, 4000, b="0")]
ONE_MORE = people(1, 5000, b=str(CUBE + 1))


@pytest.mark.parametrize(
    "condition",
    [
        "CBRT(b) > 208063.8306527762",
        "CBRT(b) >= 208063.83065277626",
        "CBRT(b) < 208063.83065277626",
        "CBRT(CAST(b AS DOUBLE)) > 208063.8306527762",
        "NOT (CBRT(b) <= 208063.8306527762)",
        "LN(b) > 36.7368005675",
        "SQRT(b) > 94906265.6",
        "b / 3 > 3002399750246997.5",
        "ROUND(b / 7, 1) > 1286742750105856.1",
    ],
)
def test_a_function_is_computed_for_every_row(native: Native, condition: str) -> None:
    """What a filter keeps is what the same condition, asked as a value of each row, says."""
    kept = f"SELECT COUNT(*) FROM t WHERE {condition}"
    said = f"SELECT SUM(CASE WHEN {condition} THEN 1 ELSE 0 END) FROM t"
    (before,), (truth,) = native.several([kept, said], ALIKE)
    (after,), (more,) = native.several([kept, said], [*ALIKE, ONE_MORE])
    assert (before["m0"], after["m0"]) == (truth["m0"], more["m0"])
    assert 0 <= after["m0"] - before["m0"] <= 1


@pytest.mark.parametrize(
    "condition",
    [
        "CASE WHEN age >= 100 THEN 'abc' END = 'xyz'",
        "CASE WHEN age >= 100 THEN 'abc' END LIKE 'x%'",
        "CASE WHEN age >= 100 THEN 1 END = 2",
        "CASE WHEN age >= 100 THEN DATE '2020-01-01' END > DATE '2021-01-01'",
        "CASE WHEN age < 100 THEN NULL ELSE 'abc' END IN ('xyz', 'uvw')",
        "NULLIF(age, 50) <> 50 AND age = 50",
        "COALESCE(CASE WHEN age >= 100 THEN 'abc' END, 'q') = 'xyz'",
        "CASE WHEN nm = 'nobody' THEN 'a' END || 'b' = 'cb'",
    ],
)
def test_what_nobody_has_is_answered_like_what_somebody_has(native: Native, condition: str) -> None:
    """A branch that the engine would take away because of the values there are must not fail."""
    question = f"SELECT COUNT(*) FROM t WHERE {condition}"
    young = [people(100, age="50", nm="'a'")]
    old = [*young, people(1, 100, age="100", nm="'nobody'")]
    for rows in (young, old, []):
        assert native.cells(question, rows) == [{"m0": 0}]


CONSTANT = {
    "NULL": 0,
    "1 = NULL": 0,
    "NULL AND age > 3": 0,
    "age = NULLIF(1, 1)": 0,
    "NOT (age = NULL)": 0,
    "NULLIF(1, 1) = 1": 0,
    "1 = 2 OR NULL": 0,
    "1 = 1": 100,
    "TRUE OR age = NULL": 100,
    "NULL IS NULL": 100,
    "(NULL = 1) IS NULL AND age = 50": 100,
    "age IN (50, NULL)": 100,
    "age NOT IN (3, NULL)": 0,
}


@pytest.mark.parametrize("condition", CONSTANT)
@pytest.mark.parametrize(
    "question",
    [
        "SELECT COUNT(*) FROM t WHERE {}",
        "SELECT COUNT(*) FROM t JOIN p ON p.k = t.k AND ({})",
        "SELECT COUNT(*) FROM (SELECT id, age FROM t WHERE {}) s",
        "SELECT COUNT(*) FROM (SELECT id, age FROM t GROUP BY id, age HAVING {}) s",
    ],
)
def test_a_constant_condition_keeps_all_rows_or_none(
    native: Native, question: str, condition: str
) -> None:
    rows = [PUBLIC, people(100, age="50", k="1")]
    assert native.cells(question.format(condition), rows) == [{"m0": CONSTANT[condition]}]
