"""The demo hospital on Spark, by the commands that an owner types.

docs/spark_demo.md is their transcript; `SANQL_SPARK=write` writes it anew.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sanql.demo.hospital import make_hospital

pytestmark = [pytest.mark.spark, pytest.mark.slow]

TRANSCRIPT = Path(__file__).parents[2] / "docs" / "spark_demo.md"
LINE = 'engine = { kind = "spark", master = "local[2]", layout = "layout", deadline = 300 }\n'
HEAD = f"""# The demo hospital on Spark

Written by `make spark`: the demo's policy with one line before all others,

```toml
{LINE}```

and what its commands say then, with fresh noise.

"""
COMMANDS = (
    ["prepare", "policy.toml", "--buckets", "8"],
    [
        "query", "SELECT kind, COUNT(*), AVG(cost) FROM visits GROUP BY kind",
        "--analyst", "ana", "--epsilon", "0.5",
    ],
    [
        "query", "SELECT kind, COUNT(*), AVG(cost) FROM visits GROUP BY kind",
        "--analyst", "ana", "--epsilon", "0.5",
    ],
    [
        "query",
        "SELECT district, COUNT(DISTINCT person_id) FROM people GROUP BY district",
        "--analyst", "bo", "--epsilon", "0.5", "--delta", "1e-9",
    ],
    ["ledger", "verify"],
)  # fmt: skip


def test_the_demo_runs_on_it_with_one_line_of_policy_changed(tmp_path: Path) -> None:
    policy = make_hospital(tmp_path / "demo")
    policy.write_text(LINE + policy.read_text())
    said = [HEAD, "```\n"]
    for command in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-m", "sanql", *command],
            cwd=policy.parent, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        shown = " ".join(f"'{word}'" if " " in word else word for word in command)
        said.append(f"$ sanql {shown}\n{done.stdout}\n")
    text = "".join(said).rstrip("\n") + "\n```\n"
    assert "checkup" in text and "emergency" in text and "Old Town" in text
    if os.environ.get("SANQL_SPARK") == "write":
        TRANSCRIPT.write_text(text)
