"""What the limits of a policy cost: how far noise moves usual questions, before anybody asks them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sanql.ask import explain_request, read_request, schema_of
from sanql.errors import SanqlError
from sanql.parse import QuestionText
from sanql.results import Explanation, SchemaTable
from sanql.server.datasets import Dataset

QUESTIONS_MAX = 24
EPSILON = "1"
_NUMBERS = ("integer", "decimal", "real")


@dataclass(frozen=True)
class LimitCost:
    """A usual question about a table, under its limits, and how exact it would be at epsilon 1."""

    table: str
    limits: str
    question: str
    error: str


def limit_costs(dataset: Dataset) -> list[LimitCost]:
    """Return how exact usual questions about each private table would be; nothing is read or spent."""
    found: list[LimitCost] = []
    for table in schema_of(dataset.session).tables:
        for sql in () if table.public else _usual(table):
            if len(found) < QUESTIONS_MAX:
                found.append(LimitCost(table.name, _limits(table), sql, _error(dataset, sql)))
    return found


def _usual(table: SchemaTable) -> Iterator[str]:
    name = _quoted(table.name)
    yield f"SELECT COUNT(*) FROM {name}"
    keys = [column for column in table.columns if column.domain is not None]
    for column in keys[:1]:
        key = _quoted(column.name)
        yield f"SELECT {key}, COUNT(*) FROM {name} GROUP BY {key}"
    for column in table.columns:
        if column.type in _NUMBERS and column.bounds is not None:
            yield f"SELECT SUM({_quoted(column.name)}) FROM {name}"


def _error(dataset: Dataset, sql: str) -> str:
    asking = next(iter(dataset.policy.analysts), "analyst")
    try:
        request = read_request(QuestionText(sql), asking, {"epsilon": EPSILON})
        explained = explain_request(dataset.session, request)
    except SanqlError as refused:
        return refused.message
    if not isinstance(explained, Explanation) or not explained.expected:
        return "exact"
    of_what = f" at {float(explained.confidence):.4g}{explained.certificate.of_noise}"
    return explained.expected[-1].in_words(of_what)


def _limits(table: SchemaTable) -> str:
    return ", ".join(f"{name} = {limit}" for name, limit in table.limits.items())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
