"""A hundred million rows with the default memory: `python -m bench.large`, written to bench/LARGE.md.

The eight questions are asked of 10 million rows of a million people and of ten times as many of either,
the table as it is and prepared; `--more 1000000000` asks two of them of a billion, made of copies of the
largest with other people, and keeps what the page says of the others. A worker's peak is
what the system counts for its process (VmHWM), reset before each question. The deadline of a question
is set longer than the default of a minute, memory is not.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import sanql
from bench.__main__ import _machine
from bench.data import CATEGORIES, write_copies
from bench.peers.contestants import processor_of
from bench.queries import POLICY, QUESTIONS

RESULTS = Path(__file__).with_name("LARGE.md")
PEOPLE_SHARE = 10  # rows a person, on average
AT_MOST = 100_000_000  # rows that are drawn; more are copies of them
OF_MORE = ("Q1 COUNT(*)", "Q5 by city (500 unknown keys)")
MORE = """
Of a billion rows, ten copies of those of 100 million with people of their own, two questions were asked
of the prepared table, by `python -m bench.large --rows --more 1000000000` at """
ENGINE = "[engine]\ndeadline = 3600\n"


@dataclass(frozen=True)
class Asked:
    """What a question took: processors and clock in seconds, the worker's peak in GB, its rows."""

    cpu: float
    wall: float
    peak: float
    rows: int


@dataclass(frozen=True)
class Table:
    """What was found of one table."""

    rows: int
    size: float
    preparing: Asked | None
    original: dict[str, Asked | str]
    prepared: dict[str, Asked | str]


def main() -> None:
    """Measure and write down, after each table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000_000, AT_MOST])
    parser.add_argument("--more", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=None)
    arguments = parser.parse_args()
    found: list[Table] = []
    for rows in arguments.rows:
        found.append(_measured(rows, list(QUESTIONS), arguments.folder))
        _write(found)
    if arguments.more:
        more = _measured(arguments.more, OF_MORE, arguments.folder, original=False)
        page = RESULTS.read_text(encoding="utf-8").partition(MORE)[0]
        RESULTS.write_text(f"{page}{MORE}{_where()}.\n\n{_section(more)}\n", encoding="utf-8")


def _measured(
    rows: int, questions: Sequence[str], where: Path | None, *, original: bool = True
) -> Table:
    with tempfile.TemporaryDirectory(dir=where) as made:
        folder = Path(made)
        started = time.perf_counter()
        copies = max(1, rows // AT_MOST)
        write_copies(folder / "events.duckdb", rows // copies, copies)
        print(f"{rows:,} rows written in {time.perf_counter() - started:.0f} s", flush=True)
        size = (folder / "events.duckdb").stat().st_size / 1e9
        categories = ", ".join(f'"category {i:02}"' for i in range(CATEGORIES))
        text = POLICY.format(categories=categories, analysts="[analyst.a]\n[analyst.b]")
        (folder / "policy.toml").write_text(text + ENGINE, encoding="utf-8")
        as_it_is = _ask_all(folder, questions, "a") if original else {}
        preparing = _prepared(folder)
        print("prepared", preparing, flush=True)
        return Table(rows, size, preparing, as_it_is, _ask_all(folder, questions, "b"))


def _prepared(folder: Path) -> Asked | None:
    """Prepare the table by the command, watched from outside; None where it cannot be."""
    command = [sys.executable, "-m", "sanql", "prepare", str(folder / "policy.toml")]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    most = [0.0]

    def watch() -> None:
        while done.poll() is None:
            most[0] = max(most[0], *(_peak(each) for each in _family(done.pid)), 0.0)
            time.sleep(0.2)

    watching = threading.Thread(target=watch)
    watching.start()
    said, _ = done.communicate()
    watching.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        print(said, flush=True)
        return None
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Asked(cpu, time.perf_counter() - started, most[0], 0)


def _family(process: int) -> list[int]:
    """Return a process and those that it has started, and they."""
    found = [process]
    for each in found:
        for children in Path(f"/proc/{each}/task").glob("*/children"):
            try:
                found += map(int, children.read_text(encoding="ascii").split())
            except OSError:
                continue
    return found


def _ask_all(folder: Path, questions: Sequence[str], analyst: str) -> dict[str, Asked | str]:
    found: dict[str, Asked | str] = {}
    with sanql.open(folder / "policy.toml", analyst=analyst) as san:
        workers = san.session.data.open().workers
        workers.warm()
        for name in questions:
            for each in workers.pids():
                Path(f"/proc/{each}/clear_refs").write_text("5", encoding="ascii")
            wall, cpu = time.perf_counter(), _processors(san)
            try:
                answer = san.query(QUESTIONS[name][0], epsilon=1, delta="1e-6")
                found[name] = Asked(
                    _processors(san) - cpu,
                    time.perf_counter() - wall,
                    max(map(_peak, workers.pids())),
                    len(answer.rows),
                )
            except sanql.SanqlError as error:
                found[name] = str(error)
            print(name, found[name], flush=True)
    return found


def _processors(san: sanql.San) -> float:
    workers = san.session.data.open().workers.pids()
    return time.process_time() + sum(map(processor_of, workers))


def _peak(process: int) -> float:
    """Return the most memory that a process has held since that was reset, in GB."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e9


def _write(found: Sequence[Table]) -> None:
    parts = [
        f"""# Large tables with the default memory

Written by `python -m bench.large` at {_where()}; other work ran on them, so processor seconds
say more than the clock. Ten rows a person on average, the heaviest with thousands; limits as in
`bench/queries.py`, `memory` left at its default of 4 GB. Peaks are those of the process that has the data
open, in GB of 10^9 bytes; San's own process holds none of the rows. Each question was asked once."""
    ]
    parts += [_section(table) for table in found]
    if len(found) > 1:
        parts.append(_growth(found[0], found[-1]))
    RESULTS.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _where() -> str:
    """Return the commit, the day and the machine."""
    machine = _machine().partition("`make bench`")[2].partition(". Times")[0]
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return f"{commit}{machine}"


def _section(table: Table) -> str:
    people = table.rows // PEOPLE_SHARE
    lines = [f"## {table.rows:,} rows, {people:,} people: {table.size:.1f} GB", ""]
    if table.preparing is not None:
        took = table.preparing
        lines += [
            f"Preparing: {took.cpu:.0f} s of processors, {took.wall:.0f} s, peak {took.peak:.2f} GB.",
            "",
        ]
    both = {"as it is": table.original, "prepared": table.prepared}
    shown = {name: asked for name, asked in both.items() if asked}
    lines.append("| |" + "".join(f" {n}: CPU s | clock s | peak GB |" for n in shown) + " rows |")
    lines.append("|---" * (2 + 3 * len(shown)) + "|")
    for question in table.prepared:
        cells = [cell for asked in shown.values() for cell in _cells(asked[question])]
        last = table.prepared[question]
        cells.append(str(last.rows) if isinstance(last, Asked) else "–")
        lines.append(f"| {question} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cells(asked: Asked | str) -> list[str]:
    if isinstance(asked, str):
        return ["unavailable", "–", "–"]
    return [f"{asked.cpu:.2f}", f"{asked.wall:.2f}", f"{asked.peak:.2f}"]


def _growth(small: Table, large: Table) -> str:
    lines = [
        f"## Growth of processor seconds with {large.rows / small.rows:.0f} times the rows",
        "",
        "| | as it is | prepared |",
        "|---|---|---|",
    ]
    for question in small.prepared:
        cells = []
        for before, after in ((small.original, large.original), (small.prepared, large.prepared)):
            one, other = before[question], after[question]
            both = isinstance(one, Asked) and isinstance(other, Asked)
            cells.append(f"{other.cpu / one.cpu:.1f}" if both else "–")
        lines.append(f"| {question} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
