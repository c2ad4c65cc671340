"""A refresh that is killed at any line, of each kind of copy: what is read next is all of the present.

Each time a copy of the data before is there. The oracle is the same data prepared once, by nobody who was
killed. Preparing costs nothing, however often it is begun.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import duckdb
import pytest

from engines.test_encrypted_copies import KEY, answers, clinic
from engines.test_spread import rows_of
from sanql.kernel.buckets import MANIFEST, read_layout
from sanql.kernel.buckets.layout import CheckedFiles, files_of
from sanql.policy import Policy, load
from sanql.san import San
from support.commands import run
from support.on_buckets import on_spark, spread
from support.volume import few_rows_of

pytestmark = pytest.mark.slow

BUCKETS, KILLS = 3, 2
KINDS = ("as it is", "encrypted", "spread")
# Kills itself at the n-th line of what makes and publishes copies; with none it says how many there are.
KILLED = """
import os, sys
from pathlib import Path
from sanql.ask import Session
from sanql.engines import open_engine, preparation, spread
from sanql.engines.encrypted import copy
from sanql.kernel import clustering, copy_files, steps
from sanql.policy import load
from sanql.sources import cache
from support.on_buckets import on_spark, spread as spread_copy

files = {m.__file__ for m in (preparation, spread, copy, clustering, copy_files, steps, cache)}
policy, last, lines, kind = load(Path(sys.argv[1])), int(sys.argv[2]), 0, sys.argv[3]

def trace(frame, event, _):
    global lines
    if frame.f_code.co_filename not in files:
        return None
    if event == "line":
        lines += 1
        if lines == last:
            os.kill(os.getpid(), 9)
    return trace

sys.settrace(trace)
if kind == "spread":
    spread_copy(on_spark(policy, policy.path.parent / "layout"), int(sys.argv[4]))
elif kind == "encrypted":
    Session(policy).data.prepare()
else:
    preparation.prepare(policy, engine=open_engine("in_process"))
sys.settrace(None)
print(lines)
"""


def killed_at(policy: Path, line: int, kind: str) -> subprocess.CompletedProcess[str]:
    """Return how a preparation ended that kills itself at a line, if it gets there."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", KILLED, str(policy), str(line), kind, str(BUCKETS)]
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environment)


def change(folder: Path, seed: int) -> None:
    """Exchange a file of visits, and one of people, for others."""
    for table, column in (("visits", "cost"), ("people", "name")):
        path = folder / "data" / table / "part0.parquet"
        with duckdb.connect() as made:
            rows = f"SELECT * FROM '{path}' WHERE hash({column}, {seed}) % 3 > 0"
            made.execute(f"COPY ({rows}) TO '{folder}/draft' (FORMAT parquet)")
        (folder / "draft").replace(path)


def layout_of(policy: Policy) -> Mapping[str, list[str]]:
    """Return the rows of each table of the layout there is, whose files are all as they were written."""
    folder = policy.path.parent / "layout"
    layout, checked = read_layout(folder), CheckedFiles(folder)
    for bucket in range(layout.buckets):
        for file in files_of(layout, bucket):
            checked.check(file)
    return {
        table.name: sorted(str(row) for rows in rows_of(folder, table.name) for row in rows)
        for table in layout.tables
    }


def found(policy: Path, kind: str) -> object:
    """Return what is read of the data as they are, from a copy that is made where there is none."""
    if kind != "spread":
        return answers(policy)
    spread(on_spark(load(policy), policy.parent / "layout"), BUCKETS)
    return layout_of(load(policy))


@pytest.mark.parametrize(
    ("kind", "seed"),
    few_rows_of([(kind, seed) for seed in range(12) for kind in KINDS], 2),
)
def test_a_refresh_killed_at_any_line_leaves_nothing_that_is_read(
    kind: str, seed: int, tmp_path: Path
) -> None:
    drawn, more = random.Random(f"{kind} {seed}"), KEY if kind == "encrypted" else ""
    (tmp_path / "once").mkdir()
    policy, once = clinic(tmp_path, 900, more), clinic(tmp_path / "once", 900, more)
    before = found(policy, kind)
    for folder in (tmp_path, tmp_path / "once"):
        change(folder, seed)
    counted = killed_at(once, 0, kind)
    assert counted.returncode == 0, counted.stderr
    lines, expected = int(counted.stdout), found(once, kind)
    assert expected != before
    assert run("refresh", policy).exit_code == 0
    with San(load(policy)) as san:
        spent = san.balances()[0].spent_upper
    for _ in range(KILLS):
        ended = killed_at(policy, drawn.randint(1, lines), kind)
        assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
        if kind == "spread" and (tmp_path / "layout" / MANIFEST).exists():
            assert layout_of(load(policy)) in (before, expected)
    with San(load(policy)) as san:
        assert san.balances()[0].spent_upper == spent
    assert found(policy, kind) == expected
    left = [
        path.name
        for path in tmp_path.rglob("*")
        if "making" in path.name or "building" in path.name
    ]
    assert not left
