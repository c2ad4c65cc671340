"""Whoever answers the eight questions: San twice, plain DuckDB, SQL by hand, and libraries as processes.

Each has a name and answers a question by its number; what comes back is what it took. Libraries of
others run in environments of their own (`bench/utility/peers.py` makes them), read their questions line
by line and measure themselves, so that starting them and importing is not counted.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from compileall import compile_dir
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import duckdb

import sanql
from bench.data import CATEGORIES
from bench.queries import POLICY, QUESTIONS
from bench.utility.peers import environment

HERE = Path(__file__).parent
QUERIES = list(QUESTIONS.values())
LIBRARIES = ("OpenDP", "SmartNoise")


@dataclass(frozen=True)
class Took:
    """What an answer took: seconds of processors, of everything that worked on it, and by the clock."""

    cpu: float
    wall: float


class Contestant(Protocol):
    """One of those that are compared."""

    name: str

    def ask(self, number: int, turn: int) -> Took | str:
        """Return what the answer to a question took in a turn, or why there is none."""

    def close(self) -> None:
        """End what it has started."""


def processor_of(process: int) -> float:
    """Return the processor seconds of a process, of all its threads, to the nanosecond.

    >>> import os
    >>> 0 < processor_of(os.getpid()) <= time.process_time() + 1
    True
    """
    return time.clock_gettime(((~process) << 3) | 2)  # as clock_getcpuclockid makes it on Linux


class Plain:
    """DuckDB itself over the same file: as many threads as San's worker, no noise, no account."""

    def __init__(self, name: str, file: Path, statements: list[str]) -> None:
        self.name, self._statements = name, statements
        self._connection = duckdb.connect(str(file), read_only=True)

    def ask(self, number: int, turn: int) -> Took | str:
        """Run the statement to its last row."""
        return _timed(
            time.process_time,
            lambda: self._connection.sql(self._statements[number]).to_arrow_table(),
        )

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


class SanItself:
    """San over the table as it is, or over its prepared copy; each turn is another analyst's."""

    def __init__(
        self, name: str, folder: Path, turns: int, *, prepared: bool, more: str = ""
    ) -> None:
        """Open the table in a folder; its policy may say `more` of it."""
        self.name = name
        self.preparing = 0.0  # processor seconds
        categories = ", ".join(f'"category {i:02}"' for i in range(CATEGORIES))
        analysts = "\n".join(f"[analyst.a{i}]" for i in range(turns))
        policy = POLICY.format(categories=categories, analysts=analysts)
        policy = policy.replace("[table.events.column]", f"{more}[table.events.column]")
        (folder / "policy.toml").write_text(policy, encoding="utf-8")
        if prepared:
            compile_dir(Path(sanql.__file__).parent, quiet=1)  # not what preparing takes
            command = [sys.executable, "-m", "sanql", "prepare", str(folder / "policy.toml")]
            before = _of_children()
            subprocess.run(command, check=True, capture_output=True)
            self.preparing = _of_children() - before
        self._san = sanql.open(folder / "policy.toml", analyst="a0")
        self._san.session.data.open().workers.warm()

    def ask(self, number: int, turn: int) -> Took | str:
        """Ask at epsilon 1: durable charge, exact noise, intervals and certificate are part of it."""
        self._san.analyst = f"a{turn}"
        question = QUERIES[number][0]
        return _timed(self._processors, lambda: self._san.query(question, epsilon=1, delta="1e-6"))

    def _processors(self) -> float:
        workers = self._san.session.data.open().workers.pids()
        return time.process_time() + sum(map(processor_of, workers))

    def close(self) -> None:
        """Close the account and its workers."""
        self._san.close()


class Library:
    """A library of others, in a process of its own that answers as long as it is asked."""

    def __init__(self, name: str, python: Path, given: dict[str, Any]) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [python, HERE / f"ask_{name.lower()}.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._said(given)

    def ask(self, number: int, turn: int) -> Took | str:
        """Have a question answered there."""
        said = self._said({"question": number})
        return str(said["refused"]) if "refused" in said else Took(said["cpu"], said["wall"])

    def _said(self, asked: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} has ended with {self._process.wait()}")
        said: dict[str, Any] = json.loads(line)
        return said

    def close(self) -> None:
        """Let the process end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def libraries(folder: Path, rows: int) -> list[Library]:
    """Return the libraries that can be had, each with the table."""
    found = []
    for name in LIBRARIES:
        python = environment(name)
        if python is not None:
            given = {"data": str(folder / "events.parquet"), "rows": rows}
            given |= {"categories": [f"category {i:02}" for i in range(CATEGORIES)]}
            given |= {"questions": [question for question, _ in QUERIES]}
            found.append(Library(name, python, given))
    return found


def _timed(processors: Callable[[], float], act: Callable[[], object]) -> Took:
    started, used = time.perf_counter(), processors()
    act()
    return Took(processors() - used, time.perf_counter() - started)


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
