"""Statements that are no SELECT, and those of them that ask which tables and columns there are.

The policy says what may be asked about, so a refusal can list it: no row is behind any of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sanql.errors import Refused
from sanql.policy import Table

LISTED_MAX = 60  # names that a refusal lists
LISTINGS = (exp.Show, exp.Describe, exp.Summarize, exp.Pragma)


def asks_what_there_is(statement: exp.Expr | None) -> bool:
    """Return whether a statement asks for tables or columns: SHOW TABLES, DESCRIBE orders."""
    if isinstance(statement, exp.Command):
        return str(statement.this).upper() in ("SHOW", "DESC", "DESCRIBE")
    return isinstance(statement, LISTINGS) and not any(statement.find_all(exp.Select))


def not_a_select(statement: exp.Expr | None, tables: Mapping[str, Table]) -> Refused:
    """Return the refusal of a statement that is no SELECT."""
    name = type(statement).__name__.upper()
    if isinstance(statement, exp.Command):
        name = str(statement.this).upper()[:60]
    if asks_what_there_is(statement):
        return Refused(
            "not_a_select",
            f"{name} cannot be asked; a question is one SELECT, and the policy lists the tables",
            f"the policy has {_listed(statement, tables)}",
        )
    if isinstance(statement, exp.SetOperation):
        return Refused(
            "not_a_select",
            f"{name} of several SELECTs cannot be asked; a question is one SELECT",
            "ask each SELECT by itself; rows are put together in FROM: SELECT x, COUNT(*) FROM "
            "(SELECT … UNION ALL SELECT …) AS t GROUP BY x",
        )
    return Refused(
        "not_a_select",
        f"{name} cannot be asked; a question is one SELECT",
        "ask for statistics with SELECT, such as COUNT(*), SUM(x) or AVG(x)",
    )


def _listed(statement: exp.Expr | None, tables: Mapping[str, Table]) -> str:
    """Return the columns of a table that is named, or else the tables."""
    by_name = {name.lower(): table for name, table in tables.items()}
    named = statement.find(exp.Table) if statement is not None else None
    table = by_name.get(str(named.name).lower()) if named is not None else None
    if table is not None and table.columns:
        columns = [f"{name} ({column.type})" for name, column in table.columns.items()]
        return f"these columns of {table.name}: {_names(columns)}"
    return f"these tables: {_names(list(tables))}"


def _names(known: Sequence[str]) -> str:
    more = len(known) - LISTED_MAX
    shown = ", ".join(known[:LISTED_MAX]) or "none"
    return f"{shown} and {more:,} more" if more > 0 else shown
