"""A process that forks askers on request: each opens San, asks questions, and writes down what it got.

It has imported everything and opened nothing, so that an asker starts at once. What an asker writes is
in its file before it asks again, and a file outlives whoever wrote it.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from sanql.errors import LedgerError, SanqlError
from sanql.policy import load
from sanql.san import San

EPSILON = "0.01"
DIFFERENT = 2_000  # questions: some are asked again, by the same asker or by others


def main() -> None:
    """Fork an asker for each line of standard input, and say its process id."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead are nobody's business here
    for line in sys.stdin:
        order = json.loads(line)
        asker = os.fork()
        if asker == 0:
            _ask_and_end(order)
        print(asker, flush=True)


def question(number: int) -> str:
    """Return one of many questions; each is another measurement."""
    return f"SELECT COUNT(*) AS n FROM people WHERE age <> {number}"


def _ask_and_end(order: dict[str, str]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    said = os.open(order["said"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def say(**what: object) -> None:
        os.write(said, f"{json.dumps(what)}\n".encode())

    try:
        _ask(Path(order["policy"]), random.Random(order["seed"]), order["kind"], say)
    except LedgerError as fault:  # San could not be opened, or closed
        unwritable = fault.code == "ledger_unwritable"
        say(**({"refused": fault.code} if unwritable else {"ended": repr(fault)}))
    except BaseException as fault:
        say(ended=repr(fault))
    os._exit(0)


def _ask(policy: Path, rng: random.Random, kind: str, say: Callable[..., None]) -> None:
    with San(load(policy)) as san:
        say(opened=True)
        if kind == "failing fsync":
            ctypes.CDLL(None).kills_fail_fsync_after(rng.randrange(1, 60))
        if kind == "clock set back":
            ctypes.CDLL(None).kills_set_clock_back(rng.choice([60, 3600, 86400 * 400]))
        for _ in range(400):
            number = rng.randrange(DIFFERENT)
            try:
                answer = san.query(question(number), epsilon=EPSILON)
            except SanqlError as refused:
                say(number=number, refused=refused.code)
                time.sleep(0.01)
                continue
            say(number=number, n=answer.value, cached=answer.cached)


if __name__ == "__main__":
    main()
