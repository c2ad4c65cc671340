"""Answers without noise equal plain DuckDB on the same data, for every operator and clause.

San runs end to end with a sampler that draws zeros; the oracle is the same SQL over rows cleaned by
hand. No unit has more rows than it may, so nothing is bounded away; `test_bounding.py` has the rest.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from privacy.oracle import cleaned, fill, orderly_rows, roomy_policy
from privacy.worlds import REGIONS, UNITS
from sanql.parse.question import parse
from sanql.question.expressions import Call, Type
from sanql.san import San
from support.samplers import SilentSampler

pytestmark = pytest.mark.slow

# Every operator and function, and the type of its value. CAST never fails here, as TRY_CAST there.
EXPRESSIONS: list[str] = [
    "age + swing * 2 - level",
    "-swing",
    "age / swing",
    "income / temp",
    "age // swing",
    "age % swing",
    "(-age) % 7",
    "big % 1000",
    "big // 3",
    "ABS(swing)",
    "ABS(temp)",
    "SIGN(swing)",
    "SIGN(temp)",
    "ROUND(temp)",
    "ROUND(temp / 7, 2)",
    "ROUND(age, -1)",
    "ROUND(age, 2)",
    "FLOOR(temp)",
    "CEIL(temp)",
    "TRUNC(temp)",
    "FLOOR(raw)",
    "FLOOR(age)",
    "LEAST(age, swing, 7)",
    "GREATEST(income, temp)",
    "GREATEST(0, LEAST(9, raw))",
    "SQRT(temp)",
    "LN(income)",
    "EXP(swing)",
    "EXP(raw)",
    "POWER(swing, 2)",
    "POWER(temp, -1)",
    "swing ^ 3",
    "CASE WHEN age > 20 THEN swing WHEN age > 10 THEN 0.5 ELSE temp END",
    "CASE sex WHEN 'F' THEN 1 WHEN 'M' THEN 2 END",
    "IF(flag, age, -1)",
    "COALESCE(age, swing, 99)",
    "COALESCE(income, age)",
    "NULLIF(swing, 3)",
    "NULLIF(age, 20.5)",
    "LENGTH(city)",
    "CAST(income AS INTEGER)",
    "CAST(age AS TINYINT)",
    "CAST(big AS SMALLINT)",
    "CAST(big AS INTEGER)",
    "CAST(city AS BIGINT)",
    "CAST(flag AS INTEGER)",
    "CAST(age AS DOUBLE)",
    "CAST(city AS DOUBLE)",
    "CAST(temp AS DECIMAL(10, 1))",
    "TRY_CAST(city AS INTEGER)",
    "city",
    "LOWER(city)",
    "UPPER(city)",
    "TRIM(city)",
    "CAST(age AS VARCHAR)",
    "CAST(day AS TEXT)",
    "CAST(flag AS VARCHAR)",
    "CAST(moment AS VARCHAR)",
    "COALESCE(city, 'none')",
    "NULLIF(city, 'Rome')",
    "CASE WHEN flag THEN city ELSE sex END",
    "flag",
    "age = 20",
    "city <> 'Rome'",
    "income < temp",
    "age <= 20.5",
    "day > DATE '2020-02-01'",
    "day >= '2020-02-01'",
    "moment < TIMESTAMP '2020-01-02 00:00:00'",
    "day = moment",
    "big = 9223372036854775807",
    "big < -9223372036854775807",
    "age IS DISTINCT FROM swing",
    "city IS NOT DISTINCT FROM NULL",
    "age IN (0, 20, 40)",
    "city NOT IN ('Rome', '''; DROP TABLE visits; --')",
    "city IN ('Rome', NULL)",
    "day IN ('2020-01-28', '2020-03-28')",
    "age BETWEEN 10 AND 30",
    "age NOT BETWEEN swing AND 30",
    "city LIKE 'R%'",
    "city NOT LIKE '%e%'",
    "city LIKE '%!%%' ESCAPE '!'",
    "city ILIKE 'ROME_'",
    "city LIKE '%<script>%'",
    "flag AND age > 10",
    "flag OR age > 10 OR NULL",
    "NOT flag",
    "age IS NULL",
    "city IS NOT NULL",
    "flag IS TRUE",
    "flag IS NOT FALSE",
    "CAST(swing AS BOOLEAN)",
    "CAST(city AS BOOLEAN)",
    "day",
    "free_day",
    "CAST(city AS DATE)",
    "CAST(moment AS DATE)",
    "COALESCE(day, DATE '2020-01-01')",
    "moment",
    "CAST(day AS TIMESTAMP)",
    "CAST(city AS TIMESTAMP)",
    *(f"EXTRACT({p} FROM day)" for p in ["year", "quarter", "month", "week", "day"]),
    *(f"EXTRACT({p} FROM free_day)" for p in ["year", "dayofweek", "isodow", "dayofyear"]),
    *(f"DATE_PART('{p}', moment)" for p in ["hour", "minute", "second", "dow", "doy"]),
    "YEAR(day) * 100 + MONTH(day)",
    *(f"DATE_TRUNC('{u}', day)" for u in ["year", "quarter", "month", "week", "day"]),
    *(f"DATE_TRUNC('{u}', moment)" for u in ["week", "day", "hour", "minute"]),
    "DATE_TRUNC('week', free_day)",
]
ROWS = {table: orderly_rows(random.Random(20), table) for table in UNITS}


@pytest.fixture(scope="module")
def san(tmp_path_factory: pytest.TempPathFactory) -> Iterator[San]:
    policy = roomy_policy(tmp_path_factory.mktemp("oracle"), ROWS)
    with San(policy, sampler=SilentSampler()) as opened:
        yield opened


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET error_on_division_by_zero = false")
        fill(connection, {table: cleaned(ROWS[table], unit) for table, unit in UNITS.items()})
        yield connection


def asked(san: San, sql: str) -> list[tuple[Any, ...]]:
    """Return San's answer without noise."""
    table = san.query(sql, epsilon=500, delta="1e-9", max_values_contributed=8).table
    return [tuple(row.values()) for row in table.to_pylist()]


def same(ours: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]], ordered: bool) -> bool:
    """Return whether two results agree, real numbers up to the steps of the finest grid."""
    if not ordered:
        ours, theirs = sorted(ours, key=_by_key), sorted(theirs, key=_by_key)
    return len(ours) == len(theirs) and all(
        len(a) == len(b) and all(map(_equal, a, b)) for a, b in zip(ours, theirs, strict=True)
    )


def _by_key(row: tuple[Any, ...]) -> str:
    return repr([value + 0.0 if isinstance(value, float) else value for value in row])


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-2)
    return bool(_moment(a) == _moment(b))


def _moment(value: Any) -> Any:
    return datetime(value.year, value.month, value.day) if type(value) is date else value


NUMBERS = (
    "COUNT({e})",
    "SUM(CASE WHEN {e} BETWEEN -1e300 AND 1e300 THEN GREATEST(-999, LEAST(999, {e})) END)",
)
STATISTICS = dict.fromkeys(Type, ("COUNT({e})", "COUNT(DISTINCT {e})")) | {
    Type.INTEGER: NUMBERS,
    Type.REAL: NUMBERS,
    Type.BOOLEAN: ("COUNT({e})", "COUNT(CASE WHEN {e} THEN 1 END)"),
}
BATCHES = [EXPRESSIONS[start : start + 8] for start in range(0, len(EXPRESSIONS), 8)]


def compare(batch: list[str], table: str, san: San, plain: duckdb.DuckDBPyConnection) -> None:
    """Assert that statistics of some expressions agree with those of plain DuckDB."""
    here: list[str] = []
    there: list[str] = []
    for expression in batch:
        kind = _kind(expression, san, table)
        meant = f"({expression})".replace("TRY_CAST", "CAST").replace("CAST", "TRY_CAST")
        if kind is Type.REAL:  # what is not finite is missing
            meant = f"(CASE WHEN isfinite({meant}::DOUBLE) THEN {meant}::DOUBLE END)"
        here += [each.format(e=f"({expression})") for each in STATISTICS[kind]]
        there += [f"COALESCE({each.format(e=meant)}, 0)" for each in STATISTICS[kind]]
    (ours,) = asked(san, f"SELECT {', '.join(here)} FROM {table}")
    theirs = plain.execute(f"SELECT {', '.join(there)} FROM {table}").fetchall()[0]
    wrong = [text for text, a, b in zip(here, ours, theirs, strict=True) if not _equal(a, b)]
    assert not wrong, (wrong, ours, theirs)


@pytest.mark.parametrize("batch", BATCHES, ids=lambda batch: batch[0])
def test_expressions_mean_what_they_mean_in_duckdb(
    batch: list[str], san: San, plain: duckdb.DuckDBPyConnection
) -> None:
    compare(batch, "visits", san, plain)


@pytest.mark.slow
@pytest.mark.parametrize("batch", BATCHES, ids=lambda batch: batch[0])
def test_expressions_over_protected_rows_mean_what_they_mean_in_duckdb(
    batch: list[str], san: San, plain: duckdb.DuckDBPyConnection
) -> None:
    compare(batch, "readings", san, plain)


def _kind(expression: str, san: San, table: str) -> Type:
    query = parse(
        f"SELECT COUNT(*) FROM {table} WHERE ({expression}) IS NULL", san.session.tables
    ).query
    assert isinstance(query.where, Call)
    return query.where.args[0].facts.type


IN_SEX = "sex IN ('F', 'M', 'it''s')"
# A question, and the same over plain DuckDB where it must be said differently there: rows outside a
# public domain are left out of its groups.
QUESTIONS: list[tuple[str, str | None]] = [
    ("SELECT COUNT(*) FROM visits", None),
    ("SELECT COUNT(*) AS n FROM readings AS r WHERE r.age > 20", None),
    ("SELECT COUNT(DISTINCT person) FROM visits", None),
    ("SELECT COUNT(DISTINCT patient), COUNT(patient), COUNT(*) FROM stays", None),
    ("SELECT COUNT(DISTINCT city), COUNT(DISTINCT income) FROM visits", None),
    ("SELECT COUNT(DISTINCT big), COUNT(DISTINCT flag) FROM readings", None),
    ("SELECT SUM(age), AVG(age), COUNT(age) FROM visits", None),
    ("SELECT SUM(income), AVG(temp), AVG(swing) FROM readings", None),
    ("SELECT SUM(income) FROM visits", None),
    ("SELECT SUM(age * swing), AVG(CASE WHEN flag THEN income ELSE temp END) FROM stays", None),
    ("SELECT SUM(1), SUM(NULLIF(1, 1)) + 0 FROM visits", "SELECT SUM(1), 0 FROM visits"),
    ("SELECT COUNT(*) * 2 + 1, SUM(age) / COUNT(*), ROUND(AVG(temp), 1) FROM visits", None),
    ("SELECT CASE WHEN COUNT(*) > 5 THEN 'many' ELSE 'few' END FROM visits", None),
    ("SELECT COUNT(*) FROM visits HAVING COUNT(*) > 1000000", None),
    (
        "SELECT sex, COUNT(*) FROM visits GROUP BY sex",
        f"SELECT sex, COUNT(*) FROM visits WHERE {IN_SEX} GROUP BY sex",
    ),
    (
        "SELECT level, SUM(age), AVG(income) FROM readings GROUP BY level ORDER BY level DESC",
        "SELECT level, SUM(age), AVG(income) FROM readings WHERE level IN (1, 2, 5)"
        " GROUP BY level ORDER BY level DESC",
    ),
    (
        "SELECT region, COUNT(*) AS n FROM stays GROUP BY 1 ORDER BY n, 1",
        "SELECT region, COUNT(*) AS n FROM stays WHERE region IN ('north', 'south', '')"
        " GROUP BY 1 ORDER BY n, 1",
    ),
    (
        "SELECT rate, COUNT(*), COUNT(DISTINCT person) FROM visits GROUP BY rate",
        "SELECT rate, COUNT(*), COUNT(DISTINCT person) FROM visits"
        " WHERE rate IN (SELECT rate FROM regions) GROUP BY rate",
    ),
    (
        "SELECT flag, COUNT(*) FROM visits GROUP BY flag",
        "SELECT flag, COUNT(*) FROM visits WHERE flag IS NOT NULL GROUP BY flag",
    ),
    (
        "SELECT CASE WHEN age > 20 THEN 'old' WHEN age >= 0 THEN 'young' END AS band, COUNT(*)"
        " FROM visits GROUP BY band",
        None,
    ),
    (
        "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) FROM visits GROUP BY month ORDER BY 1",
        "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) FROM visits WHERE day IS NOT NULL"
        " GROUP BY month ORDER BY 1",
    ),
    (
        "SELECT EXTRACT(month FROM day) AS m, SUM(swing) FROM visits WHERE day IS NOT NULL"
        " GROUP BY 1 HAVING COUNT(*) > 0 ORDER BY 2 DESC, 1",
        None,
    ),
    (
        "SELECT age, COUNT(*) FROM visits GROUP BY age HAVING COUNT(*) > 0 ORDER BY age",
        "SELECT age, COUNT(*) FROM visits WHERE age IS NOT NULL GROUP BY age ORDER BY age",
    ),
    (
        "SELECT day, COUNT(*) FROM readings GROUP BY ALL HAVING COUNT(*) >= 1 ORDER BY day",
        "SELECT day, COUNT(*) FROM readings WHERE day IS NOT NULL GROUP BY ALL ORDER BY day",
    ),
    (
        "SELECT sex, level, COUNT(*), AVG(age) FROM visits GROUP BY 1, 2 HAVING COUNT(*) > 0",
        f"SELECT sex, level, COUNT(*), AVG(age) FROM visits WHERE {IN_SEX} AND level IN (1, 2, 5)"
        " GROUP BY 1, 2",
    ),
    ("SELECT city, COUNT(*), SUM(age), AVG(swing) FROM visits GROUP BY city", None),
    ("SELECT LOWER(city) AS c, COUNT(*) FROM readings GROUP BY c ORDER BY 2, c", None),
    ("SELECT city, COUNT(DISTINCT patient) n FROM stays GROUP BY 1 ORDER BY n, city LIMIT 4", None),
    ("SELECT city FROM visits GROUP BY city", None),
    ("SELECT DISTINCT city FROM visits GROUP BY city, flag", "SELECT DISTINCT city FROM visits"),
    ("SELECT city, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1 LIMIT 3 OFFSET 2", None),
    ("SELECT city, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1 NULLS FIRST", None),
    ("SELECT city, COUNT(DISTINCT day) FROM visits GROUP BY city", None),
    ("SELECT ROUND(temp, -1) AS t, COUNT(*) FROM readings GROUP BY t", None),
    ("SELECT share, COUNT(*) FROM readings GROUP BY share", None),
    ("SELECT big % 10 AS digit, COUNT(*) FROM readings GROUP BY 1 HAVING COUNT(*) > 0",
     "SELECT big % 10 AS digit, COUNT(*) FROM readings WHERE big IS NOT NULL GROUP BY 1"),
    ("SELECT name, COUNT(*), SUM(rate) FROM regions GROUP BY name",
     "SELECT name, COUNT(*), COALESCE(SUM(rate), 0) FROM regions GROUP BY name"),
    ("SELECT COUNT(*), AVG(rate) FROM regions", None),
    ("SELECT COUNT_IF(age > 20), COUNTIF(flag), SUM(flag) FROM visits", None),
    ("SELECT AVG(flag), COUNT(*) FROM readings", "SELECT AVG(flag::INT), COUNT(*) FROM readings"),
    (
        "SELECT COUNT(*) FILTER (WHERE age > 20), SUM(age) FILTER (WHERE flag), COUNT(DISTINCT person)"
        " FILTER (WHERE flag), COUNT(DISTINCT city) FILTER (WHERE flag) FROM visits",
        None,
    ),
    ("SELECT COUNT(DISTINCT CASE WHEN age > 30 THEN patient END) FROM stays", None),
    (
        "SELECT city, COUNT(DISTINCT person) FILTER (WHERE flag), COUNT(DISTINCT person) FROM visits"
        " GROUP BY city",
        None,
    ),
    (
        "SELECT sex, COUNT(DISTINCT person) FILTER (WHERE age > 39) FROM visits GROUP BY sex",
        f"SELECT sex, COUNT(DISTINCT person) FILTER (WHERE age > 39) FROM visits WHERE {IN_SEX}"
        " GROUP BY sex",
    ),
    (
        "SELECT APPROX_COUNT_DISTINCT(city) FROM readings",
        "SELECT COUNT(DISTINCT city) FROM readings",
    ),
    ("SELECT MEDIAN(age) FROM visits", "SELECT QUANTILE_DISC(age, 0.5)::DOUBLE FROM visits"),
    ("SELECT MIN(age), MAX(swing), QUANTILE_DISC(level, 0.9) FROM visits", None),
    ("SELECT MAX(income), MIN(share), QUANTILE_DISC(temp, 0.8) FROM readings", None),
    ("SELECT QUANTILE_DISC(income, 0.35) FROM readings", None),
    ("SELECT PERCENTILE_DISC(0.8) WITHIN GROUP (ORDER BY swing) FROM stays", None),
    ("SELECT city, QUANTILE_DISC(age, 0.6), COUNT(*) FROM visits GROUP BY city", None),
    (
        "SELECT sex, QUANTILE_DISC(age, 0.3), MIN(swing) FROM readings GROUP BY sex",
        f"SELECT sex, QUANTILE_DISC(age, 0.3), MIN(swing) FROM readings WHERE {IN_SEX} GROUP BY sex",
    ),
    ("SELECT MEDIAN(rate) FROM regions", "SELECT QUANTILE_DISC(rate, 0.5)::DOUBLE FROM regions"),
    ("SELECT VAR_POP(age), VAR_SAMP(age), VARIANCE(swing), STDDEV(temp) FROM visits", None),
    ("SELECT STDDEV_POP(income), STDDEV_SAMP(share), AVG(income) FROM readings", None),
    ("SELECT VAR_POP(age) FILTER (WHERE flag), STDDEV(income - temp) FROM stays", None),
    ("SELECT COVAR_POP(age, income), COVAR_SAMP(age, swing), CORR(temp, age) FROM readings", None),
    ("SELECT CORR(income, share) FILTER (WHERE flag), COVAR_POP(age, age) FROM visits", None),
    (
        "SELECT level, VAR_SAMP(age), CORR(age, temp) FROM readings GROUP BY level",
        "SELECT level, VAR_SAMP(age), CORR(age, temp) FROM readings WHERE level IN (1, 2, 5)"
        " GROUP BY level",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "there"), QUESTIONS)
def test_a_question_without_noise_equals_plain_duckdb(
    sql: str, there: str | None, san: San, plain: duckdb.DuckDBPyConnection
) -> None:
    theirs = plain.execute(there or sql).fetchall()
    assert same(asked(san, sql), theirs, ordered="ORDER BY" in sql)


def test_public_keys_appear_whether_or_not_any_row_has_them(tmp_path: Path) -> None:
    empty: dict[str, list[Any]] = {table: [] for table in UNITS}
    with San(roomy_policy(tmp_path, empty), sampler=SilentSampler()) as san:
        assert asked(san, "SELECT sex, COUNT(*) FROM visits GROUP BY sex ORDER BY sex") == [
            ("F", 0),
            ("M", 0),
            ("it's", 0),
        ]
        rates = sorted({(rate, 0) for _, rate in REGIONS if rate is not None})
        assert asked(san, "SELECT rate, COUNT(*) FROM readings GROUP BY 1 ORDER BY 1") == rates
        assert len(asked(san, "SELECT day, COUNT(*) FROM visits GROUP BY day")) == 91
        assert asked(san, "SELECT COUNT(*), SUM(age), COUNT(DISTINCT city) FROM visits") == [
            (0, 0, 0)
        ]
        assert asked(san, "SELECT city, COUNT(*) FROM visits GROUP BY city") == []
        assert asked(san, "SELECT AVG(age) FROM visits") == [(None,)]
