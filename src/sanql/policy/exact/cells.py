"""What every exact declaration has: its cells, and the guarantee that is accepted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sanql.policy.model import Value


@dataclass(frozen=True)
class Cells:
    """The base partition: every combination of the listed values of public columns is a cell."""

    columns: tuple[tuple[str, tuple[Value, ...]], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the partition."""
        return tuple(name for name, _ in self.columns)

    @property
    def count(self) -> int:
        """How many cells there are; without columns the whole table is one."""
        return math.prod(len(values) for _, values in self.columns)

    def keys(self) -> list[tuple[Value, ...]]:
        """Return every cell's values, in the order in which the policy lists them."""
        return list(product(*(values for _, values in self.columns)))


@dataclass(frozen=True)
class Acceptance:
    """The guarantee the owner accepts for one exact release."""

    epsilon: Fraction
    delta: Fraction
