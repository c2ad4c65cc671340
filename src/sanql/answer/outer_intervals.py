"""Intervals carried through SQL over noisy answers: two more columns beside each that has one.

Every noisy number comes with an interval; where all of those that a column rests on hold at once, so does
what is computed from them by interval arithmetic. Sums, means, minima, maxima and windows of them, and
whatever picks one of them, map the ends; arithmetic does as in output_intervals.py. Ranks, counts of
different values and conditions on noisy numbers have no interval, and neither has what is made of them.
Which rows there are is taken as it is: an interval is of a number in a row that is shown.

An end that is not known is NULL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sanql.answer.outer_arithmetic import ROUNDED, Ends, EndSizes, as_real, if_all, of_operator
from sanql.functions import call
from sanql.question import (
    AggregateRef,
    Call,
    ColumnRef,
    Derived,
    Expr,
    Facts,
    Field,
    Grouped,
    KeyRef,
    Literal,
    OverStatistics,
    PublicQuery,
    Rows,
    Scan,
    Selected,
    Subquery,
    SubqueryKind,
    Type,
    Union,
    UnitAggregate,
    Window,
    everything_in,
    walk,
)

if TYPE_CHECKING:
    from sanql.answer.outer import StatisticShown

REAL = Facts(Type.REAL)
_COUNTED = Facts(Type.INTEGER, Fraction(0), Fraction(2**62), nullable=False, grid=Fraction(1))
MAPPED = frozenset(["sum", "avg", "min", "max", "lag", "lead", "first_value", "last_value"])


class OuterIntervals:
    """Finds the intervals of a question's columns, and what columns of its statistics they need."""

    def __init__(
        self,
        query: OverStatistics,
        shown: Mapping[str, StatisticShown],
        without: frozenset[int] = frozenset(),
    ) -> None:
        self._query, self._shown, self._without = query, shown, without
        self._parts = everything_in(query.outer)
        self._sources = {
            part.slot: part for part in self._parts if isinstance(part, Scan | Derived)
        }
        self.wanted: dict[str, set[tuple[str, int]]] = {}
        """The ends that are needed: of which columns, and how many of them hold together."""
        self._together = 1
        self._adding: dict[int, tuple[_Adding, ...]] = {}
        self._made: dict[tuple[int, int, int], tuple[int, int] | None] = {}
        self._sizes = EndSizes()

    def noisy_without(self, ends: Mapping[int, object]) -> list[int]:
        """Return the columns that are noisy and have no interval."""
        rows, width = self._query.outer.rows, self._query.outer.width
        return [i for i in range(width) if i not in ends and self._is_noisy_field(rows, i)]

    def extended(self) -> tuple[PublicQuery, dict[int, tuple[int, int]]]:
        """Return the question with columns for ends, and where they are, by the columns they are of."""
        outer, rows = self._query.outer, self._query.outer.rows
        ends: dict[int, tuple[int, int]] = {}
        if isinstance(rows, Union):
            return outer, ends
        adding = _Adding(rows)
        for index in range(outer.width):
            value = rows.fields[index].value
            if value is None or index in self._without or rows_distinct(rows):
                continue
            numeric = value.facts.type in (Type.INTEGER, Type.REAL)
            if not numeric or not self._is_noisy_field(rows, index):
                continue
            self._together = self._resting_on(rows, value)
            found = self._ends(value, adding)
            if found is not None:
                ends[index] = adding.field(found.low), adding.field(found.high)
        return replace(outer, rows=self._rebuilt(adding.rows())), ends

    def _resting_on(self, rows: Rows, value: Expr) -> int:
        """Return how many noisy numbers a column rests on at most, each with an interval of its own."""
        leaves, mixing = self._leaves(rows, value)
        if not mixing:
            return max(1, len(leaves))
        return max(1, sum(self._shown[self._table(slot)].rows for slot, _ in leaves))

    def _table(self, slot: int) -> str:
        source = self._sources[slot]
        assert isinstance(source, Scan)  # noqa: S101  (a leaf is a column of one)
        return source.table

    def _leaves(self, rows: Rows, value: object) -> tuple[set[tuple[int, str]], bool]:
        """Return the noisy columns that a value rests on, and whether several rows are in it."""
        leaves: set[tuple[int, str]] = set()
        mixing = False
        pending: list[tuple[object, Rows]] = [(value, rows)]
        while pending:
            node, around = pending.pop()
            for part in everything_in(node) if not isinstance(node, ColumnRef) else [node]:
                if isinstance(part, Window | Subquery):
                    mixing = True
                if isinstance(part, AggregateRef) and isinstance(around, Grouped):
                    mixing = True
                    argument = around.aggregates[part.index].argument
                    if argument is not None:
                        pending.append((argument, around))
                if isinstance(part, KeyRef) and isinstance(around, Grouped):
                    pending.append((around.keys[part.index], around))
                if not isinstance(part, ColumnRef):
                    continue
                source = self._sources.get(part.slot)
                if isinstance(source, Scan):
                    if source.table in self._shown and part.name not in self._exact(source.table):
                        leaves.add((part.slot, part.name))
                elif isinstance(source, Derived):
                    branches = (
                        source.rows.branches if isinstance(source.rows, Union) else (source.rows,)
                    )
                    place = int(part.name.removeprefix("c"))
                    for branch in branches:
                        deeper = _value_at(branch, place)
                        if deeper is not None:
                            pending.append((deeper, branch))
        return leaves, mixing

    def _exact(self, table: str) -> frozenset[str]:
        """Return the columns of a statistic that have no noise: its keys, and what is made of them."""
        (query,) = (each.query for each in self._query.statistics if each.name == table)
        return frozenset(
            output.name
            for output in query.outputs
            if not any(isinstance(node, AggregateRef) for node in walk(output.expression))
        )

    def _is_noisy_field(self, rows: Rows, index: int) -> bool:
        if isinstance(rows, Union):
            return any(self._is_noisy_field(branch, index) for branch in rows.branches)
        value = rows.fields[index].value
        return value is not None and self._is_noisy(value, rows)

    def _is_noisy(self, value: object, rows: Rows) -> bool:
        return bool(self._leaves(rows, value)[0])

    def _ends(self, value: Expr, adding: _Adding) -> Ends | None:
        """Return the ends of a value's interval; None where it is noisy and has none."""
        rows = adding.of
        if not self._is_noisy(value, rows):
            return Ends(value, value)
        match value:
            case ColumnRef():
                return self._of_column(value)
            case AggregateRef(index) if isinstance(rows, Grouped):
                return self._of_aggregate(rows.aggregates[index], adding)
            case Window():
                return self._of_window(value, adding)
            case Subquery(ask=SubqueryKind.VALUE):
                return self._of_subquery(value)
            case Call(op, args):
                return self._of_call(op, value, args, adding)
            case _:
                return None

    def _of_column(self, column: ColumnRef) -> Ends | None:
        source = self._sources[column.slot]
        if isinstance(source, Scan):
            if column.name not in self._shown[source.table].with_intervals:
                return None
            self.wanted.setdefault(source.table, set()).add((column.name, self._together))
            low, high = (
                replace(column, name=name, facts=REAL, origin=(source.table, name))
                for name in (
                    Ends.column(column.name, "low", self._together),
                    Ends.column(column.name, "high", self._together),
                )
            )
            return Ends(low, high)
        places = self._of_field(source, int(column.name.removeprefix("c")))
        if places is None:
            return None
        low, high = (
            replace(column, name=f"c{place}", facts=REAL, origin=None, stored=False)
            for place in places
        )
        return Ends(low, high)

    def _of_field(self, source: Derived, index: int) -> tuple[int, int] | None:
        """Return where the ends of a subquery's column are, among the columns that it gets besides."""
        known = (source.slot, index, self._together)
        if known in self._made:
            return self._made[known]
        self._made[known] = None
        branches = _branches(source.rows)
        if branches is None:
            return None
        parts = self._adding.setdefault(source.slot, tuple(map(_Adding, branches)))
        values = [(part.of.fields[index].value, part) for part in parts]
        found = [None if value is None else self._ends(value, part) for value, part in values]
        ends = [each for each in found if each is not None]
        if len(ends) == len(parts):
            lows = [part.field(end.low) for part, end in zip(parts, ends, strict=True)]
            highs = [part.field(end.high) for part, end in zip(parts, ends, strict=True)]
            self._made[known] = lows[0], highs[0]
        return self._made[known]

    def _of_aggregate(self, aggregate: UnitAggregate, adding: _Adding) -> Ends | None:
        if aggregate.function not in MAPPED or aggregate.distinct or aggregate.argument is None:
            return None
        ends = self._ends(aggregate.argument, adding)
        if ends is None:
            return None
        counted = adding.aggregate(UnitAggregate("count", aggregate.argument, False, _COUNTED))
        return Ends(
            *(
                if_all(
                    adding.aggregate(UnitAggregate("count", end, False, _COUNTED)),
                    counted,
                    adding.aggregate(UnitAggregate(aggregate.function, end, False, REAL)),
                )
                for end in (ends.low, ends.high)
            )
        )

    def _of_window(self, window: Window, adding: _Adding) -> Ends | None:
        if window.function not in MAPPED or not window.args:
            return None
        if any(self._is_noisy(key, adding.of) for key in window.partition):
            return None
        ends = self._ends(window.args[0], adding)
        if ends is None:
            return None

        def of(end: Expr) -> Expr:
            mapped = replace(window, args=(end, *window.args[1:]), facts=REAL)
            if window.function not in ("sum", "avg", "min", "max"):
                return mapped
            counts = [
                replace(window, function="count", args=(each,), facts=_COUNTED)
                for each in (end, window.args[0])
            ]
            return if_all(counts[0], counts[1], mapped)

        return Ends(of(ends.low), of(ends.high))

    def _of_subquery(self, asked: Subquery) -> Ends | None:
        rows = asked.rows
        if not isinstance(rows, Grouped) or rows.fields[0].value is None:
            return None

        def of(which: str) -> Expr | None:
            adding = _Adding(rows)
            ends = self._ends(rows.fields[0].value, adding)  # type: ignore[arg-type]
            if ends is None:
                return None
            value = ends.low if which == "low" else ends.high
            found = adding.rows()
            alone = replace(found, fields=(Field("v", value, None),))
            return replace(asked, rows=alone, facts=REAL)

        low, high = of("low"), of("high")
        return None if low is None or high is None else Ends(low, high)

    def _of_call(
        self, op: str, value: Call, args: tuple[Expr, ...], adding: _Adding
    ) -> Ends | None:
        if op == "case":
            return self._of_case(args, adding)
        taken = args[:1] if op in ROUNDED or op == "nullif" or op.startswith("cast_") else args
        if not all(arg.facts.type in (Type.INTEGER, Type.REAL) for arg in taken):
            return None
        found = [self._ends(arg, adding) for arg in taken]
        operands = [each for each in found if each is not None]
        if len(operands) != len(found):
            return None
        ends = of_operator(op, value, args, operands)
        return ends if ends is not None and self._sizes.fit(ends) else None

    def _of_case(self, args: Sequence[Expr], adding: _Adding) -> Ends | None:
        """Return the ends of CASE, whose conditions must be exact."""
        lows, highs = [], []
        for place, arg in enumerate(args):
            if place % 2 == 0 and place + 1 < len(args):
                if self._is_noisy(arg, adding.of):
                    return None
                lows.append(arg)
                highs.append(arg)
                continue
            ends = self._ends(arg, adding)
            if ends is None:
                return None
            lows.append(as_real(ends.low))
            highs.append(as_real(ends.high))
        return Ends(call("case", *lows), call("case", *highs))

    def _rebuilt(self, node: Any) -> Any:
        """Return a tree in which subqueries in FROM have the columns that were added to them."""
        if isinstance(node, tuple):
            return tuple(map(self._rebuilt, node))
        if isinstance(node, Derived):
            parts = self._adding.get(node.slot)
            rows = node.rows if parts is None else _put_together(node.rows, parts)
            return Derived(node.slot, self._rebuilt(rows))
        if is_dataclass(node) and not isinstance(node, type | Facts | Literal):
            changed = {
                each.name: self._rebuilt(getattr(node, each.name))
                for each in fields(node)
                if isinstance(getattr(node, each.name), tuple)
                or is_dataclass(getattr(node, each.name))
            }
            same = all(changed[name] is getattr(node, name) for name in changed)
            return node if same else replace(node, **changed)
        return node


class _Adding:
    """Columns, and aggregates, that a SELECT gets besides its own."""

    def __init__(self, rows: Selected | Grouped) -> None:
        self.of = rows
        self._fields: list[Field] = []
        self._aggregates: list[UnitAggregate] = []

    def field(self, value: Expr) -> int:
        """Return the place of a column that is added."""
        place = len(self.of.fields) + len(self._fields)
        self._fields.append(Field(f"end {place}", value, None))
        return place

    def aggregate(self, aggregate: UnitAggregate) -> AggregateRef:
        """Return an aggregate that is added."""
        assert isinstance(self.of, Grouped)  # noqa: S101  (others have none)
        if aggregate not in self._aggregates:
            self._aggregates.append(aggregate)
        place = len(self.of.aggregates) + self._aggregates.index(aggregate)
        return AggregateRef(place, aggregate.facts)

    def rows(self) -> Selected | Grouped:
        """Return the SELECT with all of them."""
        more = (*self.of.fields, *self._fields)
        if isinstance(self.of, Grouped):
            return replace(
                self.of, fields=more, aggregates=(*self.of.aggregates, *self._aggregates)
            )
        return replace(self.of, fields=more)


def _branches(rows: Rows) -> tuple[Selected | Grouped, ...] | None:
    """Return the SELECTs whose rows these are, put together by UNION ALL; None where rows may merge."""
    if rows_distinct(rows):
        return None
    if not isinstance(rows, Union):
        return (rows,)
    found: list[Selected | Grouped] = []
    for branch in rows.branches:
        own = _branches(branch)
        if own is None:
            return None
        found += own
    return tuple(found)


def _put_together(rows: Rows, parts: Sequence[_Adding]) -> Rows:
    """Return rows with the columns that were added to all of the SELECTs that they come from."""
    if not isinstance(rows, Union):
        return parts[0].rows()
    made = tuple(part.rows() for part in parts)
    added = tuple(
        Field(each.name, ColumnRef("united", REAL, stored=False), None)
        for each in made[0].fields[len(rows.fields) :]
    )
    return replace(rows, branches=made, fields=(*rows.fields, *added))


def rows_distinct(rows: Rows) -> bool:
    """Return whether equal rows are shown once, so that a row is none of those it is made of."""
    return not isinstance(rows, Grouped) and rows.distinct


def _value_at(rows: Rows, place: int) -> Expr | None:
    return rows.fields[place].value if place < len(rows.fields) else None
