"""Gathering a report: the account is verified first, and what is shown is what the verifier read."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from sanql import __version__
from sanql.audit import kept_audit_path
from sanql.audit.ledger import RecordChoice, list_records, verify_account
from sanql.certificate import cases_also_protected
from sanql.exact import terms_of
from sanql.examine import chosen_looking, looks_of
from sanql.numbers import number_upper
from sanql.policy import Budget, ColumnUnit, Continual, Policy, Table, ViaUnit
from sanql.report.contents import (
    AccountStanding,
    ChangeOnRecord,
    ContinualCount,
    LearnedAtMost,
    ProtectedTable,
    Report,
)
from sanql.results import Balance, alerts_of
from sanql.san import San
from sanql.theory.closed_forms import GuaranteedPair
from sanql.theory.meaning import best_test_of, posterior_band_of

PRIORS = (0.01, 0.1, 0.5)
FALSE_ALARM = 0.05
_TELLS_ALL = 500  # beyond this epsilon an answer may tell everything, and nothing is computed
_NO_EVENTS = {"reserve", "exact", "spend", "void", "checkpoint"}


def gather(policy: Policy) -> Report:
    """Return the report on a policy's account; LedgerError where the account is not sound."""
    verified = verify_account(policy)
    records = list_records(policy.ledger_place, RecordChoice())
    questions = [
        {"record": record["sequence"], **record["question"]}
        for record in records
        if "question" in record
    ]
    with San(policy, next(iter(policy.analysts), "officer")) as san:
        balances = san.budget()
        continual = tuple(_continual(san, each) for each in policy.continual.values())
    return Report(
        dataset=policy.name,
        made=datetime.now(UTC).replace(microsecond=0),
        version=__version__,
        neighbours=policy.neighbours,
        accounting=policy.accounting,
        tables=tuple(
            ProtectedTable(table.name, "; ".join([_protected(table), *_also(table, policy)]))
            for table in policy.tables.values()
        ),
        accounts=tuple(_standing(policy, balance, questions) for balance in balances),
        questions=tuple(questions),
        exact=tuple(_exact_releases(policy, verified.to_dict()["exact"])),
        continual=continual,
        alerts=tuple(alerts_of(balances, policy.alerts_at)),
        changes=tuple(_changes(records)),
        looks=looks_of(policy).times,
        chosen_looking=chosen_looking(policy),
        audit=_newest_audit(policy),
        verification=verified.to_dict(),
    )


def _newest_audit(policy: Policy) -> Mapping[str, Any] | None:
    """Return what the newest `sanql audit` found, if it was made and can be read."""
    try:
        found = json.loads(kept_audit_path(policy).read_text(encoding="utf-8"))
        return {name: found[name] for name in ("made", "version", "people", "alpha", "refuted")}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _continual(san: San, declared: Continual) -> ContinualCount:
    table = san.policy.tables[declared.table]
    counts = san.continual(declared.name)
    return ContinualCount(
        declared.name,
        declared.table,
        declared.by,
        _protected(table).removeprefix("all rows of "),
        declared.rows_per_unit,
        number_upper(declared.epsilon),
        len(counts.periods),
        declared.releases,
    )


def _protected(table: Table) -> str:
    """Return whose rows answers hide, in words."""
    match table.unit:
        case None:
            return "nobody: it is public"
        case ColumnUnit(column) if table.second is not None:
            second = table.second
            return (
                f"all rows of one {table.kind} ({column}), and all rows of one {second.kind}"
                f" ({second.column})"
            )
        case ColumnUnit(column) if table.kind is not None:
            return f"all rows of one {table.kind} ({column})"
        case ColumnUnit(column):
            return f"all rows of one {column}"
        case ViaUnit(column, referred, _):
            return f"all rows that lead, by {column}, to rows of {referred} that are one unit's"
        case _:
            return "one row"


def _also(table: Table, policy: Policy) -> list[str]:
    """Return what certificates say of the table besides one unit, in words."""
    if table.protections is None:
        return []
    return [f"and {what}" for what, _ in cases_also_protected(table.protections, policy.neighbours)]


def _standing(
    policy: Policy, balance: Balance, questions: Iterable[Mapping[str, Any]]
) -> AccountStanding:
    match balance.kind:
        case "analyst":
            members: frozenset[str] | None = frozenset({balance.account})
        case "coalition":
            members = policy.coalitions[balance.account].members
        case "dataset":
            members = None
    charged = [
        question
        for question in questions
        if not question["exact"]
        and (members is None or question["analyst"] in members)
        and balance.protects in (None, *(question.get("protects") or [balance.protects]))
    ]
    return AccountStanding(
        balance, len(charged), learned(balance.spent_upper), learned(balance.budget)
    )


@lru_cache(maxsize=256)
def learned(guarantee: Budget) -> LearnedAtMost:
    """Return what a guarantee allows to be learned of one person, whoever asks and however.

    >>> from fractions import Fraction
    >>> [round(after, 3) for _, after in learned(Budget(Fraction(1), Fraction(0))).beliefs]
    [0.027, 0.232, 0.731]
    """
    epsilon, delta = number_upper(guarantee.epsilon), number_upper(guarantee.delta)
    if epsilon > _TELLS_ALL or delta >= 1:
        return LearnedAtMost(epsilon, delta, tuple((prior, 1.0) for prior in PRIORS), 0.0, 1.0)
    pair = GuaranteedPair(epsilon, delta)
    failure = min(1e-3, 1000 * delta)
    beliefs = tuple(
        (prior, _up(posterior_band_of(pair, prior, failure=failure)[1])) for prior in PRIORS
    )
    return LearnedAtMost(epsilon, delta, beliefs, failure, _up(1 - best_test_of(pair, FALSE_ALARM)))


def _up(share: float) -> float:
    """Return a share with four decimals, rounded up."""
    return min(1.0, math.ceil(share * 10_000) / 10_000)


def _exact_releases(policy: Policy, releases: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """Yield the exact releases with what they assume, as far as the policy still declares them."""
    for release in releases:
        declared = policy.exact.get(release["name"])
        adversary = terms_of(declared).certified.adversary if declared is not None else None
        yield release | {"assumes": adversary}


def _changes(records: Iterable[Mapping[str, Any]]) -> Iterable[ChangeOnRecord]:
    for record in records:
        if record["kind"] not in _NO_EVENTS:
            body = record["body"]
            yield ChangeOnRecord(
                record["sequence"], str(body.get("time", "")), _what(record["kind"], body)
            )


def _what(kind: str, body: Mapping[str, Any]) -> str:
    """Return in words what was put on record."""
    because = f", because: {body['reason']}" if body.get("reason") else ""
    match kind:
        case "open":
            return f"the account was opened, in format {body.get('format')}"
        case "limits":
            accounts = ", ".join(
                f"{each['kind']} {each['name']} {_number(each['epsilon'])}{_paced(each)}"
                for each in body.get("accounts", [])
            )
            return f"budgets in force, epsilon: {accounts}{because}"
        case "tranche":
            return f"a tranche of the budget was opened for {body.get('period')}, by {body.get('author')}"
        case "version":
            return f"version {body.get('version')} of the data{because}"
        case "claim":
            return "the account claimed the data"
        case _:
            return kind.replace("_", " ") + because


def _paced(account: Mapping[str, Any]) -> str:
    if "tranche" not in account:
        return ""
    return f", opened by {_number(account['tranche']['epsilon'])} a {account['tranche']['per']}"


def _number(written: str) -> str:
    above, _, below = written.partition("/")
    return f"{int(above) / int(below or 1):g}"
