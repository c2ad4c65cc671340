"""A profile of a table as a server sends it: plain data and words, for which no engine is needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sanql.visible import visible


@dataclass(frozen=True, repr=False)
class ReceivedProfile:
    """What is known, privately, of the units of a table, as a server says it."""

    table: str
    version: int
    time: datetime
    shape: Mapping[str, Any]
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Return what is known as plain data."""
        return dict(self.shape)

    @classmethod
    def from_dict(cls, shape: Mapping[str, Any]) -> ReceivedProfile:
        """Return the profile that a server has sent, with its words."""
        known = {name: value for name, value in shape.items() if name != "text"}
        time = datetime.fromisoformat(shape["time"])
        return cls(shape["table"], int(shape["version"]), time, known, str(shape["text"]))

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return visible(self.text, lines=True)
