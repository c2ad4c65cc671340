"""`python -m bench.utility`: how many ordinary questions have useful answers, and why others have not.

Writes bench/utility/RESULTS.md. San is measured as it is, with a profile of the data and without, and as
it was at a revision before, through its front, every run anew; OpenDP and SmartNoise in environments of
their own, which are made when missing. What others answered is kept (kept.py) and not asked again.
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

from bench.utility.ask import PROFILE_EPSILON
from bench.utility.flights import REAL
from bench.utility.kept import kept
from bench.utility.peers import NEEDED, ask_peer
from bench.utility.questions import questions
from bench.utility.reasons import REASONS
from bench.utility.score import Score, Truth, Truths, score, surely_ahead
from bench.utility.shapes import SHAPES, make_shape

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).with_name("RESULTS.md")
BEFORE = "087f001"
EPSILONS = ["0.1", "0.5", "1"]
MIDDLE = "0.5"  # asked twice as often as the others
WITHOUT = "San without a profile"
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
    times = {epsilon: runs if epsilon == MIDDLE else -(-runs // 2) for epsilon in EPSILONS}
    of_peers = min(runs, RUNS_OF_PEERS)
    jobs = {
        "San": lambda: _ask(ROOT, times, "--profile"),
        WITHOUT: lambda: _ask(ROOT, {MIDDLE: times["1"]}),
        "limits": lambda: _ask(ROOT, {WITHOUT_NOISE: 1}),
    }
    if _is_known(before):
        earlier = _checkout(before, folder / "before")
        name = f"San at {before}"
        jobs[name] = lambda: kept(name, times, "ask.py", lambda: _ask(earlier, times))
    for library in NEEDED if with_peers else ():
        jobs[library] = lambda each=library: kept(
            each,
            (of_peers, EPSILONS, NEEDED[each]),
            f"ask_{each.lower()}.py",
            lambda: ask_peer(each, flights, folder, of_peers, EPSILONS),
        )
    with ThreadPoolExecutor(2) as pool:
        told = {name: pool.submit(job) for name, job in jobs.items()}
        found = {name: _scores(truth, each.result()) for name, each in told.items()}
    without_noise = found.pop("limits")
    return "\n".join(
        [
            *_head(times, found),
            *_summary(truth, found),
            *_table(truth, found, without_noise),
            *_behind(found),
        ]
    )


def _scores(truth: Mapping[int, Truth], told: Iterable[Mapping[str, Any]] | None) -> Scores | None:
    if told is None:
        return None
    return {
        (each["question"], each["epsilon"]): score(truth[each["question"]], each["answers"])
        for each in told
    }


def _ask(code: Path, times: Mapping[str, int], *options: str) -> list[dict[str, Any]]:
    """Return what a version of San answers, so many times at each epsilon, in a process of its own."""
    asked = [f"{epsilon}={runs}" for epsilon, runs in times.items()]
    done = subprocess.run(
        [sys.executable, "-m", "bench.utility.ask", *options, *asked], cwd=ROOT, text=True,
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


def _head(times: Mapping[str, int], found: Mapping[str, Scores | None]) -> list[str]:
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    data = "the real table" if os.environ.get(REAL) else "a generated look-alike"
    missing = [name for name, scores in found.items() if scores is None]
    lines = [
        "# How useful answers are",
        "",
        f"Written by `python -m bench.utility` on {datetime.now(UTC):%Y-%m-%d}, of {_revision()}: "
        f"{len(os.sched_getaffinity(0))} cores of {model[1] if model else 'unknown'}, Python "
        f"{platform.python_version()}, DuckDB {version('duckdb')}; {times[MIDDLE]} runs of each question "
        f"at epsilon {MIDDLE}, {times['1']} at others ({min(times[MIDDLE], RUNS_OF_PEERS)} of other "
        f"libraries), delta 1e-8; flights are {data}.",
        "",
        *NOTES.format(profile=PROFILE_EPSILON).strip().splitlines(),
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
limits leave out; *coverage* is how often a 95 % interval holds that truth, averaged over questions. With
a dagger (†) the answers themselves say that limits may cut, that intervals are of the noise alone, and
how much limits keep, or that nobody knows. *Limits alone* is the error at an epsilon of 10,000 without a
profile: what the policy's limits take away, which no epsilon mends. Runs are few: what is near 10 % may
be useful in one run of this and not in the next, two or three questions of 50; `--runs 50` tells more.

*San* has a profile of each table that units have several rows in, as [profiles](../../docs/profile.md)
advise an owner to take: once, at an epsilon of {profile} for the dataset, charged to it and to no
question, and not part of the epsilons below. It knows how many rows and groups units have, and norms and
limits are chosen by it, none beyond the policy's. *San without a profile* spends nothing besides.

How much a count or a mean may lose, how far means of large units differ, and how many groups there are
where that is not known are constants of `plan/best_norm.py` and `plan/known_norms.py`; which share of a
profile is for rows, and how units lie in its bins, of `profile/`. They were set with these flights at
hand, so that numbers of *San* for flights are of the data it was tuned on; the other shapes were not
looked at for it. Rows of means that OpenDP and SmartNoise have follow from the same.

OpenDP truncates rows at random to 256 a plane, then adds Laplace noise to its frames' statistics, with
its threshold for keys that are not public. Where planes are counted, it is to one row a group and to as
many groups as the owner knows that planes are in (airlines 1, months 12, else 24). Means have 128 rows a
plane, and 64 by keys: as many as San chooses by the profile, which an owner could tell OpenDP as well. It
is asked what its frames offer of these questions. SmartNoise is asked the texts as they are, with
`max_ids` as many, at the epsilon that makes the *whole* question cost as much; its censoring of rare keys
is on where keys are not public. Neither gives intervals here. Both are asked about flights only.
"""


def _summary(truth: Mapping[int, Truth], found: Mapping[str, Scores | None]) -> list[str]:
    """Return how many questions are useful, by system and epsilon."""
    lines = ["## Useful answers", ""]
    columns = ["", "epsilon", "useful, flights (of 50)", "useful, other shapes (of 10)", "answered"]
    lines += _header([*columns, "keys not public, released of true", "coverage at 95 %"])
    for name, scores in found.items():
        for epsilon in EPSILONS if scores else ():
            here = {n: scores.get((n, epsilon)) for n in truth} if scores else {}
            if not any(here.values()):
                continue
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
                "" if mine.coverage is None else f"{100 * mine.coverage:.0f} %{' †' * mine.limited}",
            )
        )  # fmt: skip
    return [*lines, ""]


def _behind(found: Mapping[str, Scores | None]) -> list[str]:
    """Return the questions to which a peer's answers are surely nearer, and why."""
    ours = found["San"] or {}
    lines = ["## Where a peer is ahead", ""]
    for number, question in enumerate(questions()):
        mine = ours.get((number, MIDDLE))
        for name in NEEDED:
            other = (found.get(name) or {}).get((number, MIDDLE))
            if mine is not None and other is not None and surely_ahead(mine, other):
                why = REASONS.get(question.title, "the reason is not known")
                lines.append(
                    f"- *{question.title}*: {name} {_shown(other)} %, San {_shown(mine)} %. {why}"
                )
    if not any(found.get(name) for name in NEEDED):
        return [*lines, "Not measured: no other library was asked this time.", ""]
    if len(lines) == 2:
        lines.append("Nowhere.")
    told = (
        f"At epsilon {MIDDLE}, where a peer's errors are smaller than ours by rank at a level of 5 %; of "
        "as many questions as are compared, two or three are so by chance."
    )
    return [*lines[:2], told, "", *lines[2:], ""]


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
