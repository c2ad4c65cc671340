"""How long commands take from nothing: a process that begins, imports, asks and ends.

    python -m bench --command

writes this part of bench/RESULTS.md anew and leaves the rest. The data are the demo's hospital, with its
copy prepared; each question is asked at an epsilon of its own, so none is a repeat unless it says so.
Processor time is that of the command and of the process over the rows together.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from sanql.demo import make_hospital

TURNS = 11
_SQL = "SELECT sex, AVG(age) AS age FROM people GROUP BY sex"
_OPEN_AND_ASK = """
import sys, sanql
with sanql.open(sys.argv[1], analyst="bo") as san:
    san.query(sys.argv[2], epsilon=sys.argv[3])
"""


def measure() -> list[dict[str, Any]]:
    """Return the rows of the table, one a command; they are run in turns."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder  # the registry of accounts
        commands = _commands(str(make_hospital(Path(folder) / "demo")))
        for command in commands.values():
            _run(command())  # compiles what is imported, and makes the copy
        taken = [
            {name: _run(command()) for name, command in commands.items()} for _ in range(TURNS)
        ]
    rows: list[dict[str, Any]] = []
    for name in commands:
        seconds, of_processors = zip(*(turn[name] for turn in taken), strict=True)
        rows.append({"what": name} | _shown("ms", seconds) | _shown("CPU ms", of_processors))
    return rows


def _shown(unit: str, seconds: Sequence[float]) -> dict[str, float]:
    return {
        f"{unit}, best of {TURNS}": 1000 * min(seconds),
        f"{unit}, middle": 1000 * statistics.median(seconds),
    }


def _commands(policy: str) -> dict[str, Callable[[], list[str]]]:
    epsilons = (f"0.00{number}" for number in count(100_001))
    python = [sys.executable, "-c"]
    sanql = [sys.executable, "-m", "sanql"]
    asked = ["--policy", policy, "--analyst", "bo", _SQL, "--epsilon"]
    return {
        "sanql --help": lambda: [*sanql, "--help"],
        "import sanql": lambda: [*python, "import sanql"],
        "import sanql.san": lambda: [*python, "import sanql.san"],
        "sanql explain": lambda: [*sanql, "explain", *asked, next(epsilons)],
        "sanql query": lambda: [*sanql, "query", *asked, next(epsilons)],
        "sanql query, a repeat": lambda: [*sanql, "query", *asked, "0.002"],
        "sanql.open and a question": lambda: [*python, _OPEN_AND_ASK, policy, _SQL, next(epsilons)],
    }


def _run(command: list[str]) -> tuple[float, float]:
    """Return how many seconds a command took: on the clock, and of processors."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before, began = _processor_seconds(), time.perf_counter()
    subprocess.run(command, capture_output=True, check=True, env=environment)
    return time.perf_counter() - began, _processor_seconds() - before


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
