"""An interrupted question leaves no reservation open, wherever the interrupt comes."""

from __future__ import annotations

import fcntl
import gc
import linecache
import signal
import subprocess
import sys
import termios
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import duckdb
import numpy as np
import pytest

import sanql.account
import sanql.ask.measure
import sanql.ask.shown_answer
from sanql.audit.ledger import verify
from sanql.mechanisms import Noise
from sanql.policy import load
from sanql.policy.model import Policy
from sanql.san import San
from support.policies import dataset

POLICY = (
    dataset("people.duckdb", name="interrupted", epsilon=10000, delta="1e-2")
    + """\
failures_max = 1  # interrupts do not count
[engine]
deadline = 600
[table.people]
privacy_unit = "id"
rows_per_unit_max = 1
[table.people.column]
note = { type = "text" }
number = { type = "integer" }
"""
)
SLOW = "SELECT COUNT(*) FROM people WHERE " + " OR ".join(
    f"REGEXP_MATCHES(note, '(a|b)*1.*(c|d)*2.*(e|f)*3.*4.*5.*6.*{number}z')" for number in range(60)
)
FILES = {
    str(Path(sanql.account.__file__).parent / name)
    for name in ("ledger/ledger.py", "stores/sqlite.py")
} | {sanql.ask.measure.__file__, sanql.ask.shown_answer.__file__}


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """Return a policy over so many people that a question about all their notes takes a while."""
    folder = tmp_path_factory.mktemp("interrupted")
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT range AS id, range AS number, md5(range::VARCHAR) AS note "
            "FROM range(2000000)"
        )
    return load(folder / "policy.toml")


def settled(policy: Policy) -> Counter[str]:
    """Return how often reservations ended how, in a ledger that is sound; none is the engine's fault."""
    with San(policy) as san:
        records = list(san.ledger.records())
        assert all(balance.reserved == 0 for balance in san.budget())
    kinds = Counter(
        record.kind for record in records if record.kind in {"reserve", "spend", "void"}
    )
    voids = [record.content for record in records if record.kind == "void"]
    assert {void["reason"] for void in voids} <= {"interrupted"}
    assert verify(policy.ledger).sound
    return kinds


class Lines:
    """A tracer of the pipeline's and the ledger's lines; at one of them it raises what Ctrl-C raises."""

    def __init__(self, at: int = 0) -> None:
        self.at = at
        self.count = 0
        self.first_visits: dict[tuple[str, int], int] = {}

    def __call__(self, frame: FrameType, event: str, _: object) -> Any:
        file = frame.f_code.co_filename
        if file not in FILES:
            return None
        # signals are never handled between an assignment and a `try:` that follows it
        if event == "line" and linecache.getline(file, frame.f_lineno).split()[0] != "try:":
            self.count += 1
            self.first_visits.setdefault((file, frame.f_lineno), self.count)
            if self.count == self.at:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


def ask(san: San, number: int, lines: Lines) -> None:
    gc.disable()  # what is raised while rubbish is collected is lost
    sys.settrace(lines)
    try:
        san.query(f"SELECT COUNT(*) FROM people WHERE number = {number}", epsilon="0.1")
    finally:
        sys.settrace(None)
        gc.enable()


def is_true(said: str, newer: list[str], epsilon: str = "0.1") -> bool:
    """Return whether a note says of the records made since what they are.

    The ledger may still be writing when a reservation can be seen, and then says that it does not know.
    """
    if "nothing was charged" in said:
        return "reserve" not in newer
    if "may have been charged: `sanql ledger list` tells" in said:
        return "spend" not in newer
    charged = (
        f"charged epsilon {epsilon} (delta 0), and the charge stays" in said and "reserve" in newer
    )
    return charged and ("asking again is free" not in said or "spend" in newer)


@pytest.mark.slow
def test_an_interrupt_at_any_line_leaves_nothing_open(policy: Policy) -> None:
    """Every third line that a question executes for the first time, the worker being warm."""
    interrupted = 0
    notes: set[str] = set()
    with San(policy) as san:
        ask(san, 1, Lines())
        watched = Lines()
        ask(san, 2, watched)
        for number, at in enumerate(sorted(watched.first_visits.values())[::3], 3):
            before = len(list(san.ledger.records()))
            try:
                ask(san, number, Lines(at))
                continue
            except KeyboardInterrupt as interrupt:
                said = " ".join(interrupt.__notes__)
            interrupted += 1
            newer = [record.kind for record in san.ledger.records()][before:]
            assert is_true(said, newer), (at, said, newer)
            notes.add(said)
            assert all(balance.reserved == 0 for balance in san.budget()), at
        ask(san, 1_000, Lines())
    assert interrupted > 30
    assert len(notes) >= 3  # which lines come while a charge is being settled hangs on others
    kinds = settled(policy)
    assert kinds["reserve"] == kinds["spend"] + kinds["void"]
    assert kinds["void"] > 3


class Slow:
    """A sampler that has all the time in the world."""

    def sample(self, noise: Noise, count: int) -> np.ndarray:
        time.sleep(600)
        raise AssertionError

    def secret(self) -> int:
        return 1


@pytest.mark.slow
@pytest.mark.parametrize("late", [False, True])
def test_a_signal_while_the_engine_or_the_noise_is_busy_voids_at_once(
    policy: Policy, late: bool
) -> None:
    question = "SELECT COUNT(*) FROM people WHERE number % 7 = 1" if late else SLOW
    before = settled(policy)
    main = threading.main_thread().ident
    assert main is not None

    over = threading.Event()

    def interrupt() -> None:
        with San(policy) as watching:
            while not any(balance.reserved for balance in watching.budget()):
                if over.wait(0.01):
                    return
        signal.pthread_kill(main, signal.SIGINT)

    # a shell that starts the tests in the background has them ignore interrupts
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    watching = threading.Thread(target=interrupt)
    try:
        with San(policy, sampler=Slow()) as san:
            watching.start()
            with pytest.raises(KeyboardInterrupt) as stopped:
                san.query(question, epsilon="0.1")
            (note,) = stopped.value.__notes__
            assert is_true(note, ["reserve", "void"])
            assert all(balance.reserved == 0 for balance in san.budget())
    finally:
        over.set()
        watching.join()
        signal.signal(signal.SIGINT, former)
    assert settled(policy) - before == Counter(reserve=1, void=1)


def begun(command: list[str]) -> subprocess.Popen[str]:
    """Start a command that can be interrupted, also where these tests run in the background."""
    former = signal.signal(signal.SIGINT, signal.SIG_DFL)  # what is ignored here would be there too
    try:
        pipe = subprocess.PIPE
        return subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=pipe)
    finally:
        signal.signal(signal.SIGINT, former)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_stopped_voids_its_reservation(policy: Policy, number: int) -> None:
    """As Ctrl-C does, or whoever ends a service; nothing is left running either."""
    before = settled(policy)
    place = policy.ledger.parent / "policy.toml"
    command = [sys.executable, "-m", "sanql", "query", "-p", str(place), "-e", "0.2", SLOW]
    with San(policy) as san:
        started = begun(command)
        while not any(balance.reserved for balance in san.budget()) and started.poll() is None:
            time.sleep(0.01)
        started.send_signal(number)
        out, err = started.communicate()
    assert started.returncode == 128 + number, (out, err)
    assert (out, "Traceback" in err) == ("", False)
    assert is_true(err.strip().splitlines()[-1], ["reserve", "void"], "0.2")
    listed = [sys.executable, "-m", "sanql", "ledger", "list", "-p", str(place)]
    records = subprocess.run(listed, capture_output=True, text=True, check=True).stdout
    assert "; the charge stays" in records
    assert settled(policy) - before == Counter(reserve=1, void=1)


def waiting(policy: Policy) -> subprocess.Popen[str]:
    """Return a command that waits for its question, which it reads before anything is charged."""
    place = policy.ledger.parent / "policy.toml"
    command = [sys.executable, "-m", "sanql", "query", "-p", str(place), "-e", "0.2", "-"]
    return begun(command)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_stopped_before_its_charge_says_that_nothing_was(
    policy: Policy, number: int
) -> None:
    before = settled(policy)
    started = waiting(policy)
    assert started.stdin is not None
    started.stdin.write("SELECT ")
    started.stdin.flush()
    while not is_reading(started):
        time.sleep(0.01)
    started.send_signal(number)
    out, err = started.communicate()
    assert (started.returncode, out) == (128 + number, ""), err
    assert err.strip().splitlines()[-1] == "interrupted; nothing was charged"
    assert settled(policy) == before


def is_reading(started: subprocess.Popen[str]) -> bool:
    """Return whether a process has taken what was piped to it so far, and so waits for more."""
    assert started.stdin is not None
    left = fcntl.ioctl(started.stdin, termios.FIONREAD, bytes(4))
    return int.from_bytes(left, sys.byteorder) == 0 or started.poll() is not None
