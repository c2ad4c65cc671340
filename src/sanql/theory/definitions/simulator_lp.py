"""The best simulator, as a linear program, certified by exact recomputation.

A condition is a real output law P and the law W of what the simulator is given; it must keep P and
sum_a W(a) s(a, .) within (epsilon, delta) of each other. For a fixed gamma the least delta is a
linear program in s. The solver works in floats; its answer is rationalised and delta recomputed
exactly, so the number returned is always attained by the simulator returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sanql.theory.channels import Channel
from sanql.theory.distributions import Distribution, Outcome
from sanql.theory.divergences import tight_gamma_two_sided, two_sided_excess
from sanql.theory.errors import TheoryError
from sanql.theory.exact import Extended

_DENOMINATORS = (60, 1_000, 10_000, 1_000_000, 10**9)
_TOLERANCE = Fraction(1, 10**9)
_HIGHEST = 10**9


@dataclass(frozen=True)
class Condition:
    """A real output law and the law of the simulator's input, with a label for the witness."""

    real: Distribution
    given: Distribution
    label: tuple[int, str, Outcome, Outcome]


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


def best_simulator(conditions: Sequence[Condition], gamma: Fraction) -> tuple[Fraction, Channel]:
    """Return the least delta at level gamma and a simulator that attains it, exactly."""
    if not conditions:
        raise TheoryError(
            "empty_class", "there is no condition to simulate", "give at least one distribution"
        )
    inputs = tuple(dict.fromkeys(a for c in conditions for a in c.given.support))
    outputs = tuple(dict.fromkeys(t for c in conditions for t in c.real.outcomes))
    rough = _solve(conditions, inputs, outputs, float(gamma))
    best: tuple[Fraction, Channel] | None = None
    for limit in _DENOMINATORS:
        simulator = _rationalised(rough, inputs, outputs, limit)
        delta, _ = worst_condition(conditions, simulator, gamma)
        if best is None or delta < best[0]:
            best = delta, simulator
    assert best is not None  # noqa: S101  (the loop runs)
    return best


def best_level(
    conditions: Sequence[Condition], delta: Fraction, *, steps: int = 40
) -> tuple[Extended, Channel]:
    """Return a level and a simulator that attains it at delta, within 2^-steps of the best.

    The least delta falls with gamma, so the level is found by bisection; the number returned is the
    exact level of the simulator returned.
    """
    best: tuple[Extended, Channel] | None = None
    low, high = Fraction(1), Fraction(2)
    for _ in range(steps):
        found, simulator = best_simulator(conditions, high)
        reached = _level(conditions, simulator, delta)
        if best is None or reached < best[0]:
            best = reached, simulator
        if found <= delta + _TOLERANCE:
            break
        if high > _HIGHEST:
            return best
        low, high = high, high * 4
    for _ in range(steps):
        middle = (low + high) / 2
        found, simulator = best_simulator(conditions, middle)
        reached = _level(conditions, simulator, delta)
        if best is None or reached < best[0]:
            best = reached, simulator
        low, high = (low, middle) if found <= delta + _TOLERANCE else (middle, high)
        if high - low < Fraction(1, 10**9):
            break
    assert best is not None  # noqa: S101  (the first loop runs)
    return best


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
) -> list[list[float]]:
    """Solve min delta over s, u, w; variables are s (row by row), u, w (condition by condition)."""
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    a_count, t_count, k_count = len(inputs), len(outputs), len(conditions)
    s_count, excess_count = a_count * t_count, k_count * t_count
    last = s_count + 2 * excess_count
    place = {a: index for index, a in enumerate(inputs)}
    entries: list[tuple[int, int, float]] = []
    limits: list[float] = []
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
            limits += [-real, gamma * real]
        for offset in (s_count, s_count + excess_count):
            entries += [(len(limits), offset + k * t_count + j, 1.0) for j in range(t_count)]
            entries.append((len(limits), last, -1.0))
            limits.append(0.0)
    rows, columns, values = zip(*entries, strict=True)
    cost = np.zeros(last + 1)
    cost[last] = 1.0
    sums = coo_array(
        (
            np.ones(s_count),
            (np.repeat(np.arange(a_count), t_count), np.arange(s_count)),
        ),
        shape=(a_count, last + 1),
    )
    answer = linprog(
        cost,
        A_ub=coo_array((values, (rows, columns)), shape=(len(limits), last + 1)),
        b_ub=limits,
        A_eq=sums,
        b_eq=np.ones(a_count),
        method="highs",
    )
    if answer.x is None:
        raise TheoryError(
            "no_solution",
            f"the linear program for the simulator ended without one: {answer.message}",
            "check that the distributions and the channel share their databases",
        )
    return [list(answer.x[i * t_count : (i + 1) * t_count]) for i in range(a_count)]


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
