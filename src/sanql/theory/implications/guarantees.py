"""Guarantees: a definition with its parameters, and the setting in which it is read.

Every parameter is "smaller is stronger" and rounded up. A guarantee is written as
`approximate_dp(epsilon=1, delta=1e-6)`.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sanql.theory.errors import TheoryError
from sanql.theory.exact import as_loss, as_rate, exp_upper, float_read, quoted, shown_upper

KINDS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "perfect_privacy": ((), "neighbours give equal output laws"),
    "pure_dp": (("epsilon",), "neighbours' output probabilities are within e^epsilon"),
    "approximate_dp": (
        ("epsilon", "delta"),
        "neighbours are (epsilon, delta)-indistinguishable",
    ),
    "pointwise_dp": (
        ("epsilon", "delta"),
        "under either neighbour, outputs with a loss above epsilon have probability at most delta",
    ),
    "add_remove_dp": (
        ("epsilon", "delta"),
        "databases with and without one record are (epsilon, delta)-indistinguishable",
    ),
    "group_dp": (
        ("epsilon", "delta"),
        "databases that differ in a group of records are (epsilon, delta)-indistinguishable",
    ),
    "statistical_difference": (
        ("delta",),
        "no event's probability changes by more than delta between neighbours",
    ),
    "any_two_databases": (
        ("delta",),
        "no event's probability changes by more than delta between any two databases",
    ),
    "testing": (
        ("epsilon", "delta"),
        "every test has FP + e^epsilon FN and FN + e^epsilon FP at least 1 - delta",
    ),
    "simulation_dp": (
        ("epsilon", "delta"),
        "a simulator without one record (told its position) is (epsilon, delta)-close",
    ),
    "prior_posterior_ratio": (
        ("epsilon",),
        "no output changes any belief about one record by more than a factor e^epsilon",
    ),
    "prior_posterior": (
        ("tau",),
        "no output moves the belief about one record by more than tau",
    ),
    "prior_posterior_usually": (
        ("epsilon", "delta_hat", "failure"),
        "except with probability failure, prior and posterior of one record are "
        "(epsilon, delta_hat)-indistinguishable",
    ),
    "semantic": (
        ("tau",),
        "no conclusion differs by more than tau, with my data or without, for any belief",
    ),
    "approximate_semantic": (
        ("tau", "delta"),
        "for any belief, except with probability delta, conclusions differ by at most tau",
    ),
    "posteriors": (
        ("epsilon", "delta_hat", "failure"),
        "for any belief, except with probability failure, conclusions with and without any "
        "person's data are (epsilon, delta_hat)-indistinguishable",
    ),
    "reality_oblivious": (
        ("tau", "delta"),
        "for any belief and any real database, except with probability delta, conclusions differ "
        "by at most tau",
    ),
    "reality_oblivious_informed": (
        ("tau", "delta"),
        "the same for beliefs that know all records but one",
    ),
    "mostly_dp": (
        ("epsilon", "delta", "failure"),
        "a database drawn from the belief has (epsilon, delta)-close neighbours, except with "
        "probability failure",
    ),
    "believed_semantic": (
        ("tau", "delta"),
        "for that belief, except with probability delta, conclusions differ by at most tau",
    ),
    "coupled_worlds": (
        ("epsilon", "delta"),
        "given priv and Z, the output is (epsilon, delta)-close to a simulation from alt",
    ),
    "inference_coupled_worlds": (
        ("epsilon", "delta_hat", "failure"),
        "except with probability failure, beliefs about priv are (epsilon, delta_hat)-close in the "
        "real and the ideal world",
    ),
    "ddp": (
        ("epsilon", "delta"),
        "given one record and Z, the output is (epsilon, delta)-close to one simulated without it",
    ),
    "inference_ddp": (
        ("epsilon", "delta_hat", "failure"),
        "except with probability failure, beliefs about a record are (epsilon, delta_hat)-close "
        "with the record used or not",
    ),
    "noiseless": (
        ("epsilon", "delta"),
        "the output law is (epsilon, delta)-close for any two values of a record",
    ),
    "pufferfish": (
        ("epsilon", "delta"),
        "the output law is (epsilon, delta)-close for both values of a secret",
    ),
    "inference_pufferfish": (
        ("epsilon", "delta_hat", "failure"),
        "except with probability failure, prior and posterior of a secret are "
        "(epsilon, delta_hat)-close",
    ),
}

SPELLINGS: Mapping[str, str] = {
    "simulation": "simulation_dp",
    "simulation_approximate": "simulation_dp",
    "semantic_approximate": "approximate_semantic",
    "semantic_believed": "believed_semantic",
}
"""Guarantees as `sanql theory check` names the definitions."""

EPSILON_MAX = 700.0
"""The largest epsilon that conclusions are drawn from: e^epsilon is still a float."""

_TEXT_MAX = 1000
_PROBABILITIES = frozenset({"delta", "delta_hat", "failure", "tau"})


@dataclass(frozen=True)
class Guarantee:
    """A definition of privacy with its parameters.

    >>> str(guarantee("approximate_dp", epsilon=1, delta=1e-6))
    'approximate_dp(epsilon=1, delta=1e-06)'
    """

    kind: str
    parameters: tuple[tuple[str, float], ...]

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise TheoryError(
                "unknown_guarantee",
                f"there is no guarantee {self.kind!r}",
                f"use one of {', '.join(KINDS)}",
            )
        wanted, given = KINDS[self.kind][0], tuple(name for name, _ in self.parameters)
        if wanted != given:
            raise TheoryError(
                "parameters",
                f"{self.kind} was given {', '.join(given) or 'nothing'}",
                f"write {self.kind}({', '.join(f'{name}=…' for name in wanted)})",
            )
        for name, value in self.parameters:
            _check(self.kind, name, value)

    def __getitem__(self, name: str) -> float:
        return dict(self.parameters)[name]

    @property
    def gamma(self) -> Fraction:
        """The level e^epsilon, rounded up."""
        return Fraction(exp_upper(self["epsilon"]))

    def exact(self, name: str) -> Fraction:
        """Return one parameter as a fraction."""
        return Fraction(self[name])

    @property
    def is_beyond(self) -> bool:
        """Whether the level e^epsilon is too large to draw conclusions from."""
        return dict(self.parameters).get("epsilon", 0.0) > EPSILON_MAX

    @property
    def meaning(self) -> str:
        """What the guarantee says, in one line."""
        return KINDS[self.kind][1]

    def is_at_most(self, other: Guarantee) -> bool:
        """Return whether this guarantee is at least as strong as another of its kind."""
        return self.kind == other.kind and all(
            mine <= theirs
            for (_, mine), (_, theirs) in zip(self.parameters, other.parameters, strict=True)
        )

    @property
    def is_vacuous(self) -> bool:
        """Whether every mechanism has it."""
        return any(
            value == math.inf or (name in ("delta", "failure", "tau", "delta_hat") and value >= 1)
            for name, value in self.parameters
        )

    def __str__(self) -> str:
        inner = ", ".join(f"{name}={shown_upper(value)}" for name, value in self.parameters)
        return f"{self.kind}({inner})"


def guarantee(kind: str, **parameters: float) -> Guarantee:
    """Return a guarantee; the parameters may come in any order."""
    wanted = KINDS.get(kind, ((), ""))[0]
    ordered = sorted(
        parameters.items(), key=lambda pair: wanted.index(pair[0]) if pair[0] in wanted else 99
    )
    return Guarantee(kind, tuple((name, _number(kind, name, value)) for name, value in ordered))


def parse(text: str) -> Guarantee:
    """Return the guarantee written in a text.

    Names are also accepted as `sanql theory check` writes them, with hyphens.

    >>> parse("pure_dp(epsilon=1)")["epsilon"]
    1.0
    >>> str(parse("semantic-approximate(tau=0.5, delta=1e-3)"))
    'approximate_semantic(tau=0.5, delta=0.001)'
    """
    try:
        if len(text) > _TEXT_MAX:
            raise ValueError(text)
        name, bracket, rest = text.strip().partition("(")
        source = name.replace("-", "_") + bracket + rest
        call = ast.parse(source, mode="eval").body
        if isinstance(call, ast.Name):
            return guarantee(SPELLINGS.get(call.id, call.id))
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            raise ValueError(text)
        numbers = {str(word.arg): _written(source, word.value) for word in call.keywords}
        if len(numbers) < len(call.keywords):
            raise ValueError(text)
    except TheoryError:
        raise
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise TheoryError(
            "unreadable_guarantee",
            f"{quoted(repr(text))} is not a guarantee",
            "write name(parameter=number, …) with each parameter once, for example "
            "approximate_dp(epsilon=1, delta=1e-6)",
        ) from error
    return guarantee(SPELLINGS.get(call.func.id, call.func.id), **numbers)


@dataclass(frozen=True)
class Setting:
    """What is known besides the guarantee; a hypothesis that is not stated is not assumed.

    `tau` and `delta_hat` are levels at which failure probabilities are wanted.
    """

    records: int | None = None
    group: int | None = None
    protections: int | None = None
    values: int | None = None
    tau: float | None = None
    delta_hat: float | None = None
    every_distribution: bool = False
    independent_records: bool = False
    binary_secrets: bool = False
    record_protections: bool = False
    simulator_epsilon: float | None = None
    simulator_delta: float | None = None

    def __post_init__(self) -> None:
        for name in ("records", "group", "protections", "values"):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10**12:
                raise TheoryError(
                    "setting",
                    f"{name} is {quoted(value)}, a whole number from 1 to 10^12",
                    f"give {name} >= 1",
                )
        for name in ("tau", "delta_hat", "simulator_delta"):
            value = getattr(self, name)
            if value is not None:
                as_rate(value, name)
        if self.delta_hat == 0:
            raise TheoryError(
                "delta_hat",
                "delta_hat is 0, and no failure below 1 can be promised there",
                "give delta_hat > 0, or leave it out",
            )
        if self.simulator_epsilon is not None:
            as_loss(self.simulator_epsilon, "simulator_epsilon")
            refuse_beyond(self.simulator_epsilon, "simulator_epsilon")


def refuse_beyond(epsilon: float, name: str) -> None:
    """Refuse an epsilon whose e^epsilon is beyond the floats."""
    if epsilon > EPSILON_MAX:
        raise TheoryError(
            "epsilon_too_large",
            f"{name} is {epsilon:g}, above {EPSILON_MAX:g} it promises nothing",
            f"give {name} as a privacy loss, mostly below 10",
        )


def _written(source: str, node: ast.expr) -> float:
    """The number of a text; truth values and strings are none, and only a written 0 is 0."""
    value = ast.literal_eval(node)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(value)
    mantissa = (ast.get_source_segment(source, node) or "").lower().partition("e")[0]
    if value == 0 and any(digit in mantissa for digit in "123456789"):
        return math.copysign(math.ulp(0.0), value)
    return value


def _number(kind: str, name: str, value: float) -> float:
    try:
        if isinstance(value, bool | str):
            raise TypeError
        read = float(value)
        return read if read else float_read(Fraction(value))
    except (TypeError, ValueError, OverflowError) as error:
        raise TheoryError(
            "not_a_number",
            f"{name} of {kind} is {quoted(value)}, it must be a number",
            f"give {name} as a number of ordinary size",
        ) from error


def _check(kind: str, name: str, value: float) -> None:
    if math.isnan(value) or value < 0:
        raise TheoryError(
            "negative_parameter",
            f"{name} of {kind} is {value}, it is at least 0",
            f"give {name} >= 0",
        )
    if name in _PROBABILITIES and value > 1:
        raise TheoryError(
            "not_a_probability",
            f"{name} of {kind} is {value}, it is at most 1",
            f"give {name} between 0 and 1",
        )
