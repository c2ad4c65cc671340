"""The command asks a server as it asks data here: the same words, forms and exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sanql
from support.commands import run
from support.serving import Served

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]
COUNT = "SELECT COUNT(*) AS n FROM people"
BY_REGION = "SELECT region, COUNT(*) AS n, AVG(score) AS mean FROM people GROUP BY region"
HEAVY = ("duckdb", "flint", "numpy", "pandas", "polars", "pyarrow", "scipy", "sqlglot")


@pytest.fixture
def token_file(town: Served, tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text(f"{town.token('ana')}\n")
    return file


@pytest.fixture
def remote(town: Served, token_file: Path) -> list[object]:
    return ["--server", town.url, "--token-file", token_file]


@pytest.mark.parametrize(
    "command",
    [
        ["query", "-e", "0.5", BY_REGION],
        ["query", "-e", "0.5", "--format", "json", BY_REGION],
        ["query", "-e", "0.5", "--format", "csv", BY_REGION],
        ["query", "--format", "csv", "SELECT * FROM regions"],
        ["query", "-e", "0.5", "--param", "least=2", f"{COUNT} WHERE score > $least"],
        ["query", "--exact", "SELECT region, SUM(amount) FROM people GROUP BY 1"],
        ["explain", "-e", "0.7", BY_REGION],
        ["explain", "-e", "0.7", "--sql", BY_REGION],
        ["explain", "-e", "0.7", "--format", "json", BY_REGION],
        ["query", "-e", "0.5", "SELECT AVG(scor) FROM people"],
        ["query", "-e", "0.5", "--format", "json", "SELECT AVG(scor) FROM people"],
        ["query", "-e", "5000", COUNT],
        ["query", "-e", "x", COUNT],
        ["query", "--accuracy", "nonsense", COUNT],
        ["suggest", "-t", "visits", "-e", "0.5"],
        ["suggest", "-t", "visits", "-e", "0.5", "--format", "json"],
    ],
    ids=" ".join,
)
def test_a_command_says_the_same_of_a_server(
    town: Served, town_policy: Path, remote: list[object], command: list[str]
) -> None:
    name, *rest = command
    run(name, *remote, *rest)  # on record by now, so that both are repeats
    there, here = run(name, *remote, *rest), run(name, "-p", town_policy, "-a", "ana", *rest)
    assert (there.exit_code, there.stdout, there.stderr) == (
        here.exit_code,
        here.stdout,
        here.stderr,
    )
    assert there.stdout or there.exit_code


def test_the_budget_of_a_server_is_that_of_here(
    town: Served, town_policy: Path, remote: list[object]
) -> None:
    there, here = run("budget", *remote), run("budget", "-p", town_policy, "-a", "ana")
    assert there.exit_code == 0
    assert here.stdout.startswith(there.stdout)  # which says more of the account below
    shape = json.loads(run("budget", *remote, "--format", "json").stdout)
    local = run("budget", "-p", town_policy, "-a", "ana", "--format", "json").stdout
    assert shape["accounts"] == json.loads(local)["accounts"]


def test_the_schema_of_a_server_is_that_of_here(
    town: Served, town_policy: Path, remote: list[object]
) -> None:
    for form in ("table", "json"):
        there = run("schema", *remote, "--format", form)
        here = run("schema", "-p", town_policy, "--format", form)
        assert (there.exit_code, there.stdout) == (0, here.stdout)
    lines = run("schema", *remote).stdout.splitlines()
    assert lines[0] == "town (change-one)"
    assert (
        "visits: the whole record of one person_id; rows_per_unit_max 4; groups_per_unit_max 2"
        in lines
    )
    assert "  score   integer  1 to 5" in lines
    assert "  region  text     one of north, south, east, west" in lines
    assert run_without_engine(town, "schema").stdout == "\n".join(lines) + "\n"


def test_the_history_of_a_server_is_that_of_here(
    town: Served, town_policy: Path, remote: list[object]
) -> None:
    sql = f"{COUNT}\nWHERE score > 1 AND score > 2 AND score > 3 AND score > 4 -- a long question"
    run("query", *remote, "-e", "0.4", sql)
    local = ["-p", town_policy, "-a", "ana"]
    for form in ("table", "json"):
        there = run("history", *remote, "--format", form)
        assert (there.exit_code, there.stdout) == (
            0,
            run("history", *local, "--format", form).stdout,
        )
    last = json.loads(there.stdout)["questions"][-1]
    assert last["sql"] == sql and last["price"]["epsilon"] == 0.4
    number = last["id"]
    for form in ("table", "json", "csv"):
        there = run("history", *remote, "--format", form, number)
        assert there.stdout == run("query", *remote, "-e", "0.4", "--format", form, sql).stdout
        assert there.stdout == run("history", *local, "--format", form, number).stdout
    assert (
        run("history", *remote, "--after", number).stdout == "nothing has been asked and paid for\n"
    )
    assert "WHERE score > 1 AND score > 2" in run("history", *remote).stdout
    assert run("history", *remote, "--format", "csv").exit_code == 2
    assert run_without_engine(town, "history").stdout == run("history", *remote).stdout


def test_an_owner_refreshes_and_an_analyst_does_not(
    town: Served, remote: list[object], tmp_path: Path
) -> None:
    denied = run("refresh", *remote)
    assert denied.exit_code == 7 and "[role_needed]" in denied.stderr
    (tmp_path / "owner").write_text(town.token("olga", "owner"))
    where = ["--server", town.url, "--token-file", tmp_path / "owner"]
    opened = json.loads(run("refresh", *where, "--format", "json").stdout)
    assert opened["dataset"] == "town" and opened["version"] >= 2


def test_the_environment_makes_the_command_remote_and_a_policy_local_again(
    town: Served, town_policy: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)  # where no policy.toml is
    monkeypatch.setenv("SANQL_SERVER", town.url)
    monkeypatch.setenv("SANQL_TOKEN", town.token("ana"))
    assert run("query", "-e", "0.5", COUNT).exit_code == 0
    monkeypatch.setenv("SANQL_SERVER", "http://127.0.0.1:1")
    unreachable = run("query", "-e", "0.5", COUNT)
    assert unreachable.exit_code == 8 and "[server_unreachable]" in unreachable.stderr
    assert run("query", "-p", town_policy, "-a", "ana", "-e", "0.5", COUNT).exit_code == 0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["-p", "policy.toml"], "name one"),
        (["-a", "bo"], "leave --analyst out"),
    ],
)
def test_what_contradicts_a_server_is_refused(
    remote: list[object], more: list[str], words: str
) -> None:
    done = run("query", *remote, *more, "-e", "0.5", COUNT)
    assert done.exit_code == 2 and words in done.stderr


def test_a_token_goes_with_a_server(
    token_file: Path, town: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SANQL_TOKEN", raising=False)
    assert "go with --server" in run("query", "--token-file", token_file, COUNT).stderr
    without = run("query", "--server", town.url, COUNT)
    assert without.exit_code == 8 and "[token_needed]" in without.stderr
    assert "--token-file FILE" in without.stderr
    wrong = tmp_path / "wrong"
    wrong.write_text("san_wrong")
    denied = run("query", "--server", town.url, "--token-file", wrong, "-e", "1", COUNT)
    assert denied.exit_code == 7 and "san_wrong" not in denied.stderr
    wrong.write_text(" \n")
    assert "is empty" in run("query", "--server", town.url, "--token-file", wrong, COUNT).stderr
    wrong.unlink()
    gone = run("query", "--server", town.url, "--token-file", wrong, COUNT)
    assert gone.exit_code == 8 and f"[token_file_unusable]: {wrong} cannot be read" in gone.stderr
    monkeypatch.setenv("HOME", str(token_file.parent))
    assert run("budget", "--server", town.url, "--token-file=~/token").exit_code == 0


CLIENT_ONLY = f"""
import sys
for name in {HEAVY!r}:
    sys.modules[name] = None
from sanql.cli.main import main
main(prog_name="sanql")
"""


def run_without_engine(town: Served, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CLIENT_ONLY, *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "SANQL_SERVER": town.url, "SANQL_TOKEN": town.token("ana")},
    )


def test_the_command_asks_where_no_engine_is_installed(town: Served, remote: list[object]) -> None:
    run("query", *remote, "-e", "0.5", BY_REGION)
    for form in ("table", "json", "csv"):
        done = run_without_engine(town, "query", "-e", "0.5", "--format", form, BY_REGION)
        here = run("query", *remote, "-e", "0.5", "--format", form, BY_REGION)
        assert (done.returncode, done.stdout, done.stderr) == (0, here.stdout, here.stderr)
    explained = run_without_engine(town, "explain", "-e", "0.6", BY_REGION)
    assert explained.stdout == run("explain", *remote, "-e", "0.6", BY_REGION).stdout
    assert run_without_engine(town, "budget").returncode == 0
    arrow = run_without_engine(town, "query", "-e", "0.5", "--format", "arrow", BY_REGION)
    assert arrow.returncode == 2 and "pyarrow is not installed" in arrow.stderr


def test_batches_and_profiles_are_asked_of_a_server_without_an_engine(
    town: Served, town_policy: Path, remote: list[object], tmp_path: Path
) -> None:
    file, otto = tmp_path / "questions.sql", tmp_path / "otto"
    file.write_text(f"-- two; of them\n{COUNT};\n{BY_REGION};")
    otto.write_text(town.token("otto", "owner"))
    owner = ["--server", town.url, "--token-file", str(otto)]
    run("batch", *remote, "-e", "0.5", file)
    for more in (["--explain"], ["--format", "json"], []):
        done = run_without_engine(town, "batch", "-e", "0.5", *more, str(file))
        here = run("batch", "-p", town_policy, "-a", "ana", "-e", "0.5", *more, file)
        assert (done.returncode, done.stdout) == (0, here.stdout), done.stderr
    taken = run("profile", *owner, "visits", "-e", "0.4", "--columns", "kind")
    assert taken.exit_code == 0 and "rows: a limit of" in taken.stdout
    for form in ("table", "json"):
        read = run_without_engine(town, "profile", "--format", form)
        there = run("profile", "-p", town_policy, "--format", form)
        assert (read.returncode, read.stdout) == (0, there.stdout), read.stderr
    denied = run("profile", *remote, "visits", "-e", "0.4")
    assert denied.exit_code == 7 and "role_needed" in denied.stderr
    both = run("batch", *remote, "-a", "ana", "-e", "0.5", file)
    assert both.exit_code == 2 and "leave --analyst out" in both.stderr


PYTHON_ONLY = f"""
import sys
for name in {HEAVY!r}:
    sys.modules[name] = None
import sanql
with sanql.connect() as san:
    answer = san.query({BY_REGION!r}, epsilon="0.5")
    assert isinstance(answer, sanql.Answer)
    print(answer)
    for convert in (answer.to_arrow, answer.to_pandas, answer.to_polars):
        try:
            convert()
        except sanql.Refused as refused:
            print(refused.message)
try:
    sanql.open("policy.toml")
except ModuleNotFoundError as missing:
    print(missing)
"""


def test_python_asks_where_no_engine_is_installed(town: Served, ana: sanql.RemoteSan) -> None:
    ana.query(BY_REGION, epsilon="0.5")
    done = subprocess.run(
        [sys.executable, "-c", PYTHON_ONLY],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "SANQL_SERVER": town.url, "SANQL_TOKEN": town.token("ana")},
    )
    shown = str(ana.query(BY_REGION, epsilon="0.5"))
    *rest, arrow, pandas, polars, opening = done.stdout.splitlines()
    assert "\n".join(rest) == shown
    assert [arrow, pandas, polars] == [
        f"{name} is not installed" for name in ("pyarrow", "pandas", "polars")
    ]
    assert "install the extra sanql[local]" in opening


def test_data_here_need_an_engine_and_that_is_said(town: Served, town_policy: Path) -> None:
    done = run_without_engine(town, "query", "-p", str(town_policy), "-e", "0.5", COUNT)
    assert done.returncode == 2 and "[extra_missing]" in done.stderr
    assert "sanql[local]" in done.stderr and "Traceback" not in done.stderr
