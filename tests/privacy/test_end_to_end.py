"""Through San itself: neighbours see the same charge, columns, types, noise and public groups; and
what the noise protects fits what is charged.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from privacy.grammar import Grammar
from privacy.oracle import fill
from privacy.worlds import UNITS, Bounding, Row, draw_units, neighbour_of, write_policy
from sanql.errors import Refused
from sanql.mechanisms import DiscreteGaussian, Noise, drawn_noise
from sanql.noise.cells import add_noise
from sanql.plan.chosen_values import noise_for
from sanql.plan.keys import PrivateKeys
from sanql.plan.level import Level
from sanql.policy.model import Neighbours
from sanql.results.answer import Answer
from sanql.san import San
from support.plans import plan_of
from support.samplers import SilentSampler
from support.volume import few_of

pytestmark = pytest.mark.usefixtures("in_this_process")

Exact = Callable[..., tuple[Any, list[dict[str, Any]]]]
LIMITS = {"visits": Bounding(4, 2, 3), "stays": Bounding(3, 3, None)}


def opened(folder: Path, tables: dict[str, list[Row]], neighbours: Neighbours) -> San:
    """Return a silent San over these rows."""
    folder.mkdir()
    with duckdb.connect(str(folder / "data.duckdb")) as connection:
        fill(connection, tables)
    return San(write_policy(folder, neighbours, LIMITS), sampler=SilentSampler())


def outcome(san: San, sql: str) -> tuple[Answer | None, list[Any]]:
    """Return the answer, or None where the question is refused, and the noise asked for."""
    sampler = san.session.sampler
    assert isinstance(sampler, SilentSampler)
    sampler.asked.clear()
    try:
        return san.query(sql, epsilon="0.5", delta="1e-6"), list(sampler.asked)
    except Refused:
        return None, []


@pytest.mark.slow
@pytest.mark.parametrize("seed", few_of([77, 78, 79], 1))
@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_neighbours_are_charged_and_shown_alike(
    neighbours: Neighbours, seed: int, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    grammar = Grammar(rng)
    ours = {table: draw_units(rng, table) for table in UNITS}
    theirs = {t: neighbour_of(rng, t, units, neighbours) for t, units in ours.items()}
    flat = [{t: [r for unit in us for r in unit] for t, us in d.items()} for d in (ours, theirs)]
    answered = 0
    with (
        opened(tmp_path / "a", flat[0], neighbours) as left,
        opened(tmp_path / "b", flat[1], neighbours) as right,
    ):
        while answered < 7:
            sql = grammar.question(rng.choice(list(UNITS)))
            (one, asked), (other, asked_there) = outcome(left, sql), outcome(right, sql)
            assert (one is None) == (other is None), sql
            if one is None or other is None:
                continue
            answered += 1
            assert one.charge == other.charge, sql
            assert one.remaining == other.remaining, sql
            assert one.certificate == other.certificate, sql
            assert one.noise == other.noise, sql
            assert one.table.schema == other.table.schema, sql
            assert list(one.intervals) == list(other.intervals), sql
            (planned,) = plan_of(left, sql, epsilon="0.5", delta="1e-6").levels
            if any(part.quantile_bins is not None for part in planned.measurements):
                # places are picked group by group, and where the first lie says where the next are
                assert {noise for noise, _ in asked} <= set(drawn(planned)), sql
                continue
            if not isinstance(planned.outline.keys, PrivateKeys):
                assert asked == asked_there, sql
            if any(part.choices for part in planned.measurements):
                # how many values of a unit count is drawn, and the noise is in proportion to it
                assert {noise for noise, _ in asked} <= {*drawn(planned), *of_each_choice(planned)}
                assert len(asked) == len(drawn(planned)), sql
                continue
            assert Counter(noise for noise, _ in asked) == Counter(drawn(planned)), sql


def drawn(planned: Level) -> list[Noise]:
    """Return the noise that is drawn for each measurement: a side of a pair has one of two parts."""
    return list(map(drawn_noise, planned.noises))


def of_each_choice(planned: Level) -> set[Noise]:
    """Return the noises that counts of distinct values may have, one for each number that may count."""
    return {
        noise_for(planned, index, chosen)
        for index, part in enumerate(planned.measurements)
        for chosen in part.choices
    }


def busiest(*places: str) -> list[Row]:
    """Return one person who does as much as the limits allow, in each of these groups."""
    return [
        {"person": 9, "sex": place, "city": place, "age": 40, "swing": -5}
        for place in places
        for _ in range(2)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
@pytest.mark.parametrize("key", ["sex", "city"])
def test_gaussian_noise_covers_how_far_neighbours_lie_apart(
    key: str, neighbours: Neighbours, exact: Exact
) -> None:
    rest: list[Row] = [{"person": n, "sex": "F", "city": "F", "age": 0} for n in range(3)]
    there = rest if neighbours == "add-remove" else rest + busiest("it's")
    sql = f"SELECT {key}, COUNT(*), SUM(age), AVG(income), AVG(temp) FROM visits GROUP BY {key}"
    planned, cells = exact(sql, rest + busiest("F", "M"), neighbours=neighbours)
    _, others = exact(sql, there, neighbours=neighbours)
    cells, others = _in_steps(planned, cells), _in_steps(planned, others)
    sampler = SilentSampler()
    add_noise(planned, _arrow(planned, cells), sampler)
    assert Counter(noise for noise, _ in sampler.asked) == Counter(planned.noises)
    assert all(isinstance(noise, DiscreteGaussian) for noise in planned.noises)
    moved = _moved(planned, cells, others)
    squares = zip(moved, planned.noises, strict=True)
    mu = math.sqrt(sum(square / float(noise.sigma2) for square, noise in squares))
    assert mu > 0.1
    assert _gaussian_delta(mu, float(planned.charge.epsilon)) <= float(planned.charge.delta)


def _in_steps(planned: Any, cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return cells as noise finds them: in parts of a row where a norm bounds them."""
    scales = {f"m{i}": part.scale for i, part in enumerate(planned.measurements)}
    return [
        {name: int(cell[name] * scales[name]) if name in scales else cell[name] for name in cell}
        for cell in cells
    ]


def _arrow(planned: Any, cells: list[dict[str, Any]]) -> pa.Table:
    names = [f"k{i}" for i in range(len(planned.query.keys))]
    names += [f"m{i}" for i in range(len(planned.measurements))]
    return pa.table({name: pa.array([cell[name] for cell in cells]) for name in names})


def _moved(planned: Any, left: list[dict[str, Any]], right: list[dict[str, Any]]) -> list[int]:
    here, there = ({cell["k0"]: cell for cell in cells} for cells in (left, right))
    zero = {f"m{i}": 0 for i in range(len(planned.measurements))}
    return [
        sum(
            (here.get(key, zero)[f"m{i}"] - there.get(key, zero)[f"m{i}"]) ** 2
            for key in here.keys() | there.keys()
        )
        for i in range(len(planned.measurements))
    ]


def _gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the hockey-stick divergence of Gaussians mu standard deviations apart.

    Squares add up over cells and measurements; discrete noise this wide is as good as continuous.
    """
    normal = NormalDist()
    return normal.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * normal.cdf(
        -mu / 2 - epsilon / mu
    )
