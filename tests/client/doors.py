"""The doors to San that analysts use: Python here, Python on a server, and HTTP by hand."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Protocol

import httpx

import sanql
from sanql import Refused
from sanql.client.problems import error_of
from sanql.options import Accuracy

Shape = dict[str, Any]


class Door(Protocol):
    """What can be asked, and what comes back as plain data; errors are San's."""

    def query(self, sql: str, *, parameters: Any = None, **options: Any) -> Shape: ...

    def csv(self, sql: str, **options: Any) -> str: ...

    def explain(self, sql: str, *, parameters: Any = None, **options: Any) -> Shape: ...

    def suggest(self, table: str, **options: Any) -> Shape: ...

    def budget(self) -> list[Shape]: ...

    def schema(self) -> Shape: ...

    def history(self, after: int) -> list[Shape]: ...

    def read_again(self, number: int) -> Shape: ...

    def certificate(self, number: int) -> Shape: ...

    def batch(self, questions: list[Any], **options: Any) -> list[Shape]: ...

    def explain_batch(self, questions: list[Any], **options: Any) -> Shape: ...

    def profile(self, *tables: str, **options: Any) -> list[Shape]: ...

    def profiles(self) -> list[Shape]: ...


class PythonDoor:
    """San in Python: on the data, or on a server."""

    def __init__(self, san: sanql.San | sanql.RemoteSan) -> None:
        self.san = san

    def query(self, sql: str, *, parameters: Any = None, **options: Any) -> Shape:
        return plain(self.san.query(sql, parameters=parameters, **options).to_dict())

    def csv(self, sql: str, **options: Any) -> str:
        return self.san.query(sql, **options).to_csv()

    def explain(self, sql: str, *, parameters: Any = None, **options: Any) -> Shape:
        explained = self.san.explain(sql, parameters=parameters, **options)
        return plain(explained.to_dict() | {"text": str(explained)})

    def suggest(self, table: str, **options: Any) -> Shape:
        found = self.san.suggest_limits(table, **options)
        return plain(found.to_dict() | {"text": str(found)})

    def budget(self) -> list[Shape]:
        return [plain(balance.to_dict()) for balance in self.san.balances()]

    def schema(self) -> Shape:
        return plain(self.san.schema().to_dict())

    def history(self, after: int) -> list[Shape]:
        return [plain(entry.to_dict()) for entry in self.san.history(after=after, limit=1000)]

    def read_again(self, number: int) -> Shape:
        return plain(self.san.read_again(number).to_dict())

    def certificate(self, number: int) -> Shape:
        return plain(self.san.certificate(number).to_dict())

    def batch(self, questions: list[Any], **options: Any) -> list[Shape]:
        return [plain(answer.to_dict()) for answer in self.san.batch(questions, **options)]

    def explain_batch(self, questions: list[Any], **options: Any) -> Shape:
        explained = self.san.explain_batch(questions, **options)
        return plain(explained.to_dict() | {"text": str(explained)})

    def profile(self, *tables: str, **options: Any) -> list[Shape]:
        return [plain(each.to_dict()) for each in self.san.profile(*tables, **options)]

    def profiles(self) -> list[Shape]:
        known = self.san.profiles()
        return [plain(each.to_dict() | {"text": str(each)}) for each in known]


class HttpDoor:
    """HTTP as anybody may write it, without San's client."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def query(self, sql: str, *, parameters: Any = None, **options: Any) -> Shape:
        return self._post("/v1/query", sql, parameters, options)

    def csv(self, sql: str, **options: Any) -> str:
        body = {"sql": sql, **options}
        return self._client.post("/v1/query", json=body, headers={"accept": "text/csv"}).text

    def explain(self, sql: str, *, parameters: Any = None, **options: Any) -> Shape:
        return self._post("/v1/explain", sql, parameters, options)

    def suggest(self, table: str, **options: Any) -> Shape:
        return _told(self._client.post("/v1/suggest", json={"table": table, **options}))

    def budget(self) -> list[Shape]:
        accounts: list[Shape] = _told(self._client.get("/v1/budget"))["accounts"]
        return accounts

    def schema(self) -> Shape:
        shape: Shape = self._client.get("/v1/schema").json()
        return shape

    def history(self, after: int) -> list[Shape]:
        address = f"/v1/history?after={after}&limit=1000"
        questions: list[Shape] = _told(self._client.get(address))["questions"]
        return questions

    def read_again(self, number: int) -> Shape:
        return _told(self._client.get(f"/v1/history/{number}"))

    def certificate(self, number: int) -> Shape:
        return _told(self._client.get(f"/v1/certificate/{number}"))

    def batch(self, questions: list[Any], **options: Any) -> list[Shape]:
        told = _told(self._client.post("/v1/batch", json=_several(questions, options)))
        answers: list[Shape] = told["answers"]
        return [{k: v for k, v in each.items() if k != "dataset"} for each in answers]

    def explain_batch(self, questions: list[Any], **options: Any) -> Shape:
        body = _several(questions, options)
        return _told(self._client.post("/v1/batch/explain", json=body))

    def profile(self, *tables: str, **options: Any) -> list[Shape]:
        told = _told(self._client.post("/v1/profile", json={"tables": tables, **options}))
        return [{k: v for k, v in each.items() if k != "text"} for each in told["profiles"]]

    def profiles(self) -> list[Shape]:
        known: list[Shape] = _told(self._client.get("/v1/profiles"))["profiles"]
        return known

    def _post(self, path: str, sql: str, parameters: Any, options: dict[str, Any]) -> Shape:
        body: Shape = {"sql": sql, **{name: _option(value) for name, value in options.items()}}
        if isinstance(parameters, dict):
            body["parameters"] = {name: _value(value) for name, value in parameters.items()}
        elif parameters is not None:
            body["parameters"] = [_value(value) for value in parameters]
        return _told(self._client.post(path, json=body))


def plain(shape: Shape) -> Shape:
    """Return plain data as it is after a journey."""
    travelled: Shape = json.loads(json.dumps(shape))
    return travelled


def _several(questions: list[Any], options: dict[str, Any]) -> Shape:
    asked = [
        each
        if isinstance(each, str)
        else {"sql": each[0], "parameters": {name: _value(v) for name, v in each[1].items()}}
        for each in questions
    ]
    return {"questions": asked, **options}


def _told(response: httpx.Response) -> Shape:
    shape: Shape = response.json()
    if response.status_code >= 400:
        raise error_of(shape)
    shape.pop("dataset", None)
    shape.pop("question", None)
    return shape


def _option(value: object) -> object:
    match value:
        case Accuracy(half_width, confidence, _):
            return {"half_width": str(half_width), "confidence": float(confidence)}
        case _:
            return value


def _value(value: object) -> object:
    match value:
        case datetime():
            return {"timestamp": value.isoformat()}
        case date():
            return {"date": value.isoformat()}
        case Decimal():
            return {"decimal": str(value)}
        case _:
            return value


def unpriced(shape: Shape) -> Shape:
    """Return an answer without what a repeat does not have in common with the first."""
    apart = ("cached", "charge", "remaining", "balances", "footer")
    return {name: value for name, value in shape.items() if name not in apart}


def said(refused: Refused) -> tuple[object, ...]:
    """Return everything that a refusal says."""
    return (
        refused.code,
        refused.message,
        refused.remedy,
        refused.place,
        refused.nearest,
        refused.fill_in,
        refused.to_dict(),
    )
