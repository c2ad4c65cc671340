"""Terms may grow by a private table, on record, and change in no other way; the auditor agrees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from account.forging import forge, forge_opening
from sanql.account import Head, Loss
from sanql.account.charge import Charge
from sanql.account.ledger.ledger import Ledger
from sanql.account.ledger.terms import account_terms
from sanql.audit.ledger import verify
from sanql.errors import LedgerError
from sanql.policy.model import Budget, ColumnUnit, Policy, RowUnit, Table, Unit, ViaUnit

MakePolicy = Callable[..., Policy]
Laplace = Callable[[str], Charge]

TIME = "2026-01-01T00:00:00+00:00"
PEOPLE: dict[str, Unit | None] = {"people": ColumnUnit("person_id")}
CITIES: dict[str, Unit | None] = {"cities": None}
VISITS: dict[str, Unit | None] = {"visits": ColumnUnit("person_id")}
ROWS: dict[str, Unit | None] = {"events": RowUnit()}


@pytest.fixture
def declare(make_policy: MakePolicy) -> Callable[..., Policy]:
    """A policy with these tables; None stands for a public one."""

    def make(*tables: dict[str, Unit | None], **changes: Any) -> Policy:
        units = {name: unit for each in tables for name, unit in each.items()}
        return make_policy(
            tables={name: Table(name, unit, {}) for name, unit in units.items()}, **changes
        )

    return make


def opened(policy: Policy) -> Ledger:
    return Ledger.open(policy, account_terms(policy))


def charge(policy: Policy, laplace: Laplace, digest: str) -> None:
    with opened(policy) as ledger:
        ledger.reserve("ana", digest * 64, laplace("0.125"))


def kinds(policy: Policy) -> list[str]:
    with opened(policy) as ledger:
        return [record.kind for record in ledger.records()]


def refused(policy: Policy) -> str:
    """Return why a policy cannot go on; trying twice changes nothing."""
    for _ in range(2):
        with pytest.raises(LedgerError) as error:
            opened(policy)
        assert error.value.code == "ledger_terms"
    return error.value.message


GROWN: dict[str, tuple[dict[str, Unit | None], dict[str, Unit | None]]] = {
    "the same column": (PEOPLE, VISITS),
    "the same column, spelled with capitals": (PEOPLE, {"visits": ColumnUnit("Person_ID")}),
    "a reference to a table that is there": (PEOPLE, {"bills": ViaUnit("pid", "people", "id")}),
    "two at once, one through the other": (
        PEOPLE,
        {**VISITS, "bills": ViaUnit("visit", "visits", "id")},
    ),
    "the column at the end of a chain": (
        {**VISITS, "bills": ViaUnit("visit", "visits", "id")},
        {"people": ColumnUnit("person_id")},
    ),
    "rows that are protected by themselves": (ROWS, {"logs": RowUnit()}),
    "a first private table": (CITIES, PEOPLE),
    "a public table besides": (PEOPLE, {**VISITS, **CITIES}),
}


@pytest.mark.slow
@pytest.mark.parametrize(("before", "more"), GROWN.values(), ids=list(GROWN))
@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_a_private_table_joins_with_a_charge_and_what_was_spent_stays_spent(
    before: dict[str, Unit | None],
    more: dict[str, Unit | None],
    neighbours: str,
    declare: Callable[..., Policy],
    laplace: Laplace,
) -> None:
    first = declare(before, neighbours=neighbours)
    longer = declare(before, more, neighbours=neighbours)
    charge(first, laplace, "a")
    charge(longer, laplace, "b")
    charge(longer, laplace, "c")
    with opened(longer) as ledger:
        assert ledger.balances()[0].spent_upper.epsilon * 8 == 3
        added = [record.content for record in ledger.records() if record.kind == "tables"]
    private = {name: unit for each in added for name, unit in _units(each).items()}
    assert set(private) == {name for name, unit in more.items() if unit is not None}
    found = verify(first.ledger)
    assert found.sound, found.fault
    charge(first, laplace, "d")  # a policy may leave tables out again: they stay among the terms
    charge(longer, laplace, "e")
    assert kinds(longer).count("tables") == len(added)


def _units(content: dict[str, object]) -> dict[str, str]:
    units = content["private"]
    assert isinstance(units, dict)
    return units


OTHERWISE: dict[str, tuple[dict[str, Unit | None], dict[str, Unit | None], str]] = {
    "another column": (
        PEOPLE,
        {**PEOPLE, "visits": ColumnUnit("household")},
        "unit of visits is household, and was not there; no table of the account has that unit",
    ),
    "rows beside people": (PEOPLE, {**PEOPLE, **ROWS}, "unit of events is row, and was not there"),
    "people beside rows": (ROWS, {**ROWS, **PEOPLE}, "unit of people is person_id, and was not"),
    "a chain that ends elsewhere": (
        PEOPLE,
        {**PEOPLE, "homes": ColumnUnit("home"), "bills": ViaUnit("home_id", "homes", "id")},
        "unit of bills is home_id = homes.id: home, and was not there",
    ),
    "a column whose name is the end of the unit's": (
        {"people": ColumnUnit("the person: id")},
        {"people": ColumnUnit("the person: id"), "visits": ColumnUnit("id")},
        "unit of visits is id, and was not there",
    ),
    "the unit of a table that is there": (
        PEOPLE,
        {"people": ColumnUnit("household")},
        "unit of people is household, and was person_id",
    ),
    "another key of the reference": (
        {**PEOPLE, "bills": ViaUnit("pid", "people", "id")},
        {**PEOPLE, "bills": ViaUnit("pid", "people", "number")},
        "unit of bills is pid = people.number: person_id, and was pid = people.id: person_id",
    ),
    "a table that was public": (
        {**PEOPLE, **CITIES},
        {**PEOPLE, "cities": ColumnUnit("person_id")},
        "unit of cities is person_id, and was public",
    ),
    "a table that was public, spelled otherwise": (
        {**PEOPLE, **CITIES},
        {**PEOPLE, "Cities": ColumnUnit("person_id")},
        "unit of Cities is person_id, and was public",
    ),
    "a private table that is public now": (
        PEOPLE,
        {"people": None, **VISITS},
        "people is public, and was private",
    ),
    "a private table that is public now, spelled otherwise": (
        {**PEOPLE, **VISITS},
        {**VISITS, "PEOPLE": None},
        "PEOPLE is public, and was private",
    ),
}


@pytest.mark.parametrize(("before", "after", "why"), OTHERWISE.values(), ids=list(OTHERWISE))
def test_terms_change_in_no_other_way(
    before: dict[str, Unit | None],
    after: dict[str, Unit | None],
    why: str,
    declare: Callable[..., Policy],
    laplace: Laplace,
) -> None:
    policy = declare(before)
    charge(policy, laplace, "a")
    records = kinds(policy)
    assert why in refused(declare(after))
    assert kinds(policy) == records


def test_neighbours_and_names_stay_as_they_are_though_a_table_joins(
    declare: Callable[..., Policy], laplace: Laplace
) -> None:
    charge(declare(PEOPLE), laplace, "a")
    longer = declare(PEOPLE, VISITS)
    assert "neighbours is change-one" in refused(replace(longer, neighbours="change-one"))
    assert "dataset is clinic" in refused(replace(longer, name="clinic"))


def test_a_table_that_joined_and_was_left_out_does_not_come_back_public_or_otherwise(
    declare: Callable[..., Policy], laplace: Laplace
) -> None:
    charge(declare(PEOPLE), laplace, "a")
    charge(declare(PEOPLE, VISITS), laplace, "b")
    charge(declare(PEOPLE), laplace, "c")
    assert "visits is public" in refused(declare(PEOPLE, {"visits": None}))
    assert "was person_id" in refused(declare(PEOPLE, {"visits": ViaUnit("p", "people", "id")}))


def test_a_table_that_was_public_once_and_left_out_never_becomes_private(
    declare: Callable[..., Policy],
) -> None:
    opened(declare(PEOPLE)).close()
    opened(declare(PEOPLE, {"visits": None})).close()  # nothing charged: public rows are free
    opened(declare(PEOPLE)).close()
    assert "unit of visits is person_id, and was public" in refused(declare(PEOPLE, VISITS))


def test_a_private_table_that_was_only_tried_holds_nobody_to_it(
    declare: Callable[..., Policy], laplace: Laplace
) -> None:
    charge(declare(PEOPLE), laplace, "a")
    opened(declare(PEOPLE, VISITS)).close()
    charge(declare(PEOPLE, {"visits": ViaUnit("p", "people", "id")}), laplace, "b")
    assert "was p = people.id" in refused(declare(PEOPLE, VISITS))


def test_of_two_that_hold_the_ledger_open_with_contrary_tables_the_later_charge_is_refused(
    declare: Callable[..., Policy], laplace: Laplace
) -> None:
    charge(declare(PEOPLE), laplace, "a")
    with opened(declare(PEOPLE, VISITS)) as one:
        with opened(declare(PEOPLE, {"visits": None})):
            pass  # another process calls it public, and may have shown its rows
        with pytest.raises(LedgerError) as error:
            one.reserve("ana", "b" * 64, laplace("0.125"))
        assert error.value.code == "ledger_terms"
    assert verify(declare(PEOPLE).ledger).sound


def test_a_ledger_that_does_not_say_what_was_public_takes_no_private_table(
    declare: Callable[..., Policy], laplace: Laplace
) -> None:
    policy = declare(PEOPLE)
    opening = {"dataset": policy.name, "terms": account_terms(policy)}
    forge_opening(policy, opening | {"format": 1})
    charge(policy, laplace, "a")
    assert "does not say which tables were public" in refused(declare(PEOPLE, VISITS))
    charge(declare(PEOPLE, CITIES), laplace, "b")  # a public one as ever, without a record
    assert "tables" not in kinds(policy)
    assert verify(policy.ledger).sound


FORGED: dict[str, dict[str, object]] = {
    "another unit": {"private": {"visits": "household"}, "public": [], "time": TIME},
    "a table that is private already": {
        "private": {"People": "person_id"},
        "public": [],
        "time": TIME,
    },
    "a table that was public": {"private": {"Cities": "person_id"}, "public": [], "time": TIME},
    "a private table as public": {"private": {}, "public": ["people"], "time": TIME},
    "one table as both": {"private": {"visits": "person_id"}, "public": ["Visits"], "time": TIME},
    "one table twice": {
        "private": {"visits": "person_id", "Visits": "person_id"},
        "public": [],
        "time": TIME,
    },
    "nothing": {"private": {}, "public": [], "time": TIME},
    "no time": {"private": {"visits": "person_id"}, "public": []},
    "a word too many": {"private": {"visits": "person_id"}, "public": [], "time": TIME, "x": 1},
    "a unit that is no text": {"private": {"visits": 1}, "public": [], "time": TIME},
}


@pytest.mark.parametrize("content", FORGED.values(), ids=list(FORGED))
def test_a_record_of_tables_that_may_not_join_is_damage_to_the_books_and_to_the_auditor(
    content: dict[str, object], declare: Callable[..., Policy], laplace: Laplace
) -> None:
    policy = declare(PEOPLE, CITIES)
    charge(policy, laplace, "a")
    sequence = forge(policy, "tables", content | {"columns": {}})
    found = verify(policy.ledger)
    assert found.fault is not None
    assert found.fault.sequence == sequence
    with pytest.raises(LedgerError) as error:
        opened(policy)
    assert error.value.code == "ledger_damaged"


def test_a_true_record_of_tables_is_sound_to_both(
    declare: Callable[..., Policy], laplace: Laplace
) -> None:
    policy = declare(PEOPLE, CITIES)
    charge(policy, laplace, "a")
    joining: dict[str, object] = {"private": {"visits": "person_id"}, "public": ["b"]}
    forge(policy, "tables", joining | {"columns": {}, "time": TIME})
    assert verify(policy.ledger).sound
    charge(declare(PEOPLE, CITIES, VISITS), laplace, "b")


def test_charges_taken_over_from_another_account_end_what_is_known_of_public_tables(
    declare: Callable[..., Policy], laplace: Laplace, tmp_path: Path
) -> None:
    policy = declare(PEOPLE)
    charge(policy, laplace, "a")
    with opened(policy) as ledger:
        ledger.owner.claim(tmp_path, [])
    merged: dict[str, object] = {"account": "f" * 32, "charges": [], "hash": "0" * 64}
    forge(policy, "merge", merged | {"sequence": 2, "time": TIME})
    assert "does not say which tables were public" in refused(declare(PEOPLE, VISITS))
    assert verify(policy.ledger).sound
    joining: dict[str, object] = {"private": {"visits": "person_id"}, "public": []}
    forge(policy, "tables", joining | {"columns": {}, "time": TIME})
    assert not verify(policy.ledger).sound


def test_records_that_are_missing_end_what_is_known_of_public_tables(
    declare: Callable[..., Policy], laplace: Laplace
) -> None:
    policy = declare(PEOPLE)
    charge(policy, laplace, "a")
    with opened(policy) as ledger:
        newest = [*ledger.records()][-1]
        kept, lost = Head(newest.sequence, newest.hash), Head(newest.sequence + 5, "0" * 64)
        nothing = Budget(Fraction(0), Fraction(0))
        ledger.owner.accept_loss(Loss(kept, (lost,), (), nothing, "a disk", "olga", TIME))
    assert "does not say which tables were public" in refused(declare(PEOPLE, VISITS))
    charge(policy, laplace, "b")
    assert verify(policy.ledger).sound
    joining: dict[str, object] = {"private": {"visits": "person_id"}, "public": []}
    forge(policy, "tables", joining | {"columns": {}, "time": TIME})
    assert not verify(policy.ledger).sound
