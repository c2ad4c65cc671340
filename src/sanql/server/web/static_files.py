"""What pages refer to: styles, scripts and pictures, shipped with San and named by their content."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from sanql.errors import ServerError

_MEDIA = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}
_YEAR = "public, max-age=31536000, immutable"


async def static_file(http: HttpRequest) -> Response:
    """Return a file that pages refer to; its address changes whenever its content does."""
    name = str(http.path_params["name"])
    there = _all()
    if name not in there:
        raise ServerError("route_unknown", "there is nothing at this address", "see /")
    lasting = http.query_params.get("v") == _version(there[name])
    headers = {"cache-control": _YEAR if lasting else "no-cache"}
    return Response(there[name], media_type=_MEDIA[name.rpartition(".")[2]], headers=headers)


def static_address(name: str) -> str:
    """Return the address of a file, with what tells its content."""
    return f"/static/{name}?v={_version(_all()[name])}"


@cache
def _all() -> dict[str, bytes]:
    folder = files("sanql.server.web") / "static"
    return {
        each.name: each.read_bytes()
        for each in folder.iterdir()
        if each.name.rpartition(".")[2] in _MEDIA
    }


def _version(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
