"""The auditor's arithmetic: textbook formulas in 40-digit decimals, exact rationals elsewhere.

Decimal's exp and ln are correctly rounded, so a sum of a few thousand of them is right to far more
than the 30 digits that `_MARGIN` leaves; the margin is always added on the unsafe side.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sanql.account import ORDERS, Odometer, order_weights

_CONTEXT = Context(prec=40, Emax=MAX_EMAX, Emin=MIN_EMIN)
_MARGIN = Decimal("1e-30")
_NONE = (Decimal(0),) * len(ORDERS)

Events = list[dict[str, Any]]


@dataclass(frozen=True)
class Cost:
    """What charges come to; `pure` is None when infinite, `renyi` has one divergence an order."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    leaks: Fraction = Fraction(0)
    pure: Fraction | None = Fraction(0)
    renyi: tuple[Decimal, ...] = _NONE

    def __add__(self, other: Cost) -> Cost:
        with localcontext(_CONTEXT):
            renyi = tuple(a + b for a, b in zip(self.renyi, other.renyi, strict=True))
        return Cost(
            self.epsilon + other.epsilon,
            self.delta + other.delta,
            self.leaks + other.leaks,
            None if self.pure is None or other.pure is None else self.pure + other.pure,
            renyi,
        )


def cost_of(events: Events, epsilon: Fraction, delta: Fraction, accounting: str) -> Cost:
    """Return the cost of one charge; divergences only where the accounting asks for them."""
    renyi = _NONE
    if accounting == "renyi":
        with localcontext(_CONTEXT):
            curves = [_curve(json.dumps(event, sort_keys=True)) for event in events]
            renyi = tuple(sum(at, Decimal(0)) for at in zip(*curves, strict=True)) or _NONE
    return Cost(epsilon, delta, _leaks(events), _pure(events), renyi)


@dataclass(frozen=True)
class Meter:
    """What the auditor knows of an odometer: the epsilon and delta it was opened with."""

    epsilon: Fraction
    delta: Fraction


def epsilon_read_upper(total: Cost, meter: Meter) -> Fraction | None:
    """Return the epsilon that charges counted together come to; None when it is infinite."""
    found = [] if total.pure is None else [total.pure]
    if meter.delta > 0:
        shares = _conversions(meter)
        with localcontext(_CONTEXT):
            least = min(units + share for units, share in zip(total.renyi, shares, strict=True))
            found.append(max(Fraction(0), Fraction(least + _MARGIN)))
    return min(found, default=None)


def proofs(total: Cost, meter: Meter) -> list[tuple[Fraction, Fraction]]:
    """Return every (epsilon, delta) proved for charges fixed in advance, their claims first."""
    found = [(total.epsilon, total.delta)]
    if total.pure is not None:
        found.append((total.pure, total.leaks))
    epsilon = epsilon_read_upper(total, meter)
    if epsilon is not None:
        found.append((epsilon, total.leaks + meter.delta))
    return found


def claim_holds(events: Events, epsilon: Fraction, delta: Fraction) -> bool:
    """Return whether the events of one charge satisfy the (epsilon, delta) it claims."""
    return _claim_holds(json.dumps(events, sort_keys=True), epsilon, delta)


@lru_cache(maxsize=4096)
def _claim_holds(text: str, epsilon: Fraction, delta: Fraction) -> bool:
    events: Events = json.loads(text)
    rest = delta - _leaks(events)
    if rest < 0 or epsilon < 0:
        return False
    pure = _pure(events)
    if pure is not None and pure <= epsilon:
        return True
    if rest == 0:
        return False
    gaussian = [event for event in events if event["kind"] == "gaussian"]
    others = _pure([event for event in events if event["kind"] != "gaussian"]) or Fraction(0)

    def concentrated(order: Decimal) -> Decimal:
        parts = (_divergence(event, order) for event in gaussian)
        return _decimal(others) + sum(parts, Decimal(0)) + _conversion(order, rest)

    def renyi(order: Decimal) -> Decimal:
        return sum((_divergence(event, order) for event in events), _conversion(order, rest))

    with localcontext(_CONTEXT):
        target = _decimal(epsilon)
        return any(_least(cost) + _MARGIN <= target for cost in (concentrated, renyi))


def _leaks(events: Events) -> Fraction:
    total = Fraction(0)
    for event in events:
        if event["kind"] in ("selection", "failure"):
            total += event.get("cells", 1) * Fraction(event["delta"])
    return total


def _pure(events: Events) -> Fraction | None:
    total = Fraction(0)
    for event in events:
        if event["kind"] == "laplace":
            total += event["l1"] / Fraction(event["scale"])
        if event["kind"] == "selection":
            total += event["cells"] * Fraction(event["epsilon"])
        if event["kind"] == "gaussian" and Fraction(event["l2_squared"]) > 0:
            return None
    return total


@lru_cache(maxsize=4096)
def _curve(text: str) -> tuple[Decimal, ...]:
    event: dict[str, Any] = json.loads(text)
    return tuple(_divergence(event, Decimal(order)) for order in ORDERS)


def _divergence(event: dict[str, Any], order: Decimal) -> Decimal:
    match event["kind"]:
        case "laplace":
            return _laplace(event, order)
        case "gaussian":
            rho = Fraction(event["l2_squared"]) / Fraction(event["sigma2"]) / 2
            return order * _decimal(rho)
        case "selection":
            return int(event["cells"]) * _response(_decimal(Fraction(event["epsilon"])), order)
        case "failure":
            return Decimal(0)
        case kind:
            raise ValueError(f"unknown event {kind!r}")


def _laplace(event: dict[str, Any], order: Decimal) -> Decimal:
    l1, linf, scale = event["l1"], event["linf"], Fraction(event["scale"])
    total, left = Decimal(0), l1
    reach = min(l1, linf)
    if left:
        full = left // reach
        total += full * _shifted(scale, reach, order)
        left -= full * reach
    return total + (_shifted(scale, left, order) if left else 0)


def _shifted(scale: Fraction, shift: int, order: Decimal) -> Decimal:
    """Return ln(c1 t^(a s) + c2 t^((1-a) s)) / (a-1) for the discrete Laplace."""
    rate = _decimal(1 / scale)
    t, r = (-rate).exp(), ((2 * order - 1) * rate).exp()
    c2 = (1 - t) / (1 + t) * (1 / (1 - t) + 1 / (r - 1))
    moment = (1 - c2) * (-order * shift * rate).exp() + c2 * ((order - 1) * shift * rate).exp()
    return moment.ln() / (order - 1)


def _response(epsilon: Decimal, order: Decimal) -> Decimal:
    truth = epsilon.exp() / (1 + epsilon.exp())
    rises = ((order - 1) * epsilon).exp()
    return (truth * rises + (1 - truth) / rises).ln() / (order - 1)


def _conversion(order: Decimal, delta: Fraction) -> Decimal:
    """Return (ln c_a - ln delta) / (a-1) with c_a = (1/a) (1 - 1/a)^(a-1)."""
    log_c = (1 - 1 / order).ln() * (order - 1) - order.ln()
    return (log_c - _decimal(delta).ln()) / (order - 1)


@lru_cache(maxsize=256)
def _conversions(meter: Meter) -> tuple[Decimal, ...]:
    """Return what each of the filter's orders adds, each with its share of the meter's delta."""
    weights = order_weights(Odometer(meter.epsilon, meter.delta))
    if sum(weights) > 1:
        raise ValueError("the weights of the orders add up to more than 1")
    with localcontext(_CONTEXT):
        return tuple(
            _conversion(Decimal(order), weight * meter.delta)
            for order, weight in zip(ORDERS, weights, strict=True)
        )


def _least(cost: Callable[[Decimal], Decimal]) -> Decimal:
    """Return the least cost over orders: each power of two above 1, then thirds around the best."""

    def at(exponent: float) -> Decimal:
        return cost(1 + Decimal(2.0**exponent))

    best = min(range(-10, 45), key=at)
    low, high = best - 1.0, best + 1.0
    for _ in range(60):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if at(left) <= at(right) else (left, high)
    return at((low + high) / 2)


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
