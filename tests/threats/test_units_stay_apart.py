"""Rule 7: two persons are never taken for one, and nobody's rows are nobody's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sanql.san import San

pytestmark = pytest.mark.slow

Exact = Callable[[str], object]


def test_neighbouring_numbers_beyond_double_precision_are_two_persons(exact: Exact) -> None:
    # 2^53 and 2^53 + 1 are one number as doubles; both are 30 years old, only they miss `member`
    sql = "SELECT COUNT(DISTINCT person_id) FROM people WHERE member IS NULL AND age = 30"
    assert exact(sql) == 2


def test_rows_without_a_unit_never_count(exact: Exact) -> None:
    assert exact("SELECT COUNT(*) FROM people WHERE age = 40 AND member IS NULL") == 0
    assert exact("SELECT COUNT(*) FROM people") == 205
    assert exact("SELECT COUNT(DISTINCT person_id) FROM people") == 205
    assert exact("SELECT SUM(age) FROM people WHERE wide = 7 AND member IS NULL") == 0


def test_rows_without_a_unit_make_no_group(san: San) -> None:
    answer = san.query("SELECT city FROM people GROUP BY city", epsilon=100, delta="1e-3")
    assert "Alice" not in str(answer.rows)


@pytest.mark.parametrize(
    "sql",
    ["SELECT COUNT(*) FROM people WHERE person_id = 9007199254740992.0",
     "SELECT COUNT(DISTINCT CAST(person_id AS DOUBLE)) FROM people",
     "SELECT COUNT(DISTINCT person_id // 2) FROM people",
     "SELECT person_id, COUNT(*) FROM people GROUP BY person_id"],
)  # fmt: skip
def test_the_unit_cannot_be_computed_with(san: San, sql: str) -> None:
    from sanql.errors import Refused

    with pytest.raises(Refused) as caught:
        san.query(sql, epsilon=1)
    assert caught.value.code in ("unit_column", "returns_individuals")
