"""The one place exact values meet noise: exact cells in, noisy cells out, nothing kept."""

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
from sanql.release.picks import count_around, leaf_rows, pick
from sanql.release.rest import REST, append_rest

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
    """Return noisy cells: only the keys that pass their threshold, and a draw for each cell of them.

    Draws are independent, so what is left out needs none beyond the one that leaves it out. The
    engine returns groups in an order that depends on the data, so the cells are sorted by key.
    """
    import pyarrow as pa

    _check_shape(plan, exact)
    selection, threshold = plan.outline.measuring.selection, plan.priced.threshold
    selected = hidden = None
    if selection is not None:
        assert threshold is not None  # noqa: S101  (what selects has one)
        noisy = _noisy(plan, exact, selection, sampler)
        appears = noisy >= threshold
        hidden = exact.filter(pa.array(~appears)) if plan.outline.other else None
        exact = exact.filter(pa.array(appears))
        selected = pa.array(noisy[appears])
    columns = {name: exact.column(name) for name in exact.column_names if name[0] in "kl"}
    for index, part in enumerate(plan.measurements):
        match part.kind:
            case Measured.PICKS:
                columns[f"m{index}"] = exact.column(f"m{index}")
            case Measured.LADDER | Measured.REST:
                pass
            case _ if index == selection:
                columns[f"m{index}"] = selected
            case (
                Measured.ROWS | Measured.VALUES | Measured.UNITS | Measured.SUM | Measured.DISTINCT
            ):
                columns[f"m{index}"] = pa.array(_noisy(plan, exact, index, sampler))
            case _:
                assert_never(part.kind)
    if not columns:
        columns["present"] = exact.column("present")
    table = pa.table(columns)
    keys = [name for name in table.column_names if name.startswith("k")]
    if keys:
        table = table.sort_by([(name, "ascending") for name in keys])
    if hidden is not None:
        table = append_rest(plan, table, hidden, sampler)
    return NoisyCells(_pick(plan, table, sampler).combine_chunks())


def _noisy(plan: Plan, exact: pyarrow.Table, index: int, sampler: Sampler) -> Integers:
    values = exact.column(f"m{index}").to_numpy()
    return add_saturating(values, sampler.sample(plan.noises[index], len(values)))


def _pick(plan: Plan, table: pyarrow.Table, sampler: Sampler) -> pyarrow.Table:
    """Return the cells of the groups that appear with quantiles picked, and no leaf left."""
    import pyarrow as pa

    for index, part in enumerate(plan.measurements):
        if part.kind is not Measured.LADDER:
            continue
        assert part.of is not None  # noqa: S101  (a ladder stands around picks)
        picks = plan.measurements[part.of]
        assert picks.leaves is not None  # noqa: S101
        picked, counted = [], []
        for rows in leaf_rows(picks.leaves, table, part.of):
            places = pick(picks, rows, plan.noises[part.of], sampler)
            around = count_around(picks.leaves, rows, places, plan.noises[index], sampler)
            picked.append(places)
            counted.append(around)
        whole = pa.list_(pa.int64())
        table = table.drop_columns([f"l{part.of}", f"m{part.of}"])
        table = table.append_column(f"m{part.of}", pa.array(picked, whole))
        table = table.append_column(f"m{index}", pa.array(counted, whole))
    return table


def _check_shape(plan: Plan, exact: pyarrow.Table) -> None:
    """Refuse cells whose number would depend on the data where it must not."""
    keys = plan.outline.keys
    expected = 1 if isinstance(keys, OneGroup) else None
    if isinstance(keys, PublicKeys):
        expected = keys.count
    if expected is not None and exact.num_rows != expected:
        raise unavailable()
