"""What came of erasing texts that were typed, as whoever had them erased is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Erasure:
    """The records whose texts were erased; `left` says in words where bytes of them may still be.

    `recorded` is whether the ledger says so: one that is closed takes no record.
    """

    numbers: tuple[int, ...]
    recorded: bool
    left: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"erased": [*self.numbers], "recorded": self.recorded, "left": self.left}

    @classmethod
    def from_dict(cls, shape: Mapping[str, Any]) -> Erasure:
        """Return what `to_dict` wrote."""
        return cls(tuple(map(int, shape["erased"])), bool(shape["recorded"]), str(shape["left"]))
