"""The rows of a policy's tables as they are stored and as they are read, side by side, for a while.

All of them are copied once, those of nobody too: each declared column as questions read it, and beside
it whether there was a value at all. So a text that is no number is told from a number that is missing.
The copy lies beside the ledger, readable to its owner alone, and is gone afterwards; of a command that
was killed, with the next that counts or prepares a copy there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sanql.catalog import BoundTable, PreparedSource, SourceFormat, bind
from sanql.engines import Pool, key_file, open_engine
from sanql.errors import Fault, PolicyError
from sanql.examine.looks import record_look
from sanql.kernel import (
    CATALOG,
    FolderNames,
    Projection,
    Statement,
    added_column,
    locked_folder,
    quote_name,
    remove_folder,
    stamp,
    sweep_folders,
)
from sanql.policy import Policy, Table, ViaUnit
from sanql.sources import Source, admit_unopened, check_files_readable, locate, look_at_origin

if TYPE_CHECKING:
    from sanql.engines import Engine

_FOLDERS = FolderNames(".examined-", ".examining-")
_GIVEN = "given"  # which columns say whether there was a value


@dataclass(frozen=True)
class Rows:
    """The rows of all tables, to be counted."""

    policy: Policy
    bound: Mapping[str, BoundTable]
    _pool: Pool

    def first(self, sql: str) -> dict[str, Any]:
        """Return the one row of a SELECT, by the names of its columns."""
        (row,) = self.all(sql)
        return row

    def all(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a SELECT."""
        rows: list[dict[str, Any]] = self._pool.run(Statement(sql)).to_pylist()
        return rows

    def relation(self, table: Table) -> str:
        """Return a table in SQL."""
        return f'{quote_name(CATALOG)}."main".{quote_name(self.bound[table.name].name)}'

    def column(self, table: Table, name: str) -> str:
        """Return a column in SQL, as questions read it."""
        types = self.bound[table.name].types
        return quote_name(next(known for known in types if known.lower() == name.lower()))

    def type_of(self, table: Table, name: str) -> str:
        """Return what the engine calls the type of a column."""
        types = self.bound[table.name].types
        return next(kind for known, kind in types.items() if known.lower() == name.lower())

    def given(self, table: Table, name: str) -> str:
        """Return in SQL whether a row had a value in a column."""
        return quote_name(_given(name, self.bound[table.name].types))

    def with_units(self, table: Table) -> str:
        """Return a SELECT of a private table's rows, whose they are beside them as `u`."""
        relation = self.relation(table)
        if not isinstance(table.unit, ViaUnit):
            own = getattr(table.unit, "column", None)
            unit = "NULL" if own is None else self.column(table, own)
            return f"SELECT *, {unit} AS u FROM {relation}"  # noqa: S608  (names of the policy)
        parent = self.policy.tables[table.unit.table]
        key = self.column(parent, table.unit.key)
        column = self.column(table, table.unit.column)
        return (
            f"SELECT child.*, parent.u FROM {relation} AS child JOIN "  # noqa: S608
            f"(SELECT {key} AS k, u FROM ({self.with_units(parent)})) AS parent "
            f"ON child.{column} = parent.k"
        )


@contextmanager
def examined_rows(
    policy: Policy, command: str, progress: Callable[[str], None], *, drafted: bool = False
) -> Iterator[Rows]:
    """Give the rows of a policy's tables for a while; PolicyError where they cannot be read.

    That a command looks at them is put on record before; for a policy that is `drafted` from them, before
    the types of its columns are told by their values.
    """
    source, engine = readable_source(policy), open_engine()
    if drafted:
        record_look(policy, command, drafted=True)
    schema = engine.describe(source.inspection(policy))
    if schema is None:
        raise PolicyError([Fault("dataset.source", "it cannot be opened", "see that it is whole")])
    if drafted:
        schema = {**schema, "tables": _with_names(schema["tables"])}
    formats = source.formats(policy)
    bound = bind(policy, formats, schema)
    beside = {
        name: _side_by_side(table, formats[name], schema["tables"]) for name, table in bound.items()
    }
    remove_leftovers(policy)
    if not drafted:
        record_look(policy, command)
    folder, lock = locked_folder(policy.ledger.parent, _FOLDERS)
    try:
        database = folder / "rows.duckdb"
        _copy(policy, source, engine, beside, schema, database, progress)
        with Pool(_opened(database), replace(policy.engine, workers=1), engine) as pool:
            yield Rows(policy, bound, pool)
    finally:
        remove_folder(folder, lock)


def _with_names(tables: Any) -> dict[str, list[list[Any]]]:
    """Return a schema's tables without the columns that have no name, which no SQL can read."""
    return {
        name: [[field for field in fields if field[0]] for fields in files]
        for name, files in tables.items()
    }


def remove_leftovers(policy: Policy) -> None:
    """Remove copies that commands left which were killed while they counted; nobody has those locked."""
    sweep_folders(policy.ledger.parent, _FOLDERS)


def readable_source(policy: Policy) -> Source:
    """Return the policy's source, where its owner may look at its rows; PolicyError where not."""
    if policy.scratch:
        raise PolicyError(
            [
                Fault(
                    "dataset.scratch",
                    "a scratch account reads no row, so there are none to look at",
                    "check the data's own policy with --data",
                )
            ]
        )
    if look_at_origin(policy):
        raise PolicyError(
            [
                Fault(
                    "dataset.source",
                    "no snapshot has been taken of it yet, so there are no rows to look at",
                    "take one first: sanql refresh",
                )
            ]
        )
    if key_file(policy.engine) is not None:
        raise PolicyError(
            [
                Fault(
                    "engine.encryption_key_file",
                    "the rows would be looked at in a copy that is not encrypted",
                    "leave the key out for it, where the disk may have such a copy for a moment",
                )
            ]
        )
    source = locate(policy)
    admit_unopened(policy, source)
    check_files_readable(source)
    return source


def _copy(
    policy: Policy,
    source: Source,
    engine: Engine,
    bound: Mapping[str, BoundTable],
    schema: Mapping[str, object],
    database: Path,
    progress: Callable[[str], None],
) -> None:
    begun: list[str] = []

    def begin(table: str) -> None:
        begun.append(table)
        progress(f"reading {table}")

    request = source.copying(policy, bound, schema, database, 0)
    request = replace(request, stamp=stamp(source.paths()))
    if engine.copy(request, begin) is None:
        raise PolicyError([source.not_copied(begun[-1] if begun else next(iter(bound)))])


def _side_by_side(table: BoundTable, form: SourceFormat, schema: Any) -> BoundTable:
    """Return a table with one more column for each: whether there was a value, and no unit."""
    files = schema[table.name]
    stored = [{name.lower(): (name, kind) for name, kind, *_ in fields} for fields in files]
    types = dict(table.types)
    types |= {_given(name, table.types): "BOOLEAN" for name in table.types}
    projections = tuple(
        Projection(
            part.columns,
            (*part.expressions, *(_is_given(form, *own[name.lower()]) for name in table.types)),
            part.bytes_max,
        )
        for part, own in zip(table.projections, stored, strict=True)
    )
    return replace(
        table,
        types=MappingProxyType(types),
        projections=projections if table.types else table.projections,
        unit=None,
        unique=False,
        reference=None,
    )


def _given(name: str, types: Mapping[str, str]) -> str:
    """Return what the column is called that says whether there was a value: as none of the table's."""
    return added_column(f"{_GIVEN} {name}".lower(), types)


def _is_given(form: SourceFormat, name: str, physical: str) -> str:
    """Return SQL for whether a stored column has a value: an empty text is none."""
    column = quote_name(name)
    if physical != "VARCHAR":
        return f"{column} IS NOT NULL"
    text = f"TRY(decode({column}))" if form == "parquet" else column
    return f"coalesce({text} <> '', {column} IS NOT NULL)"


def _opened(database: Path) -> PreparedSource:
    return PreparedSource({}, {}, {}, {}, database=database, fingerprint="")
