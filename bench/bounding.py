"""Bounding by norm against dropping, side by side in processor seconds.

Each question is planned twice, as San plans it and with norms taken out of its plan, so that units are
bounded by dropping. Both statements run in turns, in one process, over the same file of events and under
the same limits; what they read is the same, and how much of it counts is not.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb

from bench.data import CATEGORIES, write_events
from bench.queries import POLICY
from sanql.compile import compile_plan
from sanql.engines import Pool, open_engine, prepare
from sanql.kernel import Statement
from sanql.parse import parse
from sanql.plan import KnownUnits, Level, Outline, outline, price, with_known_norms
from sanql.plan.best_norm import UnitLengths
from sanql.policy import Budget, Policy, load
from sanql.statistics import Measuring

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)
SECRET = 7


LIMITS = {
    "10 rows in each of 4 groups": "rows_per_group_max = 10\ngroups_per_unit_max = 4",
    "40 rows in all": "rows_per_unit_max = 40",
}
AGES = "CASE WHEN age < 30 THEN 'young' WHEN age < 60 THEN 'grown' ELSE 'old' END"
KEYS = {"3 public keys": AGES, "20 public keys": "category", "500 unknown keys": "city"}
STATISTICS = ("COUNT(*)", "SUM(amount)", "AVG(amount)", "COUNT(*), SUM(amount), AVG(amount)")


@dataclass(frozen=True)
class _Kind:
    """A kind of question: what is asked by which keys, with averages as a profile lets measure them."""

    name: str
    sql: str
    delta: Fraction = Fraction(0)  # above it keys are selected, with Gaussian noise
    profiled: bool = False


def kinds() -> list[_Kind]:
    """Return a question of each kind."""
    found = [
        _Kind(
            f"{asked}, {keys}",
            f"SELECT {key} AS k, {asked} FROM events GROUP BY k",
            DELTA if "unknown" in keys else Fraction(0),
        )
        for keys, key in KEYS.items()
        for asked in STATISTICS
    ]
    by_category = "SELECT category, AVG(amount) FROM events GROUP BY category"
    return [
        *found,
        _Kind("AVG(amount), 20 public keys, with a profile", by_category, profiled=True),
        _Kind("SUM(amount), one group", "SELECT SUM(amount) FROM events"),
    ]


def measure(rows: int, turns: int) -> list[dict[str, Any]]:
    """Return, for each kind of question and limits, the middle of what either way takes."""
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        write_events(directory / "events.duckdb", rows)
        return [row for name in LIMITS for row in _under(directory, name, turns)]


def _under(directory: Path, limits: str, turns: int) -> list[dict[str, Any]]:
    categories = ", ".join(f'"category {i:02}"' for i in range(CATEGORIES))
    text = POLICY.format(categories=categories, analysts="[analyst.a]")
    first = next(iter(LIMITS.values()))
    if first not in text:
        raise ValueError("the policy of bench.queries has other limits")
    path = directory / "policy.toml"
    path.write_text(text.replace(first, LIMITS[limits]), "utf-8")
    policy, engine = load(path), open_engine("in_process")
    source = prepare(policy, engine=engine)
    known = _known(directory / "events.duckdb")
    with Pool(source, policy.engine, engine) as pool:
        found = []
        for kind in kinds():
            levels = _planned(policy, kind, known)
            by_norm, dropping = ([compile_plan(e, source, SECRET) for e in way] for way in levels)
            taken = [(_spent(pool, by_norm), _spent(pool, dropping)) for _ in range(turns + 1)][1:]
            norm, dropped = (statistics.median(each) for each in zip(*taken, strict=True))
            found.append(
                {
                    "limits": limits,
                    "question": kind.name,
                    "norm": _norms(levels[0]),
                    "by norm s": norm,
                    "dropping s": dropped,
                    "norm / dropping": statistics.median(a / b for a, b in taken),
                }
            )
    return found


def _planned(policy: Policy, kind: _Kind, known: KnownUnits) -> list[tuple[Level, ...]]:
    """Return the levels of a question, by norm and by dropping."""
    tables = dict(policy.tables)
    asked = outline(parse(kind.sql, tables).query, tables, policy.neighbours)
    dropping = without_norms(asked)
    if kind.profiled:
        asked = with_known_norms(asked, {"events": known}, Budget(EPSILON, kind.delta))
    return [price(each, EPSILON, kind.delta).levels for each in (asked, dropping)]


def _known(path: Path) -> KnownUnits:
    """Return what a profile without noise would tell of rows and amounts."""
    with duckdb.connect(str(path), read_only=True) as connection:
        by_unit = "SELECT count(*) AS n FROM events GROUP BY user_id"
        rows = connection.execute(f"SELECT count(*), n FROM ({by_unit}) GROUP BY n").fetchall()
        ((size,),) = connection.execute("SELECT avg(least(amount, 500)) FROM events").fetchall()
    lengths = tuple(UnitLengths(units, n, n) for units, n in rows)
    return KnownUnits(rows=lengths, norms={"category": lengths}, sizes={"amount": Fraction(size)})


def without_norms(asked: Outline) -> Outline:
    """Return an outline of which every unit is bounded by dropping."""
    levels = tuple(
        replace(
            level,
            measuring=_dropping(level.measuring),
            by_weights=None if level.by_weights is None else _dropping(level.by_weights),
        )
        for level in asked.levels
    )
    return replace(asked, levels=levels)


def _dropping(measuring: Measuring) -> Measuring:
    return replace(measuring, unit_norms=None)


def _norms(levels: Sequence[Level]) -> str:
    norms = [part.norm for level in levels for part in level.computed if part.norm]
    names = sorted({f"L{norm.order}{', jointly' * norm.jointly}" for norm in norms})
    return " and ".join(names) or "none"


def _spent(pool: Pool, statements: Sequence[Statement]) -> float:
    before = time.process_time()
    for each in statements:
        pool.run(each)
    return time.process_time() - before
