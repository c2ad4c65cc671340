"""One exchange over HTTP: whose it is, what it asks for, and the reply, computed away from the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from sanql.account import Person
from sanql.errors import ServerError
from sanql.server.caller import Caller
from sanql.server.datasets import Dataset
from sanql.server.http.bodies import read_body
from sanql.server.service import Service
from sanql.visible import json_text

T = TypeVar("T")
JSON = "application/json"


def service_of(request: Request) -> Service:
    """Return the server's state."""
    service: Service = request.scope["sanql.service"]
    return service


async def caller_of(request: Request) -> Caller:
    """Return whoever a request is from; AccessDenied where that is nobody."""
    service = service_of(request)
    credential = service.signing_in.credential(request.headers, address_of_client(request))
    caller = service.signing_in.caller_at_hand(credential)
    if caller is None:
        caller = await asyncio.get_running_loop().run_in_executor(
            service.signing_in.threads(credential), service.signing_in.caller, credential
        )
    request.scope["sanql.person"], request.scope["sanql.line"] = caller.name, caller.key
    service.check_rate(caller.key)
    return caller


def address_of_client(request: Request) -> str:
    """Return where a request comes from."""
    return request.client.host if request.client is not None else ""


def chosen(request: Request, caller: Caller, wanted: str | None) -> tuple[Dataset, Person]:
    """Return the dataset that a request is about, and the caller as it knows them."""
    dataset, person = caller.dataset(wanted)
    request.scope["sanql.dataset"], request.scope["sanql.role"] = dataset.name, person.role
    return dataset, person


async def body_of(request: Request) -> dict[str, Any]:
    """Return the object in a request's body."""
    return read_body(await body_bytes(request), request.headers.get("content-type", ""))


async def body_bytes(request: Request) -> bytes:
    """Return a request's body, which is sent as it is and no larger than it may be."""
    encoding = request.headers.get("content-encoding", "identity")
    if encoding.strip().lower() != "identity":
        raise ServerError(
            "body_form",
            f"the body is encoded as {encoding[:80]!r}",
            "send it as it is, without Content-Encoding",
        )
    most = service_of(request).settings.limits.body_bytes
    declared = request.headers.get("content-length", "0")
    if not (declared.isascii() and declared.isdecimal()) or int(declared) > most:
        raise _too_large(most)
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise _too_large(most)
            parts.append(part)
    except ClientDisconnect:
        raise ServerError("body_cut", "the body ended before its end", "send all of it") from None
    return b"".join(parts)


def query_values(request: Request, *known: str) -> dict[str, str]:
    """Return what stands behind the ? of an address; refuse what is not understood, or there twice."""
    values: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name not in known or name in values:
            raise ServerError(
                "query_invalid",
                f"{name[:60]!r} is not understood in the address, or is there twice",
                f"there are: {', '.join(known) or 'none'}",
            )
        values[name] = value
    return values


def whole(values: dict[str, str], name: str, default: int, most: int) -> int:
    """Return a whole number from an address."""
    text = values.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) <= 16) or int(text) > most:
        raise ServerError(
            "query_invalid",
            f"{name} = {text[:40]!r} is no whole number up to {most:,}",
            f"write, for example, {name}={default}",
        )
    return int(text)


def switched(values: dict[str, str], name: str) -> bool:
    """Return whether something is wanted that an address may say: true or false."""
    text = values.get(name, "false")
    if text not in ("true", "false"):
        raise ServerError(
            "query_invalid",
            f"{name} = {text[:40]!r} is neither true nor false",
            f"write {name}=true",
        )
    return text == "true"


async def queued(request: Request, dataset: Dataset, person: Person, act: Callable[[], T]) -> T:
    """Return what something gives that is done in its person's turn, whoever still waits for it."""
    service = service_of(request)
    future = service.queue.submit(line_of(request), partial(_in_use, dataset, act))
    return await waited_for(future)


async def waited_for(future: Future[T]) -> T:
    """Return what comes of something, which goes on when nobody waits for it any more."""
    return await asyncio.shield(asyncio.wrap_future(future))


def line_of(request: Request) -> str:
    """Return the name of the caller's line in the queue: one, however many datasets they may ask."""
    line: str = request.scope["sanql.line"]
    return line


def _in_use(dataset: Dataset, act: Callable[[], T]) -> T:
    with dataset.used():
        return act()


def json_reply(shape: object, status: int = 200, **headers: str) -> Response:
    """Return plain data as a reply."""
    return Response(json_text(shape, allow_nan=False), status, headers, media_type=JSON)


def _too_large(most: int) -> ServerError:
    return ServerError(
        "body_too_large", f"the body has more than {most:,} bytes", "send a shorter question"
    )
