"""Streams of questions over `chains`: replayed on neighbours, and compared with plain DuckDB.

They are functions of a seed and live in a module of their own so that several processes can share
the work.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import date, datetime
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb

from privacy.chains import (
    ENGINE,
    PUBLIC,
    Database,
    World,
    draw_people,
    draw_public,
    draw_row,
    neighbour_of,
    source_of,
    tables_of,
    write_policy,
)
from privacy.nested_grammar import NestedGrammar
from privacy.replay import check, keyed
from privacy.samplers import SilentSampler
from sanql.errors import Refused
from sanql.execute.statement import Statement, statement
from sanql.parse import parse
from sanql.plan import Plan, outline, plan
from sanql.plan.keys import PublicKeys
from sanql.policy import Neighbours, Policy
from sanql.release import add_noise, show

GROUPS_MAX = 3000  # more public keys than this only cost time
ORDERS: tuple[Neighbours, ...] = ("add-remove", "change-one")
Found = Counter[str]


def share(work: Callable[[int, int], Found], seeds: range, count: int) -> Found:
    """Return what several processes found together, each with seeds of its own."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        found = pool.map(work, seeds, [count] * len(seeds))
        return sum(found, Counter[str]())


def replay(seed: int, count: int) -> Found:
    """Replay accepted questions; return how many there were, by the constructs they have."""
    rng = random.Random(seed)
    grammar = NestedGrammar(rng)
    ours, theirs, shuffled = Database(), Database(), Database()
    found: Found = Counter()
    with tempfile.TemporaryDirectory() as folder:
        while found["accepted"] < count:
            neighbours = rng.choice(ORDERS)
            policy = write_policy(Path(folder), neighbours, rng)
            for _ in _neighbouring(rng, neighbours, ours, theirs, shuffled):
                for _ in range(12):
                    sql, groups = grammar.question(), grammar.groups_asked()
                    planned = _planned(sql, policy, groups, rng.getrandbits(63), Fraction(1))
                    if planned is None:
                        continue
                    found += _features(sql)
                    again = shuffled if rng.random() < 0.2 else None
                    _compare(sql, *planned, ours, theirs, again)
    return found


def _neighbouring(
    rng: random.Random,
    neighbours: Neighbours,
    ours: Database,
    theirs: Database,
    shuffled: Database,
) -> Iterator[None]:
    """Load one world, the same in another order, and, one after another, some neighbours of it."""
    people = draw_people(rng)
    public = {table: draw_public(rng, table) for table in PUBLIC}
    readings = [draw_row(rng, "readings") for _ in range(rng.randint(1, 6))]
    world = tables_of(people, public, readings)
    ours.load(world)
    shuffled.load({table: rng.sample(rows, len(rows)) for table, rows in world.items()})
    for _ in range(3):
        others = readings[1:]
        if neighbours == "change-one":
            others = [*others, draw_row(rng, "readings")]
        theirs.load(tables_of(neighbour_of(rng, people, neighbours), public, others))
        yield


def _planned(
    sql: str, policy: Policy, groups: int | None, secret: int, epsilon: Fraction
) -> tuple[Plan, Statement] | None:
    """Return the plan of a question, or None where it is refused or has very many groups."""
    try:
        query = parse(sql, policy.tables).query
        outlined = outline(query, policy.tables, policy.neighbours, groups)
        planned = plan(outlined, epsilon, Fraction(1, 1000))
        sent = statement(planned, source_of(policy), secret)
    except Refused:
        return None
    many = (getattr(planned.outline.keys, "count", 0) or 0) > GROUPS_MAX
    return None if many else (planned, sent)


def _compare(
    sql: str,
    planned: Plan,
    sent: Statement,
    ours: Database,
    theirs: Database,
    shuffled: Database | None,
) -> None:
    try:
        cells = ours.cells(sent)
        check(planned, cells, theirs.cells(sent))
        if shuffled is not None:
            again = shuffled.cells(sent)
            assert keyed(planned, cells) == keyed(planned, again), "the order of rows shows"
    except Exception as error:
        outlined = planned.outline
        told = f"{outlined.neighbours}, {outlined.limits}: {sql}\n{type(error).__name__}: {error}"
        raise AssertionError(told) from error


FEATURES = {
    "left join": "LEFT JOIN", "right join": "RIGHT JOIN", "full join": "FULL JOIN",
    "using": "USING (", "natural": "NATURAL ", "with": "WITH ", "exists": "EXISTS (",
    "member": "IN (SELECT", "union": " UNION SELECT", "union all": " UNION ALL ",
    "distinct": "SELECT DISTINCT", "window": "OVER (PARTITION", "qualify": "QUALIFY",
    "grouped inside": "GROUP BY t", "value": "(SELECT SUM(", "row level": "readings AS",
    "chain": "items AS", "clamped unit": "notes AS", "public": "places AS",
}  # fmt: skip


def _features(sql: str) -> Found:
    return Counter(["accepted", *(name for name, text in FEATURES.items() if text in sql)])


def oracle(seed: int, count: int) -> Found:
    """Compare answers without noise with those of plain DuckDB, on data where no limit binds."""
    rng = random.Random(seed)
    grammar = NestedGrammar(rng, plain=True)
    database = Database()
    found: Found = Counter()
    with tempfile.TemporaryDirectory() as folder:
        policy = write_policy(Path(folder), "add-remove", None)
        while found["accepted"] < count:
            database.load(orderly(rng))
            for _ in range(20):
                sql = grammar.question()
                planned = _planned(sql, policy, None, rng.getrandbits(63), Fraction(10**9))
                if planned is None:
                    continue
                try:
                    theirs = database.plain(sql)
                except duckdb.BinderException:
                    found["refused by DuckDB"] += 1
                    continue
                cells = database.cells(planned[1])
                noisy = add_noise(planned[0], cells, SilentSampler())
                shown = show(planned[0], noisy, Fraction(19, 20)).table.to_pylist()
                found += _features(sql)
                keys = sum(name.startswith("key") for name in (shown[0] if shown else ()))
                ours = [tuple(row.values()) for row in shown]
                public = isinstance(planned[0].outline.keys, PublicKeys)
                assert _same(ours, theirs, keys, public), f"{sql}\nours   {ours}\nplain  {theirs}"
    return found


def orderly(rng: random.Random) -> World:
    """Return a world where everything is as the policy says, and nobody has much.

    Everybody has a twin, and so has every reading: no group is of one unit only, which could not be
    shown.
    """
    world: World = {table: [] for table in ENGINE}
    for name in range(1, rng.randint(3, 5)):
        own = _orderly_person(rng)
        for twin in (0, 1):
            for table, rows in own.items():
                world[table] += [_renamed(row, table, name + 10 * twin) for row in rows]
    readings = [draw_row(rng, "readings", orderly=True) for _ in range(4)]
    public = {table: draw_public(rng, table, orderly=True) for table in PUBLIC}
    return {**world, **public, "readings": readings * 2}


def _orderly_person(rng: random.Random) -> World:
    rows: World = {"people": [draw_row(rng, "people", orderly=True)]}
    rows["notes"] = [draw_row(rng, "notes", orderly=True) for _ in range(rng.randint(0, 2))]
    rows["orders"], rows["items"], rows["returns"] = [], [], []
    for number in range(rng.randint(0, 3)):
        order = draw_row(rng, "orders", orderly=True)
        rows["orders"].append({**order, "order_id": number, "big": rng.randint(-3, 3)})
        for table in ("items", "returns"):
            for _ in range(rng.randint(0, 2)):
                rows[table].append({**draw_row(rng, table, orderly=True), "order_id": number})
    return rows


def _renamed(row: dict[str, Any], table: str, name: int) -> dict[str, Any]:
    own = {column: name for column in ENGINE[table] if column == "person"}
    if "order_id" in row:
        own["order_id"] = f"o'{name}.{row['order_id']}"  # type: ignore[assignment]
    return {**row, **own}


def _same(
    ours: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]], keys: int, public: bool
) -> bool:
    """Return whether two results agree, but for what is documented.

    Public keys appear even where no row has them, and never as NULL; a sum of nothing is 0.
    """
    here = {_keyed(row[:keys]): row[keys:] for row in ours if not keys or row[-1] != 0}
    there = {
        _keyed(row[:keys]): row[keys:] for row in theirs if not (public and None in row[:keys])
    }
    return here.keys() == there.keys() and all(
        all(map(_equal, here[key], there[key])) for key in here
    )


def _keyed(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(datetime(v.year, v.month, v.day) if type(v) is date else v for v in key)


def _equal(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return (a or 0) == (b or 0)
    return math.isclose(float(a), float(b), rel_tol=1e-6, abs_tol=1e-6)
