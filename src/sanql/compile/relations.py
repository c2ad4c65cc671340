"""FROM as DuckDB SQL: tables with their units, joins within a unit, subqueries within a unit.

Every relation yields `u`, the unit of each row, beside its columns. Two private relations are joined
on equal `u` whatever else their condition says; groups, DISTINCT and windows of a subquery have `u`
among their keys; EXISTS, IN and values compare `u` with that of the row that asks. So rows of two
units never meet, and nothing an analyst writes can make them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sanql.catalog import Layout
from sanql.compile.expressions.emitter import SQL_LENGTH_MAX, Emitter, engine_type, scanned
from sanql.compile.expressions.values import may_exceed_64_bits
from sanql.compile.foreign_keys import joined_foreign_keys
from sanql.compile.listed_rows import known_facts, listed_rows_sql, names_of
from sanql.compile.public_first import PublicTables, stands_alone, tied_to_a_key
from sanql.compile.shared_subqueries import SHARED, SharedSubqueries
from sanql.compile.subqueries import asks, subquery_sql, within_length
from sanql.compile.tables import TableReader
from sanql.compile.unit_aggregates import unit_aggregate
from sanql.compile.units import UnitWriter
from sanql.compile.windows import TIES, placed_windows, window_sql
from sanql.kernel import quote_name
from sanql.policy import RowUnit, Table
from sanql.question import (
    AggregateRef,
    ColumnRef,
    Derived,
    Expr,
    From,
    Grouped,
    Identifier,
    Join,
    JoinKind,
    KeyRef,
    Listed,
    Rows,
    SameIdentity,
    Scan,
    Selected,
    Subquery,
    SubqueryKind,
    Type,
    Union,
    UnitAggregate,
    Window,
    conjuncts,
    is_private,
    scans,
    slots,
)

_SPLIT_SLOT = 1_000_000  # slots of subqueries that the writer makes itself begin here


class RelationWriter:
    """Writes relations and the expressions over them, collecting which columns are read."""

    def __init__(
        self,
        layout: Layout,
        tables: Mapping[str, Table],
        public: PublicTables | None = None,
        part_secret: int | None = None,
        length_max: int = SQL_LENGTH_MAX,
    ) -> None:
        """Write over tables that are read as a layout says; with a `part_secret`, units are in parts.

        What reads only public tables goes into `public`; without it, the whole statement does. What
        would become longer than `length_max` is refused.
        """
        self._length_max = length_max
        self.public = public
        self._layout = layout
        self._tables = tables
        self.readers = TableReader(layout, tables, part_secret)
        self._used: dict[int, dict[str, None]] = {}
        self._units = UnitWriter(tables)
        self._scans: dict[int, Scan] = {}
        self._derived: dict[int, Derived | Listed] = {}
        self._matched_once: set[int] = set()
        self._numbered: set[int] = set()
        self._groups: list[tuple[list[str], list[str]]] = []
        self._shared = SharedSubqueries(self.fresh)
        self._names = 0
        self.emitter = Emitter(
            self._leaf, lambda column: self._read(column.slot, column.name), length_max
        )

    def enter(self, source: From, where: Expr | None) -> None:
        """Prepare a FROM: find out which foreign keys its joins already follow."""
        self._register(source)
        self._units.lead(joined_foreign_keys(source, where, self._tables, self.readers))
        if any(isinstance(self._tables[scan.table].unit, RowUnit) for scan in scans(source)):
            self._matched_once |= slots(source)

    def unit(self, source: From) -> str | None:
        """Return SQL for the unit of a FROM's rows; None where each row is its own, or nobody's."""
        return self._units.unit(source)

    def apart(self) -> RelationWriter:
        """Return a writer of another statement, which reads public tables only."""
        return RelationWriter(self._layout, self._tables, length_max=self._length_max)

    def _from(self, source: From, more: Sequence[str] = ()) -> str:
        match source:
            case Scan():
                return f"{self._told_apart(source, self._scan(source))} AS t{source.slot}"
            case Derived(slot, rows):
                if self.public is not None and stands_alone(rows):
                    text = self.finished(rows, self.public)
                else:
                    text = f"({self.rows(rows)})"
                return f"{self._told_apart(source, text)} AS t{slot}"
            case Listed():
                text = listed_rows_sql(self.emitter, source)
                return f"{self._told_apart(source, text)} AS t{source.slot}"
            case Join(kind, left, right, on):
                conditions = [self.emitter.condition(condition) for condition in conjuncts(on)] + [
                    *more
                ]
                units = self.unit(left), self.unit(right)
                if None not in units and units[0] != units[1]:
                    conditions.append(f"{units[0]} = {units[1]}")
                texts = self._from(left), self._from(right)
                return (
                    f"({texts[0]} {kind.upper()} JOIN {texts[1]} "
                    f"ON {' AND '.join(conditions) or 'TRUE'})"
                )

    def _told_apart(self, source: Scan | Derived | Listed, text: str) -> str:
        """Return rows with a number `d` among those that agree in all that is read, where it is asked.

        Which of them has which number is nobody's concern: they are interchangeable. But all windows
        over them must see the same one, or the engine would choose which row gets which *pair* of
        places, and might choose otherwise where there are rows of somebody else.
        """
        if source.slot not in self._numbered:
            return text
        if isinstance(source, Scan):
            columns = [self._alias(source.slot, name) for name in self._used[source.slot]]
            by_unit = self.unit(source) == f"t{source.slot}.u"
        elif isinstance(source, Listed):
            columns, by_unit = names_of(source), False
        else:
            fields = source.rows.fields
            columns = [f"c{i}" for i, field in enumerate(fields) if field.value is not None]
            columns += [f"i{i}" for i, field in enumerate(fields) if field.identity is not None]
            by_unit = self._units.by_unit(source.rows)
        listed = ", ".join((["u"] if by_unit else []) + columns)
        over = f"(PARTITION BY {listed})" if listed else "()"
        return f"(SELECT *, system.main.row_number() OVER {over} AS d FROM {text} AS alike)"

    def rows(self, rows: Rows) -> str:
        """Return a subquery's SELECT: `u`, its values c0… and its identifiers i0…."""
        return within_length(self._rows(rows), self._length_max)

    def finished(self, rows: Rows, public: PublicTables) -> str:
        """Return where rows of public tables are found, computed before this statement."""
        apart = self.apart()
        sql = apart.rows(rows)
        return public.add(sql, apart.emitter.parameters)

    def _rows(self, rows: Rows) -> str:
        match self.tied(rows):
            case Selected() as selected:
                return self._selected(selected)
            case Grouped() as grouped:
                return self.grouped(grouped)
            case Union() as union:
                return self._union(union)

    def tied(self, rows: Rows) -> Rows:
        """Return rows whose sums of public real numbers are picked by key from a finished table."""
        if self.public is None or not isinstance(rows, Grouped) or is_private(rows):
            return rows
        return tied_to_a_key(rows, self._new_slot)

    def _new_slot(self) -> int:
        self._names += 1
        return _SPLIT_SLOT + self._names

    def _register(self, source: From) -> None:
        match source:
            case Scan(slot):
                self._scans[slot] = source
                self._units.register(source)
                self._used.setdefault(slot, {})
            case Join(_, left, right, _):
                self._register(left)
                self._register(right)
            case Derived(slot) | Listed(slot):
                self._derived[slot] = source
                self._used.setdefault(slot, {})

    def _read(self, slot: int, name: str) -> str:
        self._used.setdefault(slot, {})[name] = None
        return f"t{slot}.{self._alias(slot, name)}"

    def _alias(self, slot: int, name: str) -> str:
        """Return what a column is called here; a table's own column could be called `u` too."""
        return quote_name(f"_{name}" if slot in self._scans else name)

    def _leaf(self, expression: Expr) -> str:
        match expression:
            case ColumnRef(name, facts, slot, _, stored):
                text = self._read(slot, name)
                if stored:
                    return scanned(text, facts)
                return self._computed(expression, text)
            case Identifier(slot, name):
                return self._read(slot, name)
            case SameIdentity(left, right):
                self._check_alike(left, right)
                return f"({self._leaf(left)} = {self._leaf(right)})"
            case KeyRef(index):
                return self._groups[-1][0][index]
            case AggregateRef(index):
                return self._groups[-1][1][index]
            case Subquery():
                return self._marked(expression)
            case Window():
                return window_sql(self, expression)
            case _:
                raise AssertionError(type(expression))

    def _computed(self, column: ColumnRef, text: str) -> str:
        """Return a subquery's column; what a condition promises beyond its own proof is enforced.

        The engine may compute with a row before it looks whether the condition holds for it.
        """
        known = known_facts(self._derived[column.slot], column.name)
        facts = column.facts
        if (facts.low, facts.high) == (known.low, known.high):
            return text
        held = scanned(text, facts)
        return (
            f"CAST({held} AS BIGINT)"
            if facts.type is Type.INTEGER and not may_exceed_64_bits(facts)
            else held
        )

    def _marked(self, asked: Subquery) -> str:
        """Return the mark of a subquery as a value; what it says may hang on the groups around it."""
        groups = tuple(name for names in self._groups[-1] for name in names) if self._groups else ()

        def write() -> str:
            text = within_length(subquery_sql(self, asked), self._length_max)
            if isinstance(asked.operand, Identifier):
                # NULL is in no list and out of none, also if the unit has nothing in it
                return f"(CASE WHEN {self._leaf(asked.operand)} IS NOT NULL THEN {text} END)"
            return text

        return self._shared.mark((asked, groups), write)

    def once(self, select: str) -> str:
        """Return a SELECT in which each subquery stands once."""
        return self._shared.in_select(select)

    def _scan(self, scan: Scan) -> str:
        """Return a table with its unit and the columns that are read."""
        named = {name: self._alias(scan.slot, name) for name in self._used.get(scan.slot, {})}
        return self.readers.table(
            scan.table,
            named,
            unit_elsewhere=self._units.is_elsewhere(scan.slot),
            matched_once=scan.slot in self._matched_once,
        )

    def _check_alike(self, left: Identifier, right: Identifier) -> None:
        first, second = self._scans.get(left.slot), self._scans.get(right.slot)
        if first is not None and second is not None:
            self.readers.check_alike(first.table, left.name, second.table, right.name)

    def filtered(self, source: From, where: Expr | None, more: Iterable[str] = ()) -> str:
        """Return FROM and WHERE; to be written last, when it is known which columns are read.

        Where a condition asks a subquery, the engine would ask it for every pair of rows before it
        looks at the other conditions, unless those stand in the join itself.
        """
        unit = self.unit(source)
        conditions = [f"{unit} IS NOT NULL"] if unit is not None else []
        conjoined = [*conjuncts(where)]
        asking = [condition for condition in conjoined if asks(condition)]
        plain = [
            self.emitter.condition(condition) for condition in conjoined if condition not in asking
        ]
        moved = bool(asking) and isinstance(source, Join) and source.kind is JoinKind.INNER
        conditions += [] if moved else plain
        conditions += [self._asked(condition) for condition in asking]
        conditions += more
        text = self._from(source, plain if moved else []) + SHARED
        return f"{text} WHERE {' AND '.join(conditions)}" if conditions else text

    def _asked(self, condition: Expr) -> str:
        """Return a condition of WHERE, in which it is the same whether one is false or unknown."""
        if isinstance(condition, Subquery) and isinstance(condition.operand, Identifier):
            return within_length(subquery_sql(self, condition), self._length_max)
        if isinstance(condition, Subquery) and condition.ask is SubqueryKind.MEMBER:
            return self.emitter.sql(condition)  # the engine finds a list by it
        return self.emitter.condition(condition)

    def select(
        self, source: From, where: Expr | None, columns: list[str], more: Iterable[str] = ()
    ) -> str:
        """Return a SELECT of columns; to be written last, like its FROM."""
        return f"SELECT {', '.join(columns) or '1'} FROM {self.filtered(source, where, more)}"

    def _selected(self, rows: Selected) -> str:
        self.enter(rows.source, rows.where)
        if len(placed_windows(rows)) > 1:
            self._numbered |= slots(rows.source)
        unit = self.unit(rows.source)
        columns = [f"{unit} AS u"] if unit is not None else []
        for index, field in enumerate(rows.fields):
            if field.value is not None:
                columns.append(f"{self.emitter.sql(field.value)} AS c{index}")
            if field.identity is not None:
                columns.append(f"{self.emitter.sql(field.identity)} AS i{index}")
        qualify = (
            f" QUALIFY {self.emitter.condition(rows.qualify)}" if rows.qualify is not None else ""
        )
        text = self.select(rows.source, rows.where, columns) + qualify
        if rows.distinct:
            text = text.replace("SELECT ", "SELECT DISTINCT ", 1)
        return self.once(text.replace(TIES, self._ties(rows.source)))

    def _ties(self, source: From) -> str:
        """Return every column that is read: rows that agree in all of them are interchangeable.

        Without it, which of two equal rows comes first would be the engine's choice, and could
        change with rows of somebody else.
        """
        listed = []
        for slot in sorted(slots(source)):
            for name in self._used[slot]:
                listed.append(f"t{slot}.{self._alias(slot, name)}")
            if slot in self._numbered:
                listed.append(f"t{slot}.d")
        return ", ".join(listed) or "1"

    def grouped(self, rows: Grouped, tie: Sequence[str] | None = None) -> str:
        """Return groups; with a `tie` to the unit of a row outside, all its rows are one group."""
        self.enter(rows.source, rows.where)
        unit = self.unit(rows.source) if tie is None else None
        grouped = [f"{unit} AS u"] if unit is not None else []
        grouped += [f"{self.emitter.sql(key)} AS k{i}" for i, key in enumerate(rows.keys)]
        identities = dict.fromkeys(f.identity for f in rows.fields if f.identity is not None)
        grouped += [
            f"{self.emitter.sql(identifier)} AS j{i}" for i, identifier in enumerate(identities)
        ]
        measured = [f"{self.aggregate(a)} AS a{i}" for i, a in enumerate(rows.aggregates)]
        inner = self.select(rows.source, rows.where, grouped + measured, tie or ())
        if grouped:
            inner += f" GROUP BY {', '.join(str(place + 1) for place in range(len(grouped)))}"
        name = self.fresh("g")
        places = {identity: f"{name}.j{i}" for i, identity in enumerate(identities)}
        self._groups.append(
            (
                [f"{name}.k{i}" for i in range(len(rows.keys))],
                [f"{name}.a{i}" for i in range(len(rows.aggregates))],
            )
        )
        columns = [f"{name}.u AS u"] if unit is not None else []
        for index, field in enumerate(rows.fields):
            if field.value is not None:
                columns.append(f"{self.emitter.sql(field.value)} AS c{index}")
            if field.identity is not None:
                columns.append(f"{places[field.identity]} AS i{index}")
        having = f" WHERE {self.emitter.condition(rows.having)}" if rows.having is not None else ""
        self._groups.pop()
        listed = ", ".join(columns) or "1"
        return self.once(f"SELECT {listed} FROM ({self.once(inner)}) AS {name}{SHARED}{having}")

    def aggregate(self, measured: UnitAggregate, over: str = "") -> str:
        """Return an exact aggregate of rows, or a window's."""
        return unit_aggregate(self.emitter, measured, over, apart=self.public is None)

    def _union(self, rows: Union) -> str:
        texts = []
        for branch in rows.branches:
            columns = ["u"] if self._units.by_unit(branch) else []
            for index, field in enumerate(rows.fields):
                if field.value is not None:
                    facts = field.value.facts
                    columns.append(f"CAST(c{index} AS {engine_type(facts)}) AS c{index}")
                if field.identity is not None:
                    columns.append(f"i{index}")
            listed = ", ".join(columns) or "1 AS present"
            texts.append(f"SELECT {listed} FROM ({self.rows(branch)}) AS {self.fresh('p')}")
        return f" UNION {'' if rows.distinct else 'ALL '}".join(texts)

    def fresh(self, letter: str) -> str:
        """Return a name that no other relation of the statement has."""
        self._names += 1
        return f"{letter}{self._names}"
