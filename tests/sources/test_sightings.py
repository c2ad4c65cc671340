"""What was looked at is relied on while it stands, and whatever changes about it is seen."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from sanql.account.charge import Charge
from sanql.account.claims.address import Site
from sanql.account.claims.claims import Claims, Holder
from sanql.account.events import LaplaceEvent
from sanql.errors import LedgerError, SanqlError
from sanql.policy import load
from sanql.policy.model import Policy
from sanql.san import San
from sanql.sources import sightings
from sanql.sources.kinds import locate
from sanql.sources.sightings import Sighting, sight
from support.policies import dataset

POLICY = (
    dataset("{source}", name="town", epsilon=100, delta=0)
    + """\
ledger = "{name}.ledger"
[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
age = {{ type = "integer", bounds = [0, 100] }}
"""
)
COUNT = "SELECT COUNT(*) FROM people"
LITTLE = Charge((LaplaceEvent(Fraction(100), 1, 1),), Fraction(1, 100), Fraction(0))


class Town:
    """A folder of data under two names, with a ledger and a registry."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name, age in (("real", 7), ("other", 8)):
            (root / name).mkdir()
            (root / name / "people.csv").write_text(f"id,age\n1,{age}\n")
        (root / "data").symlink_to("real")

    def policy(self, source: str = "data", name: str = "a") -> Policy:
        path = self.root / f"{name}.toml"
        path.write_text(POLICY.format(source=source, name=name))
        return load(path)

    def site(self, policy: Policy) -> Site:
        return locate(policy).site(policy)

    def sighting(self, policy: Policy, account: str | None = None) -> Sighting | None:
        return sight(policy, account, self.site(policy), time.time_ns())


@pytest.fixture
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Town:
    """A town in which what has changed a twentieth of a second ago is settled: steps are shorter."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "registry"))
    monkeypatch.setattr(sightings, "SETTLED_NS", 5 * 10**7)
    return Town(tmp_path)


def settle() -> None:
    time.sleep(0.06)


def claimed_by_another(town: Town) -> None:
    policy = town.policy("real", "b")
    policy.ledger.touch()
    Claims(town.site(policy)).make(Holder.of("b" * 32, policy.ledger))


def replaced_file(town: Town) -> None:
    shutil.copy(town.root / "real" / "people.csv", town.root / "copy.csv")
    (town.root / "copy.csv").replace(town.root / "real" / "people.csv")


def rewritten_in_place(town: Town) -> None:
    """With as many bytes as before, and its time set back."""
    people = town.root / "real" / "people.csv"
    before = people.stat()
    with people.open("r+") as file:
        file.write("id,age\n1,9\n")
    os.utime(people, ns=(before.st_atime_ns, before.st_mtime_ns))


def one_more_file(town: Town) -> None:
    (town.root / "real" / "people.parquet").touch()


def link_led_elsewhere(town: Town) -> None:
    (town.root / "data").unlink()
    (town.root / "data").symlink_to("other")


def renamed_folder(town: Town) -> None:
    (town.root / "real").rename(town.root / "moved")
    (town.root / "data").unlink()
    (town.root / "data").symlink_to("moved")


def another_ledger_in_its_place(town: Town) -> None:
    (town.root / "a.ledger").rename(town.root / "old.ledger")
    (town.root / "a.ledger").touch()


def claim_put_beside(town: Town) -> None:
    (town.root / "real" / ".people.csv.sanql-account").write_text("{}")


def hidden_file(town: Town) -> None:
    (town.root / "real").chmod(0o700)


CHANGES = [
    claimed_by_another,
    replaced_file,
    rewritten_in_place,
    one_more_file,
    link_led_elsewhere,
    renamed_folder,
    another_ledger_in_its_place,
    claim_put_beside,
    hidden_file,
]


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_whatever_changes_is_seen(town: Town, change: Callable[[Town], None]) -> None:
    policy = town.policy()
    policy.ledger.touch()
    settle()
    seen = town.sighting(policy)
    assert seen is not None and seen.stands()
    change(town)
    assert not seen.stands()


def test_another_registry_is_another_place_to_look(
    town: Town, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settle()
    seen = town.sighting(town.policy())
    assert seen is not None and seen.stands()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "elsewhere"))
    assert not seen.stands()


def test_what_is_written_to_all_the_time_may_change(town: Town) -> None:
    policy = town.policy()
    policy.ledger.touch()
    settle()
    seen = town.sighting(policy)
    policy.ledger.write_bytes(b"more")
    (town.root / "a.ledger-wal").touch()
    (town.root / "registry").mkdir(exist_ok=True)
    assert seen is not None and seen.stands()


def test_what_has_just_changed_is_not_relied_on(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sightings, "SETTLED_NS", 10**12)
    assert town.sighting(town.policy()) is None


def test_what_changed_after_the_look_began_is_not_relied_on(town: Town) -> None:
    policy, started = town.policy(), time.time_ns()
    site = town.site(policy)
    settle()
    one_more_file(town)
    assert sight(policy, None, site, started) is None


def test_files_that_links_lead_to_are_not_relied_on(town: Town) -> None:
    (town.root / "real" / "people.csv").unlink()
    (town.root / "real" / "people.csv").symlink_to(town.root / "other" / "people.csv")
    settle()
    assert town.sighting(town.policy()) is None


def test_a_claim_of_others_on_record_is_not_relied_on_even_while_it_does_not_hold(
    town: Town,
) -> None:
    claimed_by_another(town)
    settle()
    assert town.sighting(town.policy(), "a" * 32) is None
    assert town.sighting(town.policy(), "b" * 32) is not None


@pytest.fixture
def asked(town: Town, in_this_process: None) -> Iterator[San]:
    """San after questions enough to rely on what it has seen."""
    with San(town.policy()) as san:
        san.query(COUNT, epsilon=0.5)
        settle()
        for number in range(3):
            san.query(f"{COUNT} WHERE age > {number}", epsilon=0.5)
        assert san.session.data._seen is not None
        assert san.session._claim_held._seen is not None
        yield san


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [rewritten_in_place, one_more_file, link_led_elsewhere, claim_put_beside],
    ids=lambda change: change.__name__,
)
def test_san_answers_nothing_new_after_a_change(
    asked: San, town: Town, change: Callable[[Town], None]
) -> None:
    change(town)
    with pytest.raises(SanqlError):
        asked.query(f"{COUNT} WHERE age > 9", epsilon=0.5)


@pytest.mark.slow
def test_san_charges_nothing_once_its_claim_is_gone(asked: San, town: Town) -> None:
    policy = town.policy()
    account = asked.ledger.owner.account
    Claims(town.site(policy)).release(
        Holder.of(account, policy.ledger), "other-data", exact_closed=False
    )
    claimed_by_another(town)
    before = len(list(asked.ledger.records()))
    with pytest.raises(LedgerError) as error:
        asked.ledger.reserve("ana", "c" * 64, LITTLE)
    assert error.value.code == "account_claimed"
    with pytest.raises(LedgerError):
        asked.query(f"{COUNT} WHERE age > 9", epsilon=0.5)
    assert len(list(asked.ledger.records())) == before
