"""Rehearsals: the truth is the truth, nothing real is charged or kept, and errors are what they are."""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sanql
from sanql.errors import LedgerError, PolicyError, Refused
from sanql.policy import load
from sanql.rehearsal import rehearse_questions
from support.commands import run
from support.policies import dataset

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

# Nobody fits the policy: incomes beyond bounds, sexes that are no keys, units with more rows than count.
PEOPLE = """
SELECT i AS id, i % 2 AS sex, 1000 + (i * 7919) % 90000 AS income,
       CASE WHEN i < 5 THEN 'alone ' || i ELSE 'city ' || i % 3 END AS city FROM range(2000) t(i)
"""
VISITS = """
SELECT i % 2000 AS id, (i * i) % 7 AS kind, (i * 31) % 900 AS cost FROM range(6000) t(i)
UNION ALL SELECT 3, 1, 500 FROM range(60) UNION ALL SELECT 4, i % 7, 500 FROM range(60) t(i)
"""
POLICY = (
    dataset("data/", epsilon=20, delta="1e-6", accounting="{accounting}")
    + """
[analyst.ana]
budget = {{ epsilon = 2, delta = 1e-7 }}

[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
sex = {{ type = "integer", domain = [1, 2] }}
income = {{ type = "integer", bounds = [0, 500] }}
city = {{ type = "text" }}

[table.visits]
privacy_unit = "id"
rows_per_unit_max = 4
groups_per_unit_max = 2
[table.visits.column]
kind = {{ type = "integer", bounds = [0, 6] }}
cost = {{ type = "integer", bounds = [0, 1000] }}
"""
)
KEYS = ("sex", "kind", "income", "city")
QUESTIONS = (
    "SELECT COUNT(*) AS n, SUM(income) AS s, AVG(income) AS a FROM people",
    "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex",
    "SELECT COUNT(*) AS n, SUM(cost) AS s, COUNT(DISTINCT id) AS u FROM visits",
    "SELECT kind, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY kind",
    "SELECT income, COUNT(*) AS n FROM people GROUP BY income",
    "SELECT city, COUNT(*) AS n FROM people GROUP BY city",  # in some cities one person lives
    "SELECT sex, kind, COUNT(*) AS n, AVG(cost) AS a FROM visits JOIN people USING (id)"
    " GROUP BY sex, kind",
    "WITH v AS (SELECT kind, COUNT(*) AS n FROM visits GROUP BY kind)"
    " SELECT kind, n * 1.0 / SUM(n) OVER () AS share FROM v",
)


def write(folder: Path, accounting: str = "pure") -> Path:
    (folder / "data").mkdir()
    with duckdb.connect() as connection:
        for name, sql in (("people", PEOPLE), ("visits", VISITS)):
            connection.execute(f"COPY ({sql}) TO '{folder}/data/{name}.parquet'")
    policy = folder / "policy.toml"
    policy.write_text(POLICY.format(accounting=accounting), encoding="utf-8")
    return policy


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("town"))


def plainly(policy: Path, sql: str) -> Mapping[tuple[Any, ...], tuple[Any, ...]]:
    """Return what plain SQL says of the files, by keys: the columns that may be grouped by."""
    with duckdb.connect() as connection:
        for name in ("people", "visits"):
            connection.execute(f"CREATE VIEW {name} AS FROM '{policy.parent}/data/{name}.parquet'")
        found = connection.sql(sql)
        keys = [name for name in found.columns if name in KEYS]
        return {row[: len(keys)]: row for row in found.fetchall()}


@pytest.mark.parametrize("accounting", ["pure", "renyi"])
def test_the_truth_is_that_of_all_rows_whatever_the_policy_takes_away(
    tmp_path: Path, accounting: str
) -> None:
    policy = write(tmp_path, accounting)
    found = rehearse_questions(policy, QUESTIONS, epsilons=[Fraction(1)], runs=1)
    for question in found.questions:
        assert not question.note
        true = plainly(policy, question.sql)
        assert question.groups == len(true)
        keys = len(next(iter(true)))
        for row in question.true:
            actual = true[row[:keys]]
            assert row[keys:] == pytest.approx(actual[keys:], rel=1e-9), question.sql


def test_what_the_policy_takes_away_is_told_apart_from_noise(policy: Path) -> None:
    found = rehearse_questions(policy, QUESTIONS, epsilons=[Fraction(100)], runs=1)
    cut = [{each.name: each.error for each in question.cut} for question in found.questions]
    assert cut[0]["n"] == 0 and cut[0]["a"] == pytest.approx(1 - 500 / 45_990, abs=0.02)
    assert found.questions[1].cut_keys == 0.5, "the domain has one of two keys"
    # of two units with 63 rows each, 4 rows count
    assert cut[2]["n"] == pytest.approx(118 / 6120) and cut[2]["u"] == 0
    assert found.questions[0].enough is None, "no epsilon mends bounds"


def test_errors_are_those_of_noise_and_intervals_hold_as_often_as_they_say(policy: Path) -> None:
    found = rehearse_questions(
        policy,
        ["SELECT COUNT(*) AS n FROM people"],
        epsilons=[Fraction(1, 100), Fraction(1)],
        runs=400,
    )
    weak, strong = (at.columns[0] for at in found.questions[0].at)
    # discrete Laplace noise of scale 1/epsilon: the median of |noise| is ln 2 / epsilon. Of 400 draws it
    # is out of these ranges with a chance below 1e-9, and so is a coverage below 0.85
    assert weak.absolute is not None and 45 < weak.absolute < 100
    assert strong.absolute is not None and strong.absolute <= 2
    for each in (weak, strong):
        assert each.coverage is not None and each.coverage > 0.85
    assert weak.error == pytest.approx(weak.absolute / 2000)
    assert found.questions[0].enough == 0.01


def test_nothing_real_is_charged_kept_or_claimed(policy: Path, tmp_path: Path) -> None:
    before = sorted(policy.parent.rglob("*"))
    rehearse_questions(policy, QUESTIONS[:1], epsilons=[Fraction(1)], runs=1)
    looks = policy.parent / "data.looks"
    assert set(policy.parent.rglob("*")) <= {*before, looks}, "that was looked is all that is kept"

    own = write(tmp_path)
    with sanql.open(own, analyst="ana") as san:
        san.query("SELECT COUNT(*) FROM people", epsilon="0.5")
    kept = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    rehearse_questions(own, QUESTIONS[:1], epsilons=[Fraction(1)], runs=1, analyst="ana")
    after = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    assert after.pop(tmp_path / "data.looks")
    assert after == kept


def test_refusals_are_told_in_their_words_with_the_question_they_are_about(policy: Path) -> None:
    asked = ["SELECT nobody FROM people", *["SELECT COUNT(*) AS n FROM people"] * 3]
    found = rehearse_questions(policy, asked, epsilons=[Fraction(1)], runs=1, analyst="ana")
    with (
        sanql.open(policy, analyst="ana") as san,
        pytest.raises(Refused) as caught,
    ):
        san.query(asked[0], epsilon=1)
    assert found.questions[0].note == f"refused: {caught.value}"
    (budget,) = found.budgets
    assert budget.answered == 2 and budget.refused is not None
    assert budget.refused.startswith("question 4: the query costs epsilon 1")
    assert "the analyst account 'ana' has epsilon 0" in budget.refused


def test_a_question_that_no_epsilon_answers_says_so_at_that_epsilon(tmp_path: Path) -> None:
    own = write(tmp_path)
    own.write_text(own.read_text().replace("1e-6", "0").replace("1e-7", "0"))
    found = rehearse_questions(own, QUESTIONS[5:6], epsilons=[Fraction(1)], runs=1)
    (told,) = found.questions[0].at
    assert told.refused is not None and "delta" in told.refused and "remedy" in told.refused


def test_who_may_not_read_the_data_rehearses_nothing(policy: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch.toml"
    text = policy.read_text().replace('"data/"', f'"{policy.parent}/data/"')
    scratch.write_text(text.replace("neighbours", "scratch = true\nneighbours"))
    with pytest.raises(PolicyError, match="scratch account reads no row"):
        rehearse_questions(scratch, QUESTIONS[:1])
    own = write(tmp_path)
    with sanql.open(own, analyst="ana") as san:
        san.query("SELECT COUNT(*) FROM people", epsilon="0.5")
    others = tmp_path / "others.toml"
    others.write_text(own.read_text().replace('name = "data"', 'name = "others"'))
    with pytest.raises(LedgerError, match="account"):
        rehearse_questions(load(others), QUESTIONS[:1])


def test_the_command_keeps_a_page_and_data_that_only_the_owner_can_read(
    policy: Path, tmp_path: Path
) -> None:
    asked = tmp_path / "questions.sql"
    asked.write_text('-- people\nSELECT COUNT(*) AS n FROM people;\nSELECT "<b>" FROM people;')
    page, data = tmp_path / "kept.html", tmp_path / "kept.json"
    page.write_text("what was here before")
    page.chmod(0o644)
    words = ["rehearse", "-p", policy, asked, "-e", "0.1,2", "--runs", 2, "-o", page, "-o", data]
    done = run(*words)
    assert done.exit_code == 0, done.stderr
    assert "outside the guarantee" in done.stdout and "question 1 at epsilon 0.1" in done.stderr
    for file in (page, data):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    kept = json.loads(data.read_text())
    assert kept["epsilons"] == [0.1, 2.0] and "outside_the_guarantee" in kept
    assert kept["questions"][0]["true"] == [[2000]]
    html = page.read_text()
    assert "&lt;b&gt;" in html and "<b>" not in html
    assert "<svg" in html and "http" not in html.replace("http://www.w3.org/2000/svg", "")
    assert "what was here before" not in html


@pytest.mark.parametrize("words", [["-e", "0"], ["-e", "x"], ["--within", "0"], ["-o", "kept.txt"]])
def test_what_cannot_be_meant_is_refused_before_a_row_is_read(
    policy: Path, tmp_path: Path, words: list[str]
) -> None:
    asked = tmp_path / "questions.sql"
    asked.write_text("SELECT COUNT(*) FROM people")
    assert run("rehearse", "-p", policy, asked, *words).exit_code == 2


def test_what_is_found_is_plain_data_from_python_too(policy: Path) -> None:
    found = rehearse_questions(policy, QUESTIONS[:1], epsilons=[Fraction(1)], runs=1)
    assert json.loads(json.dumps(found.to_dict()))["questions"][0]["sql"] == QUESTIONS[0]
