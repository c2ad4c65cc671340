"""How long the theory takes: CPU seconds of the three promises, each against its limit.

    python -m bench.theory            prints the table and writes bench/THEORY.md
    python -m bench.theory --tests    also times the whole suite under tests/theory (minutes)

CPU seconds are those of the process and its children, so that a busy machine disturbs them little.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sanql.theory import large
from sanql.theory.channels import randomised_response

OUTCOMES = 1_000_000
RESULTS = Path(__file__).with_name("THEORY.md")
ROOT = Path(__file__).parents[1]


def measure(*, tests: bool) -> list[dict[str, object]]:
    """Return one row a promise: the CPU seconds, the limit, and whether it is kept."""
    promises: list[tuple[str, float, Callable[[], float]]] = [
        (f"tight epsilon on {OUTCOMES:,} outcomes", 1.0, _tight_epsilon),
        ("`sanql theory check` on a 64 × 64 channel", 2.0, _check),
    ]
    if tests:
        promises.append(("tests/theory, on two cores", 240.0, _tests))
    rows: list[dict[str, object]] = []
    for promise, limit, run in promises:
        seconds = run()
        kept = "yes" if seconds <= limit else "NO"
        rows.append(
            {"promise": promise, "CPU seconds": round(seconds, 2), "limit": limit, "kept": kept}
        )
    return rows


def _tight_epsilon() -> float:
    import numpy as np

    rng = np.random.default_rng(7)
    p, q = rng.random(OUTCOMES), rng.random(OUTCOMES)
    p, q = p / p.sum(), q / q.sum()
    spent = []
    for _ in range(5):
        start = time.process_time()
        large.tight_epsilon_upper(p, q, 1e-6)
        spent.append(time.process_time() - start)
    return max(spent)


def _check() -> float:
    channel = randomised_response(6, odds=3)
    rows = {
        str(x).strip("()"): [str(mass) for mass in channel.masses(x)] for x in channel.databases
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "channel.json"
        path.write_text(json.dumps({"databases": rows}), encoding="utf-8")
        script = "from sanql.cli.theory import theory; theory()"
        return max(_child([sys.executable, "-c", script, "check", str(path)]) for _ in range(3))


def _tests() -> float:
    pytest = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile"]
    return _child([*pytest, "tests/theory"])


def _child(command: list[str]) -> float:
    before = os.times()
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return (after.children_user - before.children_user) + (
        after.children_system - before.children_system
    )


def main() -> None:
    """Measure, print and write down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", action="store_true")
    rows = measure(tests=parser.parse_args().tests)
    lines = [
        "# How long the theory takes",
        "",
        "`python -m bench.theory --tests`, CPU seconds of one process; the whole suite may take two",
        "minutes on two cores, so 240 CPU seconds.",
        "",
        "| promise | CPU seconds | limit | kept |",
        "|---|---|---|---|",
        *("| " + " | ".join(str(value) for value in row.values()) + " |" for row in rows),
    ]
    text = "\n".join(lines) + "\n"
    RESULTS.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
