"""Bounds left for San to find, and limits left undecided: what is accepted, and every fault at once."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from sanql.errors import PolicyError
from sanql.policy import load
from sanql.policy.model import AutoBounds

Write = Callable[[str], Path]
Text = Callable[..., str]

TABLE = """
[table.people]
privacy_unit = "person_id"
unique = true
[table.people.column]
"""
PRICE = {"auto_bounds": "{ epsilon = 0.05 }"}


def faults(path: Path) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        load(path)
    return [f"{fault.place}: {fault.message}; {fault.remedy}" for fault in caught.value.faults]


def test_a_number_may_have_its_bounds_found(write: Write, policy_text: Text) -> None:
    columns = """
age = { type = "integer", bounds = "auto" }
income = { type = "decimal", bounds = "auto", precision = 0.01 }
weight = { type = "float", bounds = "auto" }
height = { type = "float", bounds = [0, 3] }
"""
    policy = load(write(policy_text(PRICE, TABLE + columns)))
    found = {name: c.bounds_auto for name, c in policy.tables["people"].columns.items()}
    assert found == {"age": True, "income": True, "weight": True, "height": False}
    assert policy.tables["people"].columns["age"].bounds is None
    assert policy.auto_bounds == AutoBounds(Fraction(1, 20))


def test_without_such_columns_there_is_no_price(write: Write, policy_text: Text) -> None:
    assert load(write(policy_text())).auto_bounds is None


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (
            'day = { type = "date", bounds = "auto" }',
            "is for numbers & write bounds = [first, last]",
        ),
        ('name = { type = "text", bounds = "auto" }', "is for numbers & remove bounds"),
        ('ok = { type = "boolean", bounds = "auto" }', "is for numbers & remove bounds"),
        ('pay = { type = "decimal", bounds = "auto" }', "precision is missing beside bounds"),
        ('age = { type = "integer", bounds = "Auto" }', 'not "Auto" & bounds = "auto"'),
        ('day = { type = "date", bounds = "Auto" }', 'not "Auto" & [lowest, highest]'),
    ],
)
def test_what_cannot_be_found_is_named(
    write: Write, policy_text: Text, column: str, words: str
) -> None:
    (fault,) = faults(write(policy_text(PRICE, TABLE + column)))
    assert [word for word in words.split(" & ") if word not in fault] == []


@pytest.mark.parametrize(
    ("price", "words"),
    [
        ("0.05", "expected a section with keys, not 0.05"),
        ("{ }", "epsilon is missing"),
        ("{ epsilon = 0 }", "0 is not above 0"),
        ("{ epsilon = 4 }", "4 leaves nothing of the dataset's epsilon 4"),
        ("{ epsilon = 0.1, delta = 1e-6 }", 'unknown key "delta"'),
    ],
)
def test_a_price_that_is_none_is_named(
    write: Write, policy_text: Text, price: str, words: str
) -> None:
    (fault,) = faults(write(policy_text({"auto_bounds": price})))
    assert fault.startswith("[dataset] auto_bounds")
    assert words in fault


def test_all_faults_are_told_at_once(write: Write, policy_text: Text) -> None:
    """Also where the table that needs the price has faults of its own."""
    tables = """
[table.people]
privacy_unit = "person_id"
[table.people.column]
age = { type = "integer", bounds = "auto" }
[table.cities]
public = true
[table.cities.column]
size = { type = "integer", bounds = "auto" }
"""
    found = faults(write(policy_text(tables=tables)))
    assert len(found) == 3
    assert "auto_bounds is missing, and a column has bounds" in found[0]
    assert "rows_per_unit_max is missing" in found[1]
    assert "a public table hides nothing" in found[2]


def test_an_exact_answer_needs_declared_bounds(write: Write, policy_text: Text) -> None:
    more = """
[exact.age]
adversary = { class = "uniform-component", eta = 0.1, known_records = 10 }
accept = { epsilon = 0.1, delta = 1e-9 }
"""
    column = 'age = { type = "integer", bounds = "auto" }'
    (fault,) = faults(write(policy_text(PRICE, TABLE + column, more)))
    assert '"age" has no bounds' in fault


UNDECIDED = """
[table.visits]
privacy_unit = "person_id"
rows_per_unit_max = "undecided"
"""


def test_an_owner_may_be_undecided_about_limits(write: Write, policy_text: Text) -> None:
    table = load(write(policy_text(tables=UNDECIDED))).tables["visits"]
    limits = table.rows_per_unit_max, table.rows_per_group_max, table.groups_per_unit_max
    assert limits == (None, None, None)


@pytest.mark.parametrize(
    "key", ["unique = true", "rows_per_group_max = 2", "groups_per_unit_max = 1"]
)
def test_an_undecided_table_has_no_other_limit(write: Write, policy_text: Text, key: str) -> None:
    (fault,) = faults(write(policy_text(tables=UNDECIDED + key)))
    assert 'is written beside rows_per_unit_max = "undecided"' in fault


def test_rows_are_never_undecided(write: Write, policy_text: Text) -> None:
    (fault,) = faults(write(policy_text(tables=UNDECIDED.replace('"person_id"', '"row"'))))
    assert "there is no rows_per_unit_max" in fault
