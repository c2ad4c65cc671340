"""Answers in the forms that are asked for: JSON, CSV, Arrow; long public ones a part at a time."""

from __future__ import annotations

import io
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import Any

from starlette.responses import Response, StreamingResponse

from sanql.ask import SpooledAnswer
from sanql.errors import ServerError
from sanql.results import Answer, ExactAnswer
from sanql.visible import json_text

JSON, CSV, ARROW = "application/json", "text/csv", "application/vnd.apache.arrow.stream"
FORMS = (JSON, CSV, ARROW)
_KEPT_MAX = 8 * 1024 * 1024
_NO_ROWS = '"rows": []'


def form_wanted(accept: str) -> str:
    """Return the first form that is accepted and known.

    >>> form_wanted("text/csv;q=0.9, */*"), form_wanted("*/*"), form_wanted("")
    ('text/csv', 'application/json', 'application/json')
    """
    for part in accept.split(",") if accept.strip() else ["*/*"]:
        media = part.partition(";")[0].strip().lower()
        if media in FORMS:
            return media
        if media in ("*/*", "application/*", "application/problem+json"):
            return JSON
        if media == "text/*":
            return CSV
    raise ServerError(
        "form_unknown", f"no answer has the form {accept[:80]!r}", f"there are: {', '.join(FORMS)}"
    )


def answer_bytes(answer: Answer | ExactAnswer, form: str, more: dict[str, Any]) -> bytes:
    """Return an answer in a form; JSON has `more` besides."""
    match form:
        case "text/csv":
            return answer.to_csv().encode()
        case "application/vnd.apache.arrow.stream":
            return b"".join(_arrow([answer]))
        case _:
            return json_text(answer.to_dict() | more, allow_nan=False).encode("ascii")


def answer_reply(content: bytes | SpooledAnswer, form: str, more: dict[str, Any]) -> Response:
    """Return the reply with an answer; one that is on disk is sent as it is read."""
    media = form if form != CSV else "text/csv; charset=utf-8"
    if isinstance(content, bytes):
        return Response(content, media_type=media)
    return StreamingResponse(_streamed(content, form, more), media_type=media)


def batch_bytes(answers: Sequence[bytes], form: str, more: dict[str, Any]) -> bytes:
    """Return answers in a form as one: a list of them, tables apart by an empty line, or streams."""
    match form:
        case "text/csv":
            return b"\n".join(answers)
        case "application/vnd.apache.arrow.stream":
            return b"".join(answers)
        case _:
            rest = json_text(more, allow_nan=False).encode("ascii")
            return b'{"answers": [' + b", ".join(answers) + b"], " + rest[1:]


def kept_bytes(content: bytes | SpooledAnswer, more: dict[str, Any], form: str = JSON) -> bytes:
    """Return an answer that is kept for later or sent with others; long rows of public tables are not."""
    if isinstance(content, bytes):
        return content
    parts, size = [], 0
    with closing(_streamed(content, form, more)) as streamed:
        for part in streamed:
            parts.append(part)
            size += len(part)
            if size > _KEPT_MAX:
                raise ServerError(
                    "answer_too_large",
                    "rows of public tables are too many to be kept for later or to be sent with "
                    "other answers; nothing was charged",
                    "ask with POST /v1/query, which sends them as they are read",
                )
    return b"".join(parts)


def _streamed(spooled: SpooledAnswer, form: str, more: dict[str, Any]) -> Generator[bytes]:
    try:
        match form:
            case "text/csv":
                yield from _csv(spooled)
            case "application/vnd.apache.arrow.stream":
                yield from _arrow(spooled.parts())
            case _:
                yield from _json(spooled, more)
    finally:
        spooled.close()


def _csv(spooled: SpooledAnswer) -> Iterator[bytes]:
    header = spooled.answer.to_csv()
    yield header.encode()
    for part in spooled.parts():
        yield part.to_csv().removeprefix(header).encode()


def _json(spooled: SpooledAnswer, more: dict[str, Any]) -> Iterator[bytes]:
    text = json_text(spooled.answer.to_dict() | more, allow_nan=False)
    before, _, after = text.partition(_NO_ROWS)
    yield f'{before}"rows": ['.encode("ascii")
    comma = ""
    for part in spooled.parts():
        rows = json_text(part.to_dict()["rows"], allow_nan=False)[1:-1]
        if rows:
            yield f"{comma}{rows}".encode("ascii")
            comma = ", "
    yield f"]{after}".encode("ascii")


def _arrow(parts: Iterator[Answer] | list[Answer]) -> Iterator[bytes]:
    import pyarrow

    written = io.BytesIO()
    writer = None
    for part in parts:
        table = part.table
        if writer is None:
            writer = pyarrow.ipc.new_stream(written, table.schema)
        writer.write_table(table)
        yield written.getvalue()
        written.seek(0)
        written.truncate()
    if writer is not None:
        writer.close()
    yield written.getvalue()
