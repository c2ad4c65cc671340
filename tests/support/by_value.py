"""A level that counts rows by the public values of an expression."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa

from sanql.measurements.measurement import Measured, Measurement
from sanql.measurements.sensitivity import (
    SensitivitySetting,
    sensitivity_of_histogram,
)
from sanql.parse.question import parse
from sanql.plan.keys import OneGroup, listed_values
from sanql.plan.level import Level
from sanql.plan.plan import outline
from sanql.plan.pricing import price_levels
from sanql.policy.model import Neighbours, Table

DELTA = Fraction(1, 1000)


def cells_of_values(values: Iterable[int], first: int) -> pa.Table:
    """Return the only cell of whole numbers counted by value: which occur, from `first` on, how often."""
    counted = Counter(value - first for value in values)
    places = sorted(counted)
    lists = {"l0": [places], "m0": [[counted[place] for place in places]]}
    return pa.table({name: pa.array(own, pa.list_(pa.int64())) for name, own in lists.items()})


def level_by_value(
    sql: str,
    tables: Mapping[str, Table],
    neighbours: Neighbours,
    epsilon: Fraction = Fraction(1),
    delta: Fraction = DELTA,
    *,
    other: bool = False,
) -> Level:
    """Return the only level of a question for COUNT(x), with x counted by value besides."""
    query = parse(sql, tables).query
    (level,) = outline(query, tables, neighbours, None, other).levels
    argument = query.aggregates[0].value
    values = listed_values(argument, tables)
    assert values is not None, f"{sql} has no public values"
    setting = SensitivitySetting(
        neighbours, level.limits, isinstance(level.keys, OneGroup), False, other
    )
    parts = (
        *level.measuring.measurements,
        Measurement(Measured.HISTOGRAM, argument, sensitivity_of_histogram(setting), values=values),
    )
    measuring = replace(level.measuring, measurements=parts)
    (priced,), _ = price_levels([measuring], epsilon, delta)
    return Level(replace(level, measuring=measuring), priced)
