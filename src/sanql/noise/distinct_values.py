"""Distinct values counted with as many values of a unit as is chosen privately, before noise is added.

What is chosen from, how, and why one unit moves the scores by little, is in measurements/value_choice.py.
Only then the counts for the chosen number have noise added, in proportion to that number: what it costs
is fixed beforehand (docs/distinct_values.md). Counts for other numbers are used for nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanql.measurements import Measured, choice_penalties, choice_scores
from sanql.mechanisms import Geometric, Integers, Sampler, add_saturating
from sanql.plan import Level, groups_known, noise_for

if TYPE_CHECKING:
    import pyarrow


class DistinctValues:
    """Chooses once for all groups of a level how many values of a unit count, and counts them."""

    def __init__(self, level: Level, sampler: Sampler) -> None:
        self._level = level
        self._sampler = sampler
        self._places: dict[int, int] = {}  # of the chosen number, by measurement

    def choose(self, exact: pyarrow.Table) -> None:
        """Choose for every count by what is taken in all groups, which each of them has beside its own.

        Where there is no group, nothing is shown, and nothing chosen.
        """
        if self._places or not exact.num_rows:
            return
        for index, measurement in enumerate(self._level.measurements):
            if measurement.kind is Measured.CHOICE:
                assert measurement.of is not None  # noqa: S101  (a choice is for a count)
                totals = exact.column(f"q{measurement.of}")[0].as_py()
                self._places[measurement.of] = choose_place(
                    self._level, index, totals, self._sampler
                )

    def counted(self, exact: pyarrow.Table, index: int) -> Integers:
        """Return the noisy counts of a measurement, for the chosen number."""
        if not exact.num_rows:
            return np.zeros(0, dtype=np.int64)
        place, measurement = self._places[index], self._level.measurements[index]
        lists = exact.column(f"m{index}").combine_chunks().flatten().to_numpy()
        values = lists.reshape(exact.num_rows, len(measurement.choices))[:, place]
        noise = noise_for(self._level, index, measurement.choices[place])
        return add_saturating(values, self._sampler.sample(noise, len(values)))

    def chosen(self, exact: pyarrow.Table, index: int) -> Integers:
        """Return the chosen number, once for each group: it is a part of what is released."""
        of = self._level.measurements[index].of
        assert of is not None  # noqa: S101  (a choice is for a count)
        choices = self._level.measurements[of].choices
        number = choices[self._places[of]] if exact.num_rows else 0
        return np.full(exact.num_rows, number, dtype=np.int64)


def choose_place(level: Level, index: int, totals: list[int], sampler: Sampler) -> int:
    """Return the place of the choice whose noisy score is largest."""
    of, noise = level.measurements[index].of, level.noises[index]
    assert of is not None and isinstance(noise, Geometric)  # noqa: S101  (it is picked)
    choices = level.measurements[of].choices
    noise_of_one = level.noises[of].standard_deviation / choices[-1]
    penalties = choice_penalties(choices, noise.scale, noise_of_one, groups_known(level.outline))
    scores = choice_scores(totals, choices, penalties, level.outline.neighbours)
    drawn = sampler.sample(noise, len(scores))
    return int(np.argmax(add_saturating(np.array(scores, dtype=np.int64), drawn)))
