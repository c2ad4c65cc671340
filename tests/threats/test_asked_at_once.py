"""Identical questions asked at once are charged once, from threads and from processes alike."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sanql.account.stores.asking import asking_alone
from sanql.policy import load
from sanql.san import San
from support.policies import dataset
from support.volume import few_of

QUESTION = "SELECT city, COUNT(*) AS n FROM people GROUP BY city"
POLICY = (
    dataset("people.csv", name="once", epsilon=100, delta="1e-2")
    + """\
[engine]
deadline = 600
workers = 2
[analyst.ana]
budget = { epsilon = 100, delta = 1e-3 }
[analyst.bob]
budget = { epsilon = 100, delta = 1e-3 }
[table.people]
privacy_unit = "id"
rows_per_unit_max = 1
[table.people.column]
id = { type = "integer" }
city = { type = "text", domain = ["c0", "c1", "c2"] }
"""
)
ASK = """
import sys
from sanql.policy import load
from sanql.san import San
with San(load(sys.argv[1]), "ana") as san:
    print("open", flush=True)
    sys.stdin.readline()
    print(san.query(sys.argv[2], epsilon=1).to_json(), flush=True)
"""
HOLD = """
import sys
from pathlib import Path
from sanql.account.stores.asking import asking_alone
with asking_alone(Path(sys.argv[1]), "ana", "a" * 64, 600.0):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """Return a policy over a few people."""
    rows = "\n".join(f"{number},c{number % 3}" for number in range(300))
    (tmp_path / "people.csv").write_text(f"id,city\n{rows}\n", encoding="utf-8")
    path = tmp_path / "policy.toml"
    path.write_text(POLICY, encoding="utf-8")
    return path


def charges(policy: Path) -> list[str]:
    """Return whose charges are on record."""
    with San(load(policy), "ana") as san:
        records = list(san.ledger.records())
    return [str(record.content["analyst"]) for record in records if record.kind == "reserve"]


@pytest.mark.slow
def test_two_hundred_repeats_from_threads_are_one_charge(policy: Path) -> None:
    with San(load(policy), "ana") as san, ThreadPoolExecutor(32) as threads:
        asked = [threads.submit(san.query, QUESTION, epsilon=1) for _ in range(200)]
        answers = [each.result() for each in asked]
    assert charges(policy) == ["ana"]
    assert {str(answer.rows) for answer in answers} == {str(answers[0].rows)}
    assert sum(not answer.cached for answer in answers) == 1


@pytest.mark.slow
@pytest.mark.parametrize("processes", few_of([2, 6], 1))
def test_repeats_from_processes_are_one_charge(policy: Path, processes: int) -> None:
    command = [sys.executable, "-c", ASK, str(policy), QUESTION]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    for each in started:
        assert each.stdout is not None and each.stdout.readline() == "open\n"
    for each in started:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    answers = [each.communicate()[0] for each in started]
    assert [each.returncode for each in started] == [0] * processes
    assert charges(policy) == ["ana"]
    assert sum('"cached": false' in answer for answer in answers) == 1


@pytest.mark.slow
def test_several_sans_and_analysts_pay_once_each(policy: Path) -> None:
    """What another analyst has paid for is not theirs, asked at once or later."""
    with (
        San(load(policy), "ana") as one,
        San(load(policy), "ana") as two,
        San(load(policy), "bob") as bob,
        ThreadPoolExecutor(9) as threads,
    ):
        asked = [threads.submit(san.query, QUESTION, epsilon=1) for san in [one, two, bob] * 3]
        answers = [each.result() for each in asked]
    assert sorted(charges(policy)) == ["ana", "bob"]
    assert sum(not answer.cached for answer in answers) == 2


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Return a process that asks, and never ends."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / "ledger")]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None and started.stdout.readline() == "held\n"
    yield started
    started.kill()
    started.communicate()


@pytest.mark.slow
def test_a_killed_asker_holds_up_nobody(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    entered = threading.Event()

    def ask() -> None:
        with asking_alone(tmp_path / "ledger", "ana", "a" * 64, 600.0):
            entered.set()

    asking = threading.Thread(target=ask)
    asking.start()
    assert not entered.wait(0.3), "two asked the same at once"
    os.kill(holder.pid, signal.SIGKILL)
    assert entered.wait(60.0)
    asking.join()


@pytest.mark.slow
def test_an_asker_that_never_ends_is_not_waited_for_for_ever(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    started = time.monotonic()
    with asking_alone(tmp_path / "ledger", "ana", "a" * 64, 0.2):
        assert time.monotonic() - started >= 0.2
    with asking_alone(tmp_path / "ledger", "ana", "b" * 64, 600.0):
        pass  # another question is nobody's business
    with asking_alone(tmp_path / "ledger", "bob", "a" * 64, 600.0):
        pass
    assert holder.poll() is None


def test_where_there_is_no_lock_nobody_waits(tmp_path: Path) -> None:
    question = tmp_path / "no folder" / "ledger", "ana", "a" * 64, 600.0
    with asking_alone(*question), asking_alone(*question):
        pass
