"""A dataset asked about while askers are killed, and what must be true of its account after each."""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from bench.kills.asker import EPSILON, question
from sanql.audit.ledger import verify
from sanql.errors import BudgetExceeded
from sanql.policy import load
from sanql.san import San

PEOPLE = 200
BUDGET = Fraction(1, 2)  # fifty charges: the last askers of an account are refused
POLICY = f"""
[dataset]
name = "killed"
source = "people.csv"
neighbours = "add-remove"
budget = {{ epsilon = {float(BUDGET)}, delta = 0 }}
accounting = "pure"
failures_max = 1000000
[engine]
memory = "256MB"
[table.people]
privacy_unit = "id"
rows_per_unit_max = 1
[table.people.column]
age = {{ type = "integer", bounds = [0, 120] }}
"""
# kills leave a sound ledger, and whoever asks is never told otherwise
NEVER_TOLD = {"ledger_rolled_back", "ledger_damaged", "ledger_head_damaged", "ledger_missing"}


class Broken(Exception):
    """Something that must never be has been found."""


@dataclass
class Killed:
    """One account; `head` is the last record seen, and `charges` how many there were."""

    folder: Path
    head: tuple[int, str] = (0, "")
    found: Counter[str] = field(default_factory=Counter)
    charges: int = 0

    @classmethod
    def make(cls, folder: Path) -> Killed:
        """Write policy and data; San prepares them once, so that askers need not."""
        folder.mkdir(parents=True, exist_ok=True)
        rows = "\n".join(f"{number},{number % 90}" for number in range(PEOPLE))
        (folder / "people.csv").write_text(f"id,age\n{rows}\n", encoding="utf-8")
        (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
        made = cls(folder)
        with San(load(made.policy)) as san:
            san.query("SELECT COUNT(*) FROM people", epsilon=EPSILON)
        made.check([])
        return made

    @property
    def policy(self) -> Path:
        """Where the policy is."""
        return self.folder / "policy.toml"

    @property
    def ledger(self) -> Path:
        """Where the account is."""
        return load(self.policy).ledger

    def check(self, said: list[Path]) -> None:
        """Raise unless the account is sound and every answer that left is charged and on record."""
        audited = verify(self.ledger)
        if not audited.sound:
            raise Broken(f"the ledger is not sound: {audited.fault}")
        self._check_chain()
        heard = [json.loads(line) for file in said for line in file.read_text().splitlines()]
        self._check_stopped(said)
        with San(load(self.policy)) as san:
            for balance in san.budget():
                if balance.spent_upper.epsilon > balance.budget.epsilon:
                    raise Broken("more is spent than there was")
            for each in heard:
                if "ended" in each or each.get("refused") in NEVER_TOLD:
                    raise Broken(f"an asker was told something else: {each}")
                if "n" in each:
                    self._check_repeat(san, each)
                self.found["cached" if each.get("cached") else _word(each)] += 1

    def check_works(self) -> None:
        """Raise unless San answers something new, or has no budget left for it."""
        with San(load(self.policy)) as san:
            try:
                answer = san.query("SELECT SUM(age) AS s FROM people", epsilon=EPSILON)
            except BudgetExceeded:
                self.found["accounts spent to their end"] += 1
            else:
                if answer.cached:
                    raise Broken("an answer is on record that nobody has asked for")
        self.check([])

    def _check_chain(self) -> None:
        """What was on record stays, and the charges add up to no more than the budget."""
        with closing(sqlite3.connect(f"file:{self.ledger}?mode=ro", uri=True)) as connection:
            rows = connection.execute(
                "SELECT sequence, kind, body, hash FROM record ORDER BY sequence"
            ).fetchall()
        hashes = {row[0]: row[3] for row in rows}
        if self.head[0] and hashes.get(self.head[0]) != self.head[1]:
            raise Broken("a record that had been there is gone")
        self.head = rows[-1][0], rows[-1][3]
        bodies = [(row[1], json.loads(row[2])) for row in rows]
        charged = [
            Fraction(body["charge"]["epsilon"]) for kind, body in bodies if kind == "reserve"
        ]
        if sum(charged) > BUDGET:
            raise Broken("the charges add up to more than the budget")
        self.charges = len(charged)

    def _check_repeat(self, san: San, each: dict[str, object]) -> None:
        """The answer that an asker had is on record, and still the same."""
        number = each["number"]
        assert isinstance(number, int)
        again = san.query(question(number), epsilon=EPSILON)
        if not again.cached:
            raise Broken(f"an answer to question {number} has left, and is not on record")
        if again.value != each["n"]:
            raise Broken(f"question {number} has two answers")

    def _check_stopped(self, said: list[Path]) -> None:
        """After a write that may be lost, an asker has had no further answer."""
        for file in said:
            words = [json.loads(line) for line in file.read_text().splitlines()]
            codes = [each.get("refused") for each in words]
            if "ledger_unwritable" in codes:
                after = words[codes.index("ledger_unwritable") :]
                if any("n" in each for each in after):
                    raise Broken("an answer left after the ledger could not be written")


def _word(each: dict[str, object]) -> str:
    if "n" in each:
        return "answered"
    return str(each.get("refused", next(iter(each))))


def fill(folder: Path) -> Path:
    """Leave no room on the file system of a folder; return what takes it."""
    filler = folder / "filler"
    handle = os.open(filler, os.O_WRONLY | os.O_CREAT, 0o600)
    size = 1 << 16
    while size:
        try:
            os.write(handle, bytes(size))
        except OSError:
            size //= 2
    os.close(handle)
    return filler
