"""`python -m bench.utility`: how many ordinary questions have useful answers, and why others have not.

Writes bench/utility/RESULTS.md. San is measured as it is and as it was at a revision before, through its
front, every run anew; OpenDP and SmartNoise in environments of their own, which are made when missing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any

from bench.utility.flights import REAL
from bench.utility.peers import NEEDED, ask_peer
from bench.utility.questions import questions
from bench.utility.score import Score, Truth, Truths, score
from bench.utility.shapes import SHAPES, make_shape

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).with_name("RESULTS.md")
BEFORE = "087f001"
EPSILONS = ["0.1", "0.5", "1"]
MIDDLE = "0.5"
RUNS_OF_PEERS = 5  # at most: theirs are slow
WITHOUT_NOISE = "10000"  # so much that what is left of an error is what limits take away

PRIVATE_KEYS = {"dest", "district", "occupation", "sku"}

Scores = dict[tuple[int, str], Score]
"""What the answers to a question at an epsilon are worth."""


def main() -> None:
    """Measure everything and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="of each question at each epsilon")
    parser.add_argument("--before", default=BEFORE, help="a revision to compare with")
    parser.add_argument("--no-peers", action="store_true", help="leave other libraries out")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        text = measure(Path(name), arguments.runs, arguments.before, not arguments.no_peers)
    RESULTS.write_text(text, encoding="utf-8")
    print(text)


def measure(folder: Path, runs: int, before: str, with_peers: bool) -> str:
    """Return the page of results."""
    for shape in SHAPES:
        make_shape(shape, folder / shape)
    truths = Truths(folder)
    truth = {number: truths.of(question) for number, question in enumerate(questions())}
    flights = folder / "flights" / "data" / "flights.parquet"
    jobs = {
        "San": lambda: _ask(ROOT, runs, EPSILONS),
        "limits": lambda: _ask(ROOT, 1, [WITHOUT_NOISE]),
    }
    if _is_known(before):
        earlier = _checkout(before, folder / "before")
        jobs[f"San at {before}"] = lambda: _ask(earlier, runs, EPSILONS)
    for library in NEEDED if with_peers else ():
        jobs[library] = lambda each=library: ask_peer(
            each, flights, folder, min(runs, RUNS_OF_PEERS), EPSILONS
        )
    with ThreadPoolExecutor(2) as pool:
        told = {name: pool.submit(job) for name, job in jobs.items()}
        found = {name: _scores(truth, each.result()) for name, each in told.items()}
    without_noise = found.pop("limits")
    return "\n".join(
        [*_head(runs, found), *_summary(truth, found), *_table(truth, found, without_noise)]
    )


def _scores(truth: Mapping[int, Truth], told: Iterable[Mapping[str, Any]] | None) -> Scores | None:
    if told is None:
        return None
    return {
        (each["question"], each["epsilon"]): score(truth[each["question"]], each["answers"])
        for each in told
    }


def _ask(code: Path, runs: int, epsilons: list[str]) -> list[dict[str, Any]]:
    """Return what a version of San answers, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.utility.ask", str(runs), *epsilons], cwd=ROOT, text=True,
        stdout=subprocess.PIPE, check=True, env=os.environ | {"PYTHONPATH": f"{code / 'src'}:{ROOT}"},
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def _is_known(revision: str) -> bool:
    """Return whether git has a commit; a copy without its history has not."""
    asked = ["git", "cat-file", "-e", f"{revision}^{{commit}}"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, check=False).returncode == 0


def _revision() -> str:
    asked = ["git", "rev-parse", "--short=7", "HEAD"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    return f"San at {done.stdout.strip()}" if done.returncode == 0 else "San without its history"


def _checkout(revision: str, target: Path) -> Path:
    packed = subprocess.run(
        ["git", "archive", revision, "src"], cwd=ROOT, check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(target, filter="data")
    return target


def _head(runs: int, found: Mapping[str, Scores | None]) -> list[str]:
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    data = "the real table" if os.environ.get(REAL) else "a generated look-alike"
    missing = [name for name, scores in found.items() if scores is None]
    lines = [
        "# How useful answers are",
        "",
        f"Written by `python -m bench.utility` on {datetime.now(UTC):%Y-%m-%d}, of {_revision()}: "
        f"{len(os.sched_getaffinity(0))} cores of {model[1] if model else 'unknown'}, Python "
        f"{platform.python_version()}, DuckDB {version('duckdb')}; {runs} runs of each question at each "
        f"epsilon ({min(runs, RUNS_OF_PEERS)} of other libraries), delta 1e-8; flights are {data}.",
        "",
        *NOTES.strip().splitlines(),
        "",
    ]
    if missing:
        lines += [f"Not measured, because it could not be installed: {', '.join(missing)}.", ""]
    return lines


NOTES = """
60 ordinary questions ([questions.sql](questions.sql)), 50 of them about 334,264 flights of 4,043
planes, with planes as privacy units and limits that an owner would write ([policies](policies)): 256
rows and 24 groups a plane. An answer's error is the median, over its cells and all runs, of |shown -
true| / |true|; a true key that does not appear has error 1, and cells that are truly 0 or NULL have
none. *Useful* is an error below 10 %; what is refused, or not offered, is not useful. The truth is that
of all rows that have a unit (2,512 cancelled flights name no plane, and are no part of it), whatever
limits leave out; *coverage* is how often a 95 % interval holds that truth, averaged over questions.
*Limits alone* is the error at an epsilon of 10,000: what limits take away, which no epsilon mends.
Runs are few: what is near 10 % may be useful in one run of this and not in the next, two or three
questions of 50; `--runs 50` tells more.

OpenDP truncates rows at random to 256 a plane (where planes are counted, to one row a group and 24
groups), then adds Laplace noise to its frames' statistics, with its threshold for keys that are not
public. It is asked what its frames offer of these questions. SmartNoise is asked the texts as they are,
with `max_ids` 256, at the epsilon that makes the *whole* question cost as much; its censoring of rare
keys is on where keys are not public. Neither gives intervals here. Both are asked about flights only.
"""


def _summary(truth: Mapping[int, Truth], found: Mapping[str, Scores | None]) -> list[str]:
    """Return how many questions are useful, by system and epsilon."""
    lines = ["## Useful answers", ""]
    columns = ["", "epsilon", "useful, flights (of 50)", "useful, other shapes (of 10)", "answered"]
    lines += _header([*columns, "keys not public, released of true", "coverage at 95 %"])
    for name, scores in found.items():
        for epsilon in EPSILONS if scores else ():
            here = {n: scores.get((n, epsilon)) for n in truth} if scores else {}
            known = {n: each for n, each in here.items() if each is not None}
            useful = [questions()[n].shape for n, each in known.items() if each.is_useful]
            answered = sum(each.refused is None for each in known.values())
            lists = [n for n in known if _has_private_keys(n) and known[n].refused is None]
            keys = sum(known[n].keys for n in lists)
            true = sum(len(truth[n].asked) for n in lists)
            covered = [each.coverage for each in known.values() if each.coverage is not None]
            others = len(useful) - useful.count("flights")
            asked_others = any(questions()[n].shape != "flights" for n in known)
            lines.append(
                _line(
                    name, epsilon, useful.count("flights"), others if asked_others else "",
                    answered, f"{keys:.0f} of {true}",
                    f"{100 * statistics.fmean(covered):.0f} %" if covered else "",
                )
            )  # fmt: skip
    return [*lines, ""]


def _table(
    truth: Mapping[int, Truth], found: Mapping[str, Scores | None], without_noise: Scores | None
) -> list[str]:
    """Return a line for each question."""
    systems = {name: scores for name, scores in found.items() if scores}
    ours = systems.pop("San")
    columns = ["question", *(f"San, {epsilon}" for epsilon in EPSILONS), "limits alone"]
    columns += [*(f"{name}, {MIDDLE}" for name in systems), f"best peer / San, {MIDDLE}"]
    columns += [f"keys, {MIDDLE}", f"coverage, {MIDDLE}"]
    lines = ["## Errors, question by question", "", "Errors in percent, at each epsilon.", ""]
    lines += _header(columns)
    for number, question in enumerate(questions()):
        mine = ours[number, MIDDLE]
        peers = {name: scores.get((number, MIDDLE)) for name, scores in systems.items()}
        alone = without_noise.get((number, WITHOUT_NOISE)) if without_noise else None
        lines.append(
            _line(
                f"{question.shape}: {question.title}",
                *(_shown(ours[number, epsilon]) for epsilon in EPSILONS),
                _shown(alone),
                *(_shown(each) for each in peers.values()),
                _ratio(mine, [each for name, each in peers.items() if name in NEEDED and each]),
                f"{mine.keys:.0f} of {len(truth[number].asked)}" if _has_private_keys(number) else "",
                "" if mine.coverage is None else f"{100 * mine.coverage:.0f} %",
            )
        )  # fmt: skip
    return [*lines, ""]


def _has_private_keys(number: int) -> bool:
    question = questions()[number]
    return question.refusal is None and bool(PRIVATE_KEYS.intersection(question.key_columns))


def _ratio(mine: Score, peers: list[Score]) -> str:
    errors = [each.error for each in peers if each.error is not None]
    if not errors or mine.error is None:
        return ""
    return f"{min(errors) / mine.error:.2f}" if mine.error else "exact"


def _shown(found: Score | None) -> str:
    if found is None:
        return ""
    if found.error is None:
        return f"refused: {found.refused}"
    percent = f"{100 * found.error:.2g}" if found.error < 1 else f"{100 * found.error:,.0f}"
    return f"**{percent}**" if found.is_useful else percent


def _header(columns: list[str]) -> list[str]:
    return [_line(*columns), "|" + "---|" * len(columns)]


def _line(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


if __name__ == "__main__":
    main()
