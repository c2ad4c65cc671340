"""What somebody has asked and paid for, as they are shown it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sanql.results.balance import Budget, budget_from_dict, spent_to_dict


@dataclass(frozen=True)
class HistoryEntry:
    """One question of an analyst: `sql` is None where its text was erased, and `parameters` with it.

    These are values that were passed beside the text, as plain data; None where there were none.
    `purpose` says what was paid for where it was not the answer itself, such as finding bounds.
    """

    number: int
    time: datetime
    sql: str | None
    door: str
    price: Budget
    outcome: str
    version: int | None
    purpose: str
    parameters: object = None

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as plain data; the price is rounded up, and given exactly."""
        return {
            "id": self.number,
            "time": self.time.isoformat(),
            "sql": self.sql,
            "door": self.door,
            "price": spent_to_dict(self.price),
            "outcome": self.outcome,
            "version": self.version,
            "purpose": self.purpose,
            "parameters": self.parameters,
        }

    @classmethod
    def from_dict(cls, shape: Mapping[str, Any]) -> HistoryEntry:
        """Return the entry that `to_dict` wrote."""
        return cls(
            number=int(shape["id"]),
            time=datetime.fromisoformat(shape["time"]),
            sql=shape["sql"],
            door=str(shape["door"]),
            price=budget_from_dict(shape["price"]),
            outcome=str(shape["outcome"]),
            version=shape["version"],
            purpose=str(shape["purpose"]),
            parameters=shape.get("parameters"),
        )
