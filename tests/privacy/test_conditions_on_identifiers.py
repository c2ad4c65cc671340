"""Conditions on an identifier are conditions on a row's own columns: they change no sensitivity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from sanql.errors import Refused
from sanql.policy import load
from sanql.san import San
from support.policies import dataset
from support.samplers import SilentSampler

POLICY = (
    dataset("shop.duckdb", name="shop", epsilon=1000000, delta="0.1", accounting="renyi")
    + """\
[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
age = { type = "integer", bounds = [0, 100] }
[table.sales]
privacy_unit = "code"
rows_per_unit_max = 4
[table.sales.column]
price = { type = "integer", bounds = [0, 10] }
[table.chosen]
public = true
[table.chosen.column]
g = { type = "integer" }
word = { type = "text" }
"""
)
# the codes of sales are texts: of numbers, of an equal number, and of none
ROWS = {
    "people": "(id BIGINT, age BIGINT) AS SELECT i, i % 90 FROM range(1, 200) AS t(i)",
    "sales": "(code VARCHAR, price BIGINT) AS SELECT * FROM (VALUES ('1', 3), ('01', 4), ('x', 5), "
    "('x', 6), ('9223372036854775808', 7)) AS t",
    "chosen": "(g BIGINT, word VARCHAR) AS SELECT * FROM (VALUES (3, '1'), (5, 'x'), (5, 'y')) AS t",
}


@pytest.fixture(scope="module")
def san(tmp_path_factory: pytest.TempPathFactory) -> Iterator[San]:
    folder = tmp_path_factory.mktemp("shop")
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        for name, made in ROWS.items():
            columns, _, select = made.partition(" AS ")
            connection.execute(f"CREATE TABLE {name} {columns}")
            connection.execute(f"INSERT INTO {name} {select}")
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    with San(load(folder / "policy.toml"), sampler=SilentSampler()) as opened:
        yield opened


def value(san: San, sql: str, **options: Any) -> Any:
    return san.query(sql, epsilon=1000, **options).rows[0][0]


ANSWERED = [
    ("SELECT COUNT(*) FROM people WHERE id = 7", 1),
    ("SELECT COUNT(*) FROM people WHERE id IN (1, 2, 700)", 2),
    ("SELECT COUNT(*) FROM people WHERE id > 50 AND id <= 60", 10),
    ("SELECT SUM(age) FROM people WHERE id BETWEEN 1 AND 4", 10),
    ("SELECT COUNT(*) FROM people WHERE NOT id <> 7", 1),
    ("SELECT COUNT(*) FROM people WHERE id % 10 = 0", 19),
    ("SELECT COUNT_IF(id < 11) FROM people", 10),
    ("SELECT COUNT(*) FROM people WHERE id = '7'", 1),
    # two rows of the public table are about one of them, of which one row counts
    ("SELECT COUNT(*) FROM people JOIN chosen ON people.id = chosen.g", 2),
    ("SELECT COUNT(*) FROM people WHERE id IN (SELECT g FROM chosen)", 2),
    ("SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM chosen c WHERE c.g = p.id)", 2),
    ("SELECT COUNT(*) FROM (SELECT age FROM people WHERE id < 4) AS t", 3),
    # a code of letters is no number: no condition on numbers holds for it
    ("SELECT SUM(price) FROM sales WHERE code = 1", 7),
    ("SELECT SUM(price) FROM sales WHERE code = '1'", 3),
    ("SELECT SUM(price) FROM sales WHERE code <> 1", 0),
    ("SELECT SUM(price) FROM sales WHERE code LIKE 'x%'", 11),
    ("SELECT SUM(price) FROM sales JOIN chosen ON code = word", 14),
]


@pytest.mark.slow
@pytest.mark.parametrize(("sql", "expected"), ANSWERED)
def test_rows_are_those_that_the_condition_holds_for(san: San, sql: str, expected: int) -> None:
    assert value(san, sql) == expected


def test_an_answer_about_one_unit_has_all_the_noise(san: San) -> None:
    everybody = san.query("SELECT COUNT(*), SUM(age) FROM people", epsilon=1)
    one = san.query("SELECT COUNT(*), SUM(age) FROM people WHERE id = 7", epsilon=1)
    assert list(one.noise.values()) == list(everybody.noise.values())


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT MAX(id) FROM people",
        "SELECT id % 10, COUNT(*) FROM people GROUP BY 1",
        "SELECT id, COUNT(*) FROM people GROUP BY id",
        "SELECT SUM(s) FROM (SELECT id + 1 AS s FROM people) AS t",
        "SELECT COUNT(*) FROM people ORDER BY id",
    ],
)
def test_nothing_else_is_computed_from_it(san: San, sql: str) -> None:
    with pytest.raises(Refused) as caught:
        san.explain(sql, epsilon=1)
    assert caught.value.remedy
