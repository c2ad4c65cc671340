"""Which share of many instances `make test` runs; `make soak` runs the rest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def few_of(values: Iterable[Any], few: int) -> list[Any]:
    """Return the values as parameters of a test, all but the first few of them for `make soak`.

    One value is one item, a seed for example: items are what the processes that run tests share out.
    """
    values = list(values)
    rest = (pytest.param(value, marks=pytest.mark.soak) for value in values[few:])
    return [*values[:few], *rest]


def few_rows_of(rows: Iterable[tuple[Any, ...]], few: int) -> list[Any]:
    """Return the same for several parameters, whose values each row has."""
    rows = list(rows)
    rest = (pytest.param(*row, marks=pytest.mark.soak) for row in rows[few:])
    return [*rows[:few], *rest]
