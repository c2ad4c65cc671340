"""Who ended a question, what counts as a failure, and how an owner has failures counted anew."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from account.forging import forge
from sanql.account import VoidReason
from sanql.account.charge import Charge
from sanql.account.ledger.ledger import Ledger
from sanql.account.ledger.terms import account_terms
from sanql.audit.ledger import verify
from sanql.cli.main import main
from sanql.errors import LedgerError, Unavailable
from sanql.policy import load
from sanql.policy.model import Policy

MakePolicy = Callable[..., Policy]
Laplace = Callable[[str], Charge]

TERMS = {"neighbours": "add-remove"}
OLD = Path(__file__).parent / "fixtures" / "format_1" / "pure"


def digest(number: int) -> str:
    return f"{number:064x}"


def fail(ledger: Ledger, charge: Charge, analyst: str, who: VoidReason, times: int = 1) -> None:
    for number in range(times):
        ledger.void(ledger.reserve(analyst, digest(number), charge), reason=who)


def quota(ledger: Ledger, charge: Charge, analyst: str) -> str | None:
    """What the refusal of one more question says, or None where it is taken."""
    try:
        ledger.void(ledger.reserve(analyst, digest(99), charge), reason="cancelled")
    except Unavailable as refused:
        assert refused.code == "failure_quota"
        assert "reset-failures" in refused.remedy
        return refused.message
    return None


@pytest.mark.slow
@pytest.mark.parametrize(
    "who",
    [
        *("cancelled", "disconnected", "interrupted", "rehearsed"),
        *("stopped", "storage", "fault"),
    ],
)
def test_what_a_caller_breaks_off_or_an_operator_stops_is_no_failure(
    who: VoidReason, make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy(failures_max=1)
    with Ledger.open(policy, TERMS) as ledger:
        fail(ledger, laplace("0.01"), "ana", who, times=5)
        assert ledger.failures.count() == 0
        assert quota(ledger, laplace("0.01"), "ana") is None
        voids = [record.content for record in ledger.records() if record.kind == "void"]
        assert [void["reason"] for void in voids] == [who] * 5 + ["cancelled"]
        assert ledger.balances_of("ana")[0].spent_upper.epsilon == 6 * laplace("0.01").epsilon
    assert verify(policy.ledger).sound


def test_failures_are_rationed_for_each_analyst_and_for_all_together(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy(failures_max=2, failures_total_max=3)
    charge = laplace("0.01")
    with Ledger.open(policy, TERMS) as ledger:
        fail(ledger, charge, "ana", "engine", times=2)
        assert "2 queries of this analyst" in (quota(ledger, charge, "ana") or "")
        assert quota(ledger, charge, "bob") is None
        fail(ledger, charge, "bob", "engine")
        assert "3 queries of all analysts" in (quota(ledger, charge, "bob") or "")
    with Ledger.open(replace(policy, failures_max=3, failures_total_max=4), TERMS) as ledger:
        assert quota(ledger, charge, "ana") is None  # a higher number is possible too


def test_without_a_number_of_its_own_the_dataset_bears_as_many_as_one_analyst(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    with Ledger.open(make_policy(failures_max=2), TERMS) as ledger:
        fail(ledger, laplace("0.01"), "ana", "engine")
        fail(ledger, laplace("0.01"), "bob", "engine")
        for analyst in ("ana", "bob"):
            assert "all analysts" in (quota(ledger, laplace("0.01"), analyst) or "")


def test_a_reset_is_recorded_and_counts_failures_and_orphans_anew(
    make_policy: MakePolicy, laplace: Laplace
) -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    policy, charge = make_policy(failures_max=2), laplace("0.01")
    with Ledger.open(policy, TERMS, clock=lambda: now) as ledger:
        ledger.reserve("ana", digest(1), charge)
        now += timedelta(hours=1)
        fail(ledger, charge, "ana", "engine")
        assert quota(ledger, charge, "ana") is not None
        assert ledger.failures.reset() == 2
        assert ledger.failures.count() == 0
        assert quota(ledger, charge, "ana") is None
        (reset,) = [record for record in ledger.records() if record.kind == "failures_reset"]
        assert reset.content == {"time": "2030-01-01T01:00:00+00:00"}
        fail(ledger, charge, "ana", "engine", times=2)
        assert quota(ledger, charge, "ana") is not None
    assert verify(policy.ledger).sound
    with Ledger.open(policy, TERMS, clock=lambda: now) as ledger:
        assert ledger.failures.count() == 2


def test_voids_of_format_1_count_as_the_engines_and_are_reset_in_format_2(
    tmp_path: Path, laplace: Laplace
) -> None:
    shutil.copytree(OLD, tmp_path / "town")
    policy = load(tmp_path / "town" / "policy.toml")
    policy = replace(policy, failures_max=1, failures_total_max=2)
    with Ledger.open(policy, account_terms(policy)) as ledger:
        assert ledger.failures.count() == 2  # a void of ben's, and a reservation that ana left open
        for analyst in ("ana", "ben"):
            assert quota(ledger, laplace("0.01"), analyst) is not None
        assert ledger.failures.reset() == 2
        assert [record.kind for record in ledger.records()][-2:] == ["format", "failures_reset"]
        for analyst in ("ana", "ben"):
            assert quota(ledger, laplace("0.01"), analyst) is None
    assert verify(policy.ledger).sound


def test_the_command_resets_failures(tmp_path: Path, laplace: Laplace) -> None:
    shutil.copytree(OLD, tmp_path / "town")
    path = tmp_path / "town" / "policy.toml"
    done = CliRunner().invoke(main, ["ledger", "reset-failures", "-p", str(path)])
    assert done.exit_code == 0
    assert done.output == "2 failed questions counted; from now on they do not\n"
    policy = load(path)
    with Ledger.open(policy, account_terms(policy)) as ledger:
        assert ledger.failures.count() == 0


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("void", {"reservation": 3}),
        ("void", {"reservation": 3, "ended_by": "engine"}),
        ("void", {"reservation": 3, "reason": "engine", "ended_by": "engine"}),
        ("void", {"reservation": 3, "reason": "unknown"}),
        ("void", {"reservation": 3, "reason": "refused"}),
        ("void", {"reservation": 3, "reason": "engine", "refusal": "a cell is too small"}),
        ("failures_reset", {}),
        ("failures_reset", {"time": "yesterday"}),
    ],
)
def test_a_void_or_reset_that_does_not_say_what_it_must_is_found_by_auditor_and_ledger(
    kind: str, content: dict[str, object], make_policy: MakePolicy, laplace: Laplace
) -> None:
    policy = make_policy()
    with Ledger.open(policy, TERMS) as ledger:
        ledger.reserve("ana", digest(1), laplace("0.1"))
    sequence = forge(policy, kind, content)
    fault = verify(policy.ledger).fault
    assert fault is not None and (fault.sequence, fault.message) == (
        sequence,
        "makes no sense after the records before it",
    )
    with pytest.raises(LedgerError, match=f"record {sequence} of the ledger makes no sense"):
        Ledger.open(policy, TERMS)
