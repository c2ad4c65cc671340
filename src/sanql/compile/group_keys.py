"""Group keys as SQL: how a row's key is written, and where public keys are listed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from sanql.catalog import Layout
from sanql.compile.expressions.emitter import ENGINE_TYPES
from sanql.compile.expressions.values import may_exceed_64_bits
from sanql.compile.grid import on_grid
from sanql.compile.relations import RelationWriter
from sanql.errors import Refused
from sanql.kernel import TEXT_BYTES_DEFAULT, text_prefix
from sanql.plan import KeyColumn, Level, Lookup, PrivateKeys, PublicKeys
from sanql.policy import TableDomain
from sanql.question import ColumnRef, Expr, LiteralValue, Type

KEY_BYTES_MAX = 1_000  # of a text by which rows are grouped, where keys are selected privately


class KeyWriter:
    """Writes the keys of one level with the emitter of its statement."""

    def __init__(self, level: Level, source: Layout, relations: RelationWriter) -> None:
        self._outline = level.outline
        self._keys = level.query.keys
        self._source = source
        self._relations = relations
        self._emitter = relations.emitter

    def domains(self) -> list[str]:
        """Return the public values of keys as common table expressions."""
        tables = []
        keys = self._outline.keys
        if isinstance(keys, PublicKeys):
            for index, column in enumerate(keys.columns):
                if not isinstance(column.values, Lookup) or column.values.keys[0] == index:
                    text = self._domain(index, self._keys[index], column)
                    tables.append(f"domain{index} AS MATERIALIZED ({text})")
        for index, other in enumerate(self._outline.filtering_keys):
            text = self._domain(0, other.key, other.column)
            tables.append(f"beside{index} AS MATERIALIZED ({text})")
        return tables

    def _domain(self, index: int, key: Expr, column: KeyColumn) -> str:
        """Return the public values of a key, as v and its number."""
        if isinstance(column.values, Lookup):
            return self._looked_up(column.values)
        values = self._values(index, key, column.values)
        return f"{values} UNION ALL SELECT NULL" if column.null else values

    def _looked_up(self, lookup: Lookup) -> str:
        """Return the different keys that public tables have; NULL is one only where it is asked for."""
        public = RelationWriter(self._source, self._outline.tables)
        public.enter(lookup.source, None)
        columns = [
            on_grid(public.emitter.sql(key), _key_grid(key))
            if key.facts.type is Type.REAL
            else public.emitter.sql(key)
            for key in lookup.expressions
        ]
        tests = [public.emitter.condition(test) for test in lookup.conditions]
        tests += [
            f"({column}) IS NOT NULL"
            for column, index in zip(columns, lookup.keys, strict=True)
            if index not in lookup.nullable
        ]
        named = [f"{c} AS v{i}" for c, i in zip(columns, lookup.keys, strict=True)]
        rows = public.filtered(lookup.source, None, tests)
        sql = public.once(f"SELECT DISTINCT {', '.join(named)} FROM {rows}")
        if lookup.absent:
            sql = f"({sql}) UNION SELECT {', '.join('NULL' for _ in columns)}"
        return self._finished(sql, public.emitter.parameters)

    def _finished(self, sql: str, parameters: Sequence[object] = ()) -> str:
        """Return values that public tables have, read before anything private."""
        assert self._relations.public is not None  # noqa: S101  (keys are those of a private answer)
        return f"SELECT * FROM {self._relations.public.add(sql, parameters)}"

    def _values(self, index: int, key: Expr, domain: tuple[LiteralValue, ...] | TableDomain) -> str:
        if isinstance(domain, TableDomain):
            scan = self._source.scans[domain.table][domain.column]
            relation = self._source.relations[domain.table]
            if key.facts.type is Type.REAL:
                scan = on_grid(scan, _key_grid(key))
            sql = f"SELECT DISTINCT {scan} AS v{index} FROM {relation} WHERE {scan} IS NOT NULL"
            return self._finished(sql)
        listed = self.listed(key, domain)
        return f"SELECT unnest({listed}) AS v{index}"

    def listed(self, key: Expr, values: tuple[LiteralValue, ...]) -> str:
        """Return values that a key may have as a list, each as rows are grouped by it."""
        if key.facts.type is Type.REAL:
            steps = [_steps(value, _key_grid(key)) for value in values]
            return self._emitter.parameter(steps, "BIGINT[]")
        return self._emitter.parameter(list(values), f"{ENGINE_TYPES[key.facts.type]}[]")

    def grouped(self, key: Expr) -> str:
        """Return a key as it is grouped by: what cannot be shown is one group, the missing one."""
        if key.facts.type is Type.INTEGER and may_exceed_64_bits(key.facts):
            return f"TRY_CAST({self.gridded(key)} AS BIGINT)"
        return self.gridded(key)

    def shortened(self) -> dict[int, str]:
        """Return the keys that are cut before they are grouped by, each as SQL over its own column.

        Keys that are selected privately leave the engine before it is known which of them appear, so
        how long they are may depend on the question alone. Public ones are what was declared.
        """
        if not isinstance(self._outline.keys, PrivateKeys):
            return {}
        return {
            index: text_prefix(f"k{index}", KEY_BYTES_MAX)
            for index, key in enumerate(self._keys)
            if key.facts.type is Type.TEXT and not self._is_short(key)
        }

    def _is_short(self, key: Expr) -> bool:
        """Return whether reading a column has cut it to no more than a key may have."""
        if not isinstance(key, ColumnRef) or not key.stored or key.origin is None:
            return False
        table, name = key.origin
        column = self._outline.tables[table].columns.get(name)
        most = column.bytes_max if column is not None else None
        return (most or TEXT_BYTES_DEFAULT) <= KEY_BYTES_MAX

    def gridded(self, key: Expr) -> str:
        """Return a key's value; a number's as its grid step."""
        text = self._emitter.sql(key)
        if key.facts.type is Type.REAL:
            return on_grid(text, _key_grid(key))
        return text

    def shown(self, index: int, text: str) -> str:
        """Return a key as it comes back, from the text it was grouped by."""
        key = self._keys[index]
        if key.facts.type is Type.REAL:
            grid = _key_grid(key)
            return f"(CAST({text} AS DOUBLE) * {grid.numerator} / {grid.denominator})"
        if key.facts.type is Type.INTEGER:
            return f"TRY_CAST({text} AS BIGINT)"
        return text


def place(keys: PublicKeys, index: int) -> tuple[str, str]:
    """Return where a key's public values are listed: the relation and its column."""
    values = keys.columns[index].values
    first = values.keys[0] if isinstance(values, Lookup) else index
    return f"domain{first}", f"v{index}"


def is_listed(key: str, column: KeyColumn, relation: str, name: str) -> str:
    """Return the condition that a row's key is one of the public values in a relation."""
    if not column.null:
        return f"{key} IN (SELECT {name} FROM {relation})"
    listed = f"{key} IN (SELECT {name} FROM {relation} WHERE {name} IS NOT NULL)"
    return f"({key} IS NULL OR {listed})"


def _steps(value: LiteralValue, grid: Fraction) -> int | None:
    """Return a declared key as a whole number of grid steps."""
    if not isinstance(value, int | Fraction):
        return None
    return math.floor(Fraction(value) / grid + Fraction(1, 2))


def _key_grid(key: Expr) -> Fraction:
    if key.facts.grid is None:
        raise Refused(
            "key_not_rounded",
            "a group key is a number with no fixed precision, so equal groups would hardly exist",
            "round it: GROUP BY ROUND(x, 1), or FLOOR(x / 10) * 10",
        )
    return key.facts.grid
