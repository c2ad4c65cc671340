"""A scratch account rehearses over anybody's data and never releases anything, whatever is tried.

Each attack has a scratch account over data that belong to another, and tries to make an answer of it, or
a second budget: by renaming, copying, linking, flipping the policy's key, moving or merging.
"""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

from account.forging import forge, forge_opening
from sanql.account.charge import Charge
from sanql.account.events import LaplaceEvent
from sanql.account.ledger.terms import account_terms
from sanql.audit.ledger import verify
from sanql.cli.main import main
from sanql.errors import BudgetExceeded, LedgerError, Refused
from sanql.policy import load
from sanql.results.explanation import Explanation
from sanql.san import San
from support.policies import dataset

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

POLICY = (
    dataset("data", name="hospital", epsilon=1, delta="1e-6")
    + """\
{more}
auto_bounds = {{ epsilon = 0.05 }}
{tables}
"""
)
PEOPLE = """
[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
age = { type = "integer", bounds = [0, 120] }
paid = { type = "integer", bounds = "auto" }
[exact.age]
table = "people"
column = "age"
adversary = { class = "uniform-component", eta = 0.1, known_records = 10 }
accept = { epsilon = 0.5, delta = 1e-9 }
"""
CITIES = "[table.cities]\npublic = true\n"
PEOPLE_PUBLIC = "[table.people]\npublic = true\n" + CITIES.replace(
    "public = true", 'privacy_unit = "row"'
)
COUNT = "SELECT COUNT(*) FROM people"
QUARTER = Charge((LaplaceEvent(Fraction(4), 1, 1),), Fraction(1, 4), Fraction(0))


class Hospital:
    """Data that belong to the account of one policy, which has been charged once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "data").mkdir(parents=True)
        (root / "data" / "people.csv").write_text("id,age,paid\n1,30,5\n2,40,6\n")
        (root / "data" / "cities.csv").write_text("name\nBern\n")
        self.real = self.policy("real")
        self.ledger = root / "hospital.ledger"
        with San(load(self.real)) as san:
            san.ledger.reserve("ana", "a" * 64, QUARTER)
        self.scratch = self.policy("scratch", more="scratch = true")
        self.rehearsal = root / "hospital.scratch.ledger"

    def policy(self, name: str, *, more: str = "", tables: str = PEOPLE + CITIES) -> Path:
        path = self.root / f"{name}.toml"
        path.write_text(POLICY.format(more=more, tables=tables))
        return path

    def spent(self) -> Fraction:
        """Return what the data's own account has spent."""
        with San(load(self.real)) as san:
            return san.budget()[0].spent_upper.epsilon


@pytest.fixture
def hospital(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hospital:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "registry"))
    return Hospital(tmp_path / "hospital")


def files_of(hospital: Hospital) -> dict[Path, bytes]:
    """Return every file but those of the rehearsal."""
    found = [path for path in hospital.root.parent.rglob("*") if path.is_file()]
    return {path: path.read_bytes() for path in found if ".scratch." not in path.name}


def spent_in(san: San) -> Fraction:
    return san.budget()[0].spent_upper.epsilon


# What a rehearsal is good for.


def test_a_scratch_account_explains_and_counts_charges_over_data_that_are_claimed(
    hospital: Hospital,
) -> None:
    before = files_of(hospital)
    with San(load(hospital.scratch)) as scratch, San(load(hospital.real)) as real:
        explained, truly = (san.explain(COUNT, epsilon=0.5) for san in (scratch, real))
        assert isinstance(explained, Explanation)
        assert isinstance(truly, Explanation)
        assert explained.expected == truly.expected
        assert explained.fits
        with pytest.raises(Refused) as refused:
            scratch.query(COUNT, epsilon=0.5)
        assert refused.value.code == "scratch_never_releases"
        assert "for epsilon 0.5, delta 0" in refused.value.message
        assert spent_in(scratch) == Fraction(1, 2)
        with pytest.raises(BudgetExceeded):
            scratch.query("SELECT SUM(age) FROM people", epsilon=0.75)
    assert hospital.spent() == Fraction(1, 4)
    assert files_of(hospital) == before, "a rehearsal writes to its own ledger and nowhere else"


def test_a_repeated_rehearsal_is_free_as_a_repeated_question_is(hospital: Hospital) -> None:
    with San(load(hospital.scratch)) as san:
        for _ in range(3):
            with pytest.raises(Refused):
                san.query(COUNT, epsilon=0.5)
        assert spent_in(san) == Fraction(1, 2)
        explained = san.explain(COUNT, epsilon=0.5)
        assert isinstance(explained, Explanation)
        assert explained.cached
        with pytest.raises(Refused):
            san.query(COUNT, epsilon=0.5, fresh=True)
        assert spent_in(san) == 1
    with San(load(hospital.scratch)) as san:
        assert spent_in(san) == 1
        with pytest.raises(BudgetExceeded):
            san.query(COUNT, epsilon=0.125)


def test_bounds_still_to_be_found_are_part_of_what_is_rehearsed(hospital: Hospital) -> None:
    with San(load(hospital.scratch)) as san:
        for sql, spent in (
            ("SELECT SUM(paid) FROM people", Fraction(1, 4)),
            ("SELECT SUM(paid) FROM people WHERE age > 3", Fraction(1, 4) + Fraction(1, 5)),
        ):
            with pytest.raises(Refused, match="would be answered"):
                san.query(sql, epsilon=0.25)
            assert spent_in(san) == spent, "bounds are paid for once"
        with pytest.raises(BudgetExceeded):
            san.query("SELECT SUM(paid) FROM people", epsilon=0.99)
        assert spent_in(san) == Fraction(9, 20)


def test_a_rehearsal_of_other_terms_and_budgets_needs_no_account_closed(hospital: Hospital) -> None:
    text = (
        hospital.scratch.read_text()
        .replace("add-remove", "change-one")
        .replace("epsilon = 1\n", "epsilon = 9\n")
    )
    hospital.scratch.write_text(text)
    with San(load(hospital.scratch)) as san, pytest.raises(Refused) as refused:
        san.query(COUNT, epsilon=5)
    assert refused.value.code == "scratch_never_releases"


def test_a_scratch_account_needs_no_data_to_be_claimed_and_claims_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "registry"))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "people.csv").write_text("id\n1\n")
    policy = tmp_path / "p.toml"
    tables = '[table.people]\nprivacy_unit = "id"\nunique = true\n'
    policy.write_text(POLICY.format(more="scratch = true", tables=tables))
    with San(load(policy)) as san, pytest.raises(Refused):
        san.query(COUNT, epsilon=0.5)
    assert not list(tmp_path.rglob("*.sanql-account"))
    assert not (tmp_path / "registry").exists()
    policy.write_text(POLICY.format(more="", tables=tables))
    with San(load(policy)) as san:
        san.query(COUNT, epsilon=1)  # the data's own account, with all of its budget


# Nothing is ever answered.

ANSWERS: dict[str, Callable[[San], object]] = {
    "a count": lambda san: san.query(COUNT, epsilon=0.5),
    "keys selected privately": lambda san: san.query("SELECT age, COUNT(*) FROM people GROUP BY age", epsilon=0.5),
    "a question that finds bounds": lambda san: san.query("SELECT SUM(paid) FROM people", epsilon=0.5),
    "a public table": lambda san: san.query("SELECT name FROM cities"),
    "an exact answer": lambda san: san.query("SELECT SUM(age) FROM people", exact=True),
    "suggested limits": lambda san: san.suggest_limits("people", epsilon=0.5),
    "a version of the data": lambda san: san.refresh(),
    "the source": lambda san: san.session.data.open().source,
    "the workers": lambda san: san.session.data.open().workers,
    "an answer put on record": lambda san: san.ledger.spend(
        san.ledger.reserve("ana", "a" * 64, QUARTER), b"1"
    ),
}  # fmt: skip


@pytest.mark.parametrize("ask", ANSWERS.values(), ids=list(ANSWERS))
def test_no_question_is_answered(hospital: Hospital, ask: Callable[[San], object]) -> None:
    with San(load(hospital.scratch)) as san:
        with pytest.raises(Refused) as refused:
            ask(san)
        assert refused.value.code == "scratch_never_releases"
        assert "scratch = true" in refused.value.remedy
        assert san.session.data.opened is None, "nothing has read the data"
    assert verify(hospital.rehearsal).sound
    assert not list(hospital.root.glob("*.scratch.stamps")), "no file has been hashed"


def test_what_the_data_s_own_account_has_answered_is_not_repeated(hospital: Hospital) -> None:
    with San(load(hospital.real)) as real:
        real.query(COUNT, epsilon=0.25)
    with San(load(hospital.scratch)) as san, pytest.raises(Refused) as refused:
        san.query(COUNT, epsilon=0.25)
    assert refused.value.code == "scratch_never_releases"


def test_a_private_table_that_a_rehearsal_calls_public_is_not_shown(hospital: Hospital) -> None:
    policy = hospital.policy("public", more="scratch = true", tables=PEOPLE_PUBLIC)
    with San(load(policy)) as san, pytest.raises(Refused) as refused:
        san.query("SELECT age FROM people")
    assert refused.value.code == "scratch_never_releases"


# No way from a scratch account to one that answers, nor back.


def rehearse(hospital: Hospital) -> None:
    with San(load(hospital.scratch)) as san, pytest.raises(Refused):
        san.query(COUNT, epsilon=0.5)


def _named(hospital: Hospital, ledger: Path, *, scratch: bool = False) -> Path:
    more = f'ledger = "{ledger}"' + ("\nscratch = true" if scratch else "")
    return hospital.policy("named", more=more)


def _pair(ledger: Path) -> list[Path]:
    return [path for path in ledger.parent.iterdir() if path.name.startswith(ledger.name)]


def _renamed(hospital: Hospital) -> Path:
    for path in _pair(hospital.ledger):
        path.unlink()
    for path in _pair(hospital.rehearsal):
        path.rename(path.with_name(path.name.replace(".scratch", "")))
    return hospital.real


def _copied(hospital: Hospital) -> Path:
    for path in _pair(hospital.rehearsal):
        shutil.copy2(path, path.with_name(path.name.replace("hospital.scratch", "fresh")))
    return _named(hospital, hospital.root / "fresh.ledger")


def _linked(hospital: Hospital) -> Path:
    for path in _pair(hospital.rehearsal):
        path.with_name(path.name.replace("hospital.scratch", "fresh")).symlink_to(path)
    return _named(hospital, hospital.root / "fresh.ledger")


def _hard_linked(hospital: Hospital) -> Path:
    for path in _pair(hospital.rehearsal):
        path.with_name(path.name.replace("hospital.scratch", "fresh")).hardlink_to(path)
    return _named(hospital, hospital.root / "fresh.ledger")


def _without_head(hospital: Hospital) -> Path:
    policy = _copied(hospital)
    (hospital.root / "fresh.ledger.head").unlink()
    return policy


def _real_as_scratch_linked(hospital: Hospital) -> Path:
    for path in _pair(hospital.ledger):
        path.with_name(path.name.replace("hospital", "fresh")).symlink_to(path)
    return _named(hospital, hospital.root / "fresh.ledger", scratch=True)


PASSED_OFF: dict[str, Callable[[Hospital], Path]] = {
    "the key flipped to real, over the same file": lambda h: _named(h, h.rehearsal),
    "the key flipped to scratch, over the real file": lambda h: _named(h, h.ledger, scratch=True),
    "the real file under a symbolic link, called scratch": _real_as_scratch_linked,
    "renamed to the ledger of the data's own account": _renamed,
    "copied": _copied,
    "copied without its head": _without_head,
    "under a symbolic link": _linked,
    "under a hard link": _hard_linked,
}


@pytest.mark.parametrize("attack", PASSED_OFF.values(), ids=list(PASSED_OFF))
def test_a_scratch_ledger_is_never_opened_as_a_real_one_nor_the_other_way_round(
    hospital: Hospital, attack: Callable[[Hospital], Path]
) -> None:
    rehearse(hospital)
    policy = attack(hospital)
    for _ in range(2):
        with pytest.raises(LedgerError) as error:
            San(load(policy))
        assert error.value.code in ("ledger_scratch", "ledger_head_missing", "ledger_linked")
        assert error.value.remedy


def test_deleting_a_rehearsal_gives_nothing_but_another_rehearsal(hospital: Hospital) -> None:
    rehearse(hospital)
    for path in _pair(hospital.rehearsal):
        path.unlink()
    rehearse(hospital)
    assert hospital.spent() == Fraction(1, 4)


def test_the_real_ledger_deleted_is_still_missed_after_a_rehearsal(hospital: Hospital) -> None:
    rehearse(hospital)
    for path in _pair(hospital.ledger):
        path.unlink()
    with pytest.raises(LedgerError) as error:
        San(load(hospital.real))
    assert error.value.code == "ledger_missing"
    rehearse(hospital)


def test_the_second_head_of_the_real_account_is_left_alone(hospital: Hospital) -> None:
    head = hospital.root / "elsewhere.head"
    more = f'head = "{head}"'
    hospital.real = hospital.policy("real", more=more)
    hospital.spent()
    pinned = head.read_bytes()
    hospital.scratch = hospital.policy("scratch", more=f"{more}\nscratch = true")
    rehearse(hospital)
    assert head.read_bytes() == pinned


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, [*map(str, arguments)])
    return result.exit_code, result.output


@pytest.mark.parametrize(
    "command",
    [
        ["move"],
        ["retire", "--because", "over"],
        ["retire", "--because", "over", "--release", "other-data"],
        ["retire", "--because", "over", "--release", "other-terms"],
        ["retire", "--because", "over", "--lost"],
        ["merge", "hospital.ledger"],
    ],
    ids=" ".join,
)
def test_a_scratch_account_is_neither_moved_nor_merged_nor_closed(
    hospital: Hospital, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hospital.root)
    rehearse(hospital)
    before = files_of(hospital)
    code, output = run("account", *command, "-p", hospital.scratch)
    assert (code, "[ledger_scratch]" in output) == (5, True), output
    assert files_of(hospital) == before


def test_a_scratch_account_is_not_merged_into_a_real_one(hospital: Hospital) -> None:
    rehearse(hospital)
    before = hospital.rehearsal.read_bytes()
    code, output = run("account", "merge", hospital.rehearsal, "-p", hospital.real)
    assert (code, "[ledger_scratch]" in output) == (5, True), output
    assert hospital.rehearsal.read_bytes() == before
    assert hospital.spent() == Fraction(1, 4)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("spend", {"reservation": 3, "sha256": "0" * 64}),
        ("claim", {"account": "0" * 32, "after": [], "source": "/data", "time": "2026-01-01T00:00:00+00:00"}),
        ("version", {"version": 1, "stamps": {"people": "0" * 64}, "time": "2026-01-01T00:00:00+00:00"}),
        ("retire", {"into": None, "reason": "", "statement": "closed", "time": "2026-01-01T00:00:00+00:00"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_records_that_no_scratch_account_has_are_damage_to_the_books_and_to_the_auditor(
    hospital: Hospital, kind: str, content: dict[str, object]
) -> None:
    rehearse(hospital)
    forge(load(hospital.scratch), kind, content)
    found = verify(hospital.rehearsal)
    assert found.fault is not None
    assert "scratch" in found.fault.message
    with pytest.raises(LedgerError) as error:
        San(load(hospital.scratch))
    assert error.value.code == "ledger_damaged"


@pytest.mark.parametrize("mark", [False, None, 1, "yes", []])
def test_a_mark_that_is_not_plainly_true_is_damage(hospital: Hospital, mark: object) -> None:
    policy = load(hospital.scratch)
    opening = {"dataset": policy.name, "format": 2, "terms": account_terms(policy)}
    forge_opening(policy, opening | {"scratch": mark})
    assert not verify(policy.ledger).sound
    for path in (hospital.scratch, _named(hospital, hospital.rehearsal)):
        with pytest.raises(LedgerError) as error:
            San(load(path))
        assert error.value.code == "ledger_damaged"


def test_commands_say_that_an_account_is_a_scratch_account(hospital: Hospital) -> None:
    rehearse(hospital)
    for command in (["budget"], ["ledger", "verify"], ["account", "show"]):
        code, output = run(*command, "-p", hospital.scratch)
        assert (code, "scratch account" in output) == (0, True), output
        code, output = run(*command, "-p", hospital.real)
        assert (code, "scratch account" in output) == (0, False), output
    assert json.loads(run("ledger", "verify", "-p", hospital.scratch, "--format", "json")[1])[
        "scratch"
    ]
    code, output = run("query", "-p", hospital.scratch, COUNT, "--epsilon", "0.5")
    assert (code, "[scratch_never_releases]" in output) == (2, True), output
