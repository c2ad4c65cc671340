"""Casts: CAST, TRY_CAST, SAFE_CAST and ::, all of them total.

A time of day is the text that it is printed as, such as 08:30:00, with as many decimals of a second as it
has: such texts are equal, and in order, as the times are. They are compared with each other alone.
"""

from __future__ import annotations

from datetime import time

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.expressions.calls import Bind, applied
from sanql.question import Expr, Type, integer_literal, temporal_literal, text_literal

COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In)
TARGETS = {
    "TINYINT": "cast_tinyint", "SMALLINT": "cast_smallint", "INT": "cast_integer",
    "BIGINT": "cast_bigint", "DOUBLE": "cast_real", "FLOAT": "cast_real", "FLOAT64": "cast_real",
    "DECIMAL": "cast_real", "TEXT": "cast_text", "VARCHAR": "cast_text", "BOOLEAN": "cast_boolean",
    "DATE": "cast_date", "TIMESTAMP": "cast_timestamp", "TIMESTAMPNTZ": "cast_timestamp",
    "DATETIME": "cast_timestamp",
}  # fmt: skip


def cast(node: exp.Expression, bind: Bind) -> Expr:
    """Return a value as another type, NULL where it is none."""
    target = node.args["to"]
    name = target.this.name if hasattr(target.this, "name") else str(target.this)
    if name == "USERDEFINED":
        name = str(target.args.get("kind")).upper()
    inner = node.this
    if isinstance(inner, exp.Literal) and inner.args.get("is_string"):
        if name == "TIME":
            return _time_literal(str(inner.this))
        if name == "DATE":
            return temporal_literal(str(inner.this), Type.DATE)
        if name in ("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"):
            return temporal_literal(str(inner.this), Type.TIMESTAMP)
    if name == "TIME":
        _check_compared(node)
        return _time_of(node, bind(inner))
    if name not in TARGETS:
        raise Refused(
            "cast_unsupported",
            f"CAST AS {name[:60]} is not supported",
            f"the types are {', '.join(sorted(TARGETS))}",
        )
    value = applied(node, TARGETS[name], bind(inner))
    if name == "DECIMAL":
        value = applied(node, "round", value, integer_literal(_decimal_places(target)))
    return value


def _time_literal(typed: str) -> Expr:
    """Return a time of day as it is printed."""
    try:
        moment = time.fromisoformat(typed) if typed.isascii() and ":" in typed else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is not None:
        raise Refused(
            "date_invalid",
            f"{typed[:40]!r} is no time of a day",
            "write it as hours, minutes and seconds, for example TIME '08:30:00'",
        )
    printed = moment.isoformat()
    return text_literal(printed.rstrip("0") if "." in printed else printed)


def _check_compared(node: exp.Expression) -> None:
    """Refuse a time of day that is not compared with others: as a text it would be taken for one."""
    beside = list(node.parent.iter_expressions()) if node.parent is not None else []
    if isinstance(node.parent, COMPARISONS) and all(is_time(each) for each in beside):
        return
    raise Refused(
        "cast_unsupported",
        "CAST AS TIME is compared with times of day, or its parts are asked for, and nothing else",
        "compare it with TIME '08:30:00', ask for EXTRACT(hour FROM t), or group by the hour",
    )


def is_time(node: exp.Expr) -> bool:
    """Return whether an expression is a time of day."""
    return bool(isinstance(node, exp.Cast) and node.to.this is exp.DataType.Type.TIME)


def _time_of(node: exp.Expression, moment: Expr) -> Expr:
    """Return the time of day of a moment, as it is printed."""
    if moment.facts.type is not Type.TIMESTAMP:
        raise Refused(
            "cast_unsupported",
            f"CAST AS TIME takes a moment, and was given a {moment.facts.type} value",
            "cast it to TIMESTAMP first",
        )
    printed = applied(node, "strftime", moment, text_literal("%H:%M:%S.%f"))
    shorter = applied(node, "rtrim", printed, text_literal("0"))
    return applied(node, "rtrim", shorter, text_literal("."))


def _decimal_places(target: exp.Expression) -> int:
    written = [str(argument.this) for argument in target.expressions]
    if not all(size.isascii() and size.isdecimal() and len(size) < 3 for size in written):
        raise Refused(
            "cast_unsupported",
            "DECIMAL takes a width and a number of digits",
            "write, for example, DECIMAL(10, 2)",
        )
    sizes = [int(size) for size in written]
    return sizes[1] if len(sizes) > 1 else 0 if sizes else 3
