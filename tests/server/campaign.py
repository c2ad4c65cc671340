"""A server under load, killed again and again: itself, its workers, and the database of its ledger.

After each kill: what clients were told is one of the documented endings, the ledger is sound, answers
that left are on record, the same and free, no more was charged than the budget holds, and the next
start is clean. Everything is on loopback, bounded in count and time.
"""

from __future__ import annotations

import os
import random
import signal
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

import httpx

from sanql.audit.ledger import verify_account
from sanql.policy import load
from server import ending
from support.commands import run, run_process
from support.serving import ServedByProcess, serve_process

CLIENTS = 6
COMMANDS_BESIDE = 0.25  # the share of kills before which an owner's command comes and goes
EPSILON = Fraction(1, 100)
BUDGET = 400  # questions that an account holds; then the next account begins
DOCUMENTED = {
    "unavailable",  # charged, no answer
    "engine_not_ready",  # nothing charged
    "server_stopping",
    "server_busy",
    "budget_exceeded",
    "failure_quota",
    "ledger_busy",
    "ledger_unavailable",
    "ledger_unwritable",
    "not_ready",
}
POLICY = """\
[dataset]
name = "town"
source = "data/"
neighbours = "add-remove"
accounting = "pure"
budget = { epsilon = %s, delta = 0 }
failures_max = 1000000
%s
[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
id = { type = "integer" }
age = { type = "integer", bounds = [0, 120] }
"""


class Database(Protocol):
    """A database server that can be killed and started again."""

    def kill(self) -> None: ...
    def start(self) -> None: ...
    def new_database(self) -> str: ...
    def url(self, database: str) -> str: ...


@dataclass
class Town:
    """One dataset whose account is spent under kills, and what clients were told."""

    policy: Path
    answers: dict[str, list[Any]] = field(default_factory=dict)
    told: Counter[str] = field(default_factory=Counter)
    undocumented: list[str] = field(default_factory=list)
    asked: int = 0
    mutex: threading.Lock = field(default_factory=threading.Lock)

    def next_question(self) -> str:
        with self.mutex:
            self.asked += 1
            number = self.asked
        return f"SELECT COUNT(*) FROM people WHERE age > {number % 100} AND id <> {number}"

    def tell(self, sql: str, reply: httpx.Response | None) -> None:
        with self.mutex:
            if reply is None:
                self.told["connection lost"] += 1
            elif reply.status_code == 200:
                self.answers[sql] = reply.json()["rows"]
                self.told["answered"] += 1
            else:
                code = str(reply.json().get("code"))
                self.told[code] += 1
                if code not in DOCUMENTED:
                    self.undocumented.append(f"{sql}: {reply.status_code} {reply.text}")


def make_town(folder: Path, ledger: str = "") -> Town:
    """Make a small table and a policy with a budget of so many questions; add the people who ask."""
    import duckdb

    (folder / "data").mkdir(parents=True)
    folder.chmod(0o700)
    rows = "SELECT i AS id, (i * 7 % 100)::INTEGER AS age FROM range(3000) AS numbers(i)"
    duckdb.sql(f"COPY ({rows}) TO '{folder}/data/people.parquet'")
    policy = folder / "policy.toml"
    named = f'ledger = "{ledger}"\n' if ledger else ""
    policy.write_text(POLICY % (float(BUDGET * EPSILON), named), encoding="utf-8")
    return Town(policy)


@contextmanager
def asking(town: Town, url: Callable[[], str], tokens: list[str]) -> Iterator[None]:
    """Have clients ask all the time, one question after another, until the end of the block."""
    ended, clients, trusted = threading.Event(), ExitStack(), ssl.create_default_context()

    def ask(token: str) -> None:
        headers = {"authorization": f"Bearer {token}"}
        client = clients.enter_context(httpx.Client(headers=headers, timeout=60, verify=trusted))
        while not ended.is_set():
            sql, reply = town.next_question(), None
            try:
                body = {"sql": sql, "epsilon": str(float(EPSILON))}
                reply = client.post(f"{url()}/v1/query", json=body)
            except httpx.TransportError:
                time.sleep(0.02)
            town.tell(sql, reply)
            if reply is not None and reply.status_code != 200:
                time.sleep(0.02)

    threads = [threading.Thread(target=ask, args=(token,)) for token in tokens]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()
        clients.close()


def worker_pids(server: int) -> list[int]:
    """Return the processes that a server has started."""
    found = []
    for task in Path(f"/proc/{server}/task").iterdir():
        try:
            found += [int(pid) for pid in (task / "children").read_text().split()]
        except OSError:
            continue
    return found


def check(town: Town, server: ServedByProcess, token: str) -> None:
    """See that nothing is lost and nothing overspent; the server is up again."""
    assert not town.undocumented, town.undocumented[:3]
    verified = verify_account(load(town.policy))
    spent = max(account.epsilon_spent_upper for account in verified.accounts)
    charges = max(account.charges for account in verified.accounts)
    assert spent <= BUDGET * EPSILON, f"overspent: {spent}"
    assert charges >= len(town.answers), "an answer left without a charge"
    headers = {"authorization": f"Bearer {token}"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=60) as client:
        for sql, rows in random.Random(len(town.answers)).sample(
            sorted(town.answers.items()), min(5, len(town.answers))
        ):
            body = {"sql": sql, "epsilon": str(float(EPSILON))}
            again = client.post("/v1/query", json=body).json()
            assert again.get("rows") == rows and again["cached"], f"lost: {sql}: {again}"


def campaign(
    kills: int,
    seed: int,
    folder: Path,
    database: Database | None = None,
    said: Callable[[str], None] = lambda _: None,
    *,
    first_in_database: bool = False,
) -> tuple[Counter[str], Counter[str]]:
    """Kill so many; return how many of each kind, and what clients were told. Raises if broken."""
    rng, done, told = random.Random(seed), Counter[str](), Counter[str]()
    accounts = int(first_in_database)
    while not _is_over(kills, done):
        # by turns in a file and in a database
        kept_in = database if database is not None and accounts % 2 else None
        ledger = "" if kept_in is None else kept_in.url(kept_in.new_database())
        town = make_town(folder / f"town{accounts}", ledger)
        _account(town, kept_in, kills, rng, done, said)
        told += town.told
        accounts += 1
    return done, told


def _account(
    town: Town,
    database: Database | None,
    kills: int,
    rng: random.Random,
    done: Counter[str],
    said: Callable[[str], None],
) -> None:
    """Spend one account under kills, until its budget is spent or enough were killed."""
    kinds = ["server", "worker"] if database is None else ["server", "worker", "database"]
    added = run("user", "add", "ana", "--role", "analyst", "-p", town.policy)
    token = added.stdout.strip()
    ending.leave_if_told()  # what runs a command takes any way out for the command's own
    assert token, added.output
    here: list[ServedByProcess] = []
    with ExitStack() as servers:
        here.append(servers.enter_context(serve_process(town.policy)))
        drained = _drain(here[-1])
        while not _is_over(kills, done) and town.told["budget_exceeded"] < 5:
            kind = rng.choice(kinds)
            with asking(town, lambda: here[-1].url, [token] * CLIENTS):
                time.sleep(rng.uniform(0.02, 0.6))
                if rng.random() < COMMANDS_BESIDE:
                    assert run_process("user", "list", "-p", town.policy).returncode == 0
                if kind == "worker":
                    for pid in worker_pids(here[-1].process.pid)[:1]:
                        os.kill(pid, signal.SIGKILL)
                elif kind == "database" and database is not None:
                    database.kill()
                    time.sleep(rng.uniform(0, 0.3))
                    database.start()
                else:
                    here[-1].process.kill()
                    here[-1].process.wait()
                    drained.join()
                    here.append(servers.enter_context(serve_process(town.policy)))
                    drained = _drain(here[-1])
                time.sleep(rng.uniform(0.02, 0.3))
            done[kind] += 1
            check(town, here[-1], token)
            said(f"{sum(done.values())} kills, {len(town.answers)} answers of this account")
        assert here[-1].stop() == 0
        drained.join()
    assert "Traceback" not in "".join(line for server in here for line in server.said)


def _drain(server: ServedByProcess) -> threading.Thread:
    """Read what a server says, so that it never waits for somebody to read it."""

    def read() -> None:
        assert server.process.stderr is not None
        for line in server.process.stderr:
            if not line.startswith("{"):
                server.said.append(line)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread


def _is_over(kills: int, done: Counter[str]) -> bool:
    """Return whether enough were killed; leave where the word to end was lost on its way."""
    ending.leave_if_told()
    return sum(done.values()) >= kills
