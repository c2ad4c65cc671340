"""A share of the campaign of kills (campaign.py): nothing is lost, nothing overspent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from server import ending
from server.campaign import campaign
from support.postgres import postgres_server
from support.volume import few_rows_of


@pytest.mark.slow
@pytest.mark.parametrize(("kills", "seed"), few_rows_of([(2, 2), (4, 3)], 1))
def test_a_server_that_is_killed_under_load_loses_nothing_and_overspends_nothing(
    kills: int, seed: int, tmp_path: Path
) -> None:
    done, told = campaign(kills, seed, tmp_path)
    assert {*done} == {"server", "worker"}
    assert sum(done.values()) == kills and told["answered"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(("kills", "seed"), few_rows_of([(3, 7), (5, 5)], 1))
def test_neither_does_one_whose_ledger_is_in_a_database_that_is_killed_too(
    kills: int, seed: int, tmp_path: Path
) -> None:
    with postgres_server() as database:
        done, told = campaign(kills, seed, tmp_path, database, first_in_database=True)
    assert "database" in done
    assert sum(done.values()) == kills and told["answered"] > 0


@pytest.mark.soak
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_campaign_that_is_told_to_end_ends_and_leaves_nothing_behind(
    number: signal.Signals, tmp_path: Path
) -> None:
    """Started as a shell starts what is followed by an &, which has it ignore SIGINT."""
    with subprocess.Popen(
        [sys.executable, "-m", "server.killing", "--kills", "1000"],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),  # noqa: PLW1509
    ) as started:
        try:
            assert started.stderr is not None and "1 kills" in started.stderr.readline()
            started.send_signal(number)
            said = started.communicate(timeout=120)[1]
        finally:
            started.kill()
    assert started.returncode == 128 + number, said
    left = [path.name for path in tmp_path.iterdir()]
    assert all(name.startswith("sanql-spill-") for name in left)  # which the next start sweeps
    assert not [
        path
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if str(tmp_path).encode() in path.read_bytes()
    ]


@pytest.mark.slow
def test_a_campaign_that_is_told_to_end_before_it_has_begun_ends_too(tmp_path: Path) -> None:
    """While it is still being imported, which takes seconds; started as what is followed by an &."""
    with subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "server.killing", "--kills", "1"],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),  # noqa: PLW1509
    ) as started:
        try:
            assert started.stderr is not None
            assert any("httpx" in line for line in started.stderr)  # of what it needs to begin
            started.send_signal(signal.SIGINT)
            said = started.communicate(timeout=120)[1]
        finally:
            started.kill()
    assert started.returncode == 128 + signal.SIGINT, said[-2000:]
    assert not [*tmp_path.iterdir()]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_word_to_end_that_is_lost_on_its_way_ends_a_campaign_before_its_next_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may come while an object is finalized, and what is raised there goes nowhere."""
    monkeypatch.setattr(ending, "TOLD", [])

    class Finalized:
        def __del__(self) -> None:
            ending.end(signal.SIGINT, None)

    Finalized()
    with pytest.raises(SystemExit) as left:
        campaign(1, 1, tmp_path)
    assert left.value.code == 128 + signal.SIGINT
    assert not [*tmp_path.iterdir()]
