"""No way to a fresh budget: the account belongs to the data, however they are named or reached.

Each attack spends a budget, does something that once gave another, and spends again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from sanql.account.charge import Charge
from sanql.account.events import LaplaceEvent
from sanql.errors import BudgetExceeded, LedgerError
from sanql.policy import load
from sanql.san import San
from support.policies import dataset

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

POLICY = dataset("{source}", name="{name}", epsilon=1, delta=0) + "{more}\n{tables}\n"
PEOPLE = '[table.people]\nprivacy_unit = "id"\nunique = true\n'
VISITS = '[table.visits]\nprivacy_unit = "id"\nrows_per_unit_max = 2\ngroups_per_unit_max = 2\n'
CITIES = "[table.cities]\npublic = true\n"
WHOLE = Charge((LaplaceEvent(Fraction(1), 1, 1),), Fraction(1), Fraction(0))


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry for one test."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "registry"))
    return tmp_path / "registry"


class Hospital:
    """A folder with data and a policy whose budget has been spent."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data = root / "hospital" / "data"
        (self.data / "visits").mkdir(parents=True)
        (self.data / "people.csv").write_text("id,age\n1,30\n2,40\n")
        (self.data / "cities.csv").write_text("name\nBern\n")
        for part in "ab":
            (self.data / "visits" / f"{part}.csv").write_text("id,cost\n1,30\n")
        self.ledger = root / "hospital" / "hospital.ledger"

    def policy(
        self,
        folder: str = "hospital",
        *,
        source: object = "data",
        name: str = "hospital",
        tables: str = PEOPLE + VISITS + CITIES,
        more: str = "",
    ) -> Path:
        """Write a policy into a folder beside the hospital."""
        path = self.root / folder / f"{name}.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(POLICY.format(name=name, source=source, tables=tables, more=more))
        return path

    def forget_ledger(self) -> None:
        for path in self.ledger.parent.glob("*.ledger*"):
            path.unlink()


def spend(policy: Path) -> None:
    """Spend the whole budget of a policy."""
    with San(load(policy)) as san:
        san.ledger.reserve("ana", "a" * 64, WHOLE)


@pytest.fixture
def hospital(tmp_path: Path, registry: Path) -> Hospital:
    made = Hospital(tmp_path)
    spend(made.policy())
    with pytest.raises(BudgetExceeded):
        spend(made.policy())
    return made


def refused(policy: Path, *codes: str) -> LedgerError:
    """Return the refusal of an account over the policy's data; opening twice changes nothing."""
    for _ in range(2):
        with pytest.raises(LedgerError) as error:
            spend(policy)
        assert error.value.code in codes
        assert error.value.remedy
    return error.value


ELSEWHERE: dict[str, Callable[[Hospital], Path]] = {
    "the policy copied elsewhere": lambda h: h.policy("other", source=h.data),
    "copied, with the path spelled otherwise": lambda h: h.policy(
        "other", source="../hospital/./data/visits/../../data/"
    ),
    "another name": lambda h: h.policy(name="clinic"),
    "a name that differs by case": lambda h: h.policy(name="Hospital"),
    "another ledger": lambda h: h.policy(more='ledger = "fresh.ledger"'),
    "another ledger and name, copied": lambda h: h.policy(
        "other", source=h.data, name="x", more='ledger = "y.ledger"'
    ),
    "one table of the folder only": lambda h: h.policy(name="visits", tables=VISITS),
    "the source as one of its files": lambda h: h.policy(
        name="file", source="data/people.csv", tables=PEOPLE
    ),
    "the source as a file that is not even declared": lambda h: h.policy(
        name="file", source=_new(h.data / "staff.csv"), tables=PEOPLE
    ),
    "the source as a folder of parts": lambda h: h.policy(
        name="parts", source="data/visits", tables=PEOPLE.replace("people", "a")
    ),
    "the source as a part that came later": lambda h: h.policy(
        name="part", source=_new(h.data / "visits" / "c.csv"), tables=PEOPLE
    ),
    "a symbolic link to the folder": lambda h: h.policy(
        "other", source=_linked(h.root / "link", h.data)
    ),
    "a symbolic link to a file": lambda h: h.policy(
        "other", source=_linked(h.root / "p.csv", h.data / "people.csv"), tables=PEOPLE
    ),
    "a folder of symbolic links": lambda h: h.policy(
        "other", source=_linked(h.root / "z" / "people.csv", h.data / "people.csv").parent,
        tables=PEOPLE,
    ),
    "a hard link to a file": lambda h: h.policy(
        "other", source=_hard_linked(h.root / "p.csv", h.data / "people.csv"), tables=PEOPLE
    ),
    "a folder of hard links": lambda h: h.policy(
        "other", source=_hard_linked(h.root / "z" / "people.csv", h.data / "people.csv").parent,
        tables=PEOPLE,
    ),
    "the folder renamed": lambda h: h.policy("other", source=h.data.rename(h.root / "renamed")),
    "a file renamed and moved": lambda h: h.policy(
        "other", source=(h.data / "people.csv").rename(h.root / "p.csv"), tables=PEOPLE
    ),
    "the file rewritten under its name": lambda h: h.policy(
        "other", source=_rewritten(h.data / "people.csv"), tables=PEOPLE
    ),
    "people called a public table": lambda h: h.policy(
        "other", source=_linked(h.root / "z" / "people.csv", h.data / "people.csv").parent,
        tables=PEOPLE.replace("people", "staff") + "[table.people]\npublic = true\n",
        name=_named(h.root / "z" / "staff.csv"),
    ),
    "the whole hospital copied, its claim with it": lambda h: (
        shutil.copytree(h.root / "hospital", h.root / "copy") / "hospital.toml"
    ),
}  # fmt: skip


def _new(path: Path) -> Path:
    path.write_text("id,age\n1,1\n")
    return path


def _named(path: Path) -> str:
    return _new(path).stem


def _linked(link: Path, target: Path) -> Path:
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(target)
    return link


def _hard_linked(link: Path, target: Path) -> Path:
    link.parent.mkdir(exist_ok=True)
    link.hardlink_to(target)
    return link


def _rewritten(path: Path) -> Path:
    path.with_suffix(".tmp").write_text(path.read_text())
    return path.with_suffix(".tmp").replace(path)


@pytest.mark.parametrize("attack", ELSEWHERE.values(), ids=list(ELSEWHERE))
def test_a_second_account_over_the_same_data_is_refused(
    hospital: Hospital, attack: Callable[[Hospital], Path]
) -> None:
    policy = attack(hospital)
    strays = set(hospital.root.rglob("*.ledger"))
    error = refused(policy, "account_claimed", "account_elsewhere")
    assert str(hospital.ledger) in str(error)
    assert set(hospital.root.rglob("*.ledger")) == strays, "a refusal leaves no ledger behind"


def _forget_beside(hospital: Hospital) -> None:
    for claim in [*hospital.root.rglob("*.sanql-account")]:
        claim.unlink()


def _forget_registry(hospital: Hospital) -> None:
    shutil.rmtree(hospital.root / "registry", ignore_errors=True)


GONE: dict[str, tuple[Callable[[Hospital], None], ...]] = {
    "ledger and head": (Hospital.forget_ledger,),
    "ledger, head and the claim beside the source": (Hospital.forget_ledger, _forget_beside),
    "ledger, head and the registry": (Hospital.forget_ledger, _forget_registry),
    "ledger, head and the data's name": (
        Hospital.forget_ledger,
        lambda h: h.data.rename(h.data.with_name("renamed")).rename(h.data) and None,
    ),
    "ledger, head and every file's bytes, rewritten": (
        Hospital.forget_ledger,
        lambda h: _rewritten(h.data / "people.csv") and None,
    ),
}


@pytest.mark.parametrize("steps", GONE.values(), ids=list(GONE))
def test_a_deleted_ledger_is_missed(
    hospital: Hospital, steps: tuple[Callable[[Hospital], None], ...]
) -> None:
    for step in steps:
        step(hospital)
    error = refused(hospital.policy(), "ledger_missing")
    assert str(hospital.ledger) in error.message
    refused(hospital.policy(name="other"), "ledger_missing")
    assert not list(hospital.root.rglob("*.ledger"))


def test_another_registry_forgets_nothing_that_stands_beside_the_source(
    hospital: Hospital, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hospital.forget_ledger()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "nothing here"))
    refused(hospital.policy(), "ledger_missing")


def _copy_pair(hospital: Hospital, to: str) -> None:
    (hospital.root / to).mkdir()
    for path in hospital.ledger.parent.glob("hospital.ledger*"):
        shutil.copy2(path, hospital.root / to)


def _put_back(hospital: Hospital, copied: str) -> None:
    hospital.forget_ledger()
    for path in (hospital.root / copied).iterdir():
        shutil.copy2(path, hospital.ledger.parent)


@pytest.fixture
def new(tmp_path: Path, registry: Path) -> Hospital:
    """A hospital whose account has spent nothing."""
    return Hospital(tmp_path)


HALF = Charge((LaplaceEvent(Fraction(2), 1, 1),), Fraction(1, 2), Fraction(0))


def spend_half(policy: Path, digest: str) -> None:
    with San(load(policy)) as san:
        san.ledger.reserve("ana", digest * 64, HALF)


def test_an_old_ledger_put_back_with_its_head_is_noticed(new: Hospital) -> None:
    policy = new.policy()
    spend_half(policy, "a")
    _copy_pair(new, "old")
    spend_half(policy, "b")
    _put_back(new, "old")
    with pytest.raises(LedgerError) as error:
        spend_half(policy, "b")
    assert error.value.code == "ledger_rolled_back"


def test_an_old_ledger_put_back_is_noticed_where_another_registry_is_named(
    new: Hospital, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = new.policy()
    spend_half(policy, "a")
    _copy_pair(new, "old")
    spend_half(policy, "b")
    _put_back(new, "old")
    monkeypatch.setenv("XDG_DATA_HOME", str(new.root / "another"))
    refused(policy, "ledger_rolled_back")


def test_a_ledger_put_back_to_before_its_first_charge_is_noticed(new: Hospital) -> None:
    policy = new.policy()
    San(load(policy)).close()
    _copy_pair(new, "old")
    spend(policy)
    _put_back(new, "old")
    refused(policy, "ledger_rolled_back")


def test_a_fresh_ledger_in_the_place_of_the_old_one_is_noticed(hospital: Hospital) -> None:
    other = Hospital(hospital.root / "elsewhere")
    San(load(other.policy())).close()
    hospital.forget_ledger()
    for path in other.ledger.parent.glob("hospital.ledger*"):
        shutil.copy2(path, hospital.ledger.parent)
    refused(hospital.policy(), "ledger_rolled_back")


def test_a_fork_of_the_ledger_is_noticed_where_it_is_put_back(
    new: Hospital, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sanql.account.claims.registry._home", lambda: new.root / "nowhere")
    (new.root / "nowhere").touch()  # where no registry can be
    policy = new.policy()
    spend_half(policy, "a")
    _copy_pair(new, "fork")
    spend_half(policy, "b")
    _copy_pair(new, "true")
    (new.root / "registry").rename(new.root / "put away")
    _put_back(new, "fork")
    spend_half(policy, "c")  # the registry is gone: nobody can tell
    shutil.rmtree(new.root / "registry")
    (new.root / "put away").rename(new.root / "registry")
    with pytest.raises(LedgerError) as error:
        spend_half(policy, "d")
    assert error.value.code == "ledger_damaged"
    _put_back(new, "true")
    with pytest.raises(BudgetExceeded):
        spend_half(policy, "d")


# What is no attack goes on as before.


def test_the_account_goes_on_however_its_own_ledger_and_data_are_named(new: Hospital) -> None:
    spend_half(new.policy(), "a")
    link = _linked(new.root / "way", new.root / "hospital")
    same = [
        new.policy(source="./data/../data"),
        new.policy("other", source=new.data, more=f'ledger = "{new.ledger}"'),
        new.policy("other", source=link / "data", more=f'ledger = "{link / "hospital.ledger"}"'),
        link / "hospital.toml",
    ]
    for policy in same:
        with San(load(policy)) as san, pytest.raises(BudgetExceeded):
            san.ledger.reserve("ana", "b" * 64, WHOLE)


def test_new_parts_and_rewritten_files_belong_to_the_account(new: Hospital) -> None:
    policy = new.policy()
    spend_half(policy, "a")
    _rewritten(new.data / "people.csv")
    part = _new(new.data / "visits" / "c.csv")
    os.utime(new.data / "visits" / "a.csv")
    spend_half(policy, "b")
    moved = part.rename(new.root / "c.csv")
    refused(new.policy("other", source=moved, tables=PEOPLE), "account_claimed")


def test_a_renamed_folder_with_its_policy_and_ledger_goes_on(hospital: Hospital) -> None:
    (hospital.root / "hospital").rename(hospital.root / "clinic")
    with pytest.raises(BudgetExceeded):
        spend(hospital.root / "clinic" / "hospital.toml")


def test_data_that_are_nobodys_have_an_account_of_their_own(hospital: Hospital) -> None:
    other = Hospital(hospital.root / "other")
    shared = other.data / "cities.csv"
    shared.unlink()
    shared.symlink_to(hospital.data / "cities.csv")
    spend(other.policy())


def test_copied_data_are_a_known_limit(hospital: Hospital) -> None:
    ignore = shutil.ignore_patterns(".*")
    copied = shutil.copytree(hospital.data, hospital.root / "copy", ignore=ignore)
    spend(hospital.policy("other", source=copied))


def test_a_hospital_deleted_and_made_anew_begins_anew(hospital: Hospital) -> None:
    shutil.rmtree(hospital.root / "hospital")
    again = Hospital(hospital.root)
    spend(again.policy())


def test_reading_an_account_claims_nothing(new: Hospital) -> None:
    with San(load(new.policy())) as san:
        san.budget()
    assert not list(new.root.rglob("*.sanql-account"))
    assert not (new.root / "registry").exists()


def test_an_account_can_be_read_while_the_data_are_away(hospital: Hospital) -> None:
    hospital.data.rename(hospital.root / "away")
    with San(load(hospital.root / "hospital" / "hospital.toml")) as san:
        assert san.budget()[0].remaining_lower.epsilon == 0


@pytest.fixture
def single(tmp_path: Path, registry: Path) -> Iterator[Path]:
    """A file that is a source by itself, whose budget has been spent."""
    file = tmp_path / "one" / "people.csv"
    file.parent.mkdir()
    file.write_text("id,age\n1,30\n")
    spend(Hospital.policy(_Root(tmp_path), "one", source="people.csv", tables=PEOPLE))
    yield file


class _Root(Hospital):
    def __init__(self, root: Path) -> None:
        self.root = root


SINGLE: dict[str, Callable[[_Root, Path], Path]] = {
    "another name": lambda r, f: r.policy("one", name="x", source="people.csv", tables=PEOPLE),
    "its folder": lambda r, f: r.policy("other", source=f.parent, tables=PEOPLE),
    "a link": lambda r, f: r.policy("other", source=_linked(r.root / "l.csv", f), tables=PEOPLE),
    "a hard link": lambda r, f: r.policy(
        "other", source=_hard_linked(r.root / "l.csv", f), tables=PEOPLE
    ),
    "renamed": lambda r, f: r.policy("other", source=f.rename(r.root / "l.csv"), tables=PEOPLE),
    "rewritten": lambda r, f: r.policy("other", source=_rewritten(f), tables=PEOPLE),
}


@pytest.mark.parametrize("attack", SINGLE.values(), ids=list(SINGLE))
def test_a_second_account_over_the_same_file_is_refused(
    single: Path, tmp_path: Path, attack: Callable[[_Root, Path], Path]
) -> None:
    refused(attack(_Root(tmp_path), single), "account_claimed")


def test_two_files_of_one_folder_may_be_two_sources(single: Path, tmp_path: Path) -> None:
    other = _new(single.with_name("staff.csv"))
    spend(_Root(tmp_path).policy("one", name="staff", source=other, tables=PEOPLE))
    refused(_Root(tmp_path).policy("other", source=other.parent, tables=PEOPLE), "account_claimed")
