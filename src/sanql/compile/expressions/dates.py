"""Dates and timestamps as SQL: within the years 1 to 9999, or NULL."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sanql.compile.expressions.values import Emit, clamp_to_bounds, engine_function
from sanql.functions import CLOCK_MICROSECONDS, DATE_PARTS, DIFFERENCES, EPOCH, TRUNCATIONS
from sanql.question import Expr, Facts, Type

if TYPE_CHECKING:
    from sanql.compile.expressions.emitter import Emitter

ENGINE_PARTS = {part: part for part in DATE_PARTS} | {"dayofweek": "dow", "dayofyear": "doy"}
ENGINE_STEPS = {
    "months": "system.main.to_months(CAST({} AS INTEGER))",
    "days": "system.main.to_days(CAST({} AS INTEGER))",
    "seconds": "system.main.to_seconds(CAST({} AS DOUBLE))",
}


def _part(part: str) -> Emit:
    return lambda emitter, args, facts: (
        f"CAST(system.main.date_part('{ENGINE_PARTS[part]}', {_dated(emitter, args[0])}) AS BIGINT)"
    )


def _truncated(unit: str) -> Emit:
    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        moment = f"system.main.date_trunc('{unit}', {_dated(emitter, args[0])})"
        return f"CAST({moment} AS {_kind(facts)})"

    return emit


def _dated(emitter: Emitter, arg: Expr) -> str:
    """Return an operand of a function that the engine has for several types: NULL has one of them."""
    return "CAST(NULL AS DATE)" if arg.facts.type is Type.NULL else emitter.sql(arg)


def _kind(facts: Facts) -> str:
    return "TIMESTAMP" if facts.type is Type.TIMESTAMP else "DATE"


def _moment(emitter: Emitter, arg: Expr) -> str:
    return f"CAST({emitter.sql(arg)} AS TIMESTAMP)"


def _moved(unit: str) -> Emit:
    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        if facts.type is Type.NULL:
            return "NULL"
        steps = ENGINE_STEPS[unit].format(emitter.sql(args[1]))
        moved = f"CAST({emitter.sql(args[0])} + {steps} AS {_kind(facts)})"
        return _inside(emitter, moved, facts)

    return emit


def _inside(emitter: Emitter, text: str, facts: Facts) -> str:
    """Return a moment, NULL where it left the calendar."""
    low, high = emitter.bound(facts.low), emitter.bound(facts.high)
    return f"CASE WHEN {text} BETWEEN {low} AND {high} THEN {text} END"


def _between(name: str, unit: str) -> Emit:
    def emit(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
        days = unit not in CLOCK_MICROSECONDS or unit == "day"
        if days and all(arg.facts.type is Type.DATE for arg in args):
            texts = [emitter.sql(arg) for arg in args]
        else:
            texts = [_moment(emitter, arg) for arg in args]
        return f"system.main.{name}('{unit}', {', '.join(texts)})"

    return emit


def _made_date(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    fields = ", ".join(emitter.sql(arg) for arg in args)
    # through text, because making a date of numbers is an error where there is no such day
    text = f"TRY_CAST(system.main.printf('%d-%d-%d', {fields}) AS DATE)"
    return _inside(emitter, text, facts)


def _last_day(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    return f"CAST(system.main.last_day({emitter.sql(args[0])}) AS DATE)"


def _epoch(name: str, kind: str) -> Emit:
    return lambda emitter, args, facts: (
        f"CAST(system.main.{name}({_moment(emitter, args[0])}) AS {kind})"
    )


def _from_epoch(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    text = emitter.sql(args[0])
    if args[0].facts.type is Type.REAL:
        steps = f"system.main.floor({text} * 1e6 + 0.5)"
    else:
        steps = f"CAST({text} AS HUGEINT) * 1000000"
    low, high = (_seconds(end) for end in (facts.low, facts.high))
    made = f"system.main.make_timestamp(TRY_CAST({steps} AS BIGINT))"
    return f"CASE WHEN {text} BETWEEN {low} AND {high} THEN {made} END"


def _seconds(end: object) -> int:
    assert isinstance(end, datetime)  # noqa: S101  (the rule gives timestamps their bounds)
    return (end - EPOCH) // timedelta(seconds=1)


def _read(emitter: Emitter, args: tuple[Expr, ...], facts: Facts) -> str:
    text = f"system.main.try_strptime({emitter.sql(args[0])}, {emitter.sql(args[1])})"
    return clamp_to_bounds(text, emitter.bound(facts.low), emitter.bound(facts.high), True)


DATE_SQL: Mapping[str, Emit] = {
    **{f"part_{part}": _part(part) for part in DATE_PARTS},
    **{f"trunc_{unit}": _truncated(unit) for unit in TRUNCATIONS},
    **{f"add_{unit}": _moved(unit) for unit in ENGINE_STEPS},
    **{f"diff_{unit}": _between("date_diff", unit) for unit in DIFFERENCES},
    **{f"full_{unit}": _between("date_sub", unit) for unit in DIFFERENCES},
    "make_date": _made_date,
    "last_day": _last_day,
    "dayname": engine_function("dayname"),
    "monthname": engine_function("monthname"),
    "epoch": _epoch("epoch", "DOUBLE"),
    "epoch_ms": _epoch("epoch_ms", "BIGINT"),
    "to_timestamp": _from_epoch,
    "strftime": engine_function("strftime"),
    "strptime": _read,
}
