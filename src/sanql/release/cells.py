"""The one place exact values meet noise: exact cells in, noisy cells out, nothing else kept.

Cells come from the engine some groups at a time. What is here at once is one such batch, and of the
batches before what may leave: so it takes no more room than the answer, however many groups there are
that the threshold hides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

import numpy as np
from numpy.typing import NDArray

from sanql.execute.pool import unavailable
from sanql.mechanisms import Sampler, add_saturating
from sanql.mechanisms.wheel import Integers
from sanql.plan import Plan
from sanql.plan.keys import OneGroup, PublicKeys
from sanql.plan.measurements import Measured
from sanql.release.picks import pick_quantiles
from sanql.release.rest import REST, Rest, append_rest

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class NoisyCells:
    """What may leave: the keys that appear and one noisy integer for each measurement.

    Of quantiles it is a list of integers: the places picked, and the counts around them.
    """

    table: pyarrow.Table

    def measurement(self, index: int) -> NDArray[np.int64]:
        """Return the noisy integers of a measurement, one for each group."""
        return self.table.column(f"m{index}").to_numpy()  # type: ignore[no-any-return]

    def lists(self, index: int) -> list[NDArray[np.int64]]:
        """Return the integers of a measurement that has several, group by group."""
        return [cell.values.to_numpy() for cell in self.table.column(f"m{index}")]

    def with_measurement(self, index: int, values: NDArray[np.int64]) -> NoisyCells:
        """Return the cells with other integers for a measurement."""
        import pyarrow as pa

        place = self.table.column_names.index(f"m{index}")
        return NoisyCells(self.table.set_column(place, f"m{index}", pa.array(values)))

    @property
    def rest(self) -> NDArray[np.bool_]:
        """Which row holds what the groups that do not appear have together: one, or none."""
        if REST not in self.table.column_names:
            return np.zeros(self.count, dtype=np.bool_)
        return self.table.column(REST).to_numpy()  # type: ignore[no-any-return]

    @property
    def count(self) -> int:
        """The number of groups that appear."""
        return int(self.table.num_rows)

    def to_bytes(self) -> bytes:
        """Return the cells in a form that reads back identically."""
        import pyarrow as pa

        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.table.schema) as writer:
            writer.write_table(self.table)
        return bytes(sink.getvalue())

    @classmethod
    def from_bytes(cls, recorded: bytes) -> NoisyCells:
        """Return cells recorded earlier."""
        import pyarrow as pa

        with pa.ipc.open_stream(recorded) as reader:
            return cls(reader.read_all())


def add_noise(plan: Plan, exact: pyarrow.Table, sampler: Sampler) -> NoisyCells:
    """Return the noisy cells of exact ones that are all here."""
    stage = NoiseStage(plan, sampler)
    stage.take(exact)
    return stage.finish()


class NoiseStage:
    """Takes exact cells batch by batch, and gives noisy ones: only the keys that pass their threshold.

    Every cell of theirs has a draw of its own. Draws are independent, so what is left out needs none
    beyond the one that leaves it out, and it does not matter which batch a group comes in.
    """

    def __init__(self, plan: Plan, sampler: Sampler) -> None:
        self._plan = plan
        self._sampler = sampler
        self._groups = 0
        self._noisy: list[pyarrow.Table] = []
        self._rest = Rest(plan)

    def take(self, exact: pyarrow.Table) -> None:
        """Add noise to the cells of some groups, and forget those of the groups that do not appear."""
        import pyarrow as pa

        self._groups += exact.num_rows
        self._check_no_more()
        selection, threshold = self._plan.outline.measuring.selection, self._plan.priced.threshold
        selected = None
        if selection is not None:
            assert threshold is not None  # noqa: S101  (what selects has one)
            noisy = self._with_noise(exact, selection)
            appears = noisy >= threshold
            if self._plan.outline.other:
                self._rest.add(exact.filter(pa.array(~appears)))
            exact = exact.filter(pa.array(appears))
            selected = pa.array(noisy[appears])
        shown = _sorted(pa.table(self._columns(exact, selected)))
        self._noisy.append(pick_quantiles(self._plan, shown, self._sampler))

    def finish(self) -> NoisyCells:
        """Return all noisy cells, in the order of their keys: the engine's depends on the data."""
        import pyarrow as pa

        if self._expected not in (None, self._groups):
            raise unavailable()
        table = _sorted(pa.concat_tables(self._noisy))
        self._noisy = []
        if self._plan.outline.other:
            table = append_rest(self._plan, table, self._rest, self._sampler)
        return NoisyCells(table.combine_chunks())

    @property
    def _expected(self) -> int | None:
        """How many groups there are where that must not depend on the data."""
        keys = self._plan.outline.keys
        if isinstance(keys, PublicKeys):
            return keys.count
        return 1 if isinstance(keys, OneGroup) else None

    def _check_no_more(self) -> None:
        if self._expected is not None and self._groups > self._expected:
            raise unavailable()

    def _columns(
        self, exact: pyarrow.Table, selected: pyarrow.Array | None
    ) -> dict[str, pyarrow.Array | pyarrow.ChunkedArray]:
        """Return the columns of the groups that appear: their keys, noisy integers, and leaves."""
        import pyarrow as pa

        columns = {name: exact.column(name) for name in exact.column_names if name[0] in "kl"}
        for index, part in enumerate(self._plan.measurements):
            match part.kind:
                case Measured.PICKS:
                    columns[f"m{index}"] = exact.column(f"m{index}")
                case Measured.LADDER | Measured.REST:
                    pass
                case _ if index == self._plan.outline.measuring.selection:
                    columns[f"m{index}"] = selected
                case (
                    Measured.ROWS
                    | Measured.VALUES
                    | Measured.UNITS
                    | Measured.SUM
                    | Measured.DISTINCT
                ):
                    columns[f"m{index}"] = pa.array(self._with_noise(exact, index))
                case _:
                    assert_never(part.kind)
        return columns or {"present": exact.column("present")}

    def _with_noise(self, exact: pyarrow.Table, index: int) -> Integers:
        values = exact.column(f"m{index}").to_numpy()
        drawn = self._sampler.sample(self._plan.noises[index], len(values))
        return add_saturating(values, drawn)


def _sorted(table: pyarrow.Table) -> pyarrow.Table:
    keys = [name for name in table.column_names if name.startswith("k")]
    return table.sort_by([(name, "ascending") for name in keys]) if keys else table
