"""A damaged ledger, one that may not be read and one that may not be written are told apart, by name."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sanql.account.charge import Charge
from sanql.account.ledger.ledger import Ledger
from sanql.audit.ledger import verify
from sanql.audit.ledger.exporting import export
from sanql.errors import LedgerError
from sanql.policy.model import Policy
from support.policies import dataset

MakePolicy = Callable[..., Policy]
TERMS = {"neighbours": "add-remove"}
PAGE = 4096


@pytest.fixture
def written(make_policy: MakePolicy, laplace: Callable[[str], Charge]) -> Policy:
    """Return the policy of a ledger with a few records, all of them in the database file."""
    policy = make_policy()
    with Ledger.open(policy, TERMS) as ledger:
        for number in range(3):
            reserved = ledger.reserve("bob", f"{number:064x}", laplace("0.1"))
            ledger.spend(reserved, b"answer")
    connection = sqlite3.connect(policy.ledger)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return policy


@pytest.mark.slow
def test_no_flipped_byte_of_the_first_pages_ends_in_anything_but_a_ledger_error(
    written: Policy,
) -> None:
    path = written.ledger
    content, head = path.read_bytes(), path.with_name(path.name + ".head").read_bytes()
    schema = content.index(b"CREATE")
    places = [*range(0, 2 * PAGE, 97), *range(schema, PAGE, 23)]
    for place in places:
        for mask in (0x01, 0x80):
            flipped = bytearray(content)
            flipped[place] ^= mask
            _put(path, bytes(flipped), head)
            found = verify(path)
            try:
                list(export(path))
                Ledger.open(written, TERMS).close()
            except LedgerError as error:
                assert error.exit_code == 5
                assert found.fault is not None


def _put(path: Path, content: bytes, head: bytes) -> None:
    for name in (path.name + "-wal", path.name + "-shm"):
        path.with_name(name).unlink(missing_ok=True)
    path.write_bytes(content)
    path.with_name(path.name + ".head").write_bytes(head)


@pytest.mark.parametrize(
    "head", [b"", b"\xff\xfe", b'{"hash": 1}', b'{"hash":"a","sequence":"b"}', b"[]"]
)
def test_a_head_that_is_none_is_damage(written: Policy, head: bytes) -> None:
    _put(written.ledger, written.ledger.read_bytes(), head)
    assert verify(written.ledger).fault is not None
    with pytest.raises(LedgerError) as refused:
        list(export(written.ledger))
    assert refused.value.exit_code == 5


AS_NOBODY = """
import json, os, sys
from click.testing import CliRunner
from sanql.cli.main import main

def told(args):
    done = CliRunner().invoke(main, args)
    fault = done.exception
    traced = "" if fault is None or isinstance(fault, SystemExit) else repr(fault)
    return [done.exit_code, traced, done.output]

commands, states = map(json.loads, sys.argv[1:])
for command in commands:  # it makes the ledger, and what is imported late is imported now
    told(command)
os.setgroups([])
found = {}
for name, modes in states.items():
    before = {path: os.stat(path).st_mode & 0o777 for path in modes}
    for path, mode in modes.items():
        os.chmod(path, mode)
    os.setegid(65534)
    os.seteuid(65534)
    found[name] = [told(command) for command in commands]
    os.seteuid(0)
    os.setegid(0)
    for path, mode in before.items():
        os.chmod(path, mode)
print(json.dumps(found))
"""
POLICY = (
    dataset("data", name="p", epsilon=10, delta="1e-6")
    + """\
ledger = "account/p.ledger"
[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
age = { type = "integer", bounds = [0, 100] }
"""
)


COMMANDS = (["budget"], ["ledger", "verify"], ["ledger", "list"], ["ledger", "export"])


@pytest.mark.slow
@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root can give up rights: NOT TESTED here"
)
def test_a_ledger_that_may_not_be_read_is_not_called_damaged() -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o755)
        (folder / "data").mkdir()
        (folder / "account").mkdir()
        (folder / "data" / "people.csv").write_text("id,age\n1,2\n")
        (folder / "policy.toml").write_text(POLICY)
        account = folder / "account"
        ledger, head = str(account / "p.ledger"), str(account / "p.ledger.head")
        shared = {ledger: 0o644, head: 0o644, str(account): 0o755}
        states = {
            "ledger": shared | {ledger: 0o000},
            "head": shared | {head: 0o000},
            "folder": shared | {str(account): 0o000},
            "read-only": shared,
        }
        listed = [[*command, "-p", str(folder / "policy.toml")] for command in COMMANDS]
        done = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, json.dumps(listed), json.dumps(states)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    found = json.loads(done.stdout)
    for name in ("ledger", "head", "folder"):
        for code, traced, output in found[name]:
            assert (traced, code) == ("", 6), (name, output)
            assert "may not be read by this user" in output and "damaged" not in output
    (code, traced, output), *others = found["read-only"]
    assert (traced, code) == ("", 5) and "ledger_unwritable" in output
    assert all(traced == "" and code in (0, 6) for code, traced, _ in others), others


def test_a_file_that_cannot_be_written_is_named_without_a_traceback(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from sanql.cli.main import main

    (tmp_path / "people.csv").write_text("id,age\n1,2\n")
    target = tmp_path / "no such folder" / "policy.toml"
    done = CliRunner().invoke(main, ["init", str(tmp_path / "people.csv"), "-o", str(target)])
    assert isinstance(done.exception, SystemExit) and done.exit_code == 1
    assert "file_unusable" in done.output and "policy.toml" in done.output
