"""Tables of every kind of unit, and short ways from a question to its outline and plan."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction

import pytest

from sanql.parse.question import parse
from sanql.plan import price
from sanql.plan.level import Level, LevelOutline
from sanql.plan.plan import outline
from sanql.policy.model import (
    Column,
    ColumnUnit,
    ListedDomain,
    Neighbours,
    RowUnit,
    Table,
    TableDomain,
)
from support.one_level import outline_of

COLUMNS = {
    column.name: column
    for column in (
        Column("age", "integer", (0, 120)),
        Column("score", "integer", (-10, 30)),
        Column("big", "integer"),
        Column("income", "decimal", (Fraction(0), Fraction(1000)), Fraction(1, 100)),
        Column("rated", "integer", (-5, 50), total_bounds=(Fraction(-8), Fraction(60))),
        Column("weight", "float", (Fraction(1), Fraction(300))),
        Column("city", "text"),
        Column("sex", "text", domain=ListedDomain(("F", "M", "X"))),
        Column("region", "text", domain=TableDomain("regions", "name")),
        Column(
            "price",
            "decimal",
            (Fraction(0), Fraction(9)),
            Fraction(1, 10),
            ListedDomain((Fraction(1, 10), Fraction(14, 100), Fraction(2))),
        ),
        Column("member", "boolean"),
        Column("born", "date", (date(2020, 1, 15), date(2020, 3, 2))),
        Column("ever", "date"),
        Column("seen", "timestamp", (datetime(2020, 1, 31, 22), datetime(2020, 2, 1, 1, 30))),
    )
}
TABLES = {
    "people": Table("people", ColumnUnit("person_id"), COLUMNS, 1, None, 1),
    "visits": Table("visits", ColumnUnit("person_id"), COLUMNS, 6, 4, 3),
    "rows": Table("rows", RowUnit(), COLUMNS, 1, None, 1),
    "open": Table("open", None, COLUMNS),
    "unlimited": Table("unlimited", ColumnUnit("person_id"), COLUMNS),
}

Outlined = Callable[..., LevelOutline]
Planned = Callable[..., Level]


@pytest.fixture(scope="session")
def outlined() -> Outlined:
    """Return a function from a question (and neighbours, groups) to its outline."""

    def make(
        sql: str,
        neighbours: Neighbours = "add-remove",
        groups: int | None = None,
        other: bool = False,
        rows: int | None = None,
    ) -> LevelOutline:
        query = parse(sql, TABLES).query
        return outline(query, TABLES, neighbours, groups, other, rows).levels[0]

    return make


@pytest.fixture(scope="session")
def planned(outlined: Outlined) -> Planned:
    """Return a function from a question to its plan at (epsilon, delta)."""

    def make(
        sql: str,
        epsilon: str = "1",
        delta: str = "0",
        neighbours: Neighbours = "add-remove",
        groups: int | None = None,
        other: bool = False,
    ) -> Level:
        whole = outline_of(outlined(sql, neighbours, groups, other))
        return price(whole, Fraction(epsilon), Fraction(delta)).levels[0]

    return make
