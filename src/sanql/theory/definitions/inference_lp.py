"""Whether one simulator column can serve several beliefs at once, as a linear program.

For one output t the simulator's column s(., t) >= 0 matters only up to scale. With N(v) = sum_a
Pr[v, a, z] s(a), S = sum_v N(v) and the real belief R(v), it serves z when S > 0, sum_v (R S -
gamma N)_+ <= slack S and sum_v (N - gamma R S)_+ <= slack S: linear and homogeneous. The solver's
column is rationalised and checked exactly, so "yes" is a proof; "no" is the solver's word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sanql.theory.distributions import Outcome
from sanql.theory.divergences import two_sided_excess

_DENOMINATORS = (12, 1_000, 1_000_000, 10**12)


@dataclass(frozen=True)
class Block:
    """One protection and side information: weights[v][a] = Pr[v, a, z], and the real belief R."""

    weights: tuple[Mapping[Outcome, Fraction], ...]
    real: tuple[Fraction, ...]


def column_exists(blocks: Sequence[Block], gamma: Fraction, slack: Fraction) -> bool:
    """Return whether a column was found that serves every block, checked exactly."""
    import numpy as np
    from scipy.optimize import linprog

    if not blocks:
        return True
    inputs = {a: None for block in blocks for cell in block.weights for a in cell}
    places = {a: place for place, a in enumerate(inputs)}
    width = len(places) + 2 * sum(len(block.real) for block in blocks)
    rows, limits, used = [], [], len(places)
    for block in blocks:
        for row, limit in _constraints(block, places, used, float(gamma), float(slack)):
            dense = np.zeros(width)
            dense[list(row)] = list(row.values())
            rows.append(dense)
            limits.append(limit)
        used += 2 * len(block.real)
    answer = linprog(np.zeros(width), A_ub=np.array(rows), b_ub=limits, method="highs")
    if answer.status != 0:
        return False
    for limit in _DENOMINATORS:
        column = {
            a: max(Fraction(0), Fraction(answer.x[place]).limit_denominator(limit))
            for a, place in places.items()
        }
        if all(_serves(column, block, gamma, slack) for block in blocks):
            return True
    return False


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


def _constraints(
    block: Block, places: Mapping[Outcome, int], first: int, gamma: float, slack: float
) -> list[tuple[dict[int, float], float]]:
    """Return rows (coefficients, limit): S >= 1, both excesses, and their sums."""
    second = first + len(block.real)
    scale: dict[Outcome, float] = {}
    for cell in block.weights:
        for a, mass in cell.items():
            scale[a] = scale.get(a, 0.0) + float(mass)
    found = [({places[a]: -value for a, value in scale.items()}, -1.0)]
    for j, (cell, share) in enumerate(zip(block.weights, block.real, strict=True)):
        toward, back = {first + j: -1.0}, {second + j: -1.0}
        for a, value in scale.items():
            own = float(cell.get(a, Fraction(0)))
            toward[places[a]] = float(share) * value - gamma * own
            back[places[a]] = own - gamma * float(share) * value
        found += [(toward, 0.0), (back, 0.0)]
    for offset in (first, second):
        total = {offset + j: 1.0 for j in range(len(block.real))}
        total.update({places[a]: -slack * value for a, value in scale.items()})
        found.append((total, 0.0))
    return found
