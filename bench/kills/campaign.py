"""Askers killed in rounds, and the account checked after each.

Three askers at a time share an account, and each is killed at a random moment, with a fault of the system
before it: stopped and continued, a full disk, an fsync that fails, a clock that was set back. Faults
that this machine cannot make are left out, and said so.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bench.kills.account import Killed, fill

KINDS = {
    "kill -9": 5,
    "SIGSTOP, SIGCONT, kill -9": 2,
    "failing fsync": 2,
    "clock set back": 2,
    "full disk": 2,
}
ROUNDS_OF_AN_ACCOUNT = 30
ASKERS = 3
DISK = "8m"


@dataclass
class Machine:
    """What this machine can do: a small file system to fill, a library of faults to load."""

    folder: Path
    disk: Path | None
    faults: Path | None

    @property
    def kinds(self) -> dict[str, int]:
        """Kinds of faults that can be made here, and how often each is."""
        missing = {"full disk"} if self.disk is None else set()
        missing |= {"failing fsync", "clock set back"} if self.faults is None else set()
        return {kind: share for kind, share in KINDS.items() if kind not in missing}


def campaign(kills: int, seed: int, folder: Path) -> tuple[Counter[str], Counter[str]]:
    """Kill so many askers; return how many of each kind, and what was found. Raises Broken."""
    rng, machine = random.Random(seed), _machine(folder)
    done: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for kind in KINDS.keys() - machine.kinds.keys():
        print(f"LEFT OUT, as this machine cannot make it: {kind}", file=sys.stderr, flush=True)
    forker = _forker(machine)
    try:
        while done.total() < kills:
            kind = rng.choices(list(machine.kinds), list(machine.kinds.values()))[0]
            place = machine.disk if kind == "full disk" and machine.disk else folder
            account = Killed.make(Path(tempfile.mkdtemp(dir=place)))
            rounds = ROUNDS_OF_AN_ACCOUNT // (2 if kind == "full disk" else 1)
            for _ in range(rounds):
                askers = min(ASKERS, kills - done.total())
                _round(forker, account, folder, [kind] * askers, rng)
                done[kind] += askers
                if kind != "full disk":
                    kind = rng.choices(list(machine.kinds), list(machine.kinds.values()))[0]
                    kind = "kill -9" if kind == "full disk" else kind
                if done.total() >= kills:
                    break
            account.check_works()
            found += account.found + Counter({"accounts": 1, "charges": account.charges})
            shutil.rmtree(account.folder)
            print(f"{done.total():,} killed", file=sys.stderr, flush=True)
    finally:
        forker.kill()
        forker.communicate()
        if machine.disk is not None:
            subprocess.run(["umount", str(machine.disk)], check=False)
    return done, found


def _round(
    forker: subprocess.Popen[str],
    account: Killed,
    notes: Path,
    kinds: list[str],
    rng: random.Random,
) -> None:
    said = [notes / f"said-{number}" for number in range(len(kinds))]
    pids = []
    for file, kind in zip(said, kinds, strict=True):
        file.unlink(missing_ok=True)
        file.touch()
        pids.append(_forked(forker, account, file, kind, rng))
    waiting = sorted(zip((_moment(rng) for _ in pids), pids, kinds, strict=True))
    if rng.random() < 0.5:
        _wait_for_an_answer(said)
    started, filler = time.monotonic(), None
    for after, pid, kind in waiting:
        time.sleep(max(0.0, started + after - time.monotonic()))
        if kind == "full disk" and filler is None:
            filler = fill(account.folder)
            time.sleep(rng.random() * 0.1)
        if kind.startswith("SIGSTOP"):
            _stop_and_go_on(pid, rng)
        _kill(pid)
    if filler is not None:
        filler.unlink()
    account.check(said)


def _moment(rng: random.Random) -> float:
    return rng.random() * rng.choice([0.05, 0.3, 0.6])


def _wait_for_an_answer(said: list[Path]) -> None:
    """Wait until somebody was answered; who has just been is about to be charged again."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and not any('"number"' in file.read_text() for file in said):
        time.sleep(0.005)


def _forked(
    forker: subprocess.Popen[str], account: Killed, said: Path, kind: str, rng: random.Random
) -> int:
    order = {
        "policy": str(account.policy),
        "said": str(said),
        "kind": kind,
        "seed": rng.getrandbits(32),
    }
    assert forker.stdin is not None and forker.stdout is not None
    forker.stdin.write(json.dumps(order) + "\n")
    forker.stdin.flush()
    return int(forker.stdout.readline())


def _stop_and_go_on(pid: int, rng: random.Random) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
        time.sleep(rng.random() * 0.2)
        os.kill(pid, signal.SIGCONT)
        time.sleep(rng.random() * 0.1)


def _kill(pid: int) -> None:
    """Kill an asker, and wait until it is gone: its locks are."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        while True:
            os.kill(pid, 0)
            time.sleep(0.001)


def _machine(folder: Path) -> Machine:
    disk: Path | None = folder / "disk"
    assert disk is not None
    disk.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mounting, check=False).returncode:
        disk = None
    source, faults = Path(__file__).with_name("faults.c"), folder / "faults.so"
    building = ["cc", "-O1", "-shared", "-fPIC", "-o", str(faults), str(source), "-ldl"]
    able = shutil.which("cc") is not None
    built = able and subprocess.run(building, check=False).returncode == 0
    return Machine(folder, disk, faults if built else None)


def _forker(machine: Machine) -> subprocess.Popen[str]:
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "TMPDIR": str(machine.folder)}
    if machine.faults is not None:
        environment["LD_PRELOAD"] = str(machine.faults)
    return subprocess.Popen(
        [sys.executable, "-m", "bench.kills.asker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )


def report(done: Counter[str], found: Counter[str], options: str, seconds: float) -> str:
    """Return what happened, as Markdown."""
    found.setdefault("accounts spent to their end", 0)  # where the budget itself held askers off
    left_out = [kind for kind in KINDS if kind not in done]
    return "\n".join(
        [
            "# Kills",
            "",
            f"`python -m bench.kills {options}`: {done.total():,} processes",
            "that were asking San, killed with `kill -9` at a random moment, three at a time over one",
            f"account, in {seconds / 60:.0f} minutes. After each round the ledger was verified, the",
            "charges were added up against the budget, every answer that an asker had received was found",
            "on record, charged and the same, no earlier record was gone, and no asker had received",
            "anything after its ledger could not be written. **Nothing was lost, nothing overspent.**",
            "",
            "| before it was killed | kills |",
            "|---|---|",
            *(f"| {kind} | {count:,} |" for kind, count in sorted(done.items())),
            *(f"| {kind} | left out: this machine cannot make it |" for kind in left_out),
            "",
            "| what askers and accounts had | how often |",
            "|---|---|",
            *(f"| {what.replace('_', ' ')} | {count:,} |" for what, count in sorted(found.items())),
            "",
        ]
    )


def lane(order: tuple[int, int]) -> tuple[Counter[str], Counter[str]]:
    """Kill so many askers, with a seed, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="sanql-kills-") as folder:
        return campaign(*order, Path(folder))
