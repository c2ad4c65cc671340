"""The allow-list: every operator and function, with the rule that proves its result's facts.

A rule takes the operands' facts and returns the result's, or refuses. Each is total: whatever a row
holds, the operator yields a value or NULL, never an error (`execute/emit.py` writes it that way).
An operator missing from `RULES` does not exist for an analyst.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction

from sanql.errors import Refused
from sanql.parse import intervals
from sanql.parse.intervals import Interval
from sanql.parse.tree import NUMERIC, TEMPORAL, Call, Expr, Facts, Literal, Type

INTEGER_LIMIT = 2**126  # beyond it a 128-bit integer could overflow
PATTERN_LENGTH_MAX = 200
REAL_LIMIT = Fraction(2) ** 500  # beyond it a product could leave the range of a double
BIGINT_RANGE: Interval = (Fraction(-(2**63)), Fraction(2**63 - 1))
CAST_RANGES = {
    "tinyint": (-(2**7), 2**7 - 1),
    "smallint": (-(2**15), 2**15 - 1),
    "integer": (-(2**31), 2**31 - 1),
    "bigint": (-(2**63), 2**63 - 1),
}

DATE_PARTS = {
    "year": (1, 9999),
    "quarter": (1, 4),
    "month": (1, 12),
    "week": (1, 53),
    "day": (1, 31),
    "dayofweek": (0, 6),
    "isodow": (1, 7),
    "dayofyear": (1, 366),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
}
CLOCK_PARTS = frozenset({"hour", "minute", "second"})
TRUNCATIONS = ("year", "quarter", "month", "week", "day", "hour", "minute")

Rule = Callable[[tuple[Expr, ...]], Facts]


def call(op: str, *args: Expr) -> Call:
    """Return the operator applied, with its facts proved; refuse what is not in the list."""
    return Call(op, args, RULES[op](args))


def interval_of(facts: Facts) -> Interval | None:
    """Return the numeric bounds of an expression, if both are known."""
    if isinstance(facts.low, Fraction) and isinstance(facts.high, Fraction):
        return facts.low, facts.high
    return None


def number(
    kind: Type, interval: Interval | None, nullable: bool, grid: Fraction | None = None
) -> Facts:
    """Return the facts of a number; an integer that could overflow is refused."""
    if kind is Type.INTEGER:
        if interval is None or max(abs(interval[0]), abs(interval[1])) > INTEGER_LIMIT:
            raise Refused(
                "integer_overflow",
                "the whole numbers in this expression have no bounds that rule out an overflow",
                "declare bounds for the columns in the policy, or limit them in the query with "
                "GREATEST(low, LEAST(high, x))",
            )
        grid = grid or Fraction(1)
    elif interval is not None and max(abs(interval[0]), abs(interval[1])) > REAL_LIMIT:
        interval = None
    low, high = interval if interval is not None else (None, None)
    return Facts(kind, low, high, nullable, grid)


def any_nullable(args: Sequence[Expr]) -> bool:
    """Return whether any operand can be NULL."""
    return any(arg.facts.nullable for arg in args)


def _need(args: Sequence[Expr], allowed: frozenset[Type], what: str) -> None:
    for arg in args:
        if arg.facts.type not in allowed | {Type.NULL}:
            names = " or ".join(sorted(kind.value for kind in allowed))
            raise Refused(
                "type_mismatch",
                f"{what} takes {names} values, and was given a {arg.facts.type.value} value",
                "cast the operand, for example CAST(x AS INTEGER)",
            )


def _numeric_kind(args: Sequence[Expr]) -> Type:
    return (
        Type.INTEGER
        if all(arg.facts.type in (Type.INTEGER, Type.NULL) for arg in args)
        else Type.REAL
    )


def _arithmetic(
    name: str,
    combine: Callable[[Interval, Interval], Interval],
    grid: Callable[[Fraction, Fraction], Fraction],
) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        _need(args, NUMERIC, name)
        a, b = (_interval_or_point(arg) for arg in args)
        both = combine(a, b) if a is not None and b is not None else None
        grids = [arg.facts.grid for arg in args]
        step = grid(grids[0], grids[1]) if grids[0] and grids[1] else None
        return number(_numeric_kind(args), both, any_nullable(args), step)

    return rule


def _interval_or_point(arg: Expr) -> Interval | None:
    # NULL has no value at all, so any interval holds; zero keeps the arithmetic going
    return (Fraction(0), Fraction(0)) if arg.facts.type is Type.NULL else interval_of(arg.facts)


def _common_grid(a: Fraction, b: Fraction) -> Fraction:
    return Fraction(
        math.gcd(a.numerator * b.denominator, b.numerator * a.denominator),
        a.denominator * b.denominator,
    )


def _negative(args: tuple[Expr, ...]) -> Facts:
    _need(args, NUMERIC, "minus")
    a = _interval_or_point(args[0])
    return number(
        _numeric_kind(args),
        intervals.negate(a) if a else None,
        any_nullable(args),
        args[0].facts.grid,
    )


def _division(args: tuple[Expr, ...]) -> Facts:
    _need(args, NUMERIC, "division")
    a, b = (_interval_or_point(arg) for arg in args)
    result = None
    if a is not None and b is not None:
        whole = args[1].facts.type is Type.INTEGER
        result = intervals.divide_by_integer(a, b) if whole else intervals.divide(a, b)
    return number(Type.REAL, result, nullable=True)


def _whole_only(args: tuple[Expr, ...], name: str) -> tuple[Interval, Interval]:
    _need(args, frozenset({Type.INTEGER}), name)
    a, b = (_interval_or_point(arg) or BIGINT_RANGE for arg in args)
    return a, b


def _integer_division(args: tuple[Expr, ...]) -> Facts:
    a, b = _whole_only(args, "integer division //")
    low, high = intervals.divide_by_integer(a, b) or (Fraction(0), Fraction(0))
    return number(Type.INTEGER, (Fraction(math.floor(low)), Fraction(math.ceil(high))), True)


def _modulo(args: tuple[Expr, ...]) -> Facts:
    a, b = _whole_only(args, "modulo %")
    return number(Type.INTEGER, intervals.remainder(a, b), nullable=True)


def _absolute(args: tuple[Expr, ...]) -> Facts:
    _need(args, NUMERIC, "ABS")
    a = _interval_or_point(args[0])
    bounds = intervals.absolute(a) if a else None
    return number(_numeric_kind(args), bounds, any_nullable(args), args[0].facts.grid)


def _sign(args: tuple[Expr, ...]) -> Facts:
    _need(args, NUMERIC, "SIGN")
    return number(Type.INTEGER, (Fraction(-1), Fraction(1)), any_nullable(args))


def _round(args: tuple[Expr, ...]) -> Facts:
    _need(args[:1], NUMERIC, "ROUND")
    digits = _constant_integer(args[1], "ROUND's number of digits", -15, 15)
    value = args[0]
    a = _interval_or_point(value)
    if value.facts.type is Type.INTEGER:
        if digits >= 0:
            return value.facts
        if a is None or max(abs(a[0]), abs(a[1])) > 2**52:
            raise Refused(
                "rounding_unbounded",
                "ROUND to tens, hundreds … needs a whole number with declared bounds",
                "declare bounds for the column, or use ROUND(x, 0)",
            )
    step = Fraction(10) ** -digits
    bounds = intervals.round_outward(a, digits) if a else None
    return number(_numeric_kind(args[:1]), bounds, value.facts.nullable, step)


def _to_whole(name: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        _need(args, NUMERIC, name)
        if args[0].facts.type is Type.INTEGER:
            return args[0].facts
        a = _interval_or_point(args[0])
        if a is None or max(abs(a[0]), abs(a[1])) > 2**52:
            bounds = intervals.round_outward(a, 0) if a is not None else None
            return number(Type.REAL, bounds, True, Fraction(1))
        return number(Type.INTEGER, intervals.round_outward(a, 0), True)

    return rule


def _extreme(name: str, pick: Callable[[Sequence[Fraction]], Fraction]) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        _need(args, NUMERIC, name)
        known = [arg for arg in args if arg.facts.type is not Type.NULL]
        # NULL operands are passed over, so the result is NULL only when all of them are, and it
        # may be any operand that is not NULL: bounds hold for every nonempty subset
        nullable = all(arg.facts.nullable for arg in args)
        lows = [arg.facts.low for arg in known]
        highs = [arg.facts.high for arg in known]
        sure = [arg for arg in known if not arg.facts.nullable]
        low, high = _extreme_bounds(pick, lows, highs, sure)
        grids = [arg.facts.grid for arg in known]
        grid = grids[0] if grids else None
        for other in grids[1:]:
            grid = _common_grid(grid, other) if grid and other else None
        kind = _numeric_kind(args)
        interval = (low, high) if low is not None and high is not None else None
        if kind is Type.INTEGER and interval is None:
            interval = BIGINT_RANGE
        facts = number(kind, interval, nullable, grid)
        return facts if interval else Facts(kind, low, high, nullable, grid)

    return rule


def _extreme_bounds(
    pick: Callable[[Sequence[Fraction]], Fraction],
    lows: Sequence[object],
    highs: Sequence[object],
    sure: Sequence[Expr],
) -> tuple[Fraction | None, Fraction | None]:
    known_lows = [low for low in lows if isinstance(low, Fraction)]
    known_highs = [high for high in highs if isinstance(high, Fraction)]
    low = min(known_lows) if len(known_lows) == len(lows) and known_lows else None
    high = max(known_highs) if len(known_highs) == len(highs) and known_highs else None
    sure_lows = [arg.facts.low for arg in sure if isinstance(arg.facts.low, Fraction)]
    sure_highs = [arg.facts.high for arg in sure if isinstance(arg.facts.high, Fraction)]
    if pick is max and sure_lows:  # the greatest is at least every operand that is surely there
        low = max([*sure_lows, *([low] if low is not None else [])])
    if pick is min and sure_highs:
        high = min([*sure_highs, *([high] if high is not None else [])])
    return low, high


def _monotone(name: str, function: Callable[[float], float], domain_low: float | None) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        _need(args, NUMERIC, name)
        a = _interval_or_point(args[0])
        bounds: Interval | None = None
        if a is not None and a[1] <= 700:
            low = a[0] if domain_low is None else max(a[0], Fraction(domain_low))
            if low <= a[1] and (name != "LN" or float(low) > 0):
                slack = Fraction(1, 2**40)
                ends = (Fraction(function(float(low))), Fraction(function(float(a[1]))))
                bounds = (
                    ends[0] - slack * (1 + abs(ends[0])),
                    ends[1] + slack * (1 + abs(ends[1])),
                )
        return number(Type.REAL, bounds, nullable=True)

    return rule


def _square_root(args: tuple[Expr, ...]) -> Facts:
    _need(args, NUMERIC, "SQRT")
    a = _interval_or_point(args[0])
    if a is None:
        return number(Type.REAL, None, True)
    top = Fraction(math.isqrt(math.ceil(max(a[1], Fraction(0)))) + 1)
    return number(Type.REAL, (Fraction(0), top), nullable=True)


def _power(args: tuple[Expr, ...]) -> Facts:
    _need(args, NUMERIC, "POWER")
    a = _interval_or_point(args[0])
    exponent = args[1].value if isinstance(args[1], Literal) else None
    if a is not None and isinstance(exponent, int) and 0 <= exponent <= 16:
        return number(Type.REAL, intervals.power(a, exponent), any_nullable(args))
    return number(Type.REAL, None, nullable=True)


def _comparison(args: tuple[Expr, ...]) -> Facts:
    comparable(args)
    return Facts(Type.BOOLEAN, nullable=any_nullable(args))


def _distinct_from(args: tuple[Expr, ...]) -> Facts:
    comparable(args)
    return Facts(Type.BOOLEAN, nullable=False)


def comparable(args: Sequence[Expr]) -> Type:
    """Return the type in which the operands can be compared, or refuse."""
    kinds = {arg.facts.type for arg in args} - {Type.NULL}
    if not kinds:
        return Type.NULL
    if kinds <= NUMERIC:
        return Type.INTEGER if kinds == {Type.INTEGER} else Type.REAL
    if kinds <= TEMPORAL:
        return Type.DATE if kinds == {Type.DATE} else Type.TIMESTAMP
    if len(kinds) == 1:
        return next(iter(kinds))
    names = " with ".join(sorted(kind.value for kind in kinds))
    raise Refused(
        "type_mismatch",
        f"values of different types cannot be compared or combined: {names}",
        "cast one side, for example CAST(x AS VARCHAR) = '7'; write dates as DATE '2026-01-31'",
    )


def _logic(args: tuple[Expr, ...]) -> Facts:
    _need(args, frozenset({Type.BOOLEAN}), "AND, OR and NOT")
    return Facts(Type.BOOLEAN, nullable=any_nullable(args))


def _never_null(args: tuple[Expr, ...]) -> Facts:
    return Facts(Type.BOOLEAN, nullable=False)


def _is_true(args: tuple[Expr, ...]) -> Facts:
    _need(args, frozenset({Type.BOOLEAN}), "IS TRUE and IS FALSE")
    return Facts(Type.BOOLEAN, nullable=False)


def _like(args: tuple[Expr, ...]) -> Facts:
    _need(args, frozenset({Type.TEXT}), "LIKE")
    if not all(isinstance(arg, Literal) and isinstance(arg.value, str) for arg in args[1:]):
        raise Refused(
            "pattern_not_constant",
            "LIKE takes a constant pattern",
            "write the pattern as a string, for example city LIKE 'San %'",
        )
    if len(str(args[1].value)) > PATTERN_LENGTH_MAX:  # type: ignore[union-attr]
        raise Refused(
            "pattern_too_long",
            f"the pattern has more than {PATTERN_LENGTH_MAX} characters",
            "shorten it: matching long patterns takes time that depends on the rows",
        )
    if len(args) == 3 and _ends_escaping(args[1], args[2]):
        raise Refused(
            "pattern_invalid",
            "the pattern ends with its own escape character",
            "write a character after the escape, or leave ESCAPE out",
        )
    return Facts(Type.BOOLEAN, nullable=any_nullable(args))


def _ends_escaping(pattern: Expr, escape: Expr) -> bool:
    assert isinstance(pattern, Literal) and isinstance(escape, Literal)  # noqa: S101
    text, sign = str(pattern.value), str(escape.value)
    position = 0
    while position < len(text):
        if text[position] == sign and position == len(text) - 1:
            return True
        position += 2 if text[position] == sign else 1
    return False


def _case(args: tuple[Expr, ...]) -> Facts:
    """Facts of CASE: args are condition, value, condition, value, …, default."""
    conditions, values = args[:-1:2], [*args[1:-1:2], args[-1]]
    _need(conditions, frozenset({Type.BOOLEAN}), "CASE WHEN")
    return _choice(values, any_nullable(values))


def _coalesce(args: tuple[Expr, ...]) -> Facts:
    return _choice(args, all(arg.facts.nullable for arg in args))


def _nullif(args: tuple[Expr, ...]) -> Facts:
    comparable(args)
    first = args[0].facts
    return Facts(first.type, first.low, first.high, nullable=True, grid=first.grid)


def _choice(values: Sequence[Expr], nullable: bool) -> Facts:
    """Return the facts of 'one of these values': the hull of their bounds."""
    kind = comparable(values)
    known = [value.facts for value in values if value.facts.type is not Type.NULL]
    grid = known[0].grid if known else None
    for facts in known[1:]:
        grid = _common_grid(grid, facts.grid) if grid and facts.grid else None
    if kind in NUMERIC:
        parts = [interval_of(facts) for facts in known]
        bounds = intervals.hull(*[p for p in parts if p]) if all(parts) and parts else None
        return number(kind, bounds, nullable, grid)
    if kind in TEMPORAL and all(facts.bounded for facts in known):
        lows = [_as_timestamp(facts.low, kind) for facts in known]
        highs = [_as_timestamp(facts.high, kind) for facts in known]
        return Facts(kind, min(lows), max(highs), nullable)
    return Facts(kind, nullable=nullable)


def _as_timestamp(bound: object, kind: Type) -> date:
    if kind is Type.TIMESTAMP and isinstance(bound, date) and not isinstance(bound, datetime):
        return datetime(bound.year, bound.month, bound.day)
    assert isinstance(bound, date)  # noqa: S101  (TEMPORAL facts only carry dates)
    return bound


def _text_function(name: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        _need(args, frozenset({Type.TEXT}), name)
        return Facts(Type.TEXT, nullable=any_nullable(args))

    return rule


def _length(args: tuple[Expr, ...]) -> Facts:
    _need(args, frozenset({Type.TEXT}), "LENGTH")
    return number(Type.INTEGER, (Fraction(0), Fraction(2**32)), any_nullable(args))


def _date_part(part: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        _need(args, TEMPORAL, f"the {part} of a date")
        if part in CLOCK_PARTS and args[0].facts.type is Type.DATE:
            raise Refused(
                "no_clock_time",
                f"a date has no {part}",
                "use a timestamp column, or ask for the year, month, week or day",
            )
        low, high = DATE_PARTS[part]
        facts = args[0].facts
        if part == "year" and isinstance(facts.low, date) and isinstance(facts.high, date):
            low, high = facts.low.year, facts.high.year
        return number(Type.INTEGER, (Fraction(low), Fraction(high)), any_nullable(args))

    return rule


def _truncation(unit: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        _need(args, TEMPORAL, "DATE_TRUNC")
        facts = args[0].facts
        if unit in CLOCK_PARTS and facts.type is Type.DATE:
            raise Refused(
                "no_clock_time", f"a date has no {unit}", "truncate to 'day', 'week', 'month' …"
            )
        if isinstance(facts.low, date) and isinstance(facts.high, date):
            return Facts(
                facts.type, truncate(facts.low, unit), truncate(facts.high, unit), facts.nullable
            )
        return Facts(facts.type, nullable=facts.nullable)

    return rule


def truncate(moment: date, unit: str) -> date:
    """Return the start of the year, quarter, month, week (Monday), day, hour or minute.

    >>> truncate(date(2026, 5, 17), "quarter")
    datetime.date(2026, 4, 1)
    """
    start: date = moment
    if isinstance(moment, datetime):
        finer = {"hour": {}, "minute": {"minute": moment.minute}}
        if unit in finer:
            clock: dict[str, int] = finer[unit]
            return datetime(
                moment.year, moment.month, moment.day, moment.hour, clock.get("minute", 0)
            )
        start = datetime(moment.year, moment.month, moment.day)
    if unit == "year":
        return start.replace(month=1, day=1)
    if unit == "quarter":
        return start.replace(month=3 * ((start.month - 1) // 3) + 1, day=1)
    if unit == "month":
        return start.replace(day=1)
    if unit == "week":
        return start - timedelta(days=start.weekday())  # the calendar's first day is a Monday
    return start


def _cast_whole(name: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        kinds = NUMERIC | {Type.TEXT, Type.BOOLEAN}
        _need(args, kinds, f"CAST AS {name.upper()}")
        low, high = (Fraction(end) for end in CAST_RANGES[name])
        source = interval_of(args[0].facts)
        if args[0].facts.type is Type.BOOLEAN:
            source = (Fraction(0), Fraction(1))
        if source is not None:
            rounded = intervals.round_outward(source, 0)
            low, high = max(low, rounded[0]), min(high, rounded[1])
            if low > high:  # nothing fits: always NULL
                low = high = Fraction(0)
        return number(Type.INTEGER, (low, high), nullable=True)

    return rule


def _cast_real(args: tuple[Expr, ...]) -> Facts:
    _need(args, NUMERIC | {Type.TEXT}, "CAST AS DOUBLE")
    facts = args[0].facts
    nullable = facts.nullable if facts.type is Type.REAL else True
    return number(Type.REAL, interval_of(facts), nullable, facts.grid)


def _cast_text(args: tuple[Expr, ...]) -> Facts:
    kinds = frozenset({Type.INTEGER, Type.TEXT, Type.BOOLEAN, Type.DATE, Type.TIMESTAMP})
    _need(args, kinds, "CAST AS VARCHAR")
    return Facts(Type.TEXT, nullable=any_nullable(args))


def _cast_boolean(args: tuple[Expr, ...]) -> Facts:
    _need(args, frozenset({Type.INTEGER, Type.TEXT, Type.BOOLEAN}), "CAST AS BOOLEAN")
    return Facts(Type.BOOLEAN, nullable=True)


def _cast_date(args: tuple[Expr, ...]) -> Facts:
    _need(args, TEMPORAL | {Type.TEXT}, "CAST AS DATE")
    low, high = args[0].facts.low, args[0].facts.high
    if args[0].facts.type in TEMPORAL and isinstance(low, date) and isinstance(high, date):
        return Facts(Type.DATE, _as_date(low), _as_date(high), nullable=True)
    return Facts(Type.DATE, date.min, date.max, nullable=True)


def _as_date(moment: date) -> date:
    return date(moment.year, moment.month, moment.day)


def _cast_timestamp(args: tuple[Expr, ...]) -> Facts:
    _need(args, TEMPORAL | {Type.TEXT}, "CAST AS TIMESTAMP")
    low, high = args[0].facts.low, args[0].facts.high
    if args[0].facts.type in TEMPORAL and isinstance(low, date) and isinstance(high, date):
        kind = Type.TIMESTAMP
        return Facts(kind, _as_timestamp(low, kind), _as_timestamp(high, kind), nullable=True)
    return Facts(Type.TIMESTAMP, datetime.min, datetime(9999, 12, 31, 23, 59, 59), nullable=True)


def _constant_integer(arg: Expr, what: str, low: int, high: int) -> int:
    if isinstance(arg, Literal) and isinstance(arg.value, int) and low <= arg.value <= high:
        return arg.value
    raise Refused(
        "constant_needed",
        f"{what} must be a constant whole number from {low} to {high}",
        "write the number itself, for example ROUND(x, 2)",
    )


RULES: dict[str, Rule] = {
    "add": _arithmetic("+", intervals.add, _common_grid),
    "subtract": _arithmetic("-", intervals.subtract, _common_grid),
    "multiply": _arithmetic("*", intervals.multiply, lambda a, b: a * b),
    "negate": _negative,
    "divide": _division,
    "integer_divide": _integer_division,
    "modulo": _modulo,
    "abs": _absolute,
    "sign": _sign,
    "round": _round,
    "floor": _to_whole("FLOOR"),
    "ceil": _to_whole("CEIL"),
    "trunc": _to_whole("TRUNC"),
    "least": _extreme("LEAST", min),
    "greatest": _extreme("GREATEST", max),
    "sqrt": _square_root,
    "ln": _monotone("LN", math.log, 0.0),
    "exp": _monotone("EXP", math.exp, None),
    "power": _power,
    "equal": _comparison,
    "not_equal": _comparison,
    "less": _comparison,
    "less_equal": _comparison,
    "greater": _comparison,
    "greater_equal": _comparison,
    "distinct_from": _distinct_from,
    "not_distinct_from": _distinct_from,
    "in": _comparison,
    "between": _comparison,
    "like": _like,
    "ilike": _like,
    "and": _logic,
    "or": _logic,
    "not": _logic,
    "is_null": _never_null,
    "is_true": _is_true,
    "is_false": _is_true,
    "case": _case,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "lower": _text_function("LOWER"),
    "upper": _text_function("UPPER"),
    "trim": _text_function("TRIM"),
    "length": _length,
    "cast_real": _cast_real,
    "cast_text": _cast_text,
    "cast_boolean": _cast_boolean,
    "cast_date": _cast_date,
    "cast_timestamp": _cast_timestamp,
    **{f"cast_{name}": _cast_whole(name) for name in CAST_RANGES},
    **{f"part_{part}": _date_part(part) for part in DATE_PARTS},
    **{f"trunc_{unit}": _truncation(unit) for unit in TRUNCATIONS},
}
