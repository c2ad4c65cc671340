"""Cells meet noise batch by batch: however the engine divides and orders them, the same may leave."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

from noise.test_draws import (
    ASKED,
    CITIES,
    MANY,
    Numbered,
    draws_shown,
    exact_cells,
    planned,
)
from sanql.compile.cells import CELL_LIMIT
from sanql.errors import Unavailable
from sanql.measurements.noisy_cells import NoisyCells
from sanql.noise.cells import NoiseStage, add_noise
from sanql.noise.other_groups import OtherGroups
from sanql.plan.level import Level


def divided(cells: pa.Table, rng: random.Random) -> list[pa.Table]:
    """Return the cells in another order, in batches of any size, some of them empty."""
    order = rng.sample(range(cells.num_rows), cells.num_rows)
    cuts = sorted(rng.choices(range(cells.num_rows + 1), k=rng.randrange(6)))
    ends = [0, *cuts, cells.num_rows]
    mixed = cells.take(pa.array(order, pa.int64()))
    return [mixed.slice(start, stop - start) for start, stop in pairwise(ends)]


def in_batches(plan: Level, batches: list[pa.Table], sampler: Any) -> NoisyCells:
    stage = NoiseStage(plan, sampler)
    for batch in batches:
        stage.take(batch)
    return stage.finish()


@pytest.mark.slow
@pytest.mark.parametrize(("sql", "other"), ASKED)
def test_batches_are_the_engines_choice_and_change_nothing(
    sql: str, other: bool, silent: Any
) -> None:
    rng = random.Random(sql)
    for level in planned(sql, "1", other=other).levels:
        cells = exact_cells(level, len(level.query.keys))
        whole = add_noise(level, cells, silent)
        for _ in range(5):
            assert in_batches(level, divided(cells, rng), silent).table.equals(whole.table)


@pytest.mark.parametrize(("sql", "other"), ASKED)
def test_no_draw_serves_two_cells_of_different_batches(sql: str, other: bool) -> None:
    rng = random.Random(sql)
    for level in planned(sql, "1", other=other).levels:
        sampler = Numbered()
        cells = in_batches(level, divided(exact_cells(level, len(level.query.keys)), rng), sampler)
        used = list(draws_shown(level, cells))
        selection = level.outline.measuring.selection
        if selection is not None:
            selected = cells.measurement(selection)[~cells.other_groups] - MANY
            assert len(selected) == CITIES // 2
            used += selected.tolist()
        assert len(set(used)) == len(used)


@pytest.mark.parametrize("rows", [[1, 1], [2], [], [0], [0, 2, 0]])
def test_a_number_of_groups_that_depends_on_data_is_no_answer_in_batches_either(
    rows: list[int], silent: Any
) -> None:
    plan = planned("SELECT COUNT(*) FROM rows", "1", other=False).levels[0]
    with pytest.raises(Unavailable):
        in_batches(plan, [pa.table({"m0": pa.array([1] * n, pa.int64())}) for n in rows], silent)


def test_only_the_whole_sum_of_other_groups_is_held_within_its_limit() -> None:
    """Held batch by batch, it would depend on which groups the engine puts together."""
    sql = "SELECT city, SUM(income) FROM visits GROUP BY city"
    plan = planned(sql, "1", other=True).levels[0]
    (index,) = set(OtherGroups(plan).exact()) - {plan.outline.measuring.other_groups}
    parts = [[CELL_LIMIT] * 3, [-CELL_LIMIT] * 3, [5]]
    hidden = OtherGroups(plan)
    zeros = {f"m{i}": 0 for i, part in enumerate(plan.measurements) if part.of is None}
    for values in parts:
        columns = {name: [0] * len(values) for name in zeros} | {f"m{index}": values}
        hidden.add(pa.table({name: pa.array(cells, pa.int64()) for name, cells in columns.items()}))
    assert hidden.exact()[index] == 5
