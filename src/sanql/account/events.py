"""What one query does to the data, as plain facts that can be priced.

Mechanisms never talk to accountants: they say what they did, in these four words, and the accounts
work out what it costs. Sensitivities are integers on the grid of the measurement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from sanql.numbers import exact_sum, parse_rational, rational_text


@dataclass(frozen=True)
class LaplaceEvent:
    """Discrete Laplace noise of one scale, drawn anew for every cell.

    One unit moves the cells by at most `l1` in sum and at most `linf` each.
    """

    scale: Fraction
    l1: int
    linf: int

    def __post_init__(self) -> None:
        _require(_is_fraction(self.scale) and self.scale > 0, "scale must be a positive Fraction")
        _require(_is_count(self.l1), "l1 must be a whole number, at least 0")
        _require(_is_count(self.linf), "linf must be a whole number, at least 0")
        _require(self.linf > 0 or self.l1 == 0, "cells that cannot move cannot add up to a move")


@dataclass(frozen=True)
class GaussianEvent:
    """Discrete Gaussian noise of parameter `sigma2` on every cell; one unit moves them by l2."""

    sigma2: Fraction
    l2_squared: Fraction

    def __post_init__(self) -> None:
        _require(
            _is_fraction(self.sigma2) and self.sigma2 > 0, "sigma2 must be a positive Fraction"
        )
        _require(
            _is_fraction(self.l2_squared) and self.l2_squared >= 0,
            "l2_squared must be a Fraction, at least 0",
        )

    @property
    def rho(self) -> Fraction:
        """The zero-concentrated privacy loss (Canonne, Kamath and Steinke 2020, theorem 4)."""
        top, bottom = self.l2_squared, 2 * self.sigma2.numerator
        return Fraction(top.numerator * self.sigma2.denominator, top.denominator * bottom)


@dataclass(frozen=True)
class SelectionEvent:
    """An (epsilon, delta)-private release on each of at most `cells` cells that one unit touches.

    Under change-one neighbours a unit touches the cells it leaves and the cells it enters.
    """

    epsilon: Fraction
    delta: Fraction
    cells: int

    def __post_init__(self) -> None:
        _require(
            _is_fraction(self.epsilon) and self.epsilon >= 0, "epsilon must be a Fraction >= 0"
        )
        _require(_is_probability(self.delta), "delta must be a Fraction from 0 to 1")
        _require(_is_count(self.cells), "cells must be a whole number, at least 0")


@dataclass(frozen=True)
class FailureEvent:
    """A key held by one unit alone surfaces, with probability at most `delta` over both neighbours.

    Let delta₁ bound the chance of it in the first database and delta₂ in the second (for add-remove
    neighbours one of them is 0, for change-one neighbours neither need be): delta = delta₁ +
    delta₂. On all other outcomes the failing cells show nothing, so the loss L of the rest of the
    query grows by at most -ln(1 - delta₂). Since x ↦ (1 - exp(epsilon - x))₊ grows by at most 1 -
    exp(-h) when x grows by h, the hockey-stick divergence grows by at most delta₁ + delta₂; over
    many queries, by at most the sum of their deltas. No epsilon is needed besides.
    """

    delta: Fraction

    def __post_init__(self) -> None:
        _require(_is_probability(self.delta), "delta must be a Fraction from 0 to 1")


Event = LaplaceEvent | GaussianEvent | SelectionEvent | FailureEvent


def pure_epsilon(events: Iterable[Event]) -> Fraction | None:
    """Return the sum of the pure epsilons, or None when noise without one (Gaussian) is present."""
    epsilons: list[Fraction] = []
    for event in events:
        match event:
            case LaplaceEvent(scale, l1):
                epsilons.append(Fraction(l1 * scale.denominator, scale.numerator))
            case SelectionEvent(epsilon, _, cells):
                epsilons.append(cells * epsilon)
            case FailureEvent():
                pass
            case GaussianEvent(_, l2_squared):
                if l2_squared > 0:
                    return None
            case _:
                assert_never(event)
    return exact_sum(epsilons)


def leak(events: Iterable[Event]) -> Fraction:
    """Return the probability, at most, that these events give everything away."""
    deltas: list[Fraction] = []
    for event in events:
        match event:
            case SelectionEvent(_, delta, cells):
                deltas.append(cells * delta)
            case FailureEvent(delta):
                deltas.append(delta)
            case LaplaceEvent() | GaussianEvent():
                pass
            case _:
                assert_never(event)
    return exact_sum(deltas)


def event_to_dict(event: Event) -> dict[str, object]:
    """Return the event in the ledger's words."""
    match event:
        case LaplaceEvent(scale, l1, linf):
            return {"kind": "laplace", "scale": rational_text(scale), "l1": l1, "linf": linf}
        case GaussianEvent(sigma2, l2_squared):
            return {
                "kind": "gaussian",
                "sigma2": rational_text(sigma2),
                "l2_squared": rational_text(l2_squared),
            }
        case SelectionEvent(epsilon, delta, cells):
            return {
                "kind": "selection",
                "epsilon": rational_text(epsilon),
                "delta": rational_text(delta),
                "cells": cells,
            }
        case FailureEvent(delta):
            return {"kind": "failure", "delta": rational_text(delta)}
        case _:
            assert_never(event)


def event_from_dict(shape: Mapping[str, object]) -> Event:
    """Return the event these words describe; an unknown kind or field is a ValueError."""
    match dict(shape):
        case {"kind": "laplace", "scale": scale, "l1": int(l1), "linf": int(linf), **rest} if (
            not rest
        ):
            return LaplaceEvent(parse_rational(scale), l1, linf)
        case {"kind": "gaussian", "sigma2": sigma2, "l2_squared": l2_squared, **rest} if not rest:
            return GaussianEvent(parse_rational(sigma2), parse_rational(l2_squared))
        case {
            "kind": "selection",
            "epsilon": epsilon,
            "delta": delta,
            "cells": int(cells),
            **rest,
        } if not rest:
            return SelectionEvent(parse_rational(epsilon), parse_rational(delta), cells)
        case {"kind": "failure", "delta": delta, **rest} if not rest:
            return FailureEvent(parse_rational(delta))
        case _:
            raise ValueError(f"not an event: {sorted(shape)}")


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise ValueError(rule)


def _is_fraction(value: object) -> bool:
    return isinstance(value, Fraction)


def _is_probability(value: object) -> bool:
    return isinstance(value, Fraction) and 0 <= value <= 1


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
