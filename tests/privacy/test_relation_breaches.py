"""Joins and subqueries that once repeated a row, failed on a value or answered something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from privacy.chains import Database, complete
from sanql.errors import Refused

pytestmark = pytest.mark.slow

Linked = Callable[..., tuple[Any, list[dict[str, Any]]]]
Rows = dict[str, list[dict[str, Any]]]

TOWN: Rows = {
    "people": [
        {"person": 1, "age": 10, "code": 1},
        {"person": 2, "age": 20, "code": 2},
        {"person": 3, "age": 30, "code": 3},
    ],
    "orders": [
        {"person": 1, "order_id": "a", "amount": 5.0, "big": 2**63 - 1},
        {"person": 1, "order_id": "b", "amount": 6.0, "big": 2**63 - 1},
        {"person": 2, "order_id": "c", "amount": 7.0, "big": 5},
        {"person": 2, "amount": 1.0},
    ],
    "items": [
        {"order_id": "a", "quantity": 1},
        {"order_id": "a", "quantity": 2},
        {"order_id": "c", "quantity": 3},
    ],
    "returns": [{"order_id": "a", "late": True}, {"order_id": "c", "late": False}],
    "notes": [
        {"person": 1, "score": 0.5, "u": 2},
        {"person": 2, "score": 0.25, "u": 0},
        {"person": 3, "score": 0.25, "u": 1},
    ],
}
# several rows of a public table have the key that the policy says is one row's
PLACES = [{"code": 1, "size": 1}, {"code": 1, "size": 2}, {"code": 9, "size": 3}, {"code": 4}]


@pytest.mark.parametrize(
    "source",
    [
        "readings r JOIN places p ON p.code = r.code",
        "places p JOIN readings r ON p.code = r.code",
        "places p JOIN (SELECT code FROM readings) r ON p.code = r.code",
        "(SELECT code FROM readings) r LEFT JOIN places p ON p.code = r.code",
        "places p RIGHT JOIN (SELECT code FROM readings) r ON p.code = r.code",
        "(SELECT r.code FROM places p JOIN readings r USING (code)) x",
    ],
)
@pytest.mark.parametrize("code", [1, 4, 70])
def test_a_protected_row_is_matched_once_whatever_a_public_table_repeats(
    source: str, code: int, linked: Linked
) -> None:
    rows: Rows = {"places": PLACES, "readings": [{"code": code}]}
    planned, ours = linked(f"SELECT COUNT(*) FROM {source}", rows)
    _, theirs = linked(f"SELECT COUNT(*) FROM {source}", {"places": PLACES})
    assert ours[0]["m0"] - theirs[0]["m0"] <= planned.measurements[0].sensitivity.l1 == 1


@pytest.mark.parametrize(
    "source",
    [
        "readings r CROSS JOIN places p LEFT JOIN labels l ON l.word = r.word AND p.code = r.code",
        "labels l RIGHT JOIN (readings r CROSS JOIN places p) ON l.word = r.word AND p.code = r.code",
        "readings r CROSS JOIN places p",
        "readings r JOIN places p ON p.size = r.code",
        "readings r JOIN places p ON p.code > r.code",
        "readings r LEFT JOIN places p ON p.size = 1",
    ],
)
def test_a_join_that_could_repeat_a_protected_row_is_refused(source: str, linked: Linked) -> None:
    with pytest.raises(Refused) as refusal:
        linked(f"SELECT COUNT(*) FROM {source}", {"places": PLACES})
    assert refusal.value.code == "join_multiplies"


def test_which_of_several_public_rows_is_matched_depends_on_them_alone(linked: Linked) -> None:
    sql = "SELECT SUM(p.size) FROM readings r JOIN places p ON p.code = r.code"
    for order in (PLACES, PLACES[::-1]):
        _, cells = linked(sql, {"places": order, "readings": [{"code": 1}]})
        assert cells == [{"m0": 1}]


def test_public_rows_asked_about_by_a_protected_row_are_all_there(linked: Linked) -> None:
    sql = (
        "SELECT COUNT(*) FROM readings r WHERE EXISTS "
        "(SELECT 1 FROM places p WHERE p.code = r.code AND p.size = 2)"
    )
    assert linked(sql, {"places": PLACES, "readings": [{"code": 1}]})[1] == [{"m0": 1}]


def test_numbers_too_large_for_64_bits_can_stand_in_a_union(linked: Linked) -> None:
    for kind in ("UNION", "UNION ALL"):
        _, cells = linked(
            "SELECT COUNT(*) FROM (SELECT person, big + big AS twice FROM orders "
            f"{kind} SELECT person, big FROM orders) t WHERE twice > 6",
            TOWN,
        )
        assert cells == [{"m0": 3 if kind == "UNION" else 5}]


def test_keys_too_large_for_64_bits_do_not_fail(linked: Linked) -> None:
    sql = "SELECT 9223372036854775807 * code AS k, COUNT(*) FROM people GROUP BY k"
    planned, cells = linked(sql, TOWN)
    assert planned.outline.selects_keys
    assert {cell["k0"]: cell["m0"] for cell in cells} == {2**63 - 1: 1, None: 2}


# What plain DuckDB answers, San answers too.
FAITHFUL = [
    "SELECT COUNT(*), SUM(u) FROM notes",
    "SELECT SUM(u) FROM (SELECT * FROM notes) n",
    "SELECT COUNT(DISTINCT o.person) FROM people p LEFT JOIN orders o ON p.person = o.person",
    "SELECT COUNT(n.person), COUNT(*) FROM people p LEFT JOIN notes n ON p.person = n.person AND u = 2",
    "SELECT COUNT(order_id) FROM orders",
    "SELECT COUNT(*) FROM people JOIN orders USING (person) JOIN notes USING (person)",
    "SELECT COUNT(*) FROM people NATURAL JOIN orders FULL JOIN notes ON orders.person = notes.person",
    "SELECT COUNT(*) FROM (items i JOIN returns r ON i.order_id = r.order_id)"
    " JOIN orders o ON i.order_id = o.order_id",
    "SELECT COUNT(*) FROM orders o LEFT JOIN"
    " (items i JOIN returns r ON i.order_id = r.order_id) ON i.order_id = o.order_id",
    "SELECT COUNT(*) FROM orders o WHERE EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.order_id"
    " QUALIFY ROW_NUMBER() OVER (PARTITION BY i.order_id ORDER BY i.quantity) = 2)",
    "SELECT COUNT(*) FROM (SELECT o.person FROM people p LEFT JOIN orders o"
    " ON p.person = o.person AND o.amount > 5 GROUP BY p.person, o.person) d",
    "SELECT COUNT(*) FROM returns r, orders o RIGHT JOIN people p ON o.person = p.person"
    " WHERE r.order_id = o.order_id",
    "SELECT COUNT(n.u) FROM orders o, people p FULL JOIN notes n ON p.person = n.person AND n.u = 2"
    " WHERE o.person = p.person",
    "SELECT COUNT(*) FROM (WITH orders AS (SELECT * FROM orders WHERE amount > 6)"
    " SELECT person FROM orders UNION ALL SELECT person FROM orders) d",
    "SELECT COUNT(n), COUNT(*) FROM (SELECT person, COUNT(*) AS n FROM orders GROUP BY person) a"
    " JOIN (SELECT person, COUNT(*) AS n FROM people GROUP BY person) b USING (person, n)"
    " RIGHT JOIN notes c ON c.person = a.person",
    "SELECT COUNT(person), COUNT(*) FROM (SELECT person FROM orders) a"
    " JOIN (SELECT person FROM people) b USING (person) RIGHT JOIN notes c ON c.person = a.person",
    "SELECT COUNT(*) FROM people p WHERE (SELECT COUNT(*) FROM orders o WHERE o.person = p.person) = 0",
    "SELECT COUNT(*) FROM orders WHERE order_id NOT IN"
    " (SELECT i.order_id FROM items i WHERE i.quantity < 3)",
]


@pytest.mark.parametrize("sql", FAITHFUL)
def test_an_answer_without_noise_is_that_of_plain_duckdb(sql: str, linked: Linked) -> None:
    database = Database()
    _, cells = linked(sql, TOWN, database=database)
    assert [tuple(cells[0].values())] == database.plain(sql)


UNMATCHED = "people x LEFT JOIN places p ON p.code = x.code"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT p.size IS NOT NULL AS k, COUNT(*) FROM {UNMATCHED} GROUP BY k",
        f"SELECT COALESCE(p.size, 7) AS k, COUNT(*) FROM {UNMATCHED} GROUP BY k",
        f"SELECT CASE WHEN p.size > 1 THEN 'large' ELSE 'small' END AS k, COUNT(*) FROM {UNMATCHED}"
        " GROUP BY k",
        f"SELECT COALESCE(d.size, 7) AS k, COUNT(*) FROM (SELECT p.size FROM {UNMATCHED}) d GROUP BY k",
        "SELECT d.big AS k, COUNT(*) FROM people x LEFT JOIN"
        " (SELECT code, COALESCE(size, 6) AS big FROM places) d ON d.code = x.code GROUP BY k",
        "SELECT l.word AS k, COUNT(*) FROM people x JOIN labels l ON l.code = x.code"
        " LEFT JOIN places p ON p.code = x.code"
        " WHERE (p.size = 1 AND l.code = 1) OR p.size IS NULL GROUP BY k",
    ],
)
def test_keys_of_rows_without_a_match_are_not_lost(sql: str, linked: Linked) -> None:
    public: Rows = {
        "places": [{"code": 1, "size": 1}, {"code": 1, "size": 2}],
        "labels": [{"word": "one", "code": 1}, {"word": "two", "code": 2}],
    }
    database = Database()
    _, cells = linked(sql, {**TOWN, **public}, database=database)
    ours = {cell["k0"]: cell["m0"] for cell in cells if cell["m0"]}
    assert ours == {key: count for key, count in database.plain(sql) if key is not None}


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT COUNT(*) FROM ((SELECT person FROM orders) LIMIT 1) d", "clause_unsupported"),
        (
            "SELECT COUNT(*) FROM (SELECT person FROM people UNION ALL"
            " ((SELECT person FROM orders) LIMIT 1)) d",
            "clause_unsupported",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT DISTINCT person, COUNT(*) AS c FROM orders"
            " GROUP BY person, order_id) d",
            "clause_unsupported",
        ),
        (
            "SELECT COUNT(*) FROM orders o WHERE EXISTS"
            " (SELECT COUNT(*) FROM items i WHERE i.order_id = o.order_id)",
            "subquery_across_units",
        ),
        (
            "SELECT COUNT(*) FROM people WHERE person NOT IN"
            " (SELECT o.person FROM people p LEFT JOIN orders o ON o.person = p.person)",
            "member_missing",
        ),
        (
            "SELECT COUNT(*) FROM people p LEFT JOIN orders o ON o.person = p.person"
            " WHERE o.person NOT IN (SELECT n.person FROM notes n WHERE n.u = 2)",
            "member_missing",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT o.person FROM people p LEFT JOIN orders o"
            " ON p.person = o.person GROUP BY o.person) d",
            "subquery_across_units",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT DISTINCT o.person FROM people p LEFT JOIN orders o"
            " ON p.person = o.person) d",
            "distinct_across_units",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT COUNT(*) OVER (PARTITION BY o.person) AS c"
            " FROM people p LEFT JOIN orders o ON p.person = o.person) d WHERE c = 1",
            "window_across_units",
        ),
        (
            "SELECT COUNT(*) FROM people p, orders o JOIN notes n ON n.person = p.person"
            " WHERE p.person = o.person",
            "table_unknown",
        ),
        (
            "SELECT COUNT(*) FROM people p JOIN (orders o JOIN items i"
            " ON i.order_id = o.order_id AND i.quantity < p.age) ON p.person = o.person",
            "table_unknown",
        ),
        ("SELECT COUNT(*) FROM (SELECT person FROM people QUALIFY age > 5) d", "qualify_needs_window"),
        (
            "SELECT COUNT(*) FROM (SELECT LAG(amount, 9223372036854775807)"
            " OVER (PARTITION BY person ORDER BY amount) AS x FROM orders) d",
            "window_offset",
        ),
        (
            "SELECT COUNT(x) FROM (SELECT MAX(amount, 2) OVER (PARTITION BY person) AS x"
            " FROM orders) d",
            "construct_unsupported",
        ),
    ],
)  # fmt: skip
def test_what_would_mean_something_else_is_refused(sql: str, code: str, linked: Linked) -> None:
    with pytest.raises(Refused) as refusal:
        linked(sql, TOWN)
    assert refusal.value.code == code


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM (SELECT amount, ROW_NUMBER() OVER (PARTITION BY person"
        " ORDER BY code) AS place, CAST(amount AS VARCHAR) AS text FROM orders) o"
        " WHERE place = 1 AND text = '0.0'",
        # not in WHERE, which the engine asks before it groups
        "SELECT COUNT_IF(CAST(amount AS VARCHAR) = '0.0') FROM"
        " (SELECT person, amount FROM orders GROUP BY person, amount) o",
        "SELECT COUNT_IF(ATAN2(0, amount) > 1) FROM (SELECT DISTINCT person, amount FROM orders) o",
        "SELECT COUNT_IF(ATAN2(0, amount) > 1) FROM"
        " (SELECT person, amount FROM orders UNION SELECT person, amount FROM orders) o",
        "SELECT COUNT_IF(CAST(least AS VARCHAR) = '0.0') FROM"
        " (SELECT person, MIN(amount) AS least FROM orders GROUP BY person) o",
    ],
)
def test_the_two_zeros_do_not_let_the_order_of_rows_show(sql: str, linked: Linked) -> None:
    zeros = [{"person": 1, "amount": zero} for zero in (0.0, -0.0)]
    ours, theirs = linked(sql, {"orders": zeros})[1], linked(sql, {"orders": zeros[::-1]})[1]
    assert ours == theirs


CHAIN = "WITH c0 AS (SELECT person, amount FROM orders)"


@pytest.mark.parametrize(
    "sql",
    [
        CHAIN
        + "".join(
            f", c{i} AS (SELECT a.person FROM c{i - 1} a JOIN c{i - 1} b ON a.person = b.person)"
            for i in range(1, 60)
        )
        + " SELECT COUNT(*) FROM c59",
        CHAIN
        + "".join(
            f", c{i} AS (SELECT person FROM c{i - 1} UNION SELECT person FROM c{i - 1})"
            for i in range(1, 60)
        )
        + " SELECT COUNT(*) FROM c59",
        "SELECT COUNT(*) FROM people p0 "
        + " ".join(f"JOIN people p{i} ON p0.person = p{i}.person" for i in range(1, 120)),
    ],
    ids=["joins that double", "unions that double", "many joins"],
)
def test_a_question_that_would_grow_without_limit_is_refused(sql: str, linked: Linked) -> None:
    with pytest.raises(Refused) as refusal:
        linked(sql, complete({}))
    assert refusal.value.code == "query_too_complex"
