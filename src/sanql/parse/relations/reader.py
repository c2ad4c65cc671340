"""FROM, WITH and subqueries: from the grammar's nodes to relations that are per unit by construction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import count
from types import MappingProxyType

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.expressions.binder import Binder
from sanql.parse.relations import asking, subqueries, windows
from sanql.parse.relations.joins import bind_join
from sanql.parse.relations.kinds import KindsRead
from sanql.parse.relations.listed_rows import listed_rows
from sanql.parse.relations.names_before import write_out_names_before
from sanql.parse.relations.scope import COMPARED_MAX, Item, Scope, derived_item, table_item
from sanql.parse.relations.units import by_row, rows_limit
from sanql.parse.text.places import at
from sanql.policy import ColumnUnit, Table, ViaUnit
from sanql.question import Derived, Expr, From, Join, JoinKind, Rows, Scan, UnitAggregate

ITEMS_MAX = 100  # of FROM, at any depth: WITH can double a question with every line
EXPRESSIONS_MAX = (
    2_500  # looked at; those of a text within limits are fewer, unless WITH repeats them
)
# a clause, why it has no place in a question, and what to write instead
UNSUPPORTED = {
    "laterals": ("LATERAL", "not there yet", "join the tables, or use a subquery in FROM"),
    "pivots": (
        "PIVOT",
        "what the rows hold would decide which columns there are",
        "name them, FOR k IN ('a', 'b') GROUP BY g, or GROUP BY the column and pivot the answer",
    ),
    "sample": (
        "sampling",
        "an answer must not depend on chance but by its noise",
        "leave it out; San adds what noise is needed",
    ),
    "into": ("SELECT INTO", "questions change nothing", "take the answer and store it yourself"),
    "locks": ("row locks", "questions change nothing", "leave them out"),
    "hint": ("hints", "the plan is San's", "leave them out"),
    "kind": ("SELECT AS STRUCT/VALUE", "an answer has one value in a cell", "name the columns"),
    "connect": (
        "CONNECT BY",
        "nothing bounds how much of one unit it repeats",
        "join the tables",
    ),
    "match": (
        "MATCH_RECOGNIZE",
        "it would look at rows of several units",
        "use a window partitioned by the unit, in a subquery",
    ),
    "windows": ("a named WINDOW", "not there yet", "write OVER (…) where the window is used"),
    "qualify": (
        "QUALIFY outside a subquery",
        "outside, there are no rows but noisy ones",
        "use it in a subquery in FROM, with a window",
    ),
    "limit": (
        "LIMIT in a subquery",
        "which rows it keeps would depend on those of others",
        "leave it out, or number the rows of a unit with ROW_NUMBER() and ask for r <= 10",
    ),
    "offset": (
        "OFFSET in a subquery",
        "which rows it keeps would depend on those of others",
        "leave it out, or number the rows of a unit with ROW_NUMBER()",
    ),
}


@dataclass(frozen=True)
class CommonTable:
    """A common table expression: its text, and the names that could be seen where it stands."""

    query: exp.Expression
    columns: tuple[str, ...]
    named: Mapping[str, CommonTable]


class Reader:
    """Reads what FROM holds; every item gets a slot of its own, at any depth.

    With `held`, what has the range of a type is read as if it had a smaller one (type_ranges.py).
    """

    def __init__(self, tables: Mapping[str, Table], held: bool = False) -> None:
        self.tables = tables
        self.held = held
        self._by_name = {name.lower(): table for name, table in tables.items()}
        self._slots = count()
        self._expressions = count(1)
        self._unread: dict[int, exp.Expression] = {}
        self._kinds = KindsRead()

    def scope(self, select: exp.Select, around: Scope | None) -> Scope:
        """Return the scope of a SELECT: what its FROM, with its joins, makes visible."""
        named = self.named(select, around.named if around is not None else {})
        source = select.args.get("from_")
        if source is None:
            asks = any(select.find(exp.Subquery) for select in select.expressions)
            raise Refused(
                "no_table",
                "the question reads no table"
                + (
                    " itself: what it shows is asked by a SELECT of its own, in brackets"
                    if asks
                    else ""
                ),
                "ask that by itself" if asks else f"add FROM; the tables are {self.listed}",
            )
        scope = Scope([], {}, around, named)
        relation: From | None = None
        for first, joins in _between_commas(source.this, select.args.get("joins") or []):
            inner = Scope([], {}, around, named)
            joined = self._item(first, inner)
            for join in joins:
                joined = self._joined(joined, join, inner)
            self._show(inner, scope)
            relation = Join(JoinKind.INNER, relation, joined, None) if relation else joined
        scope.source = relation
        write_out_names_before(select, scope.has)
        return scope

    @property
    def listed(self) -> str:
        """The tables by name, for a refusal."""
        return ", ".join(self.tables) or "none"

    def named(
        self, node: exp.Expression, known: Mapping[str, CommonTable]
    ) -> Mapping[str, CommonTable]:
        """Return the subqueries that can be read by name here: those known, and those of a WITH."""
        clause = node.args.get("with_")
        if clause is None:
            return known
        if clause.args.get("recursive"):
            with at(clause):
                raise Refused(
                    "clause_unsupported",
                    "WITH RECURSIVE is not supported: nothing bounds how much of one unit it repeats",
                    "write the steps out, or join the table once more for each",
                )
        names = dict(known)
        for item in clause.expressions:
            alias = item.args["alias"]
            columns = tuple(str(column.name) for column in alias.args.get("columns") or ())
            self._unread[id(item.this)] = alias
            names[str(alias.name).lower()] = CommonTable(
                item.this, columns, MappingProxyType(dict(names))
            )
        return MappingProxyType(names)

    def _item(self, node: exp.Expression, scope: Scope) -> From:
        """Return one item of FROM, and make its columns visible."""
        with at(node):
            return self._read(node, scope)

    def _read(self, node: exp.Expression, scope: Scope) -> From:
        if isinstance(node, exp.Subquery):
            return self._subquery(node, scope)
        if isinstance(node, exp.Paren):
            return self._item(node.this, scope)
        if isinstance(node, exp.Values | exp.Unnest):
            return self._listed(node, scope)
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise Refused(
                "not_a_table",
                "FROM must name tables of the policy or hold subqueries over them",
                f"the tables are {self.listed}",
            )
        joins = node.args.get("joins") or ()
        for name, value in node.args.items():
            if value and name not in ("this", "alias", "joins"):
                what, why, remedy = UNSUPPORTED.get(
                    name, (f"{name} on a table", "a table is named alone", "name the table alone")
                )
                raise Refused("clause_unsupported", f"{what} is not supported: {why}", remedy)
        named = scope.named.get(str(node.name).lower())
        inner = Scope([], {}, scope.around, scope.named)
        relation: From
        relation = self._reference(node, named, inner) if named else self._table(node, inner)
        for join in joins:
            relation = self._joined(relation, join, inner)
        self._show(inner, scope)
        return relation

    def _listed(self, node: exp.Expression, scope: Scope) -> From:
        """Return rows that are written in the question."""
        bind = self.binder(Scope([], {}, None, {})).row
        listed, item = listed_rows(node, self._slot(), bind)
        inner = Scope([item], {}, scope.around, scope.named)
        relation: From = listed
        for join in node.args.get("joins") or ():
            relation = self._joined(relation, join, inner)
        self._show(inner, scope)
        return relation

    def _table(self, node: exp.Table, scope: Scope) -> Scan:
        table = self._by_name.get(str(node.name).lower())
        if table is None:
            known = [*self._by_name, *scope.named]
            near = get_close_matches(str(node.name).lower(), known[:COMPARED_MAX], n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise Refused(
                "table_unknown",
                f"there is no table {node.name}",
                f"{hint}the tables are {self.listed}",
            )
        if isinstance(table.unit, ColumnUnit | ViaUnit) and table.rows_per_unit_max is None:
            raise Refused(
                "limits_missing",
                f"the owner has not decided how many rows of one unit may count in {table.name}",
                "let the owner declare rows_per_unit_max; `sanql suggest` proposes one",
            )
        alias = node.args.get("alias")
        if alias is not None and alias.args.get("columns"):
            raise Refused(
                "clause_unsupported", "column aliases on a table", "use the column's name"
            )
        self._kinds.read(table)
        slot = self._slot()
        item = table_item(table, str(node.alias) or table.name, slot, self.tables)
        scope.items.append(item)
        return Scan(slot, table.name, not table.public)

    def _reference(self, node: exp.Table, named: CommonTable, scope: Scope) -> Derived:
        self._unread.pop(id(named.query), None)
        rows = self.rows(named.query, Scope([], {}, None, named.named))
        alias = node.args.get("alias")
        columns = [str(c.name) for c in (alias.args.get("columns") if alias else None) or ()]
        return self._derived(
            rows, str(node.alias) or str(node.name), columns or named.columns, scope
        )

    def _subquery(self, node: exp.Subquery, scope: Scope) -> From:
        extra = {n for n, v in node.args.items() if v} - {"this", "alias", "with_", "joins"}
        if extra:
            raise Refused(
                "clause_unsupported",
                f"{sorted(extra)[0].strip('_').upper()} on a subquery is not supported",
                "leave it out",
            )
        inner = Scope([], {}, scope.around, scope.named)
        relation: From
        if isinstance(node.this, exp.Table):  # FROM (a JOIN b …), or FROM (a) AS b
            relation = self._item(_called(node.this, node.args.get("alias")), inner)
        else:
            around = Scope([], {}, None, scope.named)
            alias = node.args.get("alias")
            columns = [str(c.name) for c in (alias.args.get("columns") if alias else None) or ()]
            rows = self.rows(node.this, around)
            relation = self._derived(rows, str(node.alias) or "subquery", columns, inner)
        for join in node.args.get("joins") or ():
            relation = self._joined(relation, join, inner)
        self._show(inner, scope)
        return relation

    def _derived(
        self, rows: Rows, alias: str, columns: tuple[str, ...] | list[str], scope: Scope
    ) -> Derived:
        slot = self._slot()
        item = derived_item(rows, alias, slot)
        if columns:
            item = Item(alias, subqueries.renamed(item.columns, columns))
        scope.items.append(item)
        return Derived(slot, rows)

    def _slot(self) -> int:
        """Return a number for one more item of FROM; a WITH that is read twice counts twice."""
        slot = next(self._slots)
        if slot >= ITEMS_MAX:
            raise Refused(
                "query_too_complex",
                f"the question reads more than {ITEMS_MAX} tables and subqueries, counting those "
                "in WITH as often as they are used",
                "ask it in parts",
            )
        return slot

    def note_expression(self) -> None:
        """Count one more expression that is looked at; those in a WITH count as often as it is read."""
        if next(self._expressions) > EXPRESSIONS_MAX:
            raise Refused(
                "query_too_complex",
                f"the question has more than {EXPRESSIONS_MAX:,} expressions, counting those in WITH as "
                "often as they are used",
                "ask it in parts",
            )

    def _show(self, inner: Scope, scope: Scope) -> None:
        """Let a FROM see what one of its items shows; inside, the item saw nothing but itself."""
        for item in inner.items:
            if item.alias.lower() in {known.alias.lower() for known in scope.items}:
                raise Refused(
                    "alias_twice",
                    f"two tables of the question are called {item.alias}",
                    f"give one another name: {item.alias} AS other",
                )
            scope.items.append(item)
        scope.merged.update(inner.merged)

    def _joined(self, left: From, join: exp.Join, scope: Scope) -> Join:
        before = list(scope.items)
        right = self._item(join.this, scope)
        with at(join):
            return bind_join(left, right, join, before, scope, self)

    def check_read(self) -> None:
        """Refuse a WITH that nothing reads: it has not been looked at."""
        for alias in self._unread.values():
            with at(alias):
                raise Refused("with_unread", f"WITH {alias.name} is never read", "leave it out")

    def binder(self, scope: Scope) -> Binder[UnitAggregate]:
        """Return a binder for one unit's rows, whose aggregates are exact."""
        return subqueries.unit_binder(scope, self)

    def rows(self, node: exp.Expression, around: Scope) -> Rows:
        """Return a subquery's rows."""
        with at(node):
            return subqueries.bind_rows(node, around, self)

    def exists(self, node: exp.Exists, binder: Binder) -> Expr:  # type: ignore[type-arg]
        """Return whether a subquery has a row."""
        return asking.bind_exists(node, binder.scope, self)

    def member(self, node: exp.In, binder: Binder) -> Expr:  # type: ignore[type-arg]
        """Return whether a value is among those of a subquery."""
        return asking.bind_member(node, binder, self)

    def value(self, node: exp.Subquery, binder: Binder) -> Expr:  # type: ignore[type-arg]
        """Return the only value of a subquery."""
        return asking.bind_value(node, binder.scope, self)

    def constant(self, node: exp.Subquery, binder: Binder) -> Expr:  # type: ignore[type-arg]
        """Return the only value of a subquery that stands by itself."""
        return asking.bind_value(node, Scope([], {}, None, binder.scope.named), self)

    def window(self, node: exp.Window, binder: Binder) -> Expr:  # type: ignore[type-arg]
        """Return a function over the rows of the same unit."""
        source = binder.scope.source
        if source is not None and by_row(source, self):
            raise Refused(
                "window_across_units",
                "a window looks at several rows, and each row is protected by itself",
                "leave the window out, or GROUP BY what you partition by, outside",
            )
        limit = rows_limit(source, self) if source is not None else None
        return windows.bind_window(node, binder, limit)


def _called(table: exp.Table, alias: exp.Expression | None) -> exp.Table:
    """Return a table in brackets under the name that stands behind them."""
    if alias is None:
        return table
    if table.args.get("joins"):
        raise Refused(
            "clause_unsupported",
            f"a name behind joined tables in brackets, {alias.name}, is not supported",
            "name the tables inside the brackets",
        )
    called: exp.Table = table.copy()
    called.set("alias", alias.copy())
    return called


def _between_commas(
    first: exp.Expression, joins: list[exp.Join]
) -> list[tuple[exp.Expression, list[exp.Join]]]:
    """Return what stands between the commas of FROM: JOIN binds more tightly than a comma."""
    items: list[tuple[exp.Expression, list[exp.Join]]] = [(first, [])]
    for join in joins:
        if any(value for name, value in join.args.items() if name != "this"):
            items[-1][1].append(join)
        else:
            items.append((join.this, []))
    return items


def refuse_clauses(select: exp.Select, known: frozenset[str]) -> None:
    """Refuse every clause that is not known, by name."""
    for name, value in select.args.items():
        if not value or name in known:
            continue
        unknown = (name.strip("_").upper(), "it has no place in a question", "leave it out")
        what, why, remedy = UNSUPPORTED.get(name, unknown)
        with at(value):
            raise Refused("clause_unsupported", f"{what} is not supported: {why}", remedy)
