"""No private row changes a bit of what public tables alone decide, however many rows there are.

The engine adds the real numbers of a public table in an order of its choice, and it chooses by the
sizes of all tables of a statement. 0.1 + 0.2 + 0.3 is more than 0.6 in one order and not in another,
so one person more could decide for everybody.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from sanql.compile.statement import compile_plan
from sanql.errors import Refused
from sanql.kernel.lockdown import attach, connect
from sanql.kernel.messages import Statement
from sanql.kernel.run import running
from sanql.san import open_policy
from support.plans import plan_of
from support.policies import dataset

pytestmark = pytest.mark.slow

SIZES = (1, 100, 245, 246, 1000)
POLICY = (
    dataset("d.duckdb", name="d", epsilon=100, delta=0)
    + """\
[table.t]
privacy_unit = {unit}
[table.t.column]
k = {{ type = "integer", bounds = [0, 10] }}
v = {{ type = "float", bounds = [0, 10] }}
nm = {{ type = "text", domain = ["a", "b"] }}
[table.prices]
public = true
[table.prices.column]
k = {{ type = "integer", bounds = [0, 10] }}
g = {{ type = "integer", bounds = [0, 10] }}
x = {{ type = "float" }}
d = {{ type = "decimal", precision = 0.1 }}
"""
)
UNITS = {"people": '"id"\nrows_per_unit_max = 1', "rows": '"row"'}

ANSWERED = {
    "a sum by key": "SELECT COUNT(*) FROM t WHERE (SELECT SUM(p.x) FROM prices p WHERE p.k = t.k) > 0.6",
    "turned round": "SELECT COUNT(*) FROM t WHERE 0.6 < (SELECT SUM(p.x) FROM prices p WHERE t.k = p.k)",
    "a mean": "SELECT COUNT(*) FROM t WHERE (SELECT AVG(p.x) FROM prices p WHERE p.k = t.k) * 245 > 0.6",
    "decimals": "SELECT COUNT(*) FROM t WHERE (SELECT SUM(p.d) FROM prices p WHERE p.k = t.k) > 0.6",
    "a product of two": "SELECT COUNT(*) FROM t WHERE (SELECT SUM(p.x * p.d) FROM prices p "
    "WHERE p.k = t.k) >= 0.14",
    "two keys": "SELECT COUNT(*) FROM t WHERE (SELECT SUM(p.x) FROM prices p "
    "WHERE p.k = t.k AND p.g = t.k - 1) > 0.6",
    "a condition on the row outside": "SELECT COUNT(*) FROM t WHERE (SELECT SUM(p.x) FROM prices p "
    "WHERE p.k = t.k AND t.v < 9) > 0.6",
    "different values": "SELECT COUNT(*) FROM t WHERE (SELECT SUM(DISTINCT p.x) FROM prices p "
    "WHERE p.k = t.k) > 0.6",
    "no row outside": "SELECT COUNT(*) FROM t WHERE (SELECT SUM(x) FROM prices) > 0.6",
    "exists": "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT p.k FROM prices p WHERE p.k = t.k "
    "GROUP BY p.k HAVING SUM(p.x) > 0.6)",
    "exists over a sum": "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM (SELECT k, SUM(x) AS s "
    "FROM prices GROUP BY k) q WHERE q.k = t.k AND q.s > 0.6)",
    "in": "SELECT COUNT(*) FROM t WHERE t.k IN (SELECT k FROM prices GROUP BY k HAVING SUM(x) > 0.6)",
    "in a choice": "SELECT SUM(CASE WHEN (SELECT SUM(p.x) FROM prices p WHERE p.k = t.k) > 0.6 "
    "THEN 1 ELSE 0 END) FROM t",
    "in a value of a subquery": "SELECT COUNT(*) FROM (SELECT CASE WHEN (SELECT SUM(p.x) FROM prices "
    "p WHERE p.k = t.k) > 0.6 THEN 'a' ELSE 'b' END AS o FROM t) q WHERE q.o = 'a'",
    "a window": "SELECT COUNT(*) FROM t WHERE t.k IN (SELECT q.k FROM (SELECT k, SUM(x) OVER "
    "(PARTITION BY k) AS s FROM prices) q WHERE q.s > 0.6)",
    "named first": "WITH q AS (SELECT k, SUM(x) AS s FROM prices GROUP BY k) "
    "SELECT COUNT(*) FROM t WHERE (SELECT MAX(q.s) FROM q WHERE q.k = t.k) > 0.6",
}
OF_PEOPLE = {
    "joined": "SELECT COUNT(*) FROM t JOIN (SELECT k, SUM(x) AS s FROM prices GROUP BY k) q "
    "ON q.k = t.k WHERE q.s > 0.6",
    "inside what a person has": "SELECT COUNT(*) FROM (SELECT id, MAX(v) AS m FROM t WHERE "
    "(SELECT SUM(p.x) FROM prices p WHERE p.k = t.k) > 0.6 GROUP BY id) WHERE m < 100",
    "in HAVING of a person": "SELECT COUNT(*) FROM (SELECT id FROM t GROUP BY id "
    "HAVING MAX(v) < 100 * (SELECT SUM(x) FROM prices)) q",
}
MIXED = {
    "what is added": "SELECT COUNT(*) FROM t WHERE (SELECT SUM(p.x * (t.v + 1)) FROM prices p "
    "WHERE p.k = t.k) > 0.6",
    "what is less": "SELECT COUNT(*) FROM t WHERE (SELECT SUM(p.x) FROM prices p WHERE p.k < t.v) > 0.6",
    "a mean of what is less": "SELECT COUNT(*) FROM t WHERE (SELECT AVG(p.x) FROM prices p "
    "WHERE p.k <= t.k) > 0.6",
    "different values of what is less": "SELECT COUNT(*) FROM t WHERE (SELECT SUM(DISTINCT p.x) "
    "FROM prices p WHERE p.k <> t.k) > 0.6",
    "a choice": "SELECT COUNT(*) FROM t WHERE (SELECT SUM(CASE WHEN p.k = t.k THEN p.x END) "
    "FROM prices p) > 0.6",
    "a condition inside": "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT p.g FROM prices p "
    "WHERE p.k <= t.k GROUP BY p.g HAVING SUM(p.x) > 0.6)",
}


class World:
    """San over one row of each table, and databases with more private rows."""

    def __init__(self, folder: Path, unit: str) -> None:
        for rows in SIZES:
            _fill(folder / ("d.duckdb" if rows == 1 else f"{rows}.duckdb"), rows)
        (folder / "policy.toml").write_text(POLICY.format(unit=UNITS[unit]))
        self.san = open_policy(folder / "policy.toml")
        self.by_row = unit == "rows"
        self._engines = {}
        for rows in SIZES:
            self._engines[rows] = connect()
            name = "d" if rows == 1 else str(rows)
            attach(self._engines[rows], folder / f"{name}.duckdb", read_only=True)

    def close(self) -> None:
        """Let all databases go."""
        self.san.close()
        for engine in self._engines.values():
            engine.close()

    def sent(self, sql: str) -> Statement:
        """Return what the engine is asked."""
        (level,) = plan_of(self.san, sql, epsilon=1).levels
        return compile_plan(level, self.san.session.data.open().source, 7)

    def counts(self, sent: Statement, rows: int) -> list[int]:
        """Return a statement's first measurement over so many private rows, by group."""
        connection = self._engines[rows]
        with running(connection, sent):
            found = connection.to_arrow_reader().read_all()["m0"].to_pylist()
        return sorted(found)


def _fill(path: Path, rows: int) -> None:
    values = "CASE i WHEN 40 THEN 0.1 WHEN 90 THEN 0.2 WHEN 150 THEN 0.3 ELSE 0 END"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (id BIGINT, k BIGINT, v DOUBLE, nm VARCHAR)")
        connection.execute(f"INSERT INTO t SELECT i, 1, 2.0, 'a' FROM range({rows}) AS r(i)")
        connection.execute("CREATE TABLE prices (k BIGINT, g BIGINT, x DOUBLE, d DECIMAL(9, 1))")
        connection.execute(
            f"INSERT INTO prices SELECT 1, 0, {values}, {values} FROM range(245) r(i)"
        )


@pytest.fixture(scope="module", params=UNITS)
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """Return a private table and a public one whose sums hang on their order."""
    made = World(tmp_path_factory.mktemp("world"), request.param)
    yield made
    made.close()


@pytest.mark.parametrize("shape", [*ANSWERED, *OF_PEOPLE])
def test_each_person_counts_the_same_whoever_else_is_there(world: World, shape: str) -> None:
    if shape in OF_PEOPLE and world.by_row:
        pytest.skip("a row that is protected by itself can be joined to nothing that repeats it")
    sent = world.sent((ANSWERED | OF_PEOPLE)[shape])
    assert sent.public, "something of it is public, and stands apart"
    cells = [world.counts(sent, rows) for rows in SIZES]
    # in each of these, everybody counts: from the smallest up, 0.1 + 0.2 + 0.3 is just above 0.6
    assert cells == [[rows] for rows in SIZES]


@pytest.mark.parametrize("shape", MIXED)
def test_sums_without_bounds_that_mix_public_and_private_rows_are_refused(
    world: World, shape: str
) -> None:
    with pytest.raises(Refused) as refused:
        world.san.explain(MIXED[shape], epsilon=1)
    assert refused.value.code == "bounds_missing"
