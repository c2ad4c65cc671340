"""Group keys whose possible values are listed in public tables.

A key computed from public tables alone has no values but those in the rows of these tables. Where
conditions of the question are about these tables too, only the rows that fulfil them are left: the
suppliers of one country, the nations of one region, the names that go with the numbers. All of it
is public, so reading it costs nothing, and every such group appears, empty or not.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace

from sanql.parse import STRICT
from sanql.policy import Table, TableDomain
from sanql.question import (
    Call,
    ColumnRef,
    Derived,
    Expr,
    From,
    Join,
    JoinKind,
    Listed,
    Literal,
    Scan,
    Selected,
    Type,
    column_facts,
    conjuncts,
    slots,
    walk,
)

COMPARISONS = frozenset(["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
# what is true of a key is true of its equal in the table that lists it: a truth about the value alone
CHOOSING = COMPARISONS | {"between", "in", "like", "ilike", "and", "or", "not"}


@dataclass(frozen=True)
class Lookup:
    """The different values that some keys of a question have together in joined public tables.

    Those of the `nullable` keys may be NULL; where `absent`, all are in rows that match no public one.
    """

    keys: tuple[int, ...]
    expressions: tuple[Expr, ...]
    source: From
    conditions: tuple[Expr, ...]
    nullable: tuple[int, ...] = ()
    absent: bool = False


def lookups(
    keys: Mapping[int, Expr],
    source: From,
    where: Expr | None,
    tables: Mapping[str, Table],
    unknown: Container[int] = (),
    null_groups: bool = False,
) -> tuple[Lookup, ...]:
    """Return how to read from public tables the values of those keys that depend on them alone.

    A key of which nothing is `unknown` but what rows hold has the values of a public column that every
    row's is equal to: joined with the nations, it is one of theirs.

    With `null_groups` NULL is a value too where a public column has it, and where an outer join keeps
    rows without a match. No condition is true of these, so that a table which one is about has none.
    """
    reading = _Reading(tables)
    reading.read(source, [*conjuncts(where)], kept=True)
    listed = {index: key for index, key in keys.items() if reading.lists(key)}
    resolved = {index: reading.resolve(key) for index, key in listed.items()}
    equals = dict(reading.equals())
    equal = {
        index: equals[key.slot, key.name]
        for index, key in resolved.items()
        if index in unknown and isinstance(key, ColumnRef) and (key.slot, key.name) in equals
    }
    resolved |= equal
    public = {
        index: expression
        for index, expression in resolved.items()
        if expression is not None and reading.is_public(expression) and _is_exact(expression)
    }
    conditions = [test for test in reading.tests() if reading.is_public(test)]
    components = _connected(reading.scans, conditions)
    read_alone = []
    for component in components:
        inside = {i: e for i, e in public.items() if _slots(e) <= component}
        if inside:
            tests = tuple(test for test in conditions if _slots(test) <= component)
            scans = [reading.scans[slot] for slot in sorted(component)]
            lookup = Lookup(tuple(inside), tuple(inside.values()), _side_by_side(scans), tests)
            if null_groups:
                absent = not tests and reading.is_missing(component)
                nullable = tuple(i for i in inside if i not in equal and keys[i].facts.nullable)
                lookup = replace(lookup, nullable=nullable, absent=absent)
            read_alone.append(lookup)
    return tuple(read_alone)


def chosen_of_table(
    index: int,
    key: ColumnRef,
    domain: TableDomain,
    where: Expr | None,
    tables: Mapping[str, Table],
) -> Lookup | None:
    """Return the values of a key's public table that pass conditions on the key; None where none applies.

    A number with decimals is compared before it is rounded to its key, so that a value is excluded
    does not mean that its key is.
    """
    public = tables.get(domain.table)
    column = public.columns.get(domain.column) if public is not None else None
    if column is None or key.facts.type is Type.REAL:
        return None
    facts = column_facts(replace(column, bounds=None))  # keys are what is listed, not its ends
    listed = ColumnRef(column.name, facts, key.slot, (domain.table, column.name))
    tests = tuple(
        _asked_of(test, listed)
        for test in conjuncts(where)
        if _is_about(test, key) and _slots(test)
    )
    if not tests or listed.facts.type is not key.facts.type:
        return None
    return Lookup((index,), (listed,), Scan(key.slot, domain.table, False), tests)


def _is_about(test: Expr, key: ColumnRef) -> bool:
    """Return whether a condition compares a key with constants, and says nothing else."""
    match test:
        case ColumnRef(slot=slot, name=name):
            return (slot, name) == (key.slot, key.name) and test.stored == key.stored
        case Literal():
            return True
        case Call(op, args):
            return op in CHOOSING and all(_is_about(arg, key) for arg in args)
        case _:
            return False


def _asked_of(test: Expr, listed: ColumnRef) -> Expr:
    """Return the condition about the column that lists the key's values."""
    match test:
        case ColumnRef():
            return listed
        case Call(args=args):
            return replace(test, args=tuple(_asked_of(arg, listed) for arg in args))
        case _:
            return test


class _Reading:
    """What a FROM reads of public tables, with subqueries that only rename and filter seen through."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self._tables = tables
        self._fields: dict[int, Selected] = {}
        self._tests: list[Expr] = []
        self._missing: set[int] = set()
        self.scans: dict[int, Scan] = {}

    def read(self, source: From, tests: list[Expr], kept: bool) -> None:
        """Note the public tables, and the tests that every row which is `kept` fulfils."""
        self._tests += tests if kept else []
        self._missing |= frozenset() if kept else slots(source)
        match source:
            case Scan(slot, _, private):
                if not private:
                    self.scans[slot] = source
            case Derived(slot, Selected(distinct=False, qualify=None) as rows):
                self._fields[slot] = rows
                self.read(rows.source, [*conjuncts(rows.where)], kept)
            case Derived() | Listed():
                pass
            case Join(kind, left, right, on):
                inner = kind is JoinKind.INNER
                self._tests += [*conjuncts(on)] if kept and inner else []
                self.read(left, [], kept and kind in (JoinKind.INNER, JoinKind.LEFT))
                self.read(right, [], kept and kind in (JoinKind.INNER, JoinKind.RIGHT))

    def tests(self) -> Iterator[Expr]:
        """Yield the tests, over the columns of tables."""
        for test in self._tests:
            resolved = self.resolve(test)
            if resolved is not None and self.lists(test):
                yield resolved

    def equals(self) -> Iterator[tuple[tuple[int, str], ColumnRef]]:
        """Yield columns of somebody's rows, each with a public one that it is equal to in every row.

        Both have one type, in which the engine compares without rounding.
        """
        for test in self.tests():
            match test:
                case Call("equal", (ColumnRef() as one, ColumnRef() as other)):
                    for own, public in ((one, other), (other, one)):
                        alike = own.facts.type is public.facts.type is not Type.REAL
                        if alike and public.slot in self.scans and own.slot not in self.scans:
                            yield (own.slot, own.name), public
                case _:
                    pass

    def is_missing(self, component: frozenset[int]) -> bool:
        """Return whether an outer join may leave out all of some tables."""
        return component <= self._missing

    def lists(self, expression: Expr) -> bool:
        """Return whether an outer join's row without a match makes an expression NULL, if anything.

        Else it has a value there that no row of the public tables has, such as COALESCE(x, 'none').
        """
        match expression:
            case ColumnRef(slot=slot) if slot in self._fields:
                value = self._field(expression)
                return value is None or self.lists(value)
            case Call(op, args):
                strict = op in STRICT or op in COMPARISONS or op.startswith("cast_")
                return all(map(self.lists, args)) and (strict or not any(map(self._lacks, args)))
            case _:
                return True

    def _lacks(self, expression: Expr) -> bool:
        """Return whether an expression reads a column that an outer join may leave out."""
        for node in walk(expression):
            if isinstance(node, ColumnRef):
                value = self._field(node)
                if node.slot in self._missing or (value is not None and self._lacks(value)):
                    return True
        return False

    def _field(self, column: ColumnRef) -> Expr | None:
        """Return what a subquery's column is inside."""
        if column.slot not in self._fields:
            return None
        return self._fields[column.slot].fields[int(column.name.removeprefix("c"))].value

    def resolve(self, expression: Expr) -> Expr | None:
        """Return an expression over tables' columns; None where there is more to it."""
        match expression:
            case Literal():
                return expression
            case ColumnRef(slot=slot) if slot in self._fields:
                value = self._field(expression)
                return self.resolve(value) if value is not None else None
            case ColumnRef():
                return expression if expression.stored else None
            case Call(args=args):
                resolved = [self.resolve(arg) for arg in args]
                known = tuple(argument for argument in resolved if argument is not None)
                return replace(expression, args=known) if len(known) == len(resolved) else None
            case _:
                return None

    def is_public(self, expression: Expr) -> bool:
        """Return whether an expression is computed from public tables, and from something."""
        read = _slots(expression)
        return bool(read) and read <= self.scans.keys()


def _slots(expression: Expr) -> frozenset[int]:
    return frozenset(node.slot for node in walk(expression) if isinstance(node, ColumnRef))


def _is_exact(expression: Expr) -> bool:
    return expression.facts.type is not Type.REAL or expression.facts.grid is not None


def _connected(scans: Mapping[int, Scan], tests: list[Expr]) -> list[frozenset[int]]:
    """Return the tables in parts that tests connect; parts are never multiplied with each other."""
    components = [frozenset({slot}) for slot in scans]
    for test in tests:
        read = _slots(test)
        if len(read) > 1 and _keeps_few(test):
            touched = [component for component in components if component & read]
            components = [component for component in components if not component & read]
            components.append(frozenset().union(*touched))
    return components


def _keeps_few(test: Expr) -> bool:
    """Return whether a test leaves few pairs of rows: equality, or comparisons with constants."""
    if isinstance(test, Call) and test.op == "equal":
        return True
    return all(
        any(isinstance(arg, Literal) for arg in node.args)
        for node in walk(test)
        if isinstance(node, Call) and node.op in COMPARISONS
    )


def _side_by_side(scans: list[Scan]) -> From:
    source: From = scans[0]
    for scan in scans[1:]:
        source = Join(JoinKind.INNER, source, scan, None)
    return source
