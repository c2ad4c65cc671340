"""Person-level questions through San against the fastest bounded SQL written by hand.

Both read the same DuckDB file with the same number of threads, and take turns. The hand-written SQL
bounds contributions as San does (4 groups a person, 10 rows a person and group, amounts within
[0, 500]) but adds no noise, keeps no account and proves nothing.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

import sanql
from bench.data import CATEGORIES, write_events
from sanql.engine import Wishes

POLICY = """
[dataset]
name = "events"
source = "events.duckdb"
neighbours = "add-remove"
budget = {{ epsilon = 100000.0, delta = 0.1 }}
accounting = "pure"
[table.events]
privacy_unit = "user_id"
rows_per_group_max = 10
groups_per_unit_max = 4
[table.events.column]
city = {{ type = "text" }}
category = {{ type = "text", domain = [{categories}] }}
amount = {{ type = "decimal", bounds = [0, 500], precision = 0.01 }}
age = {{ type = "integer", bounds = [0, 120] }}
item = {{ type = "integer" }}
"""

CENTS = "CAST(floor(least(500, greatest(0, amount)) * 100 + 0.5) AS BIGINT)"


def _kept(key: str) -> str:
    """The k-th smallest hash, joined back: the fastest exact limit on groups in DuckDB."""
    return f"""
WITH p AS MATERIALIZED (
  SELECT user_id u, {key} k, count(*) n, sum({CENTS}) s, hash(42, user_id, {key}) h
  FROM events GROUP BY ALL),
t AS (SELECT u, list_last(min(h, 4)) th FROM p GROUP BY u HAVING count(*) > 4),
b AS (SELECT k, least(n, 10) n, CASE WHEN n > 10 THEN s * 10 // n ELSE s END s
      FROM p LEFT JOIN t USING (u) WHERE th IS NULL OR h <= th)
SELECT k, count(*) units, sum(n) n, sum(s) s FROM b GROUP BY k"""


QUESTIONS: dict[str, tuple[str, str]] = {
    "Q1 COUNT(*)": (
        "SELECT COUNT(*) FROM events",
        "SELECT sum(least(n, 10)) FROM (SELECT count(*) n FROM events GROUP BY user_id)",
    ),
    "Q2 COUNT(DISTINCT user)": (
        "SELECT COUNT(DISTINCT user_id) FROM events",
        "SELECT count(DISTINCT user_id) FROM events",
    ),
    "Q3 SUM, AVG": (
        "SELECT SUM(amount), AVG(amount) FROM events",
        f"""SELECT sum(least(n, 10)), sum(CASE WHEN n > 10 THEN s * 10 // n ELSE s END)
            FROM (SELECT count(*) n, sum({CENTS}) s FROM events GROUP BY user_id)""",
    ),
    "Q4 by category (20 public keys)": (
        "SELECT category, COUNT(*), SUM(amount) FROM events GROUP BY category",
        _kept("category"),
    ),
    "Q5 by city (500 unknown keys)": (
        "SELECT city, COUNT(*), SUM(amount), AVG(amount) FROM events GROUP BY city",
        _kept("city"),
    ),
    "Q6 by item (100,000 unknown keys)": (
        "SELECT item, COUNT(*), SUM(amount), AVG(amount) FROM events GROUP BY item",
        _kept("item"),
    ),
    "Q8 COUNT with WHERE": (
        "SELECT COUNT(*) FROM events WHERE age < 25",
        "SELECT sum(least(n, 10)) FROM "
        "(SELECT count(*) n FROM events WHERE age < 25 GROUP BY user_id)",
    ),
}


def measure(rows: int, repeats: int = 5) -> list[dict[str, Any]]:
    """Return, for each question, the best time by hand and through San, and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        write_events(directory / "events.duckdb", rows)
        categories = ", ".join(f'"category {i:02}"' for i in range(CATEGORIES))
        policy = directory / "policy.toml"
        policy.write_text(POLICY.format(categories=categories))
        with sanql.open(policy) as san:
            san.workers.warm()
            threads = len(os.sched_getaffinity(0))
            hand = duckdb.connect(
                str(directory / "events.duckdb"), read_only=True, config={"threads": threads}
            )
            found = [
                _row(san, hand, name, question, sql, rows, repeats)
                for name, (question, sql) in QUESTIONS.items()
            ]
            hand.close()
        return found


def _row(
    san: sanql.San,
    hand: duckdb.DuckDBPyConnection,
    name: str,
    question: str,
    sql: str,
    rows: int,
    repeats: int,
) -> dict[str, Any]:
    by_hand, by_san, planning = [], [], []
    for repeat in range(repeats + 1):
        # another epsilon each time: the same question again would be free, and not be run
        epsilon = f"1.{repeat:06}1"
        by_hand.append(_time(lambda: hand.sql(sql).to_arrow_table()))
        by_san.append(_time(lambda e=epsilon: san.query(question, epsilon=e, delta="1e-6")))
        wishes = Wishes(epsilon=epsilon + "1", delta="1e-6")
        planning.append(_time(lambda w=wishes: san.prepare(question, w)))
    best_hand, best_san = min(by_hand[1:]), min(by_san[1:])
    return {
        "question": name,
        "rows": rows,
        "by hand s": best_hand,
        "San s": best_san,
        "San / hand": best_san / best_hand,
        "beyond 1.15 × hand, ms": 1000 * (best_san - 1.15 * best_hand),
        "planning ms": 1000 * min(planning[1:]),
    }


def _time(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started
