"""`python -m bench.batch`: the errors of a dashboard's 20 questions, together and one by one.

Both have the same epsilon and delta; one by one each question has its share of the split that is best for
all. The error of a column is the root mean square of (shown - exact of the bounded data), over its groups
and all runs, divided by the root mean square of its exact values; that of the dashboard is the mean over
columns. Writes bench/batch/RESULTS.md.
"""

from __future__ import annotations

import math
import os
import platform
import re
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa

from sanql.answer import LevelCells, cells_of_questions, show_levels
from sanql.ask import read_batch
from sanql.ask.batch import plan_of_batch
from sanql.compile import compile_plan
from sanql.demo import make_hospital
from sanql.mechanisms import ExactSampler, Sampler
from sanql.noise.cells import add_noise
from sanql.plan import BatchPlan, Level, Plan
from sanql.policy import load
from sanql.question_texts import split_questions
from sanql.san import San

HERE = Path(__file__).parent
RUNS = 240
CONFIDENCE = Fraction(19, 20)
SECRET = 12345  # one key, so that the same rows count in every run
PRICES = [("0.5", "0"), ("1", "0"), ("2", "0"), ("1", "1e-8")]

Column = dict[object, float]  # a noisy column by the keys of its rows


class _NoNoise(ExactSampler):
    def sample(self, noise: object, count: int) -> np.ndarray:
        return np.zeros(count, dtype=np.int64)


def main() -> None:
    """Measure and write the results."""
    questions = split_questions((HERE / "dashboard.sql").read_text(encoding="utf-8"))
    lines = [*_head(len(questions))]
    with tempfile.TemporaryDirectory() as folder:
        policy = load(make_hospital(Path(folder)))
        with San(policy, "bo") as san:
            for epsilon, delta in PRICES:
                lines += _measured(san, questions, epsilon, delta)
    (HERE / "RESULTS.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


def _head(count: int) -> list[str]:
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    return [
        "# A dashboard's questions together",
        "",
        f"Written by `python -m bench.batch` on {datetime.now(UTC):%Y-%m-%d}: "
        f"{len(os.sched_getaffinity(0))} cores of {model[1] if model else 'unknown'}, Python "
        f"{platform.python_version()}, DuckDB {version('duckdb')}; {RUNS} runs.",
        "",
        f"{count} questions (dashboard.sql) about the demo's hospital. The error of a column is the "
        "root mean square of its noise over that of its exact (bounded) values; one by one, each "
        "question has its share of the split that is best for all. Averages are held within their "
        "bounds, so that where noise is large more of it changes little. The last column is the ratio "
        "of root mean square errors that the planner expects.",
        "",
        "| epsilon | delta | error one by one | together | ratio | least | expected |",
        "|---|---|---|---|---|---|---|",
    ]


def _measured(san: San, questions: Sequence[str], epsilon: str, delta: str) -> list[str]:
    batch = read_batch(questions, san.analyst, {"epsilon": epsilon, "delta": delta})
    plan = plan_of_batch(san.session, batch).plan
    assert plan is not None
    exact = _exact(san, plan.levels)
    apart = [_exact(san, own.levels) for own in plan.apart]
    truth = [_alone(own, cells, _NoNoise()) for own, cells in zip(plan.apart, apart, strict=True)]
    together, alone = [], []
    for _ in range(RUNS):
        together.append(_shown(plan, exact))
        alone.append([_alone(o, c, ExactSampler()) for o, c in zip(plan.apart, apart, strict=True)])
    errors = [_errors(truth, runs) for runs in (alone, together)]
    means = [float(np.mean([e for question in own for e in question])) for own in errors]
    least = min(
        float(np.mean(a)) / float(np.mean(t)) for a, t in zip(*errors, strict=True) if np.mean(t)
    )
    figures = [f"{means[0]:.4f}", f"{means[1]:.4f}", f"{means[0] / means[1]:.2f}", f"{least:.2f}"]
    figures.append(f"{math.sqrt(plan.error_apart / plan.error):.2f}")
    return [f"| {' | '.join([epsilon, delta, *figures])} |"]


def _exact(san: San, levels: Sequence[Level]) -> list[pa.Table]:
    opened = san.session.data.open()
    return [opened.workers.run(compile_plan(level, opened.source, SECRET)) for level in levels]


def _noisy(levels: Sequence[Level], exact: Sequence[pa.Table], sampler: Sampler) -> LevelCells:
    pairs = zip(levels, exact, strict=True)
    return LevelCells(tuple(add_noise(level, cells, sampler) for level, cells in pairs))


def _alone(plan: Plan, exact: Sequence[pa.Table], sampler: Sampler) -> dict[str, Column]:
    return _columns(show_levels(plan, _noisy(plan.levels, exact, sampler), CONFIDENCE).table)


def _shown(plan: BatchPlan, exact: Sequence[pa.Table]) -> list[dict[str, Column]]:
    cells = cells_of_questions(plan, _noisy(plan.levels, exact, ExactSampler()))
    pairs = zip(plan.questions, cells, strict=True)
    return [
        _columns(show_levels(q.plan, own.measured, CONFIDENCE, adjusted=own.shown).table)
        for q, own in pairs
    ]


def _columns(table: pa.Table) -> dict[str, Column]:
    keys = [
        name for name in table.column_names if pa.types.is_string(table.schema.field(name).type)
    ]
    rows = [tuple(row[key] for key in keys) for row in table.to_pylist()]
    return {
        name: {
            key: float(value)
            for key, value in zip(rows, table.column(name).to_pylist(), strict=True)
            if value is not None
        }
        for name in table.column_names
        if name not in keys
    }


def _errors(
    truth: list[dict[str, Column]], runs: list[list[dict[str, Column]]]
) -> list[list[float]]:
    """Return the relative error of every column of every question, in the rows that are there."""
    found = []
    for number, exact in enumerate(truth):
        own = []
        for name, values in exact.items():
            off = [
                run[number][name][key] - value
                for run in runs
                for key, value in values.items()
                if key in run[number][name]
            ]
            size = float(np.sqrt(np.mean(np.square(list(values.values())))))
            own.append(float(np.sqrt(np.mean(np.square(off)))) / size)
        found.append(own)
    return found


if __name__ == "__main__":
    main()
