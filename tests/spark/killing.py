"""A campaign of kills: executors, the processes in them, and San itself, at random moments.

`python -m spark.killing --kills 100 --summary spark/KILLS.md`, in tests/. Another process asks one
question after another, for so much that noise would move a count once in 10^20 answers, and says when it
asks and what it is answered. Afterwards every answer must have been the true one, and the ledger must
have a charge for each answer, and for no more than was asked. Each round of kills has data and a ledger
of its own; with `--record FILE` another run goes on from the rounds that are there.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

import duckdb

import sanql
from sanql.ask import Session
from sanql.errors import SanqlError
from spark.campaign import Record
from spark.conftest import _below, _command

EPSILON = 50
PEOPLE = 3_000
BUCKETS = 6
ASKED = "SELECT town, COUNT(*) FROM people GROUP BY town"
KILLS_A_ROUND = 20
KINDS = {
    "an executor": b"CoarseGrainedExecutorBackend",
    "a kernel in an executor": b"sanql.kernel.buckets.worker",
    "a Python worker of Spark's": b"pyspark.daemon",
}
DRIVER = "San, and with it the driver"
POLICY = """
[dataset]
name = "town"
source = "town.duckdb"
neighbours = "add-remove"
budget = {{ epsilon = 1000000 }}
accounting = "pure"
failures_max = 1000000
failures_total_max = 1000000
[engine]
deadline = 60
memory = "512MB"
kind = "spark"
master = "{master}"
layout = "layout"
[table.people]
privacy_unit = "person_id"
rows_per_unit_max = 1
column.town = {{ type = "text", domain = ["here", "there"] }}
"""


def make(folder: Path, master: str) -> Path:
    """Return the policy of a town whose layout is written."""
    with duckdb.connect(str(folder / "town.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT range AS person_id, "
            f"CASE WHEN range % 3 = 0 THEN 'here' ELSE 'there' END AS town FROM range({PEOPLE})"
        )
    path = folder / "policy.toml"
    path.write_text(POLICY.format(master=master))
    with Session(path) as session:
        session.data.prepare(BUCKETS)
    return path


def ask(path: Path) -> None:
    """Ask until killed; say so before each question, and after it what came of it."""
    with sanql.open(path) as san:
        while True:
            print("asked", flush=True)
            try:
                rows = dict(san.query(ASKED, epsilon=EPSILON, fresh=True).rows)
                said = "right" if rows == {"here": 1000, "there": 2000} else f"WRONG {rows}"
            except SanqlError as fault:
                said = fault.code
            print(said, flush=True)


class Asking:
    """The process that asks, and what it has said."""

    def __init__(self, path: Path, said: Counter[str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "spark.killing", "--ask", str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._said = said
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.answers = 0

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self._said[line.strip()] += 1
            self.answers += line.strip() == "right"

    def pid(self) -> int:
        return self._process.pid

    def end(self) -> None:
        """Kill it, and wait until all that it said was read."""
        self._process.kill()
        self._process.wait()
        self._reader.join(10)


def campaign(
    kills: int, master: str, seed: str, until: float
) -> tuple[Counter[str], Counter[str], list[str]]:
    """Return what was killed in a round, what was said, and what is wrong."""
    chance = random.Random(seed)
    killed: Counter[str] = Counter()
    said: Counter[str] = Counter()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        path = make(Path(folder), master)
        asking = Asking(path, said)
        while killed.total() < kills and time.monotonic() < until:
            before = asking.answers
            while asking.answers <= before and time.monotonic() < until:
                time.sleep(0.05)  # each kill is under a question after one was answered
            time.sleep(chance.uniform(0, 1.0))
            kind = DRIVER if chance.random() < 0.1 else chance.choice(list(KINDS))
            if kind == DRIVER:
                asking.end()
                asking = Asking(path, said)
            elif not _kill_one(asking.pid(), KINDS[kind], chance):
                continue
            killed[kind] += 1
        asking.end()
        time.sleep(1)
        wrong += [f"an answer was {words}" for words in said if words.startswith("WRONG")]
        with Session(path) as session:
            balance = max(b.spent_upper.epsilon for b in session.ledger.balances())
        charges = Fraction(balance) / EPSILON
        if not said["right"] <= charges <= said["asked"]:
            wrong.append(
                f"{charges} charges for {said['asked']} questions, {said['right']} answers"
            )
        said["charges"] = int(charges)
    return killed, said, wrong


def _kill_one(parent: int, command: bytes, chance: random.Random) -> bool:
    """Kill a process below another with such a command, if there is one."""
    found = [pid for pid in _below(parent) if command in _command(pid)]
    if not found:
        return False
    try:
        os.kill(chance.choice(found), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def main() -> None:
    """Run the campaign, and write down what came of it."""
    read = argparse.ArgumentParser()
    read.add_argument("--ask", type=Path)
    read.add_argument("--kills", type=int, default=100)
    read.add_argument("--master", default="local-cluster[2,1,1024]")
    read.add_argument("--seed", type=int, default=18)
    read.add_argument("--seconds", type=float, default=3600)
    read.add_argument("--record", type=Path, help="goes on from what is there")
    read.add_argument("--summary", type=Path)
    given = read.parse_args()
    if given.ask is not None:
        ask(given.ask)
        return
    record, until = Record(given.record), time.monotonic() + given.seconds
    while (left := given.kills - _added(record, "killed").total()) > 0 and time.monotonic() < until:
        part = f"round {given.seed} {len(record.parts)}"
        came = campaign(min(left, KILLS_A_ROUND), given.master, part, until)
        record.note(part, dict(zip(("killed", "said", "wrong"), came, strict=True)))
        print(part, *came, flush=True)
    text, wrong = summary(record, given.master)
    print(text)
    if given.summary is not None:
        given.summary.write_text(text, encoding="utf-8")
    sys.exit(wrong)


def _added(record: Record, name: str) -> Counter[str]:
    return sum((Counter(part[name]) for part in record.parts.values()), Counter())


def summary(record: Record, master: str) -> tuple[str, bool]:
    """Return the page of a campaign, and whether anything is wrong."""
    killed, said = _added(record, "killed"), _added(record, "said")
    wrong = [words for part in record.parts.values() for words in part["wrong"]]
    lines = [
        f"# {killed.total()} kills under questions on Spark",
        "",
        "Written by `python -m spark.killing` in tests/: one question after another through San and "
        f"`{master}`, while something is killed with SIGKILL at a random moment.",
        "",
        "| killed | times |",
        "|---|---|",
        *(f"| {kind} | {times} |" for kind, times in sorted(killed.items())),
        "",
        f"Of {said['asked']} questions {said['right']} were answered, every one of them with the true "
        f"counts; {said['unavailable']} were `unavailable` and {said['engine_not_ready']} not begun, the "
        f"others died with San. There are {said['charges']} charges in the ledgers of "
        f"{len(record.parts)} rounds: one for each answer, and none that nobody asked for."
        if not wrong
        else "WRONG: " + "; ".join(wrong),
        "",
    ]
    return "\n".join(lines), bool(wrong)


if __name__ == "__main__":
    main()
