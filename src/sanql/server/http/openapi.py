"""The description of the interface, OpenAPI 3.1, written from the tables that the routes follow."""

from __future__ import annotations

from typing import Any

from sanql.options import OPTIONS
from sanql.server.http.bodies import PASSED
from sanql.server.http.forms import ARROW, CSV, JSON
from sanql.server.http.problems import PROBLEM
from sanql.server.http.shapes import (
    ANSWER,
    BATCH,
    BATCH_EXPLANATION,
    BUDGET,
    DATASETS,
    ERASE,
    ERASED,
    EXPLANATION,
    HISTORY,
    NOTHING,
    NUMBER,
    OBJECT,
    OPTION_SHAPES,
    PARAMETER,
    PLACE,
    PROBLEM_SHAPE,
    PROFILE,
    PROFILES,
    RECORDS,
    REFRESH,
    RELOADED,
    SCHEMA,
    STATE,
    STATUS,
    SUGGEST,
    SUGGESTION,
    SWITCH,
    TEXT,
    VERIFICATION,
    VERSION,
    Shape,
    closed,
    listed,
    ref,
)

_ERRORS = {
    400: "not understood as a request",
    401: "the credential is missing or not good",
    402: "the price does not fit what is left",
    403: "not for this role, or from a foreign page",
    404: "not there, or not yours",
    406: "no such form",
    408: "sent too slowly",
    409: "an idempotency key of another question",
    413: "too large",
    415: "not JSON",
    421: "asked for by a foreign name",
    422: "refused: it cannot be answered privately, or is not understood",
    429: "too many at once; see Retry-After",
    431: "headers too large",
    500: "charged and not answered, or a fault of the server",
    503: "not now; nothing was charged",
}


def describe_api(version: str) -> dict[str, Any]:
    """Return the description of the whole interface."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "SanQL",
            "version": version,
            "description": "Private statistics from SQL. Who asks is said by the credential alone.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"token": []}],
        "paths": _paths(),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Answer": ANSWER,
                "Batch": BATCH,
                "Parameter": PARAMETER,
                "Problem": PROBLEM_SHAPE,
                "Question": _question(),
                "Questions": _questions(),
                "State": STATE,
            },
        },
    }


def _paths() -> dict[str, Any]:
    question, questions = ref("Question"), ref("Questions")
    answer, state = ref("Answer"), ref("State")
    dataset = _parameter("dataset", TEXT, "Which dataset; needed where the caller knows several.")
    paged = [
        dataset,
        _parameter("after", PLACE, "List what comes after this number."),
        _parameter(
            "limit", {"type": "integer", "minimum": 0, "maximum": 10_000}, "At most so many."
        ),
    ]
    number = _parameter("id", TEXT, "The number of a question, or the key it runs under.", "path")
    key = _parameter(
        "Idempotency-Key",
        {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
        "The same key with the same question is charged once, however often it is sent.",
        "header",
    )
    return {
        "/health": {
            "get": _operation("health", "Whether the server is alive.", STATUS, open_=True)
        },
        "/ready": {"get": _operation("ready", "Whether questions are taken.", STATUS, open_=True)},
        "/openapi.json": {"get": _operation("openapi", "This description.", OBJECT, open_=True)},
        "/metrics": {"get": _operation("metrics", "For Prometheus.", None, media="text/plain")},
        "/v1/datasets": {"get": _operation("datasets", "What the caller may ask.", DATASETS)},
        "/v1/schema": {"get": _operation("schema", "What can be asked about.", SCHEMA, [dataset])},
        "/v1/profiles": {
            "get": _operation("profiles", "What is known of units.", PROFILES, [dataset])
        },
        "/v1/budget": {"get": _operation("budget", "What is left.", BUDGET, [dataset])},
        "/v1/query": {
            "post": _operation(
                "query", "Answer a question, and charge it.", answer, [key], question, forms=True
            )
        },
        "/v1/explain": {
            "post": _operation("explain", "What an answer would cost.", EXPLANATION, [], question)
        },
        "/v1/batch": {
            "post": _operation(
                "batch",
                "Answer several questions for one epsilon.",
                ref("Batch"),
                [key],
                questions,
                forms=True,
            )
        },
        "/v1/batch/explain": {
            "post": _operation(
                "explain_batch", "What a batch would cost.", BATCH_EXPLANATION, [], questions
            )
        },
        "/v1/suggest": {
            "post": _operation("suggest", "Suggest contribution limits.", SUGGESTION, [], SUGGEST)
        },
        "/v1/questions": {
            "post": _operation(
                "begin_question",
                "Ask now, read later.",
                state,
                [key],
                {"anyOf": [question, questions]},
                status=202,
            )
        },
        "/v1/questions/{id}": {
            "get": _operation(
                "question_state", "How far a question has come.", state, [number], forms=True
            ),
            "delete": _operation("cancel_question", "End it; its charge stays.", state, [number]),
        },
        "/v1/history": {
            "get": _operation("history", "The caller's own questions.", HISTORY, paged)
        },
        "/v1/history/{id}": {
            "get": _operation(
                "read_again", "A recorded answer, free.", answer, [number, dataset], forms=True
            )
        },
        "/v1/certificate/{id}": {
            "get": _operation("certificate", "Its guarantee.", OBJECT, [number, dataset])
        },
        "/v1/ledger": {
            "get": _operation(
                "ledger", "The account, for officers.", RECORDS, [*paged, *_choosing()]
            )
        },
        "/v1/ledger/erase": {
            "post": _operation("erase", "Erase typed texts, for owners.", ERASED, [], ERASE)
        },
        "/v1/verify": {
            "get": _operation("verify", "The account recomputed.", VERIFICATION, [dataset])
        },
        "/v1/profile": {
            "post": _operation("profile", "Take a profile, for owners.", PROFILES, [], PROFILE)
        },
        "/v1/refresh": {"post": _operation("refresh", "A new version.", VERSION, [], REFRESH)},
        "/v1/reload": {"post": _operation("reload", "Read policies again.", RELOADED, [], NOTHING)},
    }


def _choosing() -> list[dict[str, Any]]:
    """Return the parameters by which questions are chosen among the records of an account."""
    count = {"type": "integer", "minimum": 0, "maximum": 10_000}
    return [
        _parameter("questions", SWITCH, "Only questions, as each of the next three says, too."),
        _parameter("analyst", TEXT, "Only what this analyst asked."),
        _parameter("since", TEXT, "Only what was asked since: 2030-01-31, in UTC."),
        _parameter("last", count, "Only the newest so many."),
    ]


def _question() -> Shape:
    return closed(("sql",), **_asked(), dataset=TEXT, **_options())


def _questions() -> Shape:
    asked = {"anyOf": [_SQL, closed(("sql",), **_asked())]}
    listed_here = listed(asked) | {"minItems": 1, "maxItems": 200}
    return closed(("questions",), questions=listed_here, dataset=TEXT, **_options())


_SQL: Shape = {"type": "string", "format": "sql", "examples": ["SELECT COUNT(*) FROM people"]}


def _asked() -> dict[str, Shape]:
    """Return the text of a question and its parameters."""
    value = ref("Parameter")
    values = {"anyOf": [listed(value), {"type": "object", "additionalProperties": value}]}
    words = "Values for ? and $1, or for $name and :name."
    return {"sql": _SQL, "parameters": values | {"description": words}}


def _options() -> dict[str, Shape]:
    return {
        option.name: OPTION_SHAPES.get(option.name, SWITCH if option.switch else NUMBER)
        | {"description": option.help}
        for option in OPTIONS
        if option.name in PASSED
    }


def _operation(
    name: str,
    summary: str,
    shape: dict[str, Any] | None,
    parameters: list[dict[str, Any]] | None = None,
    body: dict[str, Any] | None = None,
    *,
    status: int = 200,
    forms: bool = False,
    open_: bool = False,
    media: str = JSON,
) -> dict[str, Any]:
    content: dict[str, Any] = {media: {"schema": shape} if shape is not None else {}}
    if forms:
        content |= {CSV: {}, ARROW: {}}
    described: dict[str, Any] = {
        "operationId": name,
        "summary": summary,
        "parameters": parameters or [],
        "responses": {str(status): {"description": "done", "content": content}}
        | {
            str(code): {"description": words, "content": {PROBLEM: {"schema": ref("Problem")}}}
            for code, words in _ERRORS.items()
        },
    }
    if body is not None:
        described["requestBody"] = {"required": True, "content": {JSON: {"schema": body}}}
    if open_:
        described["security"] = []
    return described


def _parameter(name: str, form: dict[str, Any], words: str, place: str = "query") -> dict[str, Any]:
    return {
        "name": name,
        "in": place,
        "required": place == "path",
        "schema": form,
        "description": words,
    }
