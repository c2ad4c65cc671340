"""What a cluster costs beside one machine: `python -m bench.spark`, which writes bench/SPARK.md.

One bounded GROUP BY over the same rows, in turns: by a worker of this machine over its copy, by processes
of this machine over buckets, by executors over the same buckets, and by Spark's own SQL that bounds by a
window. All of it is measured in seconds and in seconds of processors, of this process and all that it has
started; ratios are of the latter, which other work changes least. Starting a session is apart.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb

from sanql.compile import compile_plan
from sanql.engines import (
    Pool,
    engine_of,
    open_engine,
    open_layout,
    prepare,
    spread_layout,
    spread_on_cluster,
)
from sanql.engines.spark.session import session_on
from sanql.kernel.buckets import MANIFEST, BucketProcess, OpenBuckets, read_layout
from sanql.kernel.buckets.messages import ComputePart, MergeParts
from sanql.parse import parse
from sanql.plan import outline, price
from sanql.policy import Policy, SparkCluster, load
from sanql.sources import Stamps, locate

RESULTS = Path(__file__).parent / "SPARK.md"
SECRET = 7
ROWS_PER_PERSON = 10
MOST = 8
_SQL = "Spark SQL, bounded by a window"
SQL = "SELECT ward, COUNT(*), AVG(cost) FROM visits GROUP BY ward"
POLICY = f"""
[dataset]
name = "bench"
source = "data"
neighbours = "add-remove"
budget = {{ epsilon = 10 }}
accounting = "pure"
[engine]
deadline = 600
[table.visits]
privacy_unit = "person_id"
rows_per_unit_max = {MOST}
column.ward = {{ type = "integer", bounds = [0, 19], domain = {list(range(20))} }}
column.cost = {{ type = "decimal", bounds = [0, 1000], precision = 0.01 }}
"""
Taken = tuple[float, float]


def main() -> None:
    """Measure, and write down what was measured."""
    read = argparse.ArgumentParser()
    read.add_argument("--rows", type=int, default=10_000_000)
    read.add_argument("--buckets", type=int, nargs="+", default=[16, 64, 256])
    read.add_argument("--turns", type=int, default=3)
    read.add_argument("--master", default="local-cluster[2,1,1024]", help='"none" leaves Spark out')
    read.add_argument("--results", type=Path, default=RESULTS)
    given = read.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = measured(Path(folder), given.rows, given.buckets, given.turns, given.master)
    print(text)
    given.results.write_text(text)


def measured(folder: Path, rows: int, buckets: list[int], turns: int, master: str) -> str:
    """Return a page of what each way took."""
    policy = _written(folder, rows)
    source = locate(policy)
    stamped = Stamps(policy.ledger).of(source)
    seconds, copied = _timed(lambda: prepare(policy, stamped=stamped, source=source, copied=True))
    lines = [f"Copying: {seconds[0]:.1f} s ({seconds[1]:.1f} s of processors)."]
    tables = dict(policy.tables)
    asked = outline(parse(SQL, tables).query, tables, policy.neighbours)
    (level,) = price(asked, Fraction(1), Fraction(0)).levels
    ways: dict[str, Callable[[], object]] = {}
    here = Pool(copied, policy.engine, open_engine())
    ways["one machine, its copy"] = lambda: here.run(compile_plan(level, copied, SECRET))
    opened: list[Pool] = [here]
    processes: list[BucketProcess] = []
    for number in buckets:
        named = replace(policy.engine, spark=SparkCluster(master, str(folder / f"layout{number}")))
        own = replace(policy, engine=named)
        seconds, _ = _timed(
            lambda own=own, number=number: spread_layout(own, copied, stamped, number)
        )
        lines.append(f"Spreading over {number} buckets: {seconds[0]:.1f} s ({seconds[1]:.1f}).")
        layout = open_layout(own, source, stamped)
        sent = compile_plan(level, layout, SECRET)
        process = _process(layout.database.parent)
        processes.append(process)
        ways[f"one machine, {number} buckets"] = lambda p=process, s=sent, n=number: _alone(p, s, n)
        if master != "none":
            pool = Pool(layout, named, engine_of(named))
            opened.append(pool)
            ways[f"executors, {number} buckets"] = lambda p=pool, s=sent: p.run(s)
    if master != "none":
        seconds, session = _timed(lambda: session_on(master))
        lines.append(f"Starting a session: {seconds[0]:.1f} s ({seconds[1]:.1f}), once a process.")
        cluster = SparkCluster(master, str(folder / "written"))
        named = replace(policy, engine=replace(policy.engine, spark=cluster))
        stamps = Stamps(policy.ledger)
        number = buckets[0]
        seconds, _ = _timed(lambda: spread_on_cluster(named, source, stamped, stamps, number))
        lines.append(
            f"{number} buckets written by executors: {seconds[0]:.1f} s ({seconds[1]:.1f})."
        )
        ways[_SQL] = lambda: _spark_sql(session, folder / "data")
    taken: dict[str, list[Taken]] = {name: [] for name in ways}
    for turn in range(turns + 1):
        for name, way in ways.items():
            if not turn and name == _SQL:  # which takes minutes, of which a warm start is none
                continue
            seconds, _ = _timed(way)
            print(f"{turn} {name}: {seconds[0]:.2f} s, {seconds[1]:.2f} of processors", flush=True)
            if turn:  # the first is to warm up
                taken[name].append(seconds)
    for pool in opened:
        pool.close()
    for process in processes:
        process.discard()
    return _page(rows, master, lines, taken)


def _page(rows: int, master: str, lines: list[str], taken: dict[str, list[Taken]]) -> str:
    wall = {name: statistics.median(each[0] for each in all_) for name, all_ in taken.items()}
    cpu = {name: statistics.median(each[1] for each in all_) for name, all_ in taken.items()}
    first = next(iter(taken))
    table = [
        f"| {name} | {wall[name]:.2f} | {cpu[name]:.2f} | {cpu[name] / cpu[first]:.2f} |"
        for name in taken
    ]
    said = (
        f"`python -m bench.spark --rows {rows}` on {os.cpu_count()} processors, {platform.system()}, "
        f"Python {platform.python_version()}, DuckDB {duckdb.__version__}, `{master}`."
    )
    return "\n".join(
        [
            f"# A cluster beside one machine, {rows:,} rows",
            "",
            said,
            "",
            f"`{SQL}`, at most {MOST} of {ROWS_PER_PERSON} rows a person: medians, one after another.",
            "",
            "| way | seconds | of processors | ratio of those |",
            "|---|---|---|---|",
            *table,
            "",
            *lines,
            "",
        ]
    )


def _written(folder: Path, rows: int) -> Policy:
    (folder / "data").mkdir()
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT hash(range) % {rows // ROWS_PER_PERSON} AS person_id, "
            "(hash(range, 1) % 20)::INTEGER AS ward, "
            "((hash(range, 2) % 100000) / 100)::DECIMAL(10, 2) AS cost "
            f"FROM range({rows})) TO '{folder}/data/visits.parquet'"
        )
    (folder / "policy.toml").write_text(POLICY)
    return load(folder / "policy.toml")


def _process(folder: Path) -> BucketProcess:
    assert (folder / MANIFEST).exists()
    return BucketProcess(OpenBuckets(folder, read_layout(folder), 4 * 10**9))


def _alone(process: BucketProcess, sent: object, buckets: int) -> None:
    deadline = time.monotonic() + 600
    parts = [
        frame
        for bucket in range(buckets)
        for frame in process.ask(ComputePart(sent, bucket, ()), deadline)  # type: ignore[arg-type]
    ]
    list(process.ask(MergeParts(sent, ()), deadline, parts))  # type: ignore[arg-type]


def _spark_sql(session: object, data: Path) -> None:
    """Bound and add up as Spark's SQL would: a window by person, ordered by a hash, then the groups."""
    session.read.parquet(str(data)).createOrReplaceTempView("visits")  # type: ignore[attr-defined]
    placed = (
        "SELECT ward, cast(round(cost * 100) AS bigint) AS cents, row_number() OVER "
        "(PARTITION BY person_id ORDER BY xxhash64(person_id, ward, cost)) AS place FROM visits"
    )
    bounded = (
        f"SELECT ward, count(*), sum(cents) FROM ({placed}) WHERE place <= {MOST} GROUP BY ward"
    )
    session.sql(bounded).collect()  # type: ignore[attr-defined]


@contextmanager
def _timing(found: list[float]) -> Iterator[None]:
    began, used = time.monotonic(), _processors()
    yield
    found += [time.monotonic() - began, _processors() - used]


def _timed(way: Callable[[], object]) -> tuple[Taken, object]:
    found: list[float] = []
    with _timing(found):
        made = way()
    return (found[0], found[1]), made


def _processors() -> float:
    """Return the seconds of processors of this process and all that it has started and lives."""
    stats: dict[int, tuple[int, int]] = {}
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                fields = (place / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            stats[int(place.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    own, waiting = {os.getpid()}, [os.getpid()]
    while waiting:
        parent = waiting.pop()
        children = [pid for pid, (above, _) in stats.items() if above == parent]
        own.update(children)
        waiting += children
    return sum(stats[pid][1] for pid in own if pid in stats) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
