"""Which of a key's public values can pass WHERE, decided from the question and the policy alone.

A row whose value a condition excludes is in no group, so the group of that value is empty whatever the
data are, and need not appear. What is said of a key is judged value by value as the engine judges it
of rows; a condition that is not about the key and constants alone leaves every value.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from datetime import date, datetime
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

from sanql.errors import Refused
from sanql.question import Call, ColumnRef, Expr, Literal, LiteralValue, Type, conjuncts, walk

Judge = Callable[[LiteralValue], bool]
_ORDERS: dict[str, Callable[[Any, Any], object]] = {
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
_COMPARED = {"equal", "not_equal", *_ORDERS}
_OF_VALUES = _COMPARED | {"in", "between", "like", "ilike"}
COMPARED_MAX = 1_000  # keys that are compared with what was typed
SHOWN_MAX = 8
_MIRRORED = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}


def values_passing(
    where: Expr | None, key: Expr, values: tuple[LiteralValue, ...], *, null: bool = False
) -> tuple[LiteralValue, ...]:
    """Return the values of a key that can pass all conditions of WHERE; refuse where none can.

    Where NULL is a group besides, `null`, a condition that asks for it leaves no value.
    """
    if not isinstance(key, ColumnRef):
        return values
    left = values
    for test in conjuncts(where):
        judge = _judge(test, key, values)
        if null and _asks_for_null(test, key):
            left = ()
        elif judge is not None:
            left = tuple(value for value in left if judge(value))
    if left or null:
        return left
    raise Refused(
        "keys_excluded",
        f"WHERE leaves none of the keys of {key.name}, which are known without the data: nothing would "
        "be counted",
        _remedy(where, key, values),
    )


def null_passes(where: Expr | None, key: Expr) -> bool:
    """Return whether a row without this key may pass WHERE: comparisons and lists are true of none."""
    if not isinstance(key, ColumnRef):
        return True
    return not any(_never_of_null(test, key) for test in conjuncts(where))


def _never_of_null(test: Expr, key: ColumnRef) -> bool:
    match test:
        case ColumnRef():
            return _is(test, key)
        case Call("not", (Call("is_null", (subject,)),)):
            return _is(subject, key)
        case Call("not", (Call(op, (subject, *_)),)):
            return op in _OF_VALUES and _is(subject, key)
        case Call("or", alternatives):
            return all(_never_of_null(each, key) for each in alternatives)
        case Call(op, (subject, *_)) if op in _OF_VALUES and _is(subject, key):
            return True
        case Call(op, (_, other)):
            return op in _COMPARED and _is(other, key)
        case _:
            return False


def _asks_for_null(test: Expr, key: ColumnRef) -> bool:
    match test:
        case Call("is_null", (subject,)):
            return _is(subject, key)
        case _:
            return False


def check_nulls(where: Expr | None) -> None:
    """Refuse a condition that compares with NULL, which no row would ever pass."""
    for test in conjuncts(where):
        match test:
            case Call(op, (subject, Literal(None)) | (Literal(None), subject)) if op in _COMPARED:
                if not isinstance(subject, Literal):
                    raise _with_null(subject, op)


def _with_null(subject: Expr, op: str) -> Refused:
    name = subject.name if isinstance(subject, ColumnRef) else "x"
    instead = "IS NOT NULL" if op == "not_equal" else "IS NULL"
    return Refused(
        "null_compared",
        f"WHERE compares {name} with NULL, which is true of no row: nothing would be counted",
        f"write {name} {instead}",
    )


def _remedy(where: Expr | None, key: ColumnRef, values: tuple[LiteralValue, ...]) -> str:
    """Return the keys that there are, first those that look like what was typed."""
    typed = [
        node.value
        for test in conjuncts(where)
        if any(_is(node, key) for node in walk(test))
        for node in walk(test)
        if isinstance(node, Literal) and isinstance(node.value, str) and node.value not in values
    ]
    known = [str(value) for value in values[:COMPARED_MAX]]
    folded = {text.casefold(): text for text in known}
    near = [
        close for text in typed for close in get_close_matches(text[:100].casefold(), folded, n=1)
    ]
    hint = f"did you mean '{folded[near[0]]}'? " if near else ""
    shown = ", ".join(text[:40] for text in known[:SHOWN_MAX])
    return f"{hint}the keys are {shown}{', …' if len(values) > SHOWN_MAX else ''}"


def _judge(test: Expr, key: ColumnRef, values: tuple[LiteralValue, ...]) -> Judge | None:
    """Return what a condition says of a value of the key, or None if it says nothing for sure.

    A number with decimals is compared before it is rounded to its key: that a value is excluded does
    not mean that its key is, so of such keys only those that are asked for by name are known.
    """
    exact = key.facts.type is not Type.REAL
    match test:
        case Call("in" | "equal", (subject, *choices)) if _is(subject, key):
            listed = [choice.value for choice in choices if isinstance(choice, Literal)]
            named = exact or set(listed) <= {*values, None}
            return _any_of(listed, key) if len(listed) == len(choices) and named else None
        case ColumnRef() if _is(test, key):
            return lambda value: value is True
        case Call("not_equal", (subject, Literal(other))) if exact and _is(subject, key):
            return _negated(_any_of([other], key))
        case Call("between", (subject, Literal(low), Literal(high))) if exact and _is(subject, key):
            return _both(_ordered("greater_equal", low, key), _ordered("less_equal", high, key))
        case Call(op, (subject, Literal(end))) if op in _ORDERS and exact and _is(subject, key):
            return _ordered(op, end, key)
        case Call(op, (Literal(end), subject)) if op in _ORDERS and exact and _is(subject, key):
            return _ordered(_MIRRORED[op], end, key)
        case Call("not", (condition,)) if exact:
            return _negated(_judge(condition, key, values))
        case Call("or", alternatives):
            judges = [_judge(condition, key, values) for condition in alternatives]
            known = [judge for judge in judges if judge is not None]
            sure = len(known) == len(judges)
            return (lambda value: any(judge(value) for judge in known)) if sure else None
        case _:
            return None


def _is(node: object, key: ColumnRef) -> bool:
    return isinstance(node, ColumnRef) and (node.slot, node.name) == (key.slot, key.name)


def _both(first: Judge | None, second: Judge | None) -> Judge | None:
    if first is None or second is None:
        return None
    return lambda value: first(value) and second(value)


def _negated(judge: Judge | None) -> Judge | None:
    return None if judge is None else lambda value: not judge(value)


def _any_of(listed: list[LiteralValue], key: ColumnRef) -> Judge | None:
    """Return whether a value equals one of these constants; None where they are of another kind.

    Whole numbers are compared as real ones, by the engine and so here, where one constant is real.
    """
    kind = key.facts.type
    if not all(choice is None or _is_of_kind(choice, kind) for choice in listed):
        return None
    if kind is Type.INTEGER and any(isinstance(choice, Fraction) for choice in listed):
        near = {_as_double(choice) for choice in listed if choice is not None}
        return lambda value: _as_double(value) in near
    return lambda value: value in listed


def _ordered(op: str, end: LiteralValue, key: ColumnRef) -> Judge | None:
    """Return a comparison with a constant of the key's own kind: none is cast to be compared."""
    compare = _ORDERS[op]
    if not _is_of_kind(end, key.facts.type):
        return None
    if key.facts.type is Type.INTEGER and isinstance(end, Fraction):
        near = _as_double(end)
        return lambda value: bool(compare(_as_double(value), near))
    return lambda value: bool(compare(value, end))


def _as_double(value: LiteralValue) -> float:
    """Return a number as the engine compares it with a real one."""
    assert isinstance(value, int | Fraction)  # noqa: S101  (keys and constants that are numbers)
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _is_of_kind(end: LiteralValue, kind: Type) -> bool:
    match kind:
        case Type.INTEGER | Type.REAL:
            return isinstance(end, int | Fraction) and not isinstance(end, bool)
        case Type.BOOLEAN:
            return isinstance(end, bool)
        case Type.TEXT:  # by code points, which is the order of the engine's bytes
            return isinstance(end, str)
        case Type.DATE:
            return isinstance(end, date) and not isinstance(end, datetime)
        case Type.TIMESTAMP:
            return isinstance(end, datetime)
        case _:
            return False
