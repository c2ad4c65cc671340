"""Limits have a time and an author; what gives more is signed by an officer where the record says so."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from account.forging import forge
from sanql.account import Charge, Ledger
from sanql.account.ledger.budget_limits import BudgetLimits
from sanql.account.ledger.raising import digest_of_limits, raises
from sanql.audit.ledger import verify
from sanql.cli.main import main
from sanql.errors import LedgerError
from sanql.policy.model import Analyst, Budget, Coalition, Policy
from support.hospitals import hospital_in

pytestmark = pytest.mark.usefixtures("in_this_process")

MakePolicy = Callable[..., Policy]
Laplace = Callable[[str], Charge]

TERMS = {"neighbours": "add-remove"}
NOW = datetime(2030, 1, 1, tzinfo=UTC)
ME = pwd.getpwuid(os.geteuid()).pw_name


def budget(epsilon: str, delta: str = "1e-6") -> Budget:
    return Budget(Fraction(epsilon), Fraction(delta))


def opened(policy: Policy, **more: Any) -> list[dict[str, Any]]:
    """Open a policy's ledger, and return its records of limits."""
    with Ledger.open(policy, TERMS, clock=lambda: NOW, **more) as ledger:
        return [record.content for record in ledger.records() if record.kind == "limits"]


def test_limits_say_when_and_by_whom_they_were_declared(make_policy: MakePolicy) -> None:
    policy = make_policy()
    (first,) = opened(policy)
    assert (first["author"], first["time"]) == (ME, "2030-01-01T00:00:00+00:00")
    assert first["second_signature"] is False
    _, second = opened(replace(policy, budget=budget("5")), author="olga")
    assert second["author"] == "olga"
    assert verify(policy.ledger).sound


MORE: dict[str, dict[str, Any]] = {
    "epsilon": {"budget": budget("5")},
    "delta": {"budget": budget("4", "2e-6")},
    "accounting": {"accounting": "renyi"},
    "an analyst's": {"analysts": {"ana": Analyst("ana", budget("2", "1e-7"))}},
    "gone": {"analysts": {"ana": Analyst("ana", None), "bob": Analyst("bob", None)}},
    "members": {
        "coalitions": {"both": Coalition("both", frozenset({"ana"}), budget("2"))},
    },
    "the signature itself": {"second_signature": False},
}


@pytest.mark.parametrize("which", MORE)
def test_what_gives_more_is_refused_until_an_officer_has_signed_exactly_that(
    which: str, make_policy: MakePolicy
) -> None:
    policy = make_policy(second_signature=True)
    opened(policy)
    more = replace(policy, **MORE[which])
    for _ in range(2):
        with pytest.raises(LedgerError) as refused:
            opened(more)
        assert refused.value.code == "limits_unsigned"
    assert len(opened(policy)) == 1, "nothing was written, and the old policy goes on"
    other = replace(policy, budget=budget("3.9"), second_signature=False)
    Ledger.approve(other, TERMS, "olga")
    with pytest.raises(LedgerError, match="without a second signature"):
        opened(more)  # another policy was signed
    said = Ledger.approve(more, TERMS, "olga", clock=lambda: NOW)
    assert len(said) == 1, said
    assert len(opened(more)) == 2
    assert verify(policy.ledger).sound


def test_lowering_and_new_accounts_need_no_signature(make_policy: MakePolicy) -> None:
    policy = make_policy(second_signature=True)
    opened(policy)
    coalitions = {**policy.coalitions, "two": Coalition("two", frozenset({"bob"}), budget("1"))}
    for less in (
        replace(policy, budget=budget("3")),
        replace(policy, budget=budget("3", "1e-7"), coalitions=coalitions),
    ):
        opened(less)
    with pytest.raises(LedgerError) as refused:
        less = replace(policy, budget=budget("2", "1e-7"), coalitions=coalitions)
        Ledger.approve(less, TERMS, "olga")
    assert refused.value.code == "signature_needless"
    assert verify(policy.ledger).sound


def test_a_signature_is_good_for_one_change(make_policy: MakePolicy) -> None:
    policy = make_policy(second_signature=True)
    opened(policy)
    more = replace(policy, budget=budget("5"))
    Ledger.approve(more, TERMS, "olga")
    opened(more)
    opened(policy)
    with pytest.raises(LedgerError) as refused:
        opened(more)
    assert refused.value.code == "limits_unsigned"


def test_without_the_word_on_record_nothing_needs_a_signature(make_policy: MakePolicy) -> None:
    policy = make_policy()
    opened(policy)
    opened(replace(policy, budget=budget("5"), second_signature=True))
    with pytest.raises(LedgerError):
        opened(replace(policy, budget=budget("6"), second_signature=True))


def test_a_scratch_account_promises_nothing_and_is_never_signed(make_policy: MakePolicy) -> None:
    policy = make_policy(second_signature=True, scratch=True)
    opened(policy)
    assert len(opened(replace(policy, budget=budget("50")))) == 2


def test_limits_that_were_raised_behind_the_back_are_found(make_policy: MakePolicy) -> None:
    policy = make_policy(second_signature=True)
    (limits,) = opened(policy)
    more = limits | {"accounts": [limits["accounts"][0] | {"epsilon": "5/1"}]}
    sequence = forge(policy, "limits", more)
    with pytest.raises(LedgerError, match=f"record {sequence} of the ledger makes no sense"):
        opened(policy)
    fault = verify(policy.ledger).fault
    assert fault is not None and (fault.sequence, "signature" in fault.message) == (sequence, True)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("limits", {"author": None}),
        ("limits", {"time": "yesterday"}),
        ("limits", {"second_signature": 1}),
        ("limits", {"besides": 1}),
        ("approve", {"limits": "0" * 64}),
        ("approve", {"limits": "0" * 64, "officer": 5, "time": "2030-01-01"}),
        ("approve", {"limits": "0" * 64, "officer": "olga", "time": "2030-01-01", "more": 1}),
    ],
)
def test_a_record_that_does_not_say_what_it_must_is_found_by_auditor_and_ledger(
    kind: str, change: dict[str, Any], make_policy: MakePolicy
) -> None:
    policy = make_policy()
    (limits,) = opened(policy)
    sequence = forge(policy, kind, change if kind == "approve" else limits | change)
    with pytest.raises(LedgerError, match=f"record {sequence} of the ledger makes no sense"):
        opened(policy)
    fault = verify(policy.ledger).fault
    assert fault is not None and fault.sequence == sequence


def test_a_forged_signature_of_other_limits_is_none_to_the_auditor_either(
    make_policy: MakePolicy,
) -> None:
    policy = make_policy(second_signature=True)
    (limits,) = opened(policy)
    signed = {"officer": "olga", "time": "2030-01-01T00:00:00+00:00"}
    wanted = BudgetLimits.of(replace(policy, budget=budget("5"), analysts={}, coalitions={}))
    forge(policy, "approve", signed | {"limits": digest_of_limits(wanted)})
    more = limits | {"accounts": [limits["accounts"][0] | {"epsilon": "5/1"}]}
    forge(policy, "limits", more)
    assert verify(policy.ledger).sound
    sequence = forge(policy, "limits", more | {"accounting": "renyi"})
    fault = verify(policy.ledger).fault
    assert fault is not None and fault.sequence == sequence


def test_nothing_is_raised_where_there_was_nothing_before(make_policy: MakePolicy) -> None:
    limits = BudgetLimits.of(make_policy())
    assert raises(None, limits) == raises(limits, limits) == []


@pytest.mark.slow
def test_an_officer_signs_by_command_and_nobody_else_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SANQL_TOKEN", raising=False)
    path = str(hospital_in(tmp_path / "demo"))

    def run(*words: str, token: str = "") -> tuple[int, str]:
        done = CliRunner().invoke(main, [*words, "-p", path], env={"SANQL_TOKEN": token or None})
        return done.exit_code, done.output

    def write(old: str, new: str) -> None:
        text = Path(path).read_text()
        assert old in text
        Path(path).write_text(text.replace(old, new, 1))

    write("[dataset]\n", "[dataset]\nsecond_signature = true\n")
    tokens = {}
    for name, role in (("olga", "officer"), ("otto", "owner")):
        code, said = run("user", "add", name, "--role", role, "--format", "json")
        assert code == 0, said
        tokens[name] = said.split('"token": "')[1].split('"')[0]
    before = next(line for line in Path(path).read_text().splitlines() if "budget" in line)
    write(before, before.replace("epsilon = ", "epsilon = 1"))
    code, said = run("budget")
    assert (code, "limits_unsigned" in said or "second signature" in said) == (5, True), said
    for token in (tokens["otto"], "nonsense"):
        code, said = run("account", "approve", token=token)
        assert (code, "only an officer" in said) == (7, True), said
    code, said = run("account", "approve", token=tokens["olga"])
    assert (code, "olga signs for" in said) == (0, True), said
    assert "epsilon of the dataset account" in said
    assert run("budget")[0] == 0
    assert run("ledger", "verify")[0] == 0
    assert "olga has signed the limits" in run("ledger", "list")[1]
    for token in ("", tokens["otto"]):  # another account would be another budget
        retire = ("account", "retire", "--because", "new data", "--release", "other-data")
        code, said = run(*retire, token=token)
        assert code in (5, 7) and ("second signature" in said or "only an officer" in said), said
        assert run("budget")[0] == 0
    assert run(*retire, token=tokens["olga"])[0] == 0
    assert "signed by olga, an officer" in run("account", "show")[1]
    assert run("ledger", "verify")[0] == 0


def test_where_no_signature_is_wanted_anybodys_token_is_in_nobodys_way(tmp_path: Path) -> None:
    path = str(hospital_in(tmp_path / "demo"))
    retire = ["account", "retire", "--because", "new data", "--release", "other-data", "-p", path]
    CliRunner().invoke(main, ["budget", "-p", path])
    done = CliRunner().invoke(main, retire, env={"SANQL_TOKEN": "of somebody else"})
    assert done.exit_code == 0, done.output
