"""Joins that repeat a unit's rows: how many it can have, and that an answer says when fewer count."""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction

import duckdb
import pytest

from sanql.certificate.certificate import certify
from sanql.parse.question import parse
from sanql.plan import price
from sanql.plan.join_multiplicity import repetitions_in_words, rows_joined
from sanql.plan.plan import outline
from sanql.policy.model import Column, ColumnUnit, RowUnit, Table, ViaUnit
from sanql.question.expressions import Query
from sanql.question.relations import conjuncts

COLUMNS = {
    column.name: column for column in (Column("x", "integer", (0, 9)), Column("kind", "text"))
}
TABLES = {
    "people": Table("people", ColumnUnit("pid"), COLUMNS, 1, None, 1),
    "visits": Table("visits", ViaUnit("pid", "people", "pid"), COLUMNS, 3, None, 3, "vid"),
    "finds": Table("finds", ViaUnit("vid", "visits", "vid"), COLUMNS, 4, None, 4),
    "kinds": Table("kinds", None, COLUMNS, key="kind"),
    "prices": Table("prices", None, COLUMNS),
    "rows": Table("rows", RowUnit(), COLUMNS, 1, None, 1),
}
# FROM, the table whose person each row is, and the most rows of one person that is declared possible
SOURCES: list[tuple[str, str, int | None]] = [
    ("people p JOIN visits v ON v.pid = p.pid", "p", 3),
    ("people p LEFT JOIN visits v ON v.pid = p.pid", "p", 3),
    ("people p FULL JOIN visits v ON v.pid = p.pid", "p", 4),
    ("visits v JOIN visits w ON v.pid = w.pid", "v", 9),
    ("visits p JOIN finds f ON f.vid = p.vid", "p", 4),
    ("visits p LEFT JOIN finds f ON f.vid = p.vid", "p", 7),
    ("finds f RIGHT JOIN visits p ON f.vid = p.vid", "p", 7),
    ("finds f LEFT JOIN visits p ON f.vid = p.vid", "p", 4),
    ("people p JOIN (visits v JOIN finds f ON f.vid = v.vid) ON v.pid = p.pid", "p", 4),
    ("people p JOIN kinds k ON k.kind = p.kind", "p", 1),
    ("people p LEFT JOIN kinds k ON k.kind = p.kind", "p", 1),
    ("people p, kinds k WHERE k.kind = p.kind", "p", 1),
    ("people p JOIN kinds k ON k.kind > p.kind", "p", None),
    ("people p JOIN prices k ON k.kind = p.kind", "p", None),
    ("people p, prices k", "p", None),
    ("visits p JOIN kinds k ON k.x = p.x", "p", None),
    ("(SELECT pid, COUNT(*) AS n FROM visits GROUP BY pid) p JOIN visits v ON v.pid = p.pid", "p", 3),
    ("(SELECT p.pid, p.kind FROM people p JOIN visits v ON v.pid = p.pid GROUP BY p.pid, p.kind) p JOIN visits v ON v.pid = p.pid", "p", 3),
    ("(SELECT p.pid, p.x + 1 AS y FROM people p LEFT JOIN visits v ON v.pid = p.pid GROUP BY 1, 2) p JOIN visits v ON v.pid = p.pid", "p", 3),
    ("(SELECT p.pid, v.kind FROM people p JOIN visits v ON v.pid = p.pid GROUP BY p.pid, v.kind) p JOIN visits v ON v.pid = p.pid", "p", 9),
    ("(SELECT v.pid, p.kind FROM visits v LEFT JOIN people p ON v.pid = p.pid AND v.x > 4 GROUP BY v.pid, p.kind) p JOIN visits v ON v.pid = p.pid", "p", 9),
    ("(SELECT pid FROM visits UNION ALL SELECT pid FROM people) p JOIN visits v ON v.pid = p.pid", "p", 12),
    ("(SELECT p.pid FROM visits p JOIN prices k ON k.kind = p.kind) p JOIN people v ON v.pid = p.pid", "p", None),
]  # fmt: skip


def read(source: str) -> Query:
    query = parse(f"SELECT COUNT(*) FROM {source}", TABLES).query
    assert isinstance(query, Query)
    return query


def draw(rng: random.Random) -> Iterator[str]:
    """Yield statements that fill tables as the policy declares them."""
    yield "CREATE OR REPLACE TABLE people (pid INT, x INT, kind VARCHAR)"
    yield "CREATE OR REPLACE TABLE visits (vid INT, pid INT, x INT, kind VARCHAR)"
    yield "CREATE OR REPLACE TABLE finds (vid INT, x INT, kind VARCHAR)"
    yield "CREATE OR REPLACE TABLE kinds AS SELECT 'abc'[i] AS kind, i % 2 AS x FROM range(1, 4) t(i)"
    yield "CREATE OR REPLACE TABLE prices AS SELECT 'aabbc'[i] AS kind, i AS x FROM range(1, 6) t(i)"
    for person in range(rng.randint(1, 4)):
        if rng.random() < 0.8:
            yield f"INSERT INTO people VALUES ({person}, {rng.randint(0, 1)}, '{rng.choice('abc')}')"
        left = 4
        for visit in range(rng.randint(0, 3)):
            number = person * 10 + visit
            yield f"INSERT INTO visits VALUES ({number}, {person}, 1, '{rng.choice('abc')}')"
            found = rng.randint(0, left)
            left -= found
            yield from [f"INSERT INTO finds VALUES ({number}, 1, 'a')"] * found


@pytest.mark.parametrize(("source", "whose", "most"), SOURCES)
def test_the_rows_a_join_can_have_are_counted_from_declared_keys(
    source: str, whose: str, most: int | None
) -> None:
    query = read(source)
    assert rows_joined(query.source, [*conjuncts(query.where)], TABLES) == most


@pytest.mark.slow
def test_no_data_that_obeys_the_policy_has_more_and_some_have_as_many() -> None:
    rng = random.Random(3)
    largest = dict.fromkeys(range(len(SOURCES)), 0)
    with duckdb.connect(":memory:") as connection:
        for _ in range(40):
            for statement in draw(rng):
                connection.execute(statement)
            for place, (source, whose, _) in enumerate(SOURCES):
                unit = f"coalesce({whose}.pid, v.pid)" if "FULL" in source else f"{whose}.pid"
                found = connection.execute(
                    f"SELECT max(n) FROM (SELECT COUNT(*) AS n FROM {source} GROUP BY {unit})"
                ).fetchone()
                assert found is not None
                largest[place] = max(largest[place], found[0] or 0)
    for place, (source, _, most) in enumerate(SOURCES):
        assert most is None or largest[place] <= most, source
    attained = [place for place, (_, _, most) in enumerate(SOURCES) if most == largest[place]]
    assert len(attained) >= 8


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT COUNT(*) FROM people p, prices k", "any number of rows, and 1 of them count"),
        ("SELECT COUNT(*) FROM visits v JOIN visits w ON v.pid = w.pid", "up to 9 rows, and 3 of them"),
        (
            "SELECT AVG(n) FROM (SELECT p.pid, COUNT(*) AS n FROM people p, prices k GROUP BY p.pid) t",
            "inside a subquery can give one unit any number of rows, and 1 of them",
        ),
        ("SELECT COUNT(*) FROM people WHERE 1 < (SELECT COUNT(*) FROM visits v JOIN visits w "
         "ON v.pid = w.pid WHERE v.pid = people.pid)", "up to 9 rows, and 3 of them count"),
        ("SELECT COUNT(*) FROM people p JOIN visits v ON v.pid = p.pid", ""),
        ("SELECT COUNT(*) FROM visits v JOIN finds f ON f.vid = v.vid", ""),
        ("SELECT COUNT(*) FROM people p JOIN kinds k ON k.kind = p.kind", ""),
        ("SELECT COUNT(*) FROM rows r JOIN kinds k ON k.kind = r.kind", ""),
        ("SELECT COUNT(*) FROM visits", ""),
        ("SELECT COUNT(DISTINCT v.pid) FROM visits v JOIN visits w ON v.pid = w.pid", ""),
        ("SELECT COUNT(DISTINCT v.pid), SUM(v.x) FROM visits v JOIN visits w ON v.pid = w.pid", "up to 9 rows"),
    ],
)  # fmt: skip
def test_a_certificate_says_where_fewer_rows_count_than_a_join_can_have(
    sql: str, said: str
) -> None:
    query = parse(sql, TABLES).query
    assert isinstance(query, Query)
    planned = price(outline(query, TABLES, "add-remove"), Fraction(1), Fraction(0))
    sentences = repetitions_in_words(query, TABLES)
    assert said in " ".join(sentences)
    assert bool(sentences) == bool(said)
    assert set(sentences) <= set(certify(planned).assumptions)
