"""The events table of the benchmarks: 1M people, a few of them with thousands of rows."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

PEOPLE = 1_000_000
CATEGORIES = 20
CITIES = 500
ITEMS = 100_000


def write_events(path: Path, rows: int) -> None:
    """Write `rows` events into a DuckDB file, the same ones every time."""
    random = np.random.default_rng(20261115)
    with duckdb.connect(str(path)) as connection:
        connection.register("generated", events(random, rows, PEOPLE))
        connection.execute("CREATE TABLE events AS SELECT * FROM generated")


def write_many_events(path: Path, rows: int, people: int, at_once: int = 5_000_000) -> None:
    """Write more events than fit into memory, of more people, the same ones every time."""
    random = np.random.default_rng(20261118)
    home = _homes(random, people)
    with duckdb.connect(str(path)) as connection:
        connection.execute("SET memory_limit = '2GB'")
        for begun in range(0, rows, at_once):
            connection.register(
                "generated", events(random, min(at_once, rows - begun), people, home)
            )
            how = "INSERT INTO events" if begun else "CREATE TABLE events AS"
            connection.execute(f"{how} SELECT * FROM generated")


def write_copies(path: Path, rows: int, copies: int) -> None:
    """Write as many events and others alike, whose people are others: quicker than drawing all."""
    people = rows // 10
    write_many_events(path, rows, people)
    with duckdb.connect(str(path)) as connection:
        connection.execute("SET memory_limit = '2GB'")
        connection.execute("SET preserve_insertion_order = false")
        for copy in range(1, copies):
            connection.execute(
                "INSERT INTO events SELECT * REPLACE (user_id + ? AS user_id) FROM events"
                " WHERE user_id < ?",
                [copy * people, people],
            )


def _homes(random: np.random.Generator, people: int) -> np.ndarray:
    return _draw(random, 1 / np.arange(1, 301), people)


def events(
    random: np.random.Generator, rows: int, people: int, home: np.ndarray | None = None
) -> pa.Table:
    weights = 1 / (np.arange(people) + 300)
    users = _draw(random, weights, rows)
    home = _homes(random, people) if home is None else home
    away = _draw(random, np.r_[1 / np.arange(1, 301), np.full(200, 1e-6)], rows)
    city = np.where(random.random(rows) < 0.6, home[users], away)
    return pa.table(
        {
            "user_id": users,
            "city": pa.DictionaryArray.from_arrays(
                city.astype(np.int32), [f"city {i:03}" for i in range(CITIES)]
            ).cast(pa.string()),
            "category": pa.DictionaryArray.from_arrays(
                random.integers(0, CATEGORIES, rows, dtype=np.int32),
                [f"category {i:02}" for i in range(CATEGORIES)],
            ).cast(pa.string()),
            "amount": np.round(random.lognormal(3.5, 1, rows), 2),
            "age": 18 + users % 70,
            "item": _draw(random, 1 / np.arange(1, ITEMS + 1) ** 0.9, rows),
        }
    )


def _draw(random: np.random.Generator, weights: np.ndarray, count: int) -> np.ndarray:
    steps = np.cumsum(weights) / np.sum(weights)
    return np.minimum(np.searchsorted(steps, random.random(count)), len(weights) - 1)
