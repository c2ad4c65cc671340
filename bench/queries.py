"""Person-level questions through San against the fastest bounded SQL written by hand.

Both read the same DuckDB file with the same number of threads, and take turns. The hand-written SQL
bounds contributions as San does (4 groups a person, 10 rows a person and group, amounts within
[0, 500]) but adds no noise, keeps no account and proves nothing.

The same question again would be free and not be run, so each time another analyst asks it. "new
epsilon" is one analyst asking at an epsilon never seen before: the noise's tables are made anew.
Processor seconds are those of this process and of the worker together.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb

import sanql
from bench.data import CATEGORIES, write_events
from sanql.ask import plan_request, read_request
from sanql.parse import QuestionText

POLICY = """
[dataset]
name = "events"
source = "events.duckdb"
neighbours = "add-remove"
budget = {{ epsilon = 100000.0, delta = 0.1 }}
accounting = "pure"
{analysts}
[table.events]
privacy_unit = "user_id"
rows_per_group_max = 10
groups_per_unit_max = 4
[table.events.column]
city = {{ type = "text", bytes_max = 100 }}
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
    "Q7 quartiles": (
        "SELECT QUANTILE_CONT(amount, 0.25), MEDIAN(amount), QUANTILE_CONT(amount, 0.75) FROM events",
        f"""WITH p AS MATERIALIZED (
              SELECT user_id u, {CENTS} x, hash(42, user_id, {CENTS}) h FROM events),
            t AS (SELECT u, list_last(min(h, 10)) th FROM p GROUP BY u HAVING count(*) > 10)
            SELECT quantile_disc(x, [0.25, 0.5, 0.75]) FROM p LEFT JOIN t USING (u)
            WHERE th IS NULL OR h <= th""",
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
        analysts = "\n".join(f"[analyst.a{i}]" for i in range(repeats + 1))
        policy = directory / "policy.toml"
        policy.write_text(POLICY.format(categories=categories, analysts=analysts))
        with sanql.open(policy, analyst="a0") as san:
            san.session.data.open().workers.warm()
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
    by_hand, by_san, anew, planning = [], [], [], []
    for repeat in range(repeats + 1):
        san.analyst = f"a{repeat}"
        by_hand.append(_time(san, lambda: hand.sql(sql).to_arrow_table()))
        by_san.append(_time(san, lambda: san.query(question, epsilon=1, delta="1e-6")))
        epsilon = f"1.{repeat:06}1"
        anew.append(_time(san, lambda e=epsilon: san.query(question, epsilon=e, delta="1e-6")))
        options = {"epsilon": epsilon + "1", "delta": "1e-6"}
        planning.append(_time(san, lambda o=options: _plan(san, question, o)))
    wall_hand, cpu_hand = _best(by_hand[1:])
    wall_san, cpu_san = _best(by_san[1:])
    return {
        "question": name,
        "rows": rows,
        "by hand s": wall_hand,
        "San s": wall_san,
        "San / hand": wall_san / wall_hand,
        "beyond 1.15 × hand, ms": 1000 * (wall_san - 1.15 * wall_hand),
        "the same, middle of the turns, ms": _middle(by_hand[1:], by_san[1:]),
        "processor: San / hand": cpu_san / cpu_hand,
        "new epsilon s": _best(anew[1:])[0],
        "planning ms": 1000 * _best(planning[1:])[0],
        "_middle of San": statistics.median(wall for wall, _ in by_san[1:]),
        "_middle by hand": statistics.median(wall for wall, _ in by_hand[1:]),
    }


def _plan(san: sanql.San, question: str, options: dict[str, object]) -> object:
    return plan_request(san.session, read_request(QuestionText(question), san.analyst, options))


def _best(taken: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the least wall time and the least processor time."""
    return min(wall for wall, _ in taken), min(cpu for _, cpu in taken)


def _middle(by_hand: Sequence[tuple[float, float]], by_san: Sequence[tuple[float, float]]) -> float:
    """Return the middle of what San took beyond 1.15 times what the hand took in the same turn."""
    turns = zip(by_hand, by_san, strict=True)
    return 1000 * statistics.median(san - 1.15 * hand for (hand, _), (san, _) in turns)


def _time(san: sanql.San, action: Callable[[], object]) -> tuple[float, float]:
    """Return the wall seconds and the processor seconds, here and in the workers, of an action."""
    started, used = time.perf_counter(), _processor(san)
    action()
    return time.perf_counter() - started, _processor(san) - used


def _processor(san: sanql.San) -> float:
    ticks = 0
    for worker in san.session.data.open().workers.pids():
        fields = Path(f"/proc/{worker}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")
