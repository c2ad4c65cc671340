"""A ledger is one: of two that go on from the same records, only the first is believed."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

from sanql.account.charge import Charge
from sanql.account.claims.address import address_of
from sanql.account.claims.claims import Holder
from sanql.account.ledger import pinning
from sanql.account.ledger.chain import Head, head_path, read_pinned
from sanql.account.ledger.journal import Journal
from sanql.account.ledger.ledger import Ledger
from sanql.account.ledger.pinning import holding
from sanql.account.stores import asking as asking_module
from sanql.account.stores.asking import asking_alone
from sanql.account.stores.sqlite import SqliteStore
from sanql.errors import LedgerError
from sanql.policy.model import Policy
from support.interrupts import interrupted_at

Laplace = Callable[[str], Charge]
MakePolicy = Callable[..., Policy]
TERMS = {"neighbours": "add-remove"}
ACCOUNT = "a" * 32


def copied(ledger: Path, to: Path) -> Path:
    """Copy a ledger with everything in its log, and its head."""
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("VACUUM INTO ?", (str(to),))
    head_path(to).write_bytes(head_path(ledger).read_bytes())
    return to


@pytest.fixture
def forked(make_policy: MakePolicy, tmp_path: Path) -> Iterator[tuple[Ledger, Ledger]]:
    """A ledger and a copy of it, both open, with one second head."""
    policy = make_policy(head=tmp_path / "second.head")
    with Ledger.open(policy, TERMS) as one:
        copy = copied(policy.ledger, tmp_path / "copy.ledger")
        with Ledger.open(make_policy(head=policy.head, ledger=copy), TERMS) as other:
            yield one, other


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["the ledger", "its copy"])
def test_whoever_is_charged_first_goes_on_and_the_other_is_refused_before_a_record(
    forked: tuple[Ledger, Ledger], order: tuple[int, int], laplace: Laplace
) -> None:
    first, second = (forked[index] for index in order)
    first.reserve("ana", "a" * 64, laplace("0.5"))
    before = len(list(second.records()))
    for _ in range(2):
        with pytest.raises(LedgerError) as error:
            second.reserve("ana", "b" * 64, laplace("0.5"))
        assert error.value.code in ("ledger_rolled_back", "ledger_damaged")
    assert len(list(second.records())) == before
    first.reserve("ana", "c" * 64, laplace("0.5"))


@pytest.mark.parametrize("module", ["claims.owner", "ledger.journal"])
def test_a_charge_of_another_process_meanwhile_is_no_ledger_put_back(
    make_policy: MakePolicy,
    tmp_path: Path,
    laplace: Laplace,
    monkeypatch: pytest.MonkeyPatch,
    module: str,
) -> None:
    policy, place = make_policy(), tmp_path / "registry.head"
    with Ledger.open(policy, TERMS) as one, Ledger.open(policy, TERMS) as other:
        one.owner.pin_in_registry(place)

        def charged_meanwhile(path: Path) -> Head | None:
            monkeypatch.undo()
            one.reserve("ana", "a" * 64, laplace("0.5"))
            return read_pinned(path)

        monkeypatch.setattr(f"sanql.account.{module}.read_pinned", charged_meanwhile)
        (other.owner.check_pinned if module == "claims.owner" else other.owner.pin_in_registry)(
            place
        )
        assert len(list(other.records())) == len(list(one.records()))


def test_a_fork_that_has_grown_longer_is_refused_all_the_same(
    forked: tuple[Ledger, Ledger], tmp_path: Path, laplace: Laplace
) -> None:
    one, other = forked
    pinned = (tmp_path / "second.head").read_bytes()
    for digest in "abc":
        other.reserve("ana", digest * 64, laplace("0.1"))
    (tmp_path / "second.head").write_bytes(pinned)
    one.reserve("ana", "d" * 64, laplace("0.1"))
    with pytest.raises(LedgerError) as error:
        other.reserve("ana", "e" * 64, laplace("0.1"))
    assert error.value.code == "ledger_damaged"


def test_of_two_that_wrote_before_either_pinned_only_one_is_answered(
    make_policy: MakePolicy, tmp_path: Path
) -> None:
    policy = make_policy()
    Ledger.open(policy, TERMS).close()
    copy = copied(policy.ledger, tmp_path / "copy.ledger")
    stores = [Journal(SqliteStore(path)) for path in (policy.ledger, copy)]
    for store in stores:
        store.pin_besides(tmp_path / "registry.head", durable=False)
    for number, store in enumerate(stores):
        with store.writing():
            store.append("failures_reset", {"time": f"2026-11-17T00:00:0{number}+00:00"})
    stores[1].pin()
    with pytest.raises(LedgerError) as error:
        stores[0].pin()
    assert error.value.code == "ledger_damaged"
    for store in stores:
        store.close()


def test_a_second_head_that_vanishes_while_the_ledger_is_open_is_missed(
    make_policy: MakePolicy, tmp_path: Path, laplace: Laplace
) -> None:
    policy = make_policy(head=tmp_path / "second.head")
    with Ledger.open(policy, TERMS) as ledger:
        ledger.reserve("ana", "a" * 64, laplace("0.1"))
        kept = (tmp_path / "second.head").read_bytes()
        (tmp_path / "second.head").unlink()
        with pytest.raises(LedgerError) as error:
            ledger.reserve("ana", "b" * 64, laplace("0.1"))
        assert error.value.code == "ledger_head_missing"
        (tmp_path / "second.head").write_bytes(kept)
        ledger.reserve("ana", "b" * 64, laplace("0.1"))


@pytest.mark.parametrize("name", ["other.ledger", "folder/hospital.ledger"])
def test_a_file_with_two_names_is_refused_under_both_until_one_is_gone(
    name: str, make_policy: MakePolicy, tmp_path: Path, laplace: Laplace
) -> None:
    policy = make_policy()
    other = tmp_path / name
    other.parent.mkdir(exist_ok=True)
    with Ledger.open(policy, TERMS) as ledger:
        other.hardlink_to(policy.ledger)
        head_path(other).write_bytes(head_path(policy.ledger).read_bytes())
        with pytest.raises(LedgerError) as error:
            ledger.reserve("ana", "a" * 64, laplace("0.1"))
        assert error.value.code == "ledger_linked"
        with pytest.raises(LedgerError) as error:
            Ledger.open(make_policy(ledger=other), TERMS)
        assert error.value.code == "ledger_linked"
        other.unlink()
        ledger.reserve("ana", "a" * 64, laplace("0.1"))


def test_a_claim_is_kept_by_the_file_under_its_name_and_wherever_its_folder_goes(
    tmp_path: Path,
) -> None:
    ledger = tmp_path / "home" / "a.ledger"
    ledger.parent.mkdir()
    ledger.touch()
    holder = Holder.of(ACCOUNT, ledger)
    claim = holder.claim_of(address_of(tmp_path))
    assert holder.keeps(claim)
    for name in ("home/b.ledger", "other/a.ledger"):
        linked = tmp_path / name
        linked.parent.mkdir(exist_ok=True)
        linked.hardlink_to(ledger)
        assert not Holder.of(ACCOUNT, linked).keeps(claim)
        linked.unlink()
    ledger.parent.rename(tmp_path / "moved")
    assert Holder.of(ACCOUNT, tmp_path / "moved" / "a.ledger").keeps(claim)


def test_a_restored_file_keeps_the_claim_in_its_old_place_and_nowhere_else(tmp_path: Path) -> None:
    ledger = tmp_path / "a.ledger"
    ledger.touch()
    claim = Holder.of(ACCOUNT, ledger).claim_of(address_of(tmp_path))
    ledger.rename(tmp_path / "put away")
    ledger.touch()
    assert Holder.of(ACCOUNT, ledger).keeps(claim)
    assert not Holder.of(ACCOUNT, tmp_path / "put away").keeps(claim)
    assert not Holder.of("b" * 32, ledger).keeps(claim)


def asking(place: Path, seconds_max: float) -> AbstractContextManager[None]:
    return asking_alone(place, "ana", "a" * 64, seconds_max)


@pytest.mark.parametrize(
    ("lock", "module"), [(holding, pinning), (asking, asking_module)], ids=["head", "question"]
)
def test_a_lock_is_given_back_whichever_line_is_interrupted(
    lock: Callable[[Path, float], AbstractContextManager[None]], module: ModuleType, tmp_path: Path
) -> None:
    held, kept = partial(lock, tmp_path / "pinned.head"), list[KeyboardInterrupt]()
    for line in range(1, 40):
        try:
            with interrupted_at(line, module), held(5.0):
                pass
        except KeyboardInterrupt as interrupt:
            kept.append(interrupt)  # as whoever voids the reservation has it, or a notebook
        started = time.monotonic()
        with held(5.0):
            assert time.monotonic() - started < 4.0, "nobody holds it any more"
    assert 5 < len(kept) < 39, "every line was interrupted once"
