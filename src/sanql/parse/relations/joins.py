"""Joins: how tables are put side by side, and why rows of two units never meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from sqlglot import exp

from sanql.errors import Refused
from sanql.functions import call
from sanql.parse.relations.scope import Item, Scope, Visible
from sanql.policy import RowUnit, Table
from sanql.question import (
    Call,
    ColumnRef,
    Expr,
    Facts,
    From,
    Identifier,
    Join,
    JoinKind,
    SameIdentity,
    Scan,
    Subquery,
    Type,
    Window,
    conjuncts,
    is_private,
    scans,
    slots,
    walk,
)

if TYPE_CHECKING:
    from sanql.parse.relations.reader import Reader

CONDITION = Facts(Type.BOOLEAN, nullable=True)
KINDS = {"": JoinKind.INNER, "LEFT": JoinKind.LEFT, "RIGHT": JoinKind.RIGHT, "FULL": JoinKind.FULL}
# functions that are NULL as soon as an argument is
STRICT = frozenset(
    ["add", "subtract", "multiply", "divide", "negate", "abs", "floor", "ceil", "round"]
)


def bind_join(
    left: From, right: From, join: exp.Join, before: list[Item], scope: Scope, reader: Reader
) -> Join:
    """Return a join; `before` are the items already visible, the last one is the new one."""
    kind = _kind(join)
    after = scope.items[len(before) :]
    nullable_left = kind in (JoinKind.RIGHT, JoinKind.FULL)
    nullable_right = kind in (JoinKind.LEFT, JoinKind.FULL)
    merged = dict(scope.merged)
    condition = _condition(join, before, after, kind, scope, reader)
    for name, column in merged.items():
        if scope.merged[name] is column and (
            (nullable_left and _lies_in(column, slots(left)))
            or (nullable_right and _lies_in(column, slots(right)))
        ):
            scope.merged[name] = column.nullable()
    scope.items[:] = [
        *(item.nullable() if nullable_left else item for item in before),
        *(item.nullable() if nullable_right else item for item in after),
    ]
    return Join(kind, left, right, condition)


def _lies_in(column: Visible, places: frozenset[int]) -> bool:
    leaves = [
        *(walk(column.value) if column.value is not None else ()),
        *([column.identity] if column.identity is not None else ()),
    ]
    return any(leaf.slot in places for leaf in leaves if isinstance(leaf, ColumnRef | Identifier))


def _kind(join: exp.Join) -> JoinKind:
    side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
    extra = {name for name, value in join.args.items() if value} - {
        "this", "on", "using", "side", "kind", "method",
    }  # fmt: skip
    method = str(join.args.get("method") or "").upper()
    if extra or kind not in ("", "INNER", "OUTER", "CROSS") or method not in ("", "NATURAL"):
        name = " ".join(word for word in (method, side, kind) if word)
        raise Refused(
            "join_unsupported",
            f"{name} JOIN is not supported",
            "use INNER, LEFT, RIGHT or FULL JOIN; for SEMI and ANTI write EXISTS or NOT EXISTS",
        )
    return KINDS[side]


def _condition(
    join: exp.Join,
    before: list[Item],
    after: list[Item],
    kind: JoinKind,
    scope: Scope,
    reader: Reader,
) -> Expr | None:
    names = [str(name.name) for name in join.args.get("using") or ()]
    if str(join.args.get("method") or "").upper() == "NATURAL":
        names = _shared_names(before, after)
    if names:
        return _all([_using(name, before, after, kind, scope) for name in names])
    on = join.args.get("on")
    if on is None:
        if kind is not JoinKind.INNER:
            raise Refused(
                "join_condition", f"a {kind} join needs a condition", "add ON a.id = b.id"
            )
        return None
    if any(on.find_all(exp.Select)):
        raise Refused("join_condition", "a subquery cannot stand in ON", "put it into WHERE")
    condition = reader.binder(scope).row(on)
    if condition.facts.type not in (Type.BOOLEAN, Type.NULL):
        raise Refused("type_mismatch", "ON needs a condition", "compare, for example a.id = b.id")
    return condition


def _shared_names(before: list[Item], after: list[Item]) -> list[str]:
    here = {column.name.lower() for item in after for column in item.columns}
    shared = [c.name for item in before for c in item.columns if c.name.lower() in here]
    if not shared:
        raise Refused(
            "join_condition",
            "NATURAL JOIN finds no column that both sides have",
            "write ON with the columns you mean",
        )
    return list(dict.fromkeys(shared))


def _using(name: str, before: list[Item], after: list[Item], kind: JoinKind, scope: Scope) -> Expr:
    left, right = _only(name, before, scope), _only(name, after, scope)
    shown = right if kind is JoinKind.RIGHT else left
    if kind is JoinKind.FULL:
        if left.value is None or right.value is None:
            raise Refused(
                "join_condition",
                f"USING ({name}) of a FULL JOIN merges identifiers, which cannot be shown",
                "write ON with the two columns",
            )
        shown = Visible(left.name, call("coalesce", left.value, right.value), None)
    scope.merged[name.lower()] = shown
    if left.identity and right.identity and left.identity.entity == right.identity.entity:
        return SameIdentity(left.identity, right.identity, CONDITION)
    if left.value is None or right.value is None:
        raise unlinked(name)
    return call("equal", left.value, right.value)


def _only(name: str, items: list[Item], scope: Scope) -> Visible:
    columns = [column for column in (item.find(name) for item in items) if column is not None]
    if scope.merged.get(name.lower()) in columns:  # an earlier USING made one of several
        return scope.merged[name.lower()]
    if len(columns) != 1:
        what = "no column" if not columns else "several columns"
        raise Refused(
            "column_unknown" if not columns else "column_ambiguous",
            f"USING ({name}): one side of the join has {what} of that name",
            "write ON with the columns you mean",
        )
    return columns[0]


def _all(conditions: Sequence[Expr]) -> Expr:
    return reduce(lambda first, second: Call("and", (first, second), CONDITION), conditions)


def unlinked(what: str) -> Refused:
    """Return the refusal of putting rows of different units side by side."""
    return Refused(
        "join_across_units",
        f"{what} would put rows of different privacy units side by side",
        "link the tables by the unit's column, or along a foreign key that the policy declares",
    )


def check_joins(source: From, where: Expr | None, tables: Mapping[str, Table]) -> None:
    """Refuse a FROM in which rows of different units could meet, or a row could be multiplied.

    That rows of one unit only are paired is enforced when SQL is written; this check is about
    meaning: a join that says something else is refused instead of quietly narrowed.
    """
    private = [scan for scan in scans(source) if scan.private]
    by_row = [scan for scan in private if isinstance(tables[scan.table].unit, RowUnit)]
    if by_row and len(private) > 1:
        raise Refused(
            "join_across_units",
            f"each row of {by_row[0].table} is protected by itself and can be joined to public "
            "tables only",
            "ask over one of the private tables",
        )
    _check_links(source, [*conjuncts(where)])
    if by_row:
        _check_row_once(source, [*conjuncts(where)], tables)


def _check_links(source: From, inherited: list[Expr]) -> None:
    if not isinstance(source, Join):
        return
    own = [*conjuncts(source.on)]
    if source.kind is JoinKind.INNER:
        own += inherited
    if is_private(source.left) and is_private(source.right):
        sides = slots(source.left), slots(source.right)
        if not any(_links(condition, *sides) for condition in own):
            names = ", ".join(dict.fromkeys(scan.table for scan in scans(source) if scan.private))
            raise unlinked(f"joining {names} this way")
    inner = source.kind is JoinKind.INNER
    _check_links(source.left, own if inner else inherited if source.kind is JoinKind.LEFT else [])
    _check_links(source.right, own if inner else inherited if source.kind is JoinKind.RIGHT else [])


def _links(condition: Expr, left: frozenset[int], right: frozenset[int]) -> bool:
    if not isinstance(condition, SameIdentity):
        return False
    ends = condition.left.slot, condition.right.slot
    return (ends[0] in left and ends[1] in right) or (ends[1] in left and ends[0] in right)


def _check_row_once(source: From, inherited: list[Expr], tables: Mapping[str, Table]) -> None:
    """Refuse a join that could repeat a row: each public table is joined on its declared key."""
    if not isinstance(source, Join):
        return
    own = [*conjuncts(source.on), *(inherited if source.kind is JoinKind.INNER else [])]
    whose, other = source.left, source.right
    if not is_private(whose):
        whose, other = other, whose
    keeps_public = {
        JoinKind.LEFT: not is_private(source.left),
        JoinKind.RIGHT: not is_private(source.right),
        JoinKind.FULL: True,
    }
    if keeps_public.get(source.kind, False):
        raise Refused(
            "join_unsupported",
            "rows of a public table without a match belong to nobody and cannot be kept",
            "keep the rows of the private table: put it first, with LEFT JOIN",
        )
    keyed = isinstance(other, Scan) and any(
        names_key(condition, other.slot, tables[other.table].key, slots(whose)) for condition in own
    )
    if not keyed:
        what = other.table if isinstance(other, Scan) else "a subquery"
        raise Refused(
            "join_multiplies",
            f"joining {what} could repeat a row, and each row is protected by itself",
            'join it on a column that the policy declares as its key: key = "…"',
        )
    for side, keeps in ((source.left, JoinKind.LEFT), (source.right, JoinKind.RIGHT)):
        # what an outer join asks for leaves the rows of the side it keeps as they are
        binding = own if source.kind is JoinKind.INNER else inherited
        _check_row_once(side, binding if source.kind in (JoinKind.INNER, keeps) else [], tables)


def names_key(condition: Expr, slot: int, key: str | None, known: frozenset[int]) -> bool:
    """Return whether a condition fixes the key of a table by a value of the row joined so far.

    Both sides have one type, in which the engine compares without rounding.
    """
    if key is None or not isinstance(condition, Call) or condition.op != "equal":
        return False
    for one, other in (condition.args, condition.args[::-1]):
        if (
            isinstance(one, ColumnRef)
            and (one.slot, one.name.lower()) == (slot, key.lower())
            and one.facts.type is other.facts.type
            and one.facts.type is not Type.REAL
            and all(
                node.slot in known
                for node in walk(other)
                if isinstance(node, ColumnRef | Identifier)
            )
            and not any(isinstance(node, Subquery | Window) for node in walk(other))
        ):
            return True
    return False


def keeps_orphans(source: From) -> frozenset[int]:
    """Return the private slots that are missing from rows a join keeps for a public table."""
    if not isinstance(source, Join):
        return frozenset()
    orphaned = keeps_orphans(source.left) | keeps_orphans(source.right)
    left, right = is_private(source.left), is_private(source.right)
    if source.kind in (JoinKind.LEFT, JoinKind.FULL) and right and not left:
        orphaned |= slots(source.right)
    if source.kind in (JoinKind.RIGHT, JoinKind.FULL) and left and not right:
        orphaned |= slots(source.left)
    return orphaned


def is_null_without(expression: Expr | None, missing: frozenset[int]) -> bool:
    """Return whether an expression is NULL where these slots have no row."""
    match expression:
        case ColumnRef() | Identifier():
            return expression.slot in missing
        case Call(op, args) if op in STRICT or op.startswith("cast_"):
            return any(is_null_without(arg, missing) for arg in args)
        case _:
            return False
