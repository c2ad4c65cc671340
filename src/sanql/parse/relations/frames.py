"""Frames of windows: which rows around a row a function sees, between two places that are constants."""

from __future__ import annotations

from sqlglot import exp

from sanql.errors import Refused

STEPS_MAX = 1_000_000
_SPOKEN = frozenset(["kind", "start", "start_side", "end", "end_side"])
_CURRENT = "CURRENT ROW"
# where a place lies: a frame runs forward, and has an end that is not before its start
_FIRST, _BEFORE, _HERE, _BEHIND, _LAST = range(5)
_UNBOUNDED = {"PRECEDING": _FIRST, "FOLLOWING": _LAST}
_COUNTED = {"PRECEDING": _BEFORE, "FOLLOWING": _BEHIND}


def frame_of(node: exp.Window) -> str:
    """Return the frame of a window as SQL, or nothing where none is written.

    Steps are counted in rows or in groups of equal rows; over a RANGE they would be distances of values.
    """
    spec = node.args.get("spec")
    if spec is None:
        return ""
    kind = str(spec.args.get("kind") or "RANGE").upper()
    start, begins = _place(spec.args.get("start"), spec.args.get("start_side"), kind)
    end, ends = _place(spec.args.get("end") or _CURRENT, spec.args.get("end_side"), kind)
    more = {name for name, value in spec.args.items() if value} - _SPOKEN
    runs = begins <= ends and begins != _LAST and ends != _FIRST
    if kind not in ("ROWS", "RANGE", "GROUPS") or more or not runs:
        raise refused_frame()
    return f"{kind} BETWEEN {start} AND {end}"


def refused_frame() -> Refused:
    """Return the refusal of a frame that is none, or goes with nothing that is asked."""
    return Refused(
        "window_frame",
        "this frame of a window is not supported",
        "frames go with COUNT, SUM, AVG, MIN, MAX, FIRST_VALUE and LAST_VALUE, written as ROWS "
        "BETWEEN 1 PRECEDING AND CURRENT ROW, with constants, UNBOUNDED or CURRENT ROW",
    )


def _place(written: object, side: object, kind: str) -> tuple[str, int]:
    """Return one end of a frame, and where it lies."""
    if isinstance(written, str) and written.upper() == _CURRENT:
        return _CURRENT, _HERE
    direction = str(side).upper()
    if direction in _COUNTED:
        if isinstance(written, str) and written.upper() == "UNBOUNDED":
            return f"UNBOUNDED {direction}", _UNBOUNDED[direction]
        number = _number(written)
        if number is not None and kind != "RANGE":
            return f"{number} {direction}", _COUNTED[direction]
    raise refused_frame()


def _number(written: object) -> int | None:
    if not isinstance(written, exp.Literal) or written.args.get("is_string"):
        return None
    text = str(written.this)
    return int(text) if text.isdecimal() and int(text) <= STEPS_MAX else None
