"""Whatever is accepted is answered: what the engine cannot plan is refused before the charge.

The oracle is the account: a question that is refused leaves it as it was, and one that is charged has an
answer. Hopeless questions are those that take the engine minutes, asked of a San that has seconds.
"""

# ruff: noqa: E501  (functions stand in a few lines)
from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

import sanql
from sanql.compile.statement import compile_plan
from sanql.engines.duckdb.engine import WorkerEngine
from sanql.engines.trials import LENGTH_UNTRIED, Trials
from sanql.errors import Refused
from sanql.san import San
from support.plans import plan_of
from support.policies import dataset
from support.volume import few_of

pytestmark = pytest.mark.slow

POLICY = (
    dataset("d.duckdb", name="d", epsilon=1000, delta=0)
    + """\
[engine]
deadline = {deadline}
[analyst.ana]
[table.people]
privacy_unit = "person"
rows_per_unit_max = 2
[table.people.column]
k = {{ type = "integer", bounds = [0, 9] }}
age = {{ type = "integer", bounds = [0, 120] }}
y = {{ type = "float", bounds = [0, 10] }}
nm = {{ type = "text" }}
d = {{ type = "date", bounds = ["2000-01-01", "2020-12-31"] }}
[table.prices]
public = true
[table.prices.column]
k = {{ type = "integer" }}
n = {{ type = "integer", bounds = [0, 20] }}
"""
)
EXISTS = "EXISTS (SELECT 1 FROM prices p WHERE p.k = t.k AND p.n > {0})"
LARGEST = "(SELECT MAX(p.n) FROM prices p WHERE p.k = t.k AND p.n > {0})"
HOPELESS = {
    "64 of EXISTS": "SELECT COUNT(*) FROM people t WHERE "
    + " AND ".join(EXISTS.format(i % 9) for i in range(64)),
    "60 sums of values": "SELECT "
    + ", ".join(f"SUM({LARGEST.format(i % 9)} + {i}) AS s{i}" for i in range(60))
    + " FROM people t",
    "55 values added up": "SELECT AVG(q.v) FROM (SELECT person, "
    + " + ".join(LARGEST.format(i % 9) for i in range(55))
    + " AS v FROM people t) q",
    "70 of NOT EXISTS": "SELECT COUNT(*) FROM people t WHERE "
    + " AND ".join("NOT " + EXISTS.format(i % 9) for i in range(70)),
    "60 values": "SELECT COUNT(*) FROM people t WHERE "
    + " AND ".join(f"{LARGEST.format(i % 9)} > 1" for i in range(60)),
}


def opened(folder: Path, deadline: float) -> San:
    """Return San over a dozen people and a public table."""
    with duckdb.connect(str(folder / "d.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT i AS person, i % 3 AS k, 40 AS age, 0.5::DOUBLE AS y, "
            "'n' || i AS nm, DATE '2010-01-01' + i::INTEGER AS d FROM range(12) r(i)"
        )
        connection.execute("CREATE TABLE prices AS SELECT i % 3 AS k, i AS n FROM range(12) r(i)")
    (folder / "policy.toml").write_text(POLICY.format(deadline=deadline))
    return sanql.open(folder / "policy.toml", analyst="ana")


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[San]:
    with opened(tmp_path_factory.mktemp("hasty"), deadline=6) as san:
        yield san


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[San]:
    with opened(tmp_path_factory.mktemp("patient"), deadline=120) as san:
        yield san


def spent(san: San) -> Fraction:
    return san.budget()[0].spent_upper.epsilon


@pytest.mark.parametrize("shape", few_of(HOPELESS, 3))
def test_what_takes_minutes_to_plan_is_refused_and_costs_nothing(hasty: San, shape: str) -> None:
    before = spent(hasty)
    with pytest.raises(Refused) as refusal:
        hasty.query(HOPELESS[shape], epsilon=0.01)
    assert refusal.value.code == "query_too_complex"
    assert spent(hasty) == before
    answer = hasty.query("SELECT COUNT(*) FROM people", epsilon=0.01)  # the next one is as ever
    assert answer.charge.epsilon >= 0


def test_how_the_source_is_read_does_not_decide_what_is_tried(patient: San) -> None:
    planned = plan_of(patient, "SELECT SUM(age) FROM people", epsilon=1)
    source = patient.session.data.open().source
    lengthy = {
        table: {name: f"({sql}{' ' * LENGTH_UNTRIED})" for name, sql in scans.items()}
        for table, scans in source.scans.items()
    }
    trials = Trials(replace(source, scans=lengthy), patient.policy.engine, WorkerEngine())
    for level in planned.levels:
        sent = compile_plan(level, replace(source, scans=lengthy), 0)
        assert len(sent.sql) > LENGTH_UNTRIED
        trials.check(level, sent)
    assert trials._begun is None


def test_no_secret_decides_what_is_tried(patient: San, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement whose secret alone makes it long is as untried as it is over a source that is no copy."""
    sql = "SELECT nm, COUNT(*) FROM people GROUP BY nm"
    (level,) = plan_of(patient, sql, epsilon=1, delta="1e-6").levels
    read = patient.session.data.open().source
    copy = Trials(read, patient.policy.engine, WorkerEngine())._plain  # named as in a copy
    trials = Trials(copy, patient.policy.engine, WorkerEngine())
    assert trials._is_longer
    short, long = (compile_plan(level, copy, secret) for secret in (0, 2**63 - 1))
    ends = len(short.in_full()), len(long.in_full())
    tried = []
    monkeypatch.setattr(trials, "_begin", lambda: tried.append(1) or pytest.fail("it was tried"))
    for length in {*ends, ends[0] + 1}:
        monkeypatch.setattr("sanql.engines.trials.LENGTH_UNTRIED", length)
        trials.check(level, short)
        trials.check(level, long)
    monkeypatch.setattr("sanql.engines.trials.LENGTH_UNTRIED", ends[0] - 1)
    for sent in (short, long):
        with pytest.raises(pytest.fail.Exception):
            trials.check(level, sent)
    assert len(tried) == 2


def test_what_is_long_and_can_be_planned_is_answered(patient: San) -> None:
    listed = ", ".join(f"SUM(y + {i}) AS s{i}" for i in range(16))
    before = spent(patient)
    answer = patient.query(f"SELECT {listed}, COUNT(*) AS n FROM people", epsilon=1)
    assert answer.table.num_columns == 17
    assert spent(patient) == before + 1


def test_whether_a_question_is_refused_is_seen_without_a_row(hasty: San, tmp_path: Path) -> None:
    """The tables that are tried have no rows, whatever those of the source have."""
    trials = hasty.session.data.open().trials
    empty, _ = trials._begin()
    with duckdb.connect(str(empty.database), read_only=True) as connection:
        for table in ("people", "prices"):
            assert connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone() == (0,)


@pytest.mark.parametrize(
    ("statistic", "letters"),
    [("SUM(y + {0})", 1_500), ("AVG(age * {0})", 1_500), ("CORR(y + {0}, k * y)", 11_000)],
)
def test_a_statistic_is_told_in_few_letters(patient: San, statistic: str, letters: int) -> None:
    """Twenty copies of every argument made it 7,000 for a sum and 110,000 for a correlation."""
    listed = ", ".join(statistic.format(i) for i in range(1, 11))
    (level,) = plan_of(patient, f"SELECT {listed} FROM people", epsilon=1).levels
    assert len(compile_plan(level, patient.session.data.open().source, 7).sql) < 10 * letters


NESTED = {
    "age": [
        "NULLIF({0}, 3)", "7 % ({0})", "({0}) // 2", "ABS({0})", "-({0})", "({0}) + 1", "LEAST({0}, k)",
        "GREATEST({0}, 2)", "COALESCE({0}, 1)", "CASE WHEN k > 1 THEN {0} ELSE 2 END", "GCD({0}, 6)",
        "CAST({0} AS SMALLINT)", "SIGN({0})", "ROUND({0}, -1)",
    ],
    "y": [
        "1 / ({0})", "({0}) / k", "SQRT({0})", "LN({0})", "EXP({0})", "CBRT({0})", "SIN({0})", "ATAN2({0}, 2)",
        "({0}) * 0.5", "FLOOR({0})", "NULLIF({0}, 0.5)", "SAFE_DIVIDE(1, {0})", "LOG10({0})", "ROUND({0}, 1)",
        "WIDTH_BUCKET({0}, 0, 10, 5)", "CAST({0} AS INTEGER)",
    ],
    "nm": [
        "SPLIT_PART({0}, ',', 1)", "INITCAP({0})", "UPPER({0})", "TRIM({0})", "SUBSTRING({0}, 2)", "{0} || 'x'",
        "CONCAT({0}, 'y')", "REPLACE({0}, 'n', 'mm')", "REGEXP_REPLACE({0}, 'n', 'mm')", "LPAD({0}, 9, '*')",
        "REPEAT({0}, 2)", "NULLIF({0}, 'x')", "COALESCE({0}, '')", "REVERSE({0})",
    ],
    "d": [
        "{0} + INTERVAL 1 MONTH", "DATE_TRUNC('month', {0})", "LAST_DAY({0})", "{0} - INTERVAL 1 DAY",
        "COALESCE({0}, DATE '2010-01-01')", "NULLIF({0}, DATE '2010-01-01')",
    ],
}  # fmt: skip
ASKED = [EXISTS, f"{LARGEST} > 1", "t.k IN (SELECT p.k FROM prices p WHERE p.n > {0})",
         "EXISTS (SELECT 1 FROM people s WHERE s.person = t.person AND s.age > {0})"]  # fmt: skip
MEASURED = ["SUM(y + {0})", "AVG(age * {0})", "CORR(y + {0}, k * y)", "VAR_POP(y * {0})", "COUNT(NULLIF(k, {0}))",
            "COUNT(DISTINCT k + {0})", "MEDIAN(age + {0})"]  # fmt: skip


def generated(source: random.Random, most: int) -> str:
    """Return a question that is deep or wide: nested functions, many statistics, many subqueries."""
    kind = source.choice(["deep", "mixed", "statistics", "subqueries"])
    if kind in ("deep", "mixed"):
        value = column = source.choice(list(NESTED))
        form = source.choice(NESTED[column])
        for _ in range(source.randint(5, 28)):
            value = form.format(value)
            form = source.choice(NESTED[column]) if kind == "mixed" else form
        return f"SELECT COUNT({value}) FROM people t"
    number = source.randint(2, most)
    if kind == "statistics":
        form = source.choice(MEASURED)
        listed = ", ".join(f"{form.format(i + 1)} AS s{i}" for i in range(number))
        return f"SELECT {listed} FROM people t"
    form = source.choice(ASKED)
    return "SELECT COUNT(*) FROM people t WHERE " + source.choice([" AND ", " OR "]).join(
        form.format(i % 9) for i in range(number)
    )


@pytest.mark.parametrize(
    ("seed", "questions", "most"),
    [(1, 6, 20), *(pytest.param(seed, 12, 100, marks=pytest.mark.soak) for seed in range(2, 12))],
)
def test_every_deep_or_wide_question_is_refused_for_nothing_or_answered(
    patient: San, seed: int, questions: int, most: int
) -> None:
    source = random.Random(seed)
    for _ in range(questions):
        sql = generated(source, most)
        before = spent(patient)
        try:
            patient.query(sql, epsilon=0.05)
        except Refused:
            assert spent(patient) == before


def test_nothing_of_the_length_that_is_not_tried_is_hard_to_plan(patient: San) -> None:
    """Each shape, as large as it may be untried, is planned by an engine that has little memory."""
    for form in ASKED:
        number = 2
        while _letters(patient, form, number + 1) <= LENGTH_UNTRIED:
            number += 1
        assert number >= 8
        patient.query(_asking(form, number), epsilon=0.05)


def _asking(form: str, number: int) -> str:
    conditions = " AND ".join(form.format(i % 9) for i in range(number))
    return f"SELECT COUNT(*) FROM people t WHERE {conditions}"


def _letters(san: San, form: str, number: int) -> int:
    (level,) = plan_of(san, _asking(form, number), epsilon=1).levels
    return len(compile_plan(level, san.session.data.open().source, 7).in_full())


NESTED_ASKED = {
    "in one another": "EXISTS (SELECT 1 FROM prices p{0} WHERE p{0}.k = t.k AND {1})",
    "values": "(SELECT MAX(p{0}.n) FROM prices p{0} WHERE p{0}.k = t.k AND {1}) > 1",
    "lists": "t.k IN (SELECT p{0}.k FROM prices p{0} WHERE p{0}.n > t.age AND {1})",
    "own rows": "EXISTS (SELECT 1 FROM people p{0} WHERE p{0}.person = t.person AND p{0}.k > t.k AND {1})",
    "choices": "(t.k > {0} OR EXISTS (SELECT 1 FROM prices p{0} WHERE p{0}.k = t.k AND {1}))",
}


@pytest.mark.parametrize("shape", NESTED_ASKED)
def test_subqueries_in_subqueries_are_answered(patient: San, shape: str) -> None:
    condition = "t.age > 1"
    for place in reversed(range(14)):
        condition = NESTED_ASKED[shape].format(place, condition)
    before = spent(patient)
    patient.query(f"SELECT COUNT(*) FROM people t WHERE {condition}", epsilon=0.05)
    assert spent(patient) > before


@pytest.mark.parametrize(
    "join",
    [
        "JOIN people p{0} ON p{0}.person = t.person",
        "LEFT JOIN prices p{0} ON p{0}.k = t.k AND p{0}.n = {0}",
    ],
)
def test_many_joins_are_answered_or_refused(patient: San, join: str) -> None:
    joins = " ".join(join.format(place) for place in range(12))
    before = spent(patient)
    try:
        patient.query(f"SELECT COUNT(*) FROM people t {joins}", epsilon=0.05)
    except Refused:
        assert spent(patient) == before
