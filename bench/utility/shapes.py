"""The four shapes of data with their policies, written into a folder of their own."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb

from bench.utility.flights import write_flights
from sanql.demo import make_hospital

POLICIES = Path(__file__).with_name("policies")
PERSONS = 50_000
CUSTOMERS = 20_000

PERSONS_SQL = f"""
WITH base AS (
  SELECT i, hash(i, 1) % 10000 / 10000.0 AS a, hash(i, 2) % 10000 / 10000.0 AS b,
         hash(i, 3) % 10000 / 10000.0 AS c, hash(i, 4) % 10000 / 10000.0 AS d
  FROM range({PERSONS}) AS numbers(i)
)
SELECT CASE WHEN a < 0.51 THEN 'F' ELSE 'M' END AS sex,
       CAST(1 + floor(20 * b * b) AS INTEGER) AS region,
       CASE WHEN c < 0.06 THEN 'none' WHEN c < 0.55 THEN 'school' WHEN c < 0.8 THEN 'college'
            ELSE 'university' END AS education,
       'occupation ' || CAST(floor(300 * d * d * d) AS INTEGER) AS occupation,
       CAST(round(9000 + 30000 * c - 12000 * ln(1.0001 - a), 2) AS DECIMAL(10, 2)) AS income
FROM base
"""

# Most customers order a few times, some every week.
ORDERS_SQL = f"""
SELECT 1000 * c + o AS order_id, c AS customer_id,
       DATE '2024-01-01' + CAST(hash(c, o, 1) % 366 AS INTEGER) AS ordered,
       CASE WHEN hash(c, o, 2) % 10 < 6 THEN 'web' WHEN hash(c, o, 2) % 10 < 9 THEN 'shop'
            ELSE 'phone' END AS channel
FROM range({CUSTOMERS}) AS customers(c),
     range(CAST(least(60, floor(1.2 / (0.02 + hash(c, 3) % 10000 / 10000.0))) AS BIGINT)) AS orders(o)
"""

ITEMS_SQL = """
SELECT order_id, 'product ' || CAST(floor(400 * b * b * b) AS INTEGER) AS sku,
       1 + CAST(floor(5 * a * a) AS INTEGER) AS quantity,
       CAST(round(3 + 150 * b * a, 2) AS DECIMAL(8, 2)) AS price
FROM (SELECT order_id, hash(order_id, i, 1) % 10000 / 10000.0 AS a,
             hash(order_id, i, 2) % 10000 / 10000.0 AS b
      FROM orders, range(CAST(1 + hash(order_id, 3) % 4 AS BIGINT)) AS items(i)) AS t
"""


def _write_census(folder: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({PERSONS_SQL}) TO '{folder / 'persons.parquet'}'")


def _write_retail(folder: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE orders AS {ORDERS_SQL}")
        connection.execute(f"COPY orders TO '{folder / 'orders.parquet'}'")
        connection.execute(f"COPY ({ITEMS_SQL}) TO '{folder / 'items.parquet'}'")


def _write_hospital(folder: Path) -> None:
    make_hospital(folder.parent)


SHAPES: dict[str, Callable[[Path], None]] = {
    "flights": write_flights,
    "hospital": _write_hospital,
    "census": _write_census,
    "retail": _write_retail,
}


def make_shape(shape: str, folder: Path) -> Path:
    """Write a shape's data and policy; return the policy's path."""
    data = folder / "data"
    data.mkdir(parents=True)
    folder.chmod(0o700)
    SHAPES[shape](data)
    policy = folder / "policy.toml"
    shutil.copy(POLICIES / f"{shape}.toml", policy)
    return policy
