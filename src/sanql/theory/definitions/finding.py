"""What a checker returns: the tight parameters, whether they are exact, and a witness.

The witness is what attains the number (databases, belief, output, test or simulator), so that a
person can look at *why*.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from sanql.theory.channels import Channel, Database
from sanql.theory.distributions import Distribution, Outcome
from sanql.theory.exact import (
    Extended,
    float_lower,
    float_upper,
    log_lower,
    log_upper,
    shown_lower,
    shown_upper,
    written,
)

_LONG = 10**30

Status: TypeAlias = Literal["tight", "enclosed", "upper bound"]


@dataclass(frozen=True)
class PairWitness:
    """Two databases and the event that tells them apart best."""

    left: Database
    right: Database
    event: tuple[Outcome, ...]
    left_mass: Fraction
    right_mass: Fraction

    def describe(self) -> str:
        """Return the witness in words."""
        if not self.event:
            return f"no output tells {show(self.left)} from {show(self.right)} any further"
        return (
            f"database {show(self.left)} gives {show_event(self.event)} with "
            f"{_short(self.left_mass)}, {show(self.right)} with {_short(self.right_mass)}"
        )


@dataclass(frozen=True)
class PriorWitness:
    """A prior about one record, an output, and the posterior it leads to."""

    person: int
    others: Outcome
    output: Outcome
    prior: Distribution
    posterior: Distribution

    def describe(self) -> str:
        """Return the witness in words."""
        return (
            f"output {show(self.output)} moves the belief about person {self.person + 1} "
            f"(others {show(self.others)}) from {show(self.prior)} to {show(self.posterior)}"
        )


@dataclass(frozen=True)
class BeliefWitness:
    """A belief about the whole database and what it becomes with and without one person's data."""

    person: int
    output: Outcome
    belief: Distribution
    real: Distribution | None
    without: Distribution | None

    def describe(self) -> str:
        """Return the witness in words."""
        return (
            f"belief {show(self.belief)} after output {show(self.output)}: {show(self.real)} with "
            f"person {self.person}'s data, {show(self.without)} without"
        )


@dataclass(frozen=True)
class ConditionWitness:
    """The real and the ideal output law, given a value to protect and the side information."""

    world: int
    protection: str
    value: Outcome
    side_information: Outcome
    real: Distribution
    ideal: Distribution

    def describe(self) -> str:
        """Return the witness in words."""
        return (
            f"given {self.protection} = {show(self.value)} and side information "
            f"{show(self.side_information)}: real {show(self.real)}, ideal {show(self.ideal)}"
        )


@dataclass(frozen=True)
class SimulatorWitness:
    """A simulator that attains the number, and the condition at which it is worst."""

    simulator: Channel
    worst: ConditionWitness | PairWitness | None = None

    def describe(self) -> str:
        """Return the witness in words."""
        first = self.simulator.databases[0]
        shown = f"a simulator; on {show(first)} it answers {show(self.simulator.row(first))}"
        return shown if self.worst is None else f"{shown}; worst {self.worst.describe()}"


@dataclass(frozen=True)
class InferenceWitness:
    """What is believed about a value after one output, really and ideally, and how often it
    comes."""

    output: Outcome
    side_information: Outcome
    probability: Fraction
    about: str
    real: Distribution
    ideal: Distribution | None

    def describe(self) -> str:
        """Return the witness in words."""
        return (
            f"output {show(self.output)} with side information {show(self.side_information)} "
            f"(probability {_short(self.probability)}): belief about {self.about} is "
            f"{show(self.real)}, ideally {show(self.ideal)}"
        )


@dataclass(frozen=True)
class UnservedWitness:
    """A simulator for every world at once, and the (output, world, side information, probability)
    at which it misleads."""

    simulator: Channel
    unserved: tuple[tuple[Outcome, int, Outcome, Fraction], ...]

    def describe(self) -> str:
        """Return the witness in words."""
        shown = SimulatorWitness(self.simulator).describe()
        if not self.unserved:
            return f"{shown}; it misleads nowhere"
        where = ", ".join(
            f"({show(t)}, {show(z)}) in world {world + 1}" for t, world, z, _ in self.unserved[:6]
        )
        return f"{shown}; it misleads after the outputs with side information {where}"


Witness: TypeAlias = (
    PairWitness
    | PriorWitness
    | BeliefWitness
    | ConditionWitness
    | SimulatorWitness
    | InferenceWitness
    | UnservedWitness
)


@dataclass(frozen=True)
class Finding:
    """The result of one checker.

    `parameters` holds exact numbers at which the property holds; a level is given as gamma =
    e^epsilon. With status "tight" nothing smaller does. With "enclosed" the least number may be
    smaller, but not below the one in `at_least`, which is proved as well; with "upper bound"
    nothing is known from below.
    """

    definition: str
    parameters: Mapping[str, Extended]
    witness: Witness | None
    status: Status = "tight"
    note: str = ""
    at_least: Mapping[str, Extended] = field(default_factory=dict)
    solved: str = ""
    """The parameter that was solved for, where it is not the chance of failure or delta."""

    def __post_init__(self) -> None:
        gap = any(low < self.parameters[name] for name, low in self.at_least.items())
        if gap != (self.status == "enclosed"):
            raise ValueError(f"status {self.status} does not fit {self.at_least}")

    def __getitem__(self, name: str) -> Extended:
        return self.parameters[name]

    @property
    def epsilon(self) -> float:
        """The level ln(gamma), rounded up."""
        return log_upper(self.parameters["gamma"])

    @property
    def why(self) -> str:
        """The note and the witness in words."""
        witness = "" if self.witness is None else self.witness.describe()
        return "; ".join(part for part in (self.note, witness) if part)

    def shown_parameters(self) -> str:
        """Return the parameters as a person writes them."""
        parts = []
        for name, value in self.parameters.items():
            low = self.at_least.get(name, value)
            if name == "gamma":
                parts.append(f"epsilon = {_up(log_upper(value))} (e^epsilon = {_short(value)})")
                parts += [f"epsilon at least {shown_lower(log_lower(low))}"] if low < value else []
            else:
                parts.append(f"{name} = {_short(value)}")
                parts += [f"{name} at least {shown_lower(float_lower(low))}"] if low < value else []
        return ", ".join(parts)

    def to_dict(self) -> dict[str, object]:
        """Return the finding as plain data."""
        numbers: dict[str, Any] = {}
        for name, value in self.parameters.items():
            if name == "gamma":
                numbers["epsilon_upper"] = plain(log_upper(value))
            numbers[name] = {"exact": plain(value), "float_upper": plain(float_upper(value))}
            if name in self.at_least:
                numbers[name]["at_least"] = plain(self.at_least[name])
        return {
            "definition": self.definition,
            "status": self.status,
            "parameters": numbers,
            "note": self.note,
            "witness": None if self.witness is None else plain(self.witness),
            "why": self.why,
        }


def enclosed(
    definition: str,
    parameters: Mapping[str, Extended],
    at_least: Mapping[str, Extended],
    witness: Witness | None,
    note: str = "",
    *,
    solved: str = "",
) -> Finding:
    """Return a finding whose status follows from its two bounds: tight where they meet."""
    met = all(low == parameters[name] for name, low in at_least.items())
    status: Status = "tight" if met else "enclosed"
    return Finding(definition, parameters, witness, status, note, at_least, solved)


def show(value: object) -> str:
    """Return a value as a short text.

    >>> show((0, 1)), show(Distribution.of({"a": "1/3", "b": "2/3"})), show(None)
    ('(0,1)', '{a: 1/3, b: 2/3}', 'nothing')
    """
    if isinstance(value, Distribution):
        kept = [(t, mass) for t, mass in value.items() if mass]
        inner = ", ".join(f"{show(t)}: {_short(mass)}" for t, mass in kept[:6])
        return "{" + inner + (", …}" if len(kept) > 6 else "}")
    if isinstance(value, tuple):
        return "(" + ",".join(show(part) for part in value) + ")"
    return "nothing" if value is None else str(value)


def show_event(event: tuple[Outcome, ...]) -> str:
    """Return a set of outputs as a short text."""
    if len(event) == 1:
        return f"output {show(event[0])}"
    return (
        "an output in {" + ", ".join(show(t) for t in event[:6]) + ("…}" if len(event) > 6 else "}")
    )


def plain(value: object) -> object:
    """Return a value as JSON data: fractions as strings, distributions as objects."""
    if isinstance(value, Fraction):
        return written(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else "inf"
    if isinstance(value, Distribution):
        return {show(t): written(mass) for t, mass in value.items() if mass}
    if isinstance(value, Channel):
        return {show(x): plain(value.row(x)) for x in value.databases}
    if is_dataclass(value):
        return {part.name: plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, tuple | list | frozenset):
        return [plain(part) for part in value]
    return value if isinstance(value, str | int | None) else str(value)


def _short(value: Extended) -> str:
    if value == math.inf:
        return "infinite"
    exact = Fraction(value)
    if exact.denominator < 10_000 and exact < _LONG:
        return str(exact)
    shown = float_upper(exact)
    return (
        shown_upper(shown) if shown < math.inf else f"10^{len(written(Fraction(math.ceil(exact))))}"
    )


def _up(value: float) -> str:
    return "infinite" if value == math.inf else shown_upper(value)
