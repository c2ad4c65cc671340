"""What would be certified instead of a declaration that is not: the numbers for a remedy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import assert_never

from sanql.errors import Refused
from sanql.mechanisms.noiseless import known_max, others_min
from sanql.policy.exact.model import (
    BinaryColumn,
    ExactValues,
    LatticePart,
    UniformComponent,
    ValueClass,
)


def what_would_pass(exact: ExactValues, records: int) -> str:
    """Return, in words, which n, L or part of the class would be certified instead."""
    epsilon, delta = exact.accept.epsilon, exact.accept.delta
    questions: list[Callable[[], str]] = [
        lambda: f"at least {least_records(exact)} records in every cell",
        lambda: f"at most {known_max(exact.against(records - 1), epsilon, delta)} known records",
        lambda: _larger_part(exact, records),
    ]
    remedies = []
    for question in questions:
        try:
            remedies.append(f"it takes {question()}")
        except Refused:
            continue
    return "; or ".join([*remedies, "accept more, or add noise"])


def least_records(exact: ExactValues) -> int:
    """Return the least number of records in a cell with which the declared class passes."""
    start = exact.against(exact.known_records + 1)
    return others_min(start, exact.accept.epsilon, exact.accept.delta) + 1


def _larger_part(exact: ExactValues, records: int) -> str:
    """Return the least uniform part (in thousandths) with which so many records would pass."""
    make: Callable[[Fraction], ValueClass]
    match exact.adversary:
        case UniformComponent(start, width):
            name, most = "alpha", Fraction(1)
            make = lambda share: UniformComponent(share, width)  # noqa: E731
        case LatticePart(points, start):
            name, most = "mass", Fraction(1, points)
            make = lambda share: LatticePart(points, share)  # noqa: E731
        case BinaryColumn(start):
            name, most, make = "beta", Fraction(1, 2), BinaryColumn
        case _:
            assert_never(exact.adversary)

    def passes(share: Fraction) -> bool:
        adversary = replace(exact, adversary=make(share)).against(records - 1)
        return (
            adversary.rough_delta(float(exact.accept.epsilon)) <= float(exact.accept.delta) * 0.99
        )

    if not passes(most):
        raise Refused("certificate_part", "no uniform part is large enough", "add noise")
    low, high = start, most
    while high - low > most / 1000:
        middle = (low + high) / 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    eta = f" (eta {float(high / 2):.4g})" if name == "alpha" else ""
    return f"{name} about {float(high):.4g}{eta}"
