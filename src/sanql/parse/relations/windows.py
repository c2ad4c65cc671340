"""Windows: functions over the rows of one unit, in an order without ties."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.expressions.refusals import typed_name, unknown_construct
from sanql.parse.relations.frames import STEPS_MAX, frame_of, refused_frame
from sanql.parse.relations.public_windows import bind_public_function, frame_of_public
from sanql.parse.statistics.unit_aggregates import UNIT_AGGREGATES, bind_unit_aggregate
from sanql.parse.text.places import place_of
from sanql.question import BIGINT_RANGE, Expr, Facts, Literal, Ordering, Type, Window, is_private

if TYPE_CHECKING:
    from sanql.parse.expressions.binder import Binder

PLACES: dict[type[exp.Expression], str] = {
    exp.RowNumber: "row_number",
    exp.Rank: "rank",
    exp.DenseRank: "dense_rank",
}
PICKS: dict[type[exp.Expression], str] = {
    exp.Lag: "lag",
    exp.Lead: "lead",
    exp.FirstValue: "first_value",
    exp.LastValue: "last_value",
}

ARGUMENTS = frozenset(["this", "offset", "default", "big_int"])
PLACE = Facts(Type.INTEGER, Fraction(1), BIGINT_RANGE[1], nullable=False, grid=Fraction(1))


def bind_window(
    node: exp.Window,
    binder: Binder,  # type: ignore[type-arg]
    limit: int | None,
) -> Window:
    """Return a window function; its partition must hold rows of one unit only.

    `limit` is how many rows of a unit may count, which bounds its counts and sums.
    """
    source = binder.scope.source
    assert source is not None  # noqa: S101  (windows stand in SELECT, after FROM)
    extra = {name for name, value in node.args.items() if value} - {
        "this", "partition_by", "order", "over", "spec",
    }  # fmt: skip
    if extra:
        raise unknown_construct(node)
    partition = [binder.key(key) for key in node.args.get("partition_by") or ()]
    whose = [binder.visible(key) for key in node.args.get("partition_by") or ()]
    known = [c.identity for c in whose if c is not None and c.identity is not None]
    if is_private(source) and all(identity.facts.nullable for identity in known):
        raise Refused(
            "window_across_units",
            "a window without the unit in PARTITION BY looks at rows of several units"
            + (", and an outer join may leave out the one named" if known else ""),
            "add the unit's column to PARTITION BY",
        )
    order = node.args.get("order")
    orderings = tuple(_ordering(item, binder) for item in order.expressions) if order else ()
    if is_private(source):
        frame = _frame_within_units(node, bool(orderings))
        function, args, facts = _function(node.this, binder, bool(orderings), limit)
    else:
        frame = frame_of_public(node, ordered=bool(orderings))
        bound = bind_public_function(node.this, binder, bool(orderings))
        function, args, facts = bound or _function(node.this, binder, bool(orderings), limit)
    return Window(function, args, tuple(partition), orderings, source, facts, frame)


def check_no_windows(select: exp.Select, grouped: bool) -> None:
    """Refuse windows over the statistics of a question: there is nothing yet that computes with noise."""
    clauses = [*select.expressions, select.args.get("having"), select.args.get("order")]
    for clause in filter(None, clauses):
        for window in clause.find_all(exp.Window):
            if window.find_ancestor(exp.Select) is select and (grouped or _counts_inside(window)):
                raise Refused(
                    "window_over_aggregates",
                    "a window stands over statistics where it cannot be computed from them",
                    "ask for the counts or sums by themselves, with the same GROUP BY, and compute "
                    "shares, ranks and running totals around them: that costs nothing more",
                    place_of(window),
                )


def _counts_inside(window: exp.Window) -> bool:
    """Return whether a window has aggregates besides its own function: SUM(COUNT(*)) OVER ()."""
    own = window.this
    while isinstance(own, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        own = own.this
    return any(aggregate is not own for aggregate in window.find_all(exp.AggFunc))


def _frame_within_units(node: exp.Window, ordered: bool) -> str:
    """Return the frame of a window over rows of units, or nothing where there is none.

    Rows are counted in an order without ties (compile/windows.py); all that are as great as each other
    are one group, whatever order they come in.
    """
    frame = frame_of(node)
    if frame and not isinstance(node.this, (*UNIT_AGGREGATES, exp.FirstValue, exp.LastValue)):
        raise refused_frame()
    if frame and not ordered:
        raise Refused("window_order", "a frame needs an order", "add ORDER BY to OVER (…)")
    return frame


def _ordering(item: exp.Expression, binder: Binder) -> Ordering:  # type: ignore[type-arg]
    return Ordering(
        binder.key(item.this), bool(item.args.get("desc")), bool(item.args.get("nulls_first"))
    )


def _function(
    node: exp.Expression,
    binder: Binder,  # type: ignore[type-arg]
    ordered: bool,
    limit: int | None,
) -> tuple[str, tuple[Expr, ...], Facts]:
    kind = type(node)
    if {name for name, value in node.args.items() if value} - ARGUMENTS:
        raise unknown_construct(node)
    if kind in PLACES:
        if not ordered:
            raise Refused(
                "window_order", f"{PLACES[kind].upper()} needs an order", "add ORDER BY to OVER (…)"
            )
        return PLACES[kind], (), PLACE
    if isinstance(node, UNIT_AGGREGATES):
        aggregate = bind_unit_aggregate(node, binder, limit)
        if aggregate.distinct:
            raise unknown_construct(node)
        return (
            aggregate.function,
            () if aggregate.argument is None else (aggregate.argument,),
            aggregate.facts,
        )
    if kind not in PICKS:
        raise Refused(
            "construct_unsupported",
            f"{typed_name(node)} is not supported over a window",
            "over a window use ROW_NUMBER, RANK, DENSE_RANK, LAG, LEAD, FIRST_VALUE, LAST_VALUE, COUNT, "
            "SUM, AVG, MIN or MAX",
        )
    value = binder.row(node.this)
    facts = replace(value.facts, nullable=True)
    args: tuple[Expr, ...] = (value,)
    offset = node.args.get("offset")
    if offset is not None:
        steps = binder.row(offset)
        if (
            not isinstance(steps, Literal)
            or not isinstance(steps.value, int)
            or not 0 <= steps.value <= STEPS_MAX
        ):
            raise Refused(
                "window_offset",
                f"the offset must be a constant from 0 to {STEPS_MAX:,}",
                "write LAG(x, 1)",
            )
        args = (value, steps)
    if node.args.get("default") is not None:
        raise Refused("window_offset", "a default is not supported", "use COALESCE(LAG(x), 0)")
    return PICKS[kind], args, facts
