"""`sanql account`: moved, merged and closed accounts, as owners do it, with what was spent kept."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sanql.account.charge import Charge
from sanql.account.events import LaplaceEvent
from sanql.audit.ledger import verify
from sanql.cli.main import main
from sanql.errors import BudgetExceeded, LedgerError
from sanql.policy import load
from sanql.san import San
from support.policies import dataset

pytestmark = pytest.mark.usefixtures("in_this_process")

POLICY = (
    dataset("{source}", name="{name}", neighbours="{neighbours}", epsilon=1, delta=0)
    + """\
{more}
[table.people]
privacy_unit = "id"
unique = true
"""
)


def charge(epsilon: str) -> Charge:
    exact = Fraction(epsilon)
    return Charge((LaplaceEvent(1 / exact, 1, 1),), exact, Fraction(0))


def spend(policy: Path, epsilon: str, digest: str) -> None:
    with San(load(policy)) as san:
        san.ledger.reserve("ana", digest * 64, charge(epsilon))


def spent(policy: Path) -> Fraction:
    with San(load(policy)) as san:
        return san.budget()[0].spent_upper.epsilon


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["account", *map(str, arguments)])


def done(*arguments: object) -> Result:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def refused(code: str, *arguments: object) -> None:
    result = run(*arguments)
    assert (result.exit_code, f"[{code}]" in result.output) == (5, True), result.output


class Town:
    """A source and policies over it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "data").mkdir()
        (root / "data" / "people.csv").write_text("id\n1\n2\n")

    def policy(self, name: str = "town", *, more: str = "", neighbours: str = "add-remove") -> Path:
        path = self.root / f"{name}.toml"
        text = POLICY.format(name=name, source="data", more=more, neighbours=neighbours)
        path.write_text(text)
        return path

    def shown(self, policy: Path) -> dict[str, object]:
        found: dict[str, object] = json.loads(done("show", "-p", policy, "--format", "json").output)
        return found


@pytest.fixture
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Town:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "registry"))
    return Town(tmp_path)


def test_show_tells_the_account_its_data_and_its_ledger(town: Town) -> None:
    policy = town.policy()
    assert town.shown(policy)["account"] is None
    spend(policy, "0.25", "a")
    shown = town.shown(policy)
    assert shown["sources"] == [str(town.root / "data")]
    assert {claim["account"] for claim in shown["claims"]} == {shown["account"]}  # type: ignore[index, attr-defined]
    words = done("show", "-p", policy).output
    assert str(shown["account"]) in words and str(town.root / "town.ledger") in words


# Moves.


def test_a_ledger_that_was_carried_elsewhere_goes_on_after_a_move(town: Town) -> None:
    spend(town.policy(), "0.5", "a")
    (town.root / "new").mkdir()
    for path in town.root.glob("town.ledger*"):
        shutil.copy2(path, town.root / "new" / path.name)
        path.unlink()
    moved = town.policy(more='ledger = "new/town.ledger"')
    with pytest.raises(LedgerError) as error:
        spend(moved, "0.25", "b")
    assert error.value.code == "account_elsewhere"
    done("move", "-p", moved)
    assert spent(moved) == Fraction(1, 2)
    spend(moved, "0.25", "b")
    assert verify(town.root / "new" / "town.ledger").sound
    with pytest.raises(LedgerError):
        spend(town.policy(), "0.25", "c")


def test_a_copy_does_not_become_the_account_while_the_ledger_is_there(town: Town) -> None:
    spend(town.policy(), "0.5", "a")
    (town.root / "new").mkdir()
    for path in town.root.glob("town.ledger*"):
        shutil.copy2(path, town.root / "new" / path.name)
    refused("account_elsewhere", "move", "-p", town.policy(more='ledger = "new/town.ledger"'))


def test_an_old_copy_does_not_become_the_account(town: Town) -> None:
    policy = town.policy()
    spend(policy, "0.5", "a")
    (town.root / "new").mkdir()
    for path in town.root.glob("town.ledger*"):
        shutil.copy2(path, town.root / "new" / path.name)
    spend(policy, "0.5", "b")
    for path in town.root.glob("town.ledger*"):
        path.unlink()
    refused("ledger_rolled_back", "move", "-p", town.policy(more='ledger = "new/town.ledger"'))


def test_a_fresh_ledger_does_not_become_the_account(town: Town, tmp_path: Path) -> None:
    spend(town.policy(), "0.5", "a")
    (tmp_path / "other").mkdir()
    other = Town(tmp_path / "other").policy()
    San(load(other)).close()
    for path in town.root.glob("town.ledger*"):
        path.unlink()
    ledger = other.with_name("town.ledger")
    refused("account_claimed", "move", "-p", town.policy(more=f'ledger = "{ledger}"'))


def test_a_second_head_that_is_lost_is_given_up_by_a_move(town: Town) -> None:
    policy = town.policy(more='head = "second.head"')
    spend(policy, "0.25", "a")
    (town.root / "second.head").unlink()
    with pytest.raises(LedgerError) as error:
        spend(policy, "0.25", "b")
    assert error.value.code == "ledger_head_missing"
    refused("ledger_head_missing", "move", "-p", policy)
    done("move", "-p", policy, "--head-lost")
    spend(policy, "0.25", "b")
    assert (town.root / "second.head").exists()
    assert verify(town.root / "town.ledger").sound


# Mergers.


@pytest.fixture
def two(town: Town, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two accounts over one source, as there were before accounts claimed their data."""
    policies = town.policy(), town.policy("village")
    for policy, epsilon, registry in zip(policies, ("0.5", "0.25"), "12", strict=True):
        for claim in town.root.rglob("*.sanql-account"):
            claim.unlink()
        with _known_in(town.root / registry, monkeypatch):
            spend(policy, epsilon, "a")
    return policies


@contextmanager
def _known_in(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Know of the accounts in one place only."""
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("XDG_DATA_HOME", str(place))
        elsewhere.setattr("sanql.account.claims.registry._home", lambda: place / "home")
        yield


def test_two_accounts_over_the_same_data_are_brought_together(
    two: tuple[Path, Path], town: Town
) -> None:
    first, second = two
    with pytest.raises(LedgerError) as error:
        spend(first, "0.1", "b")
    assert error.value.code == "account_claimed"
    assert "1 charges" in done("merge", "-p", first, town.root / "village.ledger").output
    assert spent(first) == Fraction(3, 4)
    with pytest.raises(BudgetExceeded):
        spend(first, "0.5", "b")
    spend(first, "0.25", "b")
    with pytest.raises(LedgerError):
        spend(second, "0.25", "b")
    assert verify(town.root / "town.ledger").sound
    assert verify(town.root / "village.ledger").sound


def test_a_merger_that_broke_off_is_finished_when_it_is_run_again(
    two: tuple[Path, Path], town: Town
) -> None:
    first, _ = two
    village = town.root / "village.ledger"
    for _ in range(3):
        done("merge", "-p", first, village)
    for claim in town.root.rglob("*.sanql-account"):
        claim.unlink()
    done("merge", "-p", first, village)
    assert spent(first) == Fraction(3, 4)
    spend(first, "0.25", "b")


@pytest.mark.parametrize("kept", ["a copy", "the file itself"])
def test_an_old_ledger_is_not_merged(
    two: tuple[Path, Path], town: Town, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two
    village, backup = town.root / "village.ledger", town.root / "backup"
    backup.mkdir()
    for path in town.root.glob("village.ledger*"):
        shutil.copy2(path, backup)
    spend(second, "0.25", "b")
    if kept == "a copy":
        refused("account_elsewhere", "merge", "-p", first, backup / "village.ledger")
    else:
        for path in backup.iterdir():
            shutil.copyfile(path, town.root / path.name)
        (town.root / "village.ledger-wal").unlink(missing_ok=True)
        refused("ledger_rolled_back", "merge", "-p", first, village)


def test_accounts_on_other_terms_are_not_merged(two: tuple[Path, Path], town: Town) -> None:
    other = town.policy("other", neighbours="change-one", more='ledger = "third.ledger"')
    from sanql.account.ledger.ledger import Ledger
    from sanql.account.ledger.terms import account_terms

    Ledger.open(load(other), account_terms(load(other))).close()
    refused("account_merge_terms", "merge", "-p", two[0], town.root / "third.ledger")
    refused("account_merge_itself", "merge", "-p", two[0], town.root / "town.ledger")
    refused("ledger_missing", "merge", "-p", two[0], town.root / "nothing.ledger")


# Ends.


def test_data_of_a_closed_account_stay_its_own(town: Town) -> None:
    policy = town.policy()
    spend(policy, "0.5", "a")
    done("retire", "-p", policy, "--because", "the study is over")
    with pytest.raises(LedgerError) as error:
        spend(policy, "0.1", "b")
    assert error.value.code == "account_retired"
    with pytest.raises(LedgerError) as error:
        spend(town.policy("fresh"), "0.1", "b")
    assert error.value.code == "account_claimed"
    refused("account_retired", "retire", "-p", policy, "--because", "x", "--release", "other-data")
    assert town.shown(policy)["closed"] == "closed"
    assert verify(town.root / "town.ledger").sound


@pytest.mark.slow
@pytest.mark.parametrize("statement", ["other-data", "other-terms"])
def test_released_data_may_have_another_account_that_names_the_one_before(
    statement: str, town: Town
) -> None:
    policy = town.policy()
    spend(policy, "1", "a")
    before = town.shown(policy)["account"]
    for _ in range(2):  # again, as after a crash
        done("retire", "-p", policy, "--because", "new people", "--release", statement)
    fresh = town.policy("fresh", neighbours="change-one")
    spend(fresh, "1", "a")
    assert town.shown(fresh)["account"] != before
    with San(load(fresh)) as san:
        claims = [record.content for record in san.ledger.records() if record.kind == "claim"]
    assert [claim["after"] for claim in claims] == [[before]]
    with pytest.raises(LedgerError) as error:
        spend(policy, "0.1", "b")
    assert error.value.code == "account_claimed"
    with pytest.raises(LedgerError) as error:
        spend(town.policy("third"), "0.1", "b")
    assert error.value.code == "account_claimed"


def test_an_account_whose_ledger_the_policy_names_is_not_given_up_as_lost(town: Town) -> None:
    spend(town.policy(), "1", "a")
    (town.root / "new").mkdir()
    for path in town.root.glob("town.ledger*"):
        path.rename(town.root / "new" / path.name)
    moved = town.policy(more='ledger = "new/town.ledger"')
    refused("account_not_lost", "retire", "-p", moved, "--lost", "--because", "it is not there")
    done("move", "-p", moved)
    assert spent(moved) == 1


def test_only_a_ledger_that_is_lost_is_given_up_without_it(town: Town) -> None:
    policy = town.policy()
    refused("account_not_lost", "retire", "-p", policy, "--lost", "--because", "x")
    spend(policy, "1", "a")
    before = town.shown(policy)["account"]
    refused("account_not_lost", "retire", "-p", policy, "--lost", "--because", "x")
    for path in town.root.glob("town.ledger*"):
        path.unlink()
    done("retire", "-p", policy, "--lost", "--because", "the disk died")
    spend(policy, "0.5", "a")
    with San(load(policy)) as san:
        claims = [record.content for record in san.ledger.records() if record.kind == "claim"]
    assert [claim["after"] for claim in claims] == [[before]]


def saved(town: Town) -> Path:
    """Put a copy of the ledger and its head aside."""
    copy = town.root / "backup"
    copy.mkdir()
    for path in town.root.glob("town.ledger*"):
        shutil.copy2(path, copy / path.name)
    return copy


def put_back(town: Town, copy: Path) -> None:
    """Put an old ledger and its head back."""
    for path in town.root.glob("town.ledger*"):
        path.unlink()
    for path in copy.iterdir():
        shutil.copy2(path, town.root / path.name)


def ledger(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["ledger", *map(str, arguments)])


def afters(policy: Path) -> list[object]:
    """Return the accounts that the ledger's account names as those before it."""
    with San(load(policy)) as san:
        claims = [record.content for record in san.ledger.records() if record.kind == "claim"]
    return [claim["after"] for claim in claims]


@pytest.mark.slow
@pytest.mark.parametrize("pinned", ["", 'head = "second.head"'])
@pytest.mark.parametrize("claimed", [True, False])
def test_a_ledger_that_was_put_back_is_found_by_all_and_given_up_on_record(
    town: Town, claimed: bool, pinned: str
) -> None:
    policy = town.policy(more=pinned)
    if claimed:
        spend(policy, "0.25", "a")
    else:
        San(load(policy)).close()
    copy = saved(town)
    spend(policy, "0.5", "b")
    before = town.shown(policy)["account"]
    put_back(town, copy)
    with pytest.raises(LedgerError) as error:
        spend(policy, "0.25", "c")
    assert error.value.code == "ledger_rolled_back"
    assert "sanql account retire --lost --because 'WHY'" in error.value.remedy
    shown = town.shown(policy)
    assert shown["fault"]["code"] == "ledger_rolled_back"  # type: ignore[index]
    assert "[ledger_rolled_back]" in done("show", "-p", policy).output
    verified = ledger("verify", "-p", policy)
    assert (verified.exit_code, "[ledger_rolled_back]" in verified.output) == (5, True)
    told = done("retire", "-p", policy, "--lost", "--because", "only an old backup is left").output
    assert "set aside" in told
    spend(policy, "0.5", "a")
    assert afters(policy) == [[before]]
    assert town.shown(policy)["fault"] is None
    assert ledger("verify", "-p", policy).exit_code == 0
    (said,) = town.root.glob("town.ledger.lost-*.json")
    assert json.loads(said.read_text())["reason"] == "only an old backup is left"


def damage(town: Town) -> None:
    (town.root / "town.ledger").write_bytes(b"SQLite format 3\0" + b"x" * 5000)


def test_a_ledger_that_cannot_be_read_is_given_up_on_record(town: Town) -> None:
    policy = town.policy()
    spend(policy, "0.5", "b")
    damage(town)
    assert town.shown(policy)["fault"]["code"] == "ledger_damaged"  # type: ignore[index]
    done("retire", "-p", policy, "--lost", "--because", "the disk is broken")
    spend(policy, "0.5", "a")


def test_what_is_left_of_a_lost_ledger_is_set_aside_so_that_the_next_account_can_begin(
    town: Town,
) -> None:
    policy = town.policy(more='head = "second.head"')
    spend(policy, "1", "a")
    before = town.shown(policy)["account"]
    (town.root / "town.ledger").unlink()
    told = ledger("verify", "-p", policy)
    assert (told.exit_code, "[ledger_missing]" in told.output) == (5, True)
    with pytest.raises(LedgerError) as error:
        spend(policy, "0.5", "b")
    assert f"ledger [{error.value.code}]: {error.value}" in told.output.replace("\n\n", "\n")
    assert str(error.value) in ledger("list", "-p", policy).output
    assert town.shown(policy)["fault"]["code"] == "ledger_missing"  # type: ignore[index]
    done("retire", "-p", policy, "--lost", "--because", "the file was deleted")
    spend(policy, "0.5", "b")
    assert afters(policy) == [[before]]
    assert spent(policy) == Fraction(1, 2)


def test_a_head_that_is_left_of_an_account_without_charges_is_set_aside(town: Town) -> None:
    policy = town.policy()
    San(load(policy)).close()
    (town.root / "town.ledger").unlink()
    with pytest.raises(LedgerError) as error:
        spend(policy, "0.5", "b")
    assert "sanql account retire --lost --because 'WHY'" in error.value.remedy
    done("retire", "-p", policy, "--lost", "--because", "the file was deleted")
    spend(policy, "0.5", "b")


def test_giving_up_a_lost_account_leaves_the_sound_ledger_of_another_alone(town: Town) -> None:
    spend(town.policy(), "1", "a")
    for path in town.root.glob("town.ledger*"):
        path.unlink()
    (town.root / "other").mkdir()
    elsewhere = Town(town.root / "other").policy("village")
    spend(elsewhere, "0.5", "a")
    ledger_of_another = town.root / "other" / "village.ledger"
    policy = town.policy(more=f'ledger = "{ledger_of_another}"')
    done("retire", "-p", policy, "--lost", "--because", "the file was deleted")
    assert spent(elsewhere) == Fraction(1, 2)


def test_a_ledger_that_was_never_begun_is_said_to_be(town: Town) -> None:
    for command in ("verify", "list", "export"):
        told = ledger(command, "-p", town.policy())
        assert told.exit_code == 5 and "nothing has been asked" in told.output


def test_why_an_account_was_closed_is_shown(town: Town) -> None:
    policy = town.policy()
    spend(policy, "0.5", "a")
    done("retire", "-p", policy, "--because", "the study is over")
    assert town.shown(policy)["reason"] == "the study is over"
    assert "the study is over" in done("show", "-p", policy).output


# Places.


@pytest.mark.parametrize("original", ["there", "without its ledger", "gone"])
def test_of_copied_data_the_claim_that_came_with_them_is_named(town: Town, original: str) -> None:
    spend(town.policy(), "0.5", "a")
    copy = town.root / "copy"
    shutil.copytree(town.root / "data", copy / "data")
    if original != "there":
        (town.root / "town.ledger").unlink()
    if original == "gone":
        shutil.rmtree(town.root / "data")
        shutil.rmtree(town.root / "registry")
    policy = copy / "town.toml"
    policy.write_text(town.policy().read_text())
    with pytest.raises(LedgerError) as error:
        spend(policy, "0.5", "a")
    assert error.value.code == "account_claimed"
    claim = copy / "data" / ".sanql-account"
    assert repr(str(claim)) in error.value.message
    assert repr(str(town.root / "data")) in error.value.message
    claim.unlink()
    spend(policy, "0.5", "a")  # as the remedy says, of other people


def in_no_folder(town: Town) -> tuple[str, str]:
    return 'ledger = "nowhere/x.ledger"', str(town.root / "nowhere")


def below_a_file(town: Town) -> tuple[str, str]:
    (town.root / "taken").touch()
    return 'ledger = "taken/x.ledger"', str(town.root / "taken")


def with_a_head_in_no_folder(town: Town) -> tuple[str, str]:
    return 'head = "nowhere/second.head"', str(town.root / "nowhere")


def that_is_a_folder(town: Town) -> tuple[str, str]:
    (town.root / "folder").mkdir()
    return 'ledger = "folder"', str(town.root / "folder")


@pytest.mark.slow
@pytest.mark.parametrize(
    "place", [in_no_folder, below_a_file, with_a_head_in_no_folder, that_is_a_folder]
)
def test_where_a_ledger_cannot_be_kept_is_a_fault_that_names_the_place(
    place: Callable[[Town], tuple[str, str]], town: Town
) -> None:
    more, named = place(town)
    policy = town.policy(more=more)
    told = CliRunner().invoke(main, ["check", str(policy)])
    assert (told.exit_code, repr(named) in told.output) == (2, True), told.output
    told = CliRunner().invoke(
        main, ["query", "-p", str(policy), "-e", "1", "SELECT COUNT(*) FROM people"]
    )
    assert (told.exit_code, repr(named) in told.output) == (2, True), told.output
