"""What others on the machine can reach is not served, and the commands that mend it do."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sanql.errors import ServerError
from sanql.policy import load
from sanql.san import San
from sanql.server import check_permissions
from support.commands import run
from support.hospitals import hospital_in

pytestmark = pytest.mark.usefixtures("in_this_process")


@pytest.fixture
def policy() -> Iterator[Path]:
    """A hospital that has been asked, in a folder that everybody may look into.

    It is not below pytest's own folder, which each run closes to others when it begins.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        made = hospital_in(Path(folder) / "hospital")
        made.parent.chmod(0o755)
        with San(load(made), "ana") as san:
            san.query("SELECT COUNT(*) FROM people", epsilon=0.1)
        yield made


def open_to_all(path: Path) -> bool:
    return all(folder.stat().st_mode & 0o001 for folder in path.parents)


def test_data_that_everybody_can_read_are_not_served_and_the_commands_mend_it(policy: Path) -> None:
    if not open_to_all(policy):
        pytest.skip("the folder of the tests is closed to others, above what a test may change")
    with pytest.raises(ServerError) as refused:
        check_permissions([load(policy)])
    assert refused.value.code == "permissions_open"
    assert "people.parquet: everybody can read it" in refused.value.message
    for command in refused.value.remedy.splitlines()[1:]:
        subprocess.run(command, shell=True, check=True)
    check_permissions([load(policy)])


@pytest.mark.parametrize("name", ["hospital.ledger", "hospital.ledger.head", "hospital.stamps"])
def test_every_file_of_the_account_is_looked_at(policy: Path, name: str) -> None:
    (policy.parent / "data").chmod(0o700)
    check_permissions([load(policy)])
    (policy.parent / name).chmod(0o640)
    if not open_to_all(policy):
        pytest.skip("the folder of the tests is closed to others, above what a test may change")
    with pytest.raises(ServerError, match=f"{name}: its group can read it"):
        check_permissions([load(policy)])


def test_copies_and_their_folder_are_looked_at(policy: Path) -> None:
    (policy.parent / "data").chmod(0o700)
    cache = policy.parent / "hospital.cache"
    cache.chmod(0o711)
    copies = [path for path in cache.rglob("*") if path.is_file()]
    for path in copies:
        path.chmod(0o600)
    if not open_to_all(policy):
        pytest.skip("the folder of the tests is closed to others, above what a test may change")
    check_permissions([load(policy)])
    if copies:
        copies[0].chmod(0o604)
        with pytest.raises(ServerError, match="everybody can read it"):
            check_permissions([load(policy)])


def test_a_closed_folder_above_protects_what_is_in_it(policy: Path) -> None:
    policy.parent.chmod(0o700)
    check_permissions([load(policy)])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")
def test_what_belongs_to_somebody_else_is_not_served(policy: Path) -> None:
    policy.parent.chmod(0o700)
    os.chown(policy.parent / "data" / "people.parquet", 65534, 65534)
    os.chown(policy.parent / "data", 65534, 65534)
    with pytest.raises(ServerError, match="belongs to nobody"):
        check_permissions([load(policy)])


def test_every_start_looks_and_one_can_only_look(policy: Path) -> None:
    if not open_to_all(policy):
        pytest.skip("the folder of the tests is closed to others, above what a test may change")
    for more in ([], ["--check-permissions"]):
        done = run("serve", policy, "--http", "127.0.0.1:0", *more)
        assert done.exit_code == 8 and "chmod -R go-rwx" in done.stderr
    policy.parent.chmod(0o700)
    done = run("serve", policy, "--check-permissions")
    assert done.exit_code == 0 and "only the account" in done.stdout


def refused(policy: Path, settings: Path | None = None) -> str:
    with pytest.raises(ServerError) as error:
        check_permissions([load(policy)], settings=settings)
    for command in error.value.remedy.splitlines()[1:]:
        subprocess.run(command, shell=True, check=True)
    check_permissions([load(policy)], settings=settings)  # the commands mend it
    return error.value.message


@pytest.fixture
def closed(policy: Path) -> Path:
    if not open_to_all(policy):
        pytest.skip("the folder of the tests is closed to others, above what a test may change")
    (policy.parent / "data").chmod(0o700)
    check_permissions([load(policy)])
    return policy


def test_a_policy_or_settings_that_others_can_change_are_not_followed(
    closed: Path, tmp_path: Path
) -> None:
    closed.chmod(0o666)
    assert "policy.toml: everybody can change it" in refused(closed)
    settings = closed.parent / "server.toml"
    settings.touch(0o644)
    settings.chmod(0o662)
    assert "server.toml: everybody can change it" in refused(closed, settings)


def test_a_folder_in_which_others_can_put_another_file_is_no_place_for_an_account(
    closed: Path,
) -> None:
    closed.parent.chmod(0o777)
    assert "put something else in the place of hospital.ledger" in refused(closed)


def test_what_a_link_leads_to_is_looked_at(closed: Path) -> None:
    outside = closed.parent / "outside.parquet"
    table = closed.parent / "data" / "people.parquet"
    outside.write_bytes(table.read_bytes())
    outside.chmod(0o644)
    table.unlink()
    table.symlink_to(outside)
    (closed.parent / "data").chmod(0o755)
    assert "outside.parquet: everybody can read it" in refused(closed)


def test_a_file_with_another_name_elsewhere_is_closed_itself(closed: Path) -> None:
    ledger = closed.parent / "hospital.ledger.head"
    ledger.chmod(0o644)
    closed.parent.chmod(0o700)
    check_permissions([load(closed)])
    (closed.parent / "elsewhere").hardlink_to(ledger)
    assert "hospital.ledger.head: everybody can read it" in refused(closed)
