"""The attacker's side of the simulator's program: tests that no simulator withstands.

For each condition k the attacker holds weights alpha_k(t), beta_k(t) >= 0 on outputs. Every
simulator s has to live with

    delta * sum_k (max_t alpha_k + max_t beta_k) >= sum_k sum_t alpha_k (P_k - gamma Q_k)
                                                  + sum_k sum_t beta_k (Q_k - gamma P_k),

and since s enters only through Q_k(t) = sum_a W_k(a) s(a, t), the right side is at least what the
best row of each input leaves. Any weights therefore give a lower bound on delta in exact numbers;
the solver only has to guess good ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sanql.computed_once import computed_once
from sanql.theory.exact import INFINITE, Extended

if TYPE_CHECKING:
    from sanql.theory.distributions import Outcome


@dataclass(frozen=True)
class MixedTest:
    """Weights on outputs, for each condition: `real` accuses the real world of too much mass there,
    `ideal` the ideal world. `laws` and `given` are P_k and W_k of the conditions."""

    real: tuple[tuple[Fraction, ...], ...]
    ideal: tuple[tuple[Fraction, ...], ...]
    laws: tuple[tuple[Fraction, ...], ...]
    given: tuple[dict[Outcome, Fraction], ...]

    def delta_lower(self, gamma: Fraction) -> Fraction:
        """Return a delta that every simulator needs at a level."""
        return max(Fraction(0), self._excess(gamma) / self._price) if self._price else Fraction(0)

    def gamma_lower(self, delta: Fraction) -> Extended:
        """Return a level below which no simulator reaches delta; 1 when the tests show nothing.

        The bound is concave and falls with gamma. Each of its linear pieces lies above it, so
        Newton steps from the right, started on the last piece, end exactly at the root.
        """
        if self.delta_lower(Fraction(1)) <= delta:
            return Fraction(1)
        constant, slope = self._gain
        last = [max(columns, key=lambda c: (c[1], -c[0])) for columns in self._inputs.values()]
        gamma = self._crossing(constant, slope, last, delta)
        while gamma != INFINITE and self._excess(Fraction(gamma)) < delta * self._price:
            exact = Fraction(gamma)
            here = [
                min(columns, key=lambda c: c[0] - exact * c[1]) for columns in self._inputs.values()
            ]
            gamma = self._crossing(constant, slope, here, delta)
        return gamma

    def _excess(self, gamma: Fraction) -> Fraction:
        """What the tests leave against the simulator that suits them best; may be negative."""
        constant, slope = self._gain
        rows = (min(b - gamma * a for b, a in columns) for columns in self._inputs.values())
        return constant - gamma * slope + sum(rows, Fraction(0))

    def _crossing(
        self,
        constant: Fraction,
        slope: Fraction,
        piece: Sequence[tuple[Fraction, Fraction]],
        delta: Fraction,
    ) -> Extended:
        """The level at which one linear piece of the bound meets delta."""
        height = constant + sum((ideal for ideal, _ in piece), Fraction(0)) - delta * self._price
        fall = slope + sum((real for _, real in piece), Fraction(0))
        return INFINITE if fall == 0 else height / fall

    @computed_once
    def _price(self) -> Fraction:
        rows = (*self.real, *self.ideal)
        return sum((max(row, default=Fraction(0)) for row in rows), Fraction(0))

    @computed_once
    def _gain(self) -> tuple[Fraction, Fraction]:
        """sum alpha P and sum beta P."""
        return (
            _weighted(self.real, self.laws),
            _weighted(self.ideal, self.laws),
        )

    @computed_once
    def _inputs(self) -> dict[Outcome, list[tuple[Fraction, Fraction]]]:
        """For each input and output: sum_k W_k(a) beta_k(t) and sum_k W_k(a) alpha_k(t)."""
        found: dict[Outcome, list[tuple[Fraction, Fraction]]] = {}
        for real, ideal, given in zip(self.real, self.ideal, self.given, strict=True):
            for a, mass in given.items():
                old = found.get(a, [(Fraction(0), Fraction(0))] * len(real))
                found[a] = [
                    (x + mass * b, y + mass * c)
                    for (x, y), b, c in zip(old, ideal, real, strict=True)
                ]
        return found


def rational_weights(
    rough: Sequence[Sequence[float]], denominator: int
) -> tuple[tuple[Fraction, ...], ...]:
    """Return the solver's multipliers as fractions at least 0, scaled so that 1 is the largest."""
    largest = max((value for row in rough for value in row), default=0.0)
    if not (largest > 0 and math.isfinite(largest)):
        return tuple(tuple(Fraction(0) for _ in row) for row in rough)
    return tuple(
        tuple(Fraction(max(0.0, value / largest)).limit_denominator(denominator) for value in row)
        for row in rough
    )


def _weighted(
    weights: Sequence[Sequence[Fraction]], laws: Sequence[Sequence[Fraction]]
) -> Fraction:
    return sum(
        (
            weight * mass
            for row, law in zip(weights, laws, strict=True)
            for weight, mass in zip(row, law, strict=True)
        ),
        Fraction(0),
    )
