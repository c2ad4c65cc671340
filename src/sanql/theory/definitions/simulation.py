"""Simulation-based differential privacy (Vadhan Def. 2, after Gehrke et al.).

A simulator that never sees person i's record must produce nearly the same output distribution. It
is told the position i; without it Claim 1.1 can fail. At delta = 0 the best level has a closed
form, otherwise it is a linear program for each (i, others).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from sanql.theory.channels import Channel, Database
from sanql.theory.definitions.finding import (
    Finding,
    PairWitness,
    SimulatorWitness,
    enclosed,
)
from sanql.theory.definitions.records import Others, by_others
from sanql.theory.definitions.simulator_lp import Condition, best_level, best_simulator
from sanql.theory.distributions import Distribution
from sanql.theory.exact import INFINITE, Extended, Real, as_gamma, as_probability, sqrt_upper


def simulation_dp(channel: Channel) -> Finding:
    """Return the least epsilon of any position-aware simulator at delta = 0.

    For rows M_v, v the value of person i: e^epsilon = max(sqrt(max_t max_v M_v(t)/min_v M_v(t)),
    sum_t max_v M_v(t), 1/sum_t min_v M_v(t)).

    >>> from sanql.theory.channels import randomised_response
    >>> simulation_dp(randomised_response(1, odds=3))["gamma"]
    Fraction(2, 1)
    """
    return _closed_form(channel, by_others(channel), "simulation-based differential privacy")


def anonymous_simulation_dp(channel: Channel) -> Finding:
    """Return the least epsilon at delta = 0 of a simulator that is not told the position."""
    groups: dict[Others, list[Database]] = {}
    for (_, others), group in by_others(channel).items():
        groups.setdefault((-1, others), []).extend(group)
    return _closed_form(channel, groups, "simulation-based, position unknown")


def simulation_dp_delta(channel: Channel, gamma: Real) -> Finding:
    """Return the least delta of any position-aware simulator at a level, by linear programs.

    The number is attained by the simulator shown; rational tests prove `at_least` for all others.
    """
    level = as_gamma(gamma)
    best, lower = Fraction(-1), Fraction(0)
    rows: dict[Others, Distribution] = {}
    blocked: list[Database] = []
    for others, group in by_others(channel).items():
        table, common = _scaled(channel, group)
        if _group_gamma(table, common) <= level:
            delta, rows[others] = Fraction(0), _simulated(channel, table, common, level)
            best, blocked = (delta, group) if delta > best else (best, blocked)
            continue
        given = Distribution.point(others)
        conditions = [Condition(channel.row(x), given, (0, "record", x, None)) for x in group]
        solved = best_simulator(conditions, level)
        rows[others] = solved.simulator.row(others)
        lower = max(lower, solved.delta_lower)
        if solved.delta > best:
            best, blocked = solved.delta, group
    return enclosed(
        "simulation-based differential privacy",
        {"gamma": level, "delta": best},
        {"delta": lower},
        SimulatorWitness(Channel.of(rows), _pair(channel, blocked)),
    )


def simulation_dp_gamma(channel: Channel, delta: Real) -> Finding:
    """Return the least level of any position-aware simulator at a delta.

    The level is attained by the simulator shown; rational tests prove `at_least` for all others.
    """
    allowed = as_probability(delta, "delta")
    if allowed == 0:
        return simulation_dp(channel)
    attained: Extended = Fraction(0)
    bound: Extended = Fraction(1)
    rows: dict[Others, Distribution] = {}
    blocked: list[Database] = []
    for others, group in by_others(channel).items():
        given = Distribution.point(others)
        conditions = [Condition(channel.row(x), given, (0, "record", x, None)) for x in group]
        gamma, at_least, simulator = best_level(conditions, allowed)
        rows[others] = simulator.row(others)
        bound = max(bound, at_least)
        if gamma > attained:
            attained, blocked = gamma, group
    return enclosed(
        "simulation-based differential privacy",
        {"gamma": attained, "delta": allowed},
        {"gamma": bound},
        SimulatorWitness(Channel.of(rows), _pair(channel, blocked)),
        solved="gamma",
    )


def _closed_form(
    channel: Channel, groups: dict[Others, list[Database]], definition: str
) -> Finding:
    best: Extended = Fraction(1)
    blocked = next(iter(groups.values()))
    tables = {others: _scaled(channel, group) for others, group in groups.items()}
    for others, group in groups.items():
        gamma = _group_gamma(*tables[others])
        if gamma > best:
            best, blocked = gamma, group
    if best == INFINITE:
        numbers = {"gamma": best, "delta": Fraction(0)}
        return Finding(definition, numbers, _pair(channel, blocked), solved="gamma")
    rows = {
        others: _simulated(channel, table, common, Fraction(best))
        for others, (table, common) in tables.items()
    }
    witness = SimulatorWitness(Channel.of(rows), _pair(channel, blocked))
    numbers = {"gamma": best, "delta": Fraction(0)}
    return Finding(definition, numbers, witness, solved="gamma")


def _group_gamma(table: Sequence[Sequence[int]], common: int) -> Extended:
    """The closed form for one (i, others); the rows are integers over one denominator."""
    tops, bottoms = _envelope(table)
    if any(top > 0 and bottom == 0 for top, bottom in zip(tops, bottoms, strict=True)):
        return INFINITE
    above, below = 1, 1
    for top, bottom in zip(tops, bottoms, strict=True):
        if top * below > above * bottom:
            above, below = top, bottom
    sums = max(Fraction(sum(tops), common), Fraction(common, sum(bottoms)))
    ratio = Fraction(above, below)
    return sums if ratio <= sums**2 else sqrt_upper(ratio)


def _simulated(
    channel: Channel, table: Sequence[Sequence[int]], common: int, gamma: Fraction
) -> Distribution:
    """Return masses between max/gamma and gamma min that sum to 1."""
    tops, bottoms = _envelope(table)
    up, down = gamma.numerator, gamma.denominator
    # over the denominator up * down * common: low = max down^2, high = min up^2
    low, high = [top * down**2 for top in tops], [bottom * up**2 for bottom in bottoms]
    whole, room = up * down * common, sum(high) - sum(low)
    share = whole - sum(low) if room else 0
    over = room or 1
    masses = (
        Fraction(a * (over - share) + b * share, whole * over)
        for a, b in zip(low, high, strict=True)
    )
    return Distribution(channel.outputs, tuple(masses))


def _envelope(table: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    columns = list(zip(*table, strict=True))
    return [max(column) for column in columns], [min(column) for column in columns]


def _pair(channel: Channel, group: Sequence[Database]) -> PairWitness | None:
    """The two databases of the group and the output with the largest ratio."""
    if len(group) < 2:
        return None

    indices = [channel.index(x) for x in group]
    best: tuple[Extended, int, int, int] = (Fraction(-1), indices[0], indices[1], 0)
    for place in range(len(channel.outputs)):
        high = max(indices, key=lambda x, t=place: channel.rows[x][t])  # type: ignore[misc]
        low = min(
            (x for x in indices if x != high),
            key=lambda x, t=place: channel.rows[x][t],  # type: ignore[misc]
        )
        a, b = channel.rows[high][place], channel.rows[low][place]
        ratio = (INFINITE if a else Fraction(0)) if b == 0 else a / b
        if ratio > best[0]:
            best = ratio, high, low, place
    _, high, low, place = best
    event = (channel.outputs[place],)
    masses = channel.rows[high][place], channel.rows[low][place]
    return PairWitness(channel.databases[high], channel.databases[low], event, *masses)


def _scaled(channel: Channel, group: Sequence[Database]) -> tuple[list[list[int]], int]:
    """Return the rows of a group as integers over one denominator, which is theirs alone."""
    rows = [channel.masses(x) for x in group]
    common = math.lcm(*(mass.denominator for row in rows for mass in row))
    return [[m.numerator * (common // m.denominator) for m in row] for row in rows], common
