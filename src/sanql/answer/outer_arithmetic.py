"""Interval arithmetic as expressions: the ends of a result from the ends of what it is computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sanql.functions import call
from sanql.question import NULL, Call, Expr, Type, integer_literal

RISING = frozenset(["sqrt", "exp", "ln", "cbrt", "log1p"])
ROUNDED = frozenset(["round", "truncate", "floor", "ceil", "trunc"])

PARTS_MAX = 20_000
"""Of how many operators and columns an end may be made: more would be too long for the engine."""


@dataclass(frozen=True)
class Ends:
    """The ends of an interval, as expressions; both are the number itself where it is exact."""

    low: Expr
    high: Expr

    @staticmethod
    def column(name: str, end: str, together: int) -> str:
        """Return what the column of an end is called, of intervals of which so many hold together."""
        return f"{name} {end} of {together}"


class EndSizes:
    """Knows of how many parts ends are made, each counted as often as it would be written.

    Ends share what they are made of, so that this number may be far larger than the memory they take:
    what is shared is counted once, and its number known from then on.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Expr, int]] = {}

    def fit(self, ends: Ends) -> bool:
        """Return whether ends are short enough for the engine to be tried with them."""
        return max(self._of(ends.low), self._of(ends.high)) <= PARTS_MAX

    def _of(self, value: Expr) -> int:
        known = self._known.get(id(value))
        if known is None:
            size = 1 + sum(map(self._of, value.args)) if isinstance(value, Call) else 1
            known = self._known[id(value)] = (value, size)  # kept, so that no other has its id
        return known[1]


def if_all(counted: Expr, expected: Expr, value: Expr) -> Expr:
    """Return a number that is made of as many ends as there are values: otherwise one is unknown."""
    return call("case", call("equal", counted, expected), value, NULL)


def as_real(value: Expr) -> Expr:
    return value if value.facts.type is not Type.INTEGER else call("cast_real", value)


def of_operator(
    op: str, value: Call, args: Sequence[Expr], operands: Sequence[Ends]
) -> Ends | None:
    """Return the ends of an operator's result from those of what it takes."""
    a = Ends(as_real(operands[0].low), as_real(operands[0].high))
    b = Ends(as_real(operands[1].low), as_real(operands[1].high)) if len(operands) > 1 else a
    match op:
        case "add":
            return Ends(call("add", a.low, b.low), call("add", a.high, b.high))
        case "subtract":
            return Ends(call("subtract", a.low, b.high), call("subtract", a.high, b.low))
        case "multiply":
            return _corners("multiply", a, b)
        case "divide":
            quotient = _corners("divide", a, b)
            if b.low == b.high:
                return quotient
            zero = call("cast_real", integer_literal(0))
            through = call(
                "and", call("less_equal", b.low, zero), call("greater_equal", b.high, zero)
            )
            return Ends(*(call("case", through, NULL, e) for e in (quotient.low, quotient.high)))
        case "negate":
            return Ends(call("negate", a.high), call("negate", a.low))
        case "cast_real" | "nullif":
            return a
        case "coalesce":
            return _coalesced(args, operands)
        case "least" | "greatest" if len(operands) == 2:
            return _extreme(op, a, b)
        case op if op in RISING:
            return Ends(call(op, a.low), call(op, a.high))
        case op if op in ROUNDED or op.startswith("cast_"):
            shown = as_real(value)
            return Ends(_known("least", a.low, shown), _known("greatest", a.high, shown))
        case _:
            return None


def _corners(op: str, a: Ends, b: Ends) -> Ends:
    # what is exact has one end, and what is written twice may become too long for the engine
    ends = [call(op, x, y) for x in _different(a) for y in _different(b)]
    return Ends(_known("least", *ends), _known("greatest", *ends))


def _different(ends: Ends) -> list[Expr]:
    return [ends.low] if ends.low == ends.high else [ends.low, ends.high]


def _known(op: str, *values: Expr) -> Expr:
    """Return the least or greatest of values, all of which must be known."""
    unknown = [call("is_null", value) for value in values]
    return call("case", call("or", *unknown), NULL, call(op, *values))


def _extreme(op: str, a: Ends, b: Ends) -> Ends:
    """Return the ends of LEAST or GREATEST: an end that is not known decides on one side only."""
    surely, loosely = ("low", "high") if op == "least" else ("high", "low")
    ends = {
        surely: _known(op, getattr(a, surely), getattr(b, surely)),
        loosely: call(op, getattr(a, loosely), getattr(b, loosely)),
    }
    return Ends(ends["low"], ends["high"])


def _coalesced(args: Sequence[Expr], operands: Sequence[Ends]) -> Ends:
    low, high = as_real(operands[-1].low), as_real(operands[-1].high)
    for arg, ends in zip(args[-2::-1], operands[-2::-1], strict=True):
        missing = call("is_null", arg)
        low = call("case", missing, low, as_real(ends.low))
        high = call("case", missing, high, as_real(ends.high))
    return Ends(low, high)
