"""The shape of an edge, and the table of all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeAlias

from sanql.theory.exact import Extended, float_upper, log_upper
from sanql.theory.implications.guarantees import Guarantee, Setting
from sanql.theory.implications.guarantees import guarantee as make

Verdict: TypeAlias = Literal["holds", "corrected", "false in general"]
Here: TypeAlias = Literal["holds", "fails", "not known"]
Apply: TypeAlias = Callable[[Guarantee, Setting], Guarantee]


@dataclass(frozen=True)
class Hypothesis:
    """A condition on the setting, with the words for it."""

    text: str
    met: Callable[[Guarantee, Setting], bool]


@dataclass(frozen=True)
class Edge:
    """One implication: from a premise, under hypotheses, to a conclusion with explicit numbers.

    `apply` returns the corrected, tightest known conclusion; `printed` the one in the source, where
    it differs and can be written in the same form. A printed theorem that is "false in general" may
    be true of one guarantee; `refuted` says for which a mechanism is known that breaks it.
    """

    name: str
    source: str
    premise: str
    conclusion: str
    verdict: Verdict
    apply: Apply
    printed: Apply | None = None
    hypotheses: tuple[Hypothesis, ...] = ()
    remark: str = ""
    refuted: Callable[[Guarantee, Setting], bool] | None = None

    def unmet(self, given: Guarantee, setting: Setting) -> tuple[str, ...]:
        """Return the hypotheses that do not hold or are not stated."""
        return tuple(h.text for h in self.hypotheses if not h.met(given, setting))

    def printed_here(self, given: Guarantee, setting: Setting) -> Here | None:
        """Return whether a printed theorem that is false in general is true of this guarantee.

        It holds where the corrected conclusion, at the levels that the printed one speaks of, is at
        least as strong. Theorems that are true have nothing to say here.
        """
        if self.verdict != "false in general" or self.printed is None:
            return None
        if self.refuted is not None and self.refuted(given, setting):
            return "fails"
        printed = self.printed(given, setting)
        asked = dict(printed.parameters).get("delta_hat") or setting.delta_hat
        proved = (setting, replace(setting, delta_hat=asked))
        if printed.is_vacuous or any(self.apply(given, s).is_at_most(printed) for s in proved):
            return "holds"
        return "not known"


def level(kind: str, gamma: Extended, **rest: Extended) -> Guarantee:
    """Return a guarantee at level gamma, every number rounded up and probabilities cut at 1."""
    return make(kind, epsilon=log_upper(gamma), **_rounded(rest))


def plain(kind: str, **parameters: Extended) -> Guarantee:
    """Return a guarantee whose parameters are probabilities, rounded up and cut at 1."""
    return make(kind, **_rounded(parameters))


def _rounded(parameters: dict[str, Extended]) -> dict[str, float]:
    return {name: float_upper(min(value, Fraction(1))) for name, value in parameters.items()}


KNOWN_RECORDS = Hypothesis("the number of records is known", lambda _, s: s.records is not None)
KNOWN_GROUP = Hypothesis("the size of the group is known", lambda _, s: s.group is not None)
KNOWN_PROTECTIONS = Hypothesis(
    "the number of protections is known", lambda _, s: s.protections is not None
)
EVERY_DISTRIBUTION = Hypothesis(
    "the class contains every distribution", lambda _, s: s.every_distribution
)
INDEPENDENT = Hypothesis(
    "records are independent given the side information", lambda _, s: s.independent_records
)
BINARY_SECRETS = Hypothesis("every secret is always 0 or 1", lambda _, s: s.binary_secrets)
RECORD_PROTECTIONS = Hypothesis(
    "the protections are those of the records", lambda _, s: s.record_protections
)
CLOSE_SIMULATIONS = Hypothesis(
    "the simulations for two values of a secret are (simulator_epsilon, simulator_delta)-close",
    lambda _, s: s.simulator_epsilon is not None and s.simulator_delta is not None,
)
PURE = Hypothesis("delta is 0", lambda g, _: g["delta"] == 0)
EXACT_INFERENCE = Hypothesis(
    "delta_hat and failure are 0", lambda g, _: g["delta_hat"] == 0 and g["failure"] == 0
)
