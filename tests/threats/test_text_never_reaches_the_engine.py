"""Rules 1 to 3: what is not understood is refused by name, at once, free of charge."""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

import pytest

from sanql.errors import Refused
from sanql.san import San
from support.counting import at_most

pytestmark = pytest.mark.slow

WHERE = "SELECT COUNT(*) FROM people WHERE "
CALLS = [
    "read_csv('/etc/passwd')", "read_csv_auto('/etc/passwd')", "read_parquet('x')", "read_json('x')",
    "read_text('/etc/passwd')", "read_blob('hostile.duckdb')", "read_ndjson('x')", "glob('/*')",
    "parquet_scan('x')", "parquet_metadata('x')", "sniff_csv('x')", "duckdb_settings()", "duckdb_tables()",
    "duckdb_secrets()", "pragma_table_info('people')", "query('SELECT 1')", "query_table('people')",
    "getenv('HOME')", "getvariable('x')", "current_setting('threads')", "sleep_ms(5000)", "pg_sleep(5)",
    "error('x')", "setseed(0.5)", "random()", "gen_random_uuid()", "uuid()", "now()", "current_timestamp",
    "nextval('s')", "txid_current()", "version()", "current_user", "current_schema()", "hash(age)",
    "md5(city)", "regexp_matches(city, '((a{99}){99}){99}')", "repeat(city, 1000000)", "list_value(age)",
    "getbit('1', 0)", "stats(age)", "pg_typeof(age)", "row_number() OVER ()", "lag(age) OVER (ORDER BY age)",
    "http_get('http://127.0.0.1')", "write_blob('x')", "system.main.abs(age)", "printf('%s', city)",
    "format('{}', city)", "json_extract(city, '$')", "strptime(city, '%n')", "unnest([age])", "alias(age)",
    "enum_range(NULL)", "least_common_multiple(age, 2, 3)", "in_search_path('data', 'main')", "typeof(age)",
]  # fmt: skip
SOURCES = [
    "'/etc/passwd'", "'people.csv'", "read_csv('x')", "glob('*')", "'http://127.0.0.1/x.parquet'",
    "'s3://bucket/x'", "'sqlite:x.db'", "information_schema.tables", "duckdb_tables", "sqlite_master",
    "pg_catalog.pg_class", "pg_catalog.people", "hostile.people JOIN data.people AS p ON TRUE",
    "(VALUES (age)) AS t(a)", "people p, people q", "people TABLESAMPLE 10%",
    "people JOIN people q USING (age)", "people ASOF JOIN people q USING (age)", "people POSITIONAL JOIN people",
    "people, LATERAL (SELECT 1)", "people PIVOT (COUNT(*) FOR city IN ('a'))", "range(age)", "unnest([age])",
    "people UNPIVOT (a FOR b IN (age))", "system", "cells", "input", "people AT (VERSION => 1)",
]  # fmt: skip
CLAUSES = [
    "WHERE rowid = 0", "WHERE people.rowid < 5", "GROUP BY rowid", "WHERE COLUMNS(*) > 3",
    "WHERE COLUMNS('a.*') IS NULL", "QUALIFY ROW_NUMBER() OVER () = 1", "USING SAMPLE 5",
    "LIMIT (SELECT age FROM people LIMIT 1)", "LIMIT 50%", "LIMIT age", "ORDER BY age", "OFFSET age",
    "WHERE age = (SELECT age FROM people)", "WHERE age IN (SELECT age FROM people)",
    "WHERE EXISTS (FROM people)", "GROUP BY GROUPING SETS ((person_id), ())", "GROUP BY ROLLUP (rowid)",
    "UNION ALL SELECT age FROM people", "EXCEPT SELECT 1", "; DROP TABLE people", "; SELECT age FROM people",
    "WHERE person_id + 1 > 2 ORDER BY person_id", "WHERE age = $1", "WHERE ?",
]  # fmt: skip
STATEMENTS = [
    "COPY people TO '/tmp/x'", "COPY (SELECT 1) TO 'x'", "EXPORT DATABASE 'x'", "IMPORT DATABASE 'x'",
    "ATTACH 'x.duckdb'", "DETACH data", "USE data", "INSTALL httpfs", "LOAD httpfs", "SET threads = 1",
    "RESET threads", "PRAGMA database_list", "CALL duckdb_settings()", "CREATE MACRO least(a, b) AS 1",
    "CREATE TEMP TABLE people AS SELECT 1", "DROP TABLE people", "DELETE FROM people", "CHECKPOINT", "VACUUM",
    "EXPLAIN ANALYZE SELECT COUNT(*) FROM people", "EXPLAIN SELECT COUNT(*) FROM people", "DESCRIBE people",
    "SUMMARIZE people", "SHOW ALL TABLES", "FROM people", "TABLE people", "SELECT * FROM people",
    "WITH RECURSIVE r AS (SELECT 1) SELECT COUNT(*) FROM people", "PIVOT people ON city", "BEGIN", "ROLLBACK",
    "PREPARE p AS SELECT 1", "EXECUTE p", "SELECT getenv('HOME')", "SELECT 1", "",
]  # fmt: skip
LONG = [
    WHERE + "age IN (" + ",".join(map(str, range(200_000))) + ")",
    WHERE + "age = " + "(" * 20_000 + "1" + ")" * 20_000,
    WHERE + "NOT " * 15_000 + "member",
    WHERE + "age = " + "-" * 4_000 + "1",
    WHERE + " OR ".join(["age = 1"] * 8_000),
    WHERE + "age = " + " + ".join(["1"] * 2_400),
    WHERE + "CASE WHEN member THEN " * 1_000 + "1=1" + " END" * 1_000,
    WHERE + "city = '" + "x" * 70_000 + "'",
    "SELECT " + "COUNT(*)," * 7_000 + "1 FROM people",
    "SELECT " + "(SELECT " * 500 + "1" + ")" * 500 + " FROM people",
    WHERE + "age::INT" + "::INT" * 1_000 + " = 1",
    "/*" * 30_000,
    "[" * 30_000,
]
ATTACKS = [
    *(f"{WHERE}{call} IS NOT NULL" for call in CALLS),
    *(f"SELECT COUNT(*) FROM {source}" for source in SOURCES),
    *(f"SELECT COUNT(*) FROM people {clause}" for clause in CLAUSES),
    *STATEMENTS,
    *LONG,
]


@pytest.mark.parametrize("sql", ATTACKS, ids=lambda sql: sql[:50])
def test_it_is_refused_at_once_and_nothing_is_charged(san: San, sql: str) -> None:
    before = len(list(san.ledger.records()))
    with at_most(), pytest.raises(Refused) as caught:
        san.query(sql, epsilon=1, delta="1e-9")
    assert caught.value.remedy
    assert len(list(san.ledger.records())) == before


STRINGS = [
    "'; DROP TABLE people; --", "\u202egnol\u200b", "<script>alert(1)</script>", "=cmd|' /C calc'!A0",
    "$1", "{}", "%s", "\\", "\\'", "é", "e\u0301", "𝔘𝔫𝔦", "'" * 50, '"', "?", "\n", "NULL", "x" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("text", STRINGS, ids=ascii)
def test_a_string_is_only_ever_a_value(san: San, text: str) -> None:
    quoted = text.replace("'", "''")
    planted = text in ("'; DROP TABLE people; --", "\u202egnol\u200b", "<script>alert(1)</script>", "=cmd|' /C calc'!A0")  # fmt: skip
    like = f" OR city LIKE '{quoted}' ESCAPE '~'" if len(quoted) <= 200 else ""
    asked = f"{WHERE}city = '{quoted}'{like} OR city IN ('{quoted}')"
    assert san.query(asked, epsilon=1).value == int(planted)
    explained = san.explain(asked, epsilon=1)
    assert text in explained.statement.parameters
    assert len(text) < 5 or text not in explained.statement.sql


def test_comments_change_nothing(san: San) -> None:
    plain = san.query(WHERE + "age > 7", epsilon=1)
    noted = (
        "SELECT /* ; DROP TABLE people */ COUNT(*) -- FROM secrets\nFROM people WHERE age /**/ > 7"
    )
    answer = san.query(noted, epsilon=1)
    assert answer.rows == plain.rows
    assert answer.cached  # it is the same question
