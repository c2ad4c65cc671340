"""Two processes ask the first questions of an account at once: neither takes the other for another's."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from sanql.errors import LedgerError
from sanql.policy import load
from sanql.policy.model import Policy
from sanql.san import San
from sanql.sources.ownership import admission
from support.policies import dataset

POLICY = """\
ledger = "{name}.ledger"
[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
age = {{ type = "integer", bounds = [0, 100] }}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "registry"))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "people.csv").write_text("id,age\n1,7\n")
    return tmp_path


def policy(folder: Path, name: str) -> Policy:
    path = folder / f"{name}.toml"
    text = dataset("data", name="town", epsilon=100, delta=0) + POLICY.format(name=name)
    path.write_text(text, encoding="utf-8")
    return load(path)


def while_looking(monkeypatch: pytest.MonkeyPatch, other: San) -> None:
    """Have another San ask its first question after one has read which account it is of."""
    look = admission.claimable

    def claim_first(*looked_for: object) -> object:
        monkeypatch.setattr(admission, "claimable", look)
        other.query("SELECT COUNT(*) FROM people", epsilon="0.1")
        return look(*looked_for)  # type: ignore[arg-type]

    monkeypatch.setattr(admission, "claimable", claim_first)


@pytest.mark.slow
def test_data_that_are_claimed_for_the_same_account_meanwhile_are_its_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    same = policy(folder, "a")
    with San(same, analyst="ana") as ana, San(same, analyst="bo") as bo:
        while_looking(monkeypatch, bo)
        ana.query("SELECT SUM(age) FROM people", epsilon="0.1")
        (balance, *_) = ana.session.balances("ana")
        assert balance.spent_upper.epsilon == Fraction(2, 10)


@pytest.mark.slow
def test_data_that_another_account_claims_meanwhile_are_not(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        San(policy(folder, "a"), analyst="ana") as ana,
        San(policy(folder, "b"), analyst="bo") as bo,
    ):
        while_looking(monkeypatch, bo)
        with pytest.raises(LedgerError) as refused:
            ana.query("SELECT SUM(age) FROM people", epsilon="0.1")
    assert refused.value.code == "account_claimed"
