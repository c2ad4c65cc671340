"""The noisy cells of one level, as the table that is released and put on record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sanql.computed_once import computed_once

if TYPE_CHECKING:
    import pyarrow

OTHER_GROUPS_COLUMN = "other"  # the column of the cells that is true in that row


@dataclass(frozen=True)
class NoisyCells:
    """What may be released: the keys that appear, and one noisy integer for each measurement.

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

    def with_found(self, place: int, values: pyarrow.Array[pyarrow.Scalar]) -> NoisyCells:
        """Return the cells with a value for each group that was found in a level apart."""
        return NoisyCells(self.table.append_column(f"v{place}", values))

    def found(self, place: int) -> list[object]:
        """Return the value that was found in a level apart, for each group."""
        return self.table.column(f"v{place}").to_pylist()  # type: ignore[no-any-return]

    @property
    def other_groups(self) -> NDArray[np.bool_]:
        """Which row holds what the groups that do not appear have together: one, or none."""
        if OTHER_GROUPS_COLUMN not in self.table.column_names:
            return np.zeros(self.count, dtype=np.bool_)
        return self.table.column(OTHER_GROUPS_COLUMN).to_numpy()  # type: ignore[no-any-return]

    @computed_once
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
