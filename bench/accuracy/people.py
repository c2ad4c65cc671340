"""`python -m bench.accuracy.people`: counts by public and by private keys, San beside OpenDP, by person.

Writes bench/accuracy/PEOPLE.md. OpenDP's frames want another Polars than ours, so it answers from an
environment of its own (bench/utility/peers.py makes it).
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import sanql
from bench.data import CATEGORIES, events
from bench.utility.peers import environment
from sanql.answer.estimates import value_of
from sanql.ask import plan_request, read_request
from sanql.compile.statement import compile_plan
from sanql.mechanisms import ExactSampler
from sanql.noise.cells import add_noise
from sanql.parse import QuestionText

RESULTS = Path(__file__).with_name("PEOPLE.md")
ROWS, PEOPLE = 200_000, 20_000
EPSILON, DELTA = 1.0, 1e-7
PROFILE = 1.0
COLUMNS = ["San", "San with a profile", "OpenDP"]
ANEW = 10  # runs with the same exact cells: those of groups that are dropped are drawn anew
POLICY = """
[dataset]
name = "events"
source = "events.duckdb"
neighbours = "add-remove"
budget = {{ epsilon = 1000000, delta = 0.1 }}
accounting = "renyi"
[analyst.a]
[table.events]
privacy_unit = "user_id"
{limits}
[table.events.column]
category = {{ type = "text", domain = [{categories}] }}
city = {{ type = "text"{cities} }}
"""
NOTES = """\
{rows:,} rows of {people:,} people: half have five or fewer, the largest {largest}. There are
{categories} categories and {cities} cities, of which the smaller half have {small:.1%} of the rows.
Errors are of rows, against the counts of all rows: they have what limits take away as well as noise.
Limits are the same for both, and so are epsilon, delta and the unit. *Known* limits are those of an
owner who knows the data. The *profile* is measured once, at epsilon {profile:g} of the dataset's
account, and serves every question.

Counts below zero are taken for zero in both, as OpenDP does it. San gives an interval with every
number, which costs nothing here: those of counts are quantiles of the noise."""
CATEGORY = """\
By rows in all both have the same noise, of one scale, and what differs by less than 5 % is chance."""
KEYS = """\
*error* is of the keys that appear, each against its own count; *all keys* is of all {cities} cities,
where one that does not appear is as wrong as its count. There San is ahead in every line but the last,
where no key is hidden.

OpenDP is ahead in *error* where a person has 120 rows or more, and shows some ten keys where San shows
{ours:.0f}. It selects keys by the very count that it shows: all of epsilon is in that number, and a key
needs thousands of rows to be told from the noise of one person's {largest}. San measures two numbers,
weights that select (a person in g cities has 1/√g in each) and rows; each has half of the budget, and
the two need noise that is not made for L1. The last line is what selecting costs: where cities are
public San's error is {public:.0f} in place of {private:.0f}, and OpenDP's is {other:.0f}. A profile
does not tell how many cities there are, so that norms by it suit a few large ones."""


@dataclass(frozen=True)
class Limits:
    """What may count of a person: rows of each of so many groups, or in all of them together."""

    said: str
    rows: int
    groups: int
    in_all: bool = False

    @property
    def policy(self) -> str:
        """The same as lines of a policy."""
        if self.in_all:
            return f"rows_per_unit_max = {self.rows}\ngroups_per_unit_max = {self.groups}"
        return f"rows_per_group_max = {self.rows}\ngroups_per_unit_max = {self.groups}"


@dataclass(frozen=True)
class Asked:
    """Counts by one key: whether its values are public, and the counts of all rows."""

    key: str
    truth: dict[str, int]
    public: bool


@dataclass(frozen=True)
class Found:
    """Mean absolute errors of keys that appear and of all keys, and how many appear."""

    error: float
    all_keys: float
    keys: float


class Bench:
    """The table, and both libraries to ask about it."""

    def __init__(self, folder: Path, runs: int) -> None:
        self._folder, self._runs = folder, runs
        table = events(np.random.default_rng(20261119), ROWS, PEOPLE)
        with duckdb.connect(str(folder / "events.duckdb")) as connection:
            connection.register("generated", table)
            connection.execute("CREATE TABLE events AS FROM generated")
            connection.execute(f"COPY events TO '{folder / 'events.parquet'}'")
            self.counts = {
                key: dict(
                    connection.execute(f"SELECT {key}, COUNT(*) FROM events GROUP BY 1").fetchall()
                )
                for key in ("category", "city")
            }
            self.largest, *most = connection.execute(
                "SELECT MAX(n), MAX(a), MAX(b) FROM (SELECT COUNT(*) AS n, "
                "COUNT(DISTINCT category) AS a, COUNT(DISTINCT city) AS b FROM events GROUP BY user_id)"
            ).fetchall()[0]
            self.groups = dict(zip(("category", "city"), most, strict=True))

    def san(self, asked: Asked, limits: Limits, *, profile: bool) -> Found:
        """Return what San's answers are off by."""
        listed = ", ".join(f'"{city}"' for city in self.counts["city"])
        with tempfile.TemporaryDirectory(dir=self._folder) as made:
            shutil.copy(self._folder / "events.duckdb", made)  # an account is of its file
            text = POLICY.format(
                limits=limits.policy,
                categories=", ".join(f'"{name}"' for name in self.counts["category"]),
                cities=f", domain = [{listed}]" if asked.public else "",
            )
            (Path(made) / "policy.toml").write_text(text, encoding="utf-8")
            san = sanql.open(Path(made) / "policy.toml", analyst="a")
            if profile:
                san.profile("events", epsilon=PROFILE, columns=[asked.key])
            found = _errors(list(self._of_san(san, asked)), asked.truth)
            san.close()
        return found

    def _of_san(self, san: sanql.San, asked: Asked) -> Iterator[dict[str, float]]:
        sql = f"SELECT {asked.key}, COUNT(*) FROM events GROUP BY {asked.key}"
        options = {"epsilon": EPSILON, "delta": f"{DELTA:g}"}
        (level,) = plan_request(
            san.session, read_request(QuestionText(sql), san.analyst, options)
        ).levels
        data = san.session.data.open()
        for run in range(self._runs):
            if run % ANEW == 0:
                exact = data.workers.run(compile_plan(level, data.source, ExactSampler().secret()))
            noisy = add_noise(level, exact, ExactSampler())
            keys = noisy.table.column("k0").to_pylist()
            counts = np.maximum(value_of(level, noisy, 0), 0)  # as OpenDP does it
            yield dict(zip(keys, map(float, counts), strict=True))

    def opendp(self, python: Path, jobs: list[tuple[Asked, Limits]]) -> list[Found]:
        """Return what OpenDP's answers are off by, job by job."""
        told: dict[str, Any] = {
            "data": str(self._folder / "events.parquet"),
            "epsilon": EPSILON,
            "delta": DELTA,
            "runs": self._runs,
            "jobs": [
                {
                    "key": asked.key,
                    "public": sorted(asked.truth) if asked.public else None,
                    "rows": limits.rows,
                    "groups": None if limits.in_all else limits.groups,
                }
                for asked, limits in jobs
            ],
        }
        script = Path(__file__).with_name("ask_opendp.py")
        done = subprocess.run(
            [python, script], input=json.dumps(told), text=True, capture_output=True, check=True
        )
        answers = map(json.loads, done.stdout.splitlines())
        return [_errors(runs, asked.truth) for runs, (asked, _) in zip(answers, jobs, strict=True)]


def _errors(runs: list[dict[str, float]], truth: dict[str, int]) -> Found:
    shown = [abs(count - truth.get(key, 0)) for run in runs for key, count in run.items()]
    hidden = sum(sum(truth.values()) - sum(truth.get(key, 0) for key in run) for run in runs)
    keys = len(shown) / len(runs)
    return Found(
        float(np.mean(shown)) if shown else float("nan"),
        (sum(shown) + hidden) / (len(truth) * len(runs)),
        keys,
    )


def main() -> None:
    """Measure everything and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    runs = parser.parse_args().runs
    python = environment("OpenDP")
    if python is None:
        raise SystemExit("OpenDP cannot be installed here")
    with tempfile.TemporaryDirectory() as made:
        bench = Bench(Path(made), runs)
        RESULTS.write_text(_page(bench, python, runs), encoding="utf-8")
    print(RESULTS.read_text(encoding="utf-8"))


def _page(bench: Bench, python: Path, runs: int) -> str:
    category = Asked("category", bench.counts["category"], public=True)
    city = Asked("city", bench.counts["city"], public=False)
    listed = Asked("city", bench.counts["city"], public=True)
    jobs = [(asked, each) for asked in (category, city) for each in _limits(bench, asked)]
    jobs.append((listed, _limits(bench, listed)[-1]))
    counts, keys = [], []
    found: dict[tuple[str, bool], tuple[Found, Found]] = {}  # the last of each: by known limits
    for (asked, limits), other in zip(jobs, bench.opendp(python, jobs), strict=True):
        ours = [bench.san(asked, limits, profile=profile) for profile in (False, True)]
        print(asked.key, limits.said, *ours, other, flush=True)
        found[asked.key, asked.public] = ours[0], other
        if asked is category:
            shown = [f"{each.error:,.0f}" for each in (*ours, other)]
            counts.append(
                [limits.said, *shown, *(f"{other.error / each.error:.2f}" for each in ours)]
            )
        else:
            said = f"{limits.said}; cities public" if asked.public else limits.said
            keys.append([said, *map(_of_keys, (*ours, other))])
    sizes = sorted(bench.counts["city"].values())
    facts = {
        "rows": ROWS, "people": PEOPLE, "largest": bench.largest, "categories": CATEGORIES,
        "cities": len(sizes), "small": sum(sizes[: len(sizes) // 2]) / ROWS, "profile": PROFILE,
    }  # fmt: skip
    return "\n".join(
        [
            "# Counts by person",
            "",
            f"Written by `python -m bench.accuracy.people` on {datetime.now(UTC):%Y-%m-%d}: epsilon "
            f"{EPSILON:g}, delta {DELTA:g}, {runs} runs, OpenDP 0.16.0.",
            "",
            NOTES.format(**facts),
            "",
            f"## COUNT(*) by {CATEGORIES} public categories: error of a count",
            "",
            *_table(["rows of a person", *COLUMNS, "OpenDP / San", "OpenDP / profile"], counts),
            "",
            CATEGORY,
            "",
            "## COUNT(*) by city, selected privately: error · keys · error of all keys",
            "",
            *_table(["rows of a person", *COLUMNS], keys),
            "",
            KEYS.format(
                **facts,
                ours=found["city", False][0].keys,
                private=found["city", False][0].error,
                public=found["city", True][0].error,
                other=found["city", True][1].error,
            ),
            "",
        ]
    )


def _limits(bench: Bench, asked: Asked) -> list[Limits]:
    most = bench.groups[asked.key]
    return [
        Limits("10 in each of 4 groups", 10, 4),
        Limits(f"10 in each of {most} groups", 10, most),
        *(Limits(f"{rows} in all", rows, min(rows, most), in_all=True) for rows in (40, 80, 120)),
        Limits(f"{bench.largest} in all (known)", bench.largest, most, in_all=True),
    ]


def _of_keys(found: Found) -> str:
    return f"{found.error:,.0f} · {found.keys:,.1f} · {found.all_keys:,.0f}"


def _table(header: list[str], lines: list[list[str]]) -> list[str]:
    return [
        "| " + " | ".join(header) + " |",
        "|" + "---|" * len(header),
        *("| " + " | ".join(each) + " |" for each in lines),
    ]


if __name__ == "__main__":
    main()
