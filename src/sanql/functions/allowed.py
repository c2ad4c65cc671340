"""The allow-list as a table, and the one way to apply an operator of it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction

from sanql.functions.arithmetic import ARITHMETIC
from sanql.functions.calendar import CALENDAR
from sanql.functions.casts import CASTS
from sanql.functions.dates import DATES
from sanql.functions.facts import Rule
from sanql.functions.formats import FORMATS
from sanql.functions.logic import LOGIC
from sanql.functions.mathematics import MATHEMATICS
from sanql.functions.patterns import PATTERNS
from sanql.functions.table import Function, rules
from sanql.functions.text import TEXTS
from sanql.question import Call, Expr, Facts, Literal, Type

ALLOWED: dict[str, tuple[Function, ...]] = {
    "Arithmetic": ARITHMETIC,
    "Mathematics": MATHEMATICS,
    "Conditions and choices": LOGIC,
    "Text": TEXTS,
    "Patterns": PATTERNS,
    "Casts": CASTS,
    "Parts and periods of dates": DATES,
    "The calendar": (*CALENDAR, *FORMATS),
}


FUNCTIONS = tuple(function for kind in ALLOWED.values() for function in kind)


RULES: dict[str, Rule] = rules(*FUNCTIONS)


NAMES = {name: function for function in reversed(FUNCTIONS) for name in function.names}


def call(op: str, *args: Expr) -> Expr:
    """Return the operator applied, with its facts proved; refuse what is not in the list.

    Arithmetic of constants is done here, exactly: 0.06 + 0.01 is 0.07, not the nearest double below.
    """
    facts = RULES[op](args)
    if op in FOLDED and all(isinstance(arg, Literal) for arg in args):
        values = [arg.value for arg in args if isinstance(arg, Literal)]
        if all(isinstance(v, int | Fraction) and not isinstance(v, bool) for v in values):
            folded = FOLDED[op](*values)
            if -FOLDED_MAX < folded < FOLDED_MAX:
                return _constant(folded, facts)
    return Call(op, args, facts)


FOLDED_MAX = 10**30


FOLDED: dict[str, Callable[..., Fraction]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "negate": operator.neg,
}


def _constant(value: int | Fraction, facts: Facts) -> Literal:
    exact = Fraction(value)
    known = Facts(facts.type, exact, exact, nullable=False, grid=facts.grid)
    return Literal(int(value) if facts.type is Type.INTEGER else exact, known)
