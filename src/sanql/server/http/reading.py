"""The routes that read: datasets, schema, budget, history and certificates. None of them spends."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from sanql.account import Person
from sanql.ask import schema_of
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
        return schema_of(dataset.session).to_dict()

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
