"""`--other`, `--nonnegative` and `--rounded`, as people type them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import run
from support.hospitals import hospital_in

pytestmark = pytest.mark.slow
SQL = "SELECT district, COUNT(*) AS n FROM people GROUP BY district"


def test_a_row_of_other_groups_and_rounded_numbers_come_back_as_json(tmp_path: Path) -> None:
    policy = hospital_in(tmp_path / "demo")
    words = ["query", "-p", str(policy), "-a", "ana", "-e", "0.5", "-d", "1e-8", "--format", "json"]
    for looks in (["--other", "(other)", "--rounded", "10", "--nonnegative"], ["--other", "rest"]):
        done = run(*words, *looks, SQL)
        assert done.exit_code == 0, done.stderr
        answer = json.loads(done.stdout)
        assert answer["rows"][-1][0] == looks[1]
        assert answer["cached"] is (looks[1] == "rest")
        ends = [end for interval in answer["intervals"]["n"] for end in interval]
        numbers = [row[1] for row in answer["rows"]] + ends
        assert ("--rounded" not in looks) or all(n % 10 == 0 and n >= 0 for n in numbers)
    wrong = run(*words, "--rounded", "ten", SQL)
    assert wrong.exit_code == 2
    assert json.loads(wrong.stdout)["error"]["code"] == "rounded_invalid"
