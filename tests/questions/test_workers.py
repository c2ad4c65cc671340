"""A few questions all the way: through the ledger and the locked-down worker, still without noise."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from questions.agreement import disagreement
from questions.asking import Shape

pytestmark = pytest.mark.slow

QUESTIONS = {
    "hospital": "SELECT p.sex, COUNT(DISTINCT v.visit_id) FROM people p JOIN visits v USING (person_id) "
    "WHERE p.sex IS NOT NULL GROUP BY p.sex",
    "retail": "SELECT AVG(n) FROM (SELECT SUM(quantity) OVER (PARTITION BY order_id) AS n FROM items) t",
    "census": "SELECT sex, COUNT(*), AVG(income) FROM persons WHERE sex IS NOT NULL GROUP BY sex",
}


@pytest.mark.parametrize(("name", "sql"), QUESTIONS.items(), ids=QUESTIONS)
def test_a_worker_answers_as_duckdb_does(
    name: str, sql: str, shape: Callable[[str], Shape]
) -> None:
    asked = shape(name)
    answer = asked.san.query(sql, epsilon=500, delta="1e-9")
    assert disagreement(answer.rows, asked.raw(sql), [], ordered=False, differences=[]) == ""
