"""Every cell that leaves has a draw of its own, and a key appears by the draw it is shown with."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from sanql.answer.levels import add_noise_to_levels
from sanql.measurements.measurement import Measured
from sanql.measurements.noisy_cells import NoisyCells
from sanql.mechanisms import Candidates, Geometric, Noise
from sanql.plan.level import Level
from sanql.plan.plan import Plan
from support.by_hand import TABLES
from support.cells import priced

CITIES = 40
MANY, LITTLE = 10**9, -(10**9)
ORDER = random.Random(7).sample(range(CITIES), CITIES)
ROLLED = (
    "SELECT city, born, COUNT(*), SUM(income), MEDIAN(age) FROM visits GROUP BY ROLLUP (city, born)"
)
QUESTIONS = [
    "SELECT city, COUNT(*), SUM(income), AVG(score) FROM visits GROUP BY city",
    "SELECT city FROM visits GROUP BY city",
    "SELECT city, COUNT(*) FROM rows GROUP BY city",
    "SELECT city, MEDIAN(age), QUANTILE_CONT(income, 0.1), COUNT(DISTINCT age) FROM visits GROUP BY city",
    ROLLED,
]
ASKED = [(sql, other) for sql in QUESTIONS for other in (False, True) if sql != ROLLED or not other]


@dataclass
class Numbered:
    """A sampler whose draws are the whole numbers from 0 on, none of them twice."""

    given: int = 0

    def sample(self, noise: Noise, count: int) -> np.ndarray:
        self.given += count
        return np.arange(self.given - count, self.given)

    def choose(self, noise: Geometric, candidates: Candidates) -> int:
        self.given += 1
        return candidates.runs(0).starts[0]

    def secret(self) -> int:
        return 1


def planned(sql: str, epsilon: str, *, other: bool) -> Plan:
    return priced(sql, TABLES, epsilon=epsilon, delta="1e-6", other=other)


def exact_cells(level: Level, keys: int) -> pa.Table:
    """Return cells in an order of their own: every second city surely appears, the others do not,
    and all other measurements are 0."""
    order = ORDER if keys else [0]
    columns: dict[str, pa.Array] = {
        f"k{place}": pa.array([f"{key:02}" for key in order]) for place in range(keys)
    }
    for index, part in enumerate(level.measurements):
        if part.quantile_bins is not None and part.of is None:
            none = pa.array([[] for _ in order], pa.list_(pa.int64()))
            columns |= {f"l{index}": none, f"m{index}": none}
        elif index == level.outline.measuring.selection:
            columns[f"m{index}"] = pa.array([MANY if key % 2 else LITTLE for key in order])
        elif part.choices:
            none = pa.array([[0] * len(part.choices) for _ in order], pa.list_(pa.int64()))
            columns |= {f"q{index}": none, f"m{index}": none}
        elif part.of is None:
            columns[f"m{index}"] = pa.array([0] * len(order), pa.int64())
    return pa.table(columns)


def draws_shown(level: Level, cells: NoisyCells) -> Iterator[int]:
    """Yield what was added to every number that leaves but the count that selects."""
    is_other = cells.other_groups
    for index, part in enumerate(level.measurements):
        if part.kind is Measured.LADDER:
            for counts, other in zip(cells.lists(index), is_other, strict=True):
                yield from [] if other else counts.tolist()
        elif (
            part.quantile_bins is None
            and part.of is None
            and index != level.outline.measuring.selection
        ):
            shown = cells.measurement(index)
            # what does not add up over groups is 0 in the row of the others, and never shown
            yield from (
                n for n, other in zip(shown.tolist(), is_other, strict=True) if n or not other
            )


@pytest.mark.parametrize("epsilon", ["1", "0.001"])
@pytest.mark.parametrize(("sql", "other"), ASKED)
def test_no_draw_serves_two_cells_and_the_draw_that_selects_is_shown(
    sql: str, other: bool, epsilon: str
) -> None:
    plan, sampler = planned(sql, epsilon, other=other), Numbered()
    levels = plan.levels
    exact = [exact_cells(level, len(level.query.keys)) for level in levels]
    noisy = add_noise_to_levels(plan, exact, sampler)
    used: list[int] = []
    for level, cells in zip(levels, noisy.levels, strict=True):
        used += draws_shown(level, cells)
        selection = level.outline.measuring.selection
        if selection is None:
            continue
        selected = cells.measurement(selection)[~cells.other_groups] - MANY
        # drawn for all keys in the order of the engine, shown in the order of the keys; where units are
        # bounded by norm, a key that nobody keeps is none
        scaled = any(part.norm for part in level.measurements)
        drawn = [key for key in ORDER if key % 2 or not scaled]
        start = selected.min() - min(place for place, key in enumerate(drawn) if key % 2)
        shown = [key for key in range(CITIES) if key % 2]
        assert cells.table.column("k0").to_pylist()[: len(shown)] == [f"{key:02}" for key in shown]
        assert selected.tolist() == [start + drawn.index(key) for key in shown]
        used += selected.tolist()
    assert len(set(used)) == len(used)
    assert min(used) >= 0 and max(used) < sampler.given
