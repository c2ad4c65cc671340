"""What may not be read or written is said by name, with its exit code; nothing is charged for it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.policies import dataset

pytestmark = pytest.mark.slow

# Root may read everything, whatever the modes are, until it has given that up for good.
GIVE_UP_RIGHTS = """
import ctypes, os, sys
for capability in (1, 2):  # to override, and to ignore when reading, what modes say
    if os.geteuid() == 0 and ctypes.CDLL(None).prctl(24, capability, 0, 0, 0):
        sys.exit(77)
os.execv(sys.executable, [sys.executable, "-c", *sys.argv[1:]])
"""
ASK = """
import json, os, sys
from click.testing import CliRunner
import sanql
from sanql.cli.main import main

def told(*args):
    done = CliRunner().invoke(main, list(args))
    fault = done.exception
    traced = "" if fault is None or isinstance(fault, SystemExit) else repr(fault)
    return [done.exit_code, traced, done.output]

def asked(policy, epsilon):
    try:
        with sanql.open(policy) as san:
            return san.query("SELECT COUNT(*) FROM people", epsilon=epsilon).table.num_rows
    except Exception as error:
        return type(error).__name__

def all_told(policy, source, number):
    question = "SELECT COUNT(*) FROM people", "--epsilon", str(2 + number / 1000), "-p", policy
    commands = {
        "query": lambda: told("query", *question),
        "explain": lambda: told("explain", *question),
        "check": lambda: told("check", "-p", policy),
        "refresh": lambda: told("refresh", "-p", policy),
        "init": lambda: told("init", source, "-o", policy + ".new"),
        "python": lambda: asked(policy, 1 + number / 1000),
    }
    return {name: commands[name]() for name in wanted}

policy, source, states, wanted = sys.argv[1], sys.argv[2], *map(json.loads, sys.argv[3:])
found = []
for number, (path, mode) in enumerate(states, 1):
    before = os.stat(path).st_mode & 0o777
    os.chmod(path, mode)
    found.append(all_told(policy, source, number))
    os.chmod(path, before)
with sanql.open(policy) as san:
    answered = san.query("SELECT COUNT(*) FROM people", epsilon=1).table.num_rows
    spent = str(san.balances()[0].spent_upper.epsilon)
print(json.dumps([found, answered, spent]))
"""
POLICY = (
    dataset("{source}", name="town", epsilon=100)
    + """\
ledger = "account/town.ledger"
[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
age = {{ type = "integer", bounds = [0, 100] }}
"""
)


def outcomes(
    folder: Path,
    source: str,
    states: list[tuple[Path, int]],
    commands: tuple[str, ...] = ("query", "python"),
) -> tuple[list[dict[str, Any]], int, str]:
    """Return what commands say in each state, the rows of an answer after all of them, and the cost."""
    policy = folder / "policy.toml"
    policy.write_text(POLICY.format(source=source))
    (folder / "account").mkdir(exist_ok=True)
    listed = json.dumps([(str(path), mode) for path, mode in states])
    given = [ASK, str(policy), str(folder / source), listed, json.dumps(commands)]
    done = subprocess.run(
        [sys.executable, "-c", GIVE_UP_RIGHTS, *given], capture_output=True, text=True, check=False
    )
    if done.returncode == 77:
        pytest.skip("root cannot give up its rights here: NOT TESTED")
    assert done.returncode == 0, done.stderr
    found, answered, spent = json.loads(done.stdout)
    return found, answered, spent


def write_people(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".duckdb":
        import duckdb

        with duckdb.connect(str(path)) as connection:
            connection.execute("CREATE TABLE people AS SELECT 1 AS id, 2 AS age")
    else:
        path.write_text("id,age\n1,2\n")
    return path


COMMANDS = ("query", "explain", "check", "refresh", "init", "python")


@pytest.mark.parametrize(
    ("source", "file"),
    [
        ("data", "data/people.csv"),
        ("data", "data/people/part.csv"),
        ("data/people.duckdb", "data/people.duckdb"),
    ],
)
def test_data_that_may_not_be_read_are_a_fault_of_the_policy(
    source: str, file: str, tmp_path: Path
) -> None:
    """Folders without any right, without listing and without passing; a file without reading."""
    path = write_people(tmp_path / file)
    listed = [(path.parent, 0o311)] if source == "data" else []
    states = [(path.parent, 0o000), *listed, (path.parent, 0o644), (path, 0o000)]
    found, answered, spent = outcomes(tmp_path, source, states, COMMANDS)
    for state, told in zip(states, found, strict=True):
        assert told.pop("python") == "PolicyError", state
        code, traced, output = told.pop("init")
        assert (code, traced) == (2, ""), (state, output)
        if state[0].is_file() and source.endswith(".duckdb"):
            told.pop("explain")  # of a database nothing need be read for it but names
        for command, (code, traced, output) in told.items():
            assert (code, traced) == (2, ""), (state, command, output)
            assert "dataset.source" in output, (state, command, output)
            if state[0] == path:
                assert f"{path.name} cannot be read (Permission denied)" in output, (
                    command,
                    output,
                )
    assert (answered, spent) == (1, "1"), "nothing was charged before"


def test_a_folder_of_copies_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    write_people(tmp_path / "people.csv")
    cache = tmp_path / "account" / "town.cache"
    cache.mkdir(parents=True, mode=0o700)
    (told,), answered, spent = outcomes(tmp_path, "people.csv", [(cache, 0o500)])
    code, traced, output = told["query"]
    assert (code, traced) == (2, ""), output
    assert "town.cache/" in output
    assert told["python"] == "PolicyError"
    assert (answered, spent) == (1, "1")


def test_a_ledger_that_may_not_be_written_is_an_error_of_the_ledger(tmp_path: Path) -> None:
    write_people(tmp_path / "people.csv")
    account = tmp_path / "account"
    outcomes(tmp_path, "people.csv", [])
    ledger, head = account / "town.ledger", account / "town.ledger.head"
    states = [(account, 0o555), (account, 0o000), (ledger, 0o444), (ledger, 0o000), (head, 0o000)]
    found, _, _ = outcomes(tmp_path, "people.csv", states)
    for (path, mode), told in zip(states, found, strict=True):
        code, traced, output = told["query"]
        may_be_read = mode & 0o400
        assert (code, traced) == (5 if may_be_read else 6, ""), (path, output)
        assert told["python"] == ("LedgerError" if may_be_read else "LedgerUnreadable")


def test_a_ledger_that_is_missing_is_an_error_of_the_ledger(tmp_path: Path) -> None:
    write_people(tmp_path / "people.csv")
    outcomes(tmp_path, "people.csv", [])
    for path in (tmp_path / "account").glob("town.ledger*"):
        path.unlink()
    from click.testing import CliRunner

    from sanql.cli.main import main

    asked = ["query", "SELECT COUNT(*) FROM people", "--epsilon", "3"]
    done = CliRunner().invoke(main, [*asked, "-p", str(tmp_path / "policy.toml")])
    assert isinstance(done.exception, SystemExit)
    assert done.exit_code == 5, done.output
