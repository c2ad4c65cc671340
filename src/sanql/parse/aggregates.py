"""Aggregates: what a statistic asks for, and why one without bounds cannot be private."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.constants import NULL, integer_literal, number_literal
from sanql.parse.contributions import PER_GROUP, total_of
from sanql.parse.functions import INTEGER_LIMIT, call
from sanql.parse.operators import unknown_construct
from sanql.parse.operators.refusals import as_typed, typed_name
from sanql.parse.remedies import stating_bounds
from sanql.parse.spellings import QUANTILES, SPELLINGS, canonical
from sanql.parse.tree import NUMERIC, Aggregate, Aggregation, Expr, Facts, Type

NOISY_RANGE = (Fraction(-(2**62)), Fraction(2**62))
COUNTED = Facts(Type.INTEGER, *NOISY_RANGE, nullable=False, grid=Fraction(1))
SPREADS: dict[type[exp.Expression], Aggregation] = {
    exp.Variance: Aggregation.VARIANCE_SAMPLE,
    exp.VariancePop: Aggregation.VARIANCE,
    exp.Stddev: Aggregation.DEVIATION_SAMPLE,
    exp.StddevSamp: Aggregation.DEVIATION_SAMPLE,
    exp.StddevPop: Aggregation.DEVIATION,
}
PAIRED: dict[type[exp.Expression], Aggregation] = {
    exp.CovarPop: Aggregation.COVARIANCE,
    exp.CovarSamp: Aggregation.COVARIANCE_SAMPLE,
    exp.Corr: Aggregation.CORRELATION,
}
EXTREMES: dict[type[exp.Expression], Fraction] = {exp.Min: Fraction(0), exp.Max: Fraction(1)}


@dataclass(frozen=True)
class Statistic:
    """A row of the list of statistics: the grammar's nodes, how it is written, how it is found."""

    kinds: tuple[type[exp.Expression], ...]
    written: str
    found: str


STATISTICS = (
    Statistic(
        (exp.Count, exp.CountIf),
        "`COUNT(*)`, `COUNT(x)`, `COUNT_IF(condition)`, `SUM(condition)`, `COUNT(DISTINCT unit)`",
        "a noisy count",
    ),
    Statistic(
        (exp.ApproxDistinct,),
        "`COUNT(DISTINCT x)`, `APPROX_COUNT_DISTINCT(x)`",
        "a noisy count; of one unit at most `rows_per_unit_max` values count",
    ),
    Statistic(
        (exp.Sum, exp.Avg),
        "`SUM(x)`, `AVG(x)`, `MEAN(x)`",
        "a noisy sum of x less the middle of its bounds, and a noisy count",
    ),
    Statistic(
        tuple(SPREADS),
        "`VAR_POP VAR_SAMP VARIANCE STDDEV STDDEV_POP STDDEV_SAMP`",
        "besides, a noisy sum of centred squares",
    ),
    Statistic(
        tuple(PAIRED),
        "`COVAR_POP COVAR_SAMP CORR`",
        "noisy sums of both values, their product and, for `CORR`, their squares",
    ),
    Statistic(
        (*QUANTILES, exp.Median, exp.Quantile, exp.WithinGroup, exp.ApproxQuantiles, exp.Bracket),
        "`MEDIAN(x)`, `QUANTILE_CONT(x, 0.9)`, `QUANTILE_DISC`, "
        "`PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)`, `PERCENTILE_DISC`, "
        "`APPROX_QUANTILE(x, 0.9)`, `APPROX_QUANTILES(x, 4)[OFFSET(1)]`",
        "the best place between the bounds, by noisy ranks; noisy counts around it give the interval",
    ),
    Statistic(
        tuple(EXTREMES),
        "`MIN(x)`, `MAX(x)`",
        "a quantile a few rows inside the extreme, which itself is one unit's value",
    ),
    Statistic(
        (exp.Filter,),
        "any of them with `FILTER (WHERE condition)`",
        "rows that do not meet the condition are left out of it",
    ),
)
AGGREGATES = tuple(kind for statistic in STATISTICS for kind in statistic.kinds)
FRACTION_DIGITS = 10**6


class Rows(Protocol):
    """What an aggregate needs of the binder: expressions over one row."""

    def row(self, node: exp.Expression) -> Expr:
        """Return an expression over one row."""

    def is_bare_unit(self, node: exp.Expression) -> bool:
        """Return whether the expression is the privacy unit's column and nothing more."""


def bind_aggregate(typed: exp.Expression, rows: Rows) -> Aggregate:
    """Return the statistic a node asks for, or refuse it by name."""
    node = canonical(typed)
    node.meta.setdefault("typed", typed_name(typed))
    if "per_group" in node.args:
        return _held(node, rows)
    return _bound(node, as_typed(typed), rows)


def written_out(aggregate: Aggregate, typed: exp.Expression) -> Aggregate:
    """Return a statistic with its text as it is understood; while it is bound it has what was typed.

    Writing takes longer than binding, so it waits until the question is known to be one.
    """
    text = typed.sql(dialect="duckdb", comments=False)
    if aggregate.total is not None:
        bounds = canonical(typed).args["per_group"].sql(dialect="duckdb")
        text = f"{text} with {PER_GROUP} => {bounds}"
    return replace(aggregate, text=text)


def _bound(node: exp.Expression, text: str, rows: Rows) -> Aggregate:
    """Return the statistic of a node in its one spelling; `text` is what was typed for it."""
    extra = {name for name, value in node.args.items() if value} - {"this", "expression", "big_int"}
    if extra or not isinstance(node, AGGREGATES) or isinstance(node, SPELLINGS):
        raise unknown_construct(node)
    if isinstance(node.this, exp.Distinct):
        return _distinct(node, node.this, text, rows)
    if type(node) in PAIRED:
        return _paired(node, text, rows)
    if isinstance(node, (exp.ApproxQuantiles, *QUANTILES)):
        return _quantile(node, text, rows)
    if node.args.get("expression"):
        raise unknown_construct(node)
    if isinstance(node, exp.Count):
        return _count(node, text, rows)
    argument = rows.row(node.this) if node.this is not None else NULL
    if argument.facts.type is Type.BOOLEAN:
        if isinstance(node, exp.Sum):  # how often it is true
            return Aggregate(Aggregation.COUNT, _when(argument), COUNTED, text)
        argument = _as_number(argument)
    if type(node) in EXTREMES:
        return _ranked(node, argument, EXTREMES[type(node)], text)
    return _numeric(node, argument, text)


def _held(node: exp.Expression, rows: Rows) -> Aggregate:
    """Return a sum, or a count as a sum of ones, to which a unit adds no more than the bounds."""
    total = total_of(node)
    bare = node.copy()
    bare.args.pop("per_group")
    found = bind_aggregate(bare, rows)
    if found.kind is Aggregation.COUNT:  # each row, or each row with a value, adds one
        one: Expr = integer_literal(1)
        argument = found.argument
        if argument is not None:
            one = call("case", call("not", call("is_null", argument)), one, NULL)
        found = replace(found, kind=Aggregation.SUM, argument=one)
    return replace(found, total=total)


def _count(node: exp.Expression, text: str, rows: Rows) -> Aggregate:
    inner = node.this
    if inner is None or isinstance(inner, exp.Star):
        if isinstance(inner, exp.Star) and any(inner.args.values()):
            raise unknown_construct(inner)
        return Aggregate(Aggregation.COUNT, None, COUNTED, text)
    argument = None if rows.is_bare_unit(inner) else rows.row(inner)
    if argument is not None and not argument.facts.nullable:
        argument = None  # never NULL: the same as COUNT(*)
    return Aggregate(Aggregation.COUNT, argument, COUNTED, text)


def _when(condition: Expr) -> Expr:
    return call("case", condition, integer_literal(1), NULL)


def _as_number(condition: Expr) -> Expr:
    one, zero = integer_literal(1), integer_literal(0)
    return call("case", condition, one, call("not", condition), zero, NULL)


def _numeric(node: exp.Expression, argument: Expr, text: str) -> Aggregate:
    low, high = _bounds(node, argument, text)
    if type(node) in SPREADS:
        kind = SPREADS[type(node)]
        width = high - low
        rooted = kind in (Aggregation.DEVIATION, Aggregation.DEVIATION_SAMPLE)
        # of two rows the sample's variance is twice their own, which is at most (width / 2)^2
        top = width if rooted else width * width / 2
        return Aggregate(kind, argument, Facts(Type.REAL, Fraction(0), top), text)
    if isinstance(node, exp.Avg):
        return Aggregate(Aggregation.AVERAGE, argument, Facts(Type.REAL, low, high), text)
    if argument.facts.type is Type.INTEGER:
        return Aggregate(Aggregation.SUM, argument, COUNTED, text)
    top = Fraction(INTEGER_LIMIT)
    facts = Facts(Type.REAL, -top, top, nullable=False)
    return Aggregate(Aggregation.SUM, argument, facts, text)


def _paired(node: exp.Expression, text: str, rows: Rows) -> Aggregate:
    kind = PAIRED[type(node)]
    arguments = []
    size = Fraction(1)
    for part in (node.this, node.args.get("expression")):
        bound = rows.row(part) if part is not None else NULL
        argument = _as_number(bound) if bound.facts.type is Type.BOOLEAN else bound
        low, high = _bounds(node, argument, text)
        arguments.append(argument)
        size *= high - low
    if kind is Aggregation.CORRELATION:
        size = Fraction(1)
    return Aggregate(kind, arguments[0], Facts(Type.REAL, -size, size), text, arguments[1])


def _quantile(node: exp.Expression, text: str, rows: Rows) -> Aggregate:
    asked = node.args.get("expression")
    if isinstance(node, exp.ApproxQuantiles) or isinstance(asked, exp.Array | exp.Tuple):
        raise _one_by_one(text)
    fraction = _constant(asked) if asked is not None else None
    if fraction is None or not 0 <= fraction <= 1 or fraction.denominator > FRACTION_DIGITS:
        raise Refused(
            "quantile_invalid",
            f"{text} needs a constant between 0 and 1, of at most six digits",
            "write, for example, QUANTILE_CONT(x, 0.9)",
        )
    return _ranked(node, rows.row(node.this), fraction, text)


def _one_by_one(text: str) -> Refused:
    return Refused(
        "quantile_list",
        f"{text} is a list, and an answer has one value in a cell",
        "name each as a column, QUANTILE_CONT(x, 0.25), QUANTILE_CONT(x, 0.5), … or "
        "APPROX_QUANTILES(x, 4)[OFFSET(1)], …: all quantiles of one value share one price",
    )


def _constant(node: exp.Expression) -> Fraction | None:
    """Return the value of a constant, where it is as simple as 0.5, 1 / 4 or 1 - 0.9."""
    match node:
        case exp.Paren():
            return _constant(node.this)
        case exp.Literal() if not node.args.get("is_string"):
            value = number_literal(str(node.this)).value
            return Fraction(value) if isinstance(value, int | Fraction) else None
        case exp.Div() | exp.Sub():
            left, right = _constant(node.this), _constant(node.expression)
            if left is None or right is None or (isinstance(node, exp.Div) and right == 0):
                return None
            return left / right if isinstance(node, exp.Div) else left - right
        case _:
            return None


def _ranked(node: exp.Expression, argument: Expr, fraction: Fraction, text: str) -> Aggregate:
    low, high = _bounds(node, argument, text)
    whole = argument.facts.type is Type.INTEGER and not isinstance(node, exp.PercentileCont)
    facts = (
        Facts(Type.INTEGER, low, high, grid=Fraction(1)) if whole else Facts(Type.REAL, low, high)
    )
    return Aggregate(Aggregation.QUANTILE, argument, facts, text, fraction=fraction)


def _bounds(node: exp.Expression, argument: Expr, text: str) -> tuple[Fraction, Fraction]:
    """Return the bounds of a number, or refuse what has none."""
    name = typed_name(node)
    if argument.facts.type not in NUMERIC:
        raise _not_a_number(argument.facts.type, text, name)
    low, high = argument.facts.low, argument.facts.high
    unlimited = argument.facts.type is Type.INTEGER and max(abs(low), abs(high)) >= 2**62  # type: ignore[arg-type]
    if unlimited or not isinstance(low, Fraction) or not isinstance(high, Fraction):
        raise no_bounds(text, name)
    return low, high


def _not_a_number(kind: Type, text: str, name: str) -> Refused:
    if kind in (Type.DATE, Type.TIMESTAMP):
        return Refused(
            "type_mismatch",
            f"{text} needs a number, and has dates",
            f"ask for a number of them: {name}(YEAR(x)), or {name}(DATE_DIFF('day', DATE '2020-01-01', "
            "x)) for days since a day of your own",
        )
    counted = "COUNT(DISTINCT x)" if name.upper() in ("MIN", "MAX") else "COUNT(x)"
    return Refused(
        "type_mismatch",
        f"{text} needs a number",
        f"use {counted}, {name}(CASE WHEN … THEN 1 ELSE 0 END), or CAST a text that holds numbers",
    )


def no_bounds(text: str, name: str) -> Refused:
    """Return the refusal of a statistic of a value that nothing bounds."""
    return Refused(
        "bounds_missing",
        f"{text} has no bounds, so one row could change it without limit",
        'let the owner declare bounds for the column, or bounds = "auto" for San to find them; or state '
        "your own in the question: " + stating_bounds(name),
    )


def _distinct(node: exp.Expression, inner: exp.Distinct, text: str, rows: Rows) -> Aggregate:
    values = inner.expressions
    one = len(values) == 1 and not isinstance(values[0], exp.Tuple)
    if not isinstance(node, exp.Count) or not one or inner.args.get("on"):
        raise Refused(
            "distinct_unsupported",
            f"{text} is not supported: DISTINCT goes with COUNT of one expression",
            "use COUNT(DISTINCT x), or the aggregate without DISTINCT",
        )
    if rows.is_bare_unit(values[0]):
        return Aggregate(Aggregation.COUNT_UNITS, None, COUNTED, text)
    condition = _unit_when(values[0], rows)
    if condition is not None:
        return Aggregate(Aggregation.COUNT_UNITS, _when(rows.row(condition)), COUNTED, text)
    argument = rows.row(values[0])
    if argument.facts.type is Type.REAL and argument.facts.grid is None:
        raise Refused(
            "distinct_real",
            f"{text} counts values with no fixed precision",
            "round them first: COUNT(DISTINCT ROUND(x, 2))",
        )
    return Aggregate(Aggregation.COUNT_DISTINCT, argument, COUNTED, text)


def _unit_when(node: exp.Expression, rows: Rows) -> exp.Expression | None:
    """Return the condition of CASE WHEN condition THEN unit END, which may only be counted."""
    while isinstance(node, exp.Paren):
        node = node.this
    if not isinstance(node, exp.Case) or node.this is not None or node.args.get("default"):
        return None
    branches = node.args["ifs"]
    if len(branches) != 1 or not rows.is_bare_unit(branches[0].args["true"]):
        return None
    return branches[0].this  # type: ignore[no-any-return]
