"""The routes that ask: a question, its explanation, and questions whose answers are read later."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from sanql.account import Person
from sanql.ask import (
    EPSILON_TYPICAL,
    BatchRequest,
    Request,
    SpooledAnswer,
    ask_with,
    explain_request,
    repeated_at_hand,
    spool_publicly,
    suggest_limits,
)
from sanql.errors import SanqlError
from sanql.interrupts import Watch
from sanql.numbers import parse_epsilon
from sanql.results import answer_from_dict
from sanql.server.caller import Caller, check_role
from sanql.server.datasets import Dataset
from sanql.server.http.batches import batch_answer, batch_in_form
from sanql.server.http.bodies import (
    check_taken,
    read_batch_request,
    read_question_request,
    take_text,
    typed_number,
)
from sanql.server.http.exchange import (
    body_of,
    caller_of,
    chosen,
    json_reply,
    line_of,
    queued,
    service_of,
)
from sanql.server.http.forms import JSON, answer_bytes, answer_reply, form_wanted, kept_bytes
from sanql.server.http.once import asked_of, once_under_key, watched
from sanql.server.http.problems import problem
from sanql.server.questions import KeptQuestion, QuestionState
from sanql.server.telling import told_to_analysts

_SUGGEST = frozenset({"table", "by", "epsilon", "typical_epsilon", "dataset"})


async def query(http: HttpRequest) -> Response:
    """Answer a question, and charge it."""
    dataset, person, request = await _asked(http)
    form = form_wanted(http.headers.get("accept", ""))
    more = {"dataset": dataset.name}
    write = partial(answer_bytes, form=form, more=more)
    repeated = repeated_at_hand(dataset.session, request, form, write)
    if repeated is not None:  # no thread need take it up: nobody waits for anything
        return answer_reply(repeated, form, more)
    answered = partial(_answer, dataset, request, form, more)
    asked = request, repr(request.asked.parameters), form  # 1 and true are equal, and not the same
    content = await once_under_key(http, dataset, person, asked, answered)
    return answer_reply(content, form, more)


async def explain(http: HttpRequest) -> Response:
    """Say what an answer would cost; nothing is read or spent."""
    dataset, person, request = await _asked(http)

    def explained() -> dict[str, Any]:
        explanation = explain_request(dataset.session, request)
        return explanation.to_dict() | {"text": str(explanation), "dataset": dataset.name}

    return json_reply(await queued(http, dataset, person, explained))


async def suggest(http: HttpRequest) -> Response:
    """Suggest contribution limits for a table, privately and for a price."""
    caller, body = await caller_of(http), await body_of(http)
    dataset, person = chosen(http, caller, take_text(body, "dataset"))
    check_role(person, "analyst")
    table, by = take_text(body, "table", needed=True), take_text(body, "by")
    epsilon = body.pop("epsilon", None)
    price = None if epsilon is None else parse_epsilon(typed_number(epsilon))
    typical = body.pop("typical_epsilon", None)
    check_taken(body, _SUGGEST)
    usual = EPSILON_TYPICAL if typical is None else parse_epsilon(typed_number(typical))

    def suggested() -> dict[str, Any]:
        found = suggest_limits(dataset.session, person.name, str(table), by, price, usual, "http")
        return found.to_dict() | {"text": str(found), "dataset": dataset.name}

    return json_reply(await queued(http, dataset, person, suggested))


async def begin_question(http: HttpRequest) -> Response:
    """Take a question, or a batch of them, whose answer is read later."""
    kept = begun(http, *await asked_of(http, _read_either))
    return json_reply(_shape(kept, kept.state), 202, location=f"/v1/questions/{kept.id}")


def begun(
    http: HttpRequest, dataset: Dataset, person: Person, request: Request | BatchRequest
) -> KeptQuestion:
    """Return a question, or a batch, that waits for its person's turn and is kept under a number."""
    service, watch = service_of(http), Watch()

    def answered() -> bytes:
        with service.noting_faults():
            more = {"dataset": dataset.name}
            if isinstance(request, BatchRequest):
                return batch_answer(dataset, request, JSON, more)
            return kept_bytes(_answer(dataset, request, JSON, more), more)

    run = partial(watched, dataset, watch, answered)
    future = service.queue.submit(line_of(http), run)
    return service.kept.keep((dataset.name, person.name), future, watch)


async def question_state(http: HttpRequest) -> Response:
    """Say how far a question has come; its answer, once it is there."""
    kept = await _kept(http)
    form = form_wanted(http.headers.get("accept", ""))
    state = kept.state
    shape = _shape(kept, state)
    if state.answer is None:
        return json_reply(shape)
    if form != JSON:
        return answer_reply(await asyncio.to_thread(kept_in_form, state.answer, form), form, {})
    text = json_reply(shape).body.decode("ascii")  # type: ignore[union-attr]
    return Response(f'{text[:-1]}, "answer": {state.answer.decode("ascii")}}}', media_type=JSON)


def kept_in_form(answer: bytes, form: str) -> bytes:
    """Return an answer, or those of a batch, that was kept as JSON in another form."""
    shape = json.loads(answer)
    if "answers" in shape:
        return batch_in_form(shape["answers"], form)
    return answer_bytes(answer_from_dict(shape), form, {})


async def cancel_question(http: HttpRequest) -> Response:
    """End a question; what it was charged stays."""
    kept = await _kept(http)
    kept.cancel()
    return json_reply(_shape(kept, kept.state))


async def _kept(http: HttpRequest) -> KeptQuestion:
    return kept_question(http, await caller_of(http))


def kept_question(http: HttpRequest, caller: Caller) -> KeptQuestion:
    """Return the question of a caller's whose number is in the address."""
    service, number, error = service_of(http), http.path_params["id"], None
    for dataset, person in caller.known_to.values():
        try:
            return service.kept.find((dataset.name, person.name), number)
        except SanqlError as unknown:
            error = unknown
    assert error is not None  # noqa: S101  (a caller is known to a dataset)
    raise error


def _shape(kept: KeptQuestion, state: QuestionState) -> dict[str, Any]:
    shape = {
        "id": kept.id,
        "dataset": kept.owner[0],
        "status": state.status,
        "progress": state.progress or state.status,
    }
    if state.error is None:
        return shape
    return shape | {"error": problem(told_to_analysts(state.error))}


async def _asked(http: HttpRequest) -> tuple[Dataset, Person, Request]:
    return await asked_of(http, read_question_request)


def _read_either(body: dict[str, Any], analyst: str, key: str | None) -> Request | BatchRequest:
    """Return a question or, where the body lists several, a batch."""
    if "questions" in body:
        return read_batch_request(body, analyst, key)
    return read_question_request(body, analyst, key)


def _answer(
    dataset: Dataset, request: Request, form: str, more: dict[str, Any]
) -> bytes | SpooledAnswer:
    answer = ask_with(dataset.session, request, spool_publicly)
    return answer if isinstance(answer, SpooledAnswer) else answer_bytes(answer, form, more)
