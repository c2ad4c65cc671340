"""`python -m bench.server.processor [REVISION]`: the processor time a question takes, here and before.

How many questions a second there are hangs on who else uses the machine; the processor time that one
takes does so less. Servers of two revisions are loaded in turns, each with the same questions and both on
the same processor, and the ratio of each turn is what counts.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench.server.__main__ import ROOT, Served, add_people, checkout
from bench.server.load import Load, run_load
from bench.server.town import ANALYSTS, make_town, questions

_MS = 1e-6  # of a nanosecond


@dataclass
class _Measured:
    """A server that runs, and the milliseconds a question of each turn: San's, workers', the load's."""

    name: str
    server: Served
    tokens: list[str]
    turns: list[tuple[float, float, float]] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)

    def measure(self, count: int, turn: int) -> None:
        """Load it once, on one processor or the other."""
        pid = self.server.process.pid
        here = sorted(os.sched_getaffinity(0))
        for thread in Path(f"/proc/{pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), {here[turn // 2 % len(here)]})
        workers, port = _children(pid), int(self.server.url.rpartition(":")[2])
        asked = [questions(n, count, turn) for n in range(ANALYSTS)]
        before = _spent(pid), sum(map(_spent, workers)), time.process_time_ns()
        self.loads.append(run_load(port, self.tokens, asked))
        after = _spent(pid), sum(map(_spent, workers)), time.process_time_ns()
        each = [(b - a) * _MS / (count * ANALYSTS) for a, b in zip(before, after, strict=True)]
        self.turns.append((each[0], each[1], each[2]))


def main() -> None:
    """Print what both take, and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("revision", nargs="?", default="2443fa7")
    parser.add_argument("--questions", type=int, default=3, help="of each of 32 analysts, a turn")
    parser.add_argument("--turns", type=int, default=32)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder
        earlier = checkout(arguments.revision, Path(folder) / "before")
        measured: list[_Measured] = []
        try:
            for name, code in ((arguments.revision, earlier), ("here", ROOT)):
                policy = make_town(Path(folder) / name)
                tokens = add_people(policy, code)
                measured.append(_Measured(name, Served(policy, code), tokens))
                port = int(measured[-1].server.url.rpartition(":")[2])
                run_load(port, tokens, [questions(n, 4, 900) for n in range(ANALYSTS)])
            for turn in range(arguments.turns):
                for each in measured if turn % 2 else measured[::-1]:
                    each.measure(arguments.questions, turn)
        finally:
            for each in measured:
                each.server.stop()
    for each in measured:
        _show(each, measured[0])


def _show(one: _Measured, other: _Measured) -> None:
    san, workers, load = (median(column) for column in zip(*one.turns, strict=True))
    ratios = sorted(a[0] / b[0] for a, b in zip(one.turns, other.turns, strict=True))
    low, high = ratios[len(ratios) // 4], ratios[3 * len(ratios) // 4]
    print(
        f"{one.name}: San {san:.2f} ms a question, workers {workers:.2f}, load {load:.2f}; San against"
        f" {other.name}: {median(ratios):.3f} (half of the turns {low:.3f} to {high:.3f});"
        f" {median(each.per_second for each in one.loads):.0f} questions a second"
    )


def _spent(pid: int) -> int:
    """Return the processor time of all threads of a process, in nanoseconds."""
    spent = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        spent += int((thread / "schedstat").read_text(encoding="ascii").split()[0])
    return spent


def _children(pid: int) -> list[int]:
    found = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (thread / "children").read_text("ascii").split()]
    return found


if __name__ == "__main__":
    main()
