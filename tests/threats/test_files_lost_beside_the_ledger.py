"""What lies beside a ledger may be lost or left behind: no answer is, and no version is opened for it.

Repeats need the ledger and the policy alone. Whether the source is still the same is known by a secret,
of which the registry keeps a copy; where both are gone, the refusal says so, and nothing is charged.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from sanql.cli.main import main
from sanql.errors import Refused, SanqlError
from sanql.policy import load
from sanql.san import San
from support.policies import dataset

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

POLICY = (
    dataset("data", name="town", epsilon=10, delta="1e-6")
    + """\
{more}
[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
age = {{ type = "integer", bounds = [0, 100] }}
{tables}
"""
)
COUNT = "SELECT COUNT(*) FROM people"
TOWNS = "[table.towns]\npublic = true\n"
BY_TOWN = "SELECT SUM(age) FROM people, towns WHERE age = size"


class Town:
    """A source of files, and San over it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data = root / "data"
        self.data.mkdir()
        self.people(3)
        (self.data / "towns.csv").write_text("size\n20\n")

    def people(self, count: int) -> None:
        """Write so many people."""
        rows = "".join(f"{i},20\n" for i in range(count))
        (self.data / "people.csv").write_text("id,age\n" + rows)

    def policy(self, more: str = "", tables: str = "") -> Path:
        """Write the policy, with more keys and more tables."""
        path = self.root / "policy.toml"
        path.write_text(POLICY.format(more=more, tables=tables))
        return path

    def san(self, more: str = "", tables: str = "") -> San:
        """Open San."""
        return San(load(self.policy(more, tables)))

    def ask(self, epsilon: float, more: str = "", tables: str = "", sql: str = COUNT) -> bool:
        """Ask, and return whether the answer was on record."""
        with self.san(more, tables) as san:
            return san.query(sql, epsilon=epsilon).cached

    def refused(self, epsilon: float, tables: str = "", sql: str = COUNT) -> SanqlError:
        """Ask, and return the refusal; nothing may have been charged."""
        with self.san(tables=tables) as san:
            before = san.budget()[0].spent_upper
            with pytest.raises(SanqlError) as caught:
                san.query(sql, epsilon=epsilon)
            assert san.budget()[0].spent_upper == before
        return caught.value

    def versions(self) -> int:
        """Return how many versions of the data are on record."""
        with self.san() as san:
            return sum(record.kind == "version" for record in san.ledger.records())

    def lose(self, *names: str) -> None:
        """Remove files and folders beside the ledger, and secrets in the registry."""
        for name in names:
            for path in self.root.rglob(name):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.fixture
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Town:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "registry"))
    made = Town(tmp_path)
    assert not made.ask(1)
    return made


# Repeats.

LOSSES: dict[str, Callable[[Town], object]] = {
    "the cache, of a changed source": lambda town: (town.people(4), town.lose("*.cache")),
    "cache and stamps": lambda town: town.lose("*.cache", "*.stamps"),
    "the source": lambda town: shutil.rmtree(town.data),
    "one file of the source, and the cache": lambda town: town.lose("people.csv", "*.cache"),
    "everything but ledger and policy": lambda town: (
        shutil.rmtree(town.data),
        town.lose("*.cache", "*.stamps"),
    ),
}


@pytest.mark.parametrize("lost", LOSSES)
def test_a_repeat_needs_the_ledger_and_the_policy_alone(lost: str, town: Town) -> None:
    LOSSES[lost](town)
    assert town.ask(1)
    town.refused(2)
    assert town.ask(1)
    assert town.versions() == 1


def test_a_source_that_is_gone_is_named_to_whoever_asks_for_more(town: Town) -> None:
    shutil.rmtree(town.data)
    for sql in (COUNT, "SELECT ag FROM people"):
        assert "there is no file or folder" in str(town.refused(2, sql=sql))


def test_where_columns_are_left_to_the_source_repeats_are_promised_only_while_they_are_known(
    town: Town,
) -> None:
    town.ask(1, tables=TOWNS, sql=BY_TOWN)
    town.people(4)
    assert town.ask(1, tables=TOWNS, sql=BY_TOWN)
    town.lose("*.cache")
    error = town.refused(1, tables=TOWNS, sql=BY_TOWN)
    assert error.code == "source_changed"
    assert "the columns of towns" in error.message
    assert "only where columns are known" in error.remedy
    declared = TOWNS + '[table.towns.column]\nsize = { type = "integer" }\n'
    assert town.ask(1, tables=declared, sql=BY_TOWN), "as the remedy says"


# Stamps.


def test_lost_stamps_are_recovered_and_the_same_bytes_are_the_same_version(town: Town) -> None:
    (town.root / "town.stamps").unlink()
    assert not town.ask(2)
    assert town.versions() == 1
    assert (town.root / "town.stamps").stat().st_mode & 0o077 == 0


def test_recovered_stamps_still_tell_other_bytes(town: Town) -> None:
    (town.root / "town.stamps").unlink()
    town.people(4)
    assert town.refused(2).code == "source_changed"


@pytest.mark.parametrize("copy", ["gone", "half"])
def test_where_no_copy_is_left_the_refusal_says_so_and_refresh_goes_on(
    copy: str, town: Town
) -> None:
    (place,) = (town.root / "registry").rglob("*.stamps")
    assert place.stat().st_mode & 0o077 == 0
    (town.root / "town.stamps").unlink()
    text = place.read_text()
    place.unlink() if copy == "gone" else place.write_text(text[: len(text) // 2])
    error = town.refused(2)
    assert isinstance(error, Refused)
    assert error.code == "stamps_missing"
    assert "town.stamps" in error.message
    assert not (town.root / "town.stamps").exists(), "no other secret takes its place"
    with town.san() as san:
        assert san.refresh().number == 2
    assert not town.ask(2)
    (town.root / "town.stamps").unlink()
    assert not town.ask(3), "the new secret has a copy too"


# Moves.


def carried(town: Town, *names: str) -> str:
    """Carry the ledger elsewhere as an owner does, with its head but not all else; return the key."""
    (town.root / "new").mkdir()
    for name in ("town.ledger*", *names):
        for path in town.root.glob(name):
            shutil.move(path, town.root / "new" / path.name)
    return 'ledger = "new/town.ledger"'


def moved(town: Town, more: str) -> str:
    policy = str(town.policy(more))
    result = CliRunner().invoke(main, ["account", "move", "-p", policy])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_move_takes_along_what_was_left_beside_the_ledger(town: Town) -> None:
    more = carried(town)
    assert "missing" not in moved(town, more)
    assert not [*town.root.glob("*.stamps"), *town.root.glob("*.cache")]
    assert (town.root / "new" / "town.cache").is_dir()
    assert town.ask(1, more)
    assert not town.ask(2, more)


def test_a_move_within_a_folder_keeps_what_both_names_share(town: Town) -> None:
    (town.root / "town.ledger").rename(town.root / "town.account")
    (town.root / "town.ledger.head").rename(town.root / "town.account.head")
    more = 'ledger = "town.account"'
    moved(town, more)
    assert not town.ask(2, more)


def test_a_move_that_took_nothing_along_recovers_the_secret(town: Town) -> None:
    more = carried(town)
    town.lose("town.stamps", "*.cache")
    assert "missing" not in moved(town, more)
    assert not town.ask(2, more)


def test_a_move_says_that_the_secret_is_lost(town: Town) -> None:
    more = carried(town)
    town.lose("*.stamps")
    assert "town.stamps is missing" in moved(town, more)
    assert town.ask(1, more)


def test_what_was_brought_by_hand_stays(town: Town) -> None:
    more = carried(town, "town.stamps", "town.cache")
    moved(town, more)
    assert not town.ask(2, more)
