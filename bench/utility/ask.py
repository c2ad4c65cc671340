"""A process that asks San every question: `python -m bench.utility.ask EPSILON=RUNS…`.

It prints one line of JSON for each question and epsilon: the answers of all runs. Whichever version of
San is on the path is asked, through its front alone. With `--profile` profiles are taken before, as an
owner would who has read docs/profile.md: once, at a price of their own.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from bench.utility.questions import questions
from bench.utility.shapes import SHAPES, make_shape

DELTA = "1e-8"
PROFILE_EPSILON = "2"
"""What the profile of one dataset costs, once; no answer is charged for it."""
PROFILED = {
    "flights": (
        "flights", "carrier", "origin", "dest", "month", "day", "hour",
        "dep_delay", "arr_delay", "air_time", "distance",
    ),
    "hospital": ("visits", "kind", "day", "cost"),
    "retail": ("orders", "channel", "ordered"),
}  # fmt: skip
"""The table of a shape that a profile is of, and the columns that it looks at."""


def main() -> None:
    """Ask everything and print what comes back."""
    with_profile = "--profile" in sys.argv
    asked = [each.split("=") for each in sys.argv[1:] if each != "--profile"]
    runs = {epsilon: int(times) for epsilon, times in asked}
    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_DATA_HOME"] = name
        for shape in SHAPES:
            policy = make_shape(shape, Path(name) / shape)
            ask_shape(policy, shape, runs, with_profile)


def ask_shape(policy: Path, shape: str, runs: Mapping[str, int], with_profile: bool) -> None:
    """Ask every question of one shape, each run anew: limits and noise are drawn for each."""
    import sanql

    with sanql.open(policy) as san:
        if with_profile and shape in PROFILED:
            table, *columns = PROFILED[shape]
            san.profile(table, epsilon=PROFILE_EPSILON, columns=columns)
        for number, question in enumerate(questions()):
            for epsilon, times in runs.items() if question.shape == shape else ():
                answers = [_answer(san, question.sql, epsilon) for _ in range(times)]
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
        "limited": bool(getattr(answer.certificate, "limits_in_words", "")),
    }


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


if __name__ == "__main__":
    main()
