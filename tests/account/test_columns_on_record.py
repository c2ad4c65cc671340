"""Columns are on record: listed when a ledger is opened, joined with a charge, never taken off."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from account.forging import forge, forge_opening
from sanql.account.charge import Charge
from sanql.account.ledger.ledger import Ledger
from sanql.account.ledger.terms import account_terms
from sanql.audit.ledger import verify
from sanql.errors import LedgerError
from sanql.policy import load
from sanql.policy.model import Column, ColumnUnit, Policy, Table

MakePolicy = Callable[..., Policy]
Laplace = Callable[[str], Charge]
Listed = Mapping[str, list[str]]

TIME = "2026-01-01T00:00:00+00:00"
FORMATS = Path(__file__).parent / "fixtures"


@pytest.fixture
def declare(make_policy: MakePolicy) -> Callable[..., Policy]:
    """A policy whose tables have these columns; people are private, and all others public."""

    def make(listed: Mapping[str, str], **changes: Any) -> Policy:
        tables = {}
        for name, columns in listed.items():
            unit = ColumnUnit("person_id") if name.casefold() in ("people", "visits") else None
            declared = {column: Column(column, "integer") for column in columns.split()}
            tables[name] = Table(name, unit, declared)
        return make_policy(tables=tables, **changes)

    return make


def opened(policy: Policy) -> Ledger:
    return Ledger.open(policy, account_terms(policy))


def charge(policy: Policy, laplace: Laplace, digest: str = "a", epsilon: str = "0.125") -> None:
    with opened(policy) as ledger:
        ledger.reserve("ana", digest * 64, laplace(epsilon))


def columns_in(policy: Policy) -> list[object]:
    """Return what each record says of columns, oldest first."""
    with opened(policy) as ledger:
        contents = [record.content for record in ledger.records()]
    return [content["columns"] for content in contents if "columns" in content]


def test_the_first_record_lists_the_declared_columns_of_every_table(
    declare: Callable[..., Policy],
) -> None:
    policy = declare({"people": "sex age", "cities": "name", "bare": ""})
    opened(policy).close()
    assert columns_in(policy) == [{"people": ["age", "sex"], "cities": ["name"]}]
    assert verify(policy.ledger).sound


def test_a_column_joins_with_a_charge_not_before_and_once(
    declare: Callable[..., Policy], laplace: Laplace
) -> None:
    first, longer = declare({"people": "age"}), declare({"people": "age sex", "cities": "name"})
    charge(first, laplace, "a")
    opened(longer).close()  # public tables join at once, as what they hold is shown for free
    assert columns_in(longer)[1:] == [{"cities": ["name"]}]
    charge(longer, laplace, "b")
    charge(longer, laplace, "c")
    assert columns_in(longer)[2:] == [{"people": ["sex"]}]
    with opened(longer) as ledger:
        assert ledger.balances()[0].spent_upper.epsilon * 8 == 3
    assert verify(longer.ledger).sound


def test_a_column_that_leaves_stays_on_record_and_comes_back_without_another_record(
    declare: Callable[..., Policy], laplace: Laplace
) -> None:
    longer = declare({"people": "age sex"})
    charge(longer, laplace, "a")
    charge(declare({"people": "age"}), laplace, "b")
    charge(declare({"People": "AGE Sex"}), laplace, "c")
    assert columns_in(longer) == [{"people": ["age", "sex"]}]


def test_the_columns_of_a_private_table_join_with_it(
    declare: Callable[..., Policy], laplace: Laplace
) -> None:
    charge(declare({"people": "age"}), laplace, "a")
    longer = declare({"people": "age", "visits": "day cost"})
    charge(longer, laplace, "b")
    assert columns_in(longer)[1:] == [{"visits": ["cost", "day"]}]


def test_a_charge_that_is_refused_puts_no_column_on_record(
    declare: Callable[..., Policy], laplace: Laplace
) -> None:
    charge(declare({"people": "age"}), laplace, "a")
    longer = declare({"people": "age sex"})
    with opened(longer) as ledger, pytest.raises(Exception, match="costs epsilon 100"):
        ledger.reserve("ana", "b" * 64, laplace("100"))
    assert len(columns_in(longer)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("which", ["format_1/pure", "format_2/renyi"])
def test_a_ledger_of_an_earlier_format_gets_its_columns_with_its_next_charge_and_not_before(
    which: str, tmp_path: Path, laplace: Laplace
) -> None:
    town = Path(shutil.copytree(FORMATS / which, tmp_path / "town"))
    policy = load(town / "policy.toml")
    assert columns_in(policy) == []
    charge(policy, laplace, epsilon="0.01")
    assert columns_in(policy) == [{"people": ["region", "score", "street"]}]
    assert verify(policy.ledger).sound


def test_where_nobody_knows_what_was_public_the_columns_of_private_tables_alone_are_listed(
    declare: Callable[..., Policy], laplace: Laplace
) -> None:
    policy = declare({"people": "age", "cities": "name"})
    forge_opening(policy, {"dataset": policy.name, "terms": account_terms(policy), "format": 1})
    charge(policy, laplace)
    assert columns_in(policy) == [{"people": ["age"]}]
    assert verify(policy.ledger).sound


FORGED: dict[str, object] = {
    "of a table that nobody declared": {"bills": ["cost"]},
    "on record already": {"people": ["age"]},
    "on record already, spelled otherwise": {"PEOPLE": ["Age"]},
    "twice": {"people": ["sex", "Sex"]},
    "of a table twice": {"people": ["sex"], "People": ["zip"]},
    "none": {"people": []},
    "not in a list": {"people": "sex"},
    "not named": {"people": [1]},
    "not by table": ["people"],
    "nothing at all": {},
}


@pytest.mark.parametrize("columns", FORGED.values(), ids=list(FORGED))
def test_columns_that_cannot_join_are_damage_to_the_books_and_to_the_auditor(
    columns: object, declare: Callable[..., Policy], laplace: Laplace
) -> None:
    policy = declare({"people": "age"})
    charge(policy, laplace)
    content = {"private": {}, "public": [], "columns": columns, "time": TIME}
    is_damage(policy, forge(policy, "tables", content))


@pytest.mark.parametrize("columns", [{"bills": ["cost"]}, {"people": ["a", "A"]}, None])
def test_a_first_record_with_columns_that_make_no_sense_or_without_is_damage_to_both(
    columns: object, declare: Callable[..., Policy]
) -> None:
    policy = declare({"people": "age"})
    first = {"dataset": policy.name, "terms": account_terms(policy), "public": [], "format": 3}
    forge_opening(policy, first | ({} if columns is None else {"columns": columns}))
    is_damage(policy, 1)


@pytest.mark.parametrize("written", [1, 2])
def test_columns_in_a_format_that_has_none_are_damage_to_both(
    written: int, declare: Callable[..., Policy]
) -> None:
    policy = declare({"people": "age"})
    first = {"dataset": policy.name, "terms": account_terms(policy), "format": written}
    public = {"public": []} if written > 1 else {}
    forge_opening(policy, first | public | {"columns": {"people": ["age"]}})
    is_damage(policy, 1)


def is_damage(policy: Policy, sequence: int) -> None:
    found = verify(policy.ledger)
    assert found.fault is not None
    assert found.fault.sequence == sequence
    with pytest.raises(LedgerError) as error:
        opened(policy)
    assert error.value.code == "ledger_damaged"
