"""The closure returns what follows, with sources, hypotheses and the tightest numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from sanql.theory.channels import Channel
from sanql.theory.definitions import secrets
from sanql.theory.definitions.coupled_worlds import coupled_worlds_delta
from sanql.theory.definitions.worlds import Protection, World
from sanql.theory.distributions import Distribution
from sanql.theory.errors import TheoryError
from sanql.theory.implications import Setting, guarantee, implications, parse
from sanql.theory.implications.guarantees import KINDS
from sanql.theory.implications.operations import composed, coupled_worlds_composed
from sanql.theory.implications.search import EDGES, blocked, closures, edge_named


def test_pure_privacy_implies_the_semantic_forms_with_tight_constants() -> None:
    found = {item.guarantee.kind: item for item in implications(parse("pure_dp(epsilon=1)"))}
    assert found["semantic"].guarantee["tau"] == pytest.approx(math.tanh(0.5))
    assert found["prior_posterior"].guarantee["tau"] == pytest.approx(math.tanh(0.25))
    assert found["statistical_difference"].guarantee["delta"] == pytest.approx(math.tanh(0.5))
    assert found["semantic"].printed is not None
    assert found["semantic"].printed["tau"] == pytest.approx(1)
    small = edge_named("ks-2.2a").printed
    assert small is not None
    printed = small(parse("pure_dp(epsilon=0.5)"), Setting())
    assert printed["tau"] == pytest.approx(math.sqrt(math.e) - 1)


def test_no_route_around_a_circle_improves_on_what_was_given() -> None:
    for text in (
        "pure_dp(epsilon=1)",
        "approximate_dp(epsilon=0.5, delta=1e-6)",
        "semantic(tau=0.2)",
    ):
        given = parse(text)
        setting = Setting(records=5, group=2, every_distribution=True, independent_records=True)
        for item in implications(given, setting):
            if item.guarantee.kind == given.kind:
                assert not item.guarantee.is_at_most(given)


def test_nothing_that_follows_is_dominated_or_vacuous() -> None:
    found = implications(parse("approximate_dp(epsilon=0.2, delta=1e-9)"), Setting(records=100))
    for item in found:
        assert not item.guarantee.is_vacuous
        rivals = [other for other in found if other is not item]
        assert not any(other.guarantee.is_at_most(item.guarantee) for other in rivals)


def test_more_records_never_make_a_conclusion_stronger() -> None:
    given = parse("approximate_dp(epsilon=0.1, delta=1e-9)")
    few = {i.guarantee.kind: i.guarantee for i in implications(given, Setting(records=10))}
    many = {i.guarantee.kind: i.guarantee for i in implications(given, Setting(records=1000))}
    for kind, weak in many.items():
        assert few[kind].is_at_most(weak)


def test_an_edge_whose_hypothesis_is_not_stated_is_not_used_but_named() -> None:
    given = parse("ddp(epsilon=1, delta=1e-6)")
    assert "noiseless" not in {item.guarantee.kind for item in implications(given)}
    missing = {edge.name: lacks for edge, lacks in blocked(given)}
    assert "independent" in missing["cw-cor-2"][0]
    told = implications(given, Setting(independent_records=True))
    assert "noiseless" in {item.guarantee.kind for item in told}


@pytest.mark.parametrize(
    ("delta_hat", "failure", "follows"), [(0, 0, True), (0.1, 0, False), (0, 0.1, False)]
)
def test_inference_gives_privacy_only_when_it_never_fails(
    delta_hat: float, failure: float, follows: bool
) -> None:
    given = guarantee("inference_ddp", epsilon=1.0, delta_hat=delta_hat, failure=failure)
    for every, wanted in ((True, follows), (False, False)):
        found = implications(given, Setting(every_distribution=every))
        assert ("pure_dp" in {item.guarantee.kind for item in found}) == wanted


def test_coupled_worlds_says_nothing_of_records_unless_the_protections_are_theirs() -> None:
    rows = {(bit,): Distribution.of({bit: 1}) for bit in (0, 1)}
    tells, fair = Channel.of(rows), World.of({((0,), None): "1/2", ((1,), None): "1/2"})
    everything = Protection("everything", lambda x: x, lambda x: x)
    found = coupled_worlds_delta(tells, [fair], [everything], 1)
    assert found["delta"] == 0, "publishing the database is (0, 0)-coupled-worlds private"
    given = parse("coupled_worlds(epsilon=0, delta=0)")
    kinds = {i.guarantee.kind for i in implications(given, Setting(every_distribution=True))}
    assert not kinds & {"ddp", "approximate_dp", "pure_dp"}
    assert {edge.name: lacks for edge, lacks in blocked(given)}["cw-ddp"] == (
        "the protections are those of the records",
    )
    stated = implications(given, Setting(every_distribution=True, record_protections=True))
    assert {"ddp", "pure_dp"} <= {item.guarantee.kind for item in stated}


def test_every_edge_joins_known_kinds_and_cites_a_source() -> None:
    assert len({edge.name for edge in EDGES}) == len(EDGES)
    for edge in EDGES:
        assert edge.premise in KINDS
        assert edge.conclusion in KINDS
        assert edge.source
        if edge.verdict == "false in general":
            assert edge.printed is not None


def test_composition_and_its_side_conditions() -> None:
    pure = guarantee("pure_dp", epsilon=0.5)
    both = composed(pure, guarantee("approximate_dp", epsilon=0.5, delta=1e-6))
    assert both["epsilon"] == pytest.approx(1)
    assert both["epsilon"] >= 1
    assert both["delta"] == 1e-6
    f = guarantee("ddp", epsilon=math.log(1.5), delta=0.01)
    g = guarantee("ddp", epsilon=math.log(2), delta=0.02)
    told = coupled_worlds_composed(f, g, f_knows_simulated_g=True, g_knows_f=True)
    assert told["delta"] == pytest.approx(0.04)
    with pytest.raises(TheoryError, match="needs the guarantee of"):
        coupled_worlds_composed(f, g, f_knows_simulated_g=True, g_knows_f=False)
    with pytest.raises(TheoryError, match="do not compose"):
        composed(f, g)
    assert "post-processing" in closures(pure)
    assert "less side information" not in closures(guarantee("noiseless", epsilon=1, delta=0))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("pure_dp(epsilon=-1)", "negative_parameter"),
        ("approximate_dp(epsilon=1, delta=2)", "not_a_probability"),
        ("approximate_dp(epsilon=1)", "parameters"),
        ("purest_dp(epsilon=1)", "unknown_guarantee"),
        ("pure_dp(1)", "unreadable_guarantee"),
        ("pure_dp(epsilon=1", "unreadable_guarantee"),
        ("pure_dp(epsilon='x')", "unreadable_guarantee"),
        ("__import__('os')", "unreadable_guarantee"),
    ],
)
def test_a_guarantee_that_makes_no_sense_is_refused(text: str, code: str) -> None:
    with pytest.raises(TheoryError) as caught:
        parse(text)
    assert caught.value.code == code


def test_a_setting_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(TheoryError):
        Setting(records=0)
    with pytest.raises(TheoryError):
        Setting(tau=1.5)
    with pytest.raises(TheoryError, match="no failure below 1 can be promised"):
        Setting(delta_hat=0.0)


def test_no_conclusion_is_listed_that_another_one_makes_superfluous() -> None:
    found = implications(guarantee("pure_dp", epsilon=0.1), Setting(records=3, group=2))
    listed = [item.guarantee for item in found]
    for one in listed:
        assert not any(other is not one and other.is_at_most(one) for other in listed), str(one)


def test_theorem_7_without_a_wish_balances_level_and_failure() -> None:
    given = guarantee("pufferfish", epsilon=1.0, delta=2e-6)
    found = edge_named("cw-thm-7").apply(given, Setting(binary_secrets=True))
    assert found["delta_hat"] == pytest.approx(1e-3)
    assert found["failure"] == pytest.approx(1e-3)


def test_theorem_7_needs_every_secret_to_be_decided() -> None:
    # output 1 says that the secret does not apply, and nothing about 0 against 1
    rows = {0: [1, 0], 1: [1, 0], 2: [0, 1]}
    channel = Channel.of({(x,): Distribution.over(row) for x, row in rows.items()})
    world = World.of({((x,), None): "1/3" for x in rows})
    secret = secrets.Secret("ill", lambda x: None if x[0] == 2 else x[0])
    assert secrets.pufferfish_delta(channel, [world], [secret], 1)["delta"] == 0
    failed = secrets.pufferfish_inference_failure(
        channel, [world], [secret], gamma=1, delta_hat="1/4"
    )
    assert failed == 1
    given = parse("pufferfish(epsilon=0, delta=0)")
    assert "inference_pufferfish" not in {i.guarantee.kind for i in implications(given)}
    assert {edge.name: lacks for edge, lacks in blocked(given)}["cw-thm-7"] == (
        "every secret is always 0 or 1",
    )
    stated = implications(given, Setting(binary_secrets=True))
    assert "inference_pufferfish" in {item.guarantee.kind for item in stated}


@pytest.mark.parametrize(
    ("delta", "asked", "values", "slack", "failure"),
    [
        (0.0, None, None, 0.0, 0.0),
        (0.0, 0.25, 2, 0.25, 0.0),
        (1 / 64, None, None, 1 / 8, 1 / 8),
        (1 / 64, None, 2, 1 / 8, 1 / 16),
        (1 / 64, 0.25, None, 0.25, 1 / 16),
        (1 / 64, 0.25, 4, 0.25, 3 / 64),
    ],
)
def test_prior_and_posterior_are_usually_close(
    delta: float, asked: float | None, values: int | None, slack: float, failure: float
) -> None:
    # delta (1 - sum of squared priors)/delta_hat: the sum is least when all values are equally likely
    given = guarantee("approximate_dp", epsilon=1.0, delta=delta)
    found = edge_named("v-remark").apply(given, Setting(delta_hat=asked, values=values))
    assert (found["delta_hat"], found["failure"]) == (slack, failure)
    assert 1 <= found["epsilon"] < 1 + 1e-14


@pytest.mark.parametrize("failure", [0.0, 1e-12, 1e-6])
def test_theorem_5_1_without_a_wish_allows_for_the_failure_of_privacy(failure: float) -> None:
    given = guarantee("mostly_dp", epsilon=1e-5, delta=1e-12, failure=failure)
    found = edge_named("ks-5.1").apply(given, Setting(records=2))
    joint = failure + (1 - failure) * 1e-12
    assert found["tau"] == pytest.approx(math.expm1(3e-5) + 2 * math.sqrt(joint), rel=1e-6)
    assert found["delta"] < 0.01
    certain = guarantee("mostly_dp", epsilon=1.0, delta=0.0, failure=0.0)
    told = edge_named("ks-5.1").apply(certain, Setting(records=2))
    assert (told["tau"], told["delta"]) == (pytest.approx(math.tanh(0.5)), 0)


def test_a_theorem_that_is_false_in_general_may_be_true_of_one_guarantee() -> None:
    pure = {item.guarantee.kind: item for item in implications(parse("pure_dp(epsilon=1)"))}
    assert str(pure["pointwise_dp"].printed) == "pointwise_dp(epsilon=2, delta=0)"
    assert pure["pointwise_dp"].verdict == "false in general"
    assert pure["pointwise_dp"].printed_here == "holds"
    assert pure["semantic"].printed_here is None
    given = parse("approximate_dp(epsilon=1, delta=1e-6)")
    approximate = {item.guarantee.kind: item for item in implications(given)}
    assert approximate["pointwise_dp"].printed_here == "fails"


@pytest.mark.parametrize("asked", [None, 0.3])
@pytest.mark.parametrize("name", ["cw-thm-1", "cw-thm-2"])
def test_theorems_1_and_2_of_coupled_worlds_hold_just_while_the_erratum_says(
    name: str, asked: float | None
) -> None:
    edge, setting = edge_named(name), Setting(records=2, protections=2, delta_hat=asked)
    for odds in (2.0, 3.0, 3.1, 3.3, 4.0, 50.0):
        for delta in (1e-9, 1e-4, 0.01, 0.05):
            given = guarantee(edge.premise, epsilon=math.log(odds), delta=delta)
            true = odds * (1 - 2 * math.sqrt(2 * delta)) <= 3
            assert (edge.printed_here(given, setting) == "holds") == true, (odds, delta)


@pytest.mark.parametrize("tau", [0.01, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.3])
def test_a_printed_level_fails_just_where_randomised_response_breaks_it(
    tau: float, delta: float
) -> None:
    odds = ((1 + tau) / (1 - tau)) ** 2
    excess = odds / (1 + odds) - (1 + 2 * tau) ** 2 / (1 + odds)
    for name in ("ks-2.4b", "ks-2.4b-uniform", "ks-footnote-4"):
        edge = edge_named(name)
        given = guarantee(edge.premise, tau=tau, delta=delta)
        assert (edge.printed_here(given, Setting()) == "fails") == (excess > 2 * delta), name
    given = guarantee("semantic", tau=tau)
    assert edge_named("ks-2.2b").printed_here(given, Setting()) == "fails"


def test_a_printed_step_is_not_called_wrong_of_what_was_given_first() -> None:
    steps = implications(parse("testing(epsilon=1, delta=1e-6)"))
    told = next(item for item in steps if item.guarantee.kind == "pointwise_dp")
    assert len(told.path) == 2
    assert told.printed_here == "not known"


@pytest.mark.parametrize(
    "text",
    [
        "pure_dp(epsilon=710)",
        "approximate_dp(epsilon=1e300, delta=0.1)",
        "ddp(epsilon=1e999, delta=0)",
    ],
)
def test_an_epsilon_beyond_the_floats_is_refused_by_name(text: str) -> None:
    with pytest.raises(TheoryError, match="epsilon of") as caught:
        implications(parse(text))
    assert caught.value.code == "epsilon_too_large"
    with pytest.raises(TheoryError, match="simulator_epsilon"):
        Setting(simulator_epsilon=800.0)


@pytest.mark.parametrize("epsilon", [0.0, 400.0, 700.0])
@pytest.mark.parametrize("rest", [0.0, 5e-324, 0.1, 1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_large_levels_and_tiny_failures_lead_to_numbers(
    kind: str, rest: float, epsilon: float
) -> None:
    numbers = {name: epsilon if name == "epsilon" else rest for name in KINDS[kind][0]}
    setting = Setting(
        records=10, group=2, protections=3, every_distribution=True, independent_records=True,
        binary_secrets=True, record_protections=True, simulator_epsilon=700.0, simulator_delta=0.1,
    )  # fmt: skip
    for item in implications(guarantee(kind, **numbers), setting):
        assert all(0 <= value < math.inf for _, value in item.guarantee.parameters)


@pytest.mark.parametrize("delta", ["1e-400", "0.0001E-5000", "1e-324"])
def test_a_delta_below_the_floats_is_not_a_delta_of_nothing(delta: str) -> None:
    given = parse(f"approximate_dp(epsilon=1, delta={delta})")
    assert given["delta"] > 0
    assert "pure_dp" not in {item.guarantee.kind for item in implications(given)}
    for zero in ("0", "0.0", "0e-400", "-0.0"):
        assert parse(f"approximate_dp(epsilon=1, delta={zero})")["delta"] == 0
    with pytest.raises(TheoryError, match="at least 0"):
        parse(f"approximate_dp(epsilon=1, delta=-{delta})")
    exact = guarantee("approximate_dp", epsilon=1, delta=Fraction(1, 10**400))
    assert exact["delta"] > 0
