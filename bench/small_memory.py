"""More data than memory: `python -m bench.small_memory --gigabytes 10`, written to bench/SMALL_MEMORY.md.

Twelve CSV files are prepared with `memory = "1GB"` and killed on the way (SIGKILL), prepared again, asked
two questions, and refreshed after one file has changed. Peaks are VmHWM of the largest process.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import duckdb

import sanql
from bench.__main__ import _machine
from bench.large import _family, _peak

RESULTS = Path(__file__).with_name("SMALL_MEMORY.md")
FILES = 12
TEXT = 3_900  # letters of a row
POLICY = """\
[dataset]
name = "notes"
source = "data"
neighbours = "add-remove"
budget = { epsilon = 10 }
accounting = "pure"
[engine]
memory = "1GB"
deadline = 600
[table.notes]
privacy_unit = "who"
rows_per_unit_max = 40
column.note = { type = "text" }
column.cost = { type = "integer", bounds = [0, 100] }
"""


def main() -> None:
    """Measure and write down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=10)
    parser.add_argument("--folder", type=Path, default=None)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as made:
        folder = Path(made)
        (folder / "data" / "notes").mkdir(parents=True)
        for part in range(FILES):
            _write_part(folder, part, part, arguments.gigabytes)
        size = sum(path.stat().st_size for path in (folder / "data").rglob("*.csv")) / 1e9
        (folder / "policy.toml").write_text(POLICY)
        lines = [_prepared(folder, "prepared, and killed after five files", killed_after=5)]
        lines.append(_prepared(folder, "prepared again"))
        lines.append(_asked(folder, "SELECT COUNT(*) FROM notes"))
        lines.append(_asked(folder, "SELECT SUM(cost) FROM notes WHERE note LIKE '%ab%'"))
        _write_part(folder, 3, 99, arguments.gigabytes)
        subprocess.run(
            [sys.executable, "-m", "sanql", "refresh", str(folder / "policy.toml")],
            check=True,
            capture_output=True,
        )
        lines.append(_prepared(folder, "prepared with one file of twelve changed"))
    machine = _machine().partition("`make bench`")[2].partition(". Times")[0]
    head = f'# {size:.1f} GB with `memory = "1GB"`\n\n'
    head += f"Written by `python -m bench.small_memory`{machine}.\n"
    head += "Peaks are those of the largest process, in GB of 10^9 bytes.\n\n"
    table = "| | processors s | clock s | peak GB |\n|---|---|---|---|\n"
    RESULTS.write_text(head + table + "\n".join(lines) + "\n", encoding="utf-8")


def _write_part(folder: Path, part: int, seed: int, gigabytes: float) -> None:
    rows = int(gigabytes * 1e9 / FILES / (TEXT + 12))
    note = f"left(repeat(md5(({seed} * 1000000 + i)::VARCHAR), {TEXT // 32 + 1}), {TEXT})"
    select = (
        f"SELECT hash(i) % 100000 AS who, {note} AS note, i % 90 AS cost FROM range({rows}) n(i)"
    )
    with duckdb.connect() as made:
        made.execute(f"COPY ({select}) TO '{folder}/data/notes/part{part:02}.csv'")


def _prepared(folder: Path, words: str, killed_after: int | None = None) -> str:
    command = [sys.executable, "-m", "sanql", "prepare", str(folder / "policy.toml")]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    running = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    most, done = [0.0], threading.Event()
    watching = threading.Thread(target=_watch, args=(running.pid, most, done))
    watching.start()
    assert running.stderr is not None
    for said, _ in enumerate(running.stderr, 1):
        if said == killed_after:
            os.kill(running.pid, signal.SIGKILL)
    ended = running.wait()
    done.set()
    watching.join()
    if (ended != 0) != (killed_after is not None):
        raise RuntimeError(f"{words}: ended with {ended}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    cpu = f"{spent:.0f}" if killed_after is None else ""  # whose worker is nobody's child then
    return f"| {words} | {cpu} | {time.perf_counter() - started:.0f} | {most[0]:.2f} |"


def _watch(pid: int, most: list[float], done: threading.Event) -> None:
    while not done.wait(0.2):
        most[0] = max(most[0], *(_peak(each) for each in _family(pid)), 0.0)


def _asked(folder: Path, sql: str) -> str:
    with sanql.open(folder / "policy.toml") as san:
        san.session.data.open().workers.warm()
        (worker,) = san.session.data.open().workers.pids()
        started = time.perf_counter()
        san.query(sql, epsilon=1)
        seconds = time.perf_counter() - started
        return f"| `{sql}` | | {seconds:.1f} | {_peak(worker):.2f} |"


if __name__ == "__main__":
    main()
