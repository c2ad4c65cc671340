"""`sanql shell`: prices before they are paid, words that are no questions, and what keys complete."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest

from sanql.cli.completion import completions
from sanql.results import Schema, SchemaColumn, SchemaTable
from sanql.san import open_policy
from support.commands import run
from support.hospitals import hospital_in

pytestmark = pytest.mark.slow
IN_SEVERAL_LINES = "SELECT COUNT(*) AS people\nFROM people -- all; of them\nWHERE sex <> 'a;b';\n"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return hospital_in(tmp_path / "demo")


def charges(policy: Path) -> list[str]:
    with open_policy(policy, "ana") as san:
        return [r.body for r in san.ledger.records() if r.kind == "reserve"]


@pytest.mark.usefixtures("in_this_process")
def test_a_price_is_shown_and_paid_when_that_is_agreed_to(policy: Path) -> None:
    typed = (
        f"{IN_SEVERAL_LINES}n\n{IN_SEVERAL_LINES}y\n{IN_SEVERAL_LINES}.history\n.quit\nSELECT 1;\n"
    )
    done = run("shell", "-p", policy, "-a", "ana", "-e", "0.25", stdin=typed)
    assert done.exit_code == 0, done.stderr
    said = done.stdout
    assert (
        said.count("price: epsilon 0.25, delta 0; then left") == 2
    )  # a repeat is free, and not asked
    assert said.count("ask it? [y/N]") == 2
    assert said.count("not asked; nothing was charged") == 1
    assert "people: ± 12" in said
    assert said.count("price: a repeat, free") == 1
    assert len(charges(policy)) == 1


@pytest.mark.usefixtures("in_this_process")
def test_nothing_is_charged_where_what_is_typed_ends_before_the_price_is_agreed_to(
    policy: Path,
) -> None:
    done = run("shell", "-p", policy, "-a", "ana", "-e", "0.25", stdin=IN_SEVERAL_LINES)
    assert done.exit_code == 0
    assert "not asked; nothing was charged" in done.stdout
    assert charges(policy) == []


@pytest.mark.usefixtures("in_this_process")
def test_words_say_what_there_is_and_set_what_holds(policy: Path) -> None:
    typed = (
        ".schema\n.budget\n.set -e 0.5 --confidence 0.9\n.format csv\n.pay always\n"
        "SELECT AVG(age) AS mean FROM people;\n.history 1\n.explain SELECT COUNT(*) FROM visits\n"
    )
    done = run("shell", "-p", policy, "-a", "ana", stdin=typed)
    said = done.stdout
    assert "privacy" in said or "people" in said
    assert "analyst ana" in said
    assert "epsilon = 0.5, confidence = 0.9" in said
    assert said.count("mean,mean_low,mean_high") == 2
    assert "ask it?" not in said
    assert "discrete Laplace" in said
    assert len(charges(policy)) == 1


@pytest.mark.usefixtures("in_this_process")
def test_what_goes_wrong_is_said_and_the_next_question_answered(policy: Path) -> None:
    typed = (
        "SELECT * FROM people;\n.nothing\n.history x\n.set -e\n.set 'a\n.format pie\n.pay never\n"
        "SELECT COUNT(*) FROM nowhere;\nSELECT COUNT(*) AS n FROM people;\ny\n"
    )
    done = run("shell", "-p", policy, "-a", "ana", "-e", "1", stdin=typed)
    assert done.exit_code == 0
    for words in ("returns_rows", ".nothing is no word", "no whole number", "table_unknown"):
        assert words in done.stderr
    assert "price: epsilon 1" in done.stdout
    assert len(charges(policy)) == 1


def test_words_clauses_tables_and_columns_are_completed() -> None:
    column = SchemaColumn("severity", "integer")
    table = SchemaTable("visits", False, "person_id", columns=(column,))
    known = completions(Schema("hospital", "add-remove", (table,)), [".schema"])
    assert {".schema", "SELECT", "visits", "severity"} <= set(known)


def test_keys_complete_words_and_bring_back_what_was_asked(policy: Path) -> None:
    with open_policy(policy, "ana") as san:
        san.query("SELECT COUNT(*) AS remembered FROM people", epsilon=1)
    up = b"\x1b[A"
    seen = _typed_at_a_terminal(
        policy,
        [
            (b"sel\t COUNT(*) AS n FROM peo\t WHERE age > 3;\r", rb"ask it\? \[y/N\]"),
            (b"n\r", rb"sanql> "),
            # before the question; n is none. A key is read as one once the next line is asked for
            (up * 2 + b"\r", rb"(?s)a repeat, free.*sanql> "),
            (b"\x04", rb"nothing more"),
        ],
    )
    assert "SELECT COUNT(*) AS n FROM people WHERE age > 3;" in seen
    assert "price: epsilon 1, delta 0; then left" in seen
    assert "remembered" in seen


def _typed_at_a_terminal(policy: Path, steps: list[tuple[bytes, bytes]]) -> str:
    """Return what a terminal shows while keys are pressed, each once what is waited for was shown."""
    terminal, other = pty.openpty()
    command = [sys.executable, "-m", "sanql", "shell", "-p", str(policy), "-a", "ana", "-e", "1"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    shell = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, env=environment)
    os.close(other)
    seen = _read_until(terminal, rb"sanql> ")
    for pressed, awaited in steps:
        os.write(terminal, pressed)
        seen += _read_until(terminal, awaited)
    assert shell.wait(timeout=60) == 0
    os.close(terminal)
    return seen.decode(errors="replace")


def _read_until(terminal: int, awaited: bytes) -> bytes:
    """Return what is shown until it has what is waited for, a pattern, or the shell has ended."""
    seen = b""
    while not re.search(awaited, seen) and select.select([terminal], [], [], 120)[0]:
        try:
            seen += os.read(terminal, 4096)
        except OSError:  # the shell has closed its side
            break
    return seen
