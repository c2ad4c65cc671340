"""Questions that read public tables only are explained like any other: exact, and free."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from sanql.errors import Refused
from sanql.policy import load
from sanql.results import answer_from_dict
from sanql.san import San
from support.policies import dataset

POLICY = (
    dataset("shop.duckdb", name="shop", epsilon="1.0", delta="1e-6")
    + """\
[table.customers]
privacy_unit = "id"
unique = true
[table.products]
public = true
"""
)
NEEDLESS = "ask it without epsilon, accuracy and exact"
pytestmark = pytest.mark.slow
ROWS = "SELECT name FROM products ORDER BY price DESC LIMIT 2"


@pytest.fixture
def san(tmp_path: Path) -> Iterator[San]:
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE customers AS SELECT 1 AS id")
        connection.execute(
            "CREATE TABLE products AS FROM (VALUES ('a', 2), ('b', 3), ('c', 1)) AS t(name, price)"
        )
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)
    with San(load(policy)) as opened:
        yield opened


@pytest.mark.parametrize("sql", [ROWS, "SELECT COUNT(*) FROM products"])
def test_what_reads_public_tables_is_explained_as_exact_and_free(san: San, sql: str) -> None:
    explained = san.explain(sql)
    assert str(explained).startswith("price: nothing; the answer is exact")
    assert (explained.charge.epsilon, explained.charge.delta, explained.fits) == (0, 0, True)
    assert "products" in str(explained.to_dict()["sql"])


def test_the_explained_statement_gives_the_rows_of_the_answer(san: San) -> None:
    explained, answer = san.explain(ROWS), san.query(ROWS)
    assert answer.rows == [("b",), ("a",)]
    assert explained.certificate == answer.certificate
    sent = san.session.data.open().workers.run(explained.statement)
    assert [tuple(row.values()) for row in sent.to_pylist()] == answer.rows


def test_looks_of_noisy_numbers_are_refused_as_in_the_answer(san: San) -> None:
    for ask in (san.query, san.explain):
        with pytest.raises(Refused) as caught:
            ask(ROWS, rounded=5)
        assert caught.value.code == "finish_needless"


def test_an_exact_release_of_public_rows_is_needless(san: San) -> None:
    with pytest.raises(Refused) as caught:
        san.query(ROWS, exact=True)
    assert (caught.value.code, caught.value.remedy) == ("public_only", NEEDLESS)
    assert san.query(ROWS).rows  # as the remedy says


def test_whole_numbers_stay_whole_numbers_whatever_is_computed_with_them(san: San) -> None:
    """Arithmetic is done in 128 bits; what fits 64 is shown so, what may not travels as text."""
    small = san.query("SELECT price FROM products WHERE price < 3 ORDER BY price")
    assert small.rows == [(1,), (2,)] and str(small.to_arrow().schema.types[0]) == "int64"
    large = san.query("SELECT price * 9223372036854775807 AS n FROM products ORDER BY price")
    assert large.rows[1] == (18446744073709551614,)
    shape = json.loads(large.to_json())
    assert shape["columns"] == [{"name": "n", "type": "decimal"}]
    assert shape["rows"][1] == ["18446744073709551614"]
    rebuilt = answer_from_dict(shape)
    assert rebuilt.rows == large.rows and rebuilt.to_arrow() == large.to_arrow()
    assert rebuilt.to_csv() == large.to_csv()
