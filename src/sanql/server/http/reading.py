"""The routes that read: datasets, schema, budget, profiles, history, certificates. None spends."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from sanql.account import Balance, Person
from sanql.ask import history, read_again, recorded_certificate, schema_of
from sanql.profile import Profile
from sanql.server.caller import Caller, check_role
from sanql.server.datasets import Dataset
from sanql.server.http.exchange import (
    caller_of,
    chosen,
    json_reply,
    query_values,
    queued,
    whole,
)
from sanql.server.http.forms import answer_bytes, answer_reply, form_wanted
from sanql.server.questions import unknown_question


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
        shown = shown_balances(dataset, person)
        return {"dataset": dataset.name, "accounts": [balance.to_dict() for balance in shown]}

    return json_reply(await queued(http, dataset, person, counted))


async def profiles(http: HttpRequest) -> Response:
    """List what is known of the units of tables: it was charged for once, and all may read it."""
    dataset, person = await _about(http)

    def known() -> dict[str, Any]:
        found = dataset.session.profiles.now().values()
        return {"dataset": dataset.name, "profiles": [*map(profile_shape, found)]}

    return json_reply(await queued(http, dataset, person, known))


def profile_shape(profile: Profile) -> dict[str, Any]:
    """Return a profile as it is sent, with its words."""
    return profile.to_dict() | {"text": str(profile)}


def shown_balances(dataset: Dataset, person: Person) -> tuple[Balance, ...]:
    """Return the accounts that a person is shown: an analyst some, an owner or officer all."""
    session = dataset.session
    own = person.role == "analyst"
    return session.balances(person.name) if own else tuple(session.ledger.balances())


async def list_history(http: HttpRequest) -> Response:
    """List what the caller has asked and paid for, oldest first."""
    caller, values = await caller_of(http), query_values(http, "dataset", "after", "limit")
    after, most = whole(values, "after", 0, 10**15), whole(values, "limit", 100, 10_000)
    dataset, person = _asker(http, caller, values.get("dataset"))

    def listed() -> dict[str, Any]:
        found = history(dataset.session, person.name, after, most)
        return {"dataset": dataset.name, "questions": [entry.to_dict() for entry in found]}

    return json_reply(await queued(http, dataset, person, listed))


async def read_history(http: HttpRequest) -> Response:
    """Return an answer of the caller's once more; nothing is charged, and no row is read."""
    caller, values = await caller_of(http), query_values(http, "dataset")
    form = form_wanted(http.headers.get("accept", ""))
    dataset, person = _asker(http, caller, values.get("dataset"))
    number, more = question_number(http), {"dataset": dataset.name}

    def read() -> bytes:
        answer = read_again(dataset.session, person.name, number, "http")
        return answer_bytes(answer, form, more | {"question": number})

    return answer_reply(await queued(http, dataset, person, read), form, more)


async def read_certificate(http: HttpRequest) -> Response:
    """Return the certificate that came with an answer of the caller's."""
    caller, values = await caller_of(http), query_values(http, "dataset")
    dataset, person = _asker(http, caller, values.get("dataset"))
    number = question_number(http)

    def read() -> dict[str, Any]:
        return dict(recorded_certificate(dataset.session, person.name, number))

    return json_reply(await queued(http, dataset, person, read))


def _asker(http: HttpRequest, caller: Caller, wanted: str | None) -> tuple[Dataset, Person]:
    dataset, person = chosen(http, caller, wanted)
    check_role(person, "analyst")
    return dataset, person


def question_number(http: HttpRequest) -> int:
    """Return the number of a question in an address; one that is none is as if it were not there."""
    text = str(http.path_params["id"])
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise unknown_question(text)
    return int(text)


async def _about(http: HttpRequest) -> tuple[Dataset, Person]:
    caller = await caller_of(http)
    return chosen(http, caller, query_values(http, "dataset").get("dataset"))
