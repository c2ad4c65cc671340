"""An aggregate is about the rows of the query it is written in, or it is refused.

SQL gives one that reads outer columns alone to the outer query, where it would put all units' rows
together.
"""

from __future__ import annotations

import pytest

from privacy.native_storage import Native
from sanql.errors import Refused

pytestmark = pytest.mark.slow

POLICY = """
[table.rr]
privacy_unit = "row"
[table.rr.column]
y = { type = "integer", bounds = [0, 100] }
k = { type = "integer", bounds = [0, 9] }
nm = { type = "text" }
[table.uu]
privacy_unit = "id"
rows_per_unit_max = 5
[table.uu.column]
y = { type = "integer", bounds = [0, 100] }
k = { type = "integer", bounds = [0, 9] }
nm = { type = "text" }
[table.vv]
privacy_unit = "id"
rows_per_unit_max = 5
[table.vv.column]
z = { type = "integer", bounds = [0, 100] }
[table.p]
public = true
[table.p.column]
k = { type = "integer", bounds = [0, 9] }
x = { type = "integer", bounds = [0, 100] }
[table.q]
public = true
[table.q.column]
k = { type = "integer", bounds = [0, 9] }
x = { type = "integer", bounds = [0, 100] }
"""
SCHEMA = [
    "CREATE TABLE rr (y BIGINT, k BIGINT, nm VARCHAR)",
    "CREATE TABLE uu (id BIGINT, y BIGINT, k BIGINT, nm VARCHAR)",
    "CREATE TABLE vv (id BIGINT, z BIGINT)",
    "CREATE TABLE p (k BIGINT, x BIGINT)",
    "CREATE TABLE q (k BIGINT, x BIGINT)",
]
FILL = [
    "INSERT INTO rr VALUES (5, 1, 'a'), (6, 1, 'b'), (7, 2, NULL)",
    "INSERT INTO uu VALUES (1, 5, 1, 'a'), (1, 6, 1, 'b'), (2, 7, 2, NULL)",
    "INSERT INTO vv VALUES (1, 3), (2, 4), (2, 9)",
    "INSERT INTO p VALUES (1, 1), (1, 2), (2, 3)",
    "INSERT INTO q VALUES (1, 10), (1, 20), (2, 30)",
]


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Native:
    return Native(tmp_path_factory.mktemp("scopes"), POLICY, SCHEMA)


OUTER = [
    "SELECT SUM((SELECT MAX(t.y) FROM p)) FROM {t} t",
    "SELECT SUM((SELECT MIN(t.y + t.k) FROM p WHERE p.k = t.k)) FROM {t} t",
    "SELECT SUM((SELECT COUNT(t.nm) FROM p)) FROM {t} t",
    "SELECT SUM((SELECT COUNT(DISTINCT t.y) FROM p)) FROM {t} t",
    "SELECT COUNT(*) FROM {t} t WHERE (SELECT SUM(t.y) FROM p) > 3",
    "SELECT COUNT(*) FROM {t} t WHERE (SELECT COUNT(*) FROM p HAVING MAX(t.y) > 5) > 0",
    "SELECT COUNT(*) FROM {t} t WHERE EXISTS (SELECT 1 FROM p GROUP BY p.k HAVING MAX(t.y) > 5)",
    "SELECT COUNT(*) FROM {t} t WHERE t.y IN (SELECT MAX(t.y) FROM p GROUP BY p.k)",
    "SELECT COUNT(*) FROM {t} t WHERE t.y IN (SELECT MAX(p.x) FROM p GROUP BY p.k HAVING AVG(t.y) > 5)",
    "SELECT COUNT(*) FROM {t} t WHERE CASE WHEN (SELECT MAX(t.y) FROM p) > 5 THEN TRUE END",
    "SELECT t.k, COUNT(*) FROM {t} t WHERE (SELECT BOOL_OR(t.y > 5) FROM p) GROUP BY t.k",
    "SELECT COUNT(*) FROM {t} t WHERE (SELECT COUNT_IF(t.y > 5) FROM p) > 0",
    "SELECT COUNT(*) FROM {t} t WHERE (SELECT SUM(t.y) FILTER (WHERE t.k = 1) FROM p) > 3",
    # the query between is outer, too
    "SELECT COUNT(*) FROM {t} t WHERE EXISTS (SELECT 1 FROM p WHERE p.k = t.k AND "
    "(SELECT MAX(p.x) FROM q) > 1)",
    "SELECT COUNT(*) FROM {t} t WHERE (SELECT MAX(p.x + (SELECT MAX(t.y) FROM q)) FROM p) > 1",
    # what it reads, it reads in a subquery of its own
    "SELECT SUM((SELECT MAX((SELECT MAX(q.x) FROM q WHERE q.k = t.k)) FROM p)) FROM {t} t",
    "SELECT SUM((SELECT MAX(t.y + (SELECT MAX(q.x) FROM q WHERE q.k = p.k)) FROM p)) FROM {t} t",
]


@pytest.mark.parametrize("table", ["rr", "uu"])
@pytest.mark.parametrize("question", OUTER)
def test_an_aggregate_of_the_asking_row_is_refused(
    native: Native, question: str, table: str
) -> None:
    with pytest.raises(Refused) as refusal:
        native.cells(question.format(t=table), FILL)
    assert refusal.value.code == "aggregate_of_outer_row"
    assert refusal.value.to_dict()["error"]["line"] == 1


def test_so_is_one_of_the_asking_units_rows(native: Native) -> None:
    with pytest.raises(Refused) as refusal:
        native.cells(
            "SELECT COUNT(*) FROM uu t WHERE (SELECT MAX(t.y) FROM vv v WHERE v.id = t.id) > 1",
            FILL,
        )
    assert refusal.value.code == "aggregate_of_outer_row"


OWN = {
    "SELECT SUM((SELECT MAX(p.x) FROM p WHERE p.k = t.k)) FROM {t} t": 2 + 2 + 3,
    "SELECT SUM((SELECT MAX(t.y + p.x) FROM p WHERE p.k = t.k)) FROM {t} t": 7 + 8 + 10,
    "SELECT COUNT(*) FROM {t} t WHERE (SELECT SUM(1) FROM p) = 3": 3,
    "SELECT COUNT(*) FROM {t} t WHERE (SELECT COUNT(*) FROM p WHERE p.k = t.k) = 2": 2,
    "SELECT COUNT(*) FROM {t} t WHERE (SELECT COUNT(1) FROM p) = 3": 3,
    "SELECT SUM((SELECT MAX(CASE WHEN p.x > 1 THEN t.y END) FROM p)) FROM {t} t": 18,
    "SELECT SUM((SELECT MAX(t.y) FILTER (WHERE p.x > 1) FROM p)) FROM {t} t": 18,
    "SELECT SUM((SELECT MAX((SELECT MAX(q.x) FROM q WHERE q.k = p.k)) FROM p)) FROM {t} t": 90,
    "SELECT SUM((SELECT MAX((SELECT MAX(q.x) FROM q)) FROM p)) FROM {t} t": 90,
    "SELECT SUM((SELECT MAX(p.x + (SELECT MAX(q.x) FROM q WHERE q.k = t.k)) FROM p)) FROM {t} t": 79,
    "SELECT COUNT(*) FROM {t} t WHERE (SELECT COUNT(*) FROM p HAVING MAX(p.x + t.y) > 8) > 0": 2,
    "SELECT COUNT(*) FROM {t} t WHERE EXISTS "
    "(SELECT 1 FROM p GROUP BY p.k HAVING MAX(p.x + t.y) > 9)": 1,
    "SELECT COUNT(*) FROM {t} t WHERE t.y IN (SELECT MAX(p.x) + 4 FROM p GROUP BY p.k)": 2,
    "SELECT COUNT(*) FROM {t} t WHERE t.y IN (SELECT MAX(t.y) OVER () FROM p)": 3,
}


@pytest.mark.parametrize("table", ["rr", "uu"])
@pytest.mark.parametrize("question", OWN)
def test_any_other_is_answered_for_each_row_by_itself(
    native: Native, question: str, table: str
) -> None:
    assert native.cells(question.format(t=table), FILL) == [{"m0": OWN[question]}]
