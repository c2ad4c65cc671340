"""The belief that fails most often, by branch and bound over all beliefs, certified.

An output t is bad for person i under a belief b when SD of the two games' posteriors exceeds tau.
With P = sum b(x) m(x), Q = sum b(x) d(x), m and d the probabilities of t on x and on x without
person i, and rho = P/Q, that is

    sum b(x) (m(x) - rho d(x))_+ > tau P,    equivalently    sum b(x) (d(x) - m(x)/rho)_+ > tau Q.

Both left sides move one way in rho, so for rho in [low, high] they are relaxed to inequalities that
are *linear* in b. A node of the search says for some outputs that they are not bad, or bad for a
person with rho in an interval; its bound is a linear program over beliefs. Any multipliers lambda
>= 0 of its rows G prove: the objective c is at most max_x (c(x) + sum lambda G(x)). So every bound
is an exact number, whatever the solver did; and every belief found is evaluated exactly.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count

from sanql.theory.exact import INFINITE, Extended

Row = tuple[Fraction, ...]

_PENALTY = 10_000
_CUT = 10**6
_NEARLY = Fraction(1, 100)
_NARROW = Fraction(1, 10**12)
_RANGE = Fraction(10**100)


@dataclass(frozen=True)
class Games:
    """One output and person: its probability on each database, with and without the person."""

    real: Row
    without: Row

    def ratios(self) -> tuple[Extended, Extended]:
        """Return the least and largest real/without; outputs impossible in both are skipped."""
        found = [
            INFINITE if d == 0 else m / d
            for m, d in zip(self.real, self.without, strict=True)
            if m or d
        ]
        return min(found), max(found)

    def distance(self, belief: Row) -> Fraction:
        """Return SD of the two posteriors; 1 when exactly one is undefined, 0 when both are."""
        p, q = _dot(belief, self.real), _dot(belief, self.without)
        if not p or not q:
            return Fraction(int(p != q))
        gain = sum((max(Fraction(0), b * (m * q - d * p)) for b, m, d in self._cells(belief)))
        return Fraction(gain) / (p * q)

    def ratio(self, belief: Row) -> Extended:
        """Return rho under a belief."""
        p, q = _dot(belief, self.real), _dot(belief, self.without)
        return INFINITE if q == 0 else p / q

    def rows(self, low: Extended, high: Extended, tau: Fraction) -> list[Row]:
        """Return inequalities G b >= 0 that hold for every bad belief with rho in [low, high]."""
        both = list(zip(self.real, self.without, strict=True))
        found = []
        if low != INFINITE:
            start = Fraction(low)
            found.append(tuple(m - start * d for m, d in both))
            found.append(tuple(max(Fraction(0), m - start * d) - tau * m for m, d in both))
        else:
            found.append(tuple(-d for _, d in both))
        if high == 0:
            found.append(tuple(-m for m, _ in both))
        elif high != INFINITE:
            end = Fraction(high)
            found.append(tuple(end * d - m for m, d in both))
            found.append(tuple(max(Fraction(0), d - m / end) - tau * d for m, d in both))
        return found

    def inner_rows(self, low: Fraction, high: Fraction, tau: Fraction) -> list[Row]:
        """Return inequalities that make a belief bad, with rho in [low, high]."""
        both = list(zip(self.real, self.without, strict=True))
        return [
            tuple(m - low * d for m, d in both),
            tuple(high * d - m for m, d in both),
            tuple(max(Fraction(0), m - high * d) - tau * m for m, d in both),
        ]

    def _cells(self, belief: Row) -> Iterable[tuple[Fraction, Fraction, Fraction]]:
        return zip(belief, self.real, self.without, strict=True)


@dataclass(frozen=True)
class OutputGames:
    """One output: what its failure is worth on each database, and the games that can be bad.

    `impossible` is its probability on each database when an output that the belief excludes counts
    as failure, else None.
    """

    value: Row
    games: tuple[Games, ...]
    impossible: Row | None = None

    def distance(self, belief: Row) -> Fraction:
        """Return the largest SD of any game, or 2 when the belief excludes the output and that counts.

        More than tau is failure.
        """
        if self.impossible is not None and _dot(belief, self.impossible) == 0:
            return Fraction(2)
        return max((game.distance(belief) for game in self.games), default=Fraction(0))


@dataclass(frozen=True)
class _Way:
    """One way for an output to be bad: a game with rho in [low, high], or (None) impossible."""

    game: int | None
    low: Extended
    high: Extended


@dataclass(frozen=True)
class _Node:
    """What is decided: the way in which an output is bad, or None when it is not counted."""

    ways: Mapping[int, _Way | None]


@dataclass(frozen=True)
class BeliefEnclosure:
    """The supremum over beliefs lies in [lower, upper]; `belief` attains the lower number.

    `tied` is the most that was found when SD = tau counts as bad too. It can exceed the lower
    number by a jump, and bounds made of closed inequalities cannot fall below it.
    """

    lower: Fraction
    upper: Fraction
    tied: Fraction
    belief: Row


def search(
    outputs: Sequence[OutputGames],
    tau: Fraction,
    databases: int,
    start: Iterable[Row],
    *,
    nodes: int,
    gap: Fraction,
) -> BeliefEnclosure:
    """Return the largest total value of bad outputs over all beliefs, enclosed.

    Best-first: always the node with the largest bound, until bounds meet within `gap` or the nodes
    are used up.
    """
    searched = _Search(outputs, tau, databases)
    for belief in start:
        searched.offer(belief)
    heap: list[tuple[Fraction, int, _Node, Row]] = []
    order = count()

    def push(node: _Node) -> None:
        bound, belief = searched.bound(node)
        searched.offer(belief)
        if bound > searched.tied:
            heapq.heappush(heap, (-bound, next(order), node, belief))

    push(_Node({}))
    settled = Fraction(0)
    for _ in range(nodes):
        if not heap or -heap[0][0] <= searched.tied + gap:
            break
        bound, _, node, belief = heapq.heappop(heap)
        children = searched.children(node, belief)
        if not children:
            settled = max(settled, -bound)
        for child in children:
            push(child)
    upper = max([searched.tied, settled, *(-bound for bound, *_ in heap[:1])])
    return BeliefEnclosure(searched.lower, upper, searched.tied, searched.best)


class _Search:
    """The best belief so far, and the bounds and children of nodes."""

    def __init__(self, outputs: Sequence[OutputGames], tau: Fraction, databases: int) -> None:
        self.outputs, self.tau, self.databases = outputs, tau, databases
        self.lower = self.tied = Fraction(-1)
        self.best: Row = (Fraction(1), *[Fraction(0)] * (databases - 1))
        self.offer(self.best)

    def offer(self, belief: Row) -> None:
        """Keep a belief when it fails more often than the best one."""
        strict = closed = Fraction(0)
        for output in self.outputs:
            distance, worth = output.distance(belief), _dot(belief, output.value)
            strict += worth if distance > self.tau else 0
            closed += worth if distance >= self.tau else 0
        self.tied = max(self.tied, closed)
        if strict > self.lower:
            self.lower, self.best = strict, belief

    def bound(self, node: _Node) -> tuple[Fraction, Row]:
        """Return a proved bound on every belief of the node, and the belief that suggests it."""
        rows = [row for t, way in node.ways.items() if way for row in self._rows(t, way)]
        return _largest(self._objective(node), rows)

    def children(self, node: _Node, belief: Row) -> list[_Node]:
        """Split at the output whose badness the suggested belief breaks most."""
        counted = [t for t in range(len(self.outputs)) if node.ways.get(t, True)]
        missing = {t: self.tau - self.outputs[t].distance(belief) for t in counted}
        largest = max(missing.values(), default=Fraction(0))
        if largest < _NEARLY:
            self._offer_inside(node, belief, max(largest, Fraction(0)))
        for t in sorted(counted, key=lambda t: (-missing[t], t in node.ways)):
            found = self._split(node, t, belief)
            if found:
                return found
        return []

    def _offer_inside(self, node: _Node, belief: Row, missing: Fraction) -> None:
        """Offer the best belief near a suggested one at which everything counted is truly bad."""
        wide = min(Fraction(1, 10), 20 * missing + Fraction(1, 10**6))
        strict = self.tau + (1 - self.tau) / 10**8
        rows = []
        for t, output in enumerate(self.outputs):
            if node.ways.get(t, True) and output.games:
                game = max(output.games, key=lambda game: game.distance(belief))
                rho = game.ratio(belief)
                if rho in (INFINITE, 0):
                    continue
                low, high = Fraction(rho) * (1 - wide), Fraction(rho) * (1 + wide)
                rows += game.inner_rows(low, high, strict)
        self.offer(_largest(self._objective(node), rows)[1])

    def _split(self, node: _Node, t: int, belief: Row) -> list[_Node]:
        old = node.ways.get(t)
        ways: list[_Way | None]
        if old is None:
            output = self.outputs[t]
            ways = [None, *(_Way(k, *game.ratios()) for k, game in enumerate(output.games))]
            if output.impossible is not None:
                ways.append(_Way(None, Fraction(0), Fraction(0)))
        elif old.game is None or old.low == old.high or old.high - old.low <= _NARROW * old.low:
            return []
        else:
            middle = _between(old, self.outputs[t].games[old.game].ratio(belief))
            ways = [replace(old, high=middle), replace(old, low=middle)]
        return [_Node({**node.ways, t: way}) for way in ways]

    def _objective(self, node: _Node) -> Row:
        counted = [o.value for t, o in enumerate(self.outputs) if node.ways.get(t, True)]
        return tuple(
            sum((value[x] for value in counted), Fraction(0)) for x in range(self.databases)
        )

    def _rows(self, t: int, way: _Way) -> list[Row]:
        output = self.outputs[t]
        if way.game is None:
            return [tuple(-m for m in output.impossible or ())]
        return output.games[way.game].rows(way.low, way.high, self.tau)


def _between(way: _Way, ratio: Extended) -> Fraction:
    """Return where to cut: at the suggested ratio if well inside, else in the middle."""
    low = Fraction(way.low)
    high = max(2 * low, Fraction(1)) * 2 if way.high == INFINITE else Fraction(way.high)
    inside = low + (high - low) / 20 < ratio < high - (high - low) / 20
    cut = Fraction(ratio) if inside else (low + high) / 2
    rounded = cut.limit_denominator(_CUT)
    return rounded if low < rounded < high else cut


def _largest(objective: Row, rows: Sequence[Row]) -> tuple[Fraction, Row]:
    """Return a proved bound on max objective.b over beliefs with rows.b >= 0, and a belief.

    The solver may pay to break the rows, so that it always has an answer.
    """
    if not rows:
        best = max(range(len(objective)), key=lambda x: objective[x])
        return objective[best], _point(best, len(objective))
    import numpy as np
    from scipy.optimize import linprog

    rows = [_in_range(row) for row in rows]
    matrix = np.array([[float(value) for value in row] for row in rows])
    sizes = np.abs(matrix).max(axis=1)
    sizes[sizes == 0] = 1.0
    matrix = matrix / sizes[:, None]
    answer = linprog(
        [*(-float(value) for value in objective), float(_PENALTY)],
        A_ub=np.hstack([-matrix, -np.ones((len(rows), 1))]),
        b_ub=np.zeros(len(rows)),
        A_eq=np.array([[1.0] * len(objective) + [0.0]]),
        b_eq=[1.0],
        method="highs",
    )
    if answer.x is None:
        return max(objective), _point(0, len(objective))
    weights = [
        Fraction(max(0.0, -float(value) / size)).limit_denominator(10**9)
        for value, size in zip(answer.ineqlin.marginals, sizes, strict=True)
    ]
    bound = max(
        value + sum((weight * row[x] for weight, row in zip(weights, rows, strict=True) if weight))
        for x, value in enumerate(objective)
    )
    shares = [Fraction(max(0.0, float(b))).limit_denominator(10**9) for b in answer.x[:-1]]
    total = sum(shares, Fraction(0))
    return Fraction(bound), tuple(share / total for share in shares)


def _in_range(row: Row) -> Row:
    """Return a row times a positive number, the same inequality, where its entries are floats."""
    size = max(abs(value) for value in row)
    if size == 0 or 1 / _RANGE < size < _RANGE:
        return row
    return tuple(value / size for value in row)


def _point(place: int, size: int) -> Row:
    return tuple(Fraction(int(x == place)) for x in range(size))


def _dot(left: Row, right: Row) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True) if a and b), Fraction(0))
