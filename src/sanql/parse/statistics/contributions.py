"""BigQuery's named arguments of an aggregate: how much one row, or one unit in one group, may add.

ZetaSQL's `SUM(x CLAMPED BETWEEN low AND high)` is the second of them in other words.

`contribution_bounds_per_row => (low, high)` moves each value to the nearer end, and is rewritten as
just that. `contribution_bounds_per_group => (low, high)` holds what one unit adds to one group within
the ends; it stays on the node as `per_group`, which only the binder of noisy statistics knows: every
other reader of the tree refuses a node with an argument it does not know.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp
from sqlglot.parsers.duckdb import DuckDBParser

from sanql.errors import Refused
from sanql.question import number_literal

PER_ROW, PER_GROUP = "contribution_bounds_per_row", "contribution_bounds_per_group"
CLAMPED = "CLAMPED BETWEEN"
NAMES = (
    "SUM", "AVG", "COUNT", "VAR_POP", "VAR_SAMP", "VARIANCE", "STDDEV", "STDDEV_POP",
    "STDDEV_SAMP", "PERCENTILE_CONT", "APPROX_QUANTILES", "APPROX_QUANTILE",
)  # fmt: skip
PLAIN: dict[str, Callable[..., exp.Expression]] = {
    name: DuckDBParser.FUNCTIONS[name] for name in NAMES
}
OF_TWO = ("PERCENTILE_CONT", "APPROX_QUANTILES", "APPROX_QUANTILE")
# statistics of which the grammar knows nothing but the name
OTHER_NAMES = {
    "MEAN": "AVG",
    "APPROX_PERCENTILE": "APPROX_QUANTILE",
    "PERCENTILE_APPROX": "APPROX_QUANTILE",
    "ANON_QUANTILES": "APPROX_QUANTILES",
    "COUNT_BIG": "COUNT",
} | {f"ANON_{name}": name for name in NAMES}
# what of a unit's rows these take is each value by itself, so CLAMPED holds that
OF_VALUES = frozenset(NAMES) - {"SUM", "AVG", "COUNT"}


def clamped(value: exp.Expr, low: exp.Expr | None, high: exp.Expr | None) -> exp.Expr:
    """Return `value CLAMPED BETWEEN low AND high` as the grammar keeps it until `plain` reads it."""
    ends = exp.Tuple(expressions=[low or exp.Null(), high or exp.Null()])
    ends.meta["words"] = CLAMPED
    return exp.Kwarg(this=exp.var(CLAMPED), expression=exp.Tuple(expressions=[value, ends]))


def unclamped(operands: list[exp.Expression], argument: str = PER_GROUP) -> list[exp.Expression]:
    """Return the operands with CLAMPED BETWEEN taken apart: the value, then its named argument."""
    unwrapped: list[exp.Expression] = []
    for operand in operands:
        if isinstance(operand, exp.Kwarg) and operand.this.name == CLAMPED:
            value, ends = operand.expression.expressions
            unwrapped += [value, exp.Kwarg(this=exp.var(argument), expression=ends)]
        else:
            unwrapped.append(operand)
    return unwrapped


def plain(node: exp.Anonymous) -> exp.Expression | None:
    """Return the statistic that a function of the grammar's unknown names is, if it is one."""
    typed = str(node.this).upper()
    name = OTHER_NAMES.get(typed, typed)
    operands = unclamped(node.expressions, PER_ROW if name in OF_VALUES else PER_GROUP)
    values = [operand for operand in operands if not isinstance(operand, exp.Kwarg)]
    limits = _limits([operand for operand in operands if isinstance(operand, exp.Kwarg)], name)
    if name not in PLAIN or not values:
        return None
    if len(values) != 1 and name not in OF_TWO:
        return None
    if PER_ROW in limits:
        if name == "COUNT":
            raise Refused(
                "contribution_unsupported",
                f"{PER_ROW} says nothing about COUNT: each row counts once",
                f"use {PER_GROUP} => (0, 3), or leave it out",
            )
        values[0] = _moved(values[0], limits[PER_ROW])
    made = PLAIN[name](values)
    if PER_GROUP in limits:
        _check_per_group(name, values[0], limits[PER_GROUP])
        made.set("per_group", limits[PER_GROUP])
    return made


def total_of(node: exp.Expression) -> tuple[Fraction, Fraction] | None:
    """Return what one unit may add to one group, where the question says so."""
    ends = node.args.get("per_group")
    return _ends(ends) if ends is not None else None


def _limits(named: list[exp.Kwarg], name: str) -> dict[str, exp.Expression]:
    limits: dict[str, exp.Expression] = {}
    for argument in named:
        key = str(argument.this.name).lower()
        if key not in (PER_ROW, PER_GROUP) or name not in PLAIN:
            raise Refused(
                "argument_unknown",
                f"{name} has no argument {argument.this.name}",
                f"named arguments are {PER_ROW} and {PER_GROUP}, of {', '.join(NAMES)}",
            )
        if key in limits:
            raise Refused("argument_twice", f"{key} is given twice", "give it once")
        low, high = _ends(argument.expression)
        if low > high:
            raise _unreadable(argument.expression)
        limits[key] = argument.expression
    return limits


def _ends(pair: exp.Expression) -> tuple[Fraction, Fraction]:
    values = [_number(end) for end in pair.expressions] if isinstance(pair, exp.Tuple) else []
    match values:
        case [Fraction() as low, Fraction() as high]:
            return low, high
        case _:
            raise _unreadable(pair)


def _number(node: exp.Expression) -> Fraction | None:
    if isinstance(node, exp.Neg):
        inner = _number(node.this)
        return -inner if inner is not None else None
    if not isinstance(node, exp.Literal) or node.args.get("is_string"):
        return None
    value = number_literal(str(node.this)).value
    return Fraction(value) if isinstance(value, int | Fraction) else None


def _unreadable(pair: exp.Expression) -> Refused:
    return Refused(
        "contribution_invalid",
        f"the bounds {pair.sql(dialect='duckdb', comments=False)[:60]} are not two numbers in order",
        "write them as (lowest, highest), for example (0, 100)",
    )


def _moved(value: exp.Expression, ends: exp.Expression) -> exp.Expression:
    """Return the value moved to the nearer end; NULL stays NULL."""
    if isinstance(value, exp.Distinct | exp.Star):
        raise Refused(
            "contribution_unsupported",
            f"{PER_ROW} is about the values of an expression",
            "leave it out, or leave DISTINCT out",
        )
    low, high = ends.expressions
    held = exp.Greatest(
        this=low.copy(),
        expressions=[exp.Least(this=high.copy(), expressions=[value.copy()], ignore_nulls=True)],
        ignore_nulls=True,
    )
    missing = exp.Is(this=exp.Paren(this=value.copy()), expression=exp.Null())
    return exp.Case(ifs=[exp.If(this=missing, true=exp.Null())], default=held)


def _check_per_group(name: str, value: exp.Expression, ends: exp.Expression) -> None:
    if name not in ("SUM", "COUNT", "AVG") or isinstance(value, exp.Distinct):
        what = "COUNT(DISTINCT …)" if isinstance(value, exp.Distinct) else name
        raise Refused(
            "contribution_unsupported",
            f"{ends.meta.get('words', PER_GROUP)} is not supported for {what}: every row counts alike "
            "in it, so what one unit adds is limited by its rows",
            f"use {PER_ROW}, or ask for SUM(x, {PER_GROUP} => …)"
            if name != "COUNT"
            else "leave it out: the policy limits how many values of one unit count",
        )
    if name == "COUNT" and leaves_out_zero(ends):
        low, _ = _ends(ends)
        written = [end.sql(dialect="duckdb") for end in ends.expressions]
        near = ["0", written[1]] if low > 0 else [written[0], "0"]
        raise Refused(
            "contribution_invalid",
            f"{_in_words(ends, written)} leaves out 0, which is what a unit without rows adds",
            f"write {_in_words(ends, near)}",
        )


def leaves_out_zero(ends: exp.Expression) -> bool:
    """Return whether a unit without rows adds what is not within these bounds."""
    low, high = _ends(ends)
    return not low <= 0 <= high


def _in_words(ends: exp.Expression, written: list[str]) -> str:
    if "words" in ends.meta:
        return f"{CLAMPED} {' AND '.join(written)}"
    return f"{PER_GROUP} => ({', '.join(written)})"
