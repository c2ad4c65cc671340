"""What windows over public rows have besides: frames, and functions that tell places among rows.

Over rows of a unit there are none: a frame of rows would hang on the order of rows that are equal.
Here equal rows are told apart by all that is read of them, and nobody is behind a row.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from sanql.errors import Refused
from sanql.question import BIGINT_RANGE, Expr, Facts, Literal, Type

if TYPE_CHECKING:
    from sanql.parse.expressions.binder import Binder

STEPS_MAX = 1_000_000
SHARE = Facts(Type.REAL, Fraction(0), Fraction(1), nullable=False)
_SHARES: dict[type[exp.Expression], str] = {
    exp.PercentRank: "percent_rank",
    exp.CumeDist: "cume_dist",
}
_SHIFTED: dict[type[exp.Expression], str] = {exp.Lag: "lag", exp.Lead: "lead"}

Bound = tuple[str, tuple[Expr, ...], Facts]


def bind_public_function(
    node: exp.Expression,
    binder: Binder,  # type: ignore[type-arg]
    ordered: bool,
) -> Bound | None:
    """Return a window function that only public rows have; None for all others."""
    for kind, name in _SHARES.items():
        if isinstance(node, kind):
            _check_ordered(name, ordered)
            return name, (), SHARE
    if isinstance(node, exp.Ntile):
        _check_ordered("ntile", ordered)
        parts = _steps(binder.row(node.this), least=1)
        return (
            "ntile",
            (parts,),
            Facts(Type.INTEGER, Fraction(1), BIGINT_RANGE[1], grid=Fraction(1)),
        )
    if isinstance(node, exp.NthValue):
        value, place = binder.row(node.this), _steps(binder.row(node.args["offset"]), least=1)
        return "nth_value", (value, place), replace(value.facts, nullable=True)
    if type(node) in _SHIFTED and node.args.get("default") is not None:
        value, default = binder.row(node.this), binder.row(node.args["default"])
        offset = node.args.get("offset")
        steps = _steps(binder.row(offset) if offset is not None else None)
        if not isinstance(default, Literal) or Type.NULL in (value.facts.type, default.facts.type):
            raise Refused(
                "window_offset",
                "the default behind the end must be a constant",
                "write LAG(x, 1, 0), or COALESCE(LAG(x), y)",
            )
        held = Literal(default.value, default.facts)
        if value.facts.type is not default.facts.type:
            return None
        facts = Facts(value.facts.type, nullable=True)
        if value.facts.type is Type.INTEGER:
            facts = Facts(Type.INTEGER, *BIGINT_RANGE, grid=Fraction(1))
        return _SHIFTED[type(node)], (value, steps, held), facts
    return None


def frame_of(node: exp.Window, *, ordered: bool) -> str:
    """Return a frame as SQL: ROWS or RANGE between two places, which are constants."""
    spec = node.args.get("spec")
    if spec is None:
        return ""
    kind = str(spec.args.get("kind") or "RANGE").upper()
    extra = {name for name, value in spec.args.items() if value} - {
        "kind", "start", "start_side", "end", "end_side",
    }  # fmt: skip
    if kind not in ("ROWS", "RANGE", "GROUPS") or extra:
        raise _frame()
    start = _end(spec.args.get("start"), spec.args.get("start_side"), kind)
    end = _end(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"), kind)
    if not ordered and kind != "ROWS" and "UNBOUNDED" not in start:
        raise _frame()
    return f"{kind} BETWEEN {start} AND {end}"


def _end(place: object, side: object, kind: str) -> str:
    if isinstance(place, str) and place.upper() in ("CURRENT ROW", "UNBOUNDED"):
        if place.upper() == "CURRENT ROW":
            return "CURRENT ROW"
        if str(side).upper() in ("PRECEDING", "FOLLOWING"):
            return f"UNBOUNDED {str(side).upper()}"
    if isinstance(place, exp.Literal) and not place.args.get("is_string") and kind != "RANGE":
        text = str(place.this)
        if text.isdecimal() and int(text) <= STEPS_MAX and side in ("PRECEDING", "FOLLOWING"):
            return f"{int(text)} {side}"
    raise _frame()


def _frame() -> Refused:
    return Refused(
        "window_frame",
        "a frame runs between constant places: UNBOUNDED, CURRENT ROW, or a number of rows",
        "write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW, say",
    )


def _check_ordered(name: str, ordered: bool) -> None:
    if not ordered:
        raise Refused("window_order", f"{name.upper()} needs an order", "add ORDER BY to OVER (…)")


def _steps(value: Expr | None, least: int = 0) -> Expr:
    """Return a constant number of rows."""
    from sanql.question import integer_literal

    if value is None:
        return integer_literal(1)
    known = value.value if isinstance(value, Literal) else None
    if not isinstance(known, int) or isinstance(known, bool) or not least <= known <= STEPS_MAX:
        raise Refused(
            "window_offset",
            f"it must be a constant from {least} to {STEPS_MAX:,}",
            "write NTILE(4), or LAG(x, 1)",
        )
    return value
