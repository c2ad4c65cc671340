"""What a form sends, read strictly: each field once, no more than there may be."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl

from sanql.errors import ServerError

_FIELDS_MAX = 32
_MEDIA = "application/x-www-form-urlencoded"


def read_form(body: bytes, media: str) -> dict[str, str]:
    """Return the fields of a form; lines end as they do in files."""
    if media.partition(";")[0].strip().lower() != _MEDIA:
        raise _unreadable("is not what a form of these pages sends")
    try:
        text = body.decode("ascii")
        pairs = parse_qsl(
            text, keep_blank_values=True, strict_parsing=bool(text), errors="strict",
            max_num_fields=_FIELDS_MAX,
        )  # fmt: skip
    except ValueError:
        raise _unreadable("cannot be read as fields of a form") from None
    fields: dict[str, str] = {}
    for name, value in pairs:
        if name in fields:
            raise _unreadable(f"has {name[:40]!r} twice")
        fields[name] = value.replace("\r\n", "\n")
    return fields


def filled(fields: Mapping[str, str], *names: str) -> dict[str, str]:
    """Return those of some fields that are not empty."""
    return {name: fields[name].strip() for name in names if fields.get(name, "").strip()}


def _unreadable(what: str) -> ServerError:
    return ServerError("form_invalid", f"the form {what}", "go back to the page, and send it again")
