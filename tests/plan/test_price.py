"""What a question costs and how its budget is shared; epsilon is always the whole question's."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import pytest
from scipy.optimize import minimize_scalar

from plan.pricing import gaussian_of, laplace_of
from sanql.account.charge import Charge
from sanql.account.events import FailureEvent, GaussianEvent, LaplaceEvent, SelectionEvent
from sanql.errors import Refused
from sanql.measurements.measurement import Measured
from sanql.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Geometric,
    NoNoise,
    SummedNoise,
    TruncatedGeometric,
)
from sanql.plan.laplace import LaplaceMechanism
from sanql.plan.level import Level, LevelOutline
from sanql.plan.mechanism import Priced, split
from sanql.plan.norms import bounded_by_norm
from sanql.plan.pairs import suited
from sanql.plan.pricing import expected_error
from sanql.statistics import Measuring
from sanql.statistics.average import AverageOf
from sanql.statistics.count import CountOf
from sanql.statistics.sum import SumOf

Outlined = Callable[..., LevelOutline]
Planned = Callable[..., Level]

QUESTIONS = [
    "SELECT COUNT(*) FROM people",
    "SELECT COUNT(*), COUNT(*) * 2, SUM(age), AVG(income), COUNT(age), COUNT(DISTINCT city) FROM visits",
    "SELECT sex, COUNT(*), SUM(score), SUM(rated) FROM visits GROUP BY sex",
    "SELECT COUNT(*), SUM(weight) FROM rows WHERE age > 3",
    "SELECT city, COUNT(*), AVG(age) FROM visits GROUP BY city",
    "SELECT city FROM people GROUP BY city",
]


def epsilon_of(charge: Charge) -> Fraction:
    """Return the sum of the epsilons of Laplace and selection events."""
    total = Fraction(0)
    for event in charge.events:
        match event:
            case LaplaceEvent(scale, l1):
                total += l1 / scale
            case SelectionEvent(epsilon, _, cells):
                total += epsilon * cells
            case _:
                raise AssertionError(event)
    return total


@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
@pytest.mark.parametrize("sql", QUESTIONS)
def test_epsilon_is_the_whole_questions(outlined: Outlined, sql: str, relation: str) -> None:
    measuring = outlined(sql, relation).measuring
    charge = laplace_of(measuring, Fraction("0.3"), Fraction("1e-9")).charge
    assert charge.epsilon == Fraction("0.3")
    assert epsilon_of(charge) == Fraction("0.3")  # shares sum exactly


def delta_of(rho: float, epsilon: float) -> float:
    """Return the delta of rho-zCDP at an epsilon (Canonne, Kamath & Steinke, Corollary 13)."""

    def log_delta(order: float) -> float:
        return (
            (order - 1) * (order * rho - epsilon)
            + order * math.log1p(-1 / order)
            - math.log(order - 1)
        )

    return math.exp(minimize_scalar(log_delta, bounds=(1.0001, 1e5), method="bounded").fun)


@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
@pytest.mark.parametrize("sql", QUESTIONS[1:])
def test_gaussian_noise_costs_no_more_than_epsilon_and_delta(
    outlined: Outlined, sql: str, relation: str
) -> None:
    epsilon, delta = Fraction(1), Fraction(1, 10**6)
    measuring = outlined(sql, relation).measuring
    priced = gaussian_of(measuring, epsilon, delta)
    assert priced is not None
    rho = sum(
        e.l2_squared / (2 * e.sigma2) for e in priced.charge.events if isinstance(e, GaussianEvent)
    )
    failing = sum(e.delta for e in priced.charge.events if isinstance(e, FailureEvent))
    left = float(1 - sum(e.epsilon for e in priced.charge.events if isinstance(e, SelectionEvent)))
    assert delta_of(float(rho), left) + failing <= delta * (1 + 1e-6)
    assert (failing > 0) == (measuring.selection is not None)
    assert delta_of(1.01 * float(rho), left) + failing > delta * (1 - 1e-6)  # and wastes little
    assert (priced.charge.epsilon, priced.charge.delta) == (epsilon, delta)


@pytest.mark.parametrize("epsilon", ["0.01", "1", "10"])
@pytest.mark.parametrize("delta", ["1e-12", "1e-3"])
@pytest.mark.parametrize("sql", QUESTIONS)
def test_the_mechanism_with_the_smaller_expected_error_is_taken(
    planned: Planned, outlined: Outlined, sql: str, epsilon: str, delta: str
) -> None:
    plan, outline = planned(sql, epsilon, delta), outlined(sql)
    price = Fraction(epsilon), Fraction(delta)
    in_l1 = suited(outline.measuring, 1)
    ways = [(in_l1, laplace_of(in_l1, *price))]
    for measuring in filter(None, (outline.measuring, outline.by_weights)):
        in_l2 = bounded_by_norm(measuring, 2)
        gaussian = gaussian_of(in_l2, *price)
        if gaussian is not None:
            ways.append((in_l2, gaussian))
    assert len(ways) == 2 + (outline.by_weights is not None)

    _, _, longest = outline.limits.row_norms
    norms = outline.measuring.unit_norms
    bound = norms.l2_squared if norms is not None and norms.l2_squared is not None else longest

    def error(measuring: Measuring, priced: Priced) -> float:
        noise = sum(
            part.weight
            * (each.standard_deviation / (part.size * part.scale)) ** 2
            * (longest / bound if part.norm is not None and part.norm.order == 2 else 1.0) ** 0.5
            for part, each in zip(measuring.measurements, priced.noises, strict=True)
        )
        if measuring.selection is None or priced.threshold is None:
            return noise
        selection = measuring.measurements[measuring.selection]
        units = float(priced.threshold * selection.grid)
        if selection.groups_max is not None:
            units *= outline.limits.groups**0.25
        return noise + (units * outline.limits.rows / outline.limits.groups) ** 2

    assert error(plan.outline.measuring, plan.priced) == min(error(*way) for way in ways)


def test_both_mechanisms_have_their_use(planned: Planned) -> None:
    few = planned("SELECT COUNT(*) FROM people", "1", "1e-6")
    sql = (
        "SELECT sex, member, COUNT(*), SUM(age), SUM(score), SUM(income) FROM visits GROUP BY 1, 2"
    )
    many = planned(sql, "1", "1e-3")
    assert isinstance(few.noises[0], DiscreteLaplace)
    assert all(isinstance(noise, DiscreteGaussian) for noise in many.noises)


@pytest.mark.parametrize("sql", QUESTIONS[:4])
def test_without_delta_noise_is_never_gaussian(planned: Planned, sql: str) -> None:
    plan = planned(sql, "1", "0")
    assert plan.charge.delta == 0
    assert all(
        isinstance(noise, DiscreteLaplace | Geometric | SummedNoise) for noise in plan.noises
    )


def test_a_delta_that_is_not_needed_is_not_charged(planned: Planned) -> None:
    assert planned("SELECT COUNT(*) FROM people", "1", "1e-6").charge.delta == 0


def test_selecting_keys_spends_the_delta(planned: Planned) -> None:
    plan = planned("SELECT city, COUNT(*) FROM people GROUP BY city", "1", "1e-6")
    (noise,) = plan.noises  # people have one row: the count of units serves both
    assert isinstance(noise, TruncatedGeometric)
    assert plan.priced.threshold == noise.limit + 1
    assert plan.charge.delta == Fraction(1, 10**6)


def test_selecting_keys_without_delta_is_refused(planned: Planned) -> None:
    with pytest.raises(Refused) as caught:
        planned("SELECT city, COUNT(*) FROM people GROUP BY city", "1", "0")
    assert caught.value.code == "delta_needed"
    assert "delta" in caught.value.remedy


@pytest.mark.parametrize(("relation", "cells"), [("add-remove", 3), ("change-one", 6)])
def test_a_unit_in_several_groups_divides_epsilon_and_delta(
    outlined: Outlined, relation: str, cells: int
) -> None:
    measuring = outlined("SELECT city FROM visits GROUP BY city", relation).measuring
    (event,) = laplace_of(measuring, Fraction(1), Fraction(1, 10**6)).charge.events
    assert event == SelectionEvent(Fraction(1, cells), Fraction(1, cells * 10**6), cells)


SHARING = [
    # question, measurements, estimates
    ("SELECT COUNT(*), COUNT(*), COUNT(1) FROM visits", [Measured.ROWS], [CountOf(0)]),
    (
        "SELECT COUNT(*), COUNT(DISTINCT person_id) FROM people",
        [Measured.UNITS],
        [CountOf(0), CountOf(0)],
    ),
    (
        "SELECT COUNT(*), COUNT(DISTINCT person_id) FROM visits",
        [Measured.ROWS, Measured.UNITS],
        [CountOf(0), CountOf(1)],
    ),
    (
        "SELECT AVG(age), SUM(age), COUNT(age) FROM visits",
        [Measured.SUM, Measured.VALUES],
        [AverageOf(0, 1, Fraction(0), Fraction(120)), SumOf(0, 1, True), CountOf(1)],
    ),
    (
        "SELECT AVG(COALESCE(age, 0)), COUNT(*) FROM visits",
        [Measured.SUM, Measured.ROWS],
        [AverageOf(0, 1, Fraction(0), Fraction(120)), CountOf(1)],
    ),
    ("SELECT SUM(age) FROM visits", [Measured.SUM], [SumOf(0, None, True)]),
    (
        "SELECT SUM(age), SUM(score) FROM visits",
        [Measured.SUM, Measured.SUM],
        [SumOf(0, None, True), SumOf(1, None, True)],
    ),
    (
        "SELECT SUM(rated), COUNT(rated) FROM visits",
        [Measured.SUM, Measured.VALUES],
        [SumOf(0, None, True), CountOf(1)],
    ),
]


@pytest.mark.parametrize(("sql", "kinds", "estimates"), SHARING)
def test_each_measurement_is_paid_once(
    outlined: Outlined, sql: str, kinds: list[Measured], estimates: list[object]
) -> None:
    measuring = outlined(sql).measuring
    assert [part.kind for part in measuring.measurements] == kinds
    assert list(measuring.estimates) == estimates


def test_a_repeated_count_is_no_noisier_than_one(planned: Planned) -> None:
    one = planned("SELECT COUNT(*) FROM visits")
    many = planned("SELECT COUNT(*), COUNT(*) + 1, 2 * COUNT(*) FROM visits HAVING COUNT(*) > 3")
    assert many.noises == one.noises


def test_a_centred_sum_moves_by_half_the_width(outlined: Outlined) -> None:
    alone, _ = outlined("SELECT SUM(score), COUNT(*) FROM rows").measuring.measurements
    assert alone.sensitivity.l1 == 30
    centred, _ = outlined("SELECT AVG(score) FROM rows").measuring.measurements
    assert (centred.centre, centred.low, centred.high, centred.sensitivity.l1) == (10, -20, 20, 20)


FREE = [
    ("SELECT COUNT(*) FROM rows", True),
    ("SELECT COUNT(1), COUNT(*) + 1 FROM rows", True),
    ("SELECT COUNT(COALESCE(age, 0)) FROM rows", True),
    ("SELECT COUNT(*) FROM rows WHERE TRUE", False),
    ("SELECT COUNT(*) FROM rows WHERE age > 3", False),
    ("SELECT COUNT(age) FROM rows", False),
    ("SELECT COUNT(*) FROM rows GROUP BY sex", False),
    ("SELECT COUNT(*) FROM rows GROUP BY city", False),
    ("SELECT COUNT(DISTINCT city) FROM rows", False),
    ("SELECT SUM(1) FROM rows WHERE age > 3", False),
    ("SELECT COUNT(*) FROM people", False),
    ("SELECT COUNT(DISTINCT person_id) FROM people", False),
]


@pytest.mark.parametrize(("sql", "free"), FREE)
def test_only_what_no_changed_row_can_move_is_public(
    planned: Planned, sql: str, free: bool
) -> None:
    plan = planned(sql, "1", "1e-6", "change-one")
    assert plan.outline.free == free
    assert all(isinstance(noise, NoNoise) == free for noise in plan.noises)
    assert (plan.charge.epsilon == 0) == free
    added = planned(sql, "1", "1e-6", "add-remove")
    assert not added.outline.free  # with add-remove even the number of rows is private


def test_a_public_part_beside_a_private_one_gets_no_noise_and_no_share(planned: Planned) -> None:
    plan = planned("SELECT COUNT(*), SUM(age) FROM rows", "1", "0", "change-one")
    by_kind = dict(zip((m.kind for m in plan.measurements), plan.noises, strict=True))
    assert by_kind[Measured.UNITS] == NoNoise()
    assert epsilon_of(plan.charge) == 1


def test_a_public_table_costs_nothing(planned: Planned) -> None:
    plan = planned("SELECT city, COUNT(*), SUM(age), AVG(income) FROM open GROUP BY city")
    assert plan.outline.free
    assert plan.charge.events == ()
    assert (plan.charge.epsilon, plan.charge.delta) == (0, 0)


@pytest.mark.parametrize(
    "weights", [[1.0], [1, 1], [0, 3, 0], [1e-12, 1.0], [0.1] * 7, [5, 0, 1e9]]
)
def test_shares_sum_to_one_exactly_and_zero_stays_zero(weights: list[float]) -> None:
    shares = split(weights)
    assert sum(shares) == 1
    assert all((share > 0) == (weight > 0) for share, weight in zip(shares, weights, strict=True))


def test_the_split_has_the_least_expected_error(outlined: Outlined) -> None:
    measuring = outlined("SELECT COUNT(*), SUM(age), SUM(score) FROM visits").measuring
    best = laplace_of(measuring, Fraction(1), Fraction(0))
    least = expected_error(measuring, best)
    shares = [
        event.l1 / event.scale for event in best.charge.events if isinstance(event, LaplaceEvent)
    ]
    for giving, taking in pairwise([*range(len(shares)), 0]):
        moved = list(shares)
        moved[giving] -= Fraction(1, 50)
        moved[taking] += Fraction(1, 50)
        noises = tuple(
            DiscreteLaplace(part.sensitivity.l1 / share)
            for part, share in zip(measuring.measurements, moved, strict=True)
        )
        other = Priced(noises, None, best.charge, LaplaceMechanism())
        assert expected_error(measuring, other) > least


@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
@pytest.mark.parametrize("quantiles", [1, 3, 9])
def test_intervals_of_quantiles_cost_a_seventh_however_many_there_are(
    planned: Planned, quantiles: int, relation: str
) -> None:
    picked = ", ".join(f"QUANTILE_CONT(age, {(i + 1) / (quantiles + 1)})" for i in range(quantiles))
    plan = planned(f"SELECT {picked} FROM rows", neighbours=relation)
    (ladder,) = (event for event in plan.charge.events if isinstance(event, LaplaceEvent))
    assert float(ladder.l1 / ladder.scale / plan.charge.epsilon) == pytest.approx(1 / 7, abs=1e-4)
