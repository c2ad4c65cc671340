"""(tau, delta)-semantic privacy over all beliefs: the largest failure, enclosed with a stated gap.

For one belief the failure probability is exact (`failure_probability`). Its supremum over beliefs
is neither convex nor reached on two-point beliefs. `approximate_semantic_privacy` (Def. 2.3) and
`reality_oblivious_privacy` (Def. A.1, over all realities as well) search all beliefs by branch and
bound; both ends of the enclosure are exact numbers. For channels too large for that there is the
corrected Theorem 2.4, applied to each person's privacy profile.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import combinations, pairwise

from sanql.theory.channels import Channel, Database
from sanql.theory.constants import tv_constant
from sanql.theory.definitions.belief_search import BeliefEnclosure, Games, OutputGames, search
from sanql.theory.definitions.finding import BeliefWitness, Finding, enclosed, show
from sanql.theory.definitions.records import dropped, people
from sanql.theory.definitions.semantic import (
    bad_outputs,
    furthest_conclusion,
    game_distance,
    game_posterior,
    semantic_privacy,
)
from sanql.theory.distributions import Distribution, Outcome
from sanql.theory.divergences import align, privacy_profile, two_sided_excess
from sanql.theory.exact import (
    INFINITE,
    Extended,
    Real,
    as_count,
    as_probability,
    float_upper,
)

_GAP = "1/1000000"
_NODES = 1000


def approximate_semantic_privacy(
    channel: Channel, tau: Real, default: Outcome, *, nodes: int = _NODES, gap: Real = _GAP
) -> Finding:
    """Return the least delta of (tau, delta)-semantic privacy, enclosed (Def. 2.3).

    `delta` holds for every belief; `at_least` is what the belief shown attains. The search stops
    when the two are within `gap`, or after `nodes` nodes.
    """
    level = as_probability(tau, "tau")
    as_count(nodes, "nodes")
    outputs = [
        OutputGames(tuple(row[place] for row in channel.rows), games)
        for place, games in _games(channel, level, default)
        if games
    ]
    start = _two_point_candidates(channel, level, default) if len(channel.databases) <= 8 else ()
    found = search(
        outputs, level, len(channel.databases), start, nodes=nodes, gap=as_probability(gap, "gap")
    )
    upper = min(found.upper, Fraction(semantic_failure_upper(channel, level, default)))
    belief = _belief(channel, found)
    return enclosed(
        "approximate semantic privacy",
        {"tau": level, "delta": max(upper, found.lower)},
        {"delta": found.lower},
        _witness(channel, belief, level, default),
        note=_stated_gap(found.lower, upper, found.tied),
    )


def reality_oblivious_privacy(
    channel: Channel, tau: Real, default: Outcome, *, nodes: int = _NODES, gap: Real = _GAP
) -> Finding:
    """Return the least delta of reality-oblivious semantic privacy over all beliefs and realities.

    Enclosed like `approximate_semantic_privacy`. An output that the belief excludes is a failure. At
    tau = 0 the number is exact: a belief that excludes no database is moved by every output that
    moves any belief, since likelihoods that are not proportional on some databases are not on all; and
    an output that some database excludes is one of these.
    """
    level = as_probability(tau, "tau")
    as_count(nodes, "nodes")
    games = list(_games(channel, level, default))
    columns = list(zip(*channel.rows, strict=True))
    lower, upper, tied = Fraction(-1), Fraction(0), Fraction(0)
    worst, belief = channel.databases[0], Distribution.point(channel.databases[0])
    everywhere = tuple(Fraction(1, len(channel.databases)) for _ in channel.databases)
    for x, masses in zip(channel.databases, channel.rows, strict=True):
        outputs = [
            OutputGames((masses[place],) * len(channel.rows), possible, columns[place])
            for place, possible in games
            if masses[place] and (possible or not all(columns[place]))
        ]
        if sum(output.value[0] for output in outputs) <= lower:
            continue
        found = search(
            outputs,
            level,
            len(channel.databases),
            [everywhere, tuple(belief[x] for x in channel.databases)],
            nodes=nodes,
            gap=as_probability(gap, "gap"),
        )
        upper, tied = max(upper, found.upper), max(tied, found.tied)
        if found.lower > lower:
            lower, worst, belief = found.lower, x, _belief(channel, found)
    notes = (f"worst when the database is {show(worst)}", _stated_gap(lower, upper, tied))
    return enclosed(
        "reality-oblivious semantic privacy",
        {"tau": level, "delta": upper},
        {"delta": lower},
        furthest_conclusion(channel, belief, default),
        note="; ".join(note for note in notes if note),
    )


def semantic_failure_upper(channel: Channel, tau: Real, default: Outcome) -> float:
    """Return sum_i min_gamma delta_i(gamma) K_tv(gamma, tau), valid for every belief; at most 1.

    delta_i is the privacy profile between each database and itself without person i.
    """
    level = as_probability(tau, "tau")
    if semantic_privacy(channel, default)["tau"] <= level:
        return 0.0
    total: Extended = Fraction(0)
    for person in range(people(channel)):
        pairs = {
            (x, dropped(channel, x, person, default))
            for x in channel.databases
            if x != dropped(channel, x, person, default)
        }
        rows = [(channel.row(x), channel.row(y)) for x, y in pairs]
        profiles = [align(p, q) for p, q in rows]
        levels = {gamma for p, q in rows for gamma, _ in privacy_profile(p, q)} | {Fraction(1)}
        best: Extended = INFINITE
        for gamma in levels:
            delta = max((two_sided_excess(pair, gamma) for pair in profiles), default=Fraction(0))
            best = min(best, _failure(delta, gamma, level))
        total += best
    return float_upper(min(Fraction(1), total))


def two_point_failure_sup(channel: Channel, tau: Real, default: Outcome) -> Finding:
    """Return the supremum of the failure probability over two-point beliefs, to float precision.

    For each pair of databases the bad outputs change only where SD = tau, a quadratic in the belief
    weight; between such breakpoints the failure is linear, so its supremum is at an end. Beliefs on
    three databases can fail more often.
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
    return Finding(
        "semantic privacy of two-point beliefs",
        {"tau": level, "delta": best},
        _witness(channel, belief, level, default),
        status="upper bound",
    )


def _games(
    channel: Channel, tau: Fraction, default: Outcome
) -> Iterator[tuple[int, tuple[Games, ...]]]:
    """Yield each output with the games in which some belief makes it bad."""
    seen = [
        [channel.index(dropped(channel, x, person, default)) for x in channel.databases]
        for person in range(people(channel))
    ]
    for place in range(len(channel.outputs)):
        column = tuple(row[place] for row in channel.rows)
        games = (Games(column, tuple(column[x] for x in without)) for without in seen)
        yield place, tuple(game for game in games if any(column) and _can_be_bad(game, tau))


def _can_be_bad(game: Games, tau: Fraction) -> bool:
    """Whether (sqrt r - 1)/(sqrt r + 1) > tau for the largest ratio r; exact.

    An infinite ratio is a belief under which the output happens in one game only.
    """
    low, high = game.ratios()
    if tau == 1 or high == 0:
        return False
    if high == INFINITE or low == 0:
        return True
    return Fraction(high) / Fraction(low) > ((1 + tau) / (1 - tau)) ** 2


def _two_point_candidates(
    channel: Channel, tau: Fraction, default: Outcome
) -> Iterator[tuple[Fraction, ...]]:
    """Yield beliefs just inside each interval on which the bad outputs of two databases stay."""
    for (i, x), (j, y) in combinations(enumerate(channel.databases), 2):
        for left, right in pairwise(_breakpoints(channel, x, y, tau, default)):
            for weight in (left + (right - left) / 10**9, right - (right - left) / 10**9):
                yield tuple(
                    weight if k == i else 1 - weight if k == j else Fraction(0)
                    for k in range(len(channel.databases))
                )


def _belief(channel: Channel, found: BeliefEnclosure) -> Distribution:
    return Distribution.from_weights(
        {x: mass for x, mass in zip(channel.databases, found.belief, strict=True) if mass}
    )


def _stated_gap(lower: Fraction, upper: Fraction, tied: Fraction) -> str:
    """The width of an enclosure, and whether a tie at tau itself is the reason for it."""
    if upper == lower:
        return ""
    width = f"enclosed within {math.ceil((upper - lower) * 10**9) / 10**9:.2g}"
    if 2 * (tied - lower) > upper - lower:
        return f"{width}, since a difference of exactly tau would fail {float(tied):.6g}"
    return width


def _failure(delta: Fraction, gamma: Fraction, tau: Fraction) -> Extended:
    """delta K_tv(gamma, tau); nothing where delta is 0 and the level alone keeps within tau."""
    if delta == 0 and gamma - 1 <= tau * (gamma + 1):
        return Fraction(0)
    constant = tv_constant(gamma, tau)
    return INFINITE if constant == INFINITE else delta * Fraction(constant)


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
