"""Whether one simulator column can serve several beliefs at once, proved either way.

For one output t the simulator's column s(., t) >= 0 matters only up to scale. With N(v) = sum_a
Pr[v, a, z] s(a), S = sum_v N(v) and the real belief R(v), it serves a block when S > 0, sum_v (R S -
gamma N)_+ <= slack S and sum_v (N - gamma R S)_+ <= slack S: linear and homogeneous.

A column is made rational and checked exactly: a proof of "yes". Weights alpha, beta >= 0 on the two
kinds of inequality add them up to sum_a c(a) s(a) <= 0; where c >= 0 and c > 0 on all inputs of one
block, that block's S would be 0: a proof of "no". The solver only guesses both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from sanql.theory.definitions.simulator_dual import rational_weights
from sanql.theory.distributions import Outcome
from sanql.theory.divergences import two_sided_excess

_DENOMINATORS = (12, 1_000, 1_000_000, 10**12)
_FEASIBLE = 1e-8
_LEVEL_MAX = 10**12
_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True)
class Block:
    """One protection and side information: weights[v][a] = Pr[v, a, z], and the real belief R."""

    weights: tuple[Mapping[Outcome, Fraction], ...]
    real: tuple[Fraction, ...]

    def scale(self) -> dict[Outcome, Fraction]:
        """Return sum_v Pr[v, a, z] for each input."""
        total: dict[Outcome, Fraction] = {}
        for cell in self.weights:
            for a, mass in cell.items():
                total[a] = total.get(a, Fraction(0)) + mass
        return total


@dataclass(frozen=True)
class SharedColumn:
    """A column, up to scale, that serves every block."""

    values: Mapping[Outcome, Fraction]


@dataclass(frozen=True)
class Conflict:
    """Blocks, by their places, that no column serves together."""

    blocks: frozenset[int]


@dataclass(frozen=True)
class Undecided:
    """The solver's guess could not be proved either way."""


Service: TypeAlias = SharedColumn | Conflict | Undecided


def serve(blocks: Sequence[Block], gamma: Fraction, slack: Fraction) -> Service:
    """Return a column that serves every block, or blocks that cannot be served together."""
    inputs = tuple(dict.fromkeys(a for block in blocks for cell in block.weights for a in cell))
    level = float(min(gamma, Fraction(_LEVEL_MAX)))
    violation, _, weights = _solve(blocks, inputs, level, float(slack), room=False)
    if violation > _FEASIBLE:
        for limit in _DENOMINATORS:
            exact = rational_weights(weights, limit)
            conflict = _conflict(blocks, exact, gamma, slack)
            if conflict is not None:
                return conflict
        return Undecided()
    _, rough, _ = _solve(blocks, inputs, level, float(slack), room=True)
    for limit in _DENOMINATORS:
        values = {
            a: max(Fraction(0), Fraction(value).limit_denominator(limit))
            for a, value in zip(inputs, rough, strict=True)
        }
        if all(_serves(values, block, gamma, slack) for block in blocks):
            return SharedColumn(values)
    values = _on_the_boundary(blocks, dict(zip(inputs, rough, strict=True)), gamma, slack)
    if all(_serves(values, block, gamma, slack) for block in blocks):
        return SharedColumn(values)
    return Undecided()


def _on_the_boundary(
    blocks: Sequence[Block], rough: Mapping[Outcome, float], gamma: Fraction, slack: Fraction
) -> dict[Outcome, Fraction]:
    """Return a rational column that meets exactly the inequalities which the rough one just meets.

    Where there is no room (always at gamma = 1, slack = 0) rounding would break them. The tight
    ones are linear equations; all but their pivots are rounded and the pivots solved for.
    """
    used = [a for a, value in rough.items() if value > _FEASIBLE]
    equations: list[list[Fraction]] = []
    for block in blocks:
        scale = block.scale()
        for direction in (0, 1):
            whole = {a: -slack * mass for a, mass in scale.items()}
            for cell, share in zip(block.weights, block.real, strict=True):
                row = {}
                for a, mass in scale.items():
                    own, real = cell.get(a, Fraction(0)), share * mass
                    row[a] = real - gamma * own if direction == 0 else own - gamma * real
                value = sum(float(row[a]) * rough[a] for a in row)
                if abs(value) < _FEASIBLE:
                    equations.append([row.get(a, Fraction(0)) for a in used])
                elif value > 0:
                    whole = {a: whole[a] + row[a] for a in whole}
            if abs(sum(float(whole[a]) * rough[a] for a in whole)) < _FEASIBLE:
                equations.append([whole.get(a, Fraction(0)) for a in used])
    solved = _solved(equations, [Fraction(rough[a]).limit_denominator(10**6) for a in used])
    found = dict.fromkeys(rough, Fraction(0))
    found.update({a: max(Fraction(0), value) for a, value in zip(used, solved, strict=True)})
    return found


def _solved(equations: list[list[Fraction]], guess: list[Fraction]) -> list[Fraction]:
    """Return the solution of homogeneous equations that agrees with a guess off the pivots."""
    rows = [list(row) for row in equations]
    pivots: dict[int, int] = {}
    for column in range(len(guess)):
        place = next((k for k in range(len(pivots), len(rows)) if rows[k][column]), None)
        if place is None:
            continue
        top = len(pivots)
        rows[top], rows[place] = rows[place], rows[top]
        rows[top] = [value / rows[top][column] for value in rows[top]]
        for k, row in enumerate(rows):
            if k != top and row[column]:
                rows[k] = [a - row[column] * b for a, b in zip(row, rows[top], strict=True)]
        pivots[column] = top
    free = [column for column in range(len(guess)) if column not in pivots]
    return [
        -sum((rows[pivots[column]][k] * guess[k] for k in free), Fraction(0))
        if column in pivots
        else guess[column]
        for column in range(len(guess))
    ]


def _serves(
    column: Mapping[Outcome, Fraction], block: Block, gamma: Fraction, slack: Fraction
) -> bool:
    """Return, in exact numbers, whether a column keeps one block's beliefs close."""
    simulated = [
        sum((mass * column[a] for a, mass in cell.items()), Fraction(0)) for cell in block.weights
    ]
    total = sum(simulated, Fraction(0))
    if total == 0:
        return False
    pairs = [(share * total, own) for share, own in zip(block.real, simulated, strict=True)]
    return two_sided_excess(pairs, gamma) <= slack * total


def _conflict(
    blocks: Sequence[Block],
    weights: Sequence[Sequence[Fraction]],
    gamma: Fraction,
    slack: Fraction,
) -> Conflict | None:
    """Return, in exact numbers, the conflict that weights prove; a block has two rows of them."""
    sums: dict[Outcome, Fraction] = {}
    used = set()
    for k, block in enumerate(blocks):
        toward, back = weights[2 * k], weights[2 * k + 1]
        if any(toward) or any(back):
            used.add(k)
        common = -slack * (max(toward) + max(back))
        for share, alpha, beta in zip(block.real, toward, back, strict=True):
            common += share * (alpha - gamma * beta)
        for a, scale in block.scale().items():
            sums[a] = sums.get(a, Fraction(0)) + common * scale
        for cell, alpha, beta in zip(block.weights, toward, back, strict=True):
            for a, mass in cell.items():
                sums[a] += mass * (beta - gamma * alpha)
    if min(sums.values()) < 0:
        return None
    for k, block in enumerate(blocks):
        if all(sums[a] > 0 for a, scale in block.scale().items() if scale):
            return Conflict(frozenset(used | {k}))
    return None


def _solve(
    blocks: Sequence[Block], inputs: Sequence[Outcome], gamma: float, slack: float, *, room: bool
) -> tuple[float, list[float], list[list[float]]]:
    """Return the least violation or the most room, the column, and both weights of each block.

    Variables are the column, the excesses of each block in both directions, and last the violation
    (allowed in every inequality) or the room (demanded, in proportion to the real belief).
    """
    import numpy as np
    from scipy.optimize import linprog

    places = {a: place for place, a in enumerate(inputs)}
    width = len(inputs) + 2 * sum(len(block.real) for block in blocks) + 1
    rows, limits, excesses = [], [], []
    first = len(inputs)
    for block in blocks:
        values = len(block.real)
        scale = np.zeros(width)
        for a, mass in block.scale().items():
            scale[places[a]] = float(mass)
        rows.append(-scale)
        limits.append(-1.0)
        for direction in (0, 1):
            places_here = []
            for j, (cell, share) in enumerate(zip(block.weights, block.real, strict=True)):
                own = np.zeros(width)
                for a, mass in cell.items():
                    own[places[a]] = float(mass)
                real = float(share) * scale
                row = real - gamma * own if direction == 0 else own - gamma * real
                row[first + direction * values + j] = -1.0
                row[-1] = float(share) if room else -1.0
                places_here.append(len(rows))
                rows.append(row)
                limits.append(0.0)
            excesses.append(places_here)
        for direction in (0, 1):
            total = -slack * scale
            total[first + direction * values : first + (direction + 1) * values] = 1.0
            total[-1] = slack if room else 0.0
            rows.append(total)
            limits.append(0.0)
        first += 2 * values
    cost = np.zeros(width)
    cost[-1] = -1.0 if room else 1.0
    bounds = [(0.0, None)] * (width - 1) + [(0.0, 0.5 if room else None)]
    answer = linprog(
        cost,
        A_ub=np.array(rows),
        b_ub=limits,
        bounds=bounds,
        method="highs",
        options=_OPTIONS,
    )
    if answer.x is None:
        return 0.0, [0.0] * len(inputs), [[0.0] * len(places) for places in excesses]
    weights = [[-float(answer.ineqlin.marginals[row]) for row in places] for places in excesses]
    return float(answer.x[-1]), [float(value) for value in answer.x[: len(inputs)]], weights
