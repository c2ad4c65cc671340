"""The routes of owners and officers: the account, its verification, versions, policies read again."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from sanql.account import Person, Role, TextChoice
from sanql.ask import profile_tables
from sanql.audit.ledger import RecordChoice, list_records, verify_account
from sanql.numbers import number_upper
from sanql.options import read_moment
from sanql.server.caller import Caller, check_role
from sanql.server.datasets import Dataset
from sanql.server.http.bodies import (
    check_taken,
    take_epsilon,
    take_numbers,
    take_text,
    take_texts,
)
from sanql.server.http.exchange import (
    body_of,
    caller_of,
    chosen,
    json_reply,
    query_values,
    queued,
    service_of,
    switched,
    whole,
)
from sanql.server.http.reading import profile_shape

_RECORDS_MAX = 10_000
_CHOOSING = ("after", "limit", "questions", "analyst", "since", "last")


async def ledger(http: HttpRequest) -> Response:
    """List the records of the account, checked, from one on; questions with what was asked."""
    caller, values = await caller_of(http), query_values(http, "dataset", *_CHOOSING)
    dataset, person = _overseen(http, caller, values.get("dataset"), "officer", "owner")
    choice = RecordChoice(
        after=whole(values, "after", 0, 10**15),
        limit=whole(values, "limit", 1_000, _RECORDS_MAX),
        questions=switched(values, "questions"),
        analyst=values.get("analyst"),
        since=read_moment(values["since"]) if "since" in values else None,
        last=whole(values, "last", 0, _RECORDS_MAX) if "last" in values else None,
    )

    def listed() -> dict[str, Any]:
        return {
            "dataset": dataset.name,
            "records": list_records(dataset.policy.ledger_place, choice),
        }

    return json_reply(await queued(http, dataset, person, listed))


async def verify(http: HttpRequest) -> Response:
    """Recompute every hash and balance by an independent path."""
    caller, values = await caller_of(http), query_values(http, "dataset")
    dataset, person = _overseen(http, caller, values.get("dataset"), "officer", "owner")

    def verified() -> dict[str, Any]:
        return {"dataset": dataset.name} | verify_account(dataset.policy).to_dict()

    return json_reply(await queued(http, dataset, person, verified))


async def erase(http: HttpRequest) -> Response:
    """Erase what was typed with questions, on record; charges and answers stay."""
    caller, body = await caller_of(http), await body_of(http)
    wanted, analyst = take_text(body, "dataset"), take_text(body, "analyst")
    numbers, before = take_numbers(body, "numbers"), take_text(body, "before")
    check_taken(body, frozenset({"dataset", "numbers", "analyst", "before"}))
    dataset, person = _overseen(http, caller, wanted, "owner")
    choice = TextChoice(numbers, analyst, None if before is None else read_moment(before))

    def erased() -> dict[str, Any]:
        done = dataset.session.ledger.texts.erase(choice, person.name)
        return {"dataset": dataset.name} | done.to_dict()

    return json_reply(await queued(http, dataset, person, erased))


async def profile(http: HttpRequest) -> Response:
    """Take the profile of tables, which is charged to the dataset's account; all may read it then."""
    caller, body = await caller_of(http), await body_of(http)
    wanted = take_text(body, "dataset")
    tables, columns = take_texts(body, "tables"), take_texts(body, "columns")
    dataset, person = _overseen(http, caller, wanted, "owner")
    price = take_epsilon(body)
    check_taken(body, frozenset({"dataset", "tables", "columns", "epsilon"}))

    def taken() -> dict[str, Any]:
        found, unpaid = profile_tables(dataset.session, tables, columns, price, "http")
        charge = {"epsilon": number_upper(unpaid.epsilon), "delta": number_upper(unpaid.delta)}
        shapes = [*map(profile_shape, found)]
        return {"dataset": dataset.name, "charge": charge, "profiles": shapes}

    return json_reply(await queued(http, dataset, person, taken))


async def refresh(http: HttpRequest) -> Response:
    """Open the next version of the data: the owner's word that they are new."""
    caller, body = await caller_of(http), await body_of(http)
    wanted = take_text(body, "dataset")
    check_taken(body, frozenset({"dataset"}))
    dataset, person = _overseen(http, caller, wanted, "owner")

    def refreshed() -> dict[str, Any]:
        return {"dataset": dataset.name, "version": dataset.session.data.refresh().number}

    return json_reply(await queued(http, dataset, person, refreshed))


async def reload(http: HttpRequest) -> Response:
    """Read the policies of the datasets that the caller owns again; of others nothing is said."""
    caller, body = await caller_of(http), await body_of(http)
    check_taken(body, frozenset())
    owned = [name for name, (_, person) in caller.known_to.items() if person.role == "owner"]
    _overseen(http, caller, next(iter(owned or caller.known_to)), "owner")
    again = partial(service_of(http).datasets.reload, owned)
    return json_reply({"policies": await asyncio.to_thread(again)})


def _overseen(
    http: HttpRequest, caller: Caller, wanted: str | None, *roles: Role
) -> tuple[Dataset, Person]:
    dataset, person = chosen(http, caller, wanted)
    check_role(person, *roles)
    return dataset, person
