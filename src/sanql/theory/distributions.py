"""Finite probability distributions with exact masses.

A `Distribution` is checked once, when it is made: masses are at least 0 and sum to exactly 1.
Nothing is normalised in silence; who wants normalised weights says so with
`Distribution.from_weights`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from sanql.computed_once import computed_once
from sanql.theory.errors import TheoryError
from sanql.theory.exact import Real, as_fraction, quoted

Outcome: TypeAlias = Hashable


@dataclass(frozen=True)
class Distribution:
    """A probability distribution on finitely many outcomes, with exact masses.

    >>> coin = Distribution.of({"head": "1/3", "tail": "2/3"})
    >>> coin["tail"], coin["edge"]
    (Fraction(2, 3), Fraction(0, 1))
    >>> Distribution.over(["1/2", "1/4"])
    Traceback (most recent call last):
      ...
    sanql.theory.errors.TheoryError: the masses sum to 3/4, they must sum to exactly 1
      remedy: write masses as exact strings such as "1/3", or use Distribution.from_weights
    """

    outcomes: tuple[Outcome, ...]
    masses: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if not self.outcomes:
            raise TheoryError(
                "empty", "the distribution has no outcomes", "give at least one outcome"
            )
        if len(set(self.outcomes)) != len(self.outcomes):
            raise TheoryError(
                "duplicate_outcome",
                f"the outcomes {quoted(self.outcomes)} are not distinct",
                "give each outcome once, with its whole mass",
            )
        if len(self.outcomes) != len(self.masses):
            raise TheoryError(
                "lengths",
                f"{len(self.outcomes)} outcomes but {len(self.masses)} masses",
                "give one mass for each outcome",
            )
        check_masses(self.masses)

    @classmethod
    def of(cls, masses: Mapping[Any, Real]) -> Distribution:
        """Return the distribution with the given mass on each outcome."""
        exact = tuple(as_fraction(mass, f"the mass of {key!r}") for key, mass in masses.items())
        return cls(tuple(masses), exact)

    @classmethod
    def over(cls, masses: Iterable[Real]) -> Distribution:
        """Return the distribution on 0, 1, 2, … with the given masses."""
        exact = tuple(as_fraction(mass, "a mass") for mass in masses)
        return cls(tuple(range(len(exact))), exact)

    @classmethod
    def point(cls, outcome: Outcome) -> Distribution:
        """Return the distribution that is certain of one outcome."""
        return cls((outcome,), (Fraction(1),))

    @classmethod
    def uniform(cls, outcomes: Iterable[Outcome]) -> Distribution:
        """Return equal masses on the outcomes."""
        return cls.from_weights(dict.fromkeys(outcomes, 1))

    @classmethod
    def from_weights(cls, weights: Mapping[Any, Real]) -> Distribution:
        """Return the distribution proportional to weights that are at least 0, not all 0.

        >>> Distribution.from_weights({"a": 1, "b": 2}).masses
        (Fraction(1, 3), Fraction(2, 3))
        """
        exact = {key: as_fraction(weight, "a weight") for key, weight in weights.items()}
        total = sum(exact.values(), Fraction(0))
        if total <= 0 or min(exact.values()) < 0:
            raise TheoryError(
                "weights",
                f"the weights sum to {quoted(total)}; they must be at least 0 and not all 0",
                "give weights that are at least 0, one of them above 0",
            )
        return cls(tuple(exact), tuple(weight / total for weight in exact.values()))

    def __getitem__(self, outcome: Outcome) -> Fraction:
        return self._by_outcome.get(outcome, Fraction(0))

    @computed_once
    def _by_outcome(self) -> dict[Outcome, Fraction]:
        return dict(zip(self.outcomes, self.masses, strict=True))

    @property
    def support(self) -> tuple[Outcome, ...]:
        """The outcomes of positive mass."""
        return tuple(outcome for outcome, mass in self.items() if mass > 0)

    def items(self) -> Iterable[tuple[Outcome, Fraction]]:
        """Yield each outcome with its mass."""
        return zip(self.outcomes, self.masses, strict=True)

    def probability(self, event: Iterable[Outcome]) -> Fraction:
        """Return the mass of a set of outcomes."""
        return sum((self[outcome] for outcome in set(event)), Fraction(0))

    def map(self, function: Callable[[Any], Outcome]) -> Distribution:
        """Return the law of function(outcome)."""
        masses: dict[Outcome, Fraction] = {}
        for outcome, mass in self.items():
            image = function(outcome)
            masses[image] = masses.get(image, Fraction(0)) + mass
        return Distribution(tuple(masses), tuple(masses.values()))


def mixture(weights: Sequence[Real], parts: Sequence[Distribution]) -> Distribution:
    """Return sum_k weights[k] parts[k]; the weights sum to exactly 1.

    >>> mixture([Fraction(1, 4), Fraction(3, 4)],
    ...         [Distribution.point("a"), Distribution.point("b")]).masses
    (Fraction(1, 4), Fraction(3, 4))
    """
    exact = [as_fraction(weight, "a weight") for weight in weights]
    if not exact or len(exact) != len(parts):
        raise TheoryError(
            "lengths", f"{len(exact)} weights for {len(parts)} parts", "give one weight a part"
        )
    check_masses(exact)
    over = math.lcm(*(weight.denominator for weight in exact))
    common = math.lcm(*(mass.denominator for part in parts for mass in part.masses))
    units: dict[Outcome, int] = {}
    for weight, part in zip(exact, parts, strict=True):
        share = weight.numerator * (over // weight.denominator)
        for outcome, mass in part.items():
            more = share * mass.numerator * (common // mass.denominator)
            units[outcome] = units.get(outcome, 0) + more
    masses = tuple(Fraction(unit, over * common) for unit in units.values())
    return Distribution(tuple(units), masses)


def check_masses(masses: Sequence[Fraction]) -> None:
    """Raise unless the masses are at least 0 and sum to exactly 1."""
    for mass in masses:
        if not isinstance(mass, Fraction | int):
            raise TheoryError(
                "not_a_number",
                f"a mass is {quoted(mass)}, which is no fraction",
                "use Distribution.of or Distribution.over, which read numbers exactly",
            )
        if mass.numerator < 0:
            raise TheoryError(
                "negative_mass",
                f"a mass is {quoted(mass)}, masses are at least 0",
                "give masses between 0 and 1",
            )
    common = math.lcm(*(mass.denominator for mass in masses))
    units = sum(mass.numerator * (common // mass.denominator) for mass in masses)
    if units != common:
        total = Fraction(units, common)
        raise TheoryError(
            "mass_sum",
            f"the masses sum to {quoted(total)}, they must sum to exactly 1",
            'write masses as exact strings such as "1/3", or use Distribution.from_weights',
        )
