"""Counts that are released again and again, one for each period, at one price: what an owner declares."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from sanql.policy.budgets import parse_epsilon
from sanql.policy.keys import KEYS, PERIODS, ROWS_MOST
from sanql.policy.model import ColumnUnit, Continual, ContinualOf, Table
from sanql.policy.periods import first_day
from sanql.policy.section import Mistake, Section, quote
from sanql.policy.values import (
    integer_between,
    one_of,
    parse_column_name,
    parse_delta,
    parse_name,
    parse_text,
)
from sanql.results import Budget

RELEASES_MOST = 3_660
_OF: tuple[ContinualOf, ...] = ("rows", "units")


def read_continual(
    root: Section, tables: Mapping[str, Table], budget: Budget | None
) -> dict[str, Continual]:
    """Return the continual counts that are declared well."""
    section = root.section("continual", "write [continual.NAME]")
    found: dict[str, Continual] = {}
    if section is None:
        return found
    for name, declared in section.named_sections(parse_name, "write [continual.NAME]"):
        declared.allow(KEYS["continual"])
        counted = _read(name, declared, tables)
        if counted is not None:
            _check_price(declared, counted, budget)
            found[name] = counted
    return found


def _read(name: str, declared: Section, tables: Mapping[str, Table]) -> Continual | None:
    table = declared.require("table", one_of([*tables]), "name the table whose rows are counted")
    of = declared.require("of", one_of(_OF), 'write of = "rows", or "units" for how many there are')
    by = declared.require(
        "by", parse_column_name, "name the column that says when a row came to be"
    )
    per = declared.require("per", one_of(PERIODS), 'write per = "day"')
    where = declared.read("where", _parse_condition, "write a condition such as \"kind = 'a'\"")
    releases = declared.require(
        "releases",
        integer_between(2, RELEASES_MOST),
        "write how many periods there are, such as 365",
    )
    rows = declared.read("rows_per_unit", integer_between(1, ROWS_MOST), "write a number of rows")
    epsilon = declared.require("epsilon", parse_epsilon, "write what all releases cost together")
    delta = declared.require(
        "delta", parse_delta, "write a delta such as 1e-7: its noise is Gaussian"
    )
    start = declared.require("start", _start_of(per or "day"), "name the first period")
    if None in (table, of, by, per, releases, epsilon, delta, start):
        return None
    assert table is not None and of is not None and by is not None  # noqa: S101  (told apart above)
    assert per is not None and releases is not None and start is not None  # noqa: S101  (the same)
    assert epsilon is not None and delta is not None  # noqa: S101  (the same)
    if not _suits(declared, tables[table], of, by, rows):
        return None
    return Continual(name, table, of, where, by, per, start, releases, rows or 1, epsilon, delta)


def _suits(declared: Section, table: Table, of: ContinualOf, by: str, rows: int | None) -> bool:
    """Return whether a table can be counted so, after a fault where it cannot."""
    column = table.columns.get(by)
    most = 1 if table.unique else table.rows_per_unit_max
    if not isinstance(table.unit, ColumnUnit) or table.second is not None:
        declared.fault(
            "table",
            f"the rows of {table.name} are not those of units of one column",
            "name another",
        )
    elif column is None or column.type != "date":
        declared.fault("by", f"{quote(by)} is no declared column of dates", "declare its type")
    elif (of == "rows") != (rows is not None):
        declared.fault(
            "rows_per_unit" if rows is not None else "of",
            "rows are counted up to so many of each unit, and of units there is one",
            'write rows_per_unit with of = "rows", and only there',
        )
    elif rows is not None and most is not None and rows > most:
        declared.fault(
            "rows_per_unit", f"{rows} is more than the table's rows_per_unit_max {most}", "lower it"
        )
    else:
        return True
    return False


def _check_price(declared: Section, counted: Continual, budget: Budget | None) -> None:
    if counted.delta == 0:
        declared.fault("delta", "its noise is Gaussian, which needs a delta above 0", "write 1e-7")
    for key, own, most in (
        ("epsilon", counted.epsilon, budget.epsilon if budget else None),
        ("delta", counted.delta, budget.delta if budget else None),
    ):
        if most is not None and own > most:
            declared.fault(key, "it is more than the dataset's budget", "lower it")


def _start_of(per: str) -> Callable[[object], str]:
    def parse(written: object) -> str:
        try:
            first_day(per, written)
        except ValueError:
            raise Mistake(f"{quote(written)} is not the name of a {per}") from None
        return str(written)

    return parse


def _parse_condition(written: object) -> str:
    """Return a condition whose parentheses and quotes end where they should: it stands among others."""
    text, depth, quoted = parse_text(written), 0, ""
    for letter in text:
        if quoted:
            quoted = "" if letter == quoted else quoted
        elif letter in "'\"":
            quoted = letter
        else:
            depth += (letter == "(") - (letter == ")")
            if depth < 0 or letter in ";`[$\\":
                raise Mistake(f"{quote(text)} is not a condition by itself")
    if re.search(r"\bselect\b", text, re.IGNORECASE):
        raise Mistake(f"{quote(text)} reads another table, which may change", "name columns alone")
    if depth or quoted or "--" in text or "/*" in text or "#" in text:
        raise Mistake(f"{quote(text)} is not a condition by itself")
    return text
