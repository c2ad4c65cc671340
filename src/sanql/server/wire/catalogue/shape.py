"""The tables of a dataset as PostgreSQL declares them: empty, with what is known of them as comments."""

from __future__ import annotations

from collections.abc import Iterator

from psycopg import sql

from sanql.results import Schema, SchemaColumn, SchemaTable
from sanql.server.wire.catalogue.cluster import READER

_TYPES = {
    "integer": "bigint",
    "decimal": "numeric",
    "float": "double precision",
    "text": "text",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp without time zone",
    "time": "time without time zone",
}

_KEEPING = sql.SQL(
    "lo_create(oid), lo_creat(integer), lo_from_bytea(oid, bytea), pg_notify(text, text),"
    " pg_logical_emit_message(boolean, text, text), pg_logical_emit_message(boolean, text, bytea),"
    " pg_terminate_backend(integer, bigint), pg_cancel_backend(integer), pg_export_snapshot(),"
    " pg_advisory_lock(bigint), pg_advisory_lock(integer, integer), pg_sleep(double precision)"
)
"""What would keep something for whoever comes next, or others from asking."""


def declared(schema: Schema, database: str) -> Iterator[sql.SQL | sql.Composed]:
    """Yield what makes the tables anew in an empty or earlier schema `public`."""
    named, reader = sql.Identifier(database), sql.Identifier(READER)
    yield sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(
        named
    )  # also to make what is temporary
    yield sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(named, reader)
    yield sql.SQL("REVOKE EXECUTE ON FUNCTION {} FROM PUBLIC").format(_KEEPING)
    yield sql.SQL("REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC")
    yield sql.SQL("DROP SCHEMA public CASCADE")
    yield sql.SQL("CREATE SCHEMA public")
    yield sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(reader)
    yield sql.SQL("COMMENT ON SCHEMA public IS {}").format(
        sql.Literal("what can be asked about; the tables here are empty, San answers from its own")
    )
    for table in schema.tables:
        yield from _table(table)


def _table(table: SchemaTable) -> Iterator[sql.SQL | sql.Composed]:
    name = sql.Identifier("public", table.name)
    columns = sql.SQL(", ").join(
        sql.SQL("{} {}").format(sql.Identifier(each.name), sql.SQL(_TYPES.get(each.type, "text")))
        for each in table.columns
    )
    yield sql.SQL("CREATE TABLE {} ({})").format(name, columns)
    # listed, and not readable: an empty table must not be taken for an answer
    yield sql.SQL("GRANT REFERENCES ON {} TO {}").format(name, sql.Identifier(READER))
    kind = "public" if table.public else f"protects {table.privacy_unit}"
    yield sql.SQL("COMMENT ON TABLE {} IS {}").format(name, sql.Literal(kind))
    for column in table.columns:
        yield from _comment(table, column)


def _comment(table: SchemaTable, column: SchemaColumn) -> Iterator[sql.SQL | sql.Composed]:
    words = column.facts_in_words()
    if words:
        yield sql.SQL("COMMENT ON COLUMN {} IS {}").format(
            sql.Identifier("public", table.name, column.name), sql.Literal(words)
        )
