"""The guarantee that travels with an answer: what it claims is what was planned, rounded safely."""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest

from sanql.account.charge import Charge
from sanql.account.events import GaussianEvent, LaplaceEvent
from sanql.certificate import certify, meaning
from sanql.numbers import number_lower, number_upper
from sanql.plan.laplace import LaplaceMechanism
from sanql.plan.level import Level
from sanql.plan.mechanism import Mechanism
from sanql.plan.pricing import MECHANISMS
from sanql.results import Certificate
from sanql.theory.closed_forms import GaussianPair
from sanql.theory.meaning import best_test, percent_down, percent_up, posterior_band
from support.one_level import plan_of

Planned = Callable[..., Level]


@pytest.mark.parametrize("value", [Fraction(1, 10), Fraction(1, 3), Fraction(2, 3), Fraction(0), Fraction(1), Fraction(1, 10**9)])  # fmt: skip
def test_numbers_as_they_are_printed_err_to_the_safe_side(value: Fraction) -> None:
    printed = [Fraction(repr(number)) for number in (number_lower(value), number_upper(value))]
    assert printed[0] <= value <= printed[1]
    assert math.nextafter(number_lower(value), math.inf) >= number_upper(value)


@pytest.mark.parametrize(
    ("sql", "delta", "relation", "definition"),
    [
        ("SELECT COUNT(*) FROM rows", "0", "add-remove", "epsilon-differential privacy"),
        ("SELECT COUNT(*) FROM rows", "0", "change-one", "perfect privacy"),
        ("SELECT city, COUNT(*) FROM rows GROUP BY city", "1e-6", "add-remove", "(epsilon, delta)-differential privacy"),
        ("SELECT city, COUNT(*) FROM open GROUP BY city", "0", "add-remove", "perfect privacy"),
    ],
)  # fmt: skip
def test_a_certificate_claims_what_was_planned(
    planned: Planned, sql: str, delta: str, relation: str, definition: str
) -> None:
    plan = planned(sql, "0.1", delta, relation)
    certificate = certify(plan_of(plan))
    assert certificate.definition.startswith(definition)
    assert (certificate.epsilon, certificate.delta) == (plan.charge.epsilon, plan.charge.delta)
    assert certificate.neighbours == relation
    assert len(certificate.measurements) == len(plan.measurements)
    assert len(certificate.aggregates) == len(plan.query.aggregates)
    assert certificate.assumptions
    json.dumps(certificate.to_dict(), allow_nan=False)


def test_a_certificate_says_what_selection_does_to_intervals(planned: Planned) -> None:
    selected = certify(
        plan_of(planned("SELECT city, COUNT(*) FROM rows GROUP BY city", "1", "1e-6"))
    )
    assert any("given that the key is shown" in text for text in selected.assumptions)
    assert "noisy count of units reaches" in selected.keys
    declared = certify(plan_of(planned("SELECT sex, COUNT(*) FROM rows GROUP BY sex")))
    assert not any("key is shown" in text for text in declared.assumptions)


def test_limits_and_units_are_named(planned: Planned) -> None:
    certificate = certify(plan_of(planned("SELECT sex, SUM(age) FROM visits GROUP BY sex")))
    assert certificate.unit == "the whole record of one person_id"
    assert certificate.limits == {
        "groups_per_unit": 2,
        "rows_per_unit": 3,
        "rows_per_group": 3,
        "rows_norm_l1": 3,
    }


def test_the_meaning_is_the_closed_form_of_pure_privacy() -> None:
    found = meaning(
        Charge((LaplaceEvent(Fraction(5), 5, 5),), Fraction(1), Fraction(0)),
        "one row",
        "add-remove",
    )
    low, high = found["posterior"]  # type: ignore[misc]
    assert high == pytest.approx(math.e / (1 + math.e), rel=1e-9)
    assert low == pytest.approx(1 / (1 + math.e), rel=1e-9)
    assert found["missed_at_least"] == pytest.approx(max(1 - math.e * 0.05, (1 - 0.05) / math.e))


def test_the_meaning_is_that_of_the_noise_used_where_it_says_more_than_epsilon() -> None:
    noise = GaussianEvent(Fraction(30), Fraction(1))
    found = meaning(Charge((noise,), Fraction(1), Fraction(1, 10**6)), "one row", "add-remove")
    gaussian = GaussianPair(1 / math.sqrt(30)).tradeoff(0.05)
    assert found["missed_at_least"] == pytest.approx(gaussian, abs=1e-3)
    assert found["missed_at_least"] > best_test(0.05, 1.0, 1e-6) + 0.05  # type: ignore[operator]


def test_several_gaussian_measurements_mean_no_less_than_their_own_trade_off() -> None:
    events = tuple(GaussianEvent(Fraction(100), Fraction(1)) for _ in range(4))
    found = meaning(Charge(events, Fraction(2), Fraction(1, 10**6)), "one row", "add-remove")
    together = GaussianPair(math.sqrt(4 / 100)).tradeoff(0.05)
    assert best_test(0.05, 2.0, 1e-6) < found["missed_at_least"] < together  # type: ignore[operator]


@dataclass(frozen=True)
class Staircase(LaplaceMechanism):
    """A mechanism with words of its own that nobody has listed, let alone proved."""

    name = "staircase"
    theorem = "It has steps."


@pytest.mark.parametrize("mechanism", [Staircase(), "discrete Laplace", "", None])
def test_a_mechanism_that_is_not_known_gets_no_certificate(
    planned: Planned, mechanism: object
) -> None:
    plan = planned("SELECT COUNT(*) FROM rows")
    unknown = replace(plan, priced=replace(plan.priced, mechanism=mechanism))
    with pytest.raises(AssertionError, match="not one of those that are known"):
        certify(plan_of(unknown))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda known: known.name)
def test_every_mechanism_that_is_known_has_a_name_and_a_theorem(mechanism: Mechanism) -> None:
    assert mechanism.name and mechanism.theorem.endswith(".")
    assert len({known.name for known in MECHANISMS}) == len(MECHANISMS)


def test_what_depends_on_somebody_is_never_said_to_depend_on_nobody(planned: Planned) -> None:
    nothing = planned("SELECT COUNT(*) FROM open").priced.mechanism
    plan = planned("SELECT COUNT(*) FROM rows")
    with pytest.raises(AssertionError):
        certify(plan_of(replace(plan, priced=replace(plan.priced, mechanism=nothing))))


def test_many_cells_mean_what_their_noises_together_do_and_not_what_their_epsilons_add_up_to() -> (
    None
):
    events = (LaplaceEvent(Fraction(20), 20, 1),)
    pure = meaning(Charge(events, Fraction(1), Fraction(0)), "one row", "add-remove")
    together = GaussianPair(math.sqrt(20 / 400)).tradeoff(0.05)
    assert together - 0.005 < pure["missed_at_least"] <= together + 0.005  # type: ignore[operator]
    assert pure["missed_at_least"] > best_test(0.05, 1.0) + 0.02  # type: ignore[operator]
    _, high = pure["posterior"]  # type: ignore[misc]
    assert high == pytest.approx(math.e / (1 + math.e))  # every answer counts where delta is 0
    both = (*events, GaussianEvent(Fraction(400), Fraction(4)))
    mixed = meaning(Charge(both, Fraction(2), Fraction(1, 10**6)), "one row", "add-remove")
    assert mixed["posterior"][1] < math.e / (1 + math.e)  # type: ignore[index]
    assert mixed["posterior_failure"] == 1e-3


@pytest.mark.parametrize("prior", [0.0, 0.001, 0.3, 0.5, 1.0])
def test_a_certificate_says_what_any_belief_may_become(planned: Planned, prior: float) -> None:
    found = certify(plan_of(planned("SELECT COUNT(*) FROM rows", "0.7", "0", "add-remove")))
    low, high = posterior_band(prior, float(found.epsilon))
    said = found.meaning_at(prior)
    assert f"thinks it {prior:.4g} likely" in said
    assert f"{percent_down(low)} to {percent_up(high)} likely" in said
    assert Certificate.from_dict(found.to_dict()).meaning_at(prior) == said
