"""One question, as San and as OpenDP is asked it: a statistic of a column, by a public key or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["count", "present", "sum", "mean"]


@dataclass(frozen=True)
class Asked:
    """A statistic of all rows, of one value of them, by one key or none."""

    title: str
    kind: Kind
    key: str = ""
    value: str = ""
    bounds: tuple[int, int] = (0, 1)

    @property
    def sql(self) -> str:
        """The question in SQL."""
        shown = {
            "count": "COUNT(*)",
            "present": f"COUNT({self.value})",
            "sum": f"SUM({self.value})",
            "mean": f"AVG({self.value})",
        }[self.kind]
        if not self.key:
            return f"SELECT {shown} AS n FROM events"
        return f"SELECT {self.key}, {shown} AS n FROM events GROUP BY {self.key}"
