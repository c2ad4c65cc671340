"""The canonical text of a shape is the JSON that the standard library writes, with sorted labels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, datetime
from enum import StrEnum
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanql.canonical import (
    ByName,
    Named,
    Shape,
    Word,
    WrittenOnce,
    canonical_text,
    first_text,
    named_inside,
)


class Colour(StrEnum):
    RED = 'r"ed'


def plain(shape: Shape) -> object:
    """Return a shape as JSON's own types: the definition of form 2, written the slow way."""
    match shape:
        case Named(name, parts, later):
            return {"is": name, "of": {k: plain(v) for k, v in {**parts, **later}.items()}}
        case Word(name, _, value):
            return {"word": value, "of": name}
        case ByName(entries):
            return {"table": {k: plain(v) for k, v in entries.items()}}
        case None | bool() | int() | str():
            return shape
        case float():
            return {"float": shape.hex()}
        case Fraction():
            return {"fraction": f"{shape.numerator}/{shape.denominator}"}
        case datetime():
            return {"time": shape.isoformat()}
        case date():
            return {"date": shape.isoformat()}
        case Sequence():
            return [plain(part) for part in shape]


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(), st.floats(), st.fractions(), st.dates(),
    st.datetimes(), st.sampled_from(Colour), st.builds(Word, st.text(), st.text(), st.text()),
)  # fmt: skip
SHAPES = st.recursive(
    LEAVES,
    lambda inside: st.one_of(
        st.lists(inside),
        st.lists(inside).map(tuple),
        st.builds(ByName, st.dictionaries(st.text(), inside)),
        st.builds(
            Named,
            st.text(),
            st.dictionaries(st.text(), inside),
            st.dictionaries(st.text(), inside, max_size=2),
        ),
    ),
)


@pytest.mark.slow
@given(SHAPES)
def test_a_shape_is_written_as_sorted_json(shape: Shape) -> None:
    written = json.dumps(plain(shape), sort_keys=True, separators=(",", ":"))
    assert canonical_text(shape) == written


def test_what_has_no_form_is_refused_by_its_type() -> None:
    with pytest.raises(TypeError, match="set has no canonical form"):
        canonical_text({1, 2})  # type: ignore[arg-type]


def test_a_shape_that_is_written_once_reads_as_it_would_without() -> None:
    low, high = Named("End", {"at": Fraction(1, 2)}), Named("End", {"at": 3})
    plain_pair = Named("Pair", {"low": low, "high": (high, None)})
    written = Named("Pair", {"low": WrittenOnce(low), "high": WrittenOnce((high, None))})
    for _ in range(2):
        assert canonical_text(written) == canonical_text(plain_pair)
        assert first_text(written) == first_text(plain_pair)
        assert sorted(map(repr, named_inside(written)[1:])) == sorted(
            map(repr, named_inside(plain_pair)[1:])
        )
