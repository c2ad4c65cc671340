"""Answers as files: CSV, JSON or Arrow, under names that no question can choose."""

from __future__ import annotations

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from sanql.errors import ServerError
from sanql.server.http.forms import ARROW, CSV, JSON, answer_reply

_FORMS = {"csv": CSV, "json": JSON, "arrow": ARROW}


def form_named(http: HttpRequest) -> str:
    """Return the form that an address asks for."""
    name = http.query_params.get("form", "")
    if name not in _FORMS:
        raise ServerError(
            "form_unknown",
            f"no answer has the form {name[:80]!r}",
            f"there are: {', '.join(_FORMS)}",
        )
    return _FORMS[name]


def download_reply(content: bytes, form: str) -> Response:
    """Return an answer as a file that a browser saves."""
    reply = answer_reply(content, form, {})
    name = next(name for name, each in _FORMS.items() if each == form)
    reply.headers["content-disposition"] = f'attachment; filename="answer.{name}"'
    return reply
