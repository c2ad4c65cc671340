"""Streams of questions over `chains`: replayed on neighbours, and compared with plain DuckDB.

They are functions of a seed and live in a module of their own so that several processes can share
the work.
"""

from __future__ import annotations

import itertools
import math
import random
import re
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb

from privacy.chains import (
    ENGINE,
    PUBLIC,
    ROWS_MAX,
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
from privacy.nested_grammar import NestedGrammar
from privacy.other_groups import Side, moves
from privacy.replay import check, check_apart, keyed
from sanql.answer.post_process import show
from sanql.compile.statement import compile_plan
from sanql.errors import Refused
from sanql.kernel.messages import Statement
from sanql.noise.cells import add_noise
from sanql.parse.question import parse
from sanql.plan.keys import PublicKeys
from sanql.plan.level import Level
from sanql.plan.plan import outline, price
from sanql.plan.reading import reading
from sanql.policy.model import ColumnUnit, Neighbours, Policy
from sanql.question.relations import Join, is_private
from support.samplers import SilentSampler

GROUPS_MAX = 500  # more public keys than these, and longer statements, only cost time
LENGTH_MAX = 6500
LENGTHS = {"spread": 12_000, "pair": 50_000}  # squares and products are long by themselves
QUESTIONS = 80  # that are asked in one world
LEVELS = 1  # of a question that are compared
SHUFFLED = 0.1  # of the questions are asked of the same rows in another order too
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
    grammar = NestedGrammar(random.Random(f"questions {seed}"))
    worlds = Worlds()
    found: Found = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number in itertools.count():
            if number % QUESTIONS == 0:
                neighbours = rng.choice(ORDERS)
                policy = write_policy(Path(folder), neighbours, rng)
                worlds.load(rng, neighbours)
            sql, groups, other = grammar.question(), grammar.groups_asked(), grammar.other_asked()
            secret = rng.getrandbits(63)
            levels = _planned(sql, policy, groups, secret, Fraction(1), other)
            if levels is not None:
                for planned, sent in rng.sample(levels, min(LEVELS, len(levels))):
                    _compare(sql, planned, sent, worlds, rng)
                found += _features(sql, FEATURES | OUTSIDE)
                found["other"] += levels[0][0].outline.other
            if found["accepted"] == count:
                break
    return found


class Worlds:
    """Databases that hold one world, the same in another order, and some neighbours of it.

    `alone` has the unit that the first neighbour lacks, and no other.
    """

    def __init__(self) -> None:
        self.ours, self.shuffled, self.alone = Database(), Database(), Database()
        self.theirs = [Database() for _ in range(3)]
        self.adds = False

    def load(self, rng: random.Random, neighbours: Neighbours) -> None:
        """Draw a world and its neighbours anew."""
        self.adds = neighbours == "add-remove"
        people = draw_people(rng)
        public = {table: draw_public(rng, table) for table in PUBLIC}
        readings = [draw_row(rng, "readings") for _ in range(rng.randint(1, 6))]
        world = tables_of(people, public, readings)
        self.ours.load(world)
        self.shuffled.load({table: rng.sample(rows, len(rows)) for table, rows in world.items()})
        first = rng.randrange(1, len(people))
        self.alone.load(tables_of(alone(people, first), public, readings[:1]))
        for database in self.theirs:
            others = readings[1:]
            if neighbours == "change-one":
                others = [*others, draw_row(rng, "readings")]
            target = first if database is self.theirs[0] else None
            there = neighbour_of(rng, people, neighbours, target)
            database.load(tables_of(there, public, others))


def _planned(
    sql: str,
    policy: Policy,
    groups: int | None,
    secret: int,
    epsilon: Fraction,
    other: bool = False,
) -> list[tuple[Level, Statement]] | None:
    """Return the plan of each level of a question, or None where it is refused or very large.

    A row of other groups is left out where the question has no use for it.
    """
    try:
        query = parse(sql, policy.tables).query
        asked = policy.tables, policy.neighbours, groups
        try:
            outlined = outline(query, *asked, other=other)
        except Refused:
            outlined = outline(query, *asked)
        planned = price(outlined, epsilon, Fraction(1, 1000))
        sent = [compile_plan(level, source_of(policy), secret) for level in planned.levels]
    except Refused:
        return None
    groups_public = max(getattr(level.outline.keys, "count", 0) or 0 for level in planned.levels)
    length = max(LENGTHS.get(name, LENGTH_MAX) for name in _features(sql, OUTSIDE))
    large = groups_public > GROUPS_MAX or max(len(each.sql) for each in sent) > length
    return None if large else list(zip(planned.levels, sent, strict=True))


def _compare(sql: str, planned: Level, sent: Statement, worlds: Worlds, rng: random.Random) -> None:
    theirs = rng.choice(worlds.theirs)
    try:
        cells, there = worlds.ours.cells(sent), theirs.cells(sent)
        if planned.outline.other:
            for _ in moves(Side(planned, cells), Side(planned, there), rng):
                pass
            return
        check(planned, cells, there)
        if worlds.adds and theirs is worlds.theirs[0]:
            check_apart(planned, cells, there, worlds.alone.cells(sent))
        if rng.random() < SHUFFLED:
            again = worlds.shuffled.cells(sent)
            assert keyed(planned, cells) == keyed(planned, again), "the order of rows shows"
    except Exception as error:
        outlined = planned.outline
        told = f"{outlined.neighbours}, {outlined.limits}: {sql}\n{type(error).__name__}: {error}"
        raise AssertionError(told) from error


FEATURES = {
    name: re.compile(pattern)
    for name, pattern in {
        "left join": "LEFT JOIN", "right join": "RIGHT JOIN", "full join": "FULL JOIN",
        "using": "USING \\(", "natural": "NATURAL ", "with": "^WITH ", "exists": "EXISTS \\(",
        "member": "IN \\(SELECT", "union": " UNION SELECT", "union all": " UNION ALL ",
        "distinct": "SELECT DISTINCT", "window": "OVER \\(PARTITION", "qualify": "QUALIFY",
        "grouped inside": "GROUP BY t", "value": "\\(SELECT (COUNT|SUM|AVG|MIN|MAX|BOOL)",
        "inner number": "[^ ]\\(t\\d+\\.a\\d+\\)", "row level": "readings AS", "chain": "items AS",
        "clamped unit": "notes AS", "public": "places AS",
        "listed": "VALUES ",
        "filtering join": "(SEMI|ANTI) JOIN",
        "identifier": "((person|id)( % 10)? (IN \\(1|BETWEEN 1 AND 4|[<>=]+ )|id (NOT )?LIKE '%)",
    }.items()
}  # fmt: skip
OUTSIDE = {  # what the plain grammar never writes
    name: re.compile(pattern)
    for name, pattern in {
        "levels": " (ROLLUP|CUBE|GROUPING SETS) \\(", "filter": "\\) FILTER \\(WHERE",
        "spread": "(VAR|STDDEV)_", "pair": "(CORR\\(|COVAR_)", "rank": "(MEDIAN\\(|QUANTILE_)",
        "frame": " BETWEEN [^']{5,29} (ROW|FOLLOWING|PRECEDING)\\)", "regression": "REGR_",
        "of distinct": "(SUM|AVG)\\(DISTINCT",
    }.items()
}  # fmt: skip


def _features(sql: str, known: dict[str, re.Pattern[str]] = FEATURES) -> Found:
    return Counter(["accepted", *(name for name, form in known.items() if form.search(sql))])


def oracle(seed: int, count: int) -> Found:
    """Compare answers without noise with those of plain DuckDB, on data where no limit binds."""
    rng = random.Random(seed)
    grammar = NestedGrammar(random.Random(f"plain questions {seed}"), plain=True)
    database = Database()
    found: Found = Counter()
    with tempfile.TemporaryDirectory() as folder:
        policy = write_policy(Path(folder), "add-remove", None)
        for number in itertools.count():
            if number % QUESTIONS == 0:
                database.load(orderly(rng))
            sql = grammar.question()
            levels = _planned(sql, policy, None, rng.getrandbits(63), Fraction(10**9))
            if levels is None or _limited(levels[0][0].query.source, policy):
                continue
            try:
                theirs = database.plain(sql)
            except duckdb.BinderException:
                found["refused by DuckDB"] += 1
                continue
            _agree(sql, *levels[0], database, theirs)
            found += _features(sql)
            if found["accepted"] == count:
                break
    return found


def _agree(
    sql: str, planned: Level, sent: Statement, database: Database, theirs: list[tuple[Any, ...]]
) -> None:
    noisy = add_noise(planned, database.cells(sent), SilentSampler())
    shown = show(planned, noisy, Fraction(19, 20)).table.to_pylist()
    keys = sum(name.startswith("key") for name in (shown[0] if shown else ()))
    ours = [tuple(row.values()) for row in shown]
    public = isinstance(planned.outline.keys, PublicKeys)
    assert _same(ours, theirs, keys, public), f"{sql}\nours   {ours}\nplain  {theirs}"


def _limited(part: object, policy: Policy) -> bool:
    """Return whether a limit of the question's own could bind.

    A subquery grouped by its unit has one row for each; joined, it may have several, and one counts.
    """
    if isinstance(part, Join) and is_private(part):
        seen = reading(part, policy.tables)
        if isinstance(seen.unit, ColumnUnit) and (seen.rows_per_unit_max or 1) < ROWS_MAX:
            return True
    if isinstance(part, tuple):
        return any(_limited(each, policy) for each in part)
    if is_dataclass(part):
        return any(_limited(getattr(part, each.name), policy) for each in fields(part))
    return False


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
