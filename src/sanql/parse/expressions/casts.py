"""Casts: CAST, TRY_CAST, SAFE_CAST and ::, all of them total."""

from __future__ import annotations

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.expressions.calls import Bind, applied
from sanql.question import Expr, Type, integer_literal, temporal_literal

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
        if name == "DATE":
            return temporal_literal(str(inner.this), Type.DATE)
        if name in ("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"):
            return temporal_literal(str(inner.this), Type.TIMESTAMP)
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
