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


def share_of(values: Iterable[Any], every: int, first: int = 0) -> list[Any]:
    """Return the values as parameters too, all but each so-manieth from the first for `make soak`.

    So that a share of cases in files has some of each file; tests with other firsts have other cases.
    """
    return share_rows_of(((value,) for value in values), every, first)


def share_rows_of(rows: Iterable[tuple[Any, ...]], every: int, first: int = 0) -> list[Any]:
    """Return the same for several parameters, whose values each row has.

    Where rows are a product, a share that has no factor in common with the last number of values has
    all of them.
    """
    return [
        pytest.param(*row, marks=[] if number % every == first else pytest.mark.soak)
        for number, row in enumerate(rows)
    ]
