"""A table with a column of every type, and short ways to parse a question about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime
from fractions import Fraction

import pytest

from sanql.errors import Refused
from sanql.parse.question import Question, parse
from sanql.policy.model import Column, ColumnUnit, RowUnit, Table


def _columns(*columns: Column) -> Mapping[str, Column]:
    return {column.name: column for column in columns}


@pytest.fixture(scope="session")
def tables() -> Mapping[str, Table]:
    """Return people (by person), rows (by row) and cities (public)."""
    people = _columns(
        Column("age", "integer", (0, 120)),
        Column("big", "integer"),
        Column("income", "decimal", (Fraction(0), Fraction(1000)), Fraction(1, 100)),
        Column("weight", "float", (Fraction(1), Fraction(300))),
        Column("free", "float"),
        Column("city", "text"),
        Column("member", "boolean"),
        Column("born", "date", (date(1900, 1, 1), date(2026, 12, 31))),
        Column("seen", "timestamp", (datetime(2020, 1, 1), datetime(2026, 12, 31, 23, 59, 59))),
        Column("Größe", "integer", (0, 250)),
    )
    return {
        "people": Table("people", ColumnUnit("person_id"), people, 5, None, 3),
        "rows": Table("rows", RowUnit(), people, 1, None, 1),
        "cities": Table("cities", None, _columns(Column("city", "text"))),
    }


@pytest.fixture(scope="session")
def ask(tables: Mapping[str, Table]) -> Callable[[str], Question]:
    """Return a function that parses a question."""
    return lambda sql: parse(sql, tables)


@pytest.fixture(scope="session")
def refusal(tables: Mapping[str, Table]) -> Callable[[str], Refused]:
    """Return a function that gives the refusal of a question."""

    def refused(sql: str) -> Refused:
        with pytest.raises(Refused) as caught:
            parse(sql, tables)
        return caught.value

    return refused
