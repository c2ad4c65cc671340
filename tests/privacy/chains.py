"""Hostile databases whose units stand behind chains of foreign keys, and neighbours of them.

People have orders, orders have items and returns; notes name their person themselves, in a column
that analysts may also use; readings are protected row by row. Places and labels are public, and
repeat the keys they should not. Some order numbers belong to two people, some rows to nobody.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from privacy.worlds import ARROW
from sanql.catalog.description import Layout
from sanql.kernel.lockdown import CATALOG, quote_name
from sanql.kernel.messages import Statement
from sanql.kernel.run import running
from sanql.policy import load
from sanql.policy.model import Neighbours, Policy
from support.policies import dataset

Row = dict[str, Any]
World = dict[str, list[Row]]

ENGINE: Mapping[str, Mapping[str, str]] = {
    "people": {
        "person": "BIGINT", "age": "BIGINT", "income": "DOUBLE", "city": "VARCHAR",
        "sex": "VARCHAR", "code": "BIGINT", "born": "DATE",
    },
    "orders": {
        "person": "BIGINT", "order_id": "VARCHAR", "amount": "DOUBLE", "status": "VARCHAR",
        "code": "BIGINT", "big": "BIGINT", "day": "DATE", "urgent": "BOOLEAN",
    },
    "items": {
        "order_id": "VARCHAR", "quantity": "BIGINT", "price": "DOUBLE", "product": "VARCHAR",
        "code": "BIGINT",
    },
    "returns": {
        "order_id": "VARCHAR", "quantity": "BIGINT", "product": "VARCHAR", "late": "BOOLEAN",
    },
    "notes": {"person": "BIGINT", "score": "DOUBLE", "word": "VARCHAR", "u": "BIGINT"},
    "readings": {"code": "BIGINT", "word": "VARCHAR", "level": "BIGINT", "temp": "DOUBLE"},
    "places": {"code": "BIGINT", "place": "VARCHAR", "size": "BIGINT", "area": "DOUBLE"},
    "labels": {"word": "VARCHAR", "code": "BIGINT", "weight": "DOUBLE"},
}  # fmt: skip
PUBLIC = ("places", "labels")
CELLS = {
    **ARROW, "INTEGER": pa.int32(), "BIGINT[]": pa.list_(pa.int64()), '"NULL"': pa.null()
}  # fmt: skip
ROWS_MAX = 100_000  # of one unit, where no limit is to bind

POLICY = (
    dataset(
        "data.duckdb",
        name="chains",
        neighbours="{neighbours}",
        epsilon=1000000,
        delta="0.5",
        accounting="renyi",
    )
    + """\
[analyst.ana]

[table.people]
privacy_unit = "person"
{people}
[table.people.column]
age = {{ type = "integer", bounds = [0, 40] }}
income = {{ type = "decimal", bounds = [0, 100], precision = 0.01 }}
city = {{ type = "text" }}
sex = {{ type = "text", domain = ["F", "M"] }}
code = {{ type = "integer", bounds = [0, 4] }}
born = {{ type = "date", bounds = [2020-01-01, 2020-03-31] }}

[table.orders]
privacy_unit = {{ via = "person", references = "people" }}
key = "order_id"
{orders}
[table.orders.column]
amount = {{ type = "decimal", bounds = [-10, 50], precision = 0.5{total} }}
status = {{ type = "text", domain = ["open", "it's"] }}
code = {{ type = "integer", bounds = [0, 4] }}
big = {{ type = "integer" }}
day = {{ type = "date", bounds = [2020-01-01, 2020-03-31] }}
urgent = {{ type = "boolean" }}

[table.items]
privacy_unit = {{ via = "order_id", references = "orders" }}
{items}
[table.items.column]
quantity = {{ type = "integer", bounds = [-2, 9] }}
price = {{ type = "float", bounds = [0, 20] }}
product = {{ type = "text" }}
code = {{ type = "integer", bounds = [0, 4] }}

[table.returns]
privacy_unit = {{ via = "order_id", references = "orders" }}
{returns}
[table.returns.column]
quantity = {{ type = "integer", bounds = [-2, 9] }}
product = {{ type = "text" }}
late = {{ type = "boolean" }}

[table.notes]
privacy_unit = "person"
{notes}
[table.notes.column]
person = {{ type = "integer", bounds = [1, 3] }}
score = {{ type = "float", bounds = [-1, 1] }}
word = {{ type = "text" }}
u = {{ type = "integer", bounds = [0, 2] }}

[table.readings]
privacy_unit = "row"
[table.readings.column]
code = {{ type = "integer", bounds = [0, 4] }}
word = {{ type = "text" }}
level = {{ type = "integer", bounds = [-3, 5] }}
temp = {{ type = "decimal", bounds = [-10, 40], precision = 0.25 }}

[table.places]
public = true
key = "code"
[table.places.column]
code = {{ type = "integer", bounds = [0, 4] }}
place = {{ type = "text" }}
size = {{ type = "integer", bounds = [0, 7] }}
area = {{ type = "decimal", bounds = [0, 10], precision = 0.25 }}

[table.labels]
public = true
key = "word"
[table.labels.column]
word = {{ type = "text" }}
code = {{ type = "integer", bounds = [0, 4] }}
weight = {{ type = "float", bounds = [0, 1] }}
"""
)

WORDS = ["red", "blue", "", "it's", "żółć", "1"]
DATES = [date(2020, 1, 1), date(2020, 3, 31), date(2020, 2, 29), date(1, 1, 1), date(9999, 12, 31)]
ORDERS = [f"o'{number}" for number in range(9)]


def write_policy(folder: Path, neighbours: Neighbours, rng: random.Random | None) -> Policy:
    """Return a policy with limits drawn at random, or with limits that nothing reaches."""

    def limits() -> str:
        if rng is None:
            return f"rows_per_unit_max = {ROWS_MAX}"
        rows = rng.choice([1, 2, 3, 5, 8])
        groups = rng.randint(1, rows)
        text = f"rows_per_unit_max = {rows}\ngroups_per_unit_max = {groups}"
        if rng.random() < 0.5:
            text += f"\nrows_per_group_max = {rng.randint(-(-rows // groups), rows)}"
        return text

    tables = {name: limits() for name in ("people", "orders", "items", "returns", "notes")}
    total = ", total_bounds = [-15, 60]" if rng is not None and rng.random() < 0.3 else ""
    path = folder / "policy.toml"
    path.write_text(POLICY.format(neighbours=neighbours, total=total, **tables), encoding="utf-8")
    return load(path)


def draw_row(rng: random.Random, table: str, orderly: bool = False) -> Row:
    """Return a row without identifiers; an orderly one stays on grids and within bounds."""

    def whole(low: int, high: int) -> int | None:
        beyond = [low - 3, high + 5, 2**62, -(2**63), None]
        if rng.random() < 0.2 and not orderly:
            return rng.choice(beyond)
        return None if rng.random() < 0.08 else rng.randint(low, high)

    def real(low: float, high: float, step: float) -> float | None:
        hostile = [float("nan"), float("inf"), 1e308, -1e308, -0.0, 5e-324, low, high, None]
        if rng.random() < 0.3 and not orderly:
            return rng.choice(hostile)
        steps = round((high - low) / step)
        return None if rng.random() < 0.08 else low + step * rng.randint(0, steps)

    def word() -> str | None:
        return None if rng.random() < 0.08 else rng.choice(WORDS)

    def day() -> date | None:
        return None if rng.random() < 0.08 else rng.choice(DATES[:3] if orderly else DATES)

    def choice(*values: Any) -> Any:
        return None if rng.random() < 0.08 else rng.choice(values)

    drawn: dict[str, Row] = {
        "people": {
            "age": whole(0, 40), "income": real(0, 100, 0.25), "city": word(),
            "sex": choice("F", "M", "F", "M" if orderly else "X"), "code": whole(0, 4),
            "born": day(),
        },
        "orders": {
            "amount": real(-10, 50, 0.5), "code": whole(0, 4), "day": day(),
            "status": choice("open", "it's", "open" if orderly else "shut"),
            "big": rng.choice([0, 1, -1, 2**63 - 1, -(2**63), 2**53 + 1, None]),
            "urgent": choice(True, False),
        },
        "items": {
            "quantity": whole(-2, 9), "price": real(0, 20, 0.25), "product": word(),
            "code": whole(0, 4),
        },
        "returns": {"quantity": whole(-2, 9), "product": word(), "late": choice(True, False)},
        "notes": {"score": real(-1, 1, 0.25), "word": word(), "u": whole(0, 2)},
        "readings": {
            "code": whole(0, 4), "word": word(), "level": whole(-3, 5), "temp": real(-10, 40, 0.25),
        },
        "places": {
            "code": whole(0, 4), "place": word(), "size": whole(0, 7), "area": real(0, 10, 0.25),
        },
        "labels": {"word": word(), "code": whole(0, 4), "weight": real(0, 1, 0.25)},
    }  # fmt: skip
    return drawn[table]


@dataclass(frozen=True)
class Person:
    """Everything about one person: rows by table."""

    name: int
    rows: World


def draw_person(rng: random.Random, name: int, free: list[str], shared: list[str]) -> Person:
    """Return a person with some orders of their own and, sometimes, one somebody else has too."""
    rows: World = {table: [] for table in ENGINE}
    for table in ("people", "orders", "notes"):
        for _ in range(rng.choice([0, 1, 1, 2, 3, 6])):
            rows[table].append({**draw_row(rng, table), "person": name})
    own = rng.sample(free, min(len(free), rng.randint(0, 3)))
    for index, order in enumerate(rows["orders"]):
        number: str | None = None
        if index < len(own):
            number = own[index]
        elif rng.random() < 0.7:
            number = rng.choice([*own, *shared[:1]] or [None])
        order["order_id"] = number
    for table in ("items", "returns"):
        for _ in range(rng.choice([0, 1, 2, 3, 7])):
            if own:
                rows[table].append({**draw_row(rng, table), "order_id": rng.choice(own)})
    if rng.random() < 0.5:  # the same rows again and again, so that limits bind
        for table, listed in rows.items():
            if listed:
                rows[table] = [dict(rng.choice(listed[:2])) for _ in listed]
    return Person(name, rows)


def draw_people(rng: random.Random) -> list[Person]:
    """Return a few people; what belongs to nobody is a person without a name."""
    free = list(ORDERS)
    nobody: World = {table: [] for table in ENGINE}
    nobody["people"] = [{**draw_row(rng, "people"), "person": None}]
    nobody["orders"] = [{**draw_row(rng, "orders"), "person": None, "order_id": ORDERS[0]}]
    nobody["notes"] = [{**draw_row(rng, "notes"), "person": None}]
    for table in ("items", "returns"):
        nobody[table] = [{**draw_row(rng, table), "order_id": name} for name in (None, ORDERS[0])]
    people = [Person(-1, nobody)]
    for name in range(rng.randint(2, 4)):
        shared = [row["order_id"] for p in people[1:] for row in p.rows["orders"]]
        shared = [number for number in shared if number is not None]
        rng.shuffle(shared)
        person = draw_person(rng, name, [n for n in free if n != ORDERS[0]], shared)
        used = {row["order_id"] for row in person.rows["orders"]}
        free = [number for number in free if number not in used]
        people.append(person)
    return people


def neighbour_of(
    rng: random.Random, people: list[Person], neighbours: Neighbours, target: int | None = None
) -> list[Person]:
    """Return the people without one of them (the `target`), or with another in the place of one.

    The items of an order stay while somebody else has it; those nobody has may stay or go.
    """
    target = rng.randrange(1, len(people)) if target is None else target
    gone = people[target]
    others = [person for index, person in enumerate(people) if index != target]
    held = {row["order_id"] for person in others for row in person.rows["orders"]}
    left: World = {table: [] for table in ENGINE}
    for table in ("items", "returns"):
        left[table] = [
            row for row in gone.rows[table] if row["order_id"] in held or rng.random() < 0.3
        ]
    others.append(Person(-1, left))
    if neighbours == "add-remove":
        return others
    taken = held | {
        row["order_id"] for p in others for t in ("items", "returns") for row in p.rows[t]
    }
    free = [number for number in ORDERS if number not in taken]
    shared = [number for number in held if number is not None]
    return [*others, draw_person(rng, rng.choice([gone.name, 99]), free, sorted(shared))]


def alone(people: list[Person], target: int) -> list[Person]:
    """Return one of the people without the others; whose an item is, its order says, so all stay."""
    kept = {"items", "returns"}
    others = [
        Person(-1, {t: rows if t in kept or p.name == -1 else [] for t, rows in p.rows.items()})
        for index, p in enumerate(people)
        if index != target
    ]
    return [people[target], *others]


def draw_public(rng: random.Random, table: str, orderly: bool = False) -> list[Row]:
    """Return a public table; a hostile one has keys that are missing, beyond bounds and repeated."""
    if not orderly:
        return [draw_row(rng, table) for _ in range(rng.randint(1, 9))]
    keys: list[Any] = [0, 1, 2, 3] if table == "places" else WORDS[:4]
    name = "code" if table == "places" else "word"
    return [{**draw_row(rng, table, orderly=True), name: key} for key in keys]


def tables_of(people: list[Person], public: World, readings: list[Row]) -> World:
    """Return all rows by table."""
    world = {table: [row for p in people for row in p.rows[table]] for table in ENGINE}
    return {**world, **public, "readings": readings}


class Database:
    """One in-memory DuckDB that holds a world's tables as a worker would see them."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        self.connection.execute(f"ATTACH ':memory:' AS {quote_name(CATALOG)}")
        self.connection.execute("SET error_on_division_by_zero = false")
        self.connection.execute("SET scalar_subquery_error_on_multiple_rows = false")
        self.connection.execute("SET TimeZone = 'UTC'")
        self.connection.execute("SET disabled_optimizers = 'statistics_propagation'")

    def load(self, world: World) -> None:
        """Replace all rows."""
        for table, types in ENGINE.items():
            rows = world[table]
            values = pa.table(
                {n: pa.array([row[n] for row in rows], ARROW[kind]) for n, kind in types.items()}
            )
            self.connection.register("incoming", values)
            relation = f"{quote_name(CATALOG)}.main.{quote_name(table)}"
            self.connection.execute(f"CREATE OR REPLACE TABLE {relation} AS FROM incoming")

    def cells(self, sent: Statement) -> pa.Table:
        """Return the exact cells of a statement."""
        with running(self.connection, sent):
            kinds = [(name, CELLS[str(kind)]) for name, kind, *_ in self.connection.description]
            columns = list(zip(*self.connection.fetchall(), strict=True)) or [()] * len(kinds)
        return pa.table(list(map(list, columns)), schema=pa.schema(kinds))

    def plain(self, sql: str) -> list[tuple[Any, ...]]:
        """Return what DuckDB itself answers."""
        self.connection.execute(f"USE {quote_name(CATALOG)}.main")
        return self.connection.execute(sql).fetchall()


def source_of(policy: Policy) -> Layout:
    """Return how emitted SQL reads a world in memory: columns have their canonical types."""
    return Layout(
        {table: f"{quote_name(CATALOG)}.main.{quote_name(table)}" for table in ENGINE},
        {table: {name: quote_name(name) for name in types} for table, types in ENGINE.items()},
        {table: dict(types) for table, types in ENGINE.items()},
        {},
    )


def complete(world: dict[str, list[Row]]) -> World:
    """Return a world of the rows given, whose other columns are missing."""
    return {
        table: [{**dict.fromkeys(types), **row} for row in world.get(table, [])]
        for table, types in ENGINE.items()
    }
