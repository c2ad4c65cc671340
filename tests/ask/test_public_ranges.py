"""Numbers of public tables without declared bounds have the range that they have there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from sanql.errors import Refused
from sanql.policy import load
from sanql.san import San
from support.policies import dataset
from support.samplers import SilentSampler

pytestmark = pytest.mark.slow

POLICY = (
    dataset("shop.duckdb", name="shop", epsilon="100", delta="1e-6")
    + """\
[table.orders]
privacy_unit = "id"
unique = true
[table.orders.column]
item = { type = "text" }
many = { type = "integer", bounds = [0, 10] }
[table.items]
public = true
key = "item"
[table.none]
public = true
key = "item"
"""
)
ITEMS = "('a', 2.5, -4, 0.25::DOUBLE, NULL), ('b', 30.0, 9, 8.0, NULL)"
JOINED = "FROM orders AS o JOIN items AS i ON o.item = i.item"


@pytest.fixture
def san(tmp_path: Path) -> Iterator[San]:
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE orders AS SELECT range AS id, range % 11 AS many, "
            "CASE WHEN range % 4 = 0 THEN 'b' ELSE 'a' END AS item FROM range(1000)"
        )
        connection.execute(
            "CREATE TABLE items (item VARCHAR, price DECIMAL(9, 2), shelf INTEGER, "
            "weight DOUBLE, lost INTEGER)"
        )
        connection.execute(f"INSERT INTO items VALUES {ITEMS}")
        connection.execute("CREATE TABLE none AS FROM items WHERE FALSE")
    (tmp_path / "policy.toml").write_text(POLICY)
    with San(load(tmp_path / "policy.toml"), sampler=SilentSampler()) as opened:
        yield opened


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (f"SELECT SUM(i.price) AS x {JOINED}", 250 * 30 + 750 * 2.5),
        (f"SELECT AVG(i.shelf) AS x {JOINED}", (250 * 9 - 750 * 4) / 1000),
        (f"SELECT SUM(i.weight) AS x {JOINED} WHERE i.price < 5", 750 * 0.25),
        (
            f"SELECT SUM(x) AS x FROM (SELECT o.id, SUM(i.shelf) AS x {JOINED} GROUP BY o.id) AS t",
            250 * 9 - 750 * 4,
        ),
        (f"WITH t AS (SELECT SUM(i.price) AS p {JOINED}) SELECT p / 2 AS x FROM t", 4687.5),
    ],
)
def test_what_public_columns_add_up_to_is_answered(san: San, sql: str, expected: float) -> None:
    assert san.query(sql, epsilon=1).rows == [(pytest.approx(expected, abs=0.01),)]


def test_a_batch_knows_the_ranges_too(san: San) -> None:
    price, shelf = san.batch(
        [f"SELECT SUM(i.price) {JOINED}", f"SELECT SUM(i.shelf) {JOINED}"], epsilon=1
    )
    assert (price.rows, shelf.rows) == ([(pytest.approx(9375),)], [(-750,)])


def test_noise_is_that_of_the_range_as_if_it_were_declared(san: San) -> None:
    """Between one person and none, the largest price decides."""
    (measured,) = san.explain(f"SELECT SUM(i.price) {JOINED}", epsilon=1).certificate.measurements
    assert measured["sensitivity"] == {"l1": 30, "linf": 30, "l2": 30}


def test_a_column_without_values_has_no_range(san: San) -> None:
    for column, table in (("lost", "items"), ("price", "none")):
        with pytest.raises(Refused) as refused:
            san.query(
                f"SELECT SUM({table}.{column}) FROM orders JOIN {table} USING (item)", epsilon=1
            )
        assert refused.value.code == "bounds_missing"
        assert table not in refused.value.nearest or "BETWEEN 0 AND 100" in refused.value.nearest


def test_ranges_are_of_the_version_that_is_asked(san: San, tmp_path: Path) -> None:
    sql = f"SELECT SUM(i.shelf) AS x {JOINED}"
    assert san.query(sql, epsilon=1).rows == [(-750,)]
    shutil.copy(tmp_path / "shop.duckdb", tmp_path / "next")
    with duckdb.connect(str(tmp_path / "next")) as connection:
        connection.execute("UPDATE items SET shelf = 1000 WHERE item = 'b'")
    (tmp_path / "next").replace(tmp_path / "shop.duckdb")
    san.refresh()
    assert san.query(sql, epsilon=1).rows == [(250 * 1000 - 750 * 4,)]


def test_a_value_beyond_a_range_that_is_no_longer_so_is_read_as_its_end(san: San) -> None:
    """Ranges are enforced like bounds: a version opened meanwhile adds no more than noise is for."""
    session, read = san.session, ("items", "shelf")
    version = session.data.open().version.number
    session.public_ranges._known = version, {read: (Fraction(-1), Fraction(2))}
    assert san.query(f"SELECT SUM(i.shelf) {JOINED}", epsilon=1).rows == [(250 * 2 - 750,)]


def test_declared_bounds_stand(tmp_path: Path, san: San) -> None:
    san.close()
    declared = '[table.items.column]\nitem = { type = "text" }\n'
    declared += 'shelf = { type = "integer", bounds = [0, 3] }\n[table.none]'
    text = POLICY.replace("[table.none]", declared)
    (tmp_path / "policy.toml").write_text(text)
    with San(load(tmp_path / "policy.toml"), sampler=SilentSampler()) as opened:
        assert opened.query(f"SELECT SUM(i.shelf) {JOINED}", epsilon=1).rows == [(750,)]
