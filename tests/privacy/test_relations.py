"""What joins, subqueries and quantiles make of one unit's rows, rule by rule (see `mutants`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privacy.chains import POLICY, Database, complete, source_of
from privacy.replay import check
from sanql.account.events import SelectionEvent
from sanql.compile.statement import compile_plan
from sanql.errors import Refused
from sanql.measurements.quantile_picks import pick_levels
from sanql.mechanisms import Geometric
from sanql.plan.level import Level
from sanql.policy import load
from sanql.policy.model import Neighbours, Policy
from support.cells import cells_of, priced
from support.places import few_splits, score, spread

pytestmark = pytest.mark.slow

Linked = Callable[..., tuple[Any, list[dict[str, Any]]]]
Rows = dict[str, list[dict[str, Any]]]


def limited(folder: Path, rows: int, neighbours: Neighbours = "add-remove") -> Policy:
    """Return a policy of which so many rows of a unit may count in every table."""
    tables = ("people", "orders", "items", "returns", "notes")
    limits = dict.fromkeys(tables, f"rows_per_unit_max = {rows}")
    path = folder / "policy.toml"
    path.write_text(POLICY.format(neighbours=neighbours, total="", **limits), encoding="utf-8")
    return load(path)


def planned(sql: str, policy: Policy) -> Level:
    """Return the plan of a question."""
    return priced(sql, policy.tables, policy.neighbours).levels[0]


def cells(sql: str, policy: Policy, rows: Rows, secret: int = 7) -> list[dict[str, Any]]:
    """Return the exact cells of a question."""
    database = Database()
    database.load(complete(rows))
    return cells_of(sql, policy, source_of(policy), database.cells, secret)


@pytest.mark.parametrize(
    ("sql", "count"),
    [
        ("SELECT COUNT(*) FROM orders a JOIN orders b ON a.order_id = b.order_id", 2),
        ("SELECT COUNT(b.code) FROM orders a LEFT JOIN orders b ON a.order_id = b.order_id", 2),
        (
            "SELECT COUNT(*) FROM orders o WHERE EXISTS"
            " (SELECT 1 FROM orders x WHERE x.order_id = o.order_id AND x.urgent)",
            1,
        ),
        (
            "SELECT COUNT(*) FROM orders o WHERE NOT EXISTS"
            " (SELECT x.order_id FROM orders x WHERE x.order_id = o.order_id AND x.urgent GROUP BY 1)",
            1,
        ),
        (
            "SELECT COUNT(*) FROM orders o WHERE o.order_id IN"
            " (SELECT x.order_id FROM orders x WHERE x.urgent)",
            1,
        ),
        (
            "SELECT COUNT(*) FROM orders o WHERE 2 NOT IN"
            " (SELECT x.code FROM orders x WHERE x.order_id = o.order_id)",
            1,
        ),
        (
            "SELECT COUNT(*) FROM orders o WHERE"
            " (SELECT COUNT(*) FROM orders x WHERE x.order_id = o.order_id) = 1",
            2,
        ),
        (
            "SELECT COUNT(*) FROM (SELECT order_id, COUNT(*) AS c FROM orders GROUP BY order_id) t"
            " WHERE c = 1",
            2,
        ),
        (
            "SELECT COUNT(*) FROM (SELECT COUNT(*) OVER (PARTITION BY order_id) AS c FROM orders) t"
            " WHERE c = 1",
            2,
        ),
    ],
)
def test_two_people_with_one_order_number_never_meet(sql: str, count: int, linked: Linked) -> None:
    rows: Rows = {
        "orders": [
            {"person": 1, "order_id": "a", "urgent": True, "code": 1},
            {"person": 2, "order_id": "a", "urgent": False, "code": 2},
        ]
    }
    assert linked(sql, rows)[1] == [{"m0": count}]


def test_a_public_row_without_a_match_is_nobodys(linked: Linked) -> None:
    sql = (
        "SELECT x.city, COUNT(x.age) FROM places p LEFT JOIN people x ON x.code = p.code GROUP BY 1"
    )
    rows: Rows = {"places": [{"code": 1}, {"code": 2}]}
    assert linked(sql, rows)[1] == []
    rows["people"] = [{"person": 1, "code": 2, "city": "red", "age": 9}]
    planned_, found = linked(sql, rows)
    selection = planned_.outline.measuring.selection
    assert [(cell["k0"], cell[f"m{selection}"]) for cell in found] == [("red", 1)]


def test_a_row_whose_key_leads_nowhere_is_nobodys(linked: Linked) -> None:
    rows: Rows = {
        "orders": [{"person": 1, "order_id": "a"}, {"person": None, "order_id": "b"}],
        "items": [{"order_id": name, "quantity": 2} for name in ("a", "b", "c", None)],
    }
    for source in (
        "items",
        "(SELECT quantity FROM items) i",
        "items i LEFT JOIN orders USING (order_id)",
    ):
        assert linked(f"SELECT COUNT(*), SUM(quantity) FROM {source}", rows)[1][0]["m0"] == 1


def test_a_child_whose_parent_a_join_lacks_keeps_its_unit(linked: Linked) -> None:
    rows: Rows = {
        "orders": [{"person": 1, "order_id": name, "urgent": name == "a"} for name in "ab"],
        "items": [{"order_id": name} for name in "aabbb"],
    }
    joined = "ON i.order_id = o.order_id AND o.urgent"
    for source in (f"items i LEFT JOIN orders o {joined}", f"orders o RIGHT JOIN items i {joined}"):
        sql = f"SELECT COUNT(*), COUNT(o.urgent) FROM {source}"
        assert linked(sql, rows)[1] == [{"m0": 5, "m1": 2}]


@pytest.mark.parametrize(("table", "column"), [("items", "order_id"), ("notes", "person")])
def test_units_stored_as_different_types_are_not_compared(
    table: str, column: str, tmp_path: Path
) -> None:
    policy = limited(tmp_path, 2)
    source = source_of(policy)
    types = {**source.types, table: {**source.types[table], column: "UUID"}}
    other = replace(source, types=types)
    sql = f"SELECT COUNT(*) FROM {table} t JOIN orders o ON t.{column} = o.{column}"
    compile_plan(planned(sql, policy), source, 7)
    with pytest.raises(Refused) as refusal:
        compile_plan(planned(sql, policy), other, 7)
    assert refusal.value.code == "units_differ"


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT COUNT(*) FROM people p JOIN orders o ON p.code = o.code", "join_across_units"),
        ("SELECT COUNT(*) FROM people p, orders o", "join_across_units"),
        ("SELECT COUNT(*) FROM places p LEFT JOIN people x ON x.code = p.code", "orphans_counted"),
        (
            "SELECT COUNT(*) FROM people p WHERE EXISTS"
            " (SELECT 1 FROM orders o WHERE o.code = p.code)",
            "subquery_across_units",
        ),
        (
            "SELECT COUNT(*) FROM people p WHERE p.code IN (SELECT o.code FROM orders o)",
            "subquery_across_units",
        ),
        (
            "SELECT COUNT(*) FROM places p WHERE p.code IN (SELECT x.code FROM people x)",
            "subquery_across_units",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT code FROM readings UNION ALL SELECT level FROM readings) t",
            "subquery_across_units",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT place FROM places UNION ALL SELECT city FROM people) t",
            "subquery_across_units",
        ),
    ],
)
def test_what_looks_at_two_units_is_refused(sql: str, code: str, linked: Linked) -> None:
    with pytest.raises(Refused) as refusal:
        linked(sql, {})
    assert refusal.value.code == code


COMPUTED = [
    "SELECT COUNT(*) FROM (SELECT person FROM people WHERE age = 7 GROUP BY person"
    " HAVING person = 'x') t",
    "SELECT COUNT(*) FROM (SELECT person FROM people GROUP BY person HAVING person = MAX(city)) t",
    "SELECT COUNT(*) FROM (SELECT person FROM people GROUP BY person HAVING person LIKE '1%') t",
    "SELECT COUNT(v) FROM (SELECT person, COALESCE((person), 'x') AS v FROM people GROUP BY person) t",
    "SELECT COUNT(v) FROM (SELECT order_id, UPPER(order_id) AS v FROM orders GROUP BY order_id) t",
    "SELECT COUNT(*) FROM (SELECT d.p FROM (SELECT person AS p FROM people) d GROUP BY d.p"
    " HAVING d.p < 'x') t",
    "SELECT COUNT(*) FROM orders o WHERE o.person IN"
    " (SELECT x.person FROM orders x GROUP BY x.person HAVING x.person BETWEEN 'a' AND 'b')",
]


@pytest.mark.parametrize("sql", COMPUTED)
def test_an_identifier_is_not_computed_with_where_it_is_a_key(sql: str, linked: Linked) -> None:
    """Its type is known to the engine alone, so comparing it with a text failed where a row was."""
    with pytest.raises(Refused) as refusal:
        linked(sql, {})
    assert refusal.value.code == "unit_column"
    assert "i0" not in str(refusal.value)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM people WHERE age IN (SELECT word FROM labels)",
        "SELECT COUNT(*) FROM people WHERE born NOT IN (SELECT place FROM places)",
        "SELECT COUNT(*) FROM orders o WHERE o.urgent IN"
        " (SELECT n.word FROM notes n WHERE n.person = o.person)",
        "SELECT COUNT(*) FROM notes n WHERE n.person IN (SELECT l.word FROM labels l)",
    ],
)
def test_a_value_is_not_looked_for_among_values_of_another_type(sql: str, linked: Linked) -> None:
    """The engine has no such comparison: the question was charged, and then unavailable."""
    with pytest.raises(Refused) as refusal:
        linked(sql, {})
    assert refusal.value.code == "type_mismatch"


def test_whether_a_group_has_an_identifier_can_be_asked(linked: Linked) -> None:
    rows: Rows = {"orders": [{"person": 1, "order_id": name} for name in ("a", "a", "b", None)]}
    for no, count in (("NOT ", 2), ("", 1)):
        inside = f"SELECT person, order_id FROM orders GROUP BY 1, 2 HAVING order_id IS {no}NULL"
        assert linked(f"SELECT COUNT(*) FROM ({inside}) t", rows)[1] == [{"m0": count}]


def test_a_missing_identifier_is_in_no_list_and_out_of_none(linked: Linked) -> None:
    urgent = "SELECT x.order_id FROM orders x WHERE x.urgent"
    rows: Rows = {
        "orders": [
            {"person": 1, "order_id": "a", "urgent": False},
            {"person": 1, "order_id": None, "urgent": True},
            {"person": 2, "order_id": None, "urgent": False},
        ]
    }
    for no, count in (("", 0), ("NOT ", 1)):
        sql = f"SELECT COUNT(*) FROM orders o WHERE o.order_id {no}IN ({urgent})"
        assert linked(sql, rows)[1] == [{"m0": count}]


def test_distinct_and_union_keep_one_of_a_units_equal_rows(linked: Linked) -> None:
    rows: Rows = {
        "orders": [{"person": 1, "code": 1}, {"person": 1, "code": 1}, {"person": 2, "code": 1}],
        "notes": [{"person": 1, "u": 1}, {"person": 3, "u": 1}],
    }
    distinct = "SELECT COUNT(*) FROM (SELECT DISTINCT person, code FROM orders) t"
    assert linked(distinct, rows)[1] == [{"m0": 2}]
    for union, count in (("UNION", 3), ("UNION ALL", 5)):
        parts = f"SELECT person, code FROM orders {union} SELECT person, u FROM notes"
        assert linked(f"SELECT COUNT(*) FROM ({parts}) t", rows)[1] == [{"m0": count}]


def test_numbers_inside_are_held_within_what_was_proved(tmp_path: Path) -> None:
    policy = limited(tmp_path, 2)
    rows: Rows = {"orders": [{"person": 1, "amount": 50.0, "code": n} for n in range(5)]}
    inside = "SELECT person, COUNT(*) AS c, SUM(amount) AS s FROM orders GROUP BY person"
    sql = f"SELECT c, s > 100 AS large, COUNT(*) FROM ({inside}) t GROUP BY c, large"
    found = [cell for cell in cells(sql, policy, rows) if cell["m0"]]
    assert [(cell["k0"], cell["k1"]) for cell in found] == [(2, False)]


def test_sums_inside_do_not_depend_on_the_order_of_rows(linked: Linked) -> None:
    prices = [0.1, 0.2, 0.3]
    assert sum(prices) > 0.6 >= sum(prices[::-1])
    sql = (
        "SELECT COUNT(*) FROM (SELECT order_id, SUM(price) AS s FROM items GROUP BY order_id) t"
        " WHERE s > 0.6"
    )
    found = []
    for order in (prices, prices[::-1]):
        rows: Rows = {
            "orders": [{"person": 1, "order_id": "a"}],
            "items": [{"order_id": "a", "price": price} for price in order],
        }
        found.append(linked(sql, rows)[1])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "source",
    [
        "orders o JOIN places p ON p.code <= o.code",
        "orders o JOIN orders x ON o.person = x.person",
        "orders o LEFT JOIN (SELECT a.person FROM orders a JOIN orders b USING (person)) d"
        " ON d.person = o.person",
        "(SELECT person FROM orders UNION ALL SELECT person FROM orders) d",
    ],
)
def test_rows_that_a_join_repeats_count_within_the_limits(source: str, tmp_path: Path) -> None:
    policy = limited(tmp_path, 3)
    rows: Rows = {
        "orders": [{"person": 1, "code": 4}] * 5,
        "places": [{"code": code} for code in (0, 1, 2, 3, 4)] * 2,
    }
    sql = f"SELECT COUNT(*) FROM {source}"
    (measured,) = planned(sql, policy).measurements
    (cell,) = cells(sql, policy, rows)
    assert cell["m0"] == measured.sensitivity.l1 == (6 if "UNION" in source else 3)


def test_a_whole_count_of_a_join_or_a_subquery_is_not_public(tmp_path: Path) -> None:
    policy = limited(tmp_path, 1, "change-one")
    whole = planned("SELECT COUNT(*) FROM readings", policy)
    assert whole.outline.free
    for source in (
        "readings r JOIN places p ON p.code = r.code",
        "(SELECT code FROM readings WHERE code = 1) r",
    ):
        ours = cells(f"SELECT COUNT(*) FROM {source}", policy, {"places": [{"code": 1}]})
        theirs = cells(
            f"SELECT COUNT(*) FROM {source}",
            policy,
            {"places": [{"code": 1}], "readings": [{"code": 1}]},
        )
        declared = planned(f"SELECT COUNT(*) FROM {source}", policy).measurements[0].sensitivity
        assert theirs[0]["m0"] - ours[0]["m0"] == declared.l1 == 1


def test_a_quantile_counts_no_more_rows_of_a_unit_than_may(tmp_path: Path) -> None:
    policy = limited(tmp_path, 2)
    rows: Rows = {"orders": [{"person": 1, "amount": float(n)} for n in range(7)]}
    sql = "SELECT MEDIAN(o.amount) FROM orders o JOIN orders x USING (person)"
    for secret in range(5):
        (cell,) = cells(sql, policy, rows, secret)
        assert sum(cell["m0"]) == 2


def test_rows_move_from_one_count_around_a_pick_to_another(tmp_path: Path) -> None:
    policy = limited(tmp_path, 1, "change-one")
    made = planned("SELECT MEDIAN(age) FROM people", policy)
    sent = compile_plan(made, source_of(policy), 7)
    found = []
    for age in (0, 40):
        database = Database()
        database.load(complete({"people": [{"person": 1, "age": age}]}))
        found.append(database.cells(sent))
    attained = check(made, *found)
    assert attained[1], "the counts around the pick were to move as far as declared"


@pytest.mark.parametrize("fraction", ["0.5", "0.25", "0", "1"])
def test_a_pick_is_no_likelier_among_neighbours_than_its_epsilon_says(
    fraction: str, tmp_path: Path
) -> None:
    """Of two places, exponential noise of this scale prefers one exp((s - t) / scale) times as likely
    for every step of scores, so epsilon is how far one row moves two scores apart, over the scale."""
    policy = limited(tmp_path, 1)
    made = planned(f"SELECT QUANTILE_DISC(level, {fraction}) FROM readings", policy)
    part, noise = made.measurements[0], made.noises[0]
    assert part.quantile_bins is not None and isinstance(noise, Geometric)
    (event,) = [event for event in made.charge.events if isinstance(event, SelectionEvent)]
    ((turn,),) = pick_levels(part.fractions)
    apart = []
    for leaf in range(part.quantile_bins.count):
        rows = np.full(part.quantile_bins.count, 3)
        scores = []
        for _ in range(2):
            before = spread(rows, few_splits(part.quantile_bins))
            scores.append(score(before, 0, before.size - 1, turn, 0))
            rows[leaf] += 1
        moved = scores[1] - scores[0]
        apart.append(int(moved.max() - moved.min()))
    assert max(apart) <= event.epsilon * noise.scale
    if fraction == "0.5":
        assert max(apart) == event.epsilon * noise.scale
