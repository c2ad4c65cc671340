"""A rename is the owner's recorded word: what was spent stays spent, and no name changes its meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from account.forging import forge, forge_opening
from sanql.account import Rename
from sanql.account.charge import Charge
from sanql.account.ledger.chain import head_path
from sanql.account.ledger.ledger import Ledger
from sanql.account.ledger.terms import AccountTerms, account_terms
from sanql.audit.ledger import verify
from sanql.audit.ledger.terms import TermsAudit
from sanql.errors import LedgerError
from sanql.policy import fold
from sanql.policy.model import Column, ColumnUnit, Policy, RowUnit, Table, Unit, ViaUnit

MakePolicy = Callable[..., Policy]
Laplace = Callable[[str], Charge]
Units = Mapping[str, Unit | None]

TIME = "2026-01-01T00:00:00+00:00"
PERSON = ColumnUnit("person_id")
TOWN: Units = {"people": PERSON, "bills": ViaUnit("pid", "people", "number"), "cities": None}


@pytest.fixture
def declare(make_policy: MakePolicy) -> Callable[..., Policy]:
    """A policy with these tables (None: public), each with a column `age`."""

    def make(units: Units, column: str = "age", **changes: Any) -> Policy:
        columns = {column: Column(column, "integer")}
        tables = {name: Table(name, unit, columns) for name, unit in units.items()}
        return make_policy(tables=tables, **changes)

    return make


def opened(policy: Policy) -> Ledger:
    return Ledger.open(policy, account_terms(policy))


def charge(policy: Policy, laplace: Laplace, digest: str) -> None:
    with opened(policy) as ledger:
        ledger.reserve("ana", digest * 64, laplace("0.125"))


def rename(policy: Policy, old: str, to: str) -> None:
    table, _, column = old.partition(".")
    with opened(policy) as ledger:
        ledger.owner.rename(Rename(table, column or None, to), "it is called so now")


def refusal(policy: Policy) -> str:
    with pytest.raises(LedgerError) as error:
        opened(policy)
    assert error.value.code == "ledger_terms"
    return error.value.message


RENAMED: dict[str, tuple[str, str, Units]] = {
    "a table, with the references to it": (
        "people",
        "persons",
        {"persons": PERSON, "bills": ViaUnit("pid", "persons", "number")},
    ),
    "the column of the unit, also where others lead to it": (
        "people.person_id",
        "pid",
        {"people": ColumnUnit("pid"), "bills": ViaUnit("pid", "people", "number")},
    ),
    "the column by which others refer to a table": (
        "people.number",
        "no",
        {"people": PERSON, "bills": ViaUnit("pid", "people", "no")},
    ),
    "a foreign key": (
        "Bills.PID",
        "payer",
        {"people": PERSON, "bills": ViaUnit("payer", "people", "number")},
    ),
}


@pytest.mark.parametrize(("old", "to", "after"), RENAMED.values(), ids=list(RENAMED))
def test_the_policy_goes_on_with_the_new_name_and_what_was_spent_stays_spent(
    old: str, to: str, after: Units, declare: Callable[..., Policy], laplace: Laplace
) -> None:
    policy, renamed = declare(TOWN), declare(after)
    charge(policy, laplace, "a")
    assert "and was" in refusal(renamed)
    rename(policy, old, to)
    charge(renamed, laplace, "b")
    with opened(renamed) as ledger:
        assert ledger.balances()[0].spent_upper.epsilon * 8 == 2
    assert "and was" in refusal(policy)
    found = verify(policy.ledger)
    assert found.sound, found.fault


def test_who_renamed_what_and_why_is_on_record(declare: Callable[..., Policy]) -> None:
    policy = declare(TOWN)
    with opened(policy) as ledger:
        ledger.owner.rename(Rename("people", None, "persons"), "a new system", "olga")
        content = [*ledger.records()][-1].content
    assert content.pop("time")
    assert content == {
        "table": "people",
        "column": None,
        "to": "persons",
        "author": "olga",
        "reason": "a new system",
    }


def test_the_old_name_of_a_private_table_has_its_unit_forever_and_is_never_public(
    declare: Callable[..., Policy], laplace: Laplace
) -> None:
    policy = declare({"people": PERSON})
    rename(policy, "people", "persons")
    charge(declare({"persons": PERSON, "people": PERSON}), laplace, "a")
    assert "people is public, and was private" in refusal(declare({"people": None}))
    assert "persons is public, and was private" in refusal(declare({"persons": None}))
    other = ViaUnit("p", "persons", "id")
    assert "was person_id" in refusal(declare({"persons": PERSON, "people": other}))


def test_a_public_table_under_its_new_name_is_never_private(
    declare: Callable[..., Policy],
) -> None:
    rename(declare(TOWN), "cities", "towns")
    assert "unit of towns is person_id, and was public" in refusal(declare({"towns": PERSON}))
    assert "unit of cities is person_id, and was public" in refusal(declare({"cities": PERSON}))
    opened(declare({"people": PERSON, "towns": None})).close()
    assert verify(declare(TOWN).ledger).sound


def test_a_table_joins_under_a_unit_that_has_a_new_name_and_not_under_its_old_one(
    declare: Callable[..., Policy], laplace: Laplace
) -> None:
    rename(declare({"people": PERSON}), "people.person_id", "pid")
    people: Units = {"people": ColumnUnit("pid")}
    assert "no table of the account has that unit" in refusal(declare({**people, "visits": PERSON}))
    charge(declare({**people, "visits": ColumnUnit("pid")}), laplace, "a")
    assert verify(declare(people).ledger).sound


def test_a_rename_can_be_undone(declare: Callable[..., Policy], laplace: Laplace) -> None:
    policy = declare(TOWN)
    charge(policy, laplace, "a")
    for old, to in [("people", "persons"), ("persons.number", "no")]:
        rename(declare({"cities": None}), old, to)
    for old, to in [("persons", "people"), ("people.no", "number")]:
        rename(declare({"cities": None}), old, to)
    charge(policy, laplace, "b")
    assert verify(policy.ledger).sound


REFUSED: dict[str, tuple[str, str, str]] = {
    "a table that is not there": ("homes", "houses", "nothing of that name is on record"),
    "a column that is not there": ("people.height", "size", "nothing of that name is on record"),
    "a column of a table that is not there": ("homes.age", "years", "nothing of that name"),
    "the name of a private table": ("people", "bills", "the name of something else"),
    "the name of a public table": ("people", "Cities", "the name of something else"),
    "a public table as a private one": ("cities", "people", "the name of something else"),
    "the name of another column": ("people.age", "person_id", "the name of something else"),
    "the unit as another column": ("people.person_id", "age", "the name of something else"),
    "the same name": ("people", "PEOPLE", "SQL does not tell PEOPLE from it"),
    "no name": ("people", "", "a name is missing"),
    "spaces around": ("people", " persons", "spaces around it"),
    "a point inside": ("people", "town.people", "between names"),
    "a colon inside": ("people.age", "the age: now", "between names"),
    "an equals sign inside": ("people.age", "a = b", "between names"),
}


@pytest.mark.parametrize(("old", "to", "why"), REFUSED.values(), ids=list(REFUSED))
def test_a_rename_that_the_record_does_not_bear_is_refused_and_as_a_record_is_damage_to_both(
    old: str, to: str, why: str, declare: Callable[..., Policy], laplace: Laplace
) -> None:
    policy = declare(TOWN)
    charge(policy, laplace, "a")
    with pytest.raises(LedgerError) as error:
        rename(policy, old, to)
    assert error.value.code == "rename_refused"
    assert why in error.value.message
    table, _, column = old.partition(".")
    words = {"author": "olga", "reason": "so", "time": TIME}
    content = {"table": table, "column": column or None, "to": to}
    is_damage(policy, forge(policy, "rename", words | content))


def test_what_was_renamed_is_not_renamed_again_under_its_old_name(
    declare: Callable[..., Policy],
) -> None:
    policy = declare(TOWN)
    rename(policy, "people.age", "years")
    rename(policy, "people", "persons")
    for old, to in [("people", "folk"), ("people.person_id", "p"), ("persons.age", "old")]:
        with pytest.raises(LedgerError) as error:
            rename(declare({"cities": None}), old, to)
        assert "has another name by now" in error.value.message
    rename(declare({"cities": None}), "persons.years", "old")


def test_a_table_is_not_renamed_where_nobody_knows_what_was_public(
    declare: Callable[..., Policy], laplace: Laplace
) -> None:
    policy = declare({"people": PERSON})
    forge_opening(policy, {"dataset": policy.name, "terms": account_terms(policy), "format": 1})
    charge(policy, laplace, "a")
    with pytest.raises(LedgerError) as error:
        rename(policy, "people", "persons")
    assert "does not say which tables were public" in error.value.message
    rename(policy, "people.person_id", "pid")
    charge(declare({"people": ColumnUnit("pid")}), laplace, "b")
    assert verify(policy.ledger).sound


WORDS: dict[str, dict[str, object]] = {
    "nobody": {"author": ""},
    "no reason": {"reason": ""},
    "no time": {"time": "yesterday"},
    "a word too many": {"more": 1},
    "a column that is no text": {"column": 1},
    "a name that is no text": {"to": 1},
}


@pytest.mark.parametrize("wrong", WORDS.values(), ids=list(WORDS))
def test_a_rename_that_nobody_answers_for_is_damage_to_both(
    wrong: dict[str, object], declare: Callable[..., Policy], laplace: Laplace
) -> None:
    policy = declare(TOWN)
    charge(policy, laplace, "a")
    content = {"table": "people", "column": None, "to": "persons"}
    words = {"author": "olga", "reason": "so", "time": TIME}
    is_damage(policy, forge(policy, "rename", content | words | wrong))


def test_a_true_rename_is_sound_to_both_but_not_in_format_2(
    declare: Callable[..., Policy], laplace: Laplace
) -> None:
    content = {"table": "people", "column": None, "to": "persons"}
    words: dict[str, object] = {"author": "olga", "reason": "so", "time": TIME}
    policy = declare(TOWN)
    charge(policy, laplace, "a")
    forge(policy, "rename", content | words)
    assert verify(policy.ledger).sound
    with pytest.raises(LedgerError):
        opened(policy)
    for file in (policy.ledger, head_path(policy.ledger)):
        file.unlink()
    first = {"dataset": policy.name, "terms": account_terms(policy), "public": ["cities"]}
    forge_opening(policy, first | {"format": 2})
    limits = {"kind": "dataset", "name": policy.name, "members": None, "epsilon": "4", "delta": "0"}
    forge(policy, "limits", {"accounting": "pure", "accounts": [limits]})
    is_damage(policy, forge(policy, "rename", content | words))


def is_damage(policy: Policy, sequence: int) -> None:
    found = verify(policy.ledger)
    assert found.fault is not None
    assert found.fault.sequence == sequence
    with pytest.raises(LedgerError) as error:
        opened(policy)
    assert error.value.code == "ledger_damaged"


NAMES = st.sampled_from(
    ["people", "People", "bills", "cities", "a", "b", "person_id", "pid", "row"]
)
UNITS = st.sampled_from(
    [
        "person_id",
        "pid",
        "row",
        "pid = people.a: person_id",
        "a = bills.b: pid = people.a: b",
        "x: y",
    ]
)
COLUMNS = st.dictionaries(NAMES, st.lists(NAMES, max_size=3), max_size=2)
JOINS = st.fixed_dictionaries(
    {
        "private": st.dictionaries(NAMES, UNITS, max_size=2),
        "public": st.lists(NAMES, max_size=1),
        "columns": COLUMNS,
        "time": st.just(TIME),
    }
)
RENAMES = st.fixed_dictionaries(
    {
        "table": NAMES,
        "column": st.none() | NAMES,
        "to": NAMES | st.just("no. 1"),
        "author": st.just("olga"),
        "reason": st.just("so"),
        "time": st.just(TIME),
    }
)
OPENED = {
    "dataset": "town",
    "terms": {
        "neighbours": "add-remove",
        "unit of people": "person_id",
        "unit of bills": "pid = people.a: person_id",
    },
    "public": ["cities"],
    "columns": {"people": ["a"]},
}


def renaming(table: str, column: str | None, to: str) -> dict[str, Any]:
    said = {"author": "olga", "reason": "so", "time": TIME}
    return {"table": table, "column": column, "to": to} | said


@pytest.mark.slow
@given(st.lists(JOINS | RENAMES, max_size=8))
@example([renaming("people", "a", "b"), renaming("people", None, "a"), renaming("a", "a", "x")])
@example([renaming("people", None, "a"), renaming("a", "a", "b"), renaming("a", None, "people")])
@settings(max_examples=300, deadline=None)
def test_books_and_auditor_agree_on_the_terms_after_any_sequence_of_records(
    records: list[dict[str, Any]],
) -> None:
    terms, audit = AccountTerms.opened(OPENED, 3), TermsAudit()
    assert audit.open(OPENED, 3) is None
    for record in records:
        tried = deepcopy(terms)
        if not accepted(tried, record):
            assert judged(deepcopy(audit), record) is not None, record
            continue
        terms = tried
        assert judged(audit, record) is None, record
        assert terms.public == audit.public
        units = {key.removeprefix("unit of "): text for key, text in terms.known.items()}
        units.pop("neighbours")
        assert {fold(table): unit for table, unit in units.items()} == audit.units
        columns = {(t, c) for t, names in terms.columns.tables.items() for c in names}
        assert columns == audit.columns
        assert terms.renamed_tables == audit.renames.tables
        assert {(table, column or "") for table, column in terms.former} == audit.renames.former


def accepted(terms: AccountTerms, record: dict[str, Any]) -> bool:
    try:
        terms.rename(record) if "to" in record else terms.add(record, 3)
    except (ValueError, KeyError, TypeError):
        return False
    return True


def judged(audit: TermsAudit, record: dict[str, Any]) -> str | None:
    try:
        return audit.rename(record) if "to" in record else audit.take(record, 3)
    except (ValueError, KeyError, TypeError, AttributeError) as wrong:
        return str(wrong)


def test_rows_that_are_protected_by_themselves_are_no_column(
    declare: Callable[..., Policy], tmp_path: Path
) -> None:
    policy = declare({"events": RowUnit()})
    opened(policy).close()
    with pytest.raises(LedgerError) as error:
        rename(policy, "events.row", "line")
    assert error.value.code == "rename_refused"
