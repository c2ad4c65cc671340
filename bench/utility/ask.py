"""A process that asks San every question: `python -m bench.utility.ask RUNS EPSILON…`.

It prints one line of JSON for each question and epsilon: the answers of all runs. Whichever version of
San is on the path is asked, through its front alone.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

from bench.utility.questions import questions
from bench.utility.shapes import SHAPES, make_shape

DELTA = "1e-8"


def main() -> None:
    """Ask everything and print what comes back."""
    runs, epsilons = int(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_DATA_HOME"] = name
        for shape in SHAPES:
            ask_shape(make_shape(shape, Path(name) / shape), shape, runs, epsilons)


def ask_shape(policy: Path, shape: str, runs: int, epsilons: list[str]) -> None:
    """Ask every question of one shape, each run anew: limits and noise are drawn for each."""
    import sanql

    with sanql.open(policy) as san:
        for number, question in enumerate(questions()):
            for epsilon in epsilons if question.shape == shape else ():
                answers = [_answer(san, question.sql, epsilon) for _ in range(runs)]
                told = {"question": number, "epsilon": epsilon, "answers": answers}
                print(json.dumps(told), flush=True)


def _answer(san: Any, sql: str, epsilon: str) -> dict[str, Any]:
    from sanql.errors import SanqlError

    try:
        answer = san.query(sql, epsilon=epsilon, delta=DELTA, fresh=True)
    except SanqlError as refusal:
        return {"refused": refusal.code}
    return {
        "rows": [[_plain(value) for value in row] for row in answer.rows],
        "intervals": [answer.intervals.get(column) for column in answer.columns],
    }


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


if __name__ == "__main__":
    main()
