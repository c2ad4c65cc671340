"""Which of a key's listed values a condition leaves, decided by the question and the policy alone.

A row whose value a condition excludes is in no group, so the group of that value is empty whatever the
data are, and need not appear. What is said of a key is judged value by value as the engine judges it
of rows; a condition that is not about the key and constants alone leaves every value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import date, datetime
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

from sanql.errors import Refused
from sanql.parse.relations import conjuncts
from sanql.parse.tree import Call, ColumnRef, Expr, Literal, LiteralValue, Type, walk

Judge = Callable[[LiteralValue], bool]
_ORDERS: dict[str, Callable[[Any, Any], object]] = {
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
_COMPARED = {"equal", "not_equal", *_ORDERS}
COMPARED_MAX = 1_000  # keys that are compared with what was typed
SHOWN_MAX = 8
_MIRRORED = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}


def left_by(
    where: Expr | None, key: Expr, values: tuple[LiteralValue, ...]
) -> tuple[LiteralValue, ...]:
    """Return the values of a key that the conditions which AND joins leave; refuse to leave none.

    A number with decimals that has no key by its own name may be rounded to one, so all are left.
    """
    if not isinstance(key, ColumnRef):
        return values
    left = values
    for test in conjuncts(where):
        judge = _judge(test, key)
        if judge is not None:
            left = tuple(value for value in left if judge(value))
    if left or key.facts.type is Type.REAL:
        return left or values
    raise Refused(
        "keys_excluded",
        f"WHERE leaves none of the keys of {key.name}, which are known without the data: nothing would "
        "be counted",
        _remedy(where, key, values),
    )


def check_nulls(where: Expr | None) -> None:
    """Refuse a comparison with NULL that every row would have to pass: none does."""
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
        part.value
        for test in conjuncts(where)
        if any(_is(part, key) for part in walk(test))
        for part in walk(test)
        if isinstance(part, Literal) and isinstance(part.value, str) and part.value not in values
    ]
    known = [str(value) for value in values[:COMPARED_MAX]]
    folded = {text.casefold(): text for text in known}
    near = [
        close for text in typed for close in get_close_matches(text[:100].casefold(), folded, n=1)
    ]
    hint = f"did you mean '{folded[near[0]]}'? " if near else ""
    shown = ", ".join(text[:40] for text in known[:SHOWN_MAX])
    return f"{hint}the keys are {shown}{', …' if len(values) > SHOWN_MAX else ''}"


def _judge(test: Expr, key: ColumnRef) -> Judge | None:
    """Return what a condition says of a value of the key, or None if it says nothing for sure.

    A number with decimals is compared before it is rounded to its key: that a value is excluded does
    not mean that its key is, so of such keys only those that are asked for by name are known.
    """
    exact = key.facts.type is not Type.REAL
    match test:
        case Call("in" | "equal", (subject, *choices)) if _is(subject, key):
            listed = [choice.value for choice in choices if isinstance(choice, Literal)]
            sure = len(listed) == len(choices) and all(_is_comparable(each, key) for each in listed)
            return (lambda value: value in listed) if sure else None
        case ColumnRef() if _is(test, key):
            return lambda value: value is True
        case Call("not_equal", (subject, Literal(other))) if exact and _is(subject, key):
            return lambda value: value != other
        case Call("between", (subject, Literal(low), Literal(high))) if exact and _is(subject, key):
            return _both(_ordered("greater_equal", low, key), _ordered("less_equal", high, key))
        case Call(op, (subject, Literal(end))) if op in _ORDERS and exact and _is(subject, key):
            return _ordered(op, end, key)
        case Call(op, (Literal(end), subject)) if op in _ORDERS and exact and _is(subject, key):
            return _ordered(_MIRRORED[op], end, key)
        case Call("not", (part,)) if exact:
            judge = _judge(part, key)
            return None if judge is None else lambda value: not judge(value)
        case Call("or", parts):
            judges = [_judge(part, key) for part in parts]
            known = [judge for judge in judges if judge is not None]
            sure = len(known) == len(judges)
            return (lambda value: any(judge(value) for judge in known)) if sure else None
        case _:
            return None


def _is(part: Expr, key: ColumnRef) -> bool:
    return isinstance(part, ColumnRef) and (part.slot, part.name) == (key.slot, key.name)


def _both(one: Judge | None, other: Judge | None) -> Judge | None:
    if one is None or other is None:
        return None
    return lambda value: one(value) and other(value)


def _ordered(op: str, end: LiteralValue, key: ColumnRef) -> Judge | None:
    """Return a comparison with a constant of the key's own kind: none is cast to be compared."""
    compare = _ORDERS[op]
    return (lambda value: bool(compare(value, end))) if _is_of_kind(end, key.facts.type) else None


def _is_comparable(choice: LiteralValue, key: ColumnRef) -> bool:
    """Return whether Python finds a constant equal to the same keys as the engine does."""
    if choice is None or key.facts.type is Type.REAL:
        return True
    same = isinstance(choice, bool) and key.facts.type is Type.BOOLEAN
    return same or _is_of_kind(choice, key.facts.type)


def _is_of_kind(end: LiteralValue, kind: Type) -> bool:
    match kind:
        case Type.INTEGER:
            return isinstance(end, int | Fraction) and not isinstance(end, bool)
        case Type.TEXT:  # by code points, which is the order of the engine's bytes
            return isinstance(end, str)
        case Type.DATE:
            return isinstance(end, date) and not isinstance(end, datetime)
        case Type.TIMESTAMP:
            return isinstance(end, datetime)
        case _:
            return False
