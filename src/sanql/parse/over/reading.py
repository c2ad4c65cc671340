"""From the tree of a question to the statistics in it, and the question over their answers.

Top down, the largest parts that are questions of their own are taken out: each is read like any
question, with everything that entails, and what is left reads their answers by name. So a subquery that
is about one unit stays where it is, inside the statistic around it, and one about all units becomes a
statistic. A SELECT whose groups have windows, or other statistics beside their own, is two (blocks.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.expressions.naming import column_name
from sanql.parse.over.blocks import (
    GROUPS,
    has_windows,
    is_grouped,
    own_parts,
    set_clauses,
    split,
    with_windows_written_out,
)
from sanql.parse.over.correlated import uncorrelated
from sanql.parse.over.forms import as_table, joined_value, limited, one_value, reference
from sanql.parse.over.possible import NODES_MAX
from sanql.parse.relations.public_query import public_query
from sanql.parse.relations.reader import Reader
from sanql.parse.relations.scope import Scope
from sanql.parse.text.select import rows_of_union
from sanql.policy import Table
from sanql.question import (
    InnerStatistic,
    OverStatistics,
    PublicQuery,
    Query,
    tables_read,
)

STATISTICS_MAX = 60
ReadQuestion = Callable[[exp.Select, Mapping[str, Table]], Query | PublicQuery]
"""Reads a SELECT over tables as a question, or refuses it."""
Named = Mapping[str, exp.CTE]
Q = TypeVar("Q", exp.Select, exp.Union)


def read_over_statistics(
    tree: exp.Select, tables: Mapping[str, Table], read: ReadQuestion
) -> OverStatistics:
    """Return the question over statistics that a tree asks; refuse what it is not."""
    splitter = _Splitter(tables, read)
    outer = splitter.outermost(tree)
    query = public_query(outer, Reader(splitter.all_tables))
    used = splitter.used_by(query)
    if not used:
        raise _nothing_left()
    return OverStatistics(
        tuple(used), query, {each.name: splitter.virtual[each.name] for each in used}
    )


class _Splitter:
    """Takes statistics out of a tree; what cannot be taken out is refused."""

    def __init__(self, tables: Mapping[str, Table], read: ReadQuestion) -> None:
        self._tables = tables
        self._read = read
        self._private = {name.lower() for name, table in tables.items() if not table.public}
        self.virtual: dict[str, Table] = {}
        self._statistics: list[InnerStatistic] = []
        self._nodes_left = NODES_MAX

    @property
    def all_tables(self) -> Mapping[str, Table]:
        """The tables of the policy, and those that statistics are."""
        return {**self._tables, **self.virtual}

    def used_by(self, query: PublicQuery) -> list[InnerStatistic]:
        """Return the statistics that a question over them reads, and those that they read."""
        wanted = set(tables_read(query))
        for each in reversed(self._statistics):
            if each.name in wanted:
                wanted |= tables_read(each.query)
        return [each for each in self._statistics if each.name in wanted]

    def outermost(self, tree: exp.Select) -> exp.Select:
        """Return the SELECT that is left of a whole question; its columns keep their names."""
        self._spend(sum(1 for _ in tree.walk()))
        tree = tree.copy()
        tree.set("expressions", [_called_as_typed(item) for item in tree.expressions])
        return self._select(tree, {}, nested=False)

    def _query(self, node: exp.Expr, named: Named) -> exp.Query:
        """Return what is left of a subquery: SELECT, UNION, or either of them in brackets."""
        if isinstance(node, exp.Subquery | exp.Paren) and not node.args.get("alias"):
            return self._query(node.this, named)
        if isinstance(node, exp.Union):
            return self._union(node, named)
        if not isinstance(node, exp.Select):
            raise _nothing_left()
        return self._select(node, named, nested=True)

    def _union(self, node: exp.Union, named: Named) -> exp.Query:
        left = node.copy()
        own = self._own_names(left, named)
        inside = {**named, **own}
        left.set("with_", None)
        for side in ("this", "expression"):
            left.set(side, self._query(left.args[side], inside))
        if left.args.get("order") or left.args.get("limit") or left.args.get("offset"):
            return _with_names(limited(rows_of_union(left)), own)
        return _with_names(left, own)

    def _select(self, node: exp.Select, named: Named, *, nested: bool) -> exp.Select:
        left = node.copy()
        own = self._own_names(left, named)
        inside = {**named, **own}
        left.set("with_", None)
        with_windows_written_out(left)
        return _with_names(self._block(left, inside, nested=nested), own)

    def _own_names(self, node: exp.Query, named: Named) -> Named:
        """Return what a WITH names: what is left of it where it is statistics, or as it was."""
        clause = node.args.get("with_")
        if clause is None:
            return {}
        if clause.args.get("recursive"):
            raise _nothing_left()
        found: dict[str, exp.CTE] = {}
        for item in clause.expressions:
            kept = item.copy()
            around = {**named, **found}
            if self._reads_private(item.this, around):
                kept.set("this", self._left_of(kept.this, around))
            found[str(item.alias).lower()] = kept
        return found

    def _block(self, select: exp.Select, named: Named, *, nested: bool) -> exp.Select:
        """Return what is left of one SELECT, whose WITH has been read."""
        if nested and self._reads_private(select, named):
            with self._trying(), _allowed():
                return self._statistic(select, named)
        self._read_from(select, named)
        if any(self._is_private(item, named) for item in _items(select)):
            left = self._over_groups(select, named)
        else:
            self._read_subqueries(select, named)
            left = select if select.args.get("from_") else self._from_one_row(select)
        return self._over_rows(left, nested=nested)

    def _over_groups(self, select: exp.Select, named: Named) -> exp.Select:
        """Return what is left of a SELECT over private rows: they must be grouped."""
        before = select.copy()
        self._read_subqueries(select, named)
        if select != before:
            with self._trying(), _allowed():
                return self._statistic(select, named)
        if not is_grouped(select):
            raise _nothing_left()
        inner, outer = split(select, self._visible(select, named))
        table = self._statistic(inner, named)
        outer.set("from_", exp.From(this=table.subquery(GROUPS)))
        return outer

    def _from_one_row(self, select: exp.Select) -> exp.Select:
        """Return a SELECT without FROM as one from the one row that a statistic without groups is."""
        for each in self._statistics:
            if not each.query.keys and not each.query.sets:
                return select.from_(exp.table_(exp.to_identifier(each.name, quoted=True)))
        raise _nothing_left()

    def _over_rows(self, select: exp.Select, *, nested: bool) -> exp.Select:
        """Return a SELECT over public rows in a form that such questions have."""
        around = has_windows(select) or select.args.get("qualify") or select.args.get("distinct")
        if is_grouped(select) and around:
            inner, outer = split(select, self._visible(select, {}))
            outer.set("from_", exp.From(this=inner.subquery(GROUPS)))
            select = outer
        if nested and (select.args.get("limit") or select.args.get("offset")):
            return limited(select)
        return select

    def _read_from(self, select: exp.Select, named: Named) -> None:
        """Put what is left of subqueries in FROM into their places, where they are statistics."""
        for item in _items(select):
            if isinstance(item, exp.Subquery) and self._reads_private(item.this, named):
                item.set("this", self._left_of(item.this, named))

    def _left_of(self, query: exp.Expr, named: Named) -> exp.Expr:
        """Return what is left of a subquery in FROM; rows of units stay, but for statistics in them."""
        with self._trying(), _allowed():
            return self._query(query, named)
        if isinstance(query, exp.Select) and not query.args.get("with_"):
            self._read_from(query, named)
            self._read_subqueries(query, named)
        return query

    def _read_subqueries(self, select: exp.Select, named: Named) -> None:
        """Put what is left of subqueries in expressions into their places, where they are statistics."""
        clauses = ("expressions", "where", "group", "having", "qualify", "order")
        found = [part for part in own_parts(select, *clauses) if isinstance(part, exp.Query)]
        for join in select.args.get("joins") or ():
            on = join.args.get("on")
            found += [p for p in on.walk(prune=_is_query) if _is_query(p)] if on is not None else []
        for part in found:
            with self._trying(), _allowed():
                self._read_subquery(part, named)

    def _read_subquery(self, part: exp.Query, named: Named) -> None:
        private = self._reads_private(part, named)
        around = part.parent
        if isinstance(around, exp.In | exp.Exists | exp.Any | exp.All):
            if private:
                left = self._query(part, named)
                part.replace(left.subquery() if isinstance(around, exp.In) else left)
            return
        inner = part.this if isinstance(part, exp.Subquery) else part
        if not private:
            value = one_value(inner)
            if value is not None:
                part.replace(value)
            return
        if isinstance(inner, exp.Select):
            tied = uncorrelated(inner, self._visible(inner, named))
            if tied is not None:
                table = self._statistic(tied.inner, named)
                part.replace(exp.paren(joined_value(tied, table)))
                return
        left = self._query(inner, named)
        part.replace(one_value(left) or left.subquery())

    def _statistic(self, select: exp.Select, named: Named) -> exp.Select:
        """Return a SELECT from the answer to a statistic, which is read as a question of its own."""
        whole = _with_names(select.copy(), self._names_used(select, named))
        self._spend(sum(1 for _ in whole.walk()))
        query = self._read(whole, self.all_tables)
        if not isinstance(query, Query) or not query.aggregates:
            raise _nothing_left()  # keys by themselves are those that appear, not those that are there
        return reference(self._named(query), [output.name for output in query.outputs])

    def _named(self, query: Query) -> str:
        """Return the name of a statistic; the same one is measured once."""
        for known in self._statistics:
            if known.query == query:
                return known.name
        if len(self._statistics) >= STATISTICS_MAX:
            raise Refused(
                "query_too_complex",
                f"the question is over more than {STATISTICS_MAX} statistics",
                "ask it in parts",
            )
        number = len(self._statistics) + 1
        taken = {name.lower() for name in self._tables}
        name = f"statistic {number}"
        while name in taken:
            name += " "
        read = tables_read(query)
        stages = [each.stage for each in self._statistics if each.name in read]
        self._statistics.append(InnerStatistic(name, query, max(stages, default=-1) + 1))
        self.virtual[name] = as_table(name, query)
        return name

    def _names_used(self, select: exp.Select, named: Named) -> Named:
        """Return what of WITH a SELECT reads, in the order in which it was written."""
        wanted: set[str] = set()
        pending: list[exp.Expr] = [select]
        while pending:
            for table in pending.pop().find_all(exp.Table):
                name = str(table.name).lower()
                if name in named and name not in wanted:
                    wanted.add(name)
                    pending.append(named[name].this)
        return {name: named[name] for name in named if name in wanted}

    def _reads_private(self, node: exp.Expr, named: Named) -> bool:
        """Return whether a private table is read in a subquery, also by a name of WITH."""
        parts = list(node.walk())
        self._spend(len(parts))
        inside = {str(each.alias).lower(): each for each in parts if isinstance(each, exp.CTE)}
        for table in (each for each in parts if isinstance(each, exp.Table)):
            name = str(table.name).lower()
            if name in inside:
                continue
            if name in named:
                others = {other: cte for other, cte in named.items() if other != name}
                if self._reads_private(named[name].this, others):
                    return True
            elif name in self._private:
                return True
        return False

    def _spend(self, nodes: int) -> None:
        """Count what is looked at; a text that keeps San busy is refused as what it is otherwise."""
        self._nodes_left -= nodes
        if self._nodes_left < 0:
            raise Refused(
                "query_too_complex",
                "the question has too many statistics within each other",
                "ask it in parts",
            )

    def _is_private(self, item: exp.Expr, named: Named) -> bool:
        return self._reads_private(item, named)

    def _visible(self, select: exp.Select, named: Named) -> Callable[[exp.Column], bool]:
        """Return whether a name is a column of what FROM holds."""

        @cache  # read when it is first asked for: what FROM holds may not be readable yet
        def scope() -> Scope:
            rows = exp.Select(expressions=[exp.Star()])
            set_clauses(rows, select, "from_", "joins")
            return Reader(self.all_tables).scope(
                _with_names(rows, self._names_used(rows, named)), None
            )

        def visible(column: exp.Column) -> bool:
            prefix = str(column.table) or None
            return scope().find(prefix, str(column.name)) is not None

        return visible

    @contextmanager
    def _trying(self) -> Iterator[None]:
        """Forget the statistics that were found inside, where it ends in a refusal."""
        count, virtual = len(self._statistics), dict(self.virtual)
        try:
            yield
        except Refused:
            del self._statistics[count:]
            self.virtual = virtual
            raise


@contextmanager
def _allowed() -> Iterator[None]:
    """Let what is refused stay as it was: the part is no statistic, and may be about one unit."""
    try:
        yield
    except Refused:
        return


def _called_as_typed(item: exp.Expr) -> exp.Expr:
    """Return an item of SELECT that keeps its name whatever becomes of it."""
    if isinstance(item, exp.Alias | exp.Column) or item.is_star:
        return item
    return exp.alias_(item, column_name(item), quoted=True)


def _is_query(node: exp.Expr) -> bool:
    return isinstance(node, exp.Query)


def _items(select: exp.Select) -> list[exp.Expr]:
    """Return what FROM holds, item by item."""
    source = select.args.get("from_")
    found = [source.this] if source is not None else []
    found += [join.this for join in select.args.get("joins") or ()]
    inside = [join.this for item in list(found) for join in item.args.get("joins") or ()]
    return found + inside


def _with_names(query: Q, named: Named) -> Q:
    """Return a query with those names of a WITH that it reads."""
    if not named:
        return query
    kept: dict[str, exp.CTE] = {}
    pending: list[exp.Expr] = [query]
    while pending:
        for table in pending.pop().find_all(exp.Table):
            name = str(table.name).lower()
            if name in named and name not in kept:
                kept[name] = named[name]
                pending.append(named[name].this)
    if kept:
        listed = [named[name].copy() for name in named if name in kept]
        own = query.args.get("with_")
        listed += [each.copy() for each in own.expressions] if own is not None else []
        query.set("with_", exp.With(expressions=listed))
    return query


def _nothing_left() -> Refused:
    """Return a refusal that is never shown: that of the question as it stands is."""
    return Refused(
        "subquery_unsupported",
        "a part of the question is neither a statistic nor computed from statistics",
        "ask for its statistics one by one",
    )
