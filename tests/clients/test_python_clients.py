"""Drivers and frames of Python ask San as they ask PostgreSQL."""

from __future__ import annotations

import asyncio
import importlib.metadata
from datetime import date
from typing import Any

import pytest

from clients.conftest import Address, Seen

pytestmark = [pytest.mark.slow, pytest.mark.clients]
BY_SEX = "SELECT sex, COUNT(*) AS n, AVG(age) AS mean FROM people WHERE age > {} GROUP BY sex"
TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"


def client(name: str) -> Any:
    """Return a package; the test is skipped, and says so, where it is not installed."""
    return pytest.importorskip(name, reason=f"{name} is not installed: run `make clients`")


def version(name: str) -> str:
    return importlib.metadata.version(name)


def test_psycopg(there: Address, seen: Seen) -> None:
    psycopg = client("psycopg")
    with psycopg.connect(there.url, autocommit=True) as ana:
        ana.execute("SET sanql.epsilon = 0.01")
        rows = ana.execute(BY_SEX.format("%s"), (40,)).fetchall()
        cursor = ana.cursor(binary=True)
        assert cursor.execute(BY_SEX.format("%s"), (40,), prepare=True).fetchall() == rows
        assert sorted(ana.execute(TABLES).fetchall()) == [("people",), ("visits",)]
        with ana.transaction(), ana.cursor() as few:
            few.execute("SELECT COUNT(*) FROM visits WHERE day > %s", (date(2020, 1, 1),))
            assert len(few.fetchall()) == 1
        with pytest.raises(psycopg.errors.FeatureNotSupported) as refused:
            ana.execute("SELECT income FROM people")
        assert refused.value.diag.message_hint
    seen("psycopg", version("psycopg"), "text, binary, prepared, tables, refusals with hints")


def test_asyncpg(there: Address, seen: Seen) -> None:
    asyncpg = client("asyncpg")

    async def ask() -> None:
        ana = await asyncpg.connect(there.url)
        await ana.execute("SET sanql.epsilon = 0.01")
        rows = await ana.fetch(BY_SEX.format("$1"), 41)
        assert [*rows[0].keys()] == ["sex", "n", "mean"] and isinstance(rows[0]["n"], int)
        prepared = await ana.prepare("SELECT COUNT(*) FROM visits WHERE day > $1 AND cost < $2")
        assert [each.name for each in prepared.get_parameters()] == ["date", "float8"]
        first = await prepared.fetchval(date(2020, 1, 1), 100.5)
        assert first == await prepared.fetchval(date(2020, 1, 1), 100.5)
        async with ana.transaction():
            slowly = [row async for row in ana.cursor(BY_SEX.format(41), prefetch=2)]
        assert slowly == rows
        assert len(await ana.fetch(TABLES)) == 2
        with pytest.raises(asyncpg.FeatureNotSupportedError):
            await ana.fetch("SELECT income FROM people")
        await ana.close()
        async with asyncpg.create_pool(there.url, min_size=2, max_size=2) as pool:
            for _ in range(3):  # what a pool sends between two uses is understood
                assert await pool.fetchval("SELECT 1") == 1

    asyncio.run(ask())
    seen("asyncpg", version("asyncpg"), "binary, prepared, cursors, pools, tables, refusals")


def test_pg8000(there: Address, seen: Seen) -> None:
    import ssl

    pg8000 = client("pg8000.dbapi")
    trusted = ssl.create_default_context(cafile=str(there.certificate))
    ana = pg8000.connect(
        host=there.host, port=there.port, user="ana", password=there.token, database="hospital",
        ssl_context=trusted,
    )  # fmt: skip
    cursor = ana.cursor()
    cursor.execute("SET sanql.epsilon = 0.01")
    cursor.execute(BY_SEX.format("%s"), (42,))
    assert len(cursor.fetchall()) == 3
    cursor.execute(TABLES)
    assert len(cursor.fetchall()) == 2
    with pytest.raises(pg8000.DatabaseError):
        cursor.execute("SELECT income FROM people")
    ana.close()
    seen("pg8000", version("pg8000"), "prepared, tables, refusals")


def test_sqlalchemy_reflects_and_asks(there: Address, seen: Seen) -> None:
    sqlalchemy = client("sqlalchemy")
    engine = sqlalchemy.create_engine(there.url.replace("postgresql:", "postgresql+psycopg:"))
    tables = sqlalchemy.MetaData()
    tables.reflect(engine)
    people = tables.tables["people"]
    assert {column.name: str(column.type) for column in people.columns}["age"] == "BIGINT"
    counted = sqlalchemy.select(people.c.sex, sqlalchemy.func.count().label("n"))
    with engine.connect() as ana:
        ana.execute(sqlalchemy.text("SET sanql.epsilon = 0.01"))
        rows = ana.execute(counted.where(people.c.age > 43).group_by(people.c.sex)).fetchall()
    assert len(rows) == 3
    seen("SQLAlchemy", version("sqlalchemy"), "reflection, expressions")


def test_pandas_and_polars_read_answers_as_frames(there: Address, seen: Seen) -> None:
    sqlalchemy, pandas, polars = client("sqlalchemy"), client("pandas"), client("polars")
    engine = sqlalchemy.create_engine(there.url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as ana:
        ana.execute(sqlalchemy.text("SET sanql.epsilon = 0.01"))
        frame = pandas.read_sql(BY_SEX.format(44), ana)
        other = polars.read_database(BY_SEX.format(44), ana)
    assert [*frame.columns] == ["sex", "n", "mean"] and str(frame["n"].dtype) == "int64"
    assert other.select("sex", "n").rows() == [*zip(frame["sex"], frame["n"], strict=True)]
    seen("pandas", version("pandas"), "read_sql")
    seen("polars", version("polars"), "read_database")


def test_adbc_without_copy(there: Address, seen: Seen) -> None:
    adbc = client("adbc_driver_postgresql.dbapi")
    plainly = {"adbc.postgresql.use_copy": "false"}
    with adbc.connect(there.url, autocommit=True) as ana:
        with ana.cursor() as cursor:
            cursor.adbc_statement.set_options(**plainly)
            cursor.execute("SET sanql.epsilon = 0.01")
        with ana.cursor() as cursor:
            cursor.adbc_statement.set_options(**plainly)
            cursor.execute(BY_SEX.format(45))
            table = cursor.fetch_arrow_table()
        assert table.column_names == ["sex", "n", "mean"] and table.num_rows == 3
        found = ana.adbc_get_objects(depth="tables").read_all()
        assert "people" in str(found.to_pylist())
    seen("ADBC PostgreSQL", version("adbc-driver-postgresql"),
         "Arrow tables with `adbc.postgresql.use_copy = false`, the catalogue")  # fmt: skip
