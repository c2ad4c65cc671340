"""A table under another name is the same data: changed files are not read under it without `refresh`."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanql.account.versions import Version, version_after
from sanql.errors import Refused
from sanql.policy import load
from sanql.san import San

POLICY = """
[dataset]
name = "{name}"
source = "{source}"
neighbours = "add-remove"
budget = {{ epsilon = 100, delta = 0 }}
accounting = "pure"
{tables}
"""
PEOPLE = '[table.people]\nprivacy_unit = "id"\nunique = true\n'
COUNT = "SELECT COUNT(*) FROM people"


class Place:
    """A folder with data, and policies over them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "data").mkdir()

    def write(self, rows: int, name: str = "people.csv") -> None:
        text = "".join(f"{i},1\n" for i in range(rows))
        (self.root / "data" / name).write_text(f"id,one\n{text}")

    def san(self, tables: str, source: str = "data", name: str = "own") -> San:
        path = self.root / f"{name}.toml"
        path.write_text(POLICY.format(name=name, source=source, tables=tables))
        return San(load(path))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "registry"))
    return Place(tmp_path)


RENAMED = {
    "by case, in a folder": ("data", "People"),
    "all in capitals, in a folder": ("data", "PEOPLE"),
    "by case, of one file": ("data/people.csv", "People"),
    "otherwise, of one file": ("data/people.csv", "persons"),
}


@pytest.mark.parametrize("way", RENAMED)
def test_changed_data_are_not_read_under_another_name(place: Place, way: str) -> None:
    source, name = RENAMED[way]
    place.write(10)
    with place.san(PEOPLE, source) as san:
        assert san.query(COUNT, epsilon="1").version == 1
    place.write(5)
    renamed = PEOPLE.replace("people", name)
    with place.san(renamed, source) as san:
        for _ in range(2):
            with pytest.raises(Refused) as refused:
                san.query(f"SELECT COUNT(*) FROM {name}", epsilon="2")
            assert refused.value.code == "source_changed"
        assert san.budget()[0].spent_upper.epsilon == 1
        san.refresh()
        assert san.query(f"SELECT COUNT(*) FROM {name}", epsilon="2").version == 2
    with place.san(PEOPLE, source) as san:
        assert san.query(COUNT, epsilon="3").version == 2


@pytest.mark.parametrize("way", RENAMED)
def test_the_same_data_are_the_same_version_under_another_name(place: Place, way: str) -> None:
    source, name = RENAMED[way]
    place.write(10)
    with place.san(PEOPLE, source) as san:
        san.query(COUNT, epsilon="1")
    with place.san(PEOPLE.replace("people", name), source) as san:
        assert san.query(f"SELECT COUNT(*) FROM {name}", epsilon="2").version == 1


def test_a_ledger_in_which_one_table_was_stamped_under_two_spellings_is_read_and_holds_neither() -> (
    None
):
    first = Version(1, {"people": "a" * 64})
    content = {"version": 1, "stamps": {"People": "b" * 64}, "time": "2026-01-01T00:00:00+00:00"}
    both = version_after(first, content, begun=2)
    assert not both.holds({"people": "a" * 64})
    assert not both.holds({"PEOPLE": "b" * 64})
    assert both.holds({"visits": "b" * 64})
