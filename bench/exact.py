"""`python -m bench.exact`: how long certificates take, and what an exact question costs.

Writes bench/EXACT.md. Certificates are one thread of arithmetic, so their times are of the
processor, the best of several, after one to warm up: a busy machine does not slow them. Questions
to the database are timed by the clock, over a million rows in four cells.
"""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import duckdb

import sanql
from sanql.errors import Refused
from sanql.exact.terms import terms_of
from sanql.mechanisms.noiseless import (
    Adversary,
    BinomialPrior,
    CountAdversary,
    HistogramAdversary,
    MapAdversary,
    PoissonPrior,
    continuous_sum,
    delta_at,
    epsilon_at,
    lattice_sum,
    others_min,
    partial_sum,
    threshold_min,
)
from sanql.policy.exact.model import ExactValues

RESULTS = Path(__file__).with_name("EXACT.md")
REPEATS = 3
RECORDS = (10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
DELTA = "1e-6"
LIMITS = {"delta": 0.1, "epsilon": 0.5}

CLASSES: dict[str, Callable[[int], Adversary]] = {
    "sum, eta = 0.1": lambda m: continuous_sum(others=m, eta="0.1"),
    "sum, eta = 0.5": lambda m: continuous_sum(others=m, eta="0.5"),
    "sum, alpha = 0.4, part of the range": lambda m: partial_sum(
        others=m, lower=0, upper=200_000, width=60_000, alpha="0.4"
    ),
    "lattice 1 to 5, mass 0.05": lambda m: lattice_sum(others=m, lower=1, upper=5, mass="0.05"),
    "lattice, cents to 500,000, alpha = 0.2": lambda m: lattice_sum(
        others=m, lower=0, upper=500_000, step="0.01", mass="3.9e-9"
    ),
    "count, beta = 0.01": lambda m: CountAdversary(m, "0.01"),
    "count, beta = 0.1": lambda m: CountAdversary(m, "0.1"),
    "count, beta = 0.3": lambda m: CountAdversary(m, "0.3"),
    "count, beta = 0.5": lambda m: CountAdversary(m, "0.5"),
}
GRID: dict[str, Callable[[int], Adversary]] = {
    **{
        f"sum eta {eta}": lambda m, eta=eta: continuous_sum(others=m, eta=eta)
        for eta in ("0.0001", "0.01", "0.1", "0.4", "0.5")
    },
    "sum, all but some known": lambda m: continuous_sum(
        others=10_000_000, eta="0.2", known=10_000_000 - m
    ),
    **{
        f"lattice of {n}": lambda m, n=n: lattice_sum(
            others=m, lower=0, upper=n - 1, mass=Fraction(3, 10 * n)
        )
        for n in (2, 5, 100, 1000)
    },
    **{
        f"count beta {beta}": lambda m, beta=beta: CountAdversary(m, beta)
        for beta in ("0.001", "0.05", "0.3", "0.45")
    },
    **{
        f"histogram rate {rate}": lambda m, rate=rate: HistogramAdversary(m, BinomialPrior(rate))
        for rate in ("0.01", "0.5", "0.99")
    },
    "map of three values": lambda m: MapAdversary(
        m, (("0.6", "0.3", "0.1"), ("0.5", "0.3", "0.2"))
    ),
}
GRID_RECORDS = (10, 40, 100, 300, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
GRID_EPSILONS = ("0.000001", "0.001", "0.03", "0.3", "1", "5", "20")
GRID_DELTAS = ("1e-2", "1e-6", "1e-12")
GRID_DELTA_MIN = 1e-30
POLICY = """
[dataset]
name = "land"
source = "people.parquet"
neighbours = "change-one"
budget = { epsilon = 1, delta = 1e-6 }
accounting = "renyi"
[table.people]
privacy_unit = "person_id"
unique = true
[table.people.column]
region = { type = "text", domain = ["north", "south", "east", "west"] }
income = { type = "decimal", bounds = [0, 200000], precision = 0.01 }
[exact.income]
partition = ["region"]
adversary = { class = "uniform-component", alpha = 0.4, width = 60000, known_records = 1000 }
accept = { epsilon = 0.1, delta = 1e-9 }
"""
PEOPLE = """
SELECT i AS person_id, ['north', 'south', 'east', 'west'][CAST(hash(i, 1) % 4 AS INTEGER) + 1]
       AS region, CAST((hash(i, 2) % 20000001) / 100.0 AS DECIMAL(10, 2)) AS income
FROM range(1000000) AS people(i)
"""


def main() -> None:
    """Measure everything and write it down."""
    delta_at(continuous_sum(others=1000, eta="0.25"), 1)
    parts = [_machine(), _certificates(), _worst(), _histograms(), _searches(), _database()]
    text = "\n\n".join(parts) + "\n"
    RESULTS.write_text(text, encoding="utf-8")
    print(text)


def _machine() -> str:
    return (
        "# Certificates: measured speed\n\n"
        f"Written by `python -m bench.exact` on {datetime.now(UTC):%Y-%m-%d}: {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}. Processor "
        f"milliseconds, the best of {REPEATS}; wanted: delta under {LIMITS['delta'] * 1000:g}, "
        f"epsilon under {LIMITS['epsilon'] * 1000:g}. “–” is a refusal: no epsilon is certified."
    )


def _certificates() -> str:
    """Measure delta at an epsilon near the edge, and epsilon at a delta, for every class and size."""
    heads = " | ".join(f"{m:,}" for m in RECORDS)
    lines = [f"| class | asked | {heads} |", "|---|---|" + "---|" * len(RECORDS)]
    for name, make in CLASSES.items():
        deltas, epsilons = [], []
        for records in RECORDS:
            adversary = make(records)
            seconds, found = _best(lambda a=adversary: epsilon_at(a, DELTA))
            epsilons.append(_shown(seconds, found, LIMITS["epsilon"]))
            at = "1" if found is None else f"{found.epsilon:.6g}"  # type: ignore[attr-defined]
            taken = [_best(lambda a=adversary, e=e: delta_at(a, e))[0] for e in (at, "0.3")]
            deltas.append(_shown(max(taken), found or 1, LIMITS["delta"]))
        lines.append(f"| {name} | delta | {' | '.join(deltas)} |")
        lines.append(f"| {name} | epsilon | {' | '.join(epsilons)} |")
        print(lines[-2], lines[-1], sep="\n", flush=True)
    note = "delta is the slower of epsilon 0.3 and the epsilon found."
    return "\n".join(["## Sums and counts, by unknown records", "", *lines, "", note])


def _worst() -> str:
    """Measure a wide grid of parameters once each and say which took longest."""
    taken: dict[str, list[tuple[float, str]]] = {"delta": [], "epsilon": []}
    for name, make in GRID.items():
        for records in GRID_RECORDS:
            adversary = make(records)
            for level in GRID_EPSILONS:
                seconds, found = _once(
                    lambda a=adversary, e=level: delta_at(a, e), time.process_time
                )
                if found is not None and found.delta_upper >= GRID_DELTA_MIN:  # type: ignore[attr-defined]
                    words = f"{name}, {records:,} records, epsilon {level}"
                    taken["delta"].append((seconds, words))
            for level in GRID_DELTAS:
                seconds, _ = _once(lambda a=adversary, d=level: epsilon_at(a, d), time.process_time)
                taken["epsilon"].append((seconds, f"{name}, {records:,} records, delta {level}"))
    lines = ["| asked | longest ms | over the limit | of | where |", "|---|---|---|---|---|"]
    for asked, times in taken.items():
        longest, where = max(times)
        over = sum(seconds > LIMITS[asked] for seconds, _ in times)
        lines.append(f"| {asked} | {longest * 1000:.0f} | {over} | {len(times)} | {where} |")
    return "\n".join(
        [
            "## The worst of a grid",
            "",
            *lines,
            "",
            f"Once each. Classes: {', '.join(GRID)}. Deltas below {GRID_DELTA_MIN:g} are left out.",
        ]
    )


def _histograms() -> str:
    lines = ["| prior | delta ms | smallest k ms |", "|---|---|---|"]
    for name, prior in {
        "Poisson": PoissonPrior(),
        "one in ten": BinomialPrior("0.1"),
        "nine in ten": BinomialPrior("0.9"),
    }.items():
        least = threshold_min(prior, "0.1", DELTA)
        delta, _ = _best(lambda p=prior, k=least: delta_at(HistogramAdversary(k, p), "0.1"))
        search, _ = _best(lambda p=prior: threshold_min(p, "0.1", DELTA))
        lines.append(f"| {name}, k = {least:,} | {delta * 1000:.1f} | {search * 1000:.1f} |")
    return "\n".join(["## Truncated histograms, epsilon 0.1", "", *lines])


def _searches() -> str:
    lines = ["| class | least records | ms |", "|---|---|---|"]
    for name, make in CLASSES.items():
        seconds, found = _best(lambda make=make: others_min(make(100), "0.1", "1e-9"))
        lines.append(f"| {name} | {found:,} | {seconds * 1000:.0f} |")
    return "\n".join(["## The least number of records, epsilon 0.1, delta 1e-9", "", *lines])


def _database() -> str:
    """Measure what certification adds to an exact question over a million rows."""
    sql = "SELECT region, AVG(income) FROM people GROUP BY region"
    lines = ["| step | ms |", "|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        for name, more in (("least found", ""), ("records_min declared", "records_min = 240000\n")):
            root = Path(folder) / name  # data of its own: an account belongs to its data
            root.mkdir()
            duckdb.sql(f"COPY ({PEOPLE}) TO '{root / 'people.parquet'}'")
            (root / "policy.toml").write_text(POLICY + more, encoding="utf-8")
            with sanql.open(root / "policy.toml") as san:
                san.session.data.open().workers.warm()
                (exact,) = san.policy.exact.values()
                assert isinstance(exact, ExactValues)
                certified, _ = _best(lambda e=exact: (terms_of.cache_clear(), terms_of(e)))
                terms_of.cache_clear()
                first, _ = _once(lambda s=san: s.query(sql, exact=True))
                repeat, _ = _best(lambda s=san: s.query(sql, exact=True), time.perf_counter)
                noisy, _ = _once(lambda s=san: s.query(sql, epsilon="0.1"))
            for step, seconds in (
                ("certification (processor)", certified),
                ("first exact answer, all of it", first),
                ("a noisy answer to the same question", noisy),
                ("a repeat", repeat),
            ):
                lines.append(f"| {name}: {step} | {seconds * 1000:.0f} |")
    return "\n".join(["## One question over 1,000,000 rows", "", *lines])


def _best(
    work: Callable[[], object], clock: Callable[[], float] = time.process_time
) -> tuple[float, object | None]:
    found = [_once(work, clock) for _ in range(REPEATS)]
    return min(seconds for seconds, _ in found), found[-1][1]


def _once(
    work: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> tuple[float, object | None]:
    started = clock()
    try:
        result: object | None = work()
    except Refused:
        result = None
    return clock() - started, result


def _shown(seconds: float, found: object | None, limit: float) -> str:
    if found is None:
        return "–"
    text = f"{seconds * 1000:.0f}"
    return f"**{text}**" if seconds > limit else text


if __name__ == "__main__":
    main()
