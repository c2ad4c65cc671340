"""How far a belief can move in any metric, and what a bound on it implies (Vadhan, Proposition 2).

With likelihoods whose largest and smallest have ratio r, the worst prior of every f-divergence lies on
two values, so each supremum is over one number, the mass on the likelier; for the metrics named here it
has a closed form. Read backwards, a bound on any of them implies differential privacy: the remark does
it at the even prior, the worst prior does it exactly. All is computed in decimals of as many digits as
it takes, and rounded to the safe side.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction

from sanql.theory.exact import (
    INFINITE,
    Extended,
    Real,
    as_fraction,
    as_gamma,
    as_positive,
    float_lower,
    float_upper,
)

_DIGITS = 60
_GUARD = Decimal(10) ** -40
_RATIO_MAX = Decimal(10) ** 400


@dataclass(frozen=True)
class Metric:
    """A divergence of posterior and prior: at a mass a on the likelier value, and its worst mass.

    `limit` is the supremum where the ratio is infinite.
    """

    says: str
    at: Callable[[Decimal, Decimal], Decimal]
    worst: Callable[[Decimal], Decimal]
    limit: float


def _mean(a: Decimal, r: Decimal) -> Decimal:
    return 1 + a * (r - 1)


def _renyi(order: Decimal) -> Metric:
    def at(a: Decimal, r: Decimal) -> Decimal:
        power = (order * r.ln()).exp()
        return ((1 - a + a * power).ln() - order * _mean(a, r).ln()) / (order - 1)

    def worst(r: Decimal) -> Decimal:
        power = (order * r.ln()).exp()
        return (power - 1 - order * (r - 1)) / ((order - 1) * (power - 1) * (r - 1))

    return Metric(f"Renyi divergence of order {order}", at, worst, INFINITE)


METRICS: Mapping[str, Metric] = {
    "statistical-difference": Metric(
        "statistical difference",
        lambda a, r: a * (1 - a) * (r - 1) / _mean(a, r),
        lambda r: 1 / (1 + r.sqrt()),
        1.0,
    ),
    "hellinger": Metric(
        "squared Hellinger distance, 1 − sum of sqrt(pq)",
        lambda a, r: 1 - (a * r.sqrt() + 1 - a) / _mean(a, r).sqrt(),
        lambda r: 1 / (1 + r.sqrt()),
        1.0,
    ),
    "kl": Metric(
        "KL divergence of posterior from prior",
        lambda a, r: a * r / _mean(a, r) * r.ln() - _mean(a, r).ln(),
        lambda r: (r * r.ln() / (r - 1) - 1) / (r - 1),
        INFINITE,
    ),
    "kl-of-prior": Metric(
        "KL divergence of prior from posterior",
        lambda a, r: _mean(a, r).ln() - a * r.ln(),
        lambda r: ((r - 1) / r.ln() - 1) / (r - 1),
        INFINITE,
    ),
    "chi-squared": Metric(
        "chi-squared of posterior from prior",
        lambda a, r: a * (1 - a) * (r - 1) ** 2 / _mean(a, r) ** 2,
        lambda r: 1 / (1 + r),
        INFINITE,
    ),
    "chi-squared-of-prior": Metric(
        "chi-squared of prior from posterior",
        lambda a, r: a * (1 - a) * (r - 1) ** 2 / r,
        lambda r: Decimal("0.5"),
        INFINITE,
    ),
    "renyi-2": _renyi(Decimal(2)),
    "renyi-8": _renyi(Decimal(8)),
}
"""The metrics of the command; statistical difference is the one of Proposition 2."""


def largest_move(metric: Metric, ratio: Extended) -> float:
    """Return the largest divergence of posterior and prior over all priors, rounded up.

    >>> largest_move(METRICS["statistical-difference"], Fraction(9)) - 0.5 < 1e-15
    True
    """
    if ratio == INFINITE:
        return metric.limit
    exact = as_gamma(ratio, "ratio")
    if exact == 1:
        return 0.0
    with localcontext(_context(exact)):
        r = _decimal(exact)
        return float_upper(Fraction(metric.at(metric.worst(r), r) * (1 + _GUARD)))


def implied_gamma(metric: Metric, bound: Real, *, even: bool = False) -> float:
    """Return e^epsilon of the differential privacy that a bound on a metric implies, rounded up.

    The bound is to hold for every prior; with `even`, for the two equally likely values of the remark
    alone, which implies less. Infinite where the bound is met by mechanisms without any privacy.

    >>> exact = implied_gamma(METRICS["statistical-difference"], "1/2")
    >>> 9 <= exact < 9.0000001
    True
    >>> implied_gamma(METRICS["statistical-difference"], "1/4", even=True) - 3 < 1e-9
    True
    """
    with localcontext(Context(prec=2 * _DIGITS)):
        level = _decimal(as_positive(bound, "bound"))

        def beyond(r: Decimal) -> bool:
            mass = Decimal("0.5") if even else metric.worst(r)
            return metric.at(mass, r) * (1 - _GUARD) > level

        high = Decimal(2)
        while not beyond(high):
            high *= high
            if high > _RATIO_MAX:
                return INFINITE
        low = Decimal(1)
        for _ in range(200):
            middle = (low + high) / 2
            if middle == low or high - low < high * Decimal(10) ** -30:
                break
            low, high = (low, middle) if beyond(middle) else (middle, high)
        return float_upper(Fraction(high))


def largest_f_divergence(
    f: Callable[[Fraction], Fraction], ratio: Real, steps: int = 2000
) -> tuple[float, float]:
    """Return bounds around the supremum over priors of E_prior f(posterior/prior), of any convex f.

    f is at least 0 and 0 at 1 (add a multiple of u − 1 to any other; it changes nothing). On masses
    from a to b of the likelier value a convex f is greatest at an end of where its argument may lie, so
    that branch and bound encloses the supremum for every f.

    >>> low, high = largest_f_divergence(lambda u: abs(u - 1) / 2, 9)
    >>> low <= 0.5 <= high < 0.51
    True
    """
    r = as_gamma(as_fraction(ratio, "ratio"), "ratio")

    def value(a: Fraction) -> Fraction:
        mean = 1 + a * (r - 1)
        return a * f(r / mean) + (1 - a) * f(1 / mean)

    def over(a: Fraction, b: Fraction) -> Fraction:
        first, last = 1 + a * (r - 1), 1 + b * (r - 1)
        top = max(f(r / first), f(r / last))
        return b * top + (1 - a) * max(f(1 / first), f(1 / last))

    best = value(Fraction(1, 2))
    left = [(-over(Fraction(0), Fraction(1)), Fraction(0), Fraction(1))]
    for _ in range(steps):
        bound, a, b = heapq.heappop(left)
        if -bound <= best:
            return float_lower(best), float_upper(best)
        middle = (a + b) / 2
        best = max(best, value(middle))
        for part in ((a, middle), (middle, b)):
            heapq.heappush(left, (-over(*part), *part))
    return float_lower(best), float_upper(max(best, -left[0][0]))


def _context(ratio: Fraction) -> Context:
    """Return decimals with enough digits for a divergence that is cubic in a small ratio − 1."""
    small = max(
        0, (1 / (ratio - 1)).numerator.bit_length() - (1 / (ratio - 1)).denominator.bit_length()
    )
    return Context(prec=_DIGITS + small)


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)
