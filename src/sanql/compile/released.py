"""Noisy answers that a private statement reads: finished tables, whose rows are parameters.

Which columns they have is known before they are measured, and with it all of the statement; the rows are
given to it when they are there. They are noisy answers that the analyst may see: as public as any table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from sanql.catalog import Layout
from sanql.compile.expressions.emitter import engine_type
from sanql.compile.public_first import PublicTables
from sanql.kernel import Statement, quote_name
from sanql.policy import Table
from sanql.question import column_facts


@dataclass(frozen=True)
class ReleasedAnswer:
    """An answer as a table; without rows as long as it has not been measured."""

    table: Table
    rows: tuple[tuple[object, ...], ...] = ()

    @property
    def sql(self) -> str:
        """A SELECT of its rows, which are its parameters, column by column."""
        kinds = {name: engine_type(column_facts(c)) for name, c in self.table.columns.items()}
        columns = [
            f"system.main.unnest(CAST(? AS {kind}[])) AS {quote_name(name)}"
            for name, kind in kinds.items()
        ]
        # the name tells it from another answer with the same columns
        return f"SELECT {', '.join(columns)} FROM (SELECT 1) AS {quote_name(self.table.name)}"

    @property
    def parameters(self) -> tuple[object, ...]:
        """Its columns."""
        places = range(len(self.table.columns))
        return tuple([row[place] for row in self.rows] for place in places)


def with_released(
    layout: Layout, released: Sequence[ReleasedAnswer], public: PublicTables
) -> Layout:
    """Return a layout in which released answers are tables, made before the statement is planned."""
    if not released:
        return layout
    places = {each.table.name: public.add(each.sql, each.parameters) for each in released}
    return replace(
        layout,
        relations=MappingProxyType({**layout.relations, **places}),
        scans=MappingProxyType({**layout.scans, **{e.table.name: _scans(e) for e in released}}),
        types=MappingProxyType({**layout.types, **{e.table.name: _types(e) for e in released}}),
    )


def rows_given(sent: Statement, released: Sequence[ReleasedAnswer]) -> Statement:
    """Return a statement with the rows of the answers that it reads, which are there by now."""
    given = {each.sql: each.parameters for each in released}
    return replace(
        sent,
        public=tuple(
            replace(table, parameters=given[table.sql]) if table.sql in given else table
            for table in sent.public
        ),
    )


def _scans(released: ReleasedAnswer) -> Mapping[str, str]:
    return {name: quote_name(name) for name in released.table.columns}


def _types(released: ReleasedAnswer) -> Mapping[str, str]:
    return {name: engine_type(column_facts(c)) for name, c in released.table.columns.items()}
