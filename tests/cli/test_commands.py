"""The command `sanql`, run as people run it: real files, and real processes where they are the point."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from sanql.results.balance import Balance, believed_after
from sanql.theory.meaning import percent_down, percent_up
from support.commands import run, run_process
from support.hospitals import hospital_in
from support.policies import dataset

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]
HEAVY = ("duckdb", "sqlglot", "pyarrow", "numpy", "scipy", "rich", "dp_accounting")


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hospital_in(tmp_path_factory.mktemp("cli") / "demo")


def test_help_imports_none_of_the_heavy_parts() -> None:
    probe = (
        "import sys; sys.argv = ['sanql', '--help']\n"
        "from sanql.cli.main import main\n"
        "try: main()\n"
        f"finally: print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip().splitlines()[-1] == "[]"


def test_a_question_from_the_command_line_does_not_wait_for_pandas(policy: Path) -> None:
    asked = ["sanql", "query", "--policy", str(policy), "--analyst", "bo", "--epsilon", "0.1"]
    probe = (
        f"import sys; sys.argv = [*{asked!r}, 'SELECT COUNT(*) FROM people']\n"
        "from sanql.__main__ import run\n"
        "try: run()\n"
        "finally: print('pyarrow' in sys.modules, 'pandas' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip().splitlines()[-1] == "True False"


def test_an_interrupt_within_a_text_that_runs_ends_with_an_exit_code_too(tmp_path: Path) -> None:
    """As one that comes while a module with dataclasses is imported: Python would end by the signal."""
    (tmp_path / "stopped.py").write_text(
        "import click\n"
        "from sanql.cli.main import COMMANDS, main\n"
        "command = click.command()(lambda: exec('raise KeyboardInterrupt'))\n"
        "COMMANDS['stopped'] = ('stopped', 'command', '')\n"
        "if __name__ == '__main__': main(['stopped'])\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "stopped"],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.strip() == "interrupted; nothing was charged"


def test_every_command_has_help() -> None:
    from sanql.cli.main import COMMANDS

    for name in COMMANDS:
        done = run(name, "--help")
        assert done.exit_code == 0, name
        assert "Usage" in done.stdout


def test_a_json_answer_has_the_published_shape(policy: Path) -> None:
    done = run_process(
        "query", "-p", str(policy), "-a", "ana", "-e", "0.5", "--format", "json",
        "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["columns"] == [
        {"name": "sex", "type": "text"},
        {"name": "n", "type": "integer"},
    ]
    assert [row[0] for row in answer["rows"]] == ["F", "M", "X"]
    assert len(answer["intervals"]["n"]) == 3
    for row, (low, high) in zip(answer["rows"], answer["intervals"]["n"], strict=True):
        assert low <= row[1] <= high
    assert answer["charge"] == {"epsilon": 0.5, "delta": 0.0}
    assert 0 < answer["remaining"]["epsilon"] <= 3.5
    assert answer["certificate"]["neighbours"] == "add-remove"
    assert answer["cached"] is False


def test_a_command_ends_without_a_word_of_what_nobody_has_let_go_of(policy: Path) -> None:
    """Computing over noisy cells asks an engine, whose objects are in cycles when Python ends."""
    done = run_process(
        "query", "-p", str(policy), "-a", "ana", "-e", "0.01",
        "SELECT sex, 2 * COUNT(*) AS n FROM people GROUP BY sex ORDER BY n",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "leaked" not in done.stderr


def test_subtotals_are_printed_and_have_nulls_in_json(policy: Path) -> None:
    words = (
        "query", "-p", str(policy), "-a", "ana", "-e", "0.5",
        "SELECT sex, COUNT(*) AS n FROM people GROUP BY ROLLUP (sex)",
    )  # fmt: skip
    answer = json.loads(run(*words, "--format", "json").stdout)
    assert [row[0] for row in answer["rows"]] == ["F", "M", "X", None]
    assert sum(row[1] for row in answer["rows"][:3]) == answer["rows"][3][1]
    printed = run(*words)
    assert printed.exit_code == 0
    assert "NULL" in printed.stdout and "a repeat, free" in printed.stdout


def test_the_same_command_again_is_free(policy: Path) -> None:
    words = ("query", "-p", str(policy), "-a", "bo", "-e", "0.25", "--format", "json",
             "SELECT AVG(age) FROM people")  # fmt: skip
    first, second = json.loads(run(*words).stdout), json.loads(run(*words).stdout)
    assert (first["cached"], second["cached"]) == (False, True)
    assert first["rows"] == second["rows"]
    assert second["charge"]["epsilon"] == 0
    assert second["remaining"] == first["remaining"]


def test_csv_and_arrow_carry_the_same_rows(policy: Path) -> None:
    import pyarrow as pa

    words = ("query", "-p", str(policy), "-a", "ana", "-e", "0.3")
    sql = "SELECT sex, SUM(income) AS total FROM people GROUP BY sex"
    rows = list(csv.DictReader(io.StringIO(run(*words, "--format", "csv", sql).stdout)))
    raw = subprocess.run(
        [sys.executable, "-m", "sanql", *words, "--format", "arrow", sql],
        check=False,
        capture_output=True,
        timeout=120,
    )
    table = pa.ipc.open_stream(raw.stdout).read_all()
    assert [row["sex"] for row in rows] == table.column("sex").to_pylist()
    assert [float(row["total"]) for row in rows] == table.column("total").to_pylist()
    assert float(rows[0]["total_low"]) < float(rows[0]["total"]) < float(rows[0]["total_high"])


@pytest.mark.parametrize(
    ("sql", "more", "code", "name"),
    [
        ("SELECT * FROM people", ("-e", "1"), 2, "returns_rows"),
        ("SELECT COUNT(*) FROM people", ("-e", "nan"), 2, "epsilon_invalid"),
        ("SELECT COUNT(*) FROM people", (), 2, "epsilon_needed"),
        ("SELECT COUNT(*) FROM people", ("-e", "500"), 3, "budget_exceeded"),
    ],
)
def test_failures_have_an_exit_code_and_one_json_shape(
    policy: Path, sql: str, more: tuple[str, ...], code: int, name: str
) -> None:
    done = run("query", "-p", str(policy), "-a", "ana", "--format", "json", *more, sql)
    assert done.exit_code == code
    error = json.loads(done.stdout)["error"]
    assert error["code"] == name
    assert error["message"]
    assert error["remedy"]


def test_a_damaged_ledger_exits_with_five(tmp_path: Path) -> None:
    policy = hospital_in(tmp_path / "demo")
    assert run("query", "-p", str(policy), "-a", "ana", "-e", "0.1", "SELECT COUNT(*) FROM people"
               ).exit_code == 0  # fmt: skip
    assert run("ledger", "verify", "-p", str(policy)).exit_code == 0
    ledger = tmp_path / "demo" / "hospital.ledger"
    old = ledger.read_bytes()
    run("query", "-p", str(policy), "-a", "ana", "-e", "0.2", "SELECT COUNT(*) FROM people")
    ledger.write_bytes(old)  # a copy from before
    verified = run("ledger", "verify", "-p", str(policy))
    assert verified.exit_code == 5
    assert "what was answered since is spent all the same" in verified.stderr
    ledger.unlink()
    done = run_process(
        "query", "-p", str(policy), "-a", "ana", "-e", "0.1", "SELECT COUNT(*) FROM people"
    )
    assert done.returncode == 5
    assert "remedy" in done.stderr


def test_an_answer_that_its_condition_leaves_without_rows_says_nothing_of_units(
    policy: Path,
) -> None:
    sql = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING n < -1000"
    done = run("query", "-p", str(policy), "-a", "ana", "-e", "0.12", sql)
    assert "(no rows)" in done.stdout
    assert "enough units" not in done.stdout


def test_explain_reads_no_data_and_spends_nothing(policy: Path) -> None:
    before = json.loads(run("budget", "-p", str(policy), "--format", "json").stdout)
    done = run(
        "explain", "-p", str(policy), "-a", "ana", "-e", "0.7", "--format", "json",
        "SELECT district, AVG(age) FROM people GROUP BY district",
    )  # fmt: skip
    explained = json.loads(done.stdout)
    assert explained["charge"]["epsilon"] == 0.7
    assert explained["charge"]["delta"] > 0
    assert explained["selection"][0]["units"] == 1
    assert explained["selection"][0]["probability_of_appearing"] <= explained["charge"]["delta"]
    assert "GROUP BY" in explained["sql"]
    after = json.loads(run("budget", "-p", str(policy), "--format", "json").stdout)
    assert before == after


def test_where_no_policy_is_the_ways_to_name_one_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SANQL_SERVER", raising=False)
    for command in ("budget", "refresh", "schema", "history"):
        said = run(command)
        assert said.exit_code == 2
        assert "-p FILE for a policy, --server URL for a server" in said.stderr
    assert "--server" not in run("check").stderr


def test_sql_can_come_from_standard_input(policy: Path) -> None:
    done = run_process("query", "-p", str(policy), "-a", "ana", "-e", "0.1", "--format", "json", "-",
               stdin="SELECT COUNT(*) FROM visits")  # fmt: skip
    assert done.returncode == 0
    assert json.loads(done.stdout)["columns"][0]["name"] == "count"


def test_parameters_are_typed_by_their_looks_or_by_name(policy: Path) -> None:
    done = run(
        "explain", "-p", str(policy), "-a", "ana", "-e", "0.1", "--format", "json",
        "--param", "age=40", "--param", "sex:text=F",
        "SELECT COUNT(*) FROM people WHERE age > $age AND sex = :sex",
    )  # fmt: skip
    assert done.exit_code == 0, done.stdout
    assert json.loads(done.stdout)["parameters"] == ["F"]
    unused = run("explain", "-p", str(policy), "-a", "ana", "-e", "0.1", "--param", "age=40",
                 "SELECT COUNT(*) FROM people")  # fmt: skip
    assert (unused.exit_code, "parameter_unused" in unused.stderr) == (2, True)


def test_init_drafts_and_check_names_every_blank(policy: Path, tmp_path: Path) -> None:
    draft = tmp_path / "policy.toml"
    done = run("init", str(policy.parent / "data" / "people.parquet"), "-o", str(draft))
    assert done.exit_code == 0, done.stderr
    checked = run("check", str(draft), "--format", "json")
    assert checked.exit_code == 2
    assert len(json.loads(checked.stdout)["error"]["faults"]) > 1
    assert run("check", str(policy)).exit_code == 0


def test_ledger_lists_and_exports_what_was_charged(policy: Path) -> None:
    run("query", "-p", str(policy), "-a", "ana", "-e", "0.11", "SELECT COUNT(*) FROM people")
    lines = run("ledger", "export", "-p", str(policy)).stdout.splitlines()
    kinds = [json.loads(line)["kind"] for line in lines]
    assert kinds[:2] == ["open", "limits"]
    assert kinds.count("reserve") == kinds.count("spend") >= 1
    listed = run("ledger", "list", "-p", str(policy)).stdout.splitlines()
    assert "of hospital; neighbours: add-remove; unit of people: person_id" in listed[2]
    assert "renyi accounting; dataset hospital: epsilon 10, delta 1e-6" in listed[3]
    asked = next(line for line in listed if "epsilon 0.11, delta 0" in line)
    reserved = next(json.loads(line)["body"] for line in lines if "11/100" in line)
    assert f"ana asks {reserved['question'][:12]}…" in asked
    assert reserved["time"][:19].replace("T", " ") in asked


def test_questions_asked_at_once_on_a_copied_source_are_all_answered(tmp_path: Path) -> None:
    policy = hospital_in(tmp_path / "demo")
    words = [sys.executable, "-m", "sanql", "query", "-p", str(policy), "-a", "ana", "-e"]
    running = [
        subprocess.Popen(
            [*words, f"0.{n}1", "SELECT COUNT(*) FROM visits"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for n in range(1, 4)
    ]
    for process in running:
        process.communicate(timeout=120)
    assert [process.returncode for process in running] == [0, 0, 0]


def test_explain_says_limits_and_what_would_be_left_and_sql_when_asked(policy: Path) -> None:
    words = ("explain", "-p", str(policy), "-a", "bo", "-e", "0.5")
    sql = "SELECT day, COUNT(*) AS n FROM visits GROUP BY day"
    done = run(*words, sql)
    assert "; then left: epsilon " in done.stdout
    assert "limits: 12 rows a person_id" in done.stdout
    assert "SELECT" not in done.stdout
    assert "SELECT" in run(*words, "--sql", sql).stdout
    more = run(*words, "--max-groups", "5", sql)
    assert more.exit_code == 2
    assert "groups_above_policy" in more.stderr
    fewer = run(*words, "--max-rows", "3", sql)
    assert "limits: 3 rows a person_id" in fewer.stdout
    more = run(*words, "--max-rows", "13", sql)
    assert more.exit_code == 2
    assert "rows_above_policy" in more.stderr


def test_csv_says_the_price_beside_the_rows(policy: Path) -> None:
    done = run("query", "-p", str(policy), "-a", "bo", "-e", "0.1", "--format", "csv",
               "SELECT COUNT(*) AS n FROM visits")  # fmt: skip
    assert done.stdout.splitlines()[0] == "n,n_low,n_high"
    assert len(done.stdout.splitlines()) == 2
    assert "price: epsilon 0.1, delta 0; left: epsilon " in done.stderr
    assert "limits: 12 rows a person_id" in done.stderr


def test_check_takes_its_policy_as_the_other_commands_do(policy: Path) -> None:
    for given in (("-p", str(policy)), ("--policy", str(policy)), (str(policy),)):
        assert run("check", *given).stdout.startswith(f"{policy}: the policy of")
    twice = run("check", str(policy), "-p", "other.toml")
    assert twice.exit_code == 2
    assert "are two policies; name one" in " ".join(twice.stderr.split())


def test_check_notes_text_declared_as_a_number_and_finds_no_fault_in_it(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("id,age\n1,?\n")
    policy = tmp_path / "policy.toml"
    policy.write_text(
        dataset("people.csv", epsilon=1)
        + '[table.people]\nprivacy_unit = "id"\nrows_per_unit_max = 1\n[table.people.column]\n'
        'age = { type = "integer", bounds = [0, 120] }\n'
    )
    shown = run("check", str(policy))
    assert shown.exit_code == 0
    assert "  note: table.people: CSV holds text, and what does not read " in shown.stdout
    (note,) = json.loads(run("check", str(policy), "--format", "json").stdout)["notes"]
    assert set(note) == {"place", "message", "remedy"}
    assert note["place"] == "table.people"


def test_check_tells_faults_of_the_policy_and_of_its_source_together(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "people.csv").write_text("id,age\n1,2\n")
    policy = tmp_path / "policy.toml"
    policy.write_text(
        '[dataset]\nname = "shop"\nsource = "data"\nneighbours = "add-rmove"\naccounting = "pure"\n'
        '[table.people]\nprivacy_unit = "id"\nrows_per_unit_max = 1\n[table.people.column]\n'
        'age = { type = "integer", bounds = [10, 0] }\nagee = { type = "integer" }\n'
    )
    done = run("check", str(policy), "--format", "json")
    assert done.exit_code == 2
    places = [fault["place"] for fault in json.loads(done.stdout)["error"]["faults"]]
    assert [place.split(" (")[0] for place in places] == [
        "[dataset] budget",
        "[dataset] neighbours",
        "[table.people.column] age.bounds",
        "table.people.column.agee",
    ]
    assert not list(tmp_path.glob("*.ledger*"))


SHOP = (
    dataset("shop.duckdb", name="shop", epsilon=9)
    + """\
[table.buyers]
privacy_unit = "person"
key = "id"
unique = true
[table.sellers]
privacy_unit = "firm"
key = "id"
unique = true
[table.products]
public = true
key = "{key}"
[table.sales]
privacy_unit = {{ via = "trader", references = "{who}" }}
rows_per_unit_max = 3
[table.sales.column]
kind = {{ type = "text", domain = {{ table = "products", column = "{column}" }} }}
"""
)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    import duckdb

    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE buyers AS SELECT 1 AS id, 7 AS person")
        connection.execute("CREATE TABLE sellers AS SELECT 1 AS id, 8 AS firm")
        connection.execute("CREATE TABLE products AS SELECT 'a' AS kind, 3 AS size")
        connection.execute("CREATE TABLE sales AS SELECT 1 AS trader, 'a' AS kind")
    return tmp_path / "policy.toml"


def test_whoever_stands_at_the_end_of_a_foreign_key_cannot_change_under_a_ledger(
    shop: Path,
) -> None:
    shop.write_text(SHOP.format(key="kind", who="buyers", column="kind"))
    assert "sales: protects each person, through buyers" in run("check", str(shop)).stdout
    asked = ["query", "-p", str(shop), "-e", "1", "SELECT COUNT(*) FROM sales"]
    assert run(*asked).exit_code == 0
    shop.write_text(SHOP.format(key="kind", who="sellers", column="kind"))
    done = run(*asked)
    assert done.exit_code == 5
    assert "trader = buyers.id: person" in done.stderr


def test_check_looks_for_keys_and_listed_values_in_public_tables(shop: Path) -> None:
    shop.write_text(SHOP.format(key="knd", who="buyers", column="kinds"))
    done = run("check", str(shop), "--format", "json")
    assert done.exit_code == 2
    faults = json.loads(done.stdout)["error"]["faults"]
    assert [fault["place"] for fault in faults] == [
        "table.products.key",
        "[table.sales.column] kind.domain",
    ]
    shop.write_text(SHOP.format(key="kind", who="buyers", column="size"))
    assert "products.size is integer, and the column is text" in run("check", str(shop)).stderr


def test_where_the_budget_has_no_delta_nobody_is_told_to_pass_one(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("id,city\n1,Bern\n")
    policy = tmp_path / "policy.toml"
    policy.write_text(
        dataset("people.csv", epsilon=1) + '[table.people]\nprivacy_unit = "id"\nunique = true\n'
        '[table.people.column]\ncity = { type = "text" }\n'
    )
    asked = "SELECT city, COUNT(*) FROM people GROUP BY city"
    done = run("query", "-p", str(policy), "-e", "0.1", asked)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "delta_needed" in done.stderr and "a budget that pays for it has delta 0" in done.stderr
    assert "give the budget a delta" in done.stderr and "pass a delta" not in done.stderr


def test_a_files_name_is_no_question(policy: Path) -> None:
    done = run("explain", "-p", str(policy), "-a", "ana", "-e", "1", "q.sql")
    assert done.exit_code == 2
    assert "to ask what it holds: - < q.sql" in done.stderr


def test_explain_says_what_a_belief_may_become_by_this_answer_and_by_all_so_far(
    policy: Path,
) -> None:
    words = ["explain", "-p", str(policy), "-a", "bo", "-e", "0.5", "--prior", "0.1"]
    sql = "SELECT COUNT(*) AS asked_of_belief FROM people"
    # e^0.5 times the odds of 0.1
    assert (
        "knows everything else, can come to think it 6.3% to 15.5% likely."
        in run(*words, sql).stdout
    )
    told = json.loads(run(*words, "--format", "json", sql).stdout)
    assert "6.3% to 15.5%" in told["believed"][0]
    assert len(told["believed"]) == 1 + len(told["after"]) > 1
    for line, balance in zip(told["believed"][1:], told["after"], strict=True):
        spent = Balance.from_dict(balance).spent_upper
        low, high, _ = believed_after(spent, 0.1)
        assert high > 0.155 - 1e-3
        assert f"{balance['account']} has been told, this answer included: " in line
        assert f"{percent_down(low)} to {percent_up(high)}" in line
