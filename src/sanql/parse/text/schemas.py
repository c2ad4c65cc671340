"""Names of schemas before those of tables: read as long as they cannot mean two things.

The tables of a policy have one name each, whatever schema they come from. So `hospital.people` is people,
and `hospital.people.age` its age; but tables of two different schemas in one question would be told apart
by names that are not looked at, and are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.text.places import place_of
from sanql.policy import Table

USUAL = frozenset(
    {"public", "main", "dbo"}
)  # where databases keep tables of which nobody says more
CATALOGUES = frozenset({"pg_catalog", "information_schema"})


def without_schemas(select: exp.Select, tables: Mapping[str, Table]) -> None:
    """Take the names of schemas off the tables, and off the columns that repeat them."""
    known = {name.lower() for name in tables}
    named: dict[tuple[str, ...], exp.Table] = {}
    found = list(select.find_all(exp.Table, exp.Column, exp.CTE))
    # of a long text there are thousands of columns, so no function is called for each of them
    tables_read = [each for each in found if each.__class__ is exp.Table]
    columns = [each for each in found if each.__class__ is exp.Column and "db" in each.args]
    common = {str(each.alias).lower() for each in found if each.__class__ is exp.CTE}
    for table in tables_read:
        assert isinstance(table, exp.Table)  # noqa: S101  (as has been asked)
        _split(table, known)
        schema = _schema(table)
        if not schema or schema[-1] in CATALOGUES:
            continue
        if str(table.name).lower() in common:
            raise Refused(
                "table_unknown",
                f"{'.'.join((*schema, str(table.name)))[:120]} is a table of a schema, and WITH gives "
                "its name to something else",
                "call what WITH names otherwise",
                place_of(table),
            )
        table.set("db", None)
        table.set("catalog", None)
        if schema[-1] not in USUAL:
            named.setdefault(schema, table)
    if len(named) > 1:
        first, second = list(named)[:2]
        raise Refused(
            "table_unknown",
            f"the question names tables of two schemas, {'.'.join(first)[:60]} and "
            f"{'.'.join(second)[:60]}, and the tables of the policy are told apart by their own names",
            "write the tables' names alone",
            place_of(named[second]),
        )
    for column in columns:
        assert isinstance(column, exp.Column)  # noqa: S101  (as has been asked)
        schema = _schema(column)
        if schema and (schema in named or schema[-1] in USUAL):
            column.set("db", None)
            column.set("catalog", None)


def _split(table: exp.Table, known: set[str]) -> None:
    """Read `project.data.people`, which is one name in quotes, as a name behind those of schemas."""
    name = table.this
    if not isinstance(name, exp.Identifier) or not name.args.get("quoted") or table.args.get("db"):
        return
    before, _, last = str(name.this).rpartition(".")
    if before and str(name.this).lower() not in known:
        table.set("this", exp.to_identifier(last, quoted=True))
        table.set("db", exp.to_identifier(before, quoted=True))


def _schema(node: exp.Table | exp.Column) -> tuple[str, ...]:
    return tuple(_parts(node))


def _parts(node: exp.Table | exp.Column) -> Iterator[str]:
    for part in ("catalog", "db"):
        value = node.args.get(part)
        if isinstance(value, exp.Identifier):
            yield str(value.name).lower()
