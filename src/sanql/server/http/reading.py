"""The routes that read: datasets, schema, budget, history and certificates. None of them spends."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from sanql.account import Person
from sanql.plan import unit_in_words
from sanql.policy import Column, ListedDomain, Table, TableDomain
from sanql.server.datasets import Dataset
from sanql.server.http.exchange import caller_of, chosen, json_reply, query_values, queued


async def datasets(http: HttpRequest) -> Response:
    """List the datasets that the caller may ask, and as what."""
    caller = await caller_of(http)
    query_values(http)
    return json_reply(
        {
            "person": caller.name,
            "datasets": [
                {"name": dataset.name, "role": person.role}
                for dataset, person in caller.known_to.values()
            ],
        }
    )


async def schema(http: HttpRequest) -> Response:
    """Say what can be asked about: names, types, bounds, domains and limits, as they are declared."""
    dataset, person = await _about(http)

    def described() -> dict[str, Any]:
        policy = dataset.policy
        tables = [_table(table) for table in dataset.session.tables.values()]
        return {"dataset": policy.name, "neighbours": policy.neighbours, "tables": tables}

    return json_reply(await queued(http, dataset, person, described))


async def budget(http: HttpRequest) -> Response:
    """Say what is left: to analysts of the accounts they are shown, to others of all."""
    dataset, person = await _about(http)

    def counted() -> dict[str, Any]:
        session = dataset.session
        own = person.role == "analyst"
        shown = session.balances(person.name) if own else tuple(session.ledger.balances())
        return {"dataset": dataset.name, "accounts": [balance.to_dict() for balance in shown]}

    return json_reply(await queued(http, dataset, person, counted))


async def _about(http: HttpRequest) -> tuple[Dataset, Person]:
    caller = await caller_of(http)
    return chosen(http, caller, query_values(http, "dataset").get("dataset"))


def _table(table: Table) -> dict[str, Any]:
    limits = {
        name: limit
        for name in ("rows_per_unit_max", "rows_per_group_max", "groups_per_unit_max")
        if (limit := getattr(table, name)) is not None
    }
    return {
        "name": table.name,
        "public": table.public,
        "privacy_unit": unit_in_words(table),
        "limits": limits,
        "columns": [_column(column) for column in table.columns.values()],
    }


def _column(column: Column) -> dict[str, Any]:
    shape: dict[str, Any] = {"name": column.name, "type": column.type}
    if column.bounds is not None:
        shape["bounds"] = [_plain(end) for end in column.bounds]
    if column.precision is not None:
        shape["precision"] = _plain(column.precision)
    match column.domain:
        case ListedDomain(values):
            shape["domain"] = [_plain(value) for value in values]
        case TableDomain(table, name):
            shape["domain"] = f"{table}.{name}"
        case None:
            pass
    return shape


def _plain(value: object) -> object:
    """Return what the owner wrote as JSON has it: whole numbers, else exact decimals or texts."""
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    return value if isinstance(value, bool | int | str) else str(value)
