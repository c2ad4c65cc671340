"""Signing in by way of a provider: a link leads there, and what comes back opens a session.

A browser sends the session's own cookie to pages of this site only. So the wish has a cookie of its own,
which comes back from elsewhere too and is good for nothing else; and the page that opens the session
leads on by itself rather than by a redirect, which would still count as another site's.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from starlette.requests import Request as HttpRequest
from starlette.responses import RedirectResponse, Response

from sanql.errors import AccessDenied, ServerError
from sanql.server.caller import Caller
from sanql.server.code_flow import CodeFlow, SignOnWish
from sanql.server.http.exchange import address_of_client, service_of
from sanql.server.signing_in import Credential
from sanql.server.web.cookies import (
    cookie_of,
    drop_wish_cookie,
    set_cookie,
    set_wish_cookie,
    wish_cookie_of,
)
from sanql.server.web.places import PLACES, place_after
from sanql.server.web.rendering import page, problem_page
from sanql.server.web.sessions import new_cookie
from sanql.server.web.visits import visit_of

T = TypeVar("T")
_CODE_LETTERS_MAX = 2_048


async def sign_on(http: HttpRequest) -> Response:
    """Send a browser to the provider; a page of another site cannot have it sent there."""
    http.scope["sanql.telling"] = partial(problem_page, None)
    flow, wanted = _flow(http), http.query_params.get("next", "")
    if http.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return RedirectResponse("/sign-in", 303)
    visit = await visit_of(http, {})
    if visit is not None:
        return RedirectResponse(place_after(wanted, visit.person.role), 303)
    cookie = new_cookie()
    wish = flow.wish(cookie, wanted if wanted in [place.name for place in PLACES] else "")
    address = await _waiting(http, partial(flow.address, wish))
    if address is None:
        raise ServerError(
            "provider_unreachable",
            "the provider that signs people on cannot be reached",
            "try again in a minute, or sign in with a token",
        )
    reply = RedirectResponse(address, 303)
    set_wish_cookie(http, reply, cookie)
    return reply


async def signed_on(http: HttpRequest) -> Response:
    """Open a session for whoever the provider says has come back."""
    http.scope["sanql.telling"] = partial(problem_page, None)
    flow = _flow(http)
    code, wish = _brought(http, flow)
    caller, expires = await _waiting(http, partial(_caller, http, flow, wish, code))
    http.scope["sanql.person"] = caller.name
    service = service_of(http)
    service.check_rate(caller.key)
    dataset, person = next(iter(caller.known_to.values()))
    people = {name: known for name, (_, known) in caller.known_to.items()}
    service.web_sessions.close(cookie_of(http) or "")
    opened = service.web_sessions.open(caller.key, people, "", dataset.name, expires)
    reply = page(None, "signed_on.html", place=place_after(wish.wanted, person.role))
    set_cookie(http, reply, opened)
    drop_wish_cookie(http, reply)
    return reply


def _flow(http: HttpRequest) -> CodeFlow:
    flow = service_of(http).code_flow
    if flow is None:
        raise ServerError("route_unknown", "there is nothing at this address", "see /openapi.json")
    return flow


def _brought(http: HttpRequest, flow: CodeFlow) -> tuple[str, SignOnWish]:
    """Return the code that a browser brings back to its own wish; AccessDenied of anything else."""
    given = {name: http.query_params.getlist(name) for name in ("code", "state", "iss")}
    cookie = wish_cookie_of(http)
    if cookie is None or any(len(values) > 1 for values in given.values()):
        raise _denied()
    code, state, issuer = (next(iter(values), "") for values in given.values())
    wish = flow.own_wish(cookie, state)
    if wish is None or not flow.is_issuer(issuer) or not 0 < len(code) <= _CODE_LETTERS_MAX:
        raise _denied()
    return code, wish


def _caller(http: HttpRequest, flow: CodeFlow, wish: SignOnWish, code: str) -> tuple[Caller, float]:
    """Return whoever a code is of, and until when; failures are rationed as those of tokens are."""
    signing_in, address = service_of(http).signing_in, address_of_client(http)
    signing_in.check_sign_on(address)
    token = flow.token(wish, code)
    word = None if token is None else signing_in.word(token)
    if (
        token is None
        or word is None
        or not hmac.compare_digest(word.nonce.encode(), wish.nonce.encode())
    ):
        signing_in.sign_on_failed(address)
        raise _denied()
    try:
        return signing_in.caller(Credential(token, "", address)), word.expires
    except AccessDenied:
        raise _denied() from None


async def _waiting(http: HttpRequest, act: Callable[[], T]) -> T:
    """Return what comes of something that waits for the provider, apart from everything else."""
    threads = service_of(http).signing_in.waiting
    return await asyncio.get_running_loop().run_in_executor(threads, act)


def _denied() -> AccessDenied:
    return AccessDenied(
        "credential_wrong",
        "signing on did not come to its end, or not for somebody who may ask here",
        "begin again at /sign-in; the data owner says who may ask, with `sanql user add`",
    )
