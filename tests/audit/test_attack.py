"""The audit through the doors: a sound system stands, and each planted fault is caught by its attack.

Every test runs the real server, whose code is changed for it. A sound system is refuted with a
probability of 1e-9 at most; of each planted fault but the weak one the chance to be missed is below 1e-9.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from bench.audits.faults import FAULTS, planted

import sanql
from sanql.audit import Doors, SystemAudit, audit_system
from sanql.audit.games import PRESENCE
from sanql.audit.town import Town
from sanql.policy import load
from sanql.report import gather, page_of
from sanql.server import ServerSettings
from support.commands import run
from support.hospitals import hospital_in
from support.serving import served

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]
PEOPLE = 1500
ALPHA = 1e-9
CAUGHT = {
    "halved noise": {"counts", "rows beyond the limit", "sums"},
    "a shared draw": {"counts", "rows beyond the limit", "sums"},
    "units that add twice what noise is for": {"rows beyond the limit", "sums"},
    "a leaked key": {"names that one person has"},
    "a skipped charge": {"a budget that ends", "what the account says"},
    "noise drawn anew for a repeat": {"the same question again"},
}


@contextmanager
def here(policy: Path) -> Iterator[Doors]:
    with served([policy], ServerSettings(port=0, wire=("127.0.0.1", 0))) as server:
        yield Doors(server.url, server.server.wire)


def audited(fault: str = "", accounting: str = "pure") -> SystemAudit:
    with planted(fault):
        return audit_system(here, accounting=accounting, people=PEOPLE, alpha=ALPHA)


@pytest.mark.parametrize("accounting", ["pure", "renyi"])
def test_a_sound_system_stands(accounting: str) -> None:
    found = audited(accounting=accounting)
    assert not found.refuted, found.refuted
    assert {each.through for each in found.findings} == {"HTTP", "wire", "ledger"}
    assert len(found.findings) == 9


@pytest.mark.parametrize("fault", CAUGHT)
def test_each_fault_is_caught_by_the_attacks_that_are_for_it(fault: str) -> None:
    found = audited(fault)
    assert CAUGHT[fault] <= {each.attack for each in found.refuted}
    if fault == "halved noise":
        assert {each.through for each in found.refuted} >= {"HTTP", "wire"}
        assert all(each.epsilon_lower > 1 for each in found.refuted if each.epsilon_lower)


def test_every_fault_is_one_that_is_tried() -> None:
    assert set(FAULTS) - set(CAUGHT) == {"noise of three quarters"}, "which needs more canaries"


@pytest.mark.parametrize("game", PRESENCE)
def test_the_claim_is_not_refuted_by_the_best_mechanism_that_keeps_it(game: object) -> None:
    """Randomised response at epsilon 1 tells as much as the claim allows, and no more."""
    assert isinstance(game, type(PRESENCE[0]))
    random = np.random.default_rng(1)
    coins = random.random(4000) < 0.5
    told = np.where(random.random(4000) < np.e / (1 + np.e), coins, ~coins)
    rows = [(seat, game.most * int(each)) for seat, each in enumerate(told)]
    found = game.played(Town(Path(), coins), rows, "here", ALPHA)
    assert not found.refutes(ALPHA) and (found.epsilon_lower or 0) < 1
    exact = [(seat, game.most * int(each)) for seat, each in enumerate(coins)]
    assert game.played(Town(Path(), coins), exact, "here", ALPHA).refutes(ALPHA)


def test_the_command_attacks_a_server_of_its_own_and_the_report_says_so(tmp_path: Path) -> None:
    policy = hospital_in(tmp_path)
    data = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    done = run("audit", "-p", policy, "--people", 300, "--format", "json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["refuted"] == [] and told["people"] == 300
    kept = tmp_path / "hospital.audit.json"
    assert json.loads(kept.read_text()) == told and kept.stat().st_mode & 0o077 == 0
    now = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    assert {file: now[file] for file in data} == data and set(now) == {*data, kept}
    page = page_of(gather(load(_asked(policy))))
    assert "attacked" in page and "no attack refuted" in page


def _asked(policy: Path) -> Path:
    with sanql.open(policy, analyst="ana") as san:
        san.query("SELECT COUNT(*) FROM people", epsilon="0.1")
    return policy
