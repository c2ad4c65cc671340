"""No row is read before it is known whose it is: public tables, inferred types and moved links too.

A hospital's account has claimed its data. Each attack has a second policy that calls the same rows public,
by another way to them, at another moment, and asks for what is in them.
"""

# ruff: noqa: E501  (a policy's table stands on one line)
from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from sanql.account.charge import Charge
from sanql.account.events import LaplaceEvent
from sanql.cli.main import main
from sanql.errors import LedgerError, SanqlError
from sanql.policy import load
from sanql.san import San
from support.policies import dataset

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

POLICY = (
    dataset("{source}", name="{name}", epsilon=1, delta=0)
    + """\
{tables}
"""
)
UNIT = 'privacy_unit = "id"\nrows_per_unit_max = 2\ngroups_per_unit_max = 2\n'
PRIVATE = f"[table.people]\n{UNIT}[table.visits]\n{UNIT}"
PUBLIC = "[table.people]\npublic = true\n"
VISITS = "[table.visits]\npublic = true\n"
QUARTER = Charge((LaplaceEvent(Fraction(4), 1, 1),), Fraction(1, 4), Fraction(0))


class Hospital:
    """Claimed data in Parquet, CSV parts and a database, and a thief's folder beside them."""

    def __init__(self, root: Path, note: str = "7") -> None:
        self.root = root
        (root / "data" / "visits").mkdir(parents=True)
        people = f"SELECT * FROM (VALUES (1, '{note}')) AS _(id, note)"
        with duckdb.connect(str(root / "base.duckdb")) as database:
            database.execute(f"CREATE TABLE people AS {people}")
            database.execute("CREATE TABLE visits AS SELECT 1 AS id")
            database.execute(f"COPY ({people}) TO '{root}/data/people.parquet'")
        (root / "data" / "visits" / "a.csv").write_text(f"id,note\n1,{note}\n")
        (root / "thief").mkdir()
        for name, source in (("hospital", "data"), ("base", "base.duckdb")):
            with San(load(self.policy(name, source, PRIVATE))) as san:
                san.ledger.reserve("ana", "a" * 64, QUARTER)

    def policy(self, name: str, source: object, tables: str) -> Path:
        path = self.root / f"{name}.toml"
        path.write_text(POLICY.format(name=name, source=source, tables=tables))
        return path


@pytest.fixture
def hospital(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hospital:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "registry"))
    return Hospital(tmp_path / "hospital")


def linked(at: Path, to: object) -> None:
    at.unlink(missing_ok=True)
    at.symlink_to(str(to))


def chained(hospital: Hospital) -> None:
    linked(hospital.root / "second", "data")
    linked(hospital.root / "first", hospital.root / "second")
    linked(hospital.root / "link", "first")


def hard_linked(hospital: Hospital) -> None:
    (hospital.root / "link").mkdir()
    os.link(hospital.root / "data" / "people.parquet", hospital.root / "link" / "people.parquet")


def part_by_part(hospital: Hospital) -> None:
    (hospital.root / "link" / "people").mkdir(parents=True)
    linked(hospital.root / "link/people/b.csv", "../../data/visits/a.csv")
    (hospital.root / "link/people/a.csv").write_text("id,note\n")


def renamed(hospital: Hospital) -> None:
    (hospital.root / "data").rename(hospital.root / "link")


def rewritten(hospital: Hospital) -> None:
    """A nightly job puts a new file into the place of a claimed one, which a link leads to."""
    (hospital.root / "link").mkdir()
    linked(hospital.root / "link/people.parquet", "../data/people.parquet")
    file = hospital.root / "data" / "people.parquet"
    draft = file.with_suffix(".draft")
    draft.write_bytes(file.read_bytes())
    draft.replace(file)


WAYS: dict[str, Callable[[Hospital], None]] = {
    "a link to the folder": lambda h: linked(h.root / "link", "data"),
    "a chain of links": chained,
    "a folder of hard links": hard_linked,
    "a folder of parts, one of which is linked": part_by_part,
    "the folder renamed": renamed,
    "a link to a file that was written anew": rewritten,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_source_that_was_missing_when_the_policy_was_opened_is_looked_at_when_it_is_read(
    hospital: Hospital, way: str
) -> None:
    with San(load(hospital.policy("thief", "link", PUBLIC))) as thief:
        WAYS[way](hospital)
        for ask in (lambda: thief.query("SELECT * FROM people"), thief.refresh):
            with pytest.raises(LedgerError) as refused:
                ask()
            assert refused.value.code == "account_claimed"
    with pytest.raises(LedgerError):
        San(load(hospital.policy("thief", "link", PUBLIC)))


def test_a_database_that_was_missing_is_looked_at_when_it_is_read(hospital: Hospital) -> None:
    with San(load(hospital.policy("thief", "./thief/../link.duckdb", PUBLIC))) as thief:
        os.link(hospital.root / "base.duckdb", hospital.root / "link.duckdb")
        with pytest.raises(LedgerError, match="belong to another account"):
            thief.query("SELECT * FROM people")


def test_a_link_that_leads_elsewhere_after_an_answer_is_looked_at_again(hospital: Hospital) -> None:
    (hospital.root / "own").mkdir()
    file = hospital.root / "own" / "people.parquet"
    file.write_bytes((hospital.root / "data" / "people.parquet").read_bytes())  # a copy: same stamp
    linked(hospital.root / "link", "own")
    with San(load(hospital.policy("thief", "link", PUBLIC))) as thief:
        assert thief.query("SELECT * FROM people").table.num_rows == 1
        linked(hospital.root / "link", "data")
        with pytest.raises(LedgerError):
            thief.query("SELECT * FROM people")


def test_data_that_are_claimed_while_a_policy_that_calls_them_public_is_open_are_closed_to_it(
    tmp_path: Path, hospital: Hospital
) -> None:
    (hospital.root / "new").mkdir()
    (hospital.root / "new" / "people.csv").write_text("id,note\n1,7\n")
    with San(load(hospital.policy("thief", "new", PUBLIC))) as thief:
        assert thief.query("SELECT * FROM people").table.num_rows == 1
        owner = hospital.policy("owner", "new", f"[table.people]\n{UNIT}")
        with San(load(owner)) as san:
            san.ledger.reserve("ana", "a" * 64, QUARTER)
        with pytest.raises(LedgerError):
            thief.query("SELECT * FROM people")


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_a_file_that_one_policy_calls_private_and_public_is_private(
    hospital: Hospital, link: Callable[[Path, Path], None]
) -> None:
    folder = hospital.root / "own"
    folder.mkdir()
    (folder / "people.csv").write_text("id,note\n1,7\n")
    link(folder / "people.csv", folder / "visits.csv")
    policy = hospital.policy("own", "own", f"[table.people]\n{UNIT}{VISITS}")
    with pytest.raises(LedgerError) as refused, San(load(policy)) as san:
        san.query("SELECT * FROM visits")
    assert refused.value.code == "private_called_public"


# Types that are found by reading rows.

DOMAIN = '[table.x]\nprivacy_unit = "id"\nunique = true\n[table.x.column]\nk = { type = "integer", domain = { table = "visits", column = "note" } }\n'


def world(root: Path, note: str, more: str = "") -> Path:
    """Return a thief's policy over a claimed CSV file in which somebody's note is this one."""
    hospital = Hospital(root, note)
    (root / "thief" / "visits").mkdir()
    linked(root / "thief/visits/a.csv", root / "data/visits/a.csv")
    (root / "thief" / "x.csv").write_text("id,k\n1,2\n")
    policy = hospital.policy("thief", "thief", VISITS + DOMAIN)
    policy.write_text(policy.read_text().replace("accounting", f"{more}\naccounting"))
    return policy


def told(ask: Callable[[], object]) -> str:
    """Return everything that somebody is told, the folder of their world left out."""
    try:
        return str(ask())
    except SanqlError as error:
        return f"{type(error).__name__} {error}"


@pytest.mark.parametrize("more", ["", "scratch = true"])
def test_the_types_of_a_claimed_file_say_nothing_of_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "registry"))
    seen: list[list[str]] = []
    for note in ("7", "ill"):
        root = tmp_path / note
        policy = world(root, note, more)
        (root / "thief").rename(root / "away")
        checked = CliRunner().invoke(main, ["check", str(policy)]).output
        answers = [checked]
        with San(load(policy)) as san:
            (root / "away").rename(root / "thief")
            answers += [
                told(lambda: san.session.tables["visits"].columns),
                told(lambda: san.explain("SELECT SUM(note) FROM visits")),
                told(lambda: san.explain("SELECT k, COUNT(*) FROM x GROUP BY k", epsilon="0.1")),
                told(lambda: san.query("SELECT note FROM visits")),
                CliRunner().invoke(main, ["check", str(policy)]).output,
            ]
        seen.append([text.replace(str(root), "ROOT") for text in answers])
    assert seen[0] == seen[1]
    wanted = "visits.note is text" if more else "belong to another account"
    assert all(wanted in text for text in seen[0][1:])


def test_check_reads_types_of_what_is_nobodys_or_the_accounts_own(hospital: Hospital) -> None:
    folder = hospital.root / "own"
    folder.mkdir()
    (folder / "visits.csv").write_text("note\nill\n")
    (folder / "x.csv").write_text("id,k\n1,2\n")
    policy = hospital.policy("own", "own", VISITS + DOMAIN)
    for _ in range(2):
        assert "visits.note is text" in CliRunner().invoke(main, ["check", str(policy)]).output
    (folder / "visits.csv").write_text("note\n7\n")
    with San(load(policy)) as san:
        san.ledger.reserve("ana", "a" * 64, QUARTER)
    assert "has no faults" in CliRunner().invoke(main, ["check", str(policy)]).output


def test_what_a_scratch_account_is_not_told_of_a_public_table_is_text_to_it(
    hospital: Hospital,
) -> None:
    declared = f'{VISITS}[table.visits.column]\nnote = {{ type = "integer" }}\n'
    policy = hospital.policy("rehearsal", "data", PRIVATE.partition("[table.visits]")[0] + declared)
    policy.write_text(policy.read_text().replace("accounting", "scratch = true\naccounting"))
    with San(load(policy)) as san:
        assert san.explain("SELECT COUNT(*) FROM people", epsilon="0.1")
        assert san.session.tables["visits"].columns["note"].type == "integer"
    policy.write_text(policy.read_text().partition("[table.visits.column]")[0])
    with San(load(policy)) as san:
        assert san.explain("SELECT COUNT(*) FROM people", epsilon="0.1")
        assert {column.type for column in san.session.tables["visits"].columns.values()} == {"text"}
