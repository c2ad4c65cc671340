"""The one place exact values meet noise: exact cells in, noisy cells out, nothing kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sanql.execute.pool import unavailable
from sanql.mechanisms import Sampler, add_saturating
from sanql.plan import Plan
from sanql.plan.keys import OneGroup, PublicKeys

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class NoisyCells:
    """What may leave: the keys that appear and one noisy integer for each measurement."""

    table: pyarrow.Table

    def measurement(self, index: int) -> NDArray[np.int64]:
        """Return the noisy integers of a measurement, one for each group."""
        return self.table.column(f"m{index}").to_numpy()  # type: ignore[no-any-return]

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
    """Return noisy cells: one draw for each cell, then only the keys that pass their threshold.

    The engine returns groups in an order that depends on the data, so the cells are sorted by key.
    """
    import pyarrow as pa

    _check_shape(plan, exact)
    columns = {name: exact.column(name) for name in exact.column_names if name.startswith("k")}
    for index, noise in enumerate(plan.noises):
        values = exact.column(f"m{index}").to_numpy()
        columns[f"m{index}"] = pa.array(add_saturating(values, sampler.sample(noise, len(values))))
    if not columns:
        columns["present"] = exact.column("present")
    table = pa.table(columns)
    selection = plan.outline.measuring.selection
    if selection is not None:
        noisy = table.column(f"m{selection}").to_numpy()
        table = table.filter(pa.array(noisy >= plan.priced.threshold))
    keys = [name for name in table.column_names if name.startswith("k")]
    if keys:
        table = table.sort_by([(name, "ascending") for name in keys])
    return NoisyCells(table.combine_chunks())


def _check_shape(plan: Plan, exact: pyarrow.Table) -> None:
    """Refuse cells whose number would depend on the data where it must not."""
    keys = plan.outline.keys
    expected = 1 if isinstance(keys, OneGroup) else None
    if isinstance(keys, PublicKeys):
        expected = keys.count
    if expected is not None and exact.num_rows != expected:
        raise unavailable()
