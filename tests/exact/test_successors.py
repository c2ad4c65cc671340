"""The book of exact releases outlives its account: what follows it over the same data has noise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import sanql
from exact.towns import POLICY, SCORE, write_people, write_policy
from sanql.account.ledger.terms import account_terms
from sanql.audit.ledger import verify
from sanql.errors import Refused
from sanql.policy import load
from sanql.sources.ownership.account_changes import retire_account
from sanql.sources.ownership.lost_ledgers import retire_lost

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

BY_REGION = SCORE.replace('"region", "urban"', '"region"').replace("150", "350")
SUM = "SELECT region, SUM(score) FROM people GROUP BY region"


def policy(folder: Path, ledger: str, exact: str = SCORE) -> Path:
    text = POLICY.replace("[table.people]", f'ledger = "{ledger}"\n[table.people]', 1)
    return write_policy(folder, exact, text)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "registry"))
    monkeypatch.setattr(
        "sanql.account.claims.registry._home", lambda: tmp_path / "registry" / "home"
    )
    write_people(tmp_path)
    return tmp_path


def release(path: Path, statement: str) -> None:
    loaded = load(path)
    retire_account(loaded, account_terms(loaded), statement, "another study")  # type: ignore[arg-type]


def lose(path: Path) -> None:
    for file in path.parent.glob("one.ledger*"):
        file.unlink()
    retire_lost(load(path), "the disk died")


ENDS: dict[str, tuple[Callable[[Path], None], str]] = {
    "other terms, other cells": (lambda path: release(path, "other-terms"), BY_REGION),
    "other data, the same cells": (lambda path: release(path, "other-data"), SCORE),
    "lost, other cells": (lose, BY_REGION),
}


@pytest.mark.parametrize(("end", "exact"), ENDS.values(), ids=list(ENDS))
def test_no_account_after_one_with_exact_releases_gives_exact_answers(
    end: Callable[[Path], None], exact: str, folder: Path
) -> None:
    first = policy(folder, "one.ledger")
    with sanql.open(first) as san:
        san.query(SUM, exact=True)
    end(first)
    with sanql.open(policy(folder, "two.ledger", exact)) as san:
        for _ in range(2):
            with pytest.raises(Refused) as refused:
                san.query(SUM, exact=True)
            assert refused.value.code == "exact_closed"
        with pytest.raises(Refused) as refused:
            san.explain(SUM, exact=True)
        assert refused.value.code == "exact_closed"
        assert "exact" not in [record.kind for record in san.ledger.records()]
        assert san.query("SELECT COUNT(*) FROM people", epsilon="0.1").table.num_rows == 1
    assert verify(folder / "two.ledger").sound


def test_exact_answers_stay_closed_for_every_account_that_follows(folder: Path) -> None:
    with sanql.open(policy(folder, "one.ledger")) as san:
        san.query(SUM, exact=True)
    release(policy(folder, "one.ledger"), "other-terms")
    with sanql.open(policy(folder, "two.ledger")) as san:
        san.query("SELECT COUNT(*) FROM people", epsilon="0.1")
    release(policy(folder, "two.ledger"), "other-terms")
    for path in (folder / "registry").rglob("claims.sqlite*"):
        path.unlink()  # the claim beside the source is enough
    with sanql.open(policy(folder, "three.ledger")) as san, pytest.raises(Refused) as refused:
        san.query(SUM, exact=True)
    assert refused.value.code == "exact_closed"


def test_an_account_without_exact_releases_leaves_them_open(folder: Path) -> None:
    with sanql.open(policy(folder, "one.ledger")) as san:
        san.query("SELECT COUNT(*) FROM people", epsilon="0.1")
    release(policy(folder, "one.ledger"), "other-terms")
    with sanql.open(policy(folder, "two.ledger")) as san:
        assert san.query(SUM, exact=True).table.num_rows == 4
