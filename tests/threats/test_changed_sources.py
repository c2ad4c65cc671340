"""A changed source is not read until the owner says so; what that tells is public, and nothing else is.

Every variant first opens San, so that it has fixed what the source is, and then changes the file.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from account.forging import forge, forge_opening
from sanql.account.ledger.budget_limits import BudgetLimits
from sanql.account.ledger.terms import account_terms
from sanql.account.ledger.versions import Version
from sanql.ask.measure import recorded
from sanql.audit.ledger import verify
from sanql.cli.main import main
from sanql.engines.in_process.engine import InProcessEngine
from sanql.engines.leases import Lease
from sanql.engines.open import ENGINE_KINDS, WORKERS
from sanql.engines.preparation import first_fingerprint
from sanql.errors import PolicyError, Refused, SanqlError, Unavailable
from sanql.policy import load
from sanql.san import San
from sanql.sources.kinds import locate
from support.plans import plan_of
from support.policies import dataset
from support.samplers import SilentSampler

pytestmark = pytest.mark.slow

POLICY = (
    dataset("{source}", name="changing", epsilon=100, delta="1e-6")
    + """\
[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
age = {{ type = "integer", bounds = [0, 100] }}
{more}
"""
)
SUM = "SELECT SUM(age) FROM people"
SOURCES = ["people.duckdb", "people.parquet"]


class Place:
    """A source that can be written anew, and San over it."""

    def __init__(self, folder: Path, source: str, opened: ExitStack) -> None:
        self.folder = folder
        self.source = source
        self.opened = opened

    @property
    def file(self) -> Path:
        """The file that holds people."""
        return self.folder / (self.source if "." in self.source else f"{self.source}/people.csv")

    def write(self, age: int, to: Path | None = None) -> Path:
        """Write ten people of this age."""
        path = to or self.file
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        people = f"SELECT i AS id, {age} AS age FROM range(10) AS t(i)"
        if path.suffix == ".duckdb":
            with duckdb.connect(str(path)) as connection:
                connection.execute(f"CREATE TABLE people AS {people}")
        else:
            duckdb.sql(f"COPY ({people}) TO '{path}'")
        return path

    def policy(self, more: str = "") -> Path:
        """Write the policy; `more` is declared besides."""
        path = self.folder / "policy.toml"
        path.write_text(POLICY.format(source=self.source, more=more))
        return path

    def san(self, more: str = "") -> San:
        """Open San; `more` is declared besides."""
        return self.opened.enter_context(San(load(self.policy(more)), sampler=SilentSampler()))


@pytest.fixture(params=SOURCES)
def place(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    """What is copied first is asked of this process; workers take a second to start."""
    if request.param != "people.duckdb":
        monkeypatch.setitem(ENGINE_KINDS, WORKERS, InProcessEngine)
    with ExitStack() as opened:
        made = Place(tmp_path, request.param, opened)
        made.write(20)
        yield made


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as opened:
        made = Place(tmp_path, "people.duckdb", opened)
        made.write(20)
        yield made


def spent(san: San) -> float:
    return float(san.budget()[0].spent_upper.epsilon)


def replaced(place: Place, age: int = 30) -> None:
    new = place.write(age, place.folder / f"new{place.file.suffix}")
    new.replace(place.file)


def overwritten(place: Place, age: int = 30) -> None:
    new = place.write(age, place.folder / f"new{place.file.suffix}")
    content = new.read_bytes()
    new.unlink()
    with place.file.open("r+b") as file:  # the same inode, as `cp` over a file does
        file.write(content)
        file.truncate(len(content))


def put_back_in_time(place: Place, age: int = 30) -> None:
    before = place.file.stat()
    overwritten(place, age)
    os.utime(place.file, ns=(before.st_atime_ns, before.st_mtime_ns))


def removed_and_made_again(place: Place, age: int = 30) -> None:
    place.file.unlink()
    place.write(age)


CHANGES = [
    ("people.duckdb", replaced),
    ("people.duckdb", put_back_in_time),
    ("people.duckdb", removed_and_made_again),
    ("people.parquet", put_back_in_time),
    ("folder", overwritten),
    pytest.param("people.duckdb", overwritten, marks=pytest.mark.soak),
]


@pytest.mark.parametrize(("source", "change"), CHANGES)
def test_a_source_that_changes_under_san_is_not_read_as_what_it_was(
    database: Place, source: str, change: Callable[[Place], None]
) -> None:
    place = Place(database.folder, source, database.opened)
    place.write(20)
    san = place.san()
    assert san.query(SUM, epsilon=1).value == 200
    change(place)
    for _ in range(2):
        with pytest.raises(Refused) as caught:
            san.query(SUM, epsilon=2)
        assert caught.value.code == "source_changed" and "sanql refresh" in caught.value.remedy
    assert spent(san) == 1
    assert san.refresh().number == 2
    answer = san.query(SUM, epsilon=2)
    assert (answer.value, answer.version, answer.cached) == (300, 2, False)
    assert verify(san.policy.ledger).sound


def test_a_san_that_has_looked_and_not_asked_does_not_release_sums_of_another_file(
    database: Place,
) -> None:
    san = database.san()
    assert san.session.data.open().source.database == database.file
    replaced(database)
    with pytest.raises(Refused) as caught:
        san.query(SUM, epsilon=1)
    assert caught.value.code == "source_changed"
    assert spent(san) == 0


def test_until_the_owner_says_so_repeats_are_what_they_were(database: Place) -> None:
    place = database
    san = place.san()
    first = san.query(SUM, epsilon=1)
    replaced(place)
    for asking in (san, place.san()):
        again = asking.query(SUM, epsilon=1)
        assert (again.value, again.version, again.cached) == (first.value, 1, True)
        assert asking.explain(SUM, epsilon=1).cached
    assert spent(san) == 1


def touched(place: Place) -> None:
    os.utime(place.file)


def copied(place: Place) -> None:
    shutil.copy(place.file, place.folder / "copy")
    (place.folder / "copy").replace(place.file)


def beside_another(place: Place) -> None:
    (place.file.parent / "unrelated.parquet").write_bytes(b"of somebody else")


def with_other_rights(place: Place) -> None:
    place.file.chmod(0o640)


def test_the_same_bytes_are_the_same_version(place: Place) -> None:
    san = place.san()
    san.query(SUM, epsilon=1)
    for number, change in enumerate([touched, copied, beside_another, with_other_rights], 2):
        change(place)
        assert san.query(SUM, epsilon=1).cached
        asked = san.query(SUM, epsilon=number)
        assert (asked.value, asked.version, asked.cached) == (200, 1, False)
    later = place.san()
    assert later.query(SUM, epsilon=5).cached
    assert later.query(SUM, epsilon=6).version == 1
    assert spent(later) == 1 + 2 + 3 + 4 + 5 + 6


def test_one_more_declared_column_keeps_repeats(place: Place) -> None:
    place.san().query(SUM, epsilon=1)
    wider = place.san('id = { type = "integer" }')
    assert wider.query(SUM, epsilon=1).cached
    assert wider.query(SUM, epsilon=2).version == 1


def test_a_table_declared_later_is_added_to_the_version(tmp_path: Path) -> None:
    with ExitStack() as opened:
        place = Place(tmp_path, "folder", opened)
        place.write(20)
        place.san().query(SUM, epsilon=1)
        (tmp_path / "folder" / "towns.csv").write_text("name\nA\nB\n")
        more = '[table.towns]\npublic = true\n[table.towns.column]\nname = { type = "text" }'
        san = place.san(more)
        assert san.query(SUM, epsilon=1).cached
        assert san.query("SELECT COUNT(*) FROM towns").value == 2
        assert san.query(SUM, epsilon=2).version == 1
        opened_as = [r.content["stamps"] for r in san.ledger.records() if r.kind == "version"]
        assert [set(stamps) for stamps in opened_as] == [{"people"}, {"towns"}]  # type: ignore[call-overload]
        (tmp_path / "folder" / "towns.csv").write_text("name\nA\n")
        with pytest.raises(Refused) as caught:
            san.query(SUM, epsilon=3)
        assert caught.value.code == "source_changed"
        assert verify(san.policy.ledger).sound


def test_a_new_version_is_opened_whether_or_not_anything_changed(database: Place) -> None:
    place = database
    san = place.san()
    san.query(SUM, epsilon=1)
    assert [san.refresh().number for _ in range(2)] == [2, 3]
    again = san.query(SUM, epsilon=1)
    assert (again.value, again.cached, again.version) == (200, False, 3)
    assert spent(san) == 2


def test_what_is_asked_afresh_is_charged_and_is_the_answer_from_then_on(database: Place) -> None:
    san = database.san()
    san.query(SUM, epsilon=1)
    afresh = san.query(SUM, epsilon=1, fresh=True)
    assert not afresh.cached
    assert spent(san) == 2
    assert san.query(SUM, epsilon=1).cached
    assert spent(san) == 2


def test_a_missing_file_costs_nothing_and_san_recovers(place: Place) -> None:
    san = place.san()
    san.query(SUM, epsilon=1)
    aside = place.folder / "aside"
    place.file.replace(aside)
    with pytest.raises(SanqlError) as caught:
        san.query(SUM, epsilon=2)
    assert isinstance(caught.value, PolicyError)
    assert spent(san) == 1
    aside.replace(place.file)
    assert san.query(SUM, epsilon=2).value == 200


def test_a_log_that_appears_beside_a_database_is_a_change(database: Place) -> None:
    san = database.san()
    san.query(SUM, epsilon=1)
    (database.folder / "people.duckdb.wal").write_bytes(b"")
    with pytest.raises(Refused) as caught:
        san.query(SUM, epsilon=2)
    assert caught.value.code == "source_changed"


def test_a_file_written_to_during_a_question_gives_no_answer(
    database: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    san = database.san()
    stream = Lease.stream

    def meanwhile(self: object, *given: object) -> object:
        made = stream(self, *given)  # type: ignore[arg-type]
        overwritten(database)
        return made

    monkeypatch.setattr(Lease, "stream", meanwhile)
    with pytest.raises(Unavailable):
        san.query(SUM, epsilon=1)


def test_the_record_of_a_version_does_not_let_anybody_try_what_the_data_are(
    database: Place,
) -> None:
    place = database
    san = place.san()
    san.query(SUM, epsilon=1)
    version = san.ledger.versions.newest()
    assert isinstance(version, Version)
    plain = hashlib.sha256(place.file.read_bytes()).hexdigest()
    stamps = place.folder / "changing.stamps"
    assert plain not in "".join(record.body for record in san.ledger.records())
    assert stamps.stat().st_mode & 0o077 == 0


def test_the_command_opens_the_next_version(database: Place) -> None:
    san = database.san()
    san.query(SUM, epsilon=1)
    replaced(database)
    policy = str(database.folder / "policy.toml")
    done = CliRunner().invoke(main, ["refresh", policy])
    assert done.exit_code == 0 and "version 2" in done.output
    done = CliRunner().invoke(main, ["refresh", "-p", policy, "--format", "json"])
    assert done.exit_code == 0 and '"version": 3' in done.output
    listed = CliRunner().invoke(main, ["ledger", "list", "-p", policy])
    assert "version 3 of the data" in listed.output
    assert san.query(SUM, epsilon=1).version == 3


def written_by_first(place: Place, elsewhere: Place) -> None:
    """Leave a ledger as 0.1.0 wrote it: one answer, under the name that 0.1.0 gave the question."""
    other = elsewhere.san()
    other.query(SUM, epsilon=1)
    planned = plan_of(other, SUM, epsilon=1)
    found = recorded(other.session, other.analyst, planned)
    assert found is not None
    content = found.cells.to_bytes()
    policy = load(place.policy())
    question = planned.first_digest(first_fingerprint(policy, locate(policy)))
    time = "2026-01-01T00:00:00+00:00"
    reserved = {"analyst": "analyst", "charge": planned.charge.to_dict(), "question": question}
    opening = {"dataset": policy.name, "format": 1, "terms": account_terms(policy)}
    forge_opening(policy, opening)
    limits = BudgetLimits.of(policy).to_dict()
    del limits["second_signature"]  # which came later
    forge(policy, "limits", limits)
    number = forge(policy, "reserve", reserved | {"time": time})
    digest = hashlib.sha256(content).hexdigest()
    with closing(sqlite3.connect(policy.ledger)) as connection, connection:
        connection.execute("INSERT INTO answer VALUES (?, ?)", (number, content))
    forge(policy, "spend", {"reservation": number, "sha256": digest})
    assert verify(policy.ledger).sound


@pytest.fixture
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with ExitStack() as opened:
        made = Place(tmp_path_factory.mktemp("elsewhere"), "people.duckdb", opened)
        made.write(20)
        yield made


def test_a_ledger_of_0_1_0_whose_stamps_still_match_is_version_1(
    database: Place, elsewhere: Place
) -> None:
    written_by_first(database, elsewhere)
    san = database.san()
    assert san.explain(SUM, epsilon=1).cached
    again = san.query(SUM, epsilon=1)
    assert (again.value, again.cached, again.version) == (200, True, 1)
    assert san.query(SUM, epsilon=2).version == 1
    assert san.query(SUM, epsilon=1).cached  # by its old name, now that the version is on record
    assert spent(san) == 3
    san.refresh()
    assert not san.query(SUM, epsilon=1).cached
    assert verify(san.policy.ledger).sound


def test_a_ledger_of_0_1_0_whose_data_have_changed_repeats_nothing(
    database: Place, elsewhere: Place
) -> None:
    written_by_first(database, elsewhere)
    replaced(database)
    san = database.san()
    answer = san.query(SUM, epsilon=1)
    assert (answer.value, answer.cached) == (300, False)
    assert verify(san.policy.ledger).sound


def test_a_worker_that_was_killed_while_it_waited_costs_nothing(database: Place) -> None:
    san = database.san()
    san.query(SUM, epsilon=1)
    for number in (2, 3):
        for pid in san.session.data.open().workers.pids():
            os.kill(pid, signal.SIGKILL)
            os.waitid(
                os.P_PID, pid, os.WEXITED | os.WNOWAIT
            )  # it is dead, and left for San to find
        answer = san.query(SUM, epsilon=number)
        assert (answer.value, answer.cached) == (200, False)
    assert spent(san) == 1 + 2 + 3
    assert all(record.kind != "void" for record in san.ledger.records())


def test_nothing_is_charged_where_no_worker_gets_ready(
    database: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    san = database.san()
    san.query(SUM, epsilon=1)
    opened = san.session.data.open()
    for pid in opened.workers.pids():
        os.kill(pid, signal.SIGKILL)
    replaced(database)  # after it was looked at, and before a worker opens it
    with monkeypatch.context() as between:
        between.setattr(san.session.data, "open", lambda: opened)
        with pytest.raises(Unavailable) as caught:
            san.query(SUM, epsilon=2)
    assert caught.value.code == "engine_not_ready"
    assert spent(san) == 1
    san.refresh()
    assert san.query(SUM, epsilon=2).value == 300


def test_a_prepared_copy_that_vanished_is_made_again(tmp_path: Path) -> None:
    with ExitStack() as opened:
        place = Place(tmp_path, "people.parquet", opened)
        place.write(20)
        san = place.san()
        san.query(SUM, epsilon=1)
        shutil.rmtree(tmp_path / "changing.cache")
        answer = san.query(SUM, epsilon=2)
        assert (answer.value, answer.version) == (200, 1)
        assert spent(san) == 3
