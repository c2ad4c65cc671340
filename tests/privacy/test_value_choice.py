"""How many distinct values of a unit count, chosen privately: no choice tells more than is charged.

The chance of every choice is computed exactly, in rationals, for every table of three units over a few
pairs and every neighbour of it under both relations. Scores are then in few parts, and noise falls off by
a rational factor for each: the claim holds for any number of parts and any factor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import prod
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from plan.pricing import gaussian_of, laplace_of
from privacy.distinct_twin import engine_draws, taken_greedily
from privacy.test_distinct_values import ONE, PRIVATE, PUBLIC, neighbours, subsets
from privacy.worlds import ENGINE, Bounding, Database, Row, write_policy
from privacy.worlds import source_of as layout_of
from sanql.account import GaussianEvent, LaplaceEvent, SelectionEvent
from sanql.account.accountants.divergences import ORDERS, renyi_units_upper
from sanql.compile.statement import compile_plan
from sanql.measurements.quantile_picks import ROW
from sanql.measurements.sensitivity import SensitivitySetting, sensitivity_of_distinct
from sanql.measurements.value_choice import choice_penalties, choice_scores, value_choices
from sanql.mechanisms import DiscreteGaussian, DiscreteLaplace, Geometric
from sanql.noise import add_noise
from sanql.noise.distinct_values import choose_place
from sanql.plan import as_chosen
from sanql.plan.mechanism import Priced
from sanql.policy.model import Neighbours
from support.cells import priced
from support.one_level import plan_of
from support.samplers import SilentSampler

CHOICES = (1, 2, 3)
PARTS, FACTOR = 2, Fraction(2, 3)  # one part of a score makes noise so much less likely to reach it
PRICE = FACTOR ** (-2 * PARTS)  # e^epsilon of noise that is made for scores that move by one
RELATIONS: tuple[Neighbours, ...] = ("add-remove", "change-one")


@cache
def chances(scores: tuple[int, ...]) -> tuple[Fraction, ...]:
    """Return how likely each score is to be the largest once each has geometric noise of its own.

    The first of equal ones is taken. With noise z, place i beats j where the noise of j is at most
    z + reach: a chance of 1 - FACTOR^(z + reach + 1). The product of those over j is multiplied out, and
    what each term adds up to over all z is a geometric series.
    """
    found = []
    for place, own in enumerate(scores):
        reaches = [
            own - other - (rival < place) for rival, other in enumerate(scores) if rival != place
        ]
        least = max(0, *(-reach for reach in reaches))
        total = Fraction(0)
        for size in range(len(reaches) + 1):
            for some in combinations(reaches, size):
                first = FACTOR ** (least * (1 + size) + sum(reach + 1 for reach in some))
                total += (-1) ** size * (1 - FACTOR) * first / (1 - FACTOR ** (1 + size))
        found.append(total)
    return tuple(found)


def test_the_exact_chances_are_those_of_the_largest_noisy_score() -> None:
    rng = np.random.default_rng(5)
    for scores in [(0, 0, 0), (0, -1, -3), (-2, 0, 0), (-9, -9, 0)]:
        exact = chances(scores)
        assert sum(exact) == 1
        drawn = rng.geometric(1 - float(FACTOR), size=(40_000, 3)) - 1
        shares = np.bincount(np.argmax(np.array(scores) + drawn, axis=1), minlength=3) / 40_000
        assert np.abs(shares - [float(chance) for chance in exact]).max() < 0.02  # eight deviations


@pytest.mark.slow
@pytest.mark.parametrize("penalties", [(0, 0, 0), (1, 3, 5), (4, 4, 9)])
@pytest.mark.parametrize("pairs", [((0, 0), (0, 1), (0, 2)), ((0, 0), (1, 0), (1, 1))])
def test_in_every_tiny_table_no_choice_is_much_likelier_than_in_a_neighbour(
    pairs: tuple[tuple[int, int], ...], penalties: tuple[int, ...]
) -> None:
    held = [frozenset(((group,), value) for group, value in some) for some in subsets(pairs)]
    tables, draw = list(product(held, repeat=3)), cache(engine_draws(11))

    def totals(table: Sequence[frozenset[tuple[tuple[int], int]]]) -> tuple[int, ...]:
        rows = [(unit, *pair) for unit, own in enumerate(table) for pair in own]
        return tuple(taken_greedily(rows, most, draw).total() for most in CHOICES)

    found = {table: totals(table) for table in tables}
    for relation in RELATIONS:
        compared = {
            (found[table], found[other]) for table, other in neighbours(tables, relation)
        } | {(found[other], found[table]) for table, other in neighbours(tables, relation)}
        farthest = 0
        for here, there in compared:
            scores = [
                tuple(choice_scores(side, CHOICES, penalties, relation, PARTS))
                for side in (here, there)
            ]
            farthest = max(farthest, *(abs(a - b) for a, b in zip(*scores, strict=True)))
            likely = zip(*map(chances, scores), strict=True)
            assert all(one <= PRICE * other for one, other in likely), (relation, here, there)
        assert farthest <= PARTS


@pytest.mark.parametrize("relation", RELATIONS)
def test_no_score_moves_by_more_than_one_whatever_is_found(relation: Neighbours) -> None:
    choices, penalties = value_choices(6), [0, 3, 11, 12]
    ends = (-1, 0, 1) if relation == "change-one" else (0, 1)
    worst = 0
    for totals in product(range(0, 9, 4), repeat=len(choices)):
        before = choice_scores(totals, choices, penalties, relation)
        for signs in product(ends, repeat=len(choices)):
            moved = [t + s * c for t, s, c in zip(totals, signs, choices, strict=True)]
            after = choice_scores(moved, choices, penalties, relation)
            worst = max(worst, *(abs(a - b) for a, b in zip(before, after, strict=True)))
    assert worst == ROW


@pytest.mark.slow
def test_a_group_that_comes_with_a_unit_brings_nothing_into_the_choice(tmp_path: Path) -> None:
    """A unit may be the only one to keep a group in which others, who keep another, have taken much."""
    policy = write_policy(
        tmp_path, "add-remove", dict.fromkeys(("visits", "stays"), Bounding(6, 1, None))
    )
    plan = priced(PRIVATE, policy.tables).levels[0]
    choices = plan.measurements[0].choices
    assert choices == (1, 2, 4, 6)
    database = Database()
    came = 0
    for secret in range(12):
        sent = compile_plan(plan, layout_of(policy), secret)
        rows: list[Row] = [
            {"person": unit, "city": city, "age": 10 * unit + age}
            for unit in range(3)
            for city in ("Rome", "Oslo")
            for age in range(5)
        ]
        found = []
        for more in ([], [{"person": 9, "city": "Oslo", "age": 100}]):
            database.load("visits", [dict.fromkeys(ENGINE) | row for row in rows + more])
            found.append(database.cells(sent).to_pylist())
        came += len(found[1]) > len(found[0])
        in_all = [{tuple(row["q0"]) for row in cells} for cells in found]
        ((before,), (after,)) = in_all
        assert all(0 <= b - a <= c for a, b, c in zip(before, after, choices, strict=True))
    assert came  # or the groups were there already


@pytest.mark.parametrize("most", [1, 2, 5])
@pytest.mark.parametrize("ratio", [Fraction(1, 3), Fraction(9, 10)])
def test_noise_for_more_values_is_that_for_one_stretched_and_blurred(
    most: int, ratio: Fraction
) -> None:
    """Discrete Laplace noise of ratio r is `most` times one of ratio r^most, plus something independent.

    So who sees counts that move by `most`, with that noise, sees no more than one who sees counts that
    move by 1 with noise as much smaller, and blurs them: what is charged for one value is enough.
    """

    def law(of: Fraction, k: int) -> Fraction:
        return (1 - of) / (1 + of) * of ** abs(k)

    one = [ratio**j * (1 - ratio) / (1 - ratio**most) for j in range(most)]
    blur = dict.fromkeys(range(1 - most, most), Fraction(0))
    for up, down in product(range(most), repeat=2):
        blur[up - down] += prod([one[up], one[down]])
    for k in range(-3 * most, 3 * most + 1):
        blurred = sum(
            law(ratio**most, (k - d) // most) * p for d, p in blur.items() if (k - d) % most == 0
        )
        assert blurred == law(ratio, k)


@pytest.mark.parametrize("cells", [1, 2])
@pytest.mark.parametrize("scale", [Fraction(1, 5), Fraction(10, 3), Fraction(80)])
def test_what_is_charged_covers_every_choice(scale: Fraction, cells: int) -> None:
    for order in ORDERS[::7]:
        charged = renyi_units_upper((LaplaceEvent(scale, cells, 1),), order)
        for most in (2, 4, 100, 256):
            chosen = LaplaceEvent(scale * most, cells * most, most)
            assert renyi_units_upper((chosen,), order) <= charged * (1 + 2**-40)


def test_events_and_price_are_fixed_before_a_row_is_read(tmp_path: Path) -> None:
    for relation in RELATIONS:
        policy = write_policy(
            tmp_path, relation, dict.fromkeys(("visits", "stays"), Bounding(6, 1, None))
        )
        (level,) = priced(ONE, policy.tables, relation, epsilon="1/2", delta=0).levels
        counts, choice = level.charge.events
        assert isinstance(counts, LaplaceEvent)
        assert (counts.l1, counts.linf) == (1, 1)
        assert 1 / counts.scale + choice.epsilon == Fraction(1, 2)  # type: ignore[union-attr]
        noise = level.noises[1]
        assert isinstance(noise, Geometric)
        assert 2 * ROW / noise.scale == choice.epsilon  # type: ignore[union-attr]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("mechanism", [laplace_of, gaussian_of])
def test_counts_have_noise_in_proportion_to_what_was_chosen(
    tmp_path: Path, relation: Neighbours, mechanism: Callable[..., Priced | None]
) -> None:
    limits = dict.fromkeys(("visits", "stays"), Bounding(6, 4, None))
    policy = write_policy(tmp_path, relation, limits)
    (level,) = priced(PUBLIC, policy.tables, relation).levels
    paid = mechanism(level.outline.measuring, Fraction(1), Fraction(1, 10**6))
    assert paid is not None
    level = replace(level, priced=paid)
    (event,) = (e for e in paid.charge.events if not isinstance(e, SelectionEvent))
    for place, most in enumerate((1, 2, 4, 6)):
        counts = [[10, 20, 30, 40]] * 3
        # so many more values are found with this choice, and no more with larger ones
        in_all = [10**9 if other >= place else 0 for other in range(4)]
        exact = pa.table({"k0": ["F", "M", "it's"], "m0": counts, "q0": [in_all] * 3})
        silent = SilentSampler()
        noisy = add_noise(level, exact, silent)
        assert noisy.measurement(0).tolist() == [10 * (place + 1)] * 3
        assert noisy.measurement(1).tolist() == [most] * 3
        _, (noise, cells) = silent.asked
        assert cells == 3
        moved = sensitivity_of_distinct(
            SensitivitySetting(relation, level.outline.limits, False, False), most
        )
        if isinstance(event, GaussianEvent):
            assert isinstance(noise, DiscreteGaussian)
            assert GaussianEvent(noise.sigma2, Fraction(moved.l2_squared)).rho == event.rho
        else:
            assert isinstance(event, LaplaceEvent) and isinstance(noise, DiscreteLaplace)
            assert moved.l1 / noise.scale == event.l1 / event.scale
        shown = as_chosen(plan_of(level), [noisy]).levels[0]
        assert shown.noises[0] == noise
        assert shown.measurements[0].sensitivity == moved
        assert shown.charge == level.charge


def test_without_noise_the_best_choice_is_taken(tmp_path: Path) -> None:
    policy = write_policy(
        tmp_path, "add-remove", dict.fromkeys(("visits", "stays"), Bounding(6, 1, None))
    )
    (level,) = priced(ONE, policy.tables, epsilon=1, delta=0).levels
    silent = SilentSampler()
    assert choose_place(level, 1, [100, 101, 102, 102], silent) == 0  # many share few values
    assert choose_place(level, 1, [100, 200, 400, 600], silent) == 3  # each has their own
    assert choose_place(level, 1, [0, 0, 0, 0], silent) == 0


def test_where_all_find_the_same_a_choice_is_the_rarer_the_noisier_it_is() -> None:
    choices, scale = value_choices(256), Fraction(10 * ROW)
    penalties = choice_penalties(choices, scale, 5.0, 1)
    scores = choice_scores([100] * len(choices), choices, penalties, "add-remove")
    assert scores[0] == 0
    for choice, score in zip(choices[1:], scores[1:], strict=True):
        # by so much noise must exceed that of the best: a chance of no more than one in `choice`
        assert -score >= scale * np.log(choice) * (1 - 1e-9)
