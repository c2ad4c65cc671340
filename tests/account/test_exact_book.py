"""The book of exact releases: repeats are free, everything that overlaps is refused, for ever."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from sanql.account.ledger.chain import Head, record_after, write_head
from sanql.account.ledger.exact_book import ExactClaim
from sanql.account.ledger.ledger import Ledger
from sanql.audit.ledger import verify
from sanql.audit.ledger.exporting import export
from sanql.errors import LedgerError, Refused
from sanql.policy.exact.footprint import Footprint
from sanql.policy.model import Policy

MakePolicy = Callable[..., Policy]
TERMS = {"neighbours": "add-remove"}

INCOME = ExactClaim(
    Footprint("income", "people", "income"),
    declaration="d1",
    source="s1",
    partition=("region",),
    cells=4,
    epsilon=Fraction(1, 10),
    delta=Fraction(1, 10**9),
    certificate={"class": "uniform", "assumptions": ["one", "two"]},
)
AGE = replace(INCOME, footprint=Footprint("age", "people", "age"), declaration="d2")
INCOME_KNOWING_AGE = replace(
    INCOME, footprint=Footprint("income", "people", "income", ("age",)), declaration="d3"
)
AGE_KNOWING_INCOME = replace(
    INCOME, footprint=Footprint("age", "people", "age", ("income",)), declaration="d4"
)
HISTOGRAM = replace(INCOME, footprint=Footprint("cells", "people", None), declaration="d5")
ELSEWHERE = replace(INCOME, footprint=Footprint("cost", "visits", "cost"), declaration="d6")


@pytest.fixture
def policy(make_policy: MakePolicy) -> Policy:
    return make_policy()


@pytest.fixture
def ledger(policy: Policy) -> Iterator[Ledger]:
    with Ledger.open(policy, TERMS) as opened:
        yield opened


def release(ledger: Ledger, claim: ExactClaim, cells: bytes = b"cells") -> None:
    ledger.exact.spend(ledger.exact.reserve("ana", claim), cells)


def recorded(ledger: Ledger, analyst: str, claim: ExactClaim) -> bytes | None:
    entry = ledger.exact.find(analyst, claim)
    return None if entry is None else ledger.exact.answer_of(entry)


def test_a_release_is_everybodys_and_survives_a_restart(ledger: Ledger, policy: Policy) -> None:
    assert ledger.exact.find("ana", INCOME) is None
    release(ledger, INCOME)
    assert recorded(ledger, "bob", INCOME) == b"cells"
    ledger.close()
    with Ledger.open(policy, TERMS) as again:
        assert recorded(again, "ana", INCOME) == b"cells"
        assert [entry.claim for entry in again.exact.entries()] == [INCOME]
        assert again.balances()[0].spent_upper.epsilon == 0


def test_strangers_are_refused(ledger: Ledger) -> None:
    with pytest.raises(Refused, match="not declared"):
        ledger.exact.reserve("eve", INCOME)
    with pytest.raises(Refused, match="not declared"):
        ledger.exact.find("eve", INCOME)


REFUSED = [
    (INCOME, replace(INCOME, declaration="other"), "exact_declaration_changed"),
    (INCOME, AGE, "exact_combination"),
    (INCOME_KNOWING_AGE, AGE, "exact_combination"),
    (INCOME, AGE_KNOWING_INCOME, "exact_combination"),
    (INCOME, HISTOGRAM, "exact_combination"),
    (HISTOGRAM, INCOME, "exact_combination"),
    (INCOME, ELSEWHERE, "exact_combination"),
    (INCOME_KNOWING_AGE, replace(AGE_KNOWING_INCOME, source="s2"), "exact_source_changed"),
]


@pytest.mark.parametrize(("first", "second", "code"), REFUSED)
@pytest.mark.parametrize("settled", [True, False])
def test_whatever_is_not_covered_is_refused_even_if_the_first_was_never_answered(
    ledger: Ledger, policy: Policy, first: ExactClaim, second: ExactClaim, code: str, settled: bool
) -> None:
    entry = ledger.exact.reserve("ana", first)
    if settled:
        ledger.exact.spend(entry, b"cells")
    for ask in (ledger.exact.find, ledger.exact.reserve):
        with pytest.raises(Refused) as caught:
            ask("ana", second)
        assert caught.value.code == code and caught.value.remedy
        assert first.name in caught.value.message
        assert not re.search(r"record \d", caught.value.message), "tells how much was asked"
    assert verify(policy.ledger).sound


def test_another_version_is_no_second_release_and_cells_on_record_stay_what_they_were(
    ledger: Ledger, policy: Policy
) -> None:
    entry = ledger.exact.reserve("ana", INCOME)
    later = replace(INCOME, source="s2")
    for ask in (ledger.exact.find, ledger.exact.reserve):
        with pytest.raises(Refused) as caught:
            ask("ana", later)
        assert caught.value.code == "exact_source_changed"
    ledger.exact.spend(entry, b"cells")
    assert recorded(ledger, "ana", later) == b"cells"
    assert ledger.exact.reserve("ana", later).sequence == entry.sequence
    with pytest.raises(Refused):
        ledger.exact.find("ana", replace(later, declaration="other"))
    assert verify(policy.ledger).sound


def test_two_columns_that_know_each_other_are_both_released(ledger: Ledger, policy: Policy) -> None:
    release(ledger, INCOME_KNOWING_AGE)
    release(ledger, AGE_KNOWING_INCOME, b"ages")
    assert recorded(ledger, "ana", AGE_KNOWING_INCOME) == b"ages"
    assert [(e.name, e.state) for e in verify(policy.ledger).exact] == [
        ("income", "answered"),
        ("age", "answered"),
    ]


def test_after_a_crash_the_same_reservation_is_completed(ledger: Ledger, policy: Policy) -> None:
    first = ledger.exact.reserve("ana", INCOME)
    ledger.close()
    with Ledger.open(policy, TERMS) as again:
        second = again.exact.reserve("bob", INCOME)
        assert second.sequence == first.sequence and second.open
        again.exact.spend(second, b"cells")
        assert recorded(again, "bob", INCOME) == b"cells"


def test_two_processes_make_one_release(ledger: Ledger) -> None:
    first, second = (ledger.exact.reserve(name, INCOME) for name in ("ana", "bob"))
    ledger.exact.spend(first, b"cells")
    ledger.exact.spend(second, b"cells")
    with pytest.raises(LedgerError, match="different results"):
        ledger.exact.spend(second, b"other cells")
    ledger.exact.void(second, None, reason="engine")
    assert recorded(ledger, "ana", INCOME) == b"cells"


def test_a_failure_may_be_tried_again_and_a_refusal_may_not(ledger: Ledger, policy: Policy) -> None:
    failed = ledger.exact.reserve("ana", INCOME)
    ledger.exact.void(failed, None, reason="engine")
    again = ledger.exact.reserve("ana", INCOME)
    assert again.sequence > failed.sequence
    ledger.exact.void(again, "a cell is too small", reason="refused")
    entry = ledger.exact.reserve("ana", INCOME)
    assert (entry.sequence, entry.refusal) == (again.sequence, "a cell is too small")
    found = verify(policy.ledger)
    assert found.sound and [e.state for e in found.exact] == ["refused"]


def test_failures_are_rationed(ledger: Ledger, policy: Policy) -> None:
    for _ in range(policy.failures_max):
        ledger.exact.void(ledger.exact.reserve("ana", INCOME), None, reason="engine")
    with pytest.raises(Exception, match="have failed"):
        ledger.exact.reserve("ana", INCOME)


def test_records_are_exported_with_class_and_certificate(ledger: Ledger, policy: Policy) -> None:
    release(ledger, INCOME)
    lines = [line for line in export(policy.ledger) if '"kind": "exact"' in line]
    assert len(lines) == 1
    for word in ("uniform", '"assumptions"', '"region"', '"1/10"', '"income"'):
        assert word in lines[0]


@pytest.mark.parametrize("after", ["reserve", "spend"])
def test_a_killed_process_never_loses_that_cells_were_released(policy: Policy, after: str) -> None:
    Ledger.open(policy, TERMS).close()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with Ledger.open(policy, TERMS) as own:
                entry = own.exact.reserve("ana", INCOME)
                if after == "spend":
                    own.exact.spend(entry, b"cells")
                os.write(write, b"done")
                signal.pause()
        finally:
            os._exit(1)
    os.close(write)
    assert os.read(read, 4) == b"done"
    os.close(read)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with Ledger.open(policy, TERMS) as ledger:
        later = replace(INCOME_KNOWING_AGE, source="s2")
        with pytest.raises(Refused):
            ledger.exact.reserve("ana", later)
        assert recorded(ledger, "ana", INCOME) == (b"cells" if after == "spend" else None)
    assert verify(policy.ledger).sound


def forge(policy: Policy, content: dict[str, Any]) -> None:
    """Append an exact record behind the ledger's back, hash and head as they should be."""
    with closing(sqlite3.connect(policy.ledger)) as connection, connection:
        query = "SELECT sequence, hash FROM record ORDER BY sequence DESC"
        record = record_after(Head(*connection.execute(query).fetchone()), "exact", content)
        connection.execute(
            "INSERT INTO record VALUES (?, ?, ?, ?, ?)",
            (record.sequence, record.kind, record.body, record.previous, record.hash),
        )
    write_head(policy.ledger, Head(record.sequence, record.hash))


FORGED = [
    (replace(INCOME, source="s2"), "the source had changed"),
    (replace(INCOME, declaration="x"), "the declaration had changed"),
    (AGE, "no theorem covers it together"),
    (HISTOGRAM, "no theorem covers it together"),
    (ELSEWHERE, "no theorem covers it together"),
    (INCOME, "which did not fail"),
    (replace(AGE, epsilon=Fraction(-1)), "without a guarantee"),
]


@pytest.mark.parametrize(("claim", "words"), FORGED)
def test_the_auditor_finds_a_release_that_the_book_would_have_refused(
    ledger: Ledger, policy: Policy, claim: ExactClaim, words: str
) -> None:
    release(ledger, INCOME)
    forge(policy, claim.to_dict() | {"analyst": "ana", "time": "2030-01-01"})
    found = verify(policy.ledger)
    assert found.fault is not None and words in found.fault.message
    with pytest.raises(LedgerError, match="makes no sense"):
        ledger.exact.entries()


def test_a_changed_answer_is_found(ledger: Ledger, policy: Policy) -> None:
    release(ledger, INCOME)
    with closing(sqlite3.connect(policy.ledger)) as connection, connection:
        connection.execute("DROP TRIGGER answer_UPDATE")
        connection.execute("UPDATE answer SET content = x'00'")
    assert not verify(policy.ledger).sound
    with pytest.raises(LedgerError, match="damaged"):
        recorded(ledger, "ana", INCOME)


OLDER = replace(INCOME, declaration="named by 0.1.0")
NEWER = replace(INCOME, declaration="named now", first_declaration="named by 0.1.0")


def test_a_release_of_an_older_ledger_is_repeated_under_its_older_name(ledger: Ledger) -> None:
    release(ledger, OLDER)
    found = ledger.exact.find("ana", NEWER)
    assert found is not None and ledger.exact.answer_of(found) == b"cells"


def test_a_release_of_an_older_ledger_that_failed_is_tried_again_in_its_own_words(
    policy: Policy, ledger: Ledger
) -> None:
    ledger.exact.void(ledger.exact.reserve("ana", OLDER), None, reason="engine")
    release(ledger, NEWER)
    assert verify(policy.ledger).sound
    with Ledger.open(policy, TERMS) as again:
        found = again.exact.find("ana", NEWER)
        assert found is not None and found.claim.declaration == "named by 0.1.0"


@pytest.mark.parametrize(
    "changed",
    [
        replace(NEWER, first_declaration="changed since 0.1.0"),
        replace(NEWER, footprint=Footprint("other", "people", "income")),
        replace(NEWER, footprint=Footprint("age", "people", "age")),
    ],
)
def test_an_older_ledger_still_forbids_a_second_release(
    ledger: Ledger, changed: ExactClaim
) -> None:
    release(ledger, OLDER)
    with pytest.raises(Refused):
        ledger.exact.find("ana", changed)
