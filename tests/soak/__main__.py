"""`make soak`: both oracles over many thousands of generated questions, and what they came to.

    python -m soak [--questions 20000] [--minutes 60] [--seed 0] [--processes 2] [--summary FILE]

A world is drawn for each seed and asked a hundred questions; a violation names its seed, so that
`python -m soak --seed N --questions 100 --processes 1` shows it again. The exit code is then 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import count
from multiprocessing import get_context
from pathlib import Path

from questions.adding_up import violations
from questions.asking import open_shape
from soak.campaign import Found, campaign
from soak.summary import summary

QUESTIONS_PER_WORLD = 100
HERE = Path(__file__).parent


def main() -> int:
    """Run the oracles; return the exit code."""
    asked = _arguments()
    begun = time.time()
    until = begun + 60 * asked.minutes if asked.minutes else None
    found, seeds = Found(), 0
    for each in _campaigns(asked.seed, asked.questions, asked.processes, until):
        found.add(each)
        seeds += 1
        for violation in each.violations:
            print(f"VIOLATION {violation}\n", flush=True)
        spent = round(time.time() - begun)
        print(
            f"{found.accepted.total():,} questions, {found.comparisons:,} comparisons, "
            f"{len(found.violations)} violations, {spent:,} s",
            flush=True,
        )
    for each in _fixtures():
        found.add(each)
        print("".join(f"VIOLATION {violation}\n" for violation in each.violations), flush=True)
    seconds = time.time() - begun
    text = summary(found, range(asked.seed, asked.seed + seeds), seconds, asked.processes)
    if asked.summary is not None:
        asked.summary.write_text(text, encoding="utf-8")
    print(text)
    return 1 if found.violations else 0


def _campaigns(seed: int, questions: int, processes: int, until: float | None) -> Iterator[Found]:
    """Yield what each world came to, until there were enough questions or there is no time."""
    seeds = count(seed)
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        started = 0
        running: set[Future[Found]] = set()
        while True:
            late = until is not None and time.time() >= until
            while len(running) < processes and started < questions and not late:
                size = min(QUESTIONS_PER_WORLD, questions - started)
                running.add(pool.submit(campaign, next(seeds), size, until=until))
                started += size
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for each in done:
                yield each.result()


def _fixtures() -> Iterator[Found]:
    """Yield what all the questions of the fixtures came to, shape by shape."""
    for name in ("hospital", "retail", "census"):
        with tempfile.TemporaryDirectory() as data, tempfile.TemporaryDirectory() as parts:
            shape = open_shape(name, Path(data))
            examined, wrong = violations(name, shape, Path(parts), every=1)
            shape.close()
        found = Found(violations=wrong, comparisons=4 * examined)
        found.accepted[f"tests/questions/{name}"] = examined
        yield found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m soak")
    parser.add_argument("--questions", type=int, default=20_000)
    parser.add_argument("--minutes", type=float, default=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--summary", type=Path, default=None)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
