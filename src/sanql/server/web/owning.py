"""The pages of owners: the policy and what its limits cost, and the people who may ask."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from sanql.account import Person, Role, check_declared
from sanql.errors import AccessDenied, Fault, PolicyError, SanqlError
from sanql.options import read_lasting
from sanql.policy import load_with_faults
from sanql.server.http.exchange import queued, service_of
from sanql.server.web.limit_costs import limit_costs
from sanql.server.web.places import EVERYBODY
from sanql.server.web.rendering import page, told
from sanql.server.web.visits import Visit, for_roles

LASTING = "90d"


@for_roles("owner")
async def policy_page(http: HttpRequest, visit: Visit) -> Response:
    """Show the policy that is in force, and what each of its limits costs in noise."""
    text = visit.dataset.text.decode("utf-8", "replace")
    return await _policy_page(http, visit, text)


@for_roles("owner")
async def policy_changed(http: HttpRequest, visit: Visit) -> Response:
    """Check a text that may become the policy, or read the policy's file again; nothing is written."""
    if visit.form.get("action") == "reload":
        reload = partial(service_of(http).datasets.reload, [visit.dataset.name])
        outcome = await asyncio.to_thread(reload)
        now = next(each for each in service_of(http).datasets if each.name == visit.dataset.name)
        text = now.text.decode("utf-8", "replace")
        return await _policy_page(http, replace(visit, dataset=now), text, outcome=outcome)
    text = visit.form.get("policy", "")
    faults = await queued(http, visit.dataset, visit.person, partial(faults_in, text))
    return await _policy_page(http, visit, text, faults=faults)


async def _policy_page(http: HttpRequest, visit: Visit, text: str, **shown: Any) -> Response:
    costs = await queued(http, visit.dataset, visit.person, partial(limit_costs, visit.dataset))
    known: dict[str, Any] = {"faults": None, "outcome": {}, "text": text, "costs": costs}
    return page(visit, "policy.html", **known | shown)


def faults_in(text: str) -> list[Fault]:
    """Return everything that is wrong with the text of a policy; of its data nothing is looked at."""
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "policy.toml"
        written.write_text(text, encoding="utf-8")
        try:
            return load_with_faults(written)[1]
        except PolicyError as error:
            return [
                replace(each, place=each.place.replace(str(written), "the policy"))
                for each in error.faults
            ]


@for_roles("owner")
async def people_page(http: HttpRequest, visit: Visit) -> Response:
    """List everybody who may ask; nothing of a token but its name."""
    people = await queued(http, visit.dataset, visit.person, visit.dataset.people.listed)
    return page(visit, "people.html", **_listed(people))


@for_roles("owner")
async def people_changed(http: HttpRequest, visit: Visit) -> Response:
    """Add somebody, give them a new token, or let them ask no more; a token is shown this once."""
    everybody = await queued(http, visit.dataset, visit.person, visit.dataset.people.listed)
    http.scope["sanql.telling"] = partial(_told, visit, everybody)
    change = partial(_change, visit, visit.form)
    person, token, done = await queued(http, visit.dataset, visit.person, change)
    people = await queued(http, visit.dataset, visit.person, visit.dataset.people.listed)
    shown = {"done": {"name": person.name, "token": token, "what": done}}
    return page(visit, "people.html", **_listed(people) | shown)


def _change(visit: Visit, form: Mapping[str, str]) -> tuple[Person, str, str]:
    """Return whom a form changed, their new token if they have one, and what was done."""
    people, name = visit.dataset.people, form.get("name", "").strip()
    match form.get("action"):
        case "add":
            role = _role(form.get("role", ""))
            check_declared(visit.dataset.policy, name, role)
            lasting, identity = _lasting(form), form.get("identity", "").strip()
            return *people.add(name, role, lasting=lasting, identity=identity), "may come in now"
        case "rotate":
            return *people.rotate(name, lasting=_lasting(form)), "has a new token"
        case "revoke" if name == visit.person.name:
            raise AccessDenied(
                "revokes_oneself",
                f"{name[:40]!r} is who is signed in: an owner does not lock themselves out here",
                f"have another owner do it, or say `sanql user revoke {name[:40]}` on the server",
            )
        case "revoke":
            return people.revoke(name), "", "may not come in any more"
        case action:
            raise AccessDenied(
                "action_unknown",
                f"{str(action)[:40]!r} is nothing that can be done to people",
                "add, rotate or revoke",
            )


def _lasting(form: Mapping[str, str]) -> timedelta | None:
    return read_lasting(form.get("expires", "").strip() or LASTING)


def _role(typed: str) -> Role:
    if typed not in EVERYBODY:
        raise AccessDenied(
            "role_unknown", f"{typed[:40]!r} is no role", f"there are: {', '.join(EVERYBODY)}"
        )
    return typed


def _told(
    visit: Visit, people: list[Person], error: SanqlError
) -> tuple[int, dict[str, str], bytes]:
    """Return the page again with what was typed and what is wrong with it."""
    return told(visit, "people.html", error, **_listed(people) | {"typed": visit.form})


def _listed(people: list[Person]) -> dict[str, Any]:
    now = datetime.now(UTC)
    shown = [{"person": person, "state": person.state(now)} for person in people]
    return {"people": shown, "roles": EVERYBODY, "done": None, "problem": None, "typed": {}}
