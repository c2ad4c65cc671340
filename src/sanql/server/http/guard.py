"""What stands before every route: names, origins, headers that keep browsers strict, and faults.

Whatever goes wrong inside leaves in one shape; of a fault that nobody foresaw only its kind is written
down, and nothing is told.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sanql.entropy import OsEntropy
from sanql.errors import LedgerError, PolicyError, SanqlError, ServerError
from sanql.server.http.problems import account_unusable, internal, problem_reply
from sanql.server.service import Service

STRICT_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Guard:
    """The application behind its checks."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        number = OsEntropy().bytes(8).hex()
        scope["app"], scope["sanql.service"] = self, self._service
        sent = _Sent(send, number)
        error: SanqlError | None = None
        try:
            self._check(scope)
            await self._app(scope, receive, sent)
        except (LedgerError, PolicyError) as fault:
            self._service.log("account", request=number, code=fault.code, detail=fault.message)
            overseer = scope.get("sanql.role") in ("owner", "officer")
            error = fault if overseer else account_unusable(fault)
        except SanqlError as fault:
            error = fault
        except HTTPException as fault:
            error = _not_found(fault, scope)
        except Exception as fault:
            self._service.log("fault", request=number, kind=type(fault).__name__)
            error = internal()
        if error is not None and not sent.status:
            await sent.problem(error)
        self._service.log(
            "request",
            request=number,
            route=_route(scope),
            status=sent.status,
            code=None if error is None else error.code,
            person=scope.get("sanql.person"),
            dataset=scope.get("sanql.dataset"),
        )

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        names = self._service.settings.names
        if len(headers.getlist("host")) != 1 or _host(headers["host"]) not in names:
            raise ServerError(
                "host_unknown",
                "the server is not asked for by a name of its own",
                "use the name that its operator has given out; they list it under hosts",
            )
        if len(headers.getlist("authorization")) > 1 or len(headers.getlist("content-type")) > 1:
            raise ServerError("header_twice", "a header is there twice", "send it once")
        origin = headers.get("origin")
        if origin is not None and _host(urlsplit(origin).netloc) not in names:
            raise _foreign()
        site = headers.get("sec-fetch-site", "none")
        if scope["method"] not in _SAFE and site not in ("none", "same-origin"):
            raise _foreign()


class _Sent:
    """What is sent, with the headers that every answer has; remembers the status."""

    def __init__(self, send: Send, number: str) -> None:
        self._send = send
        self._number = number
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = STRICT_HEADERS | {"x-request-id": self._number}
            there = {name for name, _ in message["headers"]}
            added = [(k.encode(), v.encode()) for k, v in own.items() if k.encode() not in there]
            message = {**message, "headers": [*message["headers"], *added]}
        await self._send(message)

    async def problem(self, error: SanqlError) -> None:
        status, headers, body = problem_reply(error)
        headers["content-length"] = str(len(body))
        listed = [(name.encode(), value.encode()) for name, value in headers.items()]
        await self({"type": "http.response.start", "status": status, "headers": listed})
        await self({"type": "http.response.body", "body": body})


def _route(scope: Scope) -> str:
    """Return the route that was asked for, as it is declared; never what was typed."""
    endpoint: Any = scope.get("endpoint")
    return f"{scope['method']} {getattr(endpoint, '__name__', 'unknown')}"[:80]


def _host(netloc: str) -> str:
    """Return the name in a Host or Origin, without its port.

    >>> _host("LocalHost:80"), _host("[::1]:8080"), _host("127.0.0.1")
    ('localhost', '::1', '127.0.0.1')
    """
    if netloc.startswith("["):
        return netloc[1:].partition("]")[0].lower()
    return netloc.partition(":")[0].lower()


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
