"""The best simulator by linear programming, certified from both sides in exact numbers.

A condition is a real output law P and the law W of what the simulator is given; it must keep P and
sum_a W(a) s(a, .) within (epsilon, delta) of each other. For a fixed gamma the least delta is a
linear program in s. The solver works in floats and is trusted for nothing: its simulator is made
rational and its delta recomputed, an upper bound; its multipliers are made rational tests, a lower
bound (`simulator_dual`). Where the two meet the number is proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sanql.theory.channels import Channel
from sanql.theory.definitions.simulator_dual import MixedTest, rational_weights
from sanql.theory.distributions import Distribution, Outcome
from sanql.theory.divergences import tight_gamma_two_sided, two_sided_excess
from sanql.theory.errors import TheoryError
from sanql.theory.exact import INFINITE, Extended, sqrt_upper

_DENOMINATORS = (60, 1_000, 100_000, 10**9, 10**13)
_MARGINS = (Fraction(0), *(Fraction(1, 10**k) for k in (12, 10, 8, 6, 4, 2)))
_HIGHEST = 10**9
_SMALL = (1e-4, 1e-7, 1e-10)
_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True)
class Condition:
    """A real output law and the law of the simulator's input, with a label for the witness."""

    real: Distribution
    given: Distribution
    label: tuple[int, str, Outcome, Outcome]


@dataclass(frozen=True)
class Best:
    """The least delta lies between `delta_lower`, which the tests prove, and `delta`, which the
    simulator attains."""

    delta: Fraction
    delta_lower: Fraction
    simulator: Channel
    tests: MixedTest


@dataclass(frozen=True)
class _Rough:
    """What the solver says, in floats: the least delta or the most room, the simulator's rows, and
    both tests of each condition."""

    value: float
    simulator: list[list[float]]
    real: list[list[float]]
    ideal: list[list[float]]


def ideal_law(condition: Condition, simulator: Channel) -> Distribution:
    """Return the law of the simulated output under one condition."""
    return simulator.output_of(condition.given)


def worst_condition(
    conditions: Sequence[Condition], simulator: Channel, gamma: Fraction
) -> tuple[Fraction, Condition]:
    """Return the exact delta a simulator attains at a level, and where it is worst."""
    best, where = Fraction(-1), conditions[0]
    for condition in conditions:
        delta = two_sided_excess(_aligned(condition, simulator), gamma)
        if delta > best:
            best, where = delta, condition
    return best, where


def best_simulator(conditions: Sequence[Condition], gamma: Fraction) -> Best:
    """Return the least delta at level gamma, enclosed, with a simulator that attains the bound."""
    inputs, outputs = _sizes(conditions)
    rough = _solve(conditions, inputs, outputs, float(min(gamma, Fraction(_HIGHEST**2))))
    found: list[tuple[Fraction, Channel]] = []
    tests: list[tuple[Fraction, MixedTest]] = []
    for limit in _DENOMINATORS:
        simulator = _rationalised(rough.simulator, inputs, outputs, limit)
        found.append((worst_condition(conditions, simulator, gamma)[0], simulator))
        mixed = _mixed_test(rough, conditions, outputs, limit)
        tests.append((mixed.delta_lower(gamma), mixed))
        if tests[-1][0] == found[-1][0]:
            break
    if all(delta > 0 for delta, _ in found) and all(lower == 0 for lower, _ in tests):
        found += _with_room(conditions, gamma)
    delta, simulator = min(found, key=lambda pair: pair[0])
    lower, mixed = max(tests, key=lambda pair: pair[0])
    return Best(delta, lower, simulator, mixed)


def _with_room(conditions: Sequence[Condition], gamma: Fraction) -> list[tuple[Fraction, Channel]]:
    """Return simulators far inside a level, with the delta they attain.

    The simulator of least delta may lie on the edge of delta = 0, and rounding puts it just outside.
    Above the least level that needs no delta there is room, and what has room survives rounding.
    """
    inputs, outputs = _sizes(conditions)
    rough = _solve(conditions, inputs, outputs, float(min(gamma, Fraction(_HIGHEST))), 0.0)
    found = [_rationalised(rough.simulator, inputs, outputs, limit) for limit in _DENOMINATORS]
    middle = _middle(conditions)
    found += [middle, *(_patched(rough.simulator, middle, small) for small in _SMALL)]
    return [(worst_condition(conditions, each, gamma)[0], each) for each in found]


def best_level(
    conditions: Sequence[Condition], delta: Fraction
) -> tuple[Extended, Extended, Channel]:
    """Return the least level at delta as (attained, certified lower bound), and the simulator.

    An infinite lower bound is a proof that no level is enough. Otherwise the level is found in
    floats, where the room that the best simulator leaves everywhere turns from negative to
    positive, and then enclosed: tests from just below it, a simulator from just above.
    """
    inputs, outputs = _sizes(conditions)
    extreme = _solve(conditions, inputs, outputs, float(_HIGHEST))
    tests = (_mixed_test(extreme, conditions, outputs, limit) for limit in _DENOMINATORS)
    never = delta == 0 and not _supports_fit(conditions)
    if never or any(test.gamma_lower(delta) == INFINITE for test in tests):
        return INFINITE, INFINITE, _rationalised(extreme.simulator, inputs, outputs, 60)
    rough = Fraction(_rough_level(conditions, float(delta)))
    attained, simulator = _attained(conditions, rough, delta)
    lower, _ = ruling_out(conditions, rough, delta)
    return attained, min(lower, attained), simulator


def _supports_fit(conditions: Sequence[Condition]) -> bool:
    """Return whether some simulator gives every condition exactly the outputs that are possible.

    At delta = 0 an input must never lead to an output that one of its conditions excludes; what is
    left has to reach every output that a condition allows. Otherwise no level is enough, though no
    single test proves it for all levels.
    """
    inputs, outputs = _sizes(conditions)
    allowed = {a: set(outputs) for a in inputs}
    for condition in conditions:
        for a in condition.given.support:
            allowed[a] &= set(condition.real.support)
    return all(allowed.values()) and all(
        any(t in allowed[a] for a in condition.given.support)
        for condition in conditions
        for t in condition.real.support
    )


def _rough_level(conditions: Sequence[Condition], delta: float) -> float:
    """The level at which the room becomes 0, in floats."""
    from scipy.optimize import brentq

    inputs, outputs = _sizes(conditions)

    def room(gamma: float) -> float:
        return _solve(conditions, inputs, outputs, gamma, delta).value

    high = 2.0
    while room(high) < 0 and high < _HIGHEST:
        high *= 4
    if room(1.0) >= 0:
        return 1.0
    return high if room(high) < 0 else float(brentq(room, high / 4 if high > 2 else 1.0, high))


def _attained(
    conditions: Sequence[Condition], rough: Fraction, delta: Fraction
) -> tuple[Extended, Channel]:
    """Return the level of a simulator found at or as little above a level as works."""
    inputs, outputs = _sizes(conditions)
    found: list[tuple[Extended, Channel]] = []
    for share in _MARGINS:
        above = rough * (1 + share)
        solved = _solve(conditions, inputs, outputs, float(above), float(delta))
        for limit in _DENOMINATORS[:-1]:
            simulator = _rationalised(solved.simulator, inputs, outputs, limit)
            found.append((_level(conditions, simulator, delta), simulator))
            if found[-1][0] <= above:
                return found[-1]
    middle = _middle(conditions)
    tried = (middle, *(_patched(solved.simulator, middle, small) for small in _SMALL))
    found += [(_level(conditions, simulator, delta), simulator) for simulator in tried]
    return min(found, key=lambda pair: pair[0])


def _middle(conditions: Sequence[Condition]) -> Channel:
    """Return the simulator of the geometric mean of the extremes of what an input may lead to.

    It owes nothing to the solver, which does not see masses below its tolerance: where supports fit,
    it gives every possible output some mass, so its level is finite.
    """
    inputs, outputs = _sizes(conditions)
    rows = []
    for a in inputs:
        laws = [c.real for c in conditions if c.given[a]]
        columns = [[law[t] for law in laws] for t in outputs]
        weights = [sqrt_upper(max(masses) * min(masses)) for masses in columns]
        if not any(weights):
            weights = [sum(masses, Fraction(0)) for masses in columns]
        rows.append(tuple(weight / sum(weights) for weight in weights))
    return Channel(inputs, outputs, tuple(rows))


def _patched(rough: Sequence[Sequence[float]], middle: Channel, small: float) -> Channel:
    """Return the solver's simulator with every mass that is small to it taken from the middle."""
    rows = []
    for row, base in zip(rough, middle.rows, strict=True):
        weights = [
            mass if value < small else Fraction(value)
            for value, mass in zip(row, base, strict=True)
        ]
        rows.append(tuple(weight / sum(weights) for weight in weights))
    return Channel(middle.databases, middle.outputs, tuple(rows))


def ruling_out(
    conditions: Sequence[Condition], rough: Fraction, delta: Fraction
) -> tuple[Extended, MixedTest | None]:
    """Return the highest level that rational tests from at or just below a level rule out, and
    the test."""
    inputs, outputs = _sizes(conditions)
    best: tuple[Extended, MixedTest | None] = (Fraction(1), None)
    for share in _MARGINS:
        below = rough * (1 - share)
        solved = _solve(conditions, inputs, outputs, float(below), float(delta))
        for limit in _DENOMINATORS:
            test = _mixed_test(solved, conditions, outputs, limit)
            best = max(best, (test.gamma_lower(delta), test), key=lambda found: found[0])
        if best[0] >= below * (1 - share):
            return best
    return best


def _sizes(conditions: Sequence[Condition]) -> tuple[tuple[Outcome, ...], tuple[Outcome, ...]]:
    """The simulator's inputs and outputs; outputs that never happen cannot help."""
    if not conditions:
        raise TheoryError(
            "empty_class", "there is no condition to simulate", "give at least one distribution"
        )
    inputs = tuple(dict.fromkeys(a for c in conditions for a in c.given.support))
    return inputs, tuple(dict.fromkeys(t for c in conditions for t in c.real.support))


def _level(conditions: Sequence[Condition], simulator: Channel, delta: Fraction) -> Extended:
    return max(
        tight_gamma_two_sided(condition.real, ideal_law(condition, simulator), delta)
        for condition in conditions
    )


def _aligned(condition: Condition, simulator: Channel) -> list[tuple[Fraction, Fraction]]:
    ideal = ideal_law(condition, simulator)
    outcomes = dict.fromkeys((*condition.real.outcomes, *ideal.outcomes))
    return [(condition.real[t], ideal[t]) for t in outcomes]


def _solve(
    conditions: Sequence[Condition],
    inputs: Sequence[Outcome],
    outputs: Sequence[Outcome],
    gamma: float,
    delta: float | None = None,
) -> _Rough:
    """Solve min delta over s, u, w; or, for a given delta, max of the room left everywhere.

    Variables are s (row by row), u, w (condition by condition), and last delta or the room.
    """
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    a_count, t_count, k_count = len(inputs), len(outputs), len(conditions)
    s_count, excess_count = a_count * t_count, k_count * t_count
    last = s_count + 2 * excess_count
    place = {a: index for index, a in enumerate(inputs)}
    entries: list[tuple[int, int, float]] = []
    limits: list[float] = []
    excesses: list[int] = []
    for k, condition in enumerate(conditions):
        for j, t in enumerate(outputs):
            # P - gamma Q <= u   and   Q - gamma P <= w,   Q = sum_a W(a) s(a, t)
            real = float(condition.real[t])
            for a, mass in condition.given.items():
                if mass:
                    column = place[a] * t_count + j
                    entries.append((len(limits), column, -gamma * float(mass)))
                    entries.append((len(limits) + 1, column, float(mass)))
            entries.append((len(limits), s_count + k * t_count + j, -1.0))
            entries.append((len(limits) + 1, s_count + excess_count + k * t_count + j, -1.0))
            if delta is not None:
                entries += [(len(limits), last, real), (len(limits) + 1, last, real)]
            excesses.append(len(limits))
            limits += [-real, gamma * real]
        for offset in (s_count, s_count + excess_count):
            entries += [(len(limits), offset + k * t_count + j, 1.0) for j in range(t_count)]
            entries.append((len(limits), last, -1.0 if delta is None else delta))
            limits.append(0.0 if delta is None else delta)
    rows, columns, values = zip(*entries, strict=True)
    cost = np.zeros(last + 1)
    cost[last] = 1.0 if delta is None else -1.0
    sums = coo_array(
        (
            np.ones(s_count),
            (np.repeat(np.arange(a_count), t_count), np.arange(s_count)),
        ),
        shape=(a_count, last + 1),
    )
    bounds = np.array([(0.0, np.inf)] * (last + 1))
    bounds[last] = (0.0, 1.0) if delta is None else (-gamma, 0.5)
    answer = linprog(
        cost,
        A_ub=coo_array((values, (rows, columns)), shape=(len(limits), last + 1)),
        b_ub=limits,
        A_eq=sums,
        b_eq=np.ones(a_count),
        bounds=bounds,
        method="highs",
        options=_OPTIONS,
    )
    if answer.x is None:
        # a simulator is asked for where none may exist: the exact check will say how bad it is
        even = np.full((a_count, t_count), 1 / t_count).tolist()
        nothing = np.zeros((k_count, t_count)).tolist()
        return _Rough(-gamma, even, nothing, nothing)
    multipliers = -answer.ineqlin.marginals[np.array(excesses)[:, None] + [0, 1]]
    real_tests, ideal_tests = multipliers.T.reshape(2, k_count, t_count).tolist()
    rows_found = answer.x[:s_count].reshape(a_count, t_count).tolist()
    return _Rough(float(answer.x[last]), rows_found, real_tests, ideal_tests)


def _mixed_test(
    rough: _Rough, conditions: Sequence[Condition], outputs: Sequence[Outcome], limit: int
) -> MixedTest:
    weights = rational_weights([*rough.real, *rough.ideal], limit)
    return MixedTest(
        weights[: len(conditions)],
        weights[len(conditions) :],
        tuple(tuple(condition.real[t] for t in outputs) for condition in conditions),
        tuple({a: mass for a, mass in c.given.items() if mass} for c in conditions),
    )


def _rationalised(
    rough: Sequence[Sequence[float]],
    inputs: Sequence[Outcome],
    outputs: Sequence[Outcome],
    limit: int,
) -> Channel:
    rows = []
    for row in rough:
        weights = [Fraction(max(0.0, value)).limit_denominator(limit) for value in row]
        total = sum(weights, Fraction(0)) or Fraction(1)
        rows.append(tuple(weight / total for weight in weights))
        if not any(weights):
            rows[-1] = (Fraction(1), *([Fraction(0)] * (len(outputs) - 1)))
    return Channel(tuple(inputs), tuple(outputs), tuple(rows))
