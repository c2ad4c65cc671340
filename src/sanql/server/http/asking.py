"""The routes that ask: a question, its explanation, and questions whose answers are read later."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from sanql.account import Person
from sanql.ask import (
    EPSILON_TYPICAL,
    Request,
    SpooledAnswer,
    ask_with,
    explain_request,
    repeated_at_hand,
    spool_publicly,
    suggest_limits,
)
from sanql.errors import SanqlError
from sanql.interrupts import Watch, watched_by
from sanql.numbers import parse_epsilon
from sanql.results import answer_from_dict
from sanql.server.caller import Caller, check_role
from sanql.server.datasets import Dataset
from sanql.server.http.bodies import check_taken, plain_option, read_question_request, take_text
from sanql.server.http.exchange import (
    body_of,
    caller_of,
    chosen,
    json_reply,
    line_of,
    queued,
    service_of,
    waited_for,
)
from sanql.server.http.forms import JSON, answer_bytes, answer_reply, form_wanted, kept_bytes
from sanql.server.http.problems import problem
from sanql.server.questions import KeptQuestion, QuestionState, cancelled_before
from sanql.server.telling import told_to_analysts

T = TypeVar("T")
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
    content = await _once(http, dataset, person, asked, answered)
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
    price = None if epsilon is None else parse_epsilon(_typed(epsilon))
    typical = body.pop("typical_epsilon", None)
    check_taken(body, _SUGGEST)
    usual = EPSILON_TYPICAL if typical is None else parse_epsilon(_typed(typical))

    def suggested() -> dict[str, Any]:
        found = suggest_limits(dataset.session, person.name, str(table), by, price, usual, "http")
        return found.to_dict() | {"text": str(found), "dataset": dataset.name}

    return json_reply(await queued(http, dataset, person, suggested))


async def begin_question(http: HttpRequest) -> Response:
    """Take a question whose answer is read later."""
    kept = begun(http, *await _asked(http))
    return json_reply(_shape(kept, kept.state), 202, location=f"/v1/questions/{kept.id}")


def begun(http: HttpRequest, dataset: Dataset, person: Person, request: Request) -> KeptQuestion:
    """Return a question that waits for its person's turn, and is kept under a number."""
    service, watch = service_of(http), Watch()

    def answered() -> bytes:
        with service.noting_faults():
            more = {"dataset": dataset.name}
            return kept_bytes(_answer(dataset, request, JSON, more), more)

    run = partial(_watched, dataset, watch, answered)
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
    """Return an answer that was kept as JSON in another form."""
    return answer_bytes(answer_from_dict(json.loads(answer)), form, {})


async def cancel_question(http: HttpRequest) -> Response:
    """End a question; what it was charged stays."""
    kept = await _kept(http)
    kept.cancel()
    return json_reply(_shape(kept, kept.state))


async def _once(
    http: HttpRequest,
    dataset: Dataset,
    person: Person,
    asked: object,
    answered: Callable[[], bytes | SpooledAnswer],
) -> bytes | SpooledAnswer:
    """Return what a question gives; sent again under its key while it runs, it is the same question."""
    key = http.headers.get("idempotency-key")
    if key is None:
        return await queued(http, dataset, person, answered)
    service, begun = service_of(http), False

    def start(watch: Watch) -> Future[bytes | SpooledAnswer]:
        nonlocal begun
        begun = True
        return service.queue.submit(line_of(http), partial(_watched, dataset, watch, answered))

    owner = dataset.name, person.name
    running = service.kept.under_key(owner, key, asked, start)
    try:
        content: bytes | SpooledAnswer = await waited_for(running.future)
    except asyncio.CancelledError:
        if running.future.cancelled():
            raise cancelled_before() from None
        raise
    if isinstance(content, SpooledAnswer) and not begun:  # which whoever began it reads
        return await queued(http, dataset, person, answered)
    return content


def _watched(dataset: Dataset, watch: Watch, answered: Callable[[], T]) -> T:
    with dataset.used(), watched_by(watch):
        return answered()


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
    """Return what is asked, of which dataset, by whom: the analyst is the credential's person."""
    caller, body = await caller_of(http), await body_of(http)
    dataset, person = chosen(http, caller, take_text(body, "dataset"))
    check_role(person, "analyst")
    key = http.headers.get("idempotency-key")
    return dataset, person, read_question_request(body, person.name, key)


def _answer(
    dataset: Dataset, request: Request, form: str, more: dict[str, Any]
) -> bytes | SpooledAnswer:
    answer = ask_with(dataset.session, request, spool_publicly)
    return answer if isinstance(answer, SpooledAnswer) else answer_bytes(answer, form, more)


def _typed(value: object) -> Any:
    plain = plain_option(value)
    return plain if isinstance(plain, str | int) else str(plain)
