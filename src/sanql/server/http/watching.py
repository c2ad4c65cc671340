"""The routes of whoever watches over the machine: alive, ready, and numbers for Prometheus.

The numbers are those of the ledger and the clock, so that they tell nothing that the account does not:
no duration, no size and no count of anything that rows could decide.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from sanql.errors import ServerError
from sanql.numbers import number_lower, number_upper
from sanql.results import alerts_of
from sanql.server.caller import check_role
from sanql.server.datasets import Dataset
from sanql.server.http.exchange import caller_of, json_reply, queued, service_of

_HELP = {
    "sanql_start_time_seconds": "When the server was started.",
    "sanql_time_seconds": "The clock of the server.",
    "sanql_ledger_records": "Records in the chain of the account.",
    "sanql_ledger_failures": "Failures of the engine that count at present.",
    "sanql_data_version": "The version of the data that is asked; 0 where nothing was read yet.",
    "sanql_budget_epsilon": "The budget of an account.",
    "sanql_budget_delta": "The budget of an account.",
    "sanql_spent_epsilon_upper": "What is spent at most.",
    "sanql_spent_delta_upper": "What is spent at most.",
    "sanql_remaining_epsilon_lower": "What is left at least.",
    "sanql_remaining_delta_lower": "What is left at least.",
    "sanql_open_epsilon": "What tranches have opened so far, of a budget that has such.",
    "sanql_budget_alerts": "Shares spent that the policy has told of (alerts_at), in all accounts.",
    "sanql_reserved_questions": "Questions that are charged and not yet answered.",
}


async def health(http: HttpRequest) -> Response:
    """Say that the server is alive."""
    return json_reply({"status": "alive"})


async def ready(http: HttpRequest) -> Response:
    """Say whether the data are open and questions are taken."""
    if not service_of(http).ready:
        raise ServerError("not_ready", "the data are still being opened", "wait a while")
    return json_reply({"status": "ready"})


async def metrics(http: HttpRequest) -> Response:
    """Return the state of the accounts for Prometheus; for owners and officers."""
    caller, service = await caller_of(http), service_of(http)
    lines: dict[str, list[str]] = {name: [] for name in _HELP}
    lines["sanql_start_time_seconds"].append(f"{service.started.timestamp():.0f}")
    lines["sanql_time_seconds"].append(f"{datetime.now(UTC).timestamp():.0f}")
    for dataset, person in caller.known_to.values():
        check_role(person, "officer", "owner")
        samples = await queued(http, dataset, person, partial(_samples, dataset))
        for name, label, value in samples:
            lines[name].append(f"{label} {value}")
    text = "".join(
        f"# HELP {name} {_HELP[name]}\n# TYPE {name} gauge\n"
        + "".join(f"{name}{'' if '{' in line else ' '}{line}\n" for line in found)
        for name, found in lines.items()
    )
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def _samples(dataset: Dataset) -> list[tuple[str, str, Any]]:
    ledger, own = dataset.session.ledger, _label(dataset=dataset.name)
    version = ledger.versions.newest()
    samples: list[tuple[str, str, Any]] = [
        ("sanql_ledger_records", own, ledger.length),
        ("sanql_ledger_failures", own, ledger.failures.count()),
        ("sanql_data_version", own, 0 if version is None else version.number),
    ]
    balances = ledger.balances()
    alerts = alerts_of(balances, dataset.session.policy.alerts_at)
    samples.append(("sanql_budget_alerts", own, len(alerts)))
    for each in balances:
        whom = {} if each.protects is None else {"protects": each.protects}
        label = _label(dataset=dataset.name, kind=each.kind, account=each.account, **whom)
        samples += [
            ("sanql_budget_epsilon", label, number_lower(each.budget.epsilon)),
            ("sanql_budget_delta", label, number_lower(each.budget.delta)),
            ("sanql_spent_epsilon_upper", label, number_upper(each.spent_upper.epsilon)),
            ("sanql_spent_delta_upper", label, number_upper(each.spent_upper.delta)),
            ("sanql_remaining_epsilon_lower", label, number_lower(each.remaining_lower.epsilon)),
            ("sanql_remaining_delta_lower", label, number_lower(each.remaining_lower.delta)),
            ("sanql_reserved_questions", label, each.reserved),
        ]
        if each.open is not None:
            samples.append(("sanql_open_epsilon", label, number_lower(each.open)))
    return samples


def _label(**labels: str) -> str:
    """Return labels as Prometheus reads them.

    >>> _label(account='a"b')
    '{account="a\\\\"b"}'
    """
    escaped = {
        name: text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        for name, text in labels.items()
    }
    return "{" + ",".join(f'{name}="{text}"' for name, text in escaped.items()) + "}"
