"""Copies whose making is killed at any line, and entries that are not what was written.

Whatever the moment: no half copy is read, the next preparation ends, and nothing is left over.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from sanql.catalog import PreparedSource
from sanql.policy import Policy, load
from sanql.san import San
from sanql.sources.cache import Cache
from sources.test_prepared_copies import flip, hospital, prepared, visits
from support.samplers import SilentSampler
from support.volume import few_of

pytestmark = pytest.mark.slow

ROWS, WITHOUT_UNIT = 5_000, 715
# Kills itself at the n-th line of what makes and publishes copies; with none it says how many there are.
KILLED = """
import os, sys
from pathlib import Path
from sanql.engines import preparation
from sanql.kernel import clustering, copy_files, steps
from sanql.sources import cache
from sanql.engines import open_engine, prepare
from sanql.policy import load

files = {module.__file__ for module in (preparation, clustering, copy_files, steps, cache)}
policy, last, lines = load(Path(sys.argv[1])), int(sys.argv[2]), 0

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
prepare(policy, engine=open_engine("in_process"), copied=True)
sys.settrace(None)
print(lines)
"""


def killed_at(policy: Policy, line: int) -> subprocess.CompletedProcess[str]:
    """Return how a preparation ended that kills itself at a line, if it gets there."""
    command = [sys.executable, "-c", KILLED, str(policy.path), str(line)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def is_whole(policy: Policy) -> PreparedSource:
    """Return the copy, made anew where it must be; nothing lies beside it."""
    source = prepared(policy)
    assert visits(policy, source) == [(ROWS - WITHOUT_UNIT,)]
    left = {path.name for path in source.database.parent.iterdir()}
    assert left == {"lock", f"{source.fingerprint}.json", source.database.name}
    return source


@pytest.mark.parametrize("seed", few_of(range(12), 1))
def test_a_preparation_killed_at_any_line_leaves_no_half_copy(seed: int, tmp_path: Path) -> None:
    policy, drawn = hospital(tmp_path), random.Random(seed)
    folder = policy.ledger.with_suffix(".cache")
    counted = killed_at(policy, 0)
    assert counted.returncode == 0, counted.stderr
    lines = int(counted.stdout)
    assert lines > 150
    # the last lines publish the entry: there is most to go wrong
    moments = [drawn.randint(1, lines), *(drawn.randint(lines - 60, lines) for _ in range(4))]
    for moment in moments:
        shutil.rmtree(folder)
        assert killed_at(policy, moment).returncode == -signal.SIGKILL
        # read where it is, or a copy: never half of one
        assert visits(policy, prepared(policy, copied=False)) == [(ROWS - WITHOUT_UNIT,)]
        is_whole(policy)


@pytest.mark.parametrize("seed", few_of(range(6), 1))
def test_a_copy_that_is_made_anew_may_be_killed_too(seed: int, tmp_path: Path) -> None:
    """The entry of the copy that it takes the place of vouches for no other."""
    policy, drawn = hospital(tmp_path), random.Random(seed)
    for moment in (drawn.randint(100, 250) for _ in range(3)):
        flip(is_whole(policy).database)
        assert killed_at(policy, moment).returncode in (0, -signal.SIGKILL)
        is_whole(policy)


def test_a_copy_that_no_entry_vouches_for_goes_when_the_next_is_made(tmp_path: Path) -> None:
    """Whoever made it was killed before its entry was written, and the data are others by now."""
    policy = hospital(tmp_path, rows=900)
    before = prepared(policy)
    before.database.with_suffix(".json").unlink()
    before.database.with_name(f"{before.database.name}.wal").write_bytes(b"half")
    (tmp_path / "visits.duckdb").unlink()
    shutil.rmtree(tmp_path / "data")
    assert is_whole(hospital(tmp_path)).fingerprint != before.fingerprint


def test_an_entry_with_any_byte_changed_is_none(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    source = prepared(policy)
    cache, note = Cache(policy.ledger), source.database.with_suffix(".json")
    whole = note.read_bytes()
    assert cache.schema(source.fingerprint) is not None
    for place in range(len(whole)):
        note.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert cache.schema(source.fingerprint) is None, place
        if place % 7 == 0:
            note.write_bytes(whole[:place])
            assert cache.schema(source.fingerprint) is None, place
    is_whole(policy)


def test_a_copy_under_the_name_of_another_is_made_anew(tmp_path: Path) -> None:
    """Of older data, with the entry that vouches for it: whole, and still not what is asked for."""
    policy = hospital(tmp_path, rows=900)
    stale = prepared(policy)
    kept = tmp_path / "kept"
    shutil.copytree(stale.database.parent, kept)
    (tmp_path / "visits.duckdb").unlink()
    shutil.rmtree(tmp_path / "data")
    policy = hospital(tmp_path)
    current = prepared(policy)
    assert current.fingerprint != stale.fingerprint
    for suffix in ("duckdb", "json"):
        target = current.database.with_suffix(f".{suffix}")
        shutil.copyfile(kept / f"{stale.fingerprint}.{suffix}", target)
    assert visits(policy, prepared(policy)) == [(ROWS - WITHOUT_UNIT,)]
    # and with the database alone
    shutil.copyfile(kept / f"{stale.fingerprint}.duckdb", current.database)
    assert visits(policy, prepared(policy)) == [(ROWS - WITHOUT_UNIT,)]


def test_a_worker_killed_while_it_copies_leaves_no_copy(tmp_path: Path) -> None:
    policy, drawn = hospital(tmp_path, rows=400_000), random.Random(9)
    command = [sys.executable, "-m", "sanql", "prepare", str(policy.path)]
    for _ in range(3):
        preparing = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        worker = first_child(preparing)
        if worker is not None:
            threading.Event().wait(drawn.uniform(0, 0.4))
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        _, said = preparing.communicate()
        assert b"Traceback" not in said
        assert visits(policy, prepared(policy, copied=False)) == [(400_000 - 57_143,)]
    source = prepared(policy)
    assert visits(policy, source) == [(400_000 - 57_143,)]
    assert not [*source.database.parent.glob("*building*")]


def first_child(process: subprocess.Popen[bytes]) -> int | None:
    """Return the first process that another begins; None where it ends without."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None:
        with suppress(OSError):
            found = children.read_text().split()
            if found:
                return int(found[0])
    return None


def test_workers_killed_while_they_read_a_copy_cost_no_bit_and_no_epsilon(tmp_path: Path) -> None:
    """One kill for each question, at a random moment; units are limited, and taken in parts."""
    policy, instants = load(hospital(tmp_path, rows=60_000).path), random.Random(3)
    prepared(policy)
    sql = "SELECT SUM(cost) AS n FROM visits"
    with San(policy, sampler=SilentSampler()) as san:
        exact = san.query(sql, epsilon="0.01").value
        spent = san.balances()[0].spent_upper.epsilon
        for number in range(2, 8):
            workers = san.session.data.open().workers
            workers.warm()
            (pid, *_) = workers.pids()
            later = threading.Timer(instants.uniform(0, 0.06), kill, (pid,))
            later.start()
            assert san.query(sql, epsilon=f"0.0{number}", fresh=True).value == exact
            later.join()
        kinds = [record.kind for record in san.ledger.records()]
        assert (kinds.count("spend"), kinds.count("void")) == (7, 0)
        assert float(san.balances()[0].spent_upper.epsilon - spent) == pytest.approx(0.27)


def kill(pid: int) -> None:
    """Kill a worker, if it is still there."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
