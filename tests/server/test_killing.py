"""A share of the campaign of kills (killing.py): nothing is lost, nothing overspent."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.killing import campaign
from support.postgres import postgres_server


@pytest.mark.slow
def test_a_server_that_is_killed_under_load_loses_nothing_and_overspends_nothing(
    tmp_path: Path,
) -> None:
    done, told = campaign(4, 3, tmp_path)
    assert sum(done.values()) == 4 and told["answered"] > 0


@pytest.mark.slow
def test_neither_does_one_whose_ledger_is_in_a_database_that_is_killed_too(tmp_path: Path) -> None:
    with postgres_server() as database:
        done, told = campaign(5, 5, tmp_path, database, first_in_database=True)
    assert sum(done.values()) == 5 and told["answered"] > 0
