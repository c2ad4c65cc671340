"""Roots, powers, logarithms, trigonometry and bits: NULL where the mathematics has no value."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from sanql.errors import Refused
from sanql.functions import bounds as intervals
from sanql.functions.arithmetic import whole_operands
from sanql.functions.bounds import Interval
from sanql.functions.facts import (
    Rule,
    any_nullable,
    constant_integer,
    constant_number,
    interval_or_point,
    need,
    number_facts,
)
from sanql.functions.table import Function
from sanql.question import BIGINT_RANGE, NUMERIC, Expr, Facts, Literal, Type

SLACK = Fraction(1, 2**40)  # far more than a library's error, so that rounding cannot escape
BUCKETS_MAX = 10_000
SHIFT_MAX = 62
Domain = tuple[float, float]
EVERYWHERE: Domain = (-math.inf, math.inf)


def _monotone(
    name: str,
    function: Callable[[float], float],
    domain: Domain = EVERYWHERE,
    image: Domain | None = None,
) -> Rule:
    """Return the rule of a function that rises or falls throughout its domain, NULL outside."""

    def rule(args: tuple[Expr, ...]) -> Facts:
        need(args, NUMERIC, name)
        a = interval_or_point(args[0])
        bounds = _image(function, a, domain, image)
        # an operand without bounds may be infinite, and floating point may carry one with bounds a
        # little beyond a domain that ends there
        sure = a is not None and domain == EVERYWHERE
        return number_facts(Type.REAL, bounds, any_nullable(args) or not sure)

    return rule


def _image(
    function: Callable[[float], float], a: Interval | None, domain: Domain, image: Domain | None
) -> Interval | None:
    widest = (Fraction(image[0]), Fraction(image[1])) if image is not None else None
    if a is None:
        return _loosened(widest) if widest is not None else None
    if a[1] < domain[0] or a[0] > domain[1]:
        return Fraction(0), Fraction(0)  # NULL for every row
    try:
        ends = [function(min(max(float(end), domain[0]), domain[1])) for end in a]
    except (ValueError, OverflowError):
        return _loosened(widest) if widest is not None else None
    if not all(map(math.isfinite, ends)):
        return None
    return _loosened((Fraction(min(ends)), Fraction(max(ends))))


def _loosened(a: Interval) -> Interval:
    return a[0] - SLACK * (1 + abs(a[0])), a[1] + SLACK * (1 + abs(a[1]))


def _wave(name: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        need(args, NUMERIC, name)
        unsure = interval_or_point(args[0]) is None
        return number_facts(Type.REAL, (Fraction(-1), Fraction(1)), any_nullable(args) or unsure)

    return rule


def _unbounded(name: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        need(args, NUMERIC, name)
        return number_facts(Type.REAL, None, nullable=True)

    return rule


def _cosh(args: tuple[Expr, ...]) -> Facts:
    need(args, NUMERIC, "COSH")
    a = interval_or_point(args[0])
    sizes = intervals.absolute(a) if a is not None else None
    bounds = _image(math.cosh, sizes, EVERYWHERE, None)
    return number_facts(Type.REAL, bounds, any_nullable(args) or a is None)


def _arc_tangent_of_two(args: tuple[Expr, ...]) -> Facts:
    need(args, NUMERIC, "ATAN2")
    unsure = any(interval_or_point(arg) is None for arg in args)
    turn = _loosened((-Fraction(math.pi), Fraction(math.pi)))
    return number_facts(Type.REAL, turn, any_nullable(args) or unsure)


def _logarithm(args: tuple[Expr, ...]) -> Facts:
    """Facts of LOG(base, x): bounded where the base is a constant above zero, other than one."""
    need(args, NUMERIC, "LOG")
    base = constant_number(args[0])
    a = interval_or_point(args[1])
    unbounded = number_facts(Type.REAL, None, nullable=True)
    if base is None or a is None or base <= 0 or a[0] <= 0:
        return unbounded
    # the engine divides one logarithm by another: near a base of one, rounding would decide
    turns = abs(math.log(float(base))) if float(base) > 0 else 0.0
    if turns < 2**-20 or float(a[0]) == 0:
        return unbounded
    ends = sorted(math.log(float(end)) / math.log(float(base)) for end in a)
    return number_facts(Type.REAL, _loosened((Fraction(ends[0]), Fraction(ends[1]))), nullable=True)


def _square_root(args: tuple[Expr, ...]) -> Facts:
    need(args, NUMERIC, "SQRT")
    a = interval_or_point(args[0])
    if a is None:
        return number_facts(Type.REAL, None, True)
    top = Fraction(math.isqrt(math.ceil(max(a[1], Fraction(0)))) + 1)
    return number_facts(Type.REAL, (Fraction(0), top), nullable=True)


def _power(args: tuple[Expr, ...]) -> Facts:
    need(args, NUMERIC, "POWER")
    a = interval_or_point(args[0])
    exponent = args[1].value if isinstance(args[1], Literal) else None
    if a is not None and isinstance(exponent, int) and 0 <= exponent <= 16:
        return number_facts(Type.REAL, intervals.power(a, exponent), any_nullable(args))
    return number_facts(Type.REAL, None, nullable=True)


def _pi(args: tuple[Expr, ...]) -> Facts:
    return number_facts(
        Type.REAL, _loosened((Fraction(math.pi), Fraction(math.pi))), nullable=False
    )


def _width_bucket(args: tuple[Expr, ...]) -> Facts:
    need(args, NUMERIC, "WIDTH_BUCKET")
    low, high = (constant_number(arg) for arg in args[1:3])
    if low is None or high is None or low >= high:
        raise Refused(
            "constant_needed",
            "WIDTH_BUCKET takes its ends as constants, the lower one first",
            "write, for example, WIDTH_BUCKET(age, 0, 100, 10)",
        )
    count = constant_integer(args[3], "WIDTH_BUCKET's number of buckets", 1, BUCKETS_MAX)
    return number_facts(Type.INTEGER, (Fraction(0), Fraction(count + 1)), args[0].facts.nullable)


def _greatest_divisor(args: tuple[Expr, ...]) -> Facts:
    a, b = whole_operands(args, "GCD")
    top = max(abs(end) for end in (*a, *b))
    return number_facts(Type.INTEGER, (Fraction(0), top), any_nullable(args))


def _least_multiple(args: tuple[Expr, ...]) -> Facts:
    a, b = whole_operands(args, "LCM")
    top = max(map(abs, a)) * max(map(abs, b))
    return number_facts(Type.INTEGER, (Fraction(0), top), any_nullable(args))


def _bitwise(name: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        a, b = whole_operands(args, name)
        return number_facts(Type.INTEGER, intervals.bitwise(a, b), any_nullable(args))

    return rule


def _bit_not(args: tuple[Expr, ...]) -> Facts:
    need(args, frozenset({Type.INTEGER}), "~")
    low, high = interval_or_point(args[0]) or BIGINT_RANGE
    return number_facts(Type.INTEGER, (-high - 1, -low - 1), any_nullable(args))


def _shift_right(args: tuple[Expr, ...]) -> Facts:
    need(args, frozenset({Type.INTEGER}), ">>")
    places = constant_integer(args[1], "the number of places in >>", 0, SHIFT_MAX)
    low, high = (
        Fraction(math.floor(e / 2**places)) for e in interval_or_point(args[0]) or BIGINT_RANGE
    )
    return number_facts(Type.INTEGER, (low, high), any_nullable(args))


def _bit_count(args: tuple[Expr, ...]) -> Facts:
    need(args, frozenset({Type.INTEGER}), "BIT_COUNT")
    a = interval_or_point(args[0])
    if a is None or a[0] < BIGINT_RANGE[0] or a[1] > BIGINT_RANGE[1]:
        raise Refused(
            "integer_overflow",
            "BIT_COUNT counts the bits of whole numbers of 64 bits, and this one may need more",
            "cast it: BIT_COUNT(CAST(x AS BIGINT))",
        )
    return number_facts(Type.INTEGER, (Fraction(0), Fraction(64)), any_nullable(args))


def _test(name: str) -> Rule:
    def rule(args: tuple[Expr, ...]) -> Facts:
        need(args, NUMERIC, name)
        return Facts(Type.BOOLEAN, nullable=any_nullable(args))

    return rule


POSITIVE: Domain = (0, math.inf)
HALF_TURN = math.pi / 2
FINITE = "NULL where an operand is not finite; an overflow counts as missing"
ENDS = "the function at the bounds"
BITS = "whole numbers only"


def _named(
    op: str, rule: Rule, total: str, bounds: str, *other: str, takes: tuple[int, int] = (1, 1)
) -> Function:
    operands = ", ".join("xyz"[: takes[1]])
    return Function(
        op, f"{op.upper()}({operands})", rule, total, bounds, (op.upper(), *other), takes
    )


MATHEMATICS = (
    _named("sqrt", _square_root, "NULL below zero", "zero to the root of the upper bound"),
    _named("cbrt", _monotone("CBRT", math.cbrt), FINITE, ENDS),
    _named("ln", _monotone("LN", math.log, POSITIVE), "NULL at zero and below", ENDS),
    _named(
        "log1p", _monotone("LOG1P", math.log1p, (-1, math.inf)), "ln(1 + x); NULL at -1 and below", ENDS
    ),
    _named("exp", _monotone("EXP", math.exp), FINITE, ENDS),
    Function(
        "log",
        "LOG(base, x), LOG(x), LOG10(x), LOG2(x)",
        _logarithm,
        "NULL where base or x is not above zero, or base is one",
        "the function at the bounds, for a constant base",
        ("LOG", "LOG10", "LOG2"),
        (1, 2),
    ),
    Function(
        "power",
        "POWER(x, y), x ^ y, x ** y, SQUARE(x)",
        _power,
        "what is not finite counts as missing",
        "powers of the bounds, for a constant whole exponent from 0 to 16; else none",
        ("POWER", "POW"),
        (2, 2),
    ),
    _named("sin", _wave("SIN"), FINITE, "-1 to 1"),
    _named("cos", _wave("COS"), FINITE, "-1 to 1"),
    _named("tan", _unbounded("TAN"), FINITE, "none"),
    _named("cot", _unbounded("COT"), FINITE, "none"),
    _named(
        "asin", _monotone("ASIN", math.asin, (-1, 1), (-HALF_TURN, HALF_TURN)),
        "NULL outside -1 to 1", ENDS,
    ),
    _named(
        "acos", _monotone("ACOS", math.acos, (-1, 1), (0, math.pi)), "NULL outside -1 to 1", ENDS
    ),
    _named("atan", _monotone("ATAN", math.atan, image=(-HALF_TURN, HALF_TURN)), FINITE, ENDS),
    _named("atan2", _arc_tangent_of_two, FINITE, "-pi to pi", takes=(2, 2)),
    _named("sinh", _monotone("SINH", math.sinh), FINITE, ENDS),
    _named("cosh", _cosh, FINITE, ENDS),
    _named("tanh", _monotone("TANH", math.tanh, image=(-1, 1)), FINITE, ENDS),
    _named("asinh", _monotone("ASINH", math.asinh), FINITE, ENDS),
    _named("acosh", _monotone("ACOSH", math.acosh, (1, math.inf)), "NULL below 1", ENDS),
    _named(
        "atanh", _monotone("ATANH", math.atanh, (-1, 1)), "NULL unless inside -1 to 1",
        ENDS,
    ),
    _named("degrees", _monotone("DEGREES", math.degrees), FINITE, ENDS),
    _named("radians", _monotone("RADIANS", math.radians), FINITE, ENDS),
    Function("pi", "PI()", _pi, "a constant", "pi", ("PI",), (0, 0)),
    Function(
        "width_bucket",
        "WIDTH_BUCKET(x, low, high, buckets)",
        _width_bucket,
        "ends and number (at most 10,000) are constants",
        "0 (below) to buckets + 1 (above)",
        ("WIDTH_BUCKET",),
        (4, 4),
    ),
    _named(
        "gcd", _greatest_divisor, BITS, "zero to the larger size", "GREATEST_COMMON_DIVISOR",
        takes=(2, 2),
    ),
    _named(
        "lcm", _least_multiple, BITS + "; a range beyond 128 bits is refused",
        "zero to the product of the sizes", "LEAST_COMMON_MULTIPLE", takes=(2, 2),
    ),
    Function("bit_and", "x & y", _bitwise("&"), BITS, "the bits either can have"),
    Function("bit_or", "x | y", _bitwise("|"), BITS, "the bits either can have"),
    Function(
        "bit_xor", "XOR(x, y)", _bitwise("XOR"), BITS, "the bits either can have", ("XOR",), (2, 2)
    ),
    Function("bit_not", "~x", _bit_not, BITS, "bounds turned round"),
    Function("shift_right", "x >> n", _shift_right, "n is a constant from 0 to 62", "shifted bounds"),
    _named("bit_count", _bit_count, "whole numbers of 64 bits", "0 to 64"),
    _named("isnan", _test("ISNAN"), "NULL for NULL", "true or false", "IS_NAN"),
    _named("isinf", _test("ISINF"), "NULL for NULL", "true or false", "IS_INF"),
    _named("isfinite", _test("ISFINITE"), "NULL for NULL", "true or false"),
)  # fmt: skip
