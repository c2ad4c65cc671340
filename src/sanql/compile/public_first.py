"""Subqueries over public tables alone, computed before and apart from the private statement.

Two statements share nothing but finished tables, so neither the sizes nor the values of private rows
can change how a public number is computed. That matters where the order of rows does: the sum of real
numbers that have no bounds, and so no grid, ends in other bits when they are added in another order.

- A subquery that looks at nothing but public tables is a table of its own, or a constant.
- One that is tied to the asking row by equalities (SELECT SUM(p.x) FROM p WHERE p.k = t.k) is the
  same sum for each key, a finished table, of which the asking row picks one.
- Any other sum of real numbers without bounds mixes public and private rows, and is refused where it
  would be written (`unit_aggregates.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from sanql.functions import call
from sanql.kernel import PublicTable
from sanql.question import (
    AggregateRef,
    Call,
    ColumnRef,
    Derived,
    Expr,
    Field,
    From,
    Grouped,
    Identifier,
    Join,
    KeyRef,
    Listed,
    Rows,
    Scan,
    Selected,
    Subquery,
    Type,
    Union,
    UnitAggregate,
    Window,
    conjuncts,
    integer_literal,
    is_private,
    slots,
    walk,
)


@dataclass
class PublicTables:
    """The public tables that a statement needs finished, each once."""

    made: list[PublicTable] = field(default_factory=list)

    def add(self, sql: str, parameters: Sequence[object]) -> str:
        """Return where the rows of a SELECT over public tables will be found."""
        for known in self.made:
            if known.sql == sql and known.parameters == tuple(parameters):
                return f"temp.main.{known.name}"
        self.made.append(PublicTable(f"public{len(self.made)}", sql, tuple(parameters)))
        return f"temp.main.{self.made[-1].name}"


def stands_alone(rows: Rows) -> bool:
    """Return whether rows are made of public tables alone, with no look at a row around them."""
    return not is_private(rows) and not set(_free(rows))


def depends_on_order(aggregate: UnitAggregate) -> bool:
    """Return whether an aggregate adds real numbers that have no bounds, and so no grid."""
    if aggregate.function not in ("sum", "avg") or aggregate.argument is None:
        return False
    return aggregate.argument.facts.type is Type.REAL and not aggregate.argument.facts.bounded


def tied_to_a_key(rows: Grouped, slot: Callable[[], int]) -> Rows:
    """Return the same rows with their sums moved into a subquery over public tables alone, if possible.

    The conditions that tie them to a row outside must be equalities between a value inside and one
    outside; the values inside become keys. `slot` gives a new subquery its place.
    """
    if not any(map(depends_on_order, rows.aggregates)):
        return rows
    here = slots(rows.source)
    measured = [
        aggregate.argument for aggregate in rows.aggregates if aggregate.argument is not None
    ]
    inside = [*rows.keys, *measured]
    shown = [
        expression for expression in (*_values(rows.fields), rows.having) if expression is not None
    ]
    if set(_in_from(rows.source)) or any(
        not set(_read(expression)) <= here for expression in inside
    ):
        return rows
    if any(set(_read(expression)) & here for expression in shown):
        return rows
    local, ties, outside = [], [], []
    for condition in conjuncts(rows.where):
        tie = _tie(condition, here)
        if set(_read(condition)) <= here:
            local.append(condition)
        elif not set(_read(condition)) & here:
            outside.append(condition)
        elif tie is not None:
            ties.append(tie)
        else:
            return rows
    return _split(rows, local, ties, outside, slot())


def _split(
    rows: Grouped,
    local: list[Expr],
    ties: list[tuple[Expr, Expr]],
    outside: list[Expr],
    slot: int,
) -> Rows:
    keys = tuple(dict.fromkeys([*rows.keys, *(own for own, _ in ties)]))
    columns = [
        *(Field(f"k{i}", KeyRef(i, key.facts), None) for i, key in enumerate(keys)),
        *(Field(f"a{i}", AggregateRef(i, p.facts), None) for i, p in enumerate(rows.aggregates)),
    ]
    inner = Grouped(rows.source, _all(local), keys, rows.aggregates, tuple(columns), None, False)
    shown = [
        ColumnRef(f"c{i}", column.value.facts, slot, stored=False)
        for i, column in enumerate(columns)
        if column.value is not None
    ]
    source = Derived(slot, inner)
    picked = [call("equal", shown[keys.index(own)], other) for own, other in ties]
    key_values, numbers = shown[: len(rows.keys)], shown[len(keys) :]
    if not rows.keys:
        return _of_one(rows, source, numbers, _all([*picked, *outside]))
    fields = tuple(_with(field, key_values, numbers) for field in rows.fields)
    having = [] if rows.having is None else [_put(rows.having, key_values, numbers)]
    return Selected(source, _all([*picked, *outside, *having]), fields)


def _of_one(rows: Grouped, source: From, numbers: Sequence[Expr], where: Expr | None) -> Grouped:
    """Return the one group of rows that have no keys: where no key fits, its numbers are of no rows."""
    largest = tuple(
        UnitAggregate("max", number, False, replace(number.facts, nullable=True))
        for number in numbers
    )
    taken = [
        call("coalesce", AggregateRef(i, aggregate.facts), integer_literal(0))
        if rows.aggregates[i].function == "count"
        else AggregateRef(i, aggregate.facts)
        for i, aggregate in enumerate(largest)
    ]
    fields = tuple(_with(field, (), taken) for field in rows.fields)
    having = None if rows.having is None else _put(rows.having, (), taken)
    return Grouped(source, where, (), largest, fields, having, rows.one_each)


def _tie(condition: Expr, here: frozenset[int]) -> tuple[Expr, Expr] | None:
    """Return a value inside and the value outside that it must be equal to."""
    if not isinstance(condition, Call) or condition.op != "equal":
        return None
    for own, other in (condition.args, condition.args[::-1]):
        if set(_read(own)) <= here and not set(_read(other)) & here:
            return own, other
    return None


def _with(shown: Field, keys: Sequence[Expr], numbers: Sequence[Expr]) -> Field:
    if shown.value is None:
        return shown
    return replace(shown, value=_put(shown.value, keys, numbers))


def _put(expression: Expr, keys: Sequence[Expr], numbers: Sequence[Expr]) -> Expr:
    """Return an expression over groups with columns in the place of their keys and numbers."""
    match expression:
        case KeyRef(index):
            return keys[index]
        case AggregateRef(index):
            return numbers[index]
        case Call(args=args):
            return replace(expression, args=tuple(_put(arg, keys, numbers) for arg in args))
        case Subquery(operand=operand) if operand is not None:
            return replace(expression, operand=_put(operand, keys, numbers))
        case _:
            return expression


def _all(conditions: Sequence[Expr]) -> Expr | None:
    if len(conditions) < 2:
        return next(iter(conditions), None)
    return call("and", *conditions)


def _free(rows: Rows) -> Iterator[int]:
    """Yield the slots that rows read but do not hold themselves."""
    match rows:
        case Union(branches):
            for branch in branches:
                yield from _free(branch)
            return
        case Selected():
            expressions = [rows.where, rows.qualify, *_values(rows.fields)]
        case Grouped():
            measured = (aggregate.argument for aggregate in rows.aggregates)
            expressions = [rows.where, *rows.keys, *measured, *_values(rows.fields), rows.having]
    here = slots(rows.source)
    read = [
        slot for expression in expressions if expression is not None for slot in _read(expression)
    ]
    yield from (slot for slot in read if slot not in here)
    yield from _in_from(rows.source)


def _values(fields: Iterable[Field]) -> Iterator[Expr | None]:
    for column in fields:
        yield column.value
        yield column.identity


def _in_from(source: From) -> Iterator[int]:
    """Yield the slots that conditions and subqueries of a FROM read but that it does not hold."""
    match source:
        case Scan() | Listed():
            pass
        case Derived(_, rows):
            yield from _free(rows)
        case Join(_, left, right, on):
            yield from _in_from(left)
            yield from _in_from(right)
            if on is not None:
                yield from (slot for slot in _read(on) if slot not in slots(source))


def _read(expression: Expr) -> Iterator[int]:
    """Yield the slots whose columns an expression reads, those of subqueries around it included."""
    for node in walk(expression):
        match node:
            case ColumnRef(slot=slot) | Identifier(slot=slot):
                yield slot
            case Subquery(rows=rows, unit_of=unit_of):
                yield from _free(rows)
                yield from slots(unit_of) if unit_of is not None else ()
            case Window(unit_of=unit_of):
                yield from slots(unit_of)
            case _:
                pass  # it holds nothing but what `walk` finds besides
