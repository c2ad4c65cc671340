"""One visit to a page: who is signed in, about which dataset, and the form that was sent.

A page is a function of a request and a visit. Whoever is not signed in is sent to sign in first; a form
that was not made for the visitor's own cookie is refused; what goes wrong is told as a page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial, wraps

from starlette.requests import Request as HttpRequest
from starlette.responses import RedirectResponse, Response

from sanql.account import Person, Role
from sanql.errors import AccessDenied, ServerError
from sanql.server.caller import Caller, check_role
from sanql.server.datasets import Dataset
from sanql.server.http.exchange import address_of_client, body_bytes, chosen, service_of
from sanql.server.service import Service
from sanql.server.web.cookies import cookie_of
from sanql.server.web.rendering import problem_page
from sanql.server.web.sessions import WebSession
from sanql.server.web.typed import read_form

Endpoint = Callable[[HttpRequest], Awaitable[Response]]


@dataclass(frozen=True)
class Visit:
    """Whoever looks at a page; `form` has what they sent, without what only tells that it is theirs."""

    cookie: str
    caller: Caller
    dataset: Dataset
    person: Person
    form_token: str
    form: Mapping[str, str]

    @property
    def datasets(self) -> list[str]:
        """The datasets that they may turn to."""
        return [*self.caller.known_to]


Page = Callable[[HttpRequest, Visit], Awaitable[Response]]


def for_roles(*roles: Role) -> Callable[[Page], Endpoint]:
    """Return what makes a page a route that people of some roles may visit."""

    def made(page: Page) -> Endpoint:
        @wraps(page)
        async def visited(http: HttpRequest) -> Response:
            http.scope["sanql.telling"] = partial(problem_page, None)
            form = await form_of(http) if http.method == "POST" else {}
            visit = await visit_of(http, form)
            if visit is None and http.method == "POST":
                raise _session_ended()
            if visit is None:
                return RedirectResponse(f"/sign-in?next={_page_name(http)}", 303)
            http.scope["sanql.telling"] = partial(problem_page, visit)
            check_role(visit.person, *roles)
            return await page(http, visit)

        return visited

    return made


async def form_of(http: HttpRequest) -> dict[str, str]:
    """Return the fields of a form that was made for the cookie it came with; refuse any other."""
    fields = read_form(await body_bytes(http), http.headers.get("content-type", ""))
    text = fields.get("sql", "") or fields.get("policy", "")
    http.scope["sanql.telling"] = partial(problem_page, None, text=text)
    sessions, cookie = service_of(http).web_sessions, cookie_of(http)
    token = fields.pop("form_token", "")
    if cookie is None or not token.isascii() or not sessions.is_own_form(cookie, token):
        raise ServerError(
            "form_foreign",
            "the form was not made for this browser, or its session has ended",
            "open the page again, and send the form from there; cookies have to be allowed",
        )
    return fields


async def visit_of(http: HttpRequest, form: Mapping[str, str]) -> Visit | None:
    """Return whoever visits a page, as their dataset knows them now; None where nobody is signed in."""
    service, cookie = service_of(http), cookie_of(http)
    session = None if cookie is None else service.web_sessions.find(cookie)
    if cookie is None or session is None:
        return None
    said = service.signing_in.credential(http.headers, address_of_client(http)).said_by_proxy
    caller = None
    if said == session.said_by_proxy:
        caller = await asyncio.to_thread(_still, service, session)
    if caller is None:
        service.web_sessions.close(cookie)
        return None
    http.scope["sanql.person"], http.scope["sanql.line"] = caller.name, caller.key
    service.check_rate(caller.key)
    wanted = session.dataset if session.dataset in caller.known_to else next(iter(caller.known_to))
    dataset, person = chosen(http, caller, wanted)
    token = service.web_sessions.form_token(cookie)
    return Visit(cookie, caller, dataset, person, token, form)


def _still(service: Service, session: WebSession) -> Caller | None:
    """Return whom a session stands for, where they may still ask; None where nobody knows them now."""
    known = {}
    for name, person in session.people.items():
        try:
            dataset, now = service.signing_in.still(name, person)
        except AccessDenied:
            continue
        if now.identity == person.identity:
            known[name] = dataset, now
    return Caller(next(iter(known.values()))[1].name, known) if known else None


def _session_ended() -> AccessDenied:
    return AccessDenied(
        "session_ended",
        "you are not signed in any more: the session has ended, or its token has",
        "sign in again; what you have typed is still here, to be copied",
    )


def _page_name(http: HttpRequest) -> str:
    """Return the page to come back to: the first part of an address that is a route here."""
    return http.url.path.split("/")[1]
