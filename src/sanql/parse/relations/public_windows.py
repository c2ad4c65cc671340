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
from sanql.parse.relations.frames import STEPS_MAX, frame_of, refused_frame
from sanql.question import BIGINT_RANGE, Expr, Facts, Literal, Type

if TYPE_CHECKING:
    from sanql.parse.expressions.binder import Binder

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


def frame_of_public(node: exp.Window, *, ordered: bool) -> str:
    """Return a frame over public rows, or nothing: without an order all rows are equal to each other."""
    frame = frame_of(node)
    counted = frame.startswith("ROWS") or "BETWEEN UNBOUNDED" in frame
    if frame and not ordered and not counted:
        raise refused_frame()
    return frame


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
