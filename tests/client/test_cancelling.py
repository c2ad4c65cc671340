"""Ctrl-C on a question that a real server works on: it ends there, and its charge is told of."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

import sanql
from support.halting import halted, wait_until
from support.serving import Served

pytestmark = pytest.mark.slow
SQL = "SELECT AVG(score) AS mean FROM people"


def test_an_interrupted_command_cancels_its_question_on_the_server(
    town: Served, ana: sanql.RemoteSan
) -> None:
    ana.query(SQL, epsilon="0.1")  # the worker is there
    before, kept = ana.balances(), town.server.service.kept
    with halted(town.datasets[0].session):
        asking = subprocess.Popen(
            [sys.executable, "-m", "sanql", "query", "-e", "0.2", SQL],
            env={**os.environ, "SANQL_SERVER": town.url, "SANQL_TOKEN": town.token("ana")},
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            wait_until(lambda: len(kept._running) == 1)
            asking.send_signal(signal.SIGINT)
            _, said = asking.communicate(timeout=60)
        finally:
            asking.kill()
    assert asking.returncode == 128 + signal.SIGINT
    assert said.strip() == (
        "interrupted; the question is cancelled on the server, and what it was charged stays"
    )
    wait_until(lambda: not kept._running)
    assert ana.balances() == before, "it had not been charged yet, and never is"
