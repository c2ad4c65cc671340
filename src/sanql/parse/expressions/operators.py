"""Which node of the grammar becomes which operator; a node that is not listed is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from sqlglot import exp

from sanql.errors import Refused
from sanql.functions import call
from sanql.parse.expressions import dates, formats
from sanql.parse.expressions.calls import WRITTEN_OUT, Bind, applied, as_text, function, is_function
from sanql.parse.expressions.casts import cast
from sanql.parse.expressions.constants import fitted
from sanql.parse.expressions.dates import DATE_CALLS
from sanql.parse.expressions.formats import FORMAT_CALLS
from sanql.parse.expressions.refusals import unknown_construct, wrong_number
from sanql.question import (
    NULL,
    Expr,
    Literal,
    boolean_literal,
    integer_literal,
    number_literal,
    text_literal,
)

BINARY: dict[type[exp.Expression], str] = {
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.IntDiv: "integer_divide",
    exp.Mod: "modulo",
    exp.Pow: "power",
    exp.BitwiseAnd: "bit_and",
    exp.BitwiseOr: "bit_or",
    exp.BitwiseXor: "bit_xor",
    exp.BitwiseRightShift: "shift_right",
    exp.SafeAdd: "add",
    exp.SafeSubtract: "subtract",
    exp.SafeMultiply: "multiply",
}
COMPARISONS: dict[type[exp.Expression], str] = {
    exp.EQ: "equal",
    exp.NEQ: "not_equal",
    exp.LT: "less",
    exp.LTE: "less_equal",
    exp.GT: "greater",
    exp.GTE: "greater_equal",
    exp.NullSafeEQ: "not_distinct_from",
    exp.NullSafeNEQ: "distinct_from",
}
ESCAPES = "!#$&*+-./:;<=>?@\\^`|~"
# arguments the grammar attaches to a node that change nothing for us
HARMLESS = frozenset({"this", "expression", "typed", "safe"})


def operator(node: exp.Expression, bind: Bind) -> Expr:
    """Return the node as an operator over bound operands, or refuse it by name."""
    kind = type(node)
    if is_function(node, CALLS):
        return function(node, bind, CALLS)
    understood, build = SPECIAL.get(kind, (HARMLESS, None))
    if any(value and name not in understood for name, value in node.args.items()):
        raise unknown_construct(node)
    if build is not None:
        return build(node, bind)
    if kind in BINARY and node.args.get("expression") is not None:
        return applied(node, BINARY[kind], bind(node.this), bind(node.expression))
    if kind in COMPARISONS:
        op = COMPARISONS[kind]
        return applied(node, op, *fitted(op, bind(node.this), bind(node.expression)))
    raise unknown_construct(node)


def _literal(node: exp.Expression, bind: Bind) -> Expr:
    return text_literal(str(node.this)) if node.args.get("is_string") else number_literal(node.this)


def _paren(node: exp.Expression, bind: Bind) -> Expr:
    return bind(node.this)


def _chain(op: str) -> Build:
    def build(node: exp.Expression, bind: Bind) -> Expr:
        return applied(node, op, *(bind(operand) for operand in _flatten(node, type(node))))

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


def _pipe(node: exp.Expression, bind: Bind) -> Expr:
    operands = list(_flatten(node, exp.DPipe))
    return applied(node, "join", *(as_text(operand, bind(operand)) for operand in operands))


def _unary(op: str) -> Build:
    return lambda node, bind: applied(node, op, bind(node.this))


def _negate(node: exp.Expression, bind: Bind) -> Expr:
    value = bind(node.this)
    if isinstance(value, Literal) and isinstance(value.value, int | Fraction):
        folded = call("negate", value)
        return Literal(-value.value, folded.facts)
    return applied(node, "negate", value)


def _shift_left(node: exp.Expression, bind: Bind) -> Expr:
    places = bind(node.expression)
    if not isinstance(places, Literal) or not isinstance(places.value, int):
        places = NULL
    if not isinstance(places.value, int) or not 0 <= places.value <= 62:
        raise Refused(
            "constant_needed",
            "the number of places in << must be a constant from 0 to 62",
            "write the number itself, for example x << 3",
        )
    return applied(node, "multiply", bind(node.this), integer_literal(2**places.value))


def _is(node: exp.Expression, bind: Bind) -> Expr:
    value, test = bind(node.this), node.expression
    if isinstance(test, exp.Null):
        return call("is_null", value)
    if isinstance(test, exp.Boolean):
        return applied(node, "is_true" if test.this else "is_false", value)
    raise unknown_construct(node)


def _in(node: exp.Expression, bind: Bind) -> Expr:
    items = node.args.get("expressions")
    if not items or node.args.get("query") or node.args.get("unnest") or node.args.get("field"):
        raise Refused(
            "in_not_a_list",
            "IN takes a list of constants",
            "write IN ('a', 'b'); ask about another table in a question of its own",
        )
    value, *choices = fitted("in", bind(node.this), *(bind(item) for item in items))
    if not all(isinstance(choice, Literal) for choice in choices):
        raise Refused(
            "in_not_a_list",
            "IN takes a list of constants",
            "write the values themselves, or chain comparisons with OR",
        )
    return applied(node, "in", value, *choices)


def _between(node: exp.Expression, bind: Bind) -> Expr:
    if node.args.get("symmetric"):
        raise Refused(
            "construct_unsupported",
            "BETWEEN SYMMETRIC is not supported: databases differ on it",
            "write the smaller end first: x BETWEEN 1 AND 9",
        )
    operands = (bind(node.this), bind(node.args["low"]), bind(node.args["high"]))
    return applied(node, "between", *fitted("between", *operands))


def _like(node: exp.Expression, bind: Bind) -> Expr:
    return _pattern(node, bind)


def _pattern(node: exp.Expression, bind: Bind, *escape: Expr) -> Expr:
    op = "like" if isinstance(node, exp.Like) else "ilike"
    matched = applied(node, op, bind(node.this), bind(node.expression), *escape)
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


def _similar(node: exp.Expression, bind: Bind) -> Expr:
    """Return SIMILAR TO; databases differ on % and _ in it, so these are refused."""
    value, pattern = bind(node.this), bind(node.expression)
    if isinstance(pattern, Literal) and set(str(pattern.value)) & set("%_"):
        raise Refused(
            "pattern_invalid",
            "% and _ mean different things in SIMILAR TO, from one database to the next",
            "write .* and . for any letters, or use LIKE",
        )
    return applied(node, "regexp_full_match", value, pattern)


def _matches_any_case(node: exp.Expression, bind: Bind) -> Expr:
    operands = bind(node.this), bind(node.expression), text_literal("i")
    return applied(node, "regexp_matches", *operands)


def _trim(node: exp.Expression, bind: Bind) -> Expr:
    op = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position")), "trim")
    letters = node.args.get("expression")
    return applied(node, op, bind(node.this), *([bind(letters)] if letters is not None else []))


def _pad(node: exp.Expression, bind: Bind) -> Expr:
    filling = node.args.get("fill_pattern")
    return applied(
        node,
        "lpad" if node.args.get("is_left") else "rpad",
        bind(node.this),
        bind(node.expression),
        bind(filling) if filling is not None else text_literal(" "),
    )


def _case(node: exp.Expression, bind: Bind) -> Expr:
    args: list[Expr] = []
    for branch in node.args["ifs"]:
        condition = branch.this
        if node.args.get("this") is not None:
            condition = exp.EQ(this=node.this, expression=condition)
        args += [bind(condition), bind(branch.args["true"])]
    default = node.args.get("default")
    return applied(node, "case", *args, bind(default) if default is not None else NULL)


def _decode(node: exp.Expression, arguments: list[exp.Expression], bind: Bind) -> Expr:
    """Return DECODE(x, a, b, c, d, e): b where x is a, d where it is c, else e; NULL is NULL."""
    if len(arguments) < 3:
        raise wrong_number(node, "DECODE(x, a, b) or DECODE(x, a, b, c, d, otherwise)")
    value, pairs = bind(arguments[0]), [bind(argument) for argument in arguments[1:]]
    default = pairs.pop() if len(pairs) % 2 else NULL
    args: list[Expr] = []
    for searched, result in zip(pairs[::2], pairs[1::2], strict=True):
        same = applied(node, "not_distinct_from", *fitted("not_distinct_from", value, searched))
        args += [same, result]
    return applied(node, "case", *args, default)


Build = Callable[[exp.Expression, Bind], Expr]
PATTERN = frozenset({"this", "expression", "negate"})
PAIR = frozenset({"this", "expression"})
CAST = frozenset({"this", "to", "safe"})
ONLY = frozenset({"this"})
UNIT = frozenset({"this", "expression", "unit", "date_part_boundary"})
FORMAT = frozenset({"this", "format"})
# for every node: the parts of it that are understood; any other part present means refusal
SPECIAL: dict[type[exp.Expression], tuple[frozenset[str], Build | None]] = {
    exp.Literal: (frozenset({"this", "is_string"}), _literal),
    exp.Boolean: (ONLY, lambda node, bind: boolean_literal(bool(node.this))),
    exp.Null: (frozenset(), lambda node, bind: NULL),
    exp.Paren: (ONLY, _paren),
    exp.Neg: (ONLY, _negate),
    exp.SafeNegate: (ONLY, _negate),
    exp.Not: (ONLY, _unary("not")),
    exp.BitwiseNot: (ONLY, _unary("bit_not")),
    exp.BitwiseLeftShift: (PAIR, _shift_left),
    exp.Add: (frozenset({"this", "expression", "typed", "safe"}), dates.add),
    exp.Sub: (frozenset({"this", "expression", "typed", "safe"}), dates.subtract),
    exp.And: (PAIR, _chain("and")),
    exp.Or: (PAIR, _chain("or")),
    exp.Is: (PAIR, _is),
    exp.In: (frozenset({"this", "expressions", "query", "unnest", "field"}), _in),
    exp.Between: (frozenset({"this", "low", "high", "symmetric"}), _between),
    exp.Like: (PATTERN, _like),
    exp.ILike: (PATTERN, _like),
    exp.Escape: (PAIR, _escape),
    exp.SimilarTo: (PAIR, _similar),
    exp.RegexpILike: (PAIR, _matches_any_case),
    exp.DPipe: (frozenset({"this", "expression", "safe"}), _pipe),
    exp.Trim: (frozenset({"this", "expression", "position"}), _trim),
    exp.Pad: (frozenset({"this", "expression", "fill_pattern", "is_left"}), _pad),
    exp.Case: (frozenset({"this", "ifs", "default"}), _case),
    exp.Cast: (CAST, cast),
    exp.TryCast: (CAST, cast),
    exp.Extract: (PAIR, dates.extract),
    exp.TimestampTrunc: (frozenset({"this", "unit"}), dates.truncate),
    exp.DateTrunc: (frozenset({"this", "unit"}), dates.truncate),
    exp.DateBin: (PAIR, dates.time_bucket),
    exp.DateDiff: (UNIT, dates.date_diff),
    exp.TimestampDiff: (UNIT, dates.timestamp_diff),
    exp.DateAdd: (UNIT, dates.add_interval(1)),
    exp.TimestampAdd: (UNIT, dates.add_interval(1)),
    exp.TimestampSub: (UNIT, dates.add_interval(-1)),
    exp.DatetimeAdd: (UNIT, dates.add_interval(1)),
    exp.DatetimeSub: (UNIT, dates.add_interval(-1)),
    exp.AddMonths: (PAIR, dates.add_months),
    exp.TimeToStr: (FORMAT, formats.printed),
    exp.ToChar: (FORMAT, formats.to_char),
    exp.StrToTime: (FORMAT, formats.bind_strptime),
    exp.StrToDate: (FORMAT, formats.read_date),
    exp.UnixToTime: (frozenset({"this", "scale"}), formats.from_epoch),
}
CALLS = {**WRITTEN_OUT, **DATE_CALLS, **FORMAT_CALLS, "DECODE": _decode}
