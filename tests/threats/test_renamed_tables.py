"""A table under another name is the same data: changed, it is not read without `refresh`.

A file that an account has read as that of one unit never joins it again as that of another.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sanql.account.ledger.versions import Version, version_after
from sanql.errors import LedgerError, Refused
from sanql.policy import load
from sanql.san import San
from support.policies import dataset
from support.volume import few_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

POLICY = (
    dataset("{source}", name="{name}", epsilon=100, delta=0)
    + """\
{tables}
"""
)
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
    "otherwise, of one file": ("data/people.csv", "persons"),
    "by case, of one file": ("data/people.csv", "People"),
    "all in capitals, in a folder": ("data", "PEOPLE"),
}


@pytest.mark.parametrize("way", few_of(RENAMED, 2))
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


def replaced(place: Place) -> None:
    (place.root / "data/people.csv").unlink()
    place.write(5, "persons.csv")


def changed_and_linked(place: Place) -> None:
    place.write(5)
    (place.root / "data/persons.csv").symlink_to("people.csv")


def changed_and_copied(place: Place) -> None:
    place.write(5)
    place.write(5, "persons.csv")


@pytest.mark.parametrize("way", [replaced, changed_and_linked, changed_and_copied])
def test_a_table_that_comes_for_one_that_changed_is_not_read(
    place: Place, way: Callable[[Place], None]
) -> None:
    place.write(10)
    with place.san(PEOPLE) as san:
        san.query(COUNT, epsilon="1")
    way(place)
    with place.san(PEOPLE.replace("people", "persons")) as san:
        with pytest.raises(Refused) as refused:
            san.query("SELECT COUNT(*) FROM persons", epsilon="2")
        assert refused.value.code == "source_changed"
        assert san.budget()[0].spent_upper.epsilon == 1
        san.refresh()
        assert san.query("SELECT COUNT(*) FROM persons", epsilon="2").version == 2


def test_a_table_more_joins_the_version_while_all_others_are_what_they_were(place: Place) -> None:
    place.write(10)
    with place.san(PEOPLE) as san:
        san.query(COUNT, epsilon="1")
    place.write(5, "persons.csv")
    with place.san(PEOPLE.replace("people", "persons")) as san:  # people.csv is left out, and there
        assert san.query("SELECT COUNT(*) FROM persons", epsilon="2").version == 1
    with place.san(PEOPLE) as san:
        assert san.query(COUNT, epsilon="1").cached


@pytest.mark.parametrize("way", few_of(RENAMED, 2))
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


# Whom a file protects.

SENSORS = '[table.sensors]\nprivacy_unit = "row"\n'
UNIT = 'privacy_unit = "id"\nrows_per_unit_max = 2\n'
ROW = 'privacy_unit = "row"\n'


def linked(place: Place) -> None:
    (place.root / "data/again.csv").symlink_to("visits.csv")


def hard_linked(place: Place) -> None:
    os.link(place.root / "data/visits.csv", place.root / "data/again.csv")


def moved(place: Place) -> None:
    (place.root / "data/visits.csv").rename(place.root / "data/again.csv")


def among_parts(place: Place) -> None:
    (place.root / "data/again").mkdir()
    (place.root / "data/again/a.csv").write_text("id,one\n")
    os.link(place.root / "data/visits.csv", place.root / "data/again/b.csv")


def rewritten(place: Place) -> None:
    linked(place)
    (place.root / "data/visits.csv").unlink()
    place.write(7, "visits.csv")


@pytest.mark.parametrize("way", [linked, hard_linked, moved, among_parts, rewritten])
def test_a_file_does_not_come_back_with_another_unit(
    place: Place, way: Callable[[Place], None]
) -> None:
    place.write(10, "visits.csv")
    place.write(10, "sensors.csv")
    with place.san(SENSORS + f"[table.visits]\n{UNIT}") as san:
        san.query("SELECT COUNT(*) FROM visits", epsilon="1")
    way(place)
    for _ in range(2):
        with pytest.raises(LedgerError) as refused:
            place.san(SENSORS + f"[table.again]\n{ROW}")
        assert refused.value.code == "private_unit_differs"
    with place.san(SENSORS + f"[table.again]\n{UNIT}") as san:
        san.refresh()
        assert san.explain("SELECT COUNT(*) FROM again", epsilon="1")


def test_the_table_of_one_file_does_not_come_back_with_another_unit(place: Place) -> None:
    place.write(10)
    with place.san(f"[table.people]\n{ROW}", "data/people.csv") as san:
        san.query(COUNT, epsilon="1")
    with pytest.raises(LedgerError) as refused:
        place.san(f"[table.persons]\n{UNIT}", "data/people.csv")
    assert refused.value.code in ("private_unit_differs", "ledger_terms")


@pytest.mark.parametrize("way", [linked, hard_linked])
def test_a_file_has_one_unit_in_one_policy(place: Place, way: Callable[[Place], None]) -> None:
    place.write(10, "visits.csv")
    way(place)
    with pytest.raises(LedgerError) as refused:
        place.san(f"[table.visits]\n{UNIT}[table.again]\n{ROW}")
    assert refused.value.code == "private_unit_differs"
    with place.san(f"[table.visits]\n{UNIT}[table.again]\n{UNIT}") as san:
        assert san.query("SELECT COUNT(*) FROM again", epsilon="1").version == 1
