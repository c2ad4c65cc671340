"""A seeded share of the kill campaign; what all of it found is in bench/KILLS.md."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.kills.account import Broken, Killed
from bench.kills.campaign import campaign

from support.volume import few_of


@pytest.mark.slow
@pytest.mark.parametrize("seed", few_of(range(12, 16), 1))
def test_askers_killed_lose_nothing_and_overspend_nothing(tmp_path: Path, seed: int) -> None:
    done, found = campaign(5, seed=seed, folder=tmp_path)
    assert done.total() == 5
    assert found["charges"] > 0


@pytest.mark.slow
def test_an_answer_that_is_not_on_record_is_noticed(tmp_path: Path) -> None:
    """What the campaign looks for, it would see."""
    account, said = Killed.make(tmp_path / "account"), tmp_path / "said"
    said.write_text(
        json.dumps({"number": 3, "n": -(10**9), "cached": False}) + "\n", encoding="utf-8"
    )
    with pytest.raises(Broken, match="not on record"):
        account.check([said])
    with pytest.raises(Broken, match="two answers"):
        account.check([said])  # it has just been asked, and answered something else
    stopped = [{"number": 1, "refused": "ledger_unwritable"}, {"number": 1, "n": 1}]
    said.write_text("\n".join(map(json.dumps, stopped)), encoding="utf-8")
    with pytest.raises(Broken, match="after the ledger"):
        account.check([said])
