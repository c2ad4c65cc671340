"""A table of two kinds of unit is looked at once for each: whose rows are missing, who has too many."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanql.examine import examine
from sanql.policy import load
from support.kinds import hospital


@pytest.mark.slow
def test_each_kind_is_told_of_where_it_is_written(tmp_path: Path) -> None:
    many = [f"({patient}, 1, 1, 'a')" for patient in range(9)]
    visits = ", ".join([*many, "(NULL, 2, 1, 'b')", "(5, NULL, 1, 'b')"])
    policy = load(hospital(tmp_path, visits))
    found = examine(policy, lambda _: None)
    told = [(each.place, each.message) for each in found.findings if "visits" in each.place]
    limits = [words for place, words in told if "rows_per_group_max.doctor" in place]
    assert any("beyond 4 rows of a unit" in words for words in limits)
    assert not any(
        "beyond" in words for place, words in told if "rows_per_group_max.patient" in place
    )
    for kind in ("patient", "doctor"):
        assert any(
            "1 of 11 rows" in words for place, words in told if f"privacy_unit.{kind}" in place
        )
