"""Rényi divergences of the events, rounded up, and the cost of turning them into (epsilon, delta).

Everything here is an upper bound computed in floating point. The C library's exp, expm1, log and
log1p are taken to be within 4 units in the last place (glibc documents 1 or 2), and each formula is
arranged so that rounding is a small multiple of 2^-53 *relative to a quantity that is then added*:
`_SLACK` = 2^-44 = 512 such roundings, an order of magnitude more than any formula below can lose.

Both curves have the shape D_a = x + log1p(-c (1 - exp(-z))) / (a - 1) with x the pure epsilon and
0 <= c <= 1/2. The logarithm's argument stays above -1/2, where log1p loses at most a factor 1.5 of
relative accuracy, and 0 <= D_a <= x says that the second term is at most x in size, so adding
x * _SLACK covers the rounding of both. Sums are kept as integers in units of 2^-80 and are exact.

A formula is written once, for a list of orders: what does not depend on the order is computed once,
and a divergence is the same number whether it is computed alone or as part of a curve.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import assert_never

from sanql.account.events import Event, FailureEvent, GaussianEvent, LaplaceEvent, SelectionEvent

ORDERS: tuple[float, ...] = tuple(
    1 + quarter / 4 * 2.0**octave for octave in range(-2, 15) for quarter in (4, 5, 6, 7)
)
"""The orders every account keeps sums for, from 1.25 to 28673; each is exact in binary."""

ORDER_MIN = ORDERS[0]
UNIT_BITS = 80

ORDERS_SHARP = (1 + 2.0**-10, 2.0**40)
"""The least and the greatest order that `conversion_sharp_upper` takes."""

_SLACK = 2.0**-44
_SLACK_SHARP = 2.0**-47
_EXPONENT_MAX = 600.0


def renyi_units_upper(events: Iterable[Event], order: float) -> int:
    """Return the Rényi divergence that the events cause together, in units of 2^-80."""
    return sum(_event_units_upper(event, (order,))[0] for event in events)


def curve(events: Iterable[Event]) -> tuple[int, ...]:
    """Return the divergences of the events at each of `ORDERS`, in units of 2^-80, rounded up.

    Equal events are computed once and multiplied, so the curve of many charges together is the
    exact sum of their curves.
    """
    units = [0] * len(ORDERS)
    for event, count in Counter(events).items():
        own = _event_curve(event)
        units = [total + count * more for total, more in zip(units, own, strict=True)]
    return tuple(units)


@lru_cache(maxsize=1024)
def _event_curve(event: Event) -> tuple[int, ...]:
    """Return the curve of one event, remembered: many charges have the same."""
    return tuple(_event_units_upper(event, ORDERS))


def laplace_renyi_upper(scale: Fraction, shift: int, order: float) -> float:
    """Return the Rényi divergence between a discrete Laplace and itself moved by `shift`.

    Let t = exp(-1/scale), so that P(k) = (1-t)/(1+t) t^|k|, and Q(k) = P(k - s). Summing
    P^a Q^(1-a) over k <= 0, 0 < k < s and k >= s, three geometric series, gives

        exp((a-1) D_a(s)) = c1 t^(a s) + c2 t^((1-a) s),
        c2 = (1-t)/(1+t) (1/(1-t) + 1/(r-1)),   c1 = 1 - c2,   r = t^(1-2a),

    and taking out t^((1-a)s), the form used here with x = s/scale:

        D_a(s) = x + log1p(c1 expm1(-(2a-1) x)) / (a-1).

    c1 = (t - (1-t)/(r-1)) / (1+t) lies in [0, 1/2]: r > 1/t makes it positive, and c2 is at least
    1/(1+t). Its subtraction keeps at least 1 - 1/(2a-1) of t, a third for a >= 1.25. A smaller c1
    only raises the bound, so c1 = 0 where t would underflow.
    """
    return _laplace_upper(scale, shift, (order,))[0]


def response_renyi_upper(epsilon: Fraction, order: float) -> float:
    """Return the Rényi divergence of randomised response that tells the truth e^epsilon to 1.

    With q = 1/(1 + e^epsilon), exp((a-1) D_a) = (1-q) e^((a-1) epsilon) + q e^(-(a-1) epsilon).
    """
    return _response_upper(epsilon, (order,))[0]


def conversion_upper(order: float, delta: Fraction) -> float:
    """Return what must be added to a Rényi divergence to make it an epsilon at this delta.

    A loss L with E exp((a-1) L) <= exp((a-1) R) has E (1 - exp(epsilon - L))₊ <= delta when
    c_a exp((a-1)(R - epsilon)) = delta with c_a = (1/a) (1 - 1/a)^(a-1), because
    (1 - e^-y)₊ <= c_a e^((a-1) y) for all y (Canonne, Kamath and Steinke 2020, proposition 12). So

        epsilon = R + (ln c_a - ln delta) / (a-1).
    """
    return _conversion_upper(order, delta, _SLACK)


def conversion_sharp_upper(order: float, delta: Fraction) -> float:
    """Return `conversion_upper` with an eighth of its slack, to check what was solved with all of it.

    Roundings of u = 2^-53, against size = ln a + |s| + ln p + ln q + 1 for delta = p/q and
    s = (a-1) ln(1 - 1/a): a logarithm loses 8u of itself; that of p or q as much again where they
    are too large for a float; the rounding of 1/a moves s by u; products and sums lose u each. So
    the numerator is within 20u size, and `_SLACK_SHARP` is 64u. The order must lie in ORDERS_SHARP:
    there a - 1 is exact.
    """
    low, high = ORDERS_SHARP
    if not low <= order <= high:
        raise ValueError("the rounding of such an order is not bounded")
    return _conversion_upper(order, delta, _SLACK_SHARP)


def _conversion_upper(order: float, delta: Fraction, slack: float) -> float:
    excess = order - 1
    log_delta = math.log(delta.numerator) - math.log(delta.denominator)
    shrink = excess * math.log1p(-1 / order)
    log_order = math.log(order)
    size = log_order - shrink + math.log(delta.numerator) + math.log(delta.denominator) + 1
    return (shrink - log_order - log_delta) / excess + size / excess * slack


def to_units_upper(values: Iterable[float]) -> list[int]:
    """Return each number in units of 2^-80, rounded up."""
    return [math.ceil(math.ldexp(value, UNIT_BITS)) for value in values]


def _event_units_upper(event: Event, orders: Sequence[float]) -> list[int]:
    """Return the divergence of one event at each of the orders."""
    match event:
        case LaplaceEvent(scale, l1, linf):
            return _laplace_units_upper(scale, l1, linf, orders)
        case GaussianEvent():
            return _gaussian_units_upper(event.rho, orders)
        case SelectionEvent(epsilon, _, cells):
            # An (epsilon, delta)-private pair is a post-processing of "leak with probability delta,
            # else randomised response" (Kairouz, Oh and Viswanath 2015); the leak is counted apart.
            each = to_units_upper(_response_upper(epsilon, orders))
            return [cells * one for one in each]
        case FailureEvent():
            return [0] * len(orders)
        case _:
            assert_never(event)


def _gaussian_units_upper(rho: Fraction, orders: Sequence[float]) -> list[int]:
    """Return order * rho, the divergence of Gaussian noise, exact until it is rounded up."""
    top, bottom = -rho.numerator << UNIT_BITS, rho.denominator
    ratios = (order.as_integer_ratio() for order in orders)
    return [-((top * over) // (bottom * under)) for over, under in ratios]


def _laplace_units_upper(scale: Fraction, l1: int, linf: int, orders: Sequence[float]) -> list[int]:
    """Return the divergence of the worst way to spread a move of `l1` over cells.

    Cells have independent noise, so their divergences add: the unit picks moves s_i <= linf with
    sum l1 that make the sum of D(s_i) largest. D is convex in s (the logarithm of a sum of two
    positive multiples of exponentials in s) with D(0) = 0. For s <= s' and one step moved from the
    smaller to the larger, convexity gives D(s'+1) + D(s-1) >= D(s') + D(s): every such step pays,
    until at most one cell is neither empty nor full. So the worst is as many full cells as fit,
    plus the rest.
    """
    if l1 == 0:
        return [0] * len(orders)
    reach = min(l1, linf)
    full, rest = divmod(l1, reach)
    units = to_units_upper(_laplace_upper(scale, reach, orders))
    if rest == 0:
        return [full * one for one in units]
    ends = to_units_upper(_laplace_upper(scale, rest, orders))
    return [full * one + end for one, end in zip(units, ends, strict=True)]


def _laplace_upper(scale: Fraction, shift: int, orders: Sequence[float]) -> list[float]:
    """Return `laplace_renyi_upper` at each of the orders."""
    if shift == 0:
        return [0.0] * len(orders)
    pure = shift * scale.denominator / scale.numerator
    rate = scale.denominator / scale.numerator
    if rate > _EXPONENT_MAX:
        return [pure * (1 + _SLACK)] * len(orders)
    ratio, fall = math.exp(-rate), math.expm1(-rate)
    weights = []
    for order in orders:
        inner = (2 * order - 1) * rate
        tail = 1 / math.expm1(inner) if inner < _EXPONENT_MAX else 0.0
        weights.append((ratio + fall * tail) / (1 + ratio))
    return _from_pure(pure, weights, [(2 * order - 1) * pure for order in orders], orders)


def _response_upper(epsilon: Fraction, orders: Sequence[float]) -> list[float]:
    """Return `response_renyi_upper` at each of the orders."""
    if epsilon == 0:
        return [0.0] * len(orders)
    pure = float(epsilon)
    lie = math.exp(-pure) / (1 + math.exp(-pure))
    exponents = [2 * (order - 1) * pure for order in orders]
    return _from_pure(pure, [lie] * len(orders), exponents, orders)


def _from_pure(
    pure: float, weights: Sequence[float], exponents: Sequence[float], orders: Sequence[float]
) -> list[float]:
    """Return pure + log1p(weight * expm1(-exponent)) / (order - 1) at each order, rounded up."""
    found = []
    for weight, exponent, order in zip(weights, exponents, orders, strict=True):
        saved = math.log1p(weight * math.expm1(-exponent)) / (order - 1)
        upper = (pure + saved if saved < 0 else pure) + pure * _SLACK
        found.append(upper if upper > 0 else 0.0)
    return found
