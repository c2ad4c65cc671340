"""The one place exact values meet noise: exact cells in, noisy cells out, nothing else kept.

Cells come from the engine some groups at a time. What is here at once is one such batch, and of the
batches before what may leave: so it takes no more room than the answer, however many groups there are
that the threshold hides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, assert_never

import numpy as np

from sanql.engines import unavailable
from sanql.measurements import Measured, NoisyCells, noisy_mean, read_off, squares_around
from sanql.mechanisms import Integers, Sampler, add_saturating, drawn_noise
from sanql.noise.distinct_values import DistinctValues
from sanql.noise.histograms import add_noise_to_bins
from sanql.noise.other_groups import OtherGroups, append_other_groups
from sanql.plan import Level, OneGroup, PublicKeys

if TYPE_CHECKING:
    import pyarrow


ROWS = (Measured.ROWS, Measured.UNITS)


def add_noise(level: Level, exact: pyarrow.Table, sampler: Sampler) -> NoisyCells:
    """Return the noisy cells of a whole table of exact cells."""
    stage = NoiseStage(level, sampler)
    stage.take(exact)
    return stage.finish()


class NoiseStage:
    """Takes exact cells batch by batch, and gives noisy ones: only the keys that pass their threshold.

    Every cell of theirs has a draw of its own. Draws are independent, so what is left out needs none
    beyond the one that leaves it out, and it does not matter which batch a group comes in.
    """

    def __init__(self, level: Level, sampler: Sampler) -> None:
        self._level = level
        self._sampler = sampler
        self._groups = 0
        self._noisy: list[pyarrow.Table] = []
        self._other_groups = OtherGroups(level)
        self._distinct_values = DistinctValues(level, sampler)

    def take(self, exact: pyarrow.Table) -> None:
        """Add noise to the cells of some groups, and forget those of the groups that do not appear."""
        import pyarrow as pa

        self._groups += exact.num_rows
        self._check_no_more()
        self._distinct_values.choose(exact)
        selection, threshold = self._level.outline.measuring.selection, self._level.priced.threshold
        selected = None
        if selection is not None:
            assert threshold is not None  # noqa: S101  (what selects has one)
            exact = self._in_use(exact, selection)
            noisy = self._with_noise(exact, selection)
            appears = noisy >= threshold
            if self._level.outline.other:
                self._other_groups.add(exact.filter(pa.array(~appears)))
            exact = exact.filter(pa.array(appears))
            selected = pa.array(noisy[appears])
        shown = _sorted(pa.table(self._columns(exact, selected)))
        self._noisy.append(add_noise_to_bins(self._level, shown, self._sampler))

    def finish(self) -> NoisyCells:
        """Return all noisy cells, in the order of their keys: the engine's depends on the data."""
        import pyarrow as pa

        if self._expected not in (None, self._groups):
            raise unavailable()
        table = _sorted(pa.concat_tables(self._noisy))
        self._noisy = []
        if self._level.outline.other:
            table = append_other_groups(self._level, table, self._other_groups, self._sampler)
        return NoisyCells(table.combine_chunks())

    def _in_use(self, exact: pyarrow.Table, selection: int) -> pyarrow.Table:
        """Return the groups in whose selection some unit counts: by a weight, or as one that is kept.

        Where units are bounded by norm, what they add to other groups is there as well. One unit may be
        the only one in any number of these, and the threshold answers for none of them: so they are no
        groups that could appear.
        """
        import pyarrow as pa

        if all(part.norm is None for part in self._level.measurements):
            return exact
        return exact.filter(pa.array(exact.column(f"m{selection}").to_numpy() > 0))

    @property
    def _expected(self) -> int | None:
        """How many groups there are where that must not depend on the data."""
        keys = self._level.outline.keys
        if isinstance(keys, PublicKeys):
            return keys.count
        return 1 if isinstance(keys, OneGroup) else None

    def _check_no_more(self) -> None:
        if self._expected is not None and self._groups > self._expected:
            raise unavailable()

    def _columns(
        self, exact: pyarrow.Table, selected: pyarrow.Array | None
    ) -> dict[str, pyarrow.Array | pyarrow.ChunkedArray]:
        """Return the columns of the groups that appear: their keys, noisy integers, and exact bins."""
        import pyarrow as pa

        columns = {name: exact.column(name) for name in exact.column_names if name[0] in "kl"}
        pairs = self._pairs(exact)
        for index, measurement in enumerate(self._level.measurements):
            match measurement.kind:
                case Measured.PICKS | Measured.HISTOGRAM:
                    columns[f"m{index}"] = exact.column(f"m{index}")
                case Measured.LADDER | Measured.OTHER_GROUPS:
                    pass
                case _ if index == self._level.outline.measuring.selection:
                    columns[f"m{index}"] = selected
                case _ if measurement.pair is not None:
                    columns[f"m{index}"] = pa.array(pairs[index])
                case Measured.DISTINCT if measurement.choices:
                    columns[f"m{index}"] = pa.array(self._distinct_values.counted(exact, index))
                case Measured.SUM if measurement.around is not None:
                    columns[f"m{index}"] = pa.array(self._squares(exact, index, columns))
                case Measured.CHOICE:
                    columns[f"m{index}"] = pa.array(self._distinct_values.chosen(exact, index))
                case Measured.KEY_WEIGHTS:
                    raise AssertionError("weights select keys, and nothing else is made of them")
                case (
                    Measured.ROWS
                    | Measured.VALUES
                    | Measured.UNITS
                    | Measured.SUM
                    | Measured.BELOW
                    | Measured.DISTINCT
                ):
                    columns[f"m{index}"] = pa.array(self._with_noise(exact, index))
                case _:
                    assert_never(measurement.kind)
        return columns or {"present": exact.column("present")}

    def _pairs(self, exact: pyarrow.Table) -> dict[int, Integers]:
        """Return sums and counts that are measured in pairs, read off their two noisy sides."""
        found = {}
        for index, measurement in enumerate(self._level.measurements):
            if measurement.kind is Measured.SUM and measurement.pair is not None:
                other = measurement.pair.partner
                above, below = (self._with_noise(exact, side) for side in (index, other))
                found[index], found[other] = read_off(above, below)
        return found

    def _squares(
        self, exact: pyarrow.Table, index: int, columns: Mapping[str, pyarrow.Array]
    ) -> Integers:
        """Return noisy sums of squares, each around the noisy mean that is released with it."""
        parts = self._level.measurements
        of = parts[index].around
        assert of is not None  # noqa: S101  (it is around the mean of another)
        # the count of rows that no unit can change
        (count,) = (i for i, p in enumerate(parts) if p.sensitivity.zero and p.kind in ROWS)
        names = f"m{of}", f"m{index}", f"m{count}"
        sums, squares, rows = (exact.column(name).to_pylist() for name in names)
        found = []
        for place, noisy in enumerate(columns[f"m{of}"].to_pylist()):
            mean = noisy_mean(parts[of], noisy, rows[place])
            own = sums[place], squares[place]
            found.append(squares_around(parts[of], parts[index], mean, own, rows[place]))
        values = np.array(found, dtype=np.int64)
        return add_saturating(values, self._sampler.sample(self._level.noises[index], len(values)))

    def _with_noise(self, exact: pyarrow.Table, index: int) -> Integers:
        values = exact.column(f"m{index}").to_numpy()
        noise = drawn_noise(self._level.noises[index])
        return add_saturating(values, self._sampler.sample(noise, len(values)))


def _sorted(table: pyarrow.Table) -> pyarrow.Table:
    keys = [name for name in table.column_names if name.startswith("k")]
    return table.sort_by([(name, "ascending") for name in keys]) if keys else table
