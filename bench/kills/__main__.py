"""`python -m bench.kills`: 2,000 processes that ask San killed, and what came of it in bench/KILLS.md."""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from bench.kills.campaign import lane, report

REPORT = Path(__file__).parent.parent / "KILLS.md"


def main() -> None:
    """Run the campaign and write bench/KILLS.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lanes", type=int, default=2, help="accounts at a time")
    asked = parser.parse_args()
    started = time.monotonic()
    share, more = divmod(asked.kills, asked.lanes)
    orders = [(share + (lane < more), asked.seed + lane) for lane in range(asked.lanes)]
    done: Counter[str] = Counter()
    found: Counter[str] = Counter()
    with ProcessPoolExecutor(asked.lanes, multiprocessing.get_context("spawn")) as lanes:
        for killed, had in lanes.map(lane, orders):
            done, found = done + killed, found + had
    options = f"--kills {asked.kills} --seed {asked.seed} --lanes {asked.lanes}"
    written = report(done, found, options, time.monotonic() - started)
    REPORT.write_text(written, encoding="utf-8")
    print(REPORT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
