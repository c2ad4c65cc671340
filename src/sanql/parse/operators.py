"""How each node of the SQL grammar becomes an operator of ours; what is absent is refused by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from fractions import Fraction

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.constants import (
    NULL,
    boolean_literal,
    integer_literal,
    number_literal,
    temporal_literal,
    text_literal,
)
from sanql.parse.functions import DATE_PARTS, RULES, TRUNCATIONS, call
from sanql.parse.tree import TEMPORAL, Expr, Literal, Type

Bind = Callable[[exp.Expression], Expr]

BINARY: dict[type[exp.Expression], str] = {
    exp.Add: "add",
    exp.Sub: "subtract",
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.IntDiv: "integer_divide",
    exp.Mod: "modulo",
    exp.Pow: "power",
    exp.EQ: "equal",
    exp.NEQ: "not_equal",
    exp.LT: "less",
    exp.LTE: "less_equal",
    exp.GT: "greater",
    exp.GTE: "greater_equal",
    exp.NullSafeEQ: "not_distinct_from",
    exp.NullSafeNEQ: "distinct_from",
    exp.Nullif: "nullif",
}
COMPARISONS = frozenset(
    [
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "not_distinct_from",
        "distinct_from",
    ]
)
UNARY: dict[type[exp.Expression], str] = {
    exp.Not: "not",
    exp.Abs: "abs",
    exp.Sign: "sign",
    exp.Sqrt: "sqrt",
    exp.Ln: "ln",
    exp.Exp: "exp",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
    exp.Trunc: "trunc",
    exp.Lower: "lower",
    exp.Upper: "upper",
    exp.Trim: "trim",
    exp.Length: "length",
    exp.Year: "part_year",
    exp.Quarter: "part_quarter",
    exp.Month: "part_month",
    exp.Week: "part_week",
    exp.Day: "part_day",
    exp.DayOfMonth: "part_day",
    exp.DayOfWeek: "part_dayofweek",
    exp.DayOfWeekIso: "part_isodow",
    exp.DayOfYear: "part_dayofyear",
    exp.Hour: "part_hour",
    exp.Minute: "part_minute",
    exp.Second: "part_second",
}
ESCAPES = "!#$&*+-./:;<=>?@\\^`|~"
PART_ALIASES = {
    "years": "year", "y": "year", "months": "month", "mon": "month", "quarters": "quarter",
    "weeks": "week", "weekofyear": "week", "days": "day", "d": "day", "dayofmonth": "day",
    "dow": "dayofweek", "weekday": "dayofweek", "dayofweekiso": "isodow", "doy": "dayofyear",
    "hours": "hour", "h": "hour", "minutes": "minute", "m": "minute", "seconds": "second",
}  # fmt: skip
CAST_TARGETS = {
    "TINYINT": "cast_tinyint", "SMALLINT": "cast_smallint", "INT": "cast_integer",
    "BIGINT": "cast_bigint", "DOUBLE": "cast_real", "FLOAT": "cast_real", "DECIMAL": "cast_real",
    "TEXT": "cast_text", "VARCHAR": "cast_text", "BOOLEAN": "cast_boolean", "DATE": "cast_date",
    "TIMESTAMP": "cast_timestamp", "TIMESTAMPNTZ": "cast_timestamp", "DATETIME": "cast_timestamp",
}  # fmt: skip
NAMED = {
    "trunc": "trunc",
    "weekday": "part_dayofweek",
    "weekofyear": "part_week",
}
# arguments the grammar attaches to a node that change nothing for us
HARMLESS = frozenset({"this", "expression", "typed", "safe"})


def operator(node: exp.Expression, bind: Bind) -> Expr:
    """Return the node as an operator over bound operands, or refuse it by name."""
    kind = type(node)
    understood, build = SPECIAL.get(kind, (HARMLESS, None))
    if any(value and name not in understood for name, value in node.args.items()):
        raise unknown_construct(node)
    if build is not None:
        return build(node, bind)
    if kind in BINARY and node.args.get("expression") is not None:
        left, right = bind(node.this), bind(node.expression)
        op = BINARY[kind]
        if op in COMPARISONS:
            left, right = _as_dates(left, right)
        return call(op, left, right)
    if kind in UNARY and not node.args.get("expression"):
        return call(UNARY[kind], bind(node.this))
    raise unknown_construct(node)


def unknown_construct(node: exp.Expression) -> Refused:
    """Return the refusal of something that has no place in a private answer."""
    name = _name(node)
    place = _place(node)
    hint = ""
    if isinstance(node, exp.Anonymous):
        known = sorted({op.split("_")[0].upper() for op in RULES} | {"COUNT", "SUM", "AVG"})
        near = get_close_matches(str(node.this).upper(), known, n=1, cutoff=0.75)
        hint = f"did you mean {near[0]}? " if near else ""
    why = REASONS.get(type(node), "only functions and operators on the allow-list can be used")
    return Refused(
        "construct_unsupported",
        f"{name}{place} is not supported: {why}",
        f"{hint}{REMEDIES.get(type(node), 'docs/sql.md lists what can be asked')}",
    )


def _name(node: exp.Expression) -> str:
    if isinstance(node, exp.Anonymous):
        return f"the function {str(node.this)[:60]}"
    if isinstance(node, exp.Func) and node.sql_names():
        return f"the function {node.sql_name()}"
    return type(node).__name__.upper()


def _place(node: exp.Expression) -> str:
    for part in node.walk():
        line, column = part.meta.get("line"), part.meta.get("col")
        if line is not None:
            return f" (line {line}, near column {column})"
    return ""


REASONS: dict[type[exp.Expression], str] = {
    exp.Subquery: "a question reads one table",
    exp.Select: "a question reads one table",
    exp.Exists: "a question reads one table",
    exp.Window: "windows show individual rows",
    exp.Median: "quantiles are not available",
    exp.PercentileCont: "quantiles are not available",
    exp.Quantile: "quantiles are not available",
    exp.Min: "an extreme is one person's value",
    exp.Max: "an extreme is one person's value",
    exp.Filter: "FILTER goes with one statistic",
    exp.LogicalAnd: "one person decides whether all agree",
    exp.LogicalOr: "one person decides whether any agrees",
    exp.DPipe: "strings cannot be built",
    exp.Concat: "strings cannot be built",
    exp.CurrentDate: "an answer must not depend on the clock",
    exp.CurrentTimestamp: "an answer must not depend on the clock",
    exp.Rand: "randomness comes from one place only",
    exp.Interval: "date arithmetic is not available",
    exp.Star: "it returns individual rows",
    exp.Placeholder: "parameters are not available",
    exp.Parameter: "parameters are not available",
}
REMEDIES: dict[type[exp.Expression], str] = {
    exp.Subquery: "ask the inner question by itself",
    exp.Select: "ask the inner question by itself",
    exp.Exists: "ask the inner question by itself",
    exp.Window: "GROUP BY the columns you partition by",
    exp.Median: "ask for AVG, or for COUNT(*) by bands of the value with CASE",
    exp.PercentileCont: "ask for AVG, or for COUNT(*) by bands of the value with CASE",
    exp.Quantile: "ask for AVG, or for COUNT(*) by bands of the value with CASE",
    exp.Min: "ask for AVG, or for COUNT(*) by bands of the value with CASE",
    exp.Max: "ask for AVG, or for COUNT(*) by bands of the value with CASE",
    exp.Filter: "write SUM(x) FILTER (WHERE condition)",
    exp.LogicalAnd: "ask how many do, with COUNT_IF(condition), or what share, with AVG(condition)",
    exp.LogicalOr: "ask how many do, with COUNT_IF(condition), or what share, with AVG(condition)",
    exp.CurrentDate: "write the date, for example DATE '2026-01-31'",
    exp.CurrentTimestamp: "write the moment, for example TIMESTAMP '2026-01-31 12:00:00'",
    exp.Interval: "compare with the date you mean, for example d >= DATE '2026-01-31'",
    exp.Star: "ask for COUNT(*), or name the statistics you want",
    exp.Placeholder: "write the value into the question",
    exp.Parameter: "write the value into the question",
}


def _as_dates(*sides: Expr) -> tuple[Expr, ...]:
    """Return the operands with quoted dates read as dates where another operand is one."""
    temporal = [side.facts.type for side in sides if side.facts.type in TEMPORAL]
    if not temporal:
        return sides
    target = temporal[0]
    return tuple(
        _quoted_date(side.value, target)
        if isinstance(side, Literal) and isinstance(side.value, str)
        else side
        for side in sides
    )


def _quoted_date(text: str, kind: Type) -> Literal:
    longer = len(text.strip()) > 10
    return temporal_literal(
        text, Type.TIMESTAMP if longer else Type.DATE if kind is Type.DATE else kind
    )


def _literal(node: exp.Expression, bind: Bind) -> Expr:
    return text_literal(str(node.this)) if node.args.get("is_string") else number_literal(node.this)


def _paren(node: exp.Expression, bind: Bind) -> Expr:
    return bind(node.this)


def _chain(op: str) -> Callable[[exp.Expression, Bind], Expr]:
    def build(node: exp.Expression, bind: Bind) -> Expr:
        return call(op, *(bind(part) for part in _flatten(node, type(node))))

    return build


def _flatten(node: exp.Expression, kind: type[exp.Expression]) -> Iterator[exp.Expression]:
    """Yield the operands of a chain of one operator, without recursion."""
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, kind):
            pending.extend((part.args["expression"], part.args["this"]))
        else:
            yield part


def _negate(node: exp.Expression, bind: Bind) -> Expr:
    value = bind(node.this)
    if isinstance(value, Literal) and isinstance(value.value, int | Fraction):
        folded = call("negate", value)
        return Literal(-value.value, folded.facts)
    return call("negate", value)


def _is(node: exp.Expression, bind: Bind) -> Expr:
    value, test = bind(node.this), node.expression
    if isinstance(test, exp.Null):
        return call("is_null", value)
    if isinstance(test, exp.Boolean):
        return call("is_true" if test.this else "is_false", value)
    raise unknown_construct(node)


def _in(node: exp.Expression, bind: Bind) -> Expr:
    items = node.args.get("expressions")
    if not items or node.args.get("query") or node.args.get("unnest") or node.args.get("field"):
        raise Refused(
            "in_not_a_list",
            "IN takes a list of constants",
            "write IN ('a', 'b'); ask about another table in a question of its own",
        )
    value, *choices = _as_dates(bind(node.this), *(bind(item) for item in items))
    if not all(isinstance(choice, Literal) for choice in choices):
        raise Refused(
            "in_not_a_list",
            "IN takes a list of constants",
            "write the values themselves, or chain comparisons with OR",
        )
    return call("in", value, *choices)


def _between(node: exp.Expression, bind: Bind) -> Expr:
    parts = (bind(node.this), bind(node.args["low"]), bind(node.args["high"]))
    return call("between", *_as_dates(*parts))


def _like(node: exp.Expression, bind: Bind) -> Expr:
    return _pattern(node, bind)


def _pattern(node: exp.Expression, bind: Bind, *escape: Expr) -> Expr:
    op = "like" if isinstance(node, exp.Like) else "ilike"
    matched = call(op, bind(node.this), bind(node.expression), *escape)
    return call("not", matched) if node.args.get("negate") else matched


def _escape(node: exp.Expression, bind: Bind) -> Expr:
    pattern = node.this
    if not isinstance(pattern, exp.Like | exp.ILike) or set(pattern.args) - PATTERN:
        raise unknown_construct(node)
    escape = bind(node.expression)
    sign = escape.value if isinstance(escape, Literal) else None
    # a letter could change with ILIKE's case, and a character of several bytes is an error that
    # the engine raises only when a row gets there
    if not isinstance(sign, str) or len(sign) != 1 or sign not in ESCAPES:
        raise Refused(
            "escape_invalid",
            f"ESCAPE takes one of the signs {ESCAPES}",
            "write it as LIKE '50!%' ESCAPE '!'",
        )
    return _pattern(pattern, bind, escape)


def _case(node: exp.Expression, bind: Bind) -> Expr:
    args: list[Expr] = []
    for branch in node.args["ifs"]:
        condition = branch.this
        if node.args.get("this") is not None:
            condition = exp.EQ(this=node.this, expression=condition)
        args += [bind(condition), bind(branch.args["true"])]
    default = node.args.get("default")
    return call("case", *args, bind(default) if default is not None else NULL)


def _if(node: exp.Expression, bind: Bind) -> Expr:
    otherwise = node.args.get("false")
    return call(
        "case",
        bind(node.this),
        bind(node.args["true"]),
        bind(otherwise) if otherwise is not None else NULL,
    )


def _several(op: str) -> Callable[[exp.Expression, Bind], Expr]:
    def build(node: exp.Expression, bind: Bind) -> Expr:
        return call(op, *(bind(part) for part in [node.this, *node.expressions]))

    return build


def _round(node: exp.Expression, bind: Bind) -> Expr:
    digits = node.args.get("decimals")
    return call(
        "round", bind(node.this), bind(digits) if digits is not None else integer_literal(0)
    )


def _cast(node: exp.Expression, bind: Bind) -> Expr:
    target = node.args["to"]
    name = target.this.name if hasattr(target.this, "name") else str(target.this)
    inner = node.this
    if isinstance(inner, exp.Literal) and inner.args.get("is_string"):
        if name == "DATE":
            return temporal_literal(str(inner.this), Type.DATE)
        if name in ("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"):
            return temporal_literal(str(inner.this), Type.TIMESTAMP)
    if name not in CAST_TARGETS:
        raise Refused(
            "cast_unsupported",
            f"CAST AS {name} is not supported",
            f"the types are {', '.join(sorted(CAST_TARGETS))}",
        )
    value = call(CAST_TARGETS[name], bind(inner))
    if name == "DECIMAL":
        value = call("round", value, integer_literal(_decimal_places(target)))
    return value


def _decimal_places(target: exp.Expression) -> int:
    written = [str(part.this) for part in target.expressions]
    if not all(size.isascii() and size.isdecimal() and len(size) < 3 for size in written):
        raise Refused(
            "cast_unsupported",
            "DECIMAL takes a width and a number of digits",
            "write, for example, DECIMAL(10, 2)",
        )
    sizes = [int(size) for size in written]
    return sizes[1] if len(sizes) > 1 else 0 if sizes else 3


def _extract(node: exp.Expression, bind: Bind) -> Expr:
    return _part(str(node.this.name), bind(node.expression))


def _part(name: str, moment: Expr) -> Expr:
    part = PART_ALIASES.get(name.lower(), name.lower())
    if part not in DATE_PARTS:
        raise Refused(
            "date_part_unknown",
            f"{name!r} is not a part of a date that can be asked for",
            f"the parts are {', '.join(DATE_PARTS)}",
        )
    return call(f"part_{part}", moment)


def _truncate(node: exp.Expression, bind: Bind) -> Expr:
    unit = node.args.get("unit")
    name = str(unit.name).lower() if unit is not None else ""
    if name not in TRUNCATIONS:
        raise Refused(
            "date_unit_unknown",
            f"DATE_TRUNC does not know the unit {name!r}",
            f"the units are {', '.join(TRUNCATIONS)}",
        )
    return call(f"trunc_{name}", bind(node.this))


def _named(node: exp.Expression, bind: Bind) -> Expr:
    name, arguments = str(node.this).lower(), node.expressions
    if name in ("date_part", "datepart") and len(arguments) == 2:
        part = arguments[0]
        if isinstance(part, exp.Literal) and part.args.get("is_string"):
            return _part(str(part.this), bind(arguments[1]))
    op = NAMED.get(name)
    if op and len(arguments) == 1:
        return call(op, bind(arguments[0]))
    raise unknown_construct(node)


Build = Callable[[exp.Expression, Bind], Expr]
PATTERN = frozenset({"this", "expression", "negate"})
PAIR = frozenset({"this", "expression"})
LIST = frozenset({"this", "expressions", "ignore_nulls"})
CAST = frozenset({"this", "to", "safe"})
# for every node: the parts of it that are understood; any other part present means refusal
SPECIAL: dict[type[exp.Expression], tuple[frozenset[str], Build | None]] = {
    exp.Literal: (frozenset({"this", "is_string"}), _literal),
    exp.Boolean: (frozenset({"this"}), lambda node, bind: boolean_literal(bool(node.this))),
    exp.Null: (frozenset(), lambda node, bind: NULL),
    exp.Paren: (frozenset({"this"}), _paren),
    exp.Neg: (frozenset({"this"}), _negate),
    exp.And: (PAIR, _chain("and")),
    exp.Or: (PAIR, _chain("or")),
    exp.Is: (PAIR, _is),
    exp.In: (frozenset({"this", "expressions", "query", "unnest", "field"}), _in),
    exp.Between: (frozenset({"this", "low", "high"}), _between),
    exp.Like: (PATTERN, _like),
    exp.ILike: (PATTERN, _like),
    exp.Escape: (PAIR, _escape),
    exp.Case: (frozenset({"this", "ifs", "default"}), _case),
    exp.If: (frozenset({"this", "true", "false"}), _if),
    exp.Coalesce: (LIST, _several("coalesce")),
    exp.Least: (LIST, _several("least")),
    exp.Greatest: (LIST, _several("greatest")),
    exp.Round: (frozenset({"this", "decimals"}), _round),
    exp.Cast: (CAST, _cast),
    exp.TryCast: (CAST, _cast),
    exp.Extract: (PAIR, _extract),
    exp.TimestampTrunc: (frozenset({"this", "unit"}), _truncate),
    exp.DateTrunc: (frozenset({"this", "unit"}), _truncate),
    exp.Anonymous: (frozenset({"this", "expressions"}), _named),
}
