"""Function calls: a name and its operands, whichever node the grammar made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from sanql.errors import Refused
from sanql.functions import NAMES, call
from sanql.parse.expressions.refusals import renamed, unknown_construct, wrong_number
from sanql.question import NULL, Expr, Type, integer_literal, text_literal

Bind = Callable[[exp.Expression], Expr]
Build = Callable[[exp.Expression, list[exp.Expression], Bind], Expr]

ONE = ("this",)
TWO = ("this", "expression")
LIST = ("this", "expressions")
# the grammar's node, the function it is, and where it keeps the operands, in our order
NODES: dict[type[exp.Expression], tuple[str, tuple[str, ...]]] = {
    exp.Abs: ("ABS", ONE), exp.Sign: ("SIGN", ONE), exp.Sqrt: ("SQRT", ONE), exp.Cbrt: ("CBRT", ONE),
    exp.Ln: ("LN", ONE), exp.Exp: ("EXP", ONE), exp.Log: ("LOG", TWO), exp.Sin: ("SIN", ONE),
    exp.Cos: ("COS", ONE), exp.Tan: ("TAN", ONE), exp.Cot: ("COT", ONE), exp.Asin: ("ASIN", ONE),
    exp.Acos: ("ACOS", ONE), exp.Atan: ("ATAN", ONE), exp.Atan2: ("ATAN2", TWO),
    exp.Sinh: ("SINH", ONE), exp.Cosh: ("COSH", ONE), exp.Tanh: ("TANH", ONE),
    exp.Asinh: ("ASINH", ONE), exp.Acosh: ("ACOSH", ONE), exp.Atanh: ("ATANH", ONE),
    exp.Degrees: ("DEGREES", ONE), exp.Radians: ("RADIANS", ONE), exp.Pi: ("PI", ()),
    exp.Floor: ("FLOOR", ONE), exp.Ceil: ("CEIL", ONE), exp.Trunc: ("TRUNC", ("this", "decimals")),
    exp.Round: ("ROUND", ("this", "decimals")), exp.IsNan: ("ISNAN", ONE), exp.IsInf: ("ISINF", ONE),
    exp.WidthBucket: ("WIDTH_BUCKET", ("this", "min_value", "max_value", "num_buckets")),
    exp.Least: ("LEAST", LIST), exp.Greatest: ("GREATEST", LIST), exp.Coalesce: ("COALESCE", LIST),
    exp.Nullif: ("NULLIF", TWO), exp.EqualNull: ("EQUAL_NULL", TWO),
    exp.If: ("IF", ("this", "true", "false")),
    exp.Nvl2: ("NVL2", ("this", "true", "false")), exp.SafeDivide: ("SAFE_DIVIDE", TWO),
    exp.Lower: ("LOWER", ONE), exp.Upper: ("UPPER", ONE), exp.Length: ("LENGTH", ONE),
    exp.ByteLength: ("BYTE_LENGTH", ONE), exp.BitLength: ("BIT_LENGTH", ONE),
    exp.Reverse: ("REVERSE", ONE), exp.Initcap: ("INITCAP", ONE),
    exp.Substring: ("SUBSTRING", ("this", "start", "length")), exp.Left: ("LEFT", TWO),
    exp.Right: ("RIGHT", TWO), exp.Replace: ("REPLACE", ("this", "expression", "replacement")),
    exp.Concat: ("CONCAT", ("expressions",)), exp.ConcatWs: ("CONCAT_WS", ("expressions",)),
    exp.Repeat: ("REPEAT", ("this", "times")),
    exp.SplitPart: ("SPLIT_PART", ("this", "delimiter", "part_index")),
    exp.StartsWith: ("STARTS_WITH", TWO), exp.EndsWith: ("ENDS_WITH", TWO),
    exp.Contains: ("CONTAINS", TWO), exp.StrPosition: ("STRPOS", ("this", "substr")),
    exp.Ascii: ("ASCII", ONE), exp.Unicode: ("UNICODE", ONE), exp.Chr: ("CHR", ("expressions",)),
    exp.Translate: ("TRANSLATE", ("this", "from_", "to")),
    exp.RegexpLike: ("REGEXP_MATCHES", ("this", "expression", "flag")),
    exp.RegexpFullMatch: ("REGEXP_FULL_MATCH", ("this", "expression", "options")),
    exp.RegexpExtract: ("REGEXP_EXTRACT", ("this", "expression", "group")),
    exp.RegexpSubstr: ("REGEXP_SUBSTR", TWO),
    exp.RegexpReplace: ("REGEXP_REPLACE", ("this", "expression", "replacement", "modifiers")),
    exp.Date: ("DATE", ONE), exp.Timestamp: ("TIMESTAMP", ONE), exp.Datetime: ("DATETIME", ONE),
    exp.DateFromParts: ("MAKE_DATE", ("year", "month", "day")), exp.LastDay: ("LAST_DAY", ONE),
    exp.Dayname: ("DAYNAME", ONE), exp.Monthname: ("MONTHNAME", ONE), exp.TimeToUnix: ("EPOCH", ONE),
    exp.UnixSeconds: ("UNIX_SECONDS", ONE), exp.UnixMillis: ("UNIX_MILLIS", ONE),
    exp.ParseDatetime: ("PARSE_DATETIME", ("this", "format")),
    exp.Year: ("YEAR", ONE), exp.Quarter: ("QUARTER", ONE), exp.Month: ("MONTH", ONE),
    exp.Week: ("WEEK", ONE), exp.WeekOfYear: ("WEEKOFYEAR", ONE), exp.Day: ("DAY", ONE),
    exp.DayOfMonth: ("DAYOFMONTH", ONE), exp.DayOfWeek: ("DAYOFWEEK", ONE),
    exp.DayOfWeekIso: ("ISODOW", ONE), exp.DayOfYear: ("DAYOFYEAR", ONE), exp.Hour: ("HOUR", ONE),
    exp.Minute: ("MINUTE", ONE), exp.Second: ("SECOND", ONE),
}  # fmt: skip
# what the grammar notes about a spelling, and means nothing for us
NOTES = frozenset(
    [
        "safe",
        "coalesce",
        "ignore_nulls",
        "charset",
        "null_if_pos_overflow",
        "single_replace",
        "typed",
    ]
)
_CAPITALS = exp.Initcap  # the grammar adds the letters between words


def operands(node: exp.Expression) -> list[exp.Expression]:
    """Return the operands of a function in our order, or refuse a part that is not understood."""
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    keys = NODES[type(node)][1]
    extra = {key for key, value in node.args.items() if value} - set(keys) - NOTES
    if extra - ({"expression"} if isinstance(node, _CAPITALS) else set()):
        raise unknown_construct(node)
    nodes: list[exp.Expression] = []
    for key in keys:
        value = node.args.get(key)
        nodes += value if isinstance(value, list) else [value] if value is not None else []
    return nodes


def is_function(node: exp.Expression, builds: Mapping[str, Build]) -> bool:
    """Return whether a node is a function that is called by a name of the allow-list."""
    if isinstance(node, exp.Anonymous):
        name = str(node.this).upper()
        return name in NAMES or name in builds
    return type(node) in NODES


def function(node: exp.Expression, bind: Bind, builds: Mapping[str, Build]) -> Expr:
    """Return a function applied to its operands; `builds` knows the names with rules of their own."""
    name = str(node.this).upper() if isinstance(node, exp.Anonymous) else NODES[type(node)][0]
    arguments = operands(node)
    if name in builds:
        return builds[name](node, arguments, bind)
    entry = NAMES[name]
    if not entry.takes[0] <= len(arguments) <= entry.takes[1]:
        raise wrong_number(node, entry.written)
    return applied(node, entry.op, *(bind(argument) for argument in arguments))


def applied(node: exp.Expression, op: str, *args: Expr) -> Expr:
    """Return an operator applied; its refusal uses the name that was typed."""
    try:
        return call(op, *args)
    except Refused as refused:
        names = next((entry.names for entry in NAMES.values() if entry.op == op), ())
        raise renamed(refused, node, names) from None


def as_text(node: exp.Expression, value: Expr) -> Expr:
    """Return a value as text, as the engine prints it where texts are put together."""
    if value.facts.type in (Type.TEXT, Type.NULL):
        return value
    return applied(node, "cast_text", value)


def _filled(default: Expr, op: str) -> Build:
    """Return a function whose last operand has a default."""

    def build(node: exp.Expression, arguments: list[exp.Expression], bind: Bind) -> Expr:
        entry = NAMES[op.upper()]
        if not entry.takes[0] <= len(arguments) <= entry.takes[1]:
            raise wrong_number(node, entry.written)
        bound = [bind(argument) for argument in arguments]
        return applied(node, op, *bound, *([default] if len(arguments) < entry.takes[1] else []))

    return build


def _joined(op: str) -> Build:
    def build(node: exp.Expression, arguments: list[exp.Expression], bind: Bind) -> Expr:
        entry = NAMES[op.upper()]
        if not entry.takes[0] <= len(arguments) <= entry.takes[1]:
            raise wrong_number(node, entry.written)
        return applied(node, op, *(as_text(argument, bind(argument)) for argument in arguments))

    return build


def _exactly(count: int, written: str, make: Callable[[exp.Expression, list[Expr]], Expr]) -> Build:
    def build(node: exp.Expression, arguments: list[exp.Expression], bind: Bind) -> Expr:
        if len(arguments) != count:
            raise wrong_number(node, written)
        return make(node, [bind(argument) for argument in arguments])

    return build


def _if(node: exp.Expression, arguments: list[exp.Expression], bind: Bind) -> Expr:
    if len(arguments) not in (2, 3):
        raise wrong_number(node, "IF(condition, x, y)")
    bound = [bind(argument) for argument in arguments]
    return applied(node, "case", *bound, *([NULL] if len(arguments) == 2 else []))


def _nvl2(node: exp.Expression, args: list[Expr]) -> Expr:
    return applied(node, "case", call("is_null", args[0]), args[2], args[1])


def _div0(node: exp.Expression, args: list[Expr]) -> Expr:
    """Return x / y, and 0 where y is 0 and x is there."""
    value, divisor = args
    none = applied(node, "multiply", value, integer_literal(0))
    none = applied(node, "multiply", none, divisor)  # NULL where either is
    return applied(node, "coalesce", applied(node, "divide", value, divisor), none)


def _log(node: exp.Expression, arguments: list[exp.Expression], bind: Bind) -> Expr:
    if len(arguments) not in (1, 2):
        raise wrong_number(node, "LOG(base, x) or LOG(x)")
    bound = [bind(argument) for argument in arguments]
    return applied(node, "log", *([integer_literal(10)] if len(bound) == 1 else []), *bound)


def _trunc(node: exp.Expression, arguments: list[exp.Expression], bind: Bind) -> Expr:
    if len(arguments) not in (1, 2):
        raise wrong_number(node, "TRUNC(x) or TRUNC(x, digits)")
    return applied(
        node,
        "truncate" if len(arguments) == 2 else "trunc",
        *(bind(argument) for argument in arguments),
    )


# names that are written with other entries of the allow-list
WRITTEN_OUT: dict[str, Build] = {
    "IF": _if,
    "IFF": _if,
    "IIF": _if,
    "NVL2": _exactly(3, "NVL2(x, y, z)", _nvl2),
    "ZEROIFNULL": _exactly(
        1,
        "ZEROIFNULL(x)",
        lambda node, args: applied(node, "coalesce", args[0], integer_literal(0)),
    ),
    "NULLIFZERO": _exactly(
        1, "NULLIFZERO(x)", lambda node, args: applied(node, "nullif", args[0], integer_literal(0))
    ),
    "ISNULL": _exactly(2, "ISNULL(x, y)", lambda node, args: applied(node, "coalesce", *args)),
    "EQUAL_NULL": _exactly(
        2, "EQUAL_NULL(x, y)", lambda node, args: applied(node, "not_distinct_from", *args)
    ),
    "DIV0": _exactly(2, "DIV0(x, y)", _div0),
    "SQUARE": _exactly(
        1, "SQUARE(x)", lambda node, args: applied(node, "power", args[0], integer_literal(2))
    ),
    "ROUND": _filled(integer_literal(0), "round"),
    "TRUNC": _trunc,
    "TRUNCATE": _trunc,
    "LOG": _log,
    "LPAD": _filled(text_literal(" "), "lpad"),
    "RPAD": _filled(text_literal(" "), "rpad"),
    "CONCAT": _joined("concat"),
    "CONCAT_WS": _joined("concat_ws"),
    "REGEXP_EXTRACT": _filled(integer_literal(0), "regexp_extract"),
    "REGEXP_SUBSTR": _filled(integer_literal(0), "regexp_extract"),
}
