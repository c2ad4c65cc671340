"""Rows arranged without an engine are those that the engine would give, bit for bit."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any, cast

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanql.answer.plain_rows import plain_rows
from sanql.answer.post_process import arranged_by_engine
from sanql.measurements import Band
from sanql.question.expressions import (
    AggregateRef,
    Expr,
    Facts,
    KeyRef,
    Literal,
    Ordering,
    Output,
    Query,
    Type,
)

INTEGERS = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats()
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
DATES = st.dates(datetime.date(1, 1, 1), datetime.date(9999, 12, 31))
KINDS: dict[Type, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    Type.INTEGER: (pa.int64(), INTEGERS | st.integers(-2, 2)),
    Type.TEXT: (pa.string(), TEXTS | st.sampled_from(["a", "A", "ä", "Z", "\U0001f600", "\uffff"])),
    Type.BOOLEAN: (pa.bool_(), st.booleans()),
    Type.DATE: (pa.date32(), DATES),
    Type.REAL: (pa.float64(), FLOATS),
}
KEYS = [Type.INTEGER, Type.TEXT, Type.BOOLEAN, Type.DATE]


@st.composite
def plain_questions(draw: st.DrawFn) -> tuple[Query, pa.Table, dict[int, Band]]:
    """A question without anything around its groups, and groups of it."""
    keys = draw(st.lists(st.sampled_from(KEYS), max_size=3))
    values = draw(st.lists(st.sampled_from(list(KINDS)), max_size=3))
    key = st.tuples(*(st.none() | KINDS[kind][1] for kind in keys))
    count = 1 if not keys else None
    found = draw(st.lists(key, unique=True, max_size=8)) if keys else [()]
    columns = {
        f"k{i}": pa.array([row[i] for row in found], KINDS[kind][0]) for i, kind in enumerate(keys)
    }
    rows = count or len(found)
    for i, kind in enumerate(values):
        drawn = draw(st.lists(st.none() | KINDS[kind][1], min_size=rows, max_size=rows))
        columns[f"a{i}"] = pa.array(drawn, KINDS[kind][0])
    refs: list[Expr] = [KeyRef(i, Facts(kind)) for i, kind in enumerate(keys)]
    refs += [AggregateRef(i, Facts(kind)) for i, kind in enumerate(values)]
    shown = draw(st.lists(st.sampled_from(refs), min_size=1, max_size=5)) if refs else []
    outputs = tuple(Output(f"name {i}", ref) for i, ref in enumerate(shown))
    noisy = [i for i, ref in enumerate(shown) if isinstance(ref, AggregateRef)]
    bands = {}
    for i in draw(st.lists(st.sampled_from(noisy), unique=True)) if noisy else []:
        for end in ("low", "high"):
            ends = draw(st.lists(FLOATS, min_size=rows, max_size=rows))
            columns[f"{end}{i}"] = pa.array(ends, pa.float64())
        bands[i] = cast(Band, None)  # only which columns have one matters here
    asked = Query(cast(Any, None), None, tuple(refs[: len(keys)]), (), outputs)
    return asked, pa.table(columns or {"present": [1]}), bands


@pytest.mark.slow
@given(plain_questions())
@settings(max_examples=300, deadline=None)
def test_what_is_arranged_here_is_what_the_engine_arranges(
    asked: tuple[Query, pa.Table, dict[int, Band]],
) -> None:
    query, groups, bands = asked
    if not query.outputs:
        return
    here, there = plain_rows(query, groups, bands), arranged_by_engine(query, groups, bands)
    assert here is not None
    assert here.schema.equals(there.schema, check_metadata=True)
    assert bits(here) == bits(there)


def bits(table: pa.Table) -> list[list[object]]:
    """Return the values of a table's columns; numbers as their bits, so that NaN equals NaN."""
    shown = []
    for column in table.columns:
        values = column.to_pylist()
        exact = column.type == pa.float64()
        shown.append([v.hex() if exact and v is not None else v for v in values])
    return shown


PLAIN = Query(
    cast(Any, None),
    None,
    (KeyRef(0, Facts(Type.TEXT)),),
    (),
    (
        Output("city", KeyRef(0, Facts(Type.TEXT))),
        Output("n", AggregateRef(0, Facts(Type.INTEGER))),
    ),
)
GROUPS = pa.table({"k0": ["b", "a"], "a0": [1, 2]})
TRUE = Literal(value=True, facts=Facts(Type.BOOLEAN))


def test_a_plain_question_needs_no_engine() -> None:
    found = plain_rows(PLAIN, GROUPS, {})
    assert found is not None and found.to_pydict() == {"o0": ["a", "b"], "o1": [2, 1]}


@pytest.mark.parametrize(
    "asked",
    [
        replace(PLAIN, having=TRUE),
        replace(PLAIN, order=(Ordering(PLAIN.outputs[1].expression, True, False),)),
        replace(PLAIN, limit=1),
        replace(PLAIN, offset=1),
        replace(PLAIN, distinct=True),
        replace(PLAIN, sets=((0,), ())),
        replace(PLAIN, outputs=(*PLAIN.outputs, Output("one", TRUE))),
    ],
)
def test_whatever_stands_around_the_groups_is_left_to_the_engine(asked: Query) -> None:
    assert plain_rows(asked, GROUPS, {}) is None


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("a0", pa.array([1.5, 2.5])),  # a whole number is rounded
        ("a0", pa.array([1, 2], pa.int32())),
        ("k0", pa.array(["b", "a"], pa.large_string())),
        ("k0", pa.array(["b", "a"]).dictionary_encode()),
    ],
)
def test_a_column_that_the_engine_would_change_is_left_to_it(column: str, values: pa.Array) -> None:
    groups = GROUPS.set_column(GROUPS.column_names.index(column), column, values)
    assert plain_rows(PLAIN, groups, {}) is None


def test_keys_whose_order_is_another_are_left_to_the_engine() -> None:
    kind = Facts(Type.REAL)
    asked = replace(PLAIN, keys=(KeyRef(0, kind),), outputs=(PLAIN.outputs[1],))
    assert plain_rows(asked, pa.table({"k0": [2.0, 1.0], "a0": [1, 2]}), {}) is None


def test_very_many_groups_are_left_to_the_engine() -> None:
    many = pa.table({"k0": [str(n) for n in range(5000)], "a0": list(range(5000))})
    assert plain_rows(PLAIN, many, {}) is None
