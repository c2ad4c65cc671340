"""The tight constants of the implications, in one place, with the printed ones beside them.

Every function is plain arithmetic in gamma = e^epsilon and delta and returns exact fractions for
exact arguments, except where a square root makes a float necessary; then it is rounded up. Names
that start with `printed_` are what the papers print; some are false (see the errata in
docs/paper_to_code.md).
"""

from __future__ import annotations

import math
from fractions import Fraction

from sanql.theory.errors import TheoryError
from sanql.theory.exact import (
    Extended,
    as_count,
    exp_upper,
    float_upper,
    log_upper,
    quoted,
    sqrt_lower,
    up,
)

_GAMMA_MAX = 1e100
_EXPONENT_MAX = 700.0
_DELTA_MIN = 1e-290
_PRODUCT_MAX = 1e300
_EXACT_GROUP = 64


def statistical_difference_bound(gamma: Fraction, delta: Fraction) -> Fraction:
    """Return (gamma - 1 + 2 delta)/(gamma + 1), tight for Claim 3.3(6); never above 1.

    >>> statistical_difference_bound(Fraction(2), Fraction(1, 10))
    Fraction(2, 5)
    """
    check_level(gamma, delta=delta)
    return min(Fraction(1), (gamma - 1 + 2 * delta) / (gamma + 1))


def printed_statistical_difference_bound(gamma: Fraction, delta: Fraction) -> Fraction:
    """Return e^epsilon - 1 + delta, Claim 3.3(6) as printed: true, loose by more than twice."""
    check_level(gamma, delta=delta)
    return gamma - 1 + delta


def one_sided_difference_bound(gamma: Fraction, delta: Fraction) -> Fraction:
    """Return 1 - (1 - delta)/gamma, when only one order is known."""
    check_level(gamma, delta=delta)
    return 1 - (1 - delta) / gamma


def pointwise_bound(gamma: Fraction, delta: Fraction, gamma_out: Fraction) -> Fraction:
    """Return delta (1 + 1/g')/(1 - g/g'), the sharp repair of Claim 3.3(2) at any g' > g.

    >>> pointwise_bound(Fraction(2), Fraction(3, 100), Fraction(4))
    Fraction(3, 40)
    """
    check_level(gamma, delta=delta)
    if gamma_out <= gamma:
        raise TheoryError(
            "level_too_small",
            f"the point-wise level {quoted(gamma_out)} is not above {quoted(gamma)}",
            "ask for a level above the given one",
        )
    return min(Fraction(1), delta * (1 + 1 / gamma_out) / (1 - gamma / gamma_out))


def printed_pointwise_bound(gamma: Fraction, delta: Fraction) -> float:
    """Return 2 delta/(epsilon e^epsilon), Claim 3.3(2) as printed: false for every epsilon > 0."""
    check_level(gamma, delta=delta)
    if gamma == 1:
        return math.inf
    return 2 * float(delta) / (math.log(gamma) * float(gamma))


def mixture_bound(failure: Fraction, delta: Fraction) -> Fraction:
    """Return failure + (1 - failure) delta, sharp for Claim 3.3(4) (printed: 2 delta)."""
    check_level(1, failure=failure, delta=delta)
    return failure + (1 - failure) * delta


def hat_constant(gamma: Fraction, delta_hat: Fraction) -> Fraction:
    """Return K = (1 + gamma (1 - dh))/dh: conditionals fail (2 epsilon, dh) with at most K delta.

    The sharp form of Lemma 4.1 and of coupled-worlds Lemma 1, for any level from 2 epsilon on.

    >>> hat_constant(Fraction(2), Fraction(1, 50))
    Fraction(148, 1)
    """
    check_level(gamma, delta_hat=delta_hat)
    if delta_hat == 0:
        raise TheoryError("delta_hat", "delta_hat is 0, it must be above 0", "give delta_hat > 0")
    return (1 + gamma * (1 - delta_hat)) / delta_hat


def printed_lemma_failure(gamma: Fraction, delta: Fraction, delta_hat: Extended) -> float:
    """Return 2 delta/dh + 2 delta/(epsilon e^epsilon) at 3 epsilon (coupled-worlds Lemma 1): false.

    With dh = 2 sqrt(delta) it is Lemma 4.1 of Kasiviswanathan-Smith, false as well.
    """
    check_level(gamma, delta=delta, delta_hat=delta_hat)
    if delta_hat == 0:
        return math.inf
    return 2 * float(delta) / float(delta_hat) + printed_pointwise_bound(gamma, delta)


def tv_constant(gamma: Extended, tau: Extended) -> float:
    """Return K_tv: posteriors differ by more than tau with probability at most K_tv delta.

    Infinite unless tau > (gamma - 1)/(gamma + 1). With k = gamma^2 - 1: K_tv = 1/c1 + 1/c2,
    c1 = 2 gamma sqrt(tau k) - k (1 + tau) while tau <= 1 - 1/gamma^2, then tau;
    c2 = (2/gamma) sqrt(tau k) - (gamma - 1/gamma)(1 - tau) while tau <= k (1 - tau)^2,
    then tau/(gamma (1 - tau)). Rounded up.

    >>> tv_constant(1.0, 0.2) <= 9.00000001
    True
    """
    check_level(gamma, tau=tau)
    if tau >= 1:
        return 1.0
    if gamma > _GAMMA_MAX:
        return math.inf
    g, t = Fraction(gamma), Fraction(tau)
    if t * (g + 1) <= g - 1:
        return math.inf
    k = g * g - 1
    root = sqrt_lower(t * k)  # both constants grow with it
    c1 = 2 * g * root - k * (1 + t) if t * g * g <= k else t
    c2 = t / (g * (1 - t))
    if t <= k * (1 - t) ** 2:
        c2 = (2 * root - k * (1 - t)) / g
    return math.inf if min(c1, c2) <= 0 else float_upper(1 / c1 + 1 / c2)


def group_delta(gamma: Fraction, delta: Fraction, size: int) -> Fraction:
    """Return delta (g^k - 1)/(g - 1), the delta of k people at level g^k; at most 1.

    >>> group_delta(Fraction(2), Fraction(1, 100), 3)
    Fraction(7, 100)
    """
    check_level(gamma, delta=delta)
    as_count(size, "size", most=10**12)
    if gamma == 1 or delta == 0:
        return min(Fraction(1), size * delta)
    if size > _EXACT_GROUP:
        # g^k would have millions of digits: its logarithm is rounded up instead
        exponent = up(size * log_upper(gamma))
        if exponent > _EXPONENT_MAX:
            return Fraction(1)
        return min(Fraction(1), delta * Fraction(up(math.expm1(exponent))) / (gamma - 1))
    return min(Fraction(1), delta * (gamma**size - 1) / (gamma - 1))


def semantic_tau(gamma: Extended) -> Fraction:
    """Return (gamma - 1)/(gamma + 1) = tanh(epsilon/2), tight for Theorem 2.2(a)."""
    check_level(gamma)
    return Fraction(1) if gamma == math.inf else (Fraction(gamma) - 1) / (Fraction(gamma) + 1)


def gamma_from_tau(tau: Fraction) -> Extended:
    """Return ((1 + tau)/(1 - tau))^2, epsilon = 4 artanh(tau): exact for 2.2(b) and Prop. 2.

    >>> gamma_from_tau(Fraction(1, 4)), gamma_from_tau(Fraction(1))
    (Fraction(25, 9), inf)
    """
    check_level(1, tau=tau)
    return math.inf if tau >= 1 else ((1 + tau) / (1 - tau)) ** 2


def gamma_from_tau_uniform(tau: Fraction) -> Extended:
    """Return (1 + 2 tau)/(1 - 2 tau), what the papers' uniform belief proves; vacuous from 1/2."""
    check_level(1, tau=tau)
    return math.inf if 2 * tau >= 1 else (1 + 2 * tau) / (1 - 2 * tau)


def dp_from_semantic(tau: Fraction, delta: Fraction, weight: Fraction) -> tuple[Fraction, Fraction]:
    """Return (gamma, delta/b) that (tau, delta)-semantic privacy gives for a belief weight b.

    gamma = (b + tau)(1 - b)/(b (1 - b - tau)), any 0 < b < 1 - tau.
    """
    if not 0 < weight < 1 - tau:
        raise TheoryError(
            "weight",
            f"the weight {quoted(weight)} is outside (0, 1 - tau)",
            "choose 0 < b < 1 - tau",
        )
    gamma = (weight + tau) * (1 - weight) / (weight * (1 - weight - tau))
    return gamma, min(Fraction(1), delta / weight)


def inference_delta(gamma: Extended, delta: Extended, pairs: int = 1) -> float:
    """Return the one delta' with failure and level both delta' at 2 epsilon; rounded up.

    D = delta |Gamma|, delta' = (-D g + sqrt(D^2 g^2 + 4 D (1 + g)))/2: always valid, where the
    printed Theorems 1 and 2 of coupled worlds are false for large epsilon.
    """
    check_level(gamma, delta=delta)
    as_count(pairs, "pairs", most=10**12)
    if delta == 0:
        return 0.0
    # delta' rises with D: a larger D is safe where a product would lose its digits
    d, g = max(float_upper(delta) * pairs, _DELTA_MIN), float_upper(gamma)
    if d * g > _PRODUCT_MAX:
        return 1.0
    # the root is that of two factors, as D^2 g^2 may overflow, and the cancelling form -Dg + root
    # is rewritten as a quotient
    root = math.sqrt(d * g) * math.sqrt(d * g + 4 * (1 + 1 / g))
    return min(1.0, up(2 * d * g * (1 + 1 / g) / (d * g + root), 8))


def composed_delta(
    gamma_f: Fraction, delta_f: Fraction, gamma_g: Fraction, delta_g: Fraction
) -> Fraction:
    """Return max(dF gG + dG, dF + dG gF), exactly tight for coupled-worlds Theorem 6."""
    check_level(gamma_f, delta_f=delta_f)
    check_level(gamma_g, delta_g=delta_g)
    return min(Fraction(1), max(delta_f * gamma_g + delta_g, delta_f + delta_g * gamma_f))


def chain_delta(
    gamma: Fraction, delta: Fraction, gamma_middle: Fraction, delta_middle: Fraction
) -> Fraction:
    """Return delta (1 + g g1) + delta1 g at level g^2 g1 (coupled-worlds Theorem 16), tight."""
    check_level(gamma, delta=delta)
    check_level(gamma_middle, delta_middle=delta_middle)
    return min(Fraction(1), delta * (1 + gamma * gamma_middle) + delta_middle * gamma)


def pufferfish_failure(delta: Extended, delta_hat: Extended, prior: Extended = 0.5) -> Extended:
    """Return 2 pi (1 - pi) delta/dh: posterior and prior of a secret differ by more than dh.

    The level stays epsilon (printed Theorem 7: 3 epsilon, with an unneeded hypothesis).
    """
    check_level(1, delta=delta, delta_hat=delta_hat, prior=prior)
    if delta_hat == 0 or delta == 0:
        return Fraction(int(delta > 0))
    return 2 * prior * (1 - prior) * delta / delta_hat


def pufferfish_failure_sharp(
    gamma: Fraction, delta: Fraction, delta_hat: Fraction, prior: Fraction
) -> Fraction:
    """Return the sharp failure of Theorem 7 for a secret whose prior is known; at most 1.

    The cheapest way to move a belief pi by dh costs the smaller of g pi (g - 1)/(1 - pi) + dh
    (g/(1 - pi) + 1/pi) while g pi + dh <= 1, and ((g - 1)(1 - pi) + dh)/(g pi) + dh/(1 - pi)
    while dh <= 1 - pi; delta pays for it on both sides.

    >>> pufferfish_failure_sharp(Fraction(1), Fraction(1, 100), Fraction(1, 4), Fraction(1, 2))
    Fraction(1, 50)
    """
    check_level(gamma, delta=delta, delta_hat=delta_hat, prior=prior)
    if delta_hat == 0 or delta == 0:
        return Fraction(int(delta > 0))
    total = Fraction(0)
    for pi in (prior, 1 - prior):
        costs = []
        if 0 < pi < 1 and gamma * pi + delta_hat <= 1:
            rise = gamma * pi * (gamma - 1) / (1 - pi)
            costs.append(rise + delta_hat * (gamma / (1 - pi) + 1 / pi))
        if 0 < pi < 1 and delta_hat <= 1 - pi:
            fall = ((gamma - 1) * (1 - pi) + delta_hat) / (gamma * pi)
            costs.append(fall + delta_hat / (1 - pi))
        total += delta / min(costs) if costs else 0
    return min(Fraction(1), total)


def printed_semantic_tau(epsilon: float, delta: float) -> float:
    """Return e^(3 epsilon) - 1 + 2 sqrt(delta), the level of Theorem 2.4 as printed."""
    return exp_upper(3 * epsilon) - 1 + 2 * math.sqrt(delta)


def check_level(gamma: Extended, **probabilities: Extended) -> None:
    """Raise unless gamma is at least 1 and everything else a probability; NaN is neither."""
    if not gamma >= 1:
        raise TheoryError(
            "gamma_below_one",
            f"gamma is {quoted(gamma)}, a privacy level e^epsilon is at least 1",
            "give epsilon >= 0, that is gamma >= 1",
        )
    for name, value in probabilities.items():
        if not 0 <= value <= 1:
            raise TheoryError(
                "not_a_probability",
                f"{name} is {quoted(value)}, a probability lies between 0 and 1",
                f"give {name} between 0 and 1",
            )
