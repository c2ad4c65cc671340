"""Every construct by itself: rows of two units never meet in it, and the order of rows is nothing.

Each question is put to random worlds in which order numbers are shared between people, under limits
so tight that a second unit which moves along shows at once.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from privacy.chains import (
    PUBLIC,
    Database,
    World,
    alone,
    draw_people,
    draw_public,
    draw_row,
    neighbour_of,
    source_of,
    tables_of,
    write_policy,
)
from privacy.replay import check, check_apart
from sanql.compile.statement import compile_plan
from sanql.kernel.messages import Statement
from sanql.plan.level import Level
from sanql.policy.model import Neighbours
from support.cells import SECRET, priced
from support.volume import few_of

pytestmark = pytest.mark.slow

WORLDS = few_of([range(2), range(2, 12)], 1)
QUESTIONS = [
    # joins along a foreign key that leads to several people
    "SELECT COUNT(*), SUM(i.quantity) FROM items i JOIN returns r USING (order_id)",
    "SELECT COUNT(*), SUM(b.amount) FROM orders a JOIN orders b ON a.order_id = b.order_id",
    "SELECT COUNT(b.urgent) FROM orders a LEFT JOIN orders b ON a.order_id = b.order_id",
    "SELECT COUNT(a.urgent) FROM orders a RIGHT JOIN orders b ON a.order_id = b.order_id",
    "SELECT COUNT(a.urgent), COUNT(b.amount) FROM orders a FULL JOIN orders b"
    " ON a.order_id = b.order_id AND a.code < b.code",
    "SELECT COUNT(*) FROM (items i JOIN returns r USING (order_id)) JOIN orders o"
    " ON i.order_id = o.order_id",
    "SELECT COUNT(*) FROM orders o LEFT JOIN items i USING (order_id)",
    "SELECT COUNT(r.late) FROM orders o LEFT JOIN (items i JOIN returns r USING (order_id))"
    " ON i.order_id = o.order_id",
    "SELECT COUNT(*) FROM items i, orders o, people p WHERE i.order_id = o.order_id"
    " AND o.person = p.person",
    "SELECT p.place, COUNT(*) FROM orders o JOIN places p ON p.code <= o.code GROUP BY p.place",
    "SELECT COUNT(*) FROM readings r JOIN places p ON p.code = r.code LEFT JOIN labels l"
    " ON l.word = r.word",
    # subqueries in conditions
    "SELECT COUNT(*) FROM orders o WHERE EXISTS"
    " (SELECT 1 FROM orders x WHERE x.order_id = o.order_id AND x.urgent)",
    "SELECT COUNT(*) FROM orders o WHERE NOT EXISTS"
    " (SELECT x.order_id FROM orders x WHERE x.order_id = o.order_id AND x.urgent"
    " GROUP BY x.order_id)",
    "SELECT COUNT(*) FROM items i WHERE EXISTS (SELECT 1 FROM orders x WHERE x.order_id = i.order_id"
    " AND EXISTS (SELECT 1 FROM orders y WHERE y.order_id = x.order_id AND y.urgent))",
    "SELECT COUNT(*) FROM orders o WHERE o.order_id IN (SELECT x.order_id FROM orders x WHERE x.urgent)",
    "SELECT COUNT(*) FROM orders o WHERE o.order_id NOT IN"
    " (SELECT x.order_id FROM orders x WHERE x.urgent)",
    "SELECT COUNT(*) FROM orders o WHERE o.code IN"
    " (SELECT x.code FROM orders x WHERE x.order_id = o.order_id AND x.urgent)",
    "SELECT COUNT(*) FROM orders o WHERE"
    " (SELECT COUNT(*) FROM orders x WHERE x.order_id = o.order_id) = 1",
    "SELECT COUNT(*) FROM orders o WHERE"
    " (SELECT MAX(x.amount) FROM orders x WHERE x.order_id = o.order_id) = 7",
    # groups, windows, DISTINCT and UNION inside
    "SELECT COUNT(*) FROM (SELECT order_id, COUNT(*) AS c FROM orders GROUP BY order_id) t WHERE c = 1",
    "SELECT SUM(s) FROM (SELECT order_id, SUM(amount) AS s FROM orders GROUP BY order_id) t",
    "SELECT COUNT(*) FROM (SELECT person, MIN(code) AS c FROM notes n JOIN people p USING (person)"
    " GROUP BY person) t WHERE c > 1",
    "SELECT COUNT(*) FROM (SELECT RANK() OVER (PARTITION BY order_id ORDER BY amount) AS r"
    " FROM orders) t WHERE r = 1",
    "SELECT COUNT(*) FROM (SELECT urgent, ROW_NUMBER() OVER (PARTITION BY order_id ORDER BY 1) AS r"
    " FROM orders) t WHERE r = 1 AND urgent",
    "SELECT COUNT(x) FROM (SELECT LAG(amount) OVER (PARTITION BY order_id ORDER BY day) AS x"
    " FROM orders) t",
    "SELECT COUNT(*) FROM (SELECT COUNT(*) OVER (PARTITION BY order_id) AS c FROM orders) t"
    " WHERE c = 1",
    "SELECT COUNT(*) FROM orders o WHERE EXISTS (SELECT 1 FROM orders x WHERE x.order_id = o.order_id"
    " QUALIFY RANK() OVER (PARTITION BY x.order_id ORDER BY x.code) = 1)",
    "SELECT COUNT(*) FROM (SELECT DISTINCT person, code FROM orders) t",
    "SELECT COUNT(*) FROM (SELECT person, code FROM orders UNION SELECT person, u FROM notes) t",
    "WITH o AS (SELECT order_id, person, amount FROM orders WHERE urgent) SELECT COUNT(*) FROM o a"
    " JOIN o b ON a.order_id = b.order_id",
]  # fmt: skip


def planned(sql: str, folder: Path, neighbours: Neighbours, tight: bool) -> tuple[Level, Statement]:
    """Return the plan and statement of a question, under limits of 1 or of a few."""
    rng = random.Random(1) if tight else random.Random(5)
    if tight:
        rng.choice = lambda options: options[0]  # type: ignore[method-assign,assignment]
    policy = write_policy(folder, neighbours, rng)
    (made,) = priced(sql, policy.tables, neighbours).levels
    return made, compile_plan(made, source_of(policy), SECRET)


@pytest.mark.parametrize("worlds", WORLDS, ids=str)
@pytest.mark.parametrize("sql", QUESTIONS)
def test_when_a_unit_comes_or_goes_no_other_moves(sql: str, worlds: range, tmp_path: Path) -> None:
    ours, theirs, single = Database(), Database(), Database()
    for number in worlds:
        rng = random.Random(f"{sql} {number}")
        neighbours: Neighbours = rng.choice(["add-remove", "change-one"])
        made, sent = planned(sql, tmp_path, neighbours, tight=number % 3 > 0)
        people, public = draw_people(rng), {name: draw_public(rng, name) for name in PUBLIC}
        readings = [draw_row(rng, "readings") for _ in range(4)]
        target = rng.randrange(1, len(people))
        there = neighbour_of(rng, people, neighbours, target)
        ours.load(tables_of(people, public, readings))
        theirs.load(tables_of(there, public, readings[1:]))
        cells = ours.cells(sent), theirs.cells(sent)
        check(made, *cells)
        if neighbours == "add-remove":
            single.load(tables_of(alone(people, target), public, readings[:1]))
            check_apart(made, *cells, single.cells(sent))


@pytest.mark.parametrize("sql", QUESTIONS)
def test_the_order_of_rows_is_nothing(sql: str, tmp_path: Path) -> None:
    database = Database()
    _, sent = planned(sql, tmp_path, "add-remove", tight=False)
    for number in range(3):
        rng = random.Random(f"{sql} {number}")
        public = {name: draw_public(rng, name) for name in PUBLIC}
        world: World = tables_of(draw_people(rng), public, [draw_row(rng, "readings")])
        seen = []
        for _ in range(2):
            database.load(world)
            seen.append(database.cells(sent).to_pylist())
            world = {name: rng.sample(rows, len(rows)) for name, rows in world.items()}
        assert sorted(map(repr, seen[0])) == sorted(map(repr, seen[1]))
