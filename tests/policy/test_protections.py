"""Public attributes and groups: read from the policy, and what is wrong with them named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sanql.errors import PolicyError
from sanql.policy import Group, Protections, load

Write = Callable[[str], Path]

POLICY = """
[dataset]
name = "school"
source = "school"
neighbours = "add-remove"
accounting = "pure"
budget = {{ epsilon = 1 }}

[table.pupils]
privacy_unit = "pupil_id"
unique = true
{declared}
[table.pupils.column]
town = {{ type = "text" }}
class = {{ type = "integer" }}

[table.marks]
privacy_unit = {{ via = "pupil", references = "pupils" }}
rows_per_unit_max = 4

[table.visits]
privacy_unit = "pupil_id"
rows_per_unit_max = 3

[table.buildings]
privacy_unit = "building_id"
rows_per_unit_max = 3

[table.towns]
public = true
"""


def test_what_is_declared_holds_for_all_tables_of_the_same_units(write: Write) -> None:
    declared = 'public_attributes = ["town"]\ngroup = { column = "class", size = 30 }'
    tables = load(write(POLICY.format(declared=declared))).tables
    expected = Protections(("town",), Group(30, "class"))
    for name in ("pupils", "marks", "visits"):
        assert tables[name].protections == expected
    assert tables["buildings"].protections is None
    assert tables["towns"].protections is None


@pytest.mark.parametrize(
    ("declared", "fault"),
    [
        ('public_attributes = ["tow"]', "no column"),
        ("public_attributes = []", "no list of columns"),
        ('public_attributes = ["town", "town"]', "twice"),
        ("group = { size = 1 }", "2"),
        ("group = { size = 1001 }", "1000"),
        ('group = { column = "class" }', "size"),
        ("group = { size = 3, sze = 4 }", "sze"),
    ],
)
def test_what_is_wrong_is_named(write: Write, declared: str, fault: str) -> None:
    with pytest.raises(PolicyError) as raised:
        load(write(POLICY.format(declared=declared)))
    assert fault in str(raised.value)


def test_a_public_table_protects_nobody(write: Write) -> None:
    text = POLICY.format(declared="") + "group = { size = 3 }\n"
    with pytest.raises(PolicyError, match="a public table has no group"):
        load(write(text))
