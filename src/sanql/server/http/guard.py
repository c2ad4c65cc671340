"""What stands before every route: names, origins, headers that keep browsers strict, and faults.

Whatever goes wrong inside leaves in one shape; of a fault that nobody foresaw only its kind is written
down, and nothing is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route, Router
from starlette.types import Message, Receive, Scope, Send

from sanql.entropy import OsEntropy
from sanql.errors import LedgerError, PolicyError, SanqlError, ServerError
from sanql.server.http.problems import problem_reply
from sanql.server.service import Service
from sanql.server.telling import internal, told_to_analysts

STRICT_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
Headed = dict[str, str]
Telling = Callable[[SanqlError], tuple[int, Headed, bytes]]
"""What makes status, headers and body of an error."""

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_ONCE = (
    "authorization", "content-encoding", "content-type", "idempotency-key", "origin", "sec-fetch-site",
)  # fmt: skip
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?", re.ASCII)


class Guard:
    """The application behind its checks."""

    def __init__(self, router: Router, service: Service, to_browsers: Telling) -> None:
        self._router = router
        self._service = service
        self._to_browsers = to_browsers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._router(scope, receive, send)
            return
        number = OsEntropy().bytes(8).hex()
        scope["app"], scope["sanql.service"] = self, self._service
        sent = _Sent(send, number)
        error: SanqlError | None = None
        try:
            self._check(scope)
            await self._router(scope, receive, sent)
        except (LedgerError, PolicyError) as fault:
            self._service.log("account", request=number, code=fault.code, detail=fault.message)
            overseer = scope.get("sanql.role") in ("owner", "officer")
            error = fault if overseer else told_to_analysts(fault)
        except SanqlError as fault:
            error = fault
        except HTTPException as fault:
            error = _not_found(fault, scope)
            sent.allowed = self._allowed(scope) if fault.status_code == 405 else ""
        except Exception as fault:
            self._service.log("fault", request=number, kind=type(fault).__name__)
            error = internal()
        if error is not None and not sent.status:
            await sent.problem(self._told(scope, error, number))
        self._service.log(
            "request",
            request=number,
            route=_route(scope),
            status=sent.status,
            code=None if error is None else error.code,
            person=scope.get("sanql.person"),
            dataset=scope.get("sanql.dataset"),
        )

    def _told(self, scope: Scope, error: SanqlError, number: str) -> tuple[int, Headed, bytes]:
        """Return an error as it is told; a page that cannot be made is a fault too, told plainly."""
        try:
            return self._telling(scope)(error)
        except Exception as fault:
            self._service.log("fault", request=number, kind=type(fault).__name__)
            return problem_reply(internal())

    def _telling(self, scope: Scope) -> Telling:
        """Return how an error is told: as its route says, or else as whoever asks can read it."""
        of_route: Telling | None = scope.get("sanql.telling")
        reads_pages = "text/html" in Headers(scope=scope).get("accept", "")
        if of_route is None and reads_pages and not scope["path"].startswith("/v1/"):
            return self._to_browsers
        return of_route or problem_reply

    def _allowed(self, scope: Scope) -> str:
        """Return what can be done at an address, of which several routes may be."""
        there = [each for each in self._router.routes if isinstance(each, Route)]
        found = [each for each in there if each.matches(scope)[0] is not Match.NONE]
        return ", ".join(sorted({method for each in found for method in each.methods or ()}))

    def _check(self, scope: Scope) -> None:
        headers, settings = Headers(scope=scope), self._service.settings
        host = headers.getlist("host")
        if len(host) != 1 or host_name(host[0]) not in settings.names:
            raise ServerError(
                "host_unknown",
                "the server is not asked for by a name of its own",
                "use the name that its operator has given out; they list it under hosts",
            )
        proxy = () if settings.proxy is None else (settings.proxy.header,)
        if any(len(headers.getlist(name)) > 1 for name in (*_ONCE, *proxy)):
            raise ServerError("header_twice", "a header is there twice", "send it once")
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if origin is not None and not _is_own(origin, host[0], settings.hosts):
            raise _foreign()
        if scope["method"] not in _SAFE and site not in ("none", "same-origin"):
            raise _foreign()


class _Sent:
    """What is sent, with the headers that every answer has; remembers the status."""

    def __init__(self, send: Send, number: str) -> None:
        self._send = send
        self._number = number
        self.status = 0
        self.allowed = ""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = STRICT_HEADERS | {"x-request-id": self._number}
            there = {name for name, _ in message["headers"]}
            added = [(k.encode(), v.encode()) for k, v in own.items() if k.encode() not in there]
            message = {**message, "headers": [*message["headers"], *added]}
        await self._send(message)

    async def problem(self, told: tuple[int, dict[str, str], bytes]) -> None:
        status, headers, body = told
        headers["content-length"] = str(len(body))
        headers |= {"allow": self.allowed} if self.allowed else {}
        listed = [(name.encode(), value.encode()) for name, value in headers.items()]
        await self({"type": "http.response.start", "status": status, "headers": listed})
        await self({"type": "http.response.body", "body": body})


def _route(scope: Scope) -> str:
    """Return the route that was asked for, as it is declared; never what was typed."""
    endpoint: Any = scope.get("endpoint")
    return f"{scope['method']} {getattr(endpoint, '__name__', 'unknown')}"[:80]


def host_name(authority: str) -> str | None:
    """Return the name in a Host, without its port; None where it is anything else.

    >>> host_name("LocalHost:80"), host_name("[::1]:8080"), host_name("127.0.0.1:80@evil")
    ('localhost', '::1', None)
    """
    found = _HOST.fullmatch(authority.lower())
    return None if found is None else found[1].strip("[]")


def _is_own(origin: str, host: str, hosts: tuple[str, ...]) -> bool:
    """Return whether a page is of this server: asked for under the same name, or one it was given."""
    scheme, _, authority = origin.lower().partition("://")
    own = authority == host.lower() or host_name(authority) in {name.lower() for name in hosts}
    return scheme in ("http", "https") and own


def _not_found(fault: HTTPException, scope: Scope) -> ServerError:
    if fault.status_code == 405:
        return ServerError(
            "method_unknown", f"{scope['method'][:20]} cannot be done here", "see /openapi.json"
        )
    return ServerError("route_unknown", "there is nothing at this address", "see /openapi.json")


def _foreign() -> ServerError:
    return ServerError(
        "origin_foreign",
        "the request comes from a page of another site",
        "ask from a program, or from a page of this server",
    )
