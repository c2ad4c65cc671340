"""The pages before all others: what San is, signing in and out, and turning to another dataset."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request as HttpRequest
from starlette.responses import RedirectResponse, Response

from sanql.errors import AccessDenied, SanqlError
from sanql.server.caller import Caller
from sanql.server.http.exchange import address_of_client, service_of
from sanql.server.signing_in import Credential
from sanql.server.web.cookies import cookie_of, drop_cookie, set_cookie
from sanql.server.web.places import EVERYBODY, place_after
from sanql.server.web.rendering import page, problem_page, told
from sanql.server.web.sessions import new_cookie
from sanql.server.web.visits import Visit, for_roles, form_of, visit_of

_SAID_TO_BROWSERS = (
    "the token is missing, or not one that may ask here",
    "paste the token that the data owner gave you; it may have expired, or been replaced or revoked",
)


async def front(http: HttpRequest) -> Response:
    """Say what San is, in one picture."""
    http.scope["sanql.telling"] = partial(problem_page, None)
    return page(await visit_of(http, {}), "front.html")


async def sign_in_page(http: HttpRequest) -> Response:
    """Show the form that takes a token; a browser without a cookie gets one, by which it is known."""
    http.scope["sanql.telling"] = partial(problem_page, None)
    wanted = http.query_params.get("next", "")
    visit = await visit_of(http, {})
    if visit is not None:
        return RedirectResponse(place_after(wanted, visit.person.role), 303)
    cookie = cookie_of(http)
    kept = cookie or new_cookie()
    reply = page(None, "sign_in.html", **_shown(http, kept, {"next": wanted}))
    if cookie is None:
        set_cookie(http, reply, kept)
    return reply


async def sign_in(http: HttpRequest) -> Response:
    """Open a session for whoever a token is of, under a new cookie."""
    http.scope["sanql.telling"] = partial(problem_page, None)
    form, cookie = await form_of(http), cookie_of(http) or ""
    http.scope["sanql.telling"] = partial(_told, http, cookie, form)
    service = service_of(http)
    credential = _credential(http, form)
    caller, expires = await asyncio.get_running_loop().run_in_executor(
        service.signing_in.threads(credential), _caller, http, credential
    )
    http.scope["sanql.person"] = caller.name
    service.check_rate(caller.key)
    wanted = form.get("dataset", "").strip() or next(iter(caller.known_to))
    dataset, person = caller.dataset(wanted)
    people = {name: known for name, (_, known) in caller.known_to.items()}
    service.web_sessions.close(cookie)
    opened = service.web_sessions.open(
        caller.key, people, credential.said_by_proxy, dataset.name, expires
    )
    reply = RedirectResponse(place_after(form.get("next", ""), person.role), 303)
    set_cookie(http, reply, opened)
    return reply


async def sign_out(http: HttpRequest) -> Response:
    """End a session, here and on the server."""
    http.scope["sanql.telling"] = partial(problem_page, None)
    await form_of(http)
    service_of(http).web_sessions.close(cookie_of(http) or "")
    reply = RedirectResponse("/sign-in", 303)
    drop_cookie(http, reply)
    return reply


@for_roles(*EVERYBODY)
async def choose_dataset(http: HttpRequest, visit: Visit) -> Response:
    """Turn to another dataset that knows the visitor."""
    dataset, person = visit.caller.dataset(visit.form.get("dataset", ""))
    service_of(http).web_sessions.choose(visit.cookie, dataset.name)
    return RedirectResponse(place_after("", person.role), 303)


def _credential(http: HttpRequest, form: Mapping[str, str]) -> Credential:
    """Return what a form brings, or what a trusted proxy says of whoever sends it."""
    address = address_of_client(http)
    said = service_of(http).signing_in.credential(http.headers, address).said_by_proxy
    return Credential("" if said else form.get("token", "").strip(), said, address)


def _caller(http: HttpRequest, credential: Credential) -> tuple[Caller, float]:
    """Return whoever a credential is of, and when it ends by itself."""
    signing_in = service_of(http).signing_in
    try:
        return signing_in.caller(credential), signing_in.expires(credential)
    except AccessDenied as denied:
        raise AccessDenied(denied.code, *_SAID_TO_BROWSERS) from None


def _told(
    http: HttpRequest, cookie: str, form: Mapping[str, str], error: SanqlError
) -> tuple[int, dict[str, str], bytes]:
    """Return the form again, with what was wrong; of a token nothing is sent back."""
    return told(None, "sign_in.html", error, **_shown(http, cookie, form))


def _shown(http: HttpRequest, cookie: str, form: Mapping[str, str]) -> dict[str, Any]:
    service = service_of(http)
    credential = service.signing_in.credential(http.headers, address_of_client(http))
    sign_on = service.settings.sign_on
    return {
        "form_token": service.web_sessions.form_token(cookie),
        "next": form.get("next", ""),
        "dataset": form.get("dataset", ""),
        "said_by_proxy": credential.said_by_proxy,
        "issuer": "" if sign_on is None else urlsplit(sign_on.issuer).netloc,
        "leads_there": sign_on is not None and bool(sign_on.redirect),
    }
