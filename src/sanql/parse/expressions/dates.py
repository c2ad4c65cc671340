"""Dates in every spelling: parts, periods, intervals, differences and formats."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime

from sqlglot import exp

from sanql.errors import Refused
from sanql.functions import DATE_PARTS, DIFFERENCES, TRUNCATIONS, later_moment
from sanql.parse.expressions.calls import Bind, Build, applied
from sanql.parse.expressions.casts import is_time
from sanql.parse.expressions.refusals import wrong_number
from sanql.question import (
    TEMPORAL,
    Expr,
    Literal,
    Type,
    integer_literal,
    moment_literal,
    temporal_literal,
)

ALIASES = {
    "years": "year", "y": "year", "yyyy": "year", "yr": "year", "quarters": "quarter", "q": "quarter",
    "qtr": "quarter", "months": "month", "mon": "month", "mons": "month", "mm": "month",
    "weeks": "week", "w": "week", "weekofyear": "week", "isoweek": "week", "days": "day", "d": "day",
    "dd": "day", "dayofmonth": "day", "dow": "dayofweek", "weekday": "dayofweek",
    "dayofweekiso": "isodow", "dayofweek_iso": "isodow", "doy": "dayofyear", "hours": "hour",
    "h": "hour", "hh": "hour", "hr": "hour", "minutes": "minute", "m": "minute", "min": "minute",
    "mins": "minute", "seconds": "second", "s": "second", "sec": "second", "secs": "second",
    "milliseconds": "millisecond", "ms": "millisecond", "microseconds": "microsecond",
    "us": "microsecond", "decades": "decade", "centuries": "century", "millennia": "millennium",
}  # fmt: skip
# what an interval of each unit adds: so many months, days or seconds
STEPS = {
    "year": ("months", 12), "quarter": ("months", 3), "month": ("months", 1), "week": ("days", 7),
    "day": ("days", 1), "hour": ("seconds", 3600), "minute": ("seconds", 60), "second": ("seconds", 1),
}  # fmt: skip


def unit_named(node: object) -> str | None:
    """Return the unit a word or a string names, if it names one."""
    if isinstance(node, exp.Column) and node.args.get("table"):
        return None
    if not isinstance(node, exp.Var | exp.Column | exp.Literal | exp.Identifier):
        return None
    name = str(node.name).lower()
    name = ALIASES.get(name, name)
    return name if name in DATE_PARTS or name in STEPS or name == "epoch" else None


def moment_of(node: exp.Expression, bind: Bind) -> Expr:
    """Return an operand that is meant as a date: a quoted one is read as such."""
    value = bind(node)
    if isinstance(value, Literal) and isinstance(value.value, str):
        longer = len(value.value.strip()) > 10
        return temporal_literal(value.value, Type.TIMESTAMP if longer else Type.DATE)
    return value


def extract(node: exp.Expression, bind: Bind) -> Expr:
    """Return a part of a date: EXTRACT(part FROM d)."""
    return _part(node, node.this, node.expression, bind)


def _part(node: exp.Expression, unit: exp.Expression, moment: exp.Expression, bind: Bind) -> Expr:
    if _is_time(moment):
        return _part(node, unit, moment.this, bind)
    if str(unit.name).upper() == "DATE":
        return bind(exp.cast(moment.copy(), "DATE"))
    name = unit_named(unit)
    if name is None:
        raise Refused(
            "date_part_unknown",
            f"{str(unit.name)!r} is not a part of a date that can be asked for",
            f"the parts are {', '.join([*DATE_PARTS, 'epoch'])}",
        )
    if name == "year" and _named(moment, "AGE") and len(moment.expressions) == 2:
        later, earlier = (moment_of(operand, bind) for operand in moment.expressions)
        return applied(node, "full_year", earlier, later)
    value = moment_of(moment, bind)
    return applied(node, "epoch" if name == "epoch" else f"part_{name}", value)


def _is_time(node: exp.Expression) -> bool:
    """Return whether an operand is the time of day of a moment, whose parts are those of the moment."""
    return is_time(node) and not isinstance(node.this, exp.Literal)


def _named(node: exp.Expression, name: str) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this).upper() == name


def _date_part(node: exp.Expression, arguments: list[exp.Expression], bind: Bind) -> Expr:
    if len(arguments) != 2:
        raise wrong_number(node, "DATE_PART('year', d)")
    return _part(node, arguments[0], arguments[1], bind)


def _year(node: exp.Expression, arguments: list[exp.Expression], bind: Bind) -> Expr:
    if len(arguments) != 1:
        raise wrong_number(node, "YEAR(d)")
    return _part(node, exp.var("year"), arguments[0], bind)


def truncate(node: exp.Expression, bind: Bind) -> Expr:
    """Return the start of a period: DATE_TRUNC('month', d), also DATE_TRUNC(d, MONTH)."""
    unit, moment = node.args.get("unit"), node.this
    if unit_named(unit) is None and unit_named(moment) is not None and unit is not None:
        unit, moment = moment, _word(unit)
    name = unit_named(unit) or (str(unit.name).lower() if unit is not None else "")
    if name not in TRUNCATIONS:
        raise Refused(
            "date_unit_unknown",
            f"DATE_TRUNC does not know the unit {name!r}",
            f"the units are {', '.join(TRUNCATIONS)}",
        )
    return applied(node, f"trunc_{name}", moment_of(moment, bind))


BUCKETS = {
    (1, unit): unit for unit in ("year", "quarter", "month", "week", "day", "hour", "minute")
} | {(3, "month"): "quarter", (12, "month"): "year", (7, "day"): "week", (24, "hour"): "day",
     (60, "minute"): "hour", (60, "second"): "minute"}  # fmt: skip


def time_bucket(node: exp.Expression, bind: Bind) -> Expr:
    """Return TIME_BUCKET(INTERVAL 1 DAY, t): the start of the period, where it is one by itself.

    DuckDB counts weeks from a Monday, and months from January, so both are those of DATE_TRUNC.
    """
    width, moment = node.this, node.expression
    if isinstance(width, exp.Interval) and moment is not None:
        amounts = _amounts(width, bind)
        (amount, unit) = amounts[0] if len(amounts) == 1 else (None, "")
        number = amount.value if isinstance(amount, Literal) else None
        name = BUCKETS.get((number, unit)) if isinstance(number, int) else None
        if name is not None:
            return applied(node, f"trunc_{name}", moment_of(moment, bind))
    raise Refused(
        "date_unit_unknown",
        "TIME_BUCKET takes periods of the calendar: one year, quarter, month, week, day, hour or minute",
        "write TIME_BUCKET(INTERVAL 1 DAY, t), or DATE_TRUNC('day', t)",
    )


def _word(node: exp.Expression) -> exp.Expression:
    """Return an operand that the grammar took for a unit, as the column it is."""
    return exp.column(node.name) if isinstance(node, exp.Var) else node


def add(node: exp.Expression, bind: Bind) -> Expr:
    """Return x + y: numbers, or a date and an interval."""
    left, right = node.this, node.expression
    if isinstance(left, exp.Interval):
        left, right = right, left
    if isinstance(right, exp.Interval):
        return _shifted(node, moment_of(left, bind), right, 1, bind)
    first, second = bind(left), bind(right)
    if second.facts.type in TEMPORAL and first.facts.type not in TEMPORAL:
        first, second = second, first
    if first.facts.type in TEMPORAL:
        return _by_days(node, first, second, 1)
    return applied(node, "add", first, second)


def subtract(node: exp.Expression, bind: Bind) -> Expr:
    """Return x - y: numbers, dates, or a date and an interval."""
    if isinstance(node.expression, exp.Interval):
        return _shifted(node, moment_of(node.this, bind), node.expression, -1, bind)
    first, second = bind(node.this), bind(node.expression)
    if second.facts.type in TEMPORAL:
        return _days_between(node, second, first)
    if first.facts.type in TEMPORAL:
        return _by_days(node, first, second, -1)
    return applied(node, "subtract", first, second)


def _days_between(node: exp.Expression, first: Expr, second: Expr) -> Expr:
    if first.facts.type is Type.DATE and second.facts.type is Type.DATE:
        return applied(node, "diff_day", first, second)
    raise Refused(
        "type_mismatch",
        "the difference of timestamps is an interval, which is no number",
        "say in what it is counted: DATE_DIFF('day', earlier, later), or DATE_DIFF('minute', …)",
    )


def _by_days(node: exp.Expression, moment: Expr, days: Expr, sign: int) -> Expr:
    if moment.facts.type is Type.DATE and days.facts.type is Type.INTEGER:
        return _moved(node, moment, "days", _times(node, days, sign))
    raise Refused(
        "type_mismatch",
        f"a {days.facts.type.value} value cannot be added to a {moment.facts.type.value}, "
        f"or taken from it",
        "write d + INTERVAL 3 DAY; for the time between two dates write DATE_DIFF('day', d, e)",
    )


def _shifted(
    node: exp.Expression, moment: Expr, interval: exp.Expression, sign: int, bind: Bind
) -> Expr:
    amounts = _amounts(interval, bind)
    for kind in ("months", "days", "seconds"):  # the engine's order, each kind in one step
        steps = [
            _times(node, amount, sign * STEPS[unit][1])
            for amount, unit in amounts
            if STEPS[unit][0] == kind
        ]
        if steps:
            moment = _moved(node, moment, kind, _total(steps))
    return moment


def _total(steps: list[Expr]) -> Expr:
    numbers = [step.value for step in steps if isinstance(step, Literal)]
    whole = [number for number in numbers if isinstance(number, int)]
    # an interval of several numbers is a constant; one of a column has a single unit
    return integer_literal(sum(whole)) if len(whole) == len(steps) else steps[0]


def _amounts(interval: exp.Expression, bind: Bind) -> list[tuple[Expr, str]]:
    """Return an interval as numbers of units: INTERVAL 3 DAY, INTERVAL '1 year 2 months'."""
    written, unit = interval.this, interval.args.get("unit")
    if isinstance(written, exp.Literal) and written.args.get("is_string"):
        words = str(written.this).split() + ([str(unit.name)] if unit is not None else [])
        pairs = list(zip(words[::2], words[1::2], strict=False))
        units = [unit_named(exp.var(word)) for _, word in pairs]
        if pairs and len(words) % 2 == 0 and all(each in STEPS for each in units):
            numbers = [_whole(number) for number, _ in pairs]
            if None not in numbers:
                return [
                    (integer_literal(n), u)
                    for n, u in zip(numbers, units, strict=True)
                    if n is not None and u is not None
                ]
    elif written is not None and unit_named(unit) in STEPS:
        return [(bind(written), str(unit_named(unit)))]
    raise Refused(
        "interval_invalid",
        "this interval is not understood",
        f"write whole numbers of {', '.join(STEPS)}: INTERVAL 3 MONTH, INTERVAL '1 year 2 days'",
    )


def _whole(text: str) -> int | None:
    digits = text.removeprefix("-").removeprefix("+")
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) < 15 else None


def _times(node: exp.Expression, amount: Expr, factor: int) -> Expr:
    if isinstance(amount, Literal) and isinstance(amount.value, int):
        return integer_literal(amount.value * factor)
    return applied(node, "multiply", amount, integer_literal(factor)) if factor != 1 else amount


def _moved(node: exp.Expression, moment: Expr, unit: str, steps: Expr) -> Expr:
    if unit == "seconds" and moment.facts.type is Type.DATE:
        moment = _at_midnight(node, moment)
    result = applied(node, f"add_{unit}", moment, steps)
    start = moment.value if isinstance(moment, Literal) else None
    number = steps.value if isinstance(steps, Literal) else None
    if isinstance(start, date) and isinstance(number, int):
        shifted = later_moment(start, unit, number)
        if shifted is None:
            raise Refused(
                "date_invalid",
                "this date lies outside the years 1 to 9999",
                "use a shorter interval",
            )
        return moment_literal(shifted)
    return result


def _at_midnight(node: exp.Expression, moment: Expr) -> Expr:
    if isinstance(moment, Literal) and isinstance(moment.value, date):
        day = moment.value
        return moment_literal(datetime(day.year, day.month, day.day))
    return applied(node, "cast_timestamp", moment)


def add_interval(sign: int) -> Callable[[exp.Expression, Bind], Expr]:
    """Return how DATE_ADD(d, INTERVAL …) and its sisters are read."""

    def build(node: exp.Expression, bind: Bind) -> Expr:
        if isinstance(node.expression, exp.Interval) and not node.args.get("unit"):
            return _shifted(node, moment_of(node.this, bind), node.expression, sign, bind)
        raise wrong_number(node, "DATE_ADD(d, INTERVAL 3 DAY)")

    return build


def add_months(node: exp.Expression, bind: Bind) -> Expr:
    """Return ADD_MONTHS(d, n)."""
    return _moved(node, moment_of(node.this, bind), "months", bind(node.expression))


def _date_add(node: exp.Expression, arguments: list[exp.Expression], bind: Bind) -> Expr:
    if len(arguments) == 3 and unit_named(arguments[0]) in STEPS:
        steps, size = STEPS[str(unit_named(arguments[0]))]
        amount = _times(node, bind(arguments[1]), size)
        return _moved(node, moment_of(arguments[2], bind), steps, amount)
    raise wrong_number(node, "DATEADD(day, 3, d)")


def _date_sub(node: exp.Expression, arguments: list[exp.Expression], bind: Bind) -> Expr:
    if len(arguments) == 2 and isinstance(arguments[1], exp.Interval):
        return _shifted(node, moment_of(arguments[0], bind), arguments[1], -1, bind)
    if len(arguments) == 3 and unit_named(arguments[0]) is not None:
        return _difference(node, "full", arguments[0], arguments[1], arguments[2], bind)
    raise wrong_number(node, "DATE_SUB('year', d, e) or DATE_SUB(d, INTERVAL 3 DAY)")


def date_diff(node: exp.Expression, bind: Bind) -> Expr:
    """Return DATE_DIFF('day', d, e); BigQuery's DATE_DIFF(e, d, DAY) has the unit last."""
    unit, last, first = node.args.get("unit"), node.this, node.expression
    if unit is None or last is None:
        raise wrong_number(node, "DATE_DIFF('day', d, e)")
    if unit_named(unit) is None and unit_named(last) is not None:
        unit, last = last, _word(unit)
    return _difference(node, "diff", unit, first, last, bind)


def timestamp_diff(node: exp.Expression, bind: Bind) -> Expr:
    """Return TIMESTAMP_DIFF(e, d, DAY) or TIMESTAMPDIFF(day, d, e): whole units, not boundaries."""
    unit, last, first = node.args.get("unit"), node.this, node.expression
    if unit is None:
        raise wrong_number(node, "TIMESTAMP_DIFF(e, d, DAY)")
    if unit_named(unit) is None and unit_named(last) is not None:
        unit, last = last, _word(unit)
    return _difference(node, "full", unit, first, last, bind)


def _difference(
    node: exp.Expression, kind: str, unit: exp.Expression, first: exp.Expression,
    last: exp.Expression, bind: Bind,
) -> Expr:  # fmt: skip
    name = unit_named(unit)
    if name not in DIFFERENCES:
        raise Refused(
            "date_unit_unknown",
            f"the time between two dates is not counted in {str(unit.name)!r}",
            f"the units are {', '.join(DIFFERENCES)}",
        )
    return applied(node, f"{kind}_{name}", moment_of(first, bind), moment_of(last, bind))


DATE_CALLS: dict[str, Build] = {
    "YEAR": _year,
    "DATE_PART": _date_part,
    "DATEPART": _date_part,
    "DATEADD": _date_add,
    "TIMESTAMPADD": _date_add,
    "DATE_SUB": _date_sub,
    "DATESUB": _date_sub,
}
