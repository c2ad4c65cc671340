"""Claims: exactly one account wins, claims are private, nothing is followed or half-written."""

from __future__ import annotations

import json
import multiprocessing
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from sanql.account.claims.address import Address, Site, address_of, identity_of
from sanql.account.claims.claims import Claims, Holder
from sanql.account.claims.file import Claim, claim_path, read_claim, write_claim
from sanql.account.claims.registry import Registry, registry_folders
from sanql.errors import LedgerError

MINE, OTHER = "a" * 32, "b" * 32


def site_of_file(path: Path) -> Site:
    address = address_of(path)
    return Site(address, (), (address,), (address_of(path.parent),))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "data" / "people.csv"
    made.parent.mkdir()
    made.write_text("id\n1\n")
    return made


@pytest.fixture
def holder(tmp_path: Path) -> Callable[[str], Holder]:
    def make(account: str) -> Holder:
        ledger = tmp_path / f"{account[:4]}.ledger"
        ledger.touch()
        return Holder.of(account, ledger)

    return make


def test_names_of_one_file_share_its_identity_and_a_copy_does_not(tmp_path: Path) -> None:
    one = tmp_path / "one"
    one.write_text("1")
    (tmp_path / "hard").hardlink_to(one)
    (tmp_path / "soft").symlink_to(one)
    (tmp_path / "copy").write_bytes(one.read_bytes())
    names = {identity_of(tmp_path / name) for name in ("one", "hard", "soft")}
    assert len(names) == 1
    assert identity_of(tmp_path / "copy") not in names
    identity = identity_of(one)
    one.write_text("rewritten in place")
    os.utime(one, (1, 1))
    one.rename(tmp_path / "renamed")
    assert identity_of(tmp_path / "renamed") == identity


def test_a_file_that_gets_the_inode_of_a_deleted_one_is_another(tmp_path: Path) -> None:
    seen = set()
    for _ in range(5):
        (tmp_path / "file").write_text("1")
        seen.add(identity_of(tmp_path / "file"))
        (tmp_path / "file").unlink()
    assert len(seen) == 5 or any(identity.endswith("?") for identity in seen)


def test_a_claim_is_private_and_reads_back(file: Path, tmp_path: Path) -> None:
    claim = Claim(MINE, tmp_path / "x.ledger", "1:2:3", file, identity_of(file))
    path = claim_path(address_of(file))
    assert path == file.parent / ".people.csv.sanql-account"
    assert write_claim(path, claim)
    assert read_claim(path) == claim
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(entry.name for entry in file.parent.iterdir()) == [path.name, file.name]


def test_a_claim_never_takes_the_place_of_another(file: Path, tmp_path: Path) -> None:
    first = Claim(MINE, tmp_path / "x.ledger", "1:2:3", file, identity_of(file))
    second = Claim(OTHER, tmp_path / "y.ledger", "1:2:4", file, identity_of(file))
    path = claim_path(address_of(file))
    assert write_claim(path, first)
    assert not write_claim(path, second)
    assert not write_claim(path, second, over=second)
    assert read_claim(path) == first
    assert write_claim(path, second, over=first)
    assert read_claim(path) == second


PLANTED: dict[str, Callable[[Path], object]] = {
    "a symbolic link to a private file": lambda path: path.symlink_to("/etc/passwd"),
    "a dangling link": lambda path: path.symlink_to("nowhere"),
    "a pipe": os.mkfifo,
    "a folder": lambda path: path.mkdir(),
    "an empty file": lambda path: path.touch(),
    "half a claim": lambda path: path.write_text('{"account":"aa'),
    "a claim with more in it": lambda path: path.write_text(
        json.dumps(dict.fromkeys(("account", "ledger", "more"), ""))
    ),
    "bytes": lambda path: path.write_bytes(b"\xff\x00"),
}


@pytest.mark.parametrize("plant", PLANTED.values(), ids=list(PLANTED))
def test_what_is_no_claim_is_refused_by_name_and_neither_followed_nor_replaced(
    plant: Callable[[Path], object], file: Path, tmp_path: Path, holder: Callable[[str], Holder]
) -> None:
    path = claim_path(address_of(file))
    plant(path)
    before = as_written(path)
    claims = Claims(site_of_file(file), [tmp_path / "registry"])
    with pytest.raises(LedgerError) as error:
        claims.make(holder(MINE))
    assert error.value.code == "account_claim_unreadable"
    assert path.name in error.value.message
    assert as_written(path) == before


def as_written(path: Path) -> tuple[int, ...]:
    """Return what changes when something is replaced or written to, and not when it is read."""
    found = path.lstat()
    return found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def test_a_registry_that_is_damaged_is_refused_by_name(file: Path, tmp_path: Path) -> None:
    registry = tmp_path / "registry"
    registry.mkdir()
    (registry / "claims.sqlite").write_text("this is no database, and long enough to look at" * 50)
    with pytest.raises(LedgerError) as error:
        Claims(site_of_file(file), [registry]).live()
    assert error.value.code == "account_registry_unreadable"


def test_the_registry_is_private(
    file: Path, tmp_path: Path, holder: Callable[[str], Holder]
) -> None:
    Claims(site_of_file(file), [tmp_path / "deep" / "registry"]).make(holder(MINE))
    folder = tmp_path / "deep" / "registry"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "claims.sqlite").stat().st_mode) == 0o600


def test_both_places_are_written_and_each_alone_is_enough(
    file: Path, tmp_path: Path, holder: Callable[[str], Holder]
) -> None:
    registry = tmp_path / "registry"
    Claims(site_of_file(file), [registry]).make(holder(MINE))
    for places in ([registry], [tmp_path / "another"]):
        with pytest.raises(LedgerError) as error:
            Claims(site_of_file(file), places).make(holder(OTHER))
        assert error.value.code == "account_claimed"
    claim_path(address_of(file)).unlink()
    with pytest.raises(LedgerError) as error:
        Claims(site_of_file(file), [registry]).make(holder(OTHER))
    assert error.value.code == "account_claimed"


def test_what_one_place_has_lost_the_other_gives_back(
    file: Path, tmp_path: Path, holder: Callable[[str], Holder]
) -> None:
    registry, path = tmp_path / "registry", claim_path(address_of(file))
    claims = Claims(site_of_file(file), [registry])
    claims.make(holder(MINE))
    kept = read_claim(path)
    path.unlink()
    claims.make(holder(MINE))
    assert read_claim(path) == kept
    (registry / "claims.sqlite").unlink()
    claims.make(holder(MINE))
    assert {claim.account for claim in Registry(registry).find(site_of_file(file))} == {MINE}


def test_a_claim_in_any_registry_holds_wherever_new_ones_are_written(
    file: Path, tmp_path: Path, holder: Callable[[str], Holder]
) -> None:
    Claims(site_of_file(file), [tmp_path / "home"]).make(holder(MINE))
    claim_path(address_of(file)).unlink()
    with pytest.raises(LedgerError) as error:
        Claims(site_of_file(file), [tmp_path / "named", tmp_path / "home"]).make(holder(OTHER))
    assert error.value.code == "account_claimed"


def test_the_environment_adds_a_registry_and_takes_none_away() -> None:
    (home,) = registry_folders({})
    assert home.parts[-4:] == (".local", "share", "sanql", "accounts")
    named = Path("/somewhere/sanql/accounts")
    assert registry_folders({"XDG_DATA_HOME": "/somewhere"}) == (named, home)
    assert registry_folders({"XDG_DATA_HOME": "not/absolute"}) == (home,)
    assert registry_folders({"XDG_DATA_HOME": "", "HOME": "/elsewhere"}) == (home,)


def long_named(folder: Path) -> Path:
    """A source beside which no claim can be written: its name leaves no room for one."""
    path = folder / ("p" * 251 + ".csv")
    path.write_text("id\n1\n")
    return path


def test_where_nothing_can_be_written_beside_the_source_the_registry_alone_holds(
    tmp_path: Path, holder: Callable[[str], Holder]
) -> None:
    site = site_of_file(long_named(tmp_path))
    registry = tmp_path / "registry"
    assert Claims(site, [registry]).make(holder(MINE)) == [registry / f"{MINE}.head"]
    with pytest.raises(LedgerError) as error:
        Claims(site, [registry]).make(holder(OTHER))
    assert error.value.code == "account_claimed"
    Claims(site, [registry]).make(holder(MINE))


def test_where_nothing_can_be_written_in_a_registry_the_claim_beside_the_source_holds(
    file: Path, tmp_path: Path, holder: Callable[[str], Holder]
) -> None:
    (tmp_path / "flat").touch()
    claims = Claims(site_of_file(file), [tmp_path / "flat" / "registry"])
    assert claims.make(holder(MINE)) == []
    with pytest.raises(LedgerError) as error:
        claims.make(holder(OTHER))
    assert error.value.code == "account_claimed"


def test_an_account_that_can_be_claimed_nowhere_is_refused(
    tmp_path: Path, holder: Callable[[str], Holder]
) -> None:
    (tmp_path / "flat").touch()
    claims = Claims(site_of_file(long_named(tmp_path)), [tmp_path / "flat" / "registry"])
    with pytest.raises(LedgerError) as error:
        claims.make(holder(MINE))
    assert error.value.code == "account_unclaimable"


def test_where_nothing_stands_beside_the_source_another_variable_is_no_fresh_budget(
    tmp_path: Path, holder: Callable[[str], Holder]
) -> None:
    site, home = site_of_file(long_named(tmp_path)), tmp_path / "home"
    for _ in range(2):
        Claims(site, [tmp_path / "named", home]).make(holder(MINE))
    for others in ([tmp_path / "other", home], [home]):
        with pytest.raises(LedgerError) as error:
            Claims(site, others).make(holder(OTHER))
        assert error.value.code == "account_claimed"
        Claims(site, others).make(holder(MINE))


def test_a_registry_that_a_variable_names_is_not_enough_alone(
    tmp_path: Path, holder: Callable[[str], Holder]
) -> None:
    (tmp_path / "flat").touch()
    named = tmp_path / "named"
    claims = Claims(site_of_file(long_named(tmp_path)), [named, tmp_path / "flat" / "home"])
    for _ in range(2):
        with pytest.raises(LedgerError) as error:
            claims.make(holder(MINE))
        assert error.value.code == "account_unclaimable"
    assert claims.live() == []


def test_a_claim_that_an_earlier_run_left_in_one_registry_is_written_at_home_too(
    tmp_path: Path, holder: Callable[[str], Holder]
) -> None:
    site, named, home = site_of_file(long_named(tmp_path)), tmp_path / "named", tmp_path / "home"
    Claims(site, [named]).make(holder(MINE))
    assert Registry(home).find(site) == []
    Claims(site, [named, home]).make(holder(MINE))
    assert {claim.account for claim in Registry(home).find(site)} == {MINE}


def test_whatever_the_environment_names_the_home_has_the_claim_and_the_newest_head(
    file: Path, tmp_path: Path, holder: Callable[[str], Holder]
) -> None:
    registries = [tmp_path / "named", tmp_path / "home"]
    for _ in range(2):
        heads = Claims(site_of_file(file), registries).make(holder(MINE))
        assert heads == [registry / f"{MINE}.head" for registry in registries]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    file.rename(elsewhere / file.name)
    moved = site_of_file(elsewhere / file.name)
    with pytest.raises(LedgerError) as error:
        Claims(moved, [tmp_path / "other", tmp_path / "home"]).make(holder(OTHER))
    assert error.value.code == "account_claimed"


def _try(folder: Path, registry: str, number: int, barrier: object, won: object) -> None:
    account = f"{number:032x}"
    ledger = folder / f"{account}.ledger"
    ledger.touch()
    claims = Claims(site_of_file(folder / "data" / "people.csv"), [folder / registry])
    barrier.wait()  # type: ignore[attr-defined]
    try:
        claims.make(Holder.of(account, ledger))
        won.put(account)  # type: ignore[attr-defined]
    except LedgerError as error:
        won.put(error.code)  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("registries", [["one"], ["a", "b", "c", "d"]], ids=["shared", "apart"])
def test_of_accounts_that_claim_at_once_exactly_one_wins(
    registries: list[str], file: Path, tmp_path: Path
) -> None:
    spawn = multiprocessing.get_context("fork")
    for _ in range(3):
        barrier, won = spawn.Barrier(8), spawn.Queue()
        workers = [
            spawn.Process(
                target=_try,
                args=(tmp_path, registries[number % len(registries)], number, barrier, won),
            )
            for number in range(8)
        ]
        for worker in workers:
            worker.start()
        results = [won.get(timeout=60) for _ in workers]
        for worker in workers:
            worker.join()
        assert results.count("account_claimed") == 7
        claimed = read_claim(claim_path(address_of(file)))
        assert claimed is not None and claimed.account in results
        claim_path(address_of(file)).unlink()
        for registry in registries:
            for path in (tmp_path / registry).glob("*"):
                path.unlink()


def test_a_folder_claims_the_files_directly_in_it_and_no_deeper(
    tmp_path: Path, holder: Callable[[str], Holder]
) -> None:
    outer, inner = tmp_path / "outer", tmp_path / "outer" / "sub"
    inner.mkdir(parents=True)
    near, far = outer / "near.csv", inner / "far.csv"
    near.touch()
    far.touch()
    root = address_of(outer)
    Claims(Site(root, (root,), (), ()), [tmp_path / "r"]).make(holder(MINE))
    with pytest.raises(LedgerError):
        Claims(site_of_file(near), [tmp_path / "r"]).make(holder(OTHER))
    Claims(site_of_file(far), [tmp_path / "r"]).make(holder(OTHER))


def test_a_folder_with_anothers_file_in_it_is_refused(
    file: Path, tmp_path: Path, holder: Callable[[str], Holder]
) -> None:
    Claims(site_of_file(file), [tmp_path / "r"]).make(holder(MINE))
    root: Address = address_of(file.parent)
    for registry in ("r", "another"):
        with pytest.raises(LedgerError) as error:
            Claims(Site(root, (root,), (), ()), [tmp_path / registry]).make(holder(OTHER))
        assert error.value.code == "account_claimed"
