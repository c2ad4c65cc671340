"""Presets decide what suits a kind of data, say why, and leave blank what nobody can tell."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from sanql.errors import PolicyError
from sanql.policy import ColumnUnit, RowUnit, draft, load
from sanql.policy.presets import PRESETS
from support.commands import run

HEADER = ",patient_id,age,ward\n0,1,2,x\n"


def drafted(folder: Path, header: str, preset: str | None) -> Path:
    (folder / "people.csv").write_text(header)
    text = draft([folder / "people.csv"], "d", preset).replace(folder.as_posix(), ".")
    policy = folder / "policy.toml"
    policy.write_text(text.replace('type = ""', 'type = "text"'))
    return policy


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_leaves_nothing_to_decide_where_one_column_names_somebody(
    tmp_path: Path, preset: str
) -> None:
    policy = load(drafted(tmp_path, HEADER, preset))
    table = policy.tables["people"]
    assert set(table.columns) == {"patient_id", "age", "ward"}, "the index has no name"
    assert policy.neighbours == "add-remove" and policy.accounting == "renyi"
    # odds of 1 : 9 grow to 1 : 3 at most: an epsilon of ln 3, and less where delta may fail, too
    assert Fraction(2, 5) < policy.budget.epsilon < Fraction(11, 10)
    own = {"survey": RowUnit()}.get(preset, ColumnUnit("patient_id"))
    assert table.unit == own
    assert table.unique == (preset == "one-row-per-person")
    assert (table.rows_per_unit_max is None) == (preset == "events")
    text = (tmp_path / "policy.toml").read_text()
    assert text.count("# preset:") >= 4 and ("# proposed" in text) == (preset != "survey")


@pytest.mark.parametrize("header", ["age,ward\n", "user_id,customer_id,age\n"])
def test_a_unit_that_names_do_not_tell_stays_blank(tmp_path: Path, header: str) -> None:
    with pytest.raises(PolicyError) as caught:
        load(drafted(tmp_path, header, "events"))
    (fault,) = caught.value.faults
    assert fault.place.startswith("[table.people] privacy_unit")


def test_without_a_preset_units_are_named_in_a_comment_and_all_is_blank(tmp_path: Path) -> None:
    policy = drafted(tmp_path, HEADER, None)
    assert '# by their names it might be: "patient_id"' in policy.read_text()
    with pytest.raises(PolicyError) as caught:
        load(policy)
    assert len(caught.value.faults) == 6


def test_no_file_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(HEADER)
    policy = tmp_path / "policy.toml"
    words = ["init", tmp_path / "people.csv", "--preset", "events", "-o", policy]
    assert run(*words).exit_code == 0
    before = policy.read_text()
    assert run(*words).exit_code == 2 and policy.read_text() == before
