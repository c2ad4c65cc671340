"""The description of the interface, OpenAPI 3.1, written from the tables that the routes follow."""

from __future__ import annotations

from typing import Any

from sanql.options import OPTIONS
from sanql.server.http.bodies import PASSED
from sanql.server.http.forms import ARROW, CSV, JSON
from sanql.server.http.problems import PROBLEM

_TEXT = {"type": "string"}
_WHOLE = {"type": "integer", "minimum": 0}
_OBJECT = {"type": "object"}
_NUMBER = {"type": ["number", "string"], "examples": [0.1]}
_SWITCH = {"type": "boolean"}
_OPTION_FORMS: dict[str, dict[str, Any]] = {
    "accuracy": {"type": ["number", "string", "object"], "examples": ["2% of 10000"]},
    "max_groups_contributed": {"type": "integer", "minimum": 1, "maximum": 9_999_999},
    "min_privacy_units_per_group": {"type": "integer", "minimum": 1, "maximum": 9_999_999},
    "other": {"type": "string", "minLength": 1, "maxLength": 100},
}
_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "code", "kind", "remedy"],
    "properties": {
        "type": _TEXT,
        "title": _TEXT,
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What, the value typed, the rule."},
        "code": {"type": "string", "description": "Stable; docs/refusals.md lists them."},
        "kind": {
            "enum": ["refused", "budget", "unavailable", "ledger", "policy", "people", "server"]
        },
        "remedy": _TEXT,
        "nearest": {"type": "string", "description": "A question that would be answered."},
        "fill_in": _TEXT,
        "place": {
            "type": "object",
            "properties": {"line": {"type": "integer"}, "column": {"type": "integer"}},
        },
    },
}
_ANSWER = {
    "type": "object",
    "required": ["columns", "rows", "charge", "remaining", "certificate", "cached", "dataset"],
    "properties": {
        "columns": {"type": "array", "items": {"type": "object", "required": ["name", "type"]}},
        "rows": {"type": "array", "items": {"type": "array"}},
        "intervals": _OBJECT,
        "confidence": {"type": "number"},
        "charge": _OBJECT,
        "remaining": _OBJECT,
        "certificate": _OBJECT,
        "cached": {"type": "boolean"},
        "dataset": _TEXT,
    },
}
_STATE = {
    "type": "object",
    "required": ["id", "dataset", "status", "progress"],
    "properties": {
        "id": _TEXT,
        "dataset": _TEXT,
        "status": {"enum": ["queued", "running", "answered", "failed", "cancelled"]},
        "progress": _TEXT,
        "answer": {"$ref": "#/components/schemas/Answer"},
        "error": {"$ref": "#/components/schemas/Problem"},
    },
}
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
                "Answer": _ANSWER,
                "Problem": _PROBLEM,
                "Question": _question(),
                "State": _STATE,
            },
        },
    }


def _paths() -> dict[str, Any]:
    question = {"$ref": "#/components/schemas/Question"}
    answer, state = _ref("Answer"), _ref("State")
    dataset = _parameter("dataset", _TEXT, "Which dataset; needed where the caller knows several.")
    paged = [
        dataset,
        _parameter("after", _WHOLE, "List what comes after this number."),
        _parameter(
            "limit", {"type": "integer", "minimum": 0, "maximum": 10_000}, "At most so many."
        ),
    ]
    number = _parameter("id", _TEXT, "The number of a question, or the key it runs under.", "path")
    key = _parameter(
        "Idempotency-Key",
        {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
        "The same key with the same question is charged once, however often it is sent.",
        "header",
    )
    return {
        "/health": {
            "get": _operation("health", "Whether the server is alive.", _OBJECT, open_=True)
        },
        "/ready": {"get": _operation("ready", "Whether questions are taken.", _OBJECT, open_=True)},
        "/openapi.json": {"get": _operation("openapi", "This description.", _OBJECT, open_=True)},
        "/metrics": {"get": _operation("metrics", "For Prometheus.", None, media="text/plain")},
        "/v1/datasets": {"get": _operation("datasets", "What the caller may ask.", _OBJECT)},
        "/v1/schema": {"get": _operation("schema", "What can be asked about.", _OBJECT, [dataset])},
        "/v1/budget": {"get": _operation("budget", "What is left.", _OBJECT, [dataset])},
        "/v1/query": {
            "post": _operation(
                "query", "Answer a question, and charge it.", answer, [key], question, forms=True
            )
        },
        "/v1/explain": {
            "post": _operation("explain", "What an answer would cost.", _OBJECT, [], question)
        },
        "/v1/suggest": {
            "post": _operation("suggest", "Suggest contribution limits.", _OBJECT, [], _SUGGEST)
        },
        "/v1/questions": {
            "post": _operation(
                "begin_question", "Ask now, read later.", state, [key], question, status=202
            )
        },
        "/v1/questions/{id}": {
            "get": _operation("question_state", "How far a question has come.", state, [number]),
            "delete": _operation("cancel_question", "End it; its charge stays.", state, [number]),
        },
        "/v1/history": {
            "get": _operation("history", "The caller's own questions.", _OBJECT, paged)
        },
        "/v1/history/{id}": {
            "get": _operation(
                "read_again", "A recorded answer, free.", answer, [number, dataset], forms=True
            )
        },
        "/v1/certificate/{id}": {
            "get": _operation("certificate", "Its guarantee.", _OBJECT, [number, dataset])
        },
        "/v1/ledger": {"get": _operation("ledger", "The account, for officers.", _OBJECT, paged)},
        "/v1/verify": {"get": _operation("verify", "The account recomputed.", _OBJECT, [dataset])},
        "/v1/refresh": {"post": _operation("refresh", "A new version.", _OBJECT, [], _REFRESH)},
        "/v1/reload": {"post": _operation("reload", "Read policies again.", _OBJECT, [], _NOTHING)},
    }


_SUGGEST = {
    "type": "object",
    "required": ["table", "epsilon"],
    "additionalProperties": False,
    "properties": {
        "table": _TEXT,
        "by": _TEXT,
        "epsilon": _NUMBER,
        "typical_epsilon": _NUMBER,
        "dataset": _TEXT,
    },
}
_REFRESH = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"dataset": _TEXT},
}
_NOTHING = {"type": "object", "additionalProperties": False, "properties": {}}


def _question() -> dict[str, Any]:
    options = {
        option.name: _OPTION_FORMS.get(option.name, _SWITCH if option.switch else _NUMBER)
        | {"description": option.help}
        for option in OPTIONS
        if option.name in PASSED
    }
    return {
        "type": "object",
        "required": ["sql"],
        "additionalProperties": False,
        "properties": {
            "sql": {"type": "string", "examples": ["SELECT COUNT(*) FROM people"]},
            "dataset": _TEXT,
            "parameters": {
                "type": ["array", "object"],
                "description": "Values for ? and $1, or for $name and :name; dates as"
                ' {"date": "2024-01-31"}.',
            },
            **options,
        },
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
            str(code): {"description": words, "content": {PROBLEM: {"schema": _ref("Problem")}}}
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


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}
