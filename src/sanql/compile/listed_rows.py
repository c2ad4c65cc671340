"""Rows that are written in the question, as SQL: their values of the types that are known of them."""

from __future__ import annotations

from sanql.compile.expressions.emitter import Emitter, engine_type
from sanql.question import Derived, Facts, Listed


def listed_rows_sql(emitter: Emitter, source: Listed) -> str:
    """Return a SELECT of the rows, with the columns c0, c1 …"""
    types = [engine_type(facts) for facts in source.facts]
    rows = [
        ", ".join(
            f"CAST({emitter.sql(value)} AS {kind})" for value, kind in zip(row, types, strict=True)
        )
        for row in source.rows
    ]
    values = ", ".join(f"({row})" for row in rows)
    return f"(SELECT * FROM (VALUES {values}) AS listed({', '.join(names_of(source))}))"


def names_of(source: Listed) -> list[str]:
    """Return what the columns are called here."""
    return [f"c{place}" for place in range(len(source.facts))]


def known_facts(source: Derived | Listed, name: str) -> Facts:
    """Return what is proved of a column by itself, of a subquery or of rows in the question."""
    place = int(name.removeprefix("c"))
    if isinstance(source, Listed):
        return source.facts[place]
    value = source.rows.fields[place].value
    assert value is not None  # noqa: S101  (there is no column of a field without a value)
    return value.facts
