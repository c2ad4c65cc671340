"""(tau, delta)-semantic privacy over all beliefs: certified bounds on the largest failure.

For one belief the failure probability is exact (`failure_probability`). Its supremum over beliefs
is not reached on two-point beliefs and is not convex, so it is enclosed: from below by scanning all
two-point beliefs exactly, from above by the corrected Theorem 2.4 applied to each coordinate's
privacy profile.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations, pairwise

from sanql.theory.channels import Channel, Database
from sanql.theory.constants import tv_constant
from sanql.theory.definitions.finding import BeliefWitness, Finding
from sanql.theory.definitions.records import dropped, people
from sanql.theory.definitions.semantic import (
    bad_outputs,
    failure_probability,
    game_distance,
    game_posterior,
    semantic_privacy,
)
from sanql.theory.distributions import Distribution, Outcome
from sanql.theory.divergences import align, privacy_profile, two_sided_excess
from sanql.theory.exact import Real, as_probability, up


def semantic_failure_upper(channel: Channel, tau: Real, default: Outcome) -> float:
    """Return sum_i min_gamma delta_i(gamma) K_tv(gamma, tau), valid for every belief; at most 1.

    delta_i is the privacy profile between each database and itself without person i.
    """
    level = as_probability(tau, "tau")
    if semantic_privacy(channel, default)["tau"] <= level:
        return 0.0
    total = 0.0
    for person in range(people(channel)):
        pairs = {
            (x, dropped(channel, x, person, default))
            for x in channel.databases
            if x != dropped(channel, x, person, default)
        }
        rows = [(channel.row(x), channel.row(y)) for x, y in pairs]
        profiles = [align(p, q) for p, q in rows]
        levels = {gamma for p, q in rows for gamma, _ in privacy_profile(p, q)} | {Fraction(1)}
        best = math.inf
        for gamma in levels:
            delta = max((two_sided_excess(pair, gamma) for pair in profiles), default=Fraction(0))
            best = min(
                best, 0.0 if delta == 0 and _covers(gamma, level) else _product(delta, gamma, level)
            )
        total += best
    return min(1.0, up(total))


def two_point_failure_sup(channel: Channel, tau: Real, default: Outcome) -> Finding:
    """Return the supremum over two-point beliefs of the failure probability, a lower bound.

    For each pair of databases the bad outputs change only where SD = tau, a quadratic in the belief
    weight; between such breakpoints the failure is linear, so its supremum is at an end.
    """
    level = as_probability(tau, "tau")
    best = Fraction(0)
    belief = Distribution.point(channel.databases[0])
    for x, y in combinations(channel.databases, 2):
        for left, right in pairwise(_breakpoints(channel, x, y, level, default)):
            middle = (left + right) / 2
            inside = Distribution.of({x: middle, y: 1 - middle})
            bad = bad_outputs(channel, inside, level, default)
            for end in (left, right):
                value = end * channel.row(x).probability(bad)
                value += (1 - end) * channel.row(y).probability(bad)
                if value > best:
                    best, belief = value, inside
    for x in channel.databases:
        single = failure_probability(channel, Distribution.point(x), level, default)
        if single > best:
            best, belief = single, Distribution.point(x)
    return Finding(
        "approximate semantic privacy",
        {"tau": level, "delta": best},
        _witness(channel, belief, level, default),
        status="lower bound",
        note="supremum over two-point beliefs; three-point beliefs can fail more often",
    )


def _covers(gamma: Fraction, tau: Fraction) -> bool:
    return (gamma - 1) <= tau * (gamma + 1)


def _product(delta: Fraction, gamma: Fraction, tau: Fraction) -> float:
    constant = tv_constant(gamma, tau)
    return math.inf if constant == math.inf else float(delta) * constant


def _breakpoints(
    channel: Channel, x: Database, y: Database, tau: Fraction, default: Outcome
) -> list[Fraction]:
    """Return the belief weights on x where some output turns bad, with 0 and 1, in order."""
    found = {Fraction(0), Fraction(1)}
    for person in range(people(channel)):
        seen_x = channel.masses(dropped(channel, x, person, default))
        seen_y = channel.masses(dropped(channel, y, person, default))
        for place in range(len(channel.outputs)):
            a, c = channel.masses(x)[place], channel.masses(y)[place]
            found.update(_roots(a, c, seen_x[place], seen_y[place], tau))
    return sorted(found)


def _roots(a: Fraction, c: Fraction, b: Fraction, d: Fraction, tau: Fraction) -> Iterable[Fraction]:
    """Roots in (0, 1) of w(1-w)(a d - b c) = +-tau (w a + (1-w) c)(w b + (1-w) d)."""
    for sign in (1, -1):
        gain, cost = a * d - b * c, sign * tau
        square = -gain - cost * (a - c) * (b - d)
        linear = gain - cost * (c * (b - d) + d * (a - c))
        constant = -cost * c * d
        for root in _quadratic(float(square), float(linear), float(constant)):
            if 0 < root < 1:
                yield Fraction(root)


def _quadratic(square: float, linear: float, constant: float) -> list[float]:
    if square == 0:
        return [] if linear == 0 else [-constant / linear]
    inside = linear * linear - 4 * square * constant
    if inside < 0:
        return []
    root = math.sqrt(inside)
    return [(-linear + root) / (2 * square), (-linear - root) / (2 * square)]


def _witness(
    channel: Channel, belief: Distribution, tau: Fraction, default: Outcome
) -> BeliefWitness | None:
    for t in bad_outputs(channel, belief, tau, default):
        for game in range(1, people(channel) + 1):
            if game_distance(channel, belief, t, game, default) > tau:
                real = game_posterior(channel, belief, t, 0, default)
                without = game_posterior(channel, belief, t, game, default)
                return BeliefWitness(game, t, belief, real, without)
    return None
