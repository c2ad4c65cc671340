"""The remote San: the interface for Python to a database that somebody else serves."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from sanql.client.address import parse_server_address
from sanql.client.asking import Progress, ask_server
from sanql.client.problems import unreadable
from sanql.client.sent_values import sent_options, sent_parameters
from sanql.client.transport import Transport
from sanql.errors import Refused, ServerError
from sanql.options import Number, Options, changed_defaults, with_defaults
from sanql.results import (
    Accounts,
    Answer,
    Balance,
    BatchExplanation,
    Certificate,
    Erasure,
    ExactCertificate,
    ExactExplanation,
    Explanation,
    HistoryEntry,
    ReceivedProfile,
    Schema,
    Suggestion,
    answer_from_dict,
    certificate_from_dict,
    explanation_from_dict,
)

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
RECORDS_AT_ONCE = 1_000  # of a ledger, in one page


@dataclass(frozen=True)
class OpenedVersion:
    """The version of its data that a server has opened."""

    dataset: str
    number: int

    @classmethod
    def from_dict(cls, shape: Mapping[str, Any]) -> OpenedVersion:
        """Return the version that a server says it has opened."""
        return cls(str(shape["dataset"]), int(shape["version"]))


class RemoteSan:
    """A private statistical database on a server, open for whoever the token belongs to.

    >>> import sanql
    >>> san = sanql.connect("https://san.example.org", token="…")  # doctest: +SKIP
    >>> san.query("SELECT COUNT(*) FROM people", epsilon=0.1)  # doctest: +SKIP
    """

    def __init__(
        self, transport: Transport, dataset: str | None = None, progress: Progress | None = None
    ) -> None:
        self._transport = transport
        self._progress = progress
        self._closed = False
        self._defaults: dict[str, object] = {}
        self.dataset = dataset

    def defaults(self, **options: Unpack[Options]) -> dict[str, object]:
        """Return the options of questions that say nothing themselves, as `San.defaults` does."""
        self._defaults = changed_defaults(self._defaults, options)
        return dict(self._defaults)

    def query(self, sql: str, *, parameters: Any = None, **options: Unpack[Options]) -> Answer:
        """Return a private answer, charged to the ledger; an identical question is free.

        It takes what `San.query` takes. An interrupt (Ctrl-C) cancels the question on the server; what
        it was charged stays.
        """
        body = self._question(sql, parameters, options)
        shape = ask_server(self._transport, "/v1/query", body, self._progress)
        return _rebuilt(answer_from_dict, shape)

    def explain(
        self, sql: str, *, parameters: Any = None, **options: Unpack[Options]
    ) -> Explanation | ExactExplanation:
        """Return what an answer would cost and how exact it would be; nothing is read or spent."""
        body = self._question(sql, parameters, options)
        reply = self._transport.post("/v1/explain", body, patient=True)
        return _rebuilt(explanation_from_dict, reply.shape)

    def batch(
        self, questions: Sequence[str | tuple[str, Any]], **options: Unpack[Options]
    ) -> tuple[Answer, ...]:
        """Return an answer to each of several questions, measured together for one `epsilon`.

        It takes what `San.batch` takes, and is cancelled like a question.
        """
        body = self._batch(questions, options)
        shape = ask_server(self._transport, "/v1/batch", body, self._progress)
        return _rebuilt(lambda shape: (*map(answer_from_dict, shape["answers"]),), shape)

    def explain_batch(
        self, questions: Sequence[str | tuple[str, Any]], **options: Unpack[Options]
    ) -> BatchExplanation:
        """Return what a batch would cost and how exact it would be; nothing is read or spent."""
        body = self._batch(questions, options)
        reply = self._transport.post("/v1/batch/explain", body, patient=True)
        return _rebuilt(BatchExplanation.from_dict, reply.shape)

    def profile(
        self, *tables: str, epsilon: Number, columns: Sequence[str] = ()
    ) -> tuple[ReceivedProfile, ...]:
        """Return what is known of units of tables, as `San.profile` does: the owner's to ask for."""
        body: dict[str, Any] = {"tables": [*tables], "columns": [*columns]}
        body |= _epsilons(epsilon=epsilon)
        reply = self._transport.post("/v1/profile", self._about(body), patient=True)
        return _profiles(reply.shape)

    def profiles(self) -> tuple[ReceivedProfile, ...]:
        """Return the profiles that are on record, one a table; nothing is read or spent."""
        return _profiles(self._get("/v1/profiles"))

    def suggest_limits(
        self,
        table: str,
        *,
        epsilon: Number | None = None,
        by: str | None = None,
        typical_epsilon: Number | None = None,
    ) -> Suggestion:
        """Return contribution limits that suit a table, found privately and charged to the ledger."""
        given = {"table": table, "by": by}
        body = {name: value for name, value in given.items() if value is not None}
        body |= _epsilons(epsilon=epsilon, typical_epsilon=typical_epsilon)
        reply = self._transport.post("/v1/suggest", self._about(body), patient=True)
        return _rebuilt(Suggestion.from_dict, reply.shape)

    def refresh(self) -> OpenedVersion:
        """Open the next version of the data, which is the owner's to say."""
        reply = self._transport.post("/v1/refresh", self._about({}), patient=True)
        return _rebuilt(OpenedVersion.from_dict, reply.shape)

    def ledger_records(
        self,
        *,
        questions: bool = False,
        analyst: str | None = None,
        since: datetime | None = None,
        last: int | None = None,
    ) -> list[dict[str, Any]]:
        """Return the records of the account, oldest first, as plain data: for owners and officers.

        Those of questions have what was asked and what became of it as `question`. With `questions`, an
        `analyst`, a time or the `last` so many, other records are left out.
        """
        chosen = {
            "questions": "true" if questions else None,
            "analyst": analyst,
            "since": None if since is None else since.isoformat(),
            "last": last,
        }
        found: list[dict[str, Any]] = []
        limit = RECORDS_AT_ONCE if last is None else last
        while True:
            after = found[-1]["sequence"] if found else 0
            shape = self._get("/v1/ledger", after=after, limit=limit, **chosen)
            page = _rebuilt(lambda shape: [dict(record) for record in shape["records"]], shape)
            found += page
            if len(page) < limit or last is not None:
                return found

    def verify_ledger(self) -> dict[str, Any]:
        """Return what the server's auditor recomputed of the account: for owners and officers."""
        shape = self._get("/v1/verify")
        return {name: value for name, value in shape.items() if name != "dataset"}

    def erase_texts(
        self, *numbers: int, analyst: str | None = None, before: datetime | None = None
    ) -> Erasure:
        """Erase what was typed with questions, as `San.erase_texts` does; it is the owner's to say."""
        body: dict[str, Any] = {"numbers": [*map(int, numbers)]} if numbers else {}
        body |= {} if analyst is None else {"analyst": analyst}
        body |= {} if before is None else {"before": before.isoformat()}
        reply = self._transport.post("/v1/ledger/erase", self._about(body), patient=True)
        return _rebuilt(Erasure.from_dict, reply.shape)

    def reload_policies(self) -> dict[str, str]:
        """Have the server read its policies again, as its owner; return what became of each."""
        reply = self._transport.post("/v1/reload", {}, patient=True)
        return _rebuilt(lambda shape: dict(shape["policies"]), reply.shape)

    def budget(self) -> Accounts:
        """Return the accounts that whoever asks is shown: an owner all, an analyst their own."""
        shape = self._get("/v1/budget")
        return _rebuilt(lambda shape: Accounts(map(Balance.from_dict, shape["accounts"])), shape)

    def schema(self) -> Schema:
        """Return what can be asked about: tables, columns, bounds, domains and limits."""
        return _rebuilt(Schema.from_dict, self._get("/v1/schema"))

    def balances(self) -> tuple[Balance, ...]:
        """Return the accounts that whoever asks is shown."""
        return tuple(self.budget())

    def history(self, *, after: int = 0, limit: int = 100) -> tuple[HistoryEntry, ...]:
        """Return what whoever asks has asked and paid for, oldest first, those after a number."""
        shape = self._get("/v1/history", after=after, limit=limit)
        return _rebuilt(lambda shape: (*map(HistoryEntry.from_dict, shape["questions"]),), shape)

    def read_again(self, number: int) -> Answer:
        """Return an answer on record, by its number in the history; it is free."""
        return _rebuilt(answer_from_dict, self._get(f"/v1/history/{int(number)}"))

    def certificate(self, number: int) -> Certificate | ExactCertificate:
        """Return the certificate that came with an answer, by its number in the history."""
        return _rebuilt(certificate_from_dict, self._get(f"/v1/certificate/{int(number)}"))

    def close(self) -> None:
        """End the connection; the server goes on."""
        self._closed = True
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _question(
        self, sql: str, parameters: object, options: Mapping[str, object]
    ) -> dict[str, Any]:
        """Return the body of a question."""
        own = with_defaults(self._defaults, options, self._said_in(sql))
        body = {"sql": sql, **sent_options(own)}
        values = sent_parameters(parameters)
        return self._about(body if values is None else body | {"parameters": values})

    def _batch(
        self, questions: Sequence[str | tuple[str, Any]], options: Mapping[str, object]
    ) -> dict[str, Any]:
        """Return the body of a batch; what is no list of questions is for the server to refuse."""
        asked = [] if isinstance(questions, str) else [*map(_one_of_several, questions)]
        own = with_defaults(self._defaults, options)
        return self._about({"questions": asked, **sent_options(own)})

    def _said_in(self, sql: str) -> Mapping[str, object]:
        """Return the options that a text has, where defaults must not say otherwise."""
        if not self._defaults:
            return {}
        from sanql.parse import QuestionText  # heavy, and all else is read by the server alone

        return QuestionText(sql).options

    def _about(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return a body that says which dataset it is about, where one was chosen."""
        self._check_open()
        return body if self.dataset is None else body | {"dataset": self.dataset}

    def _get(self, path: str, **values: object) -> Mapping[str, Any]:
        self._check_open()
        return self._transport.get(path, dataset=self.dataset, **values)

    def _check_open(self) -> None:
        if self._closed:
            raise Refused(
                "closed", "this San has been closed", "connect again with sanql.connect(…)"
            )


def connect_to_server(
    server: str | None = None,
    *,
    token: str | None = None,
    dataset: str | None = None,
    verify: bool | str | Path = True,
    insecure: bool = False,
    progress: Progress | None = None,
) -> RemoteSan:
    """Return San on a server, for whoever the token belongs to.

    Without them, the server and the token are those that SANQL_SERVER and SANQL_TOKEN say. `dataset` is
    needed where the token is good for several. `verify` may be a file with the certificates to trust;
    with `insecure` a token is sent in clear text, or to a server whose certificate nobody has checked.
    """
    typed = os.environ.get("SANQL_SERVER", "") if server is None else server
    secret = os.environ.get("SANQL_TOKEN", "") if token is None else token
    if not typed:
        raise ServerError(
            "server_needed",
            "nothing says which server to ask",
            'pass its address, sanql.connect("https://…"), or set SANQL_SERVER',
        )
    if token is None and not secret:
        raise ServerError(
            "token_needed",
            "nothing says who asks",
            "pass token=…, or --token-file FILE in a command, or set SANQL_TOKEN",
        )
    if verify is False and not insecure:
        raise ServerError(
            "verify_needed",
            "verify=False would send the token to whoever answers in the server's place",
            "pass verify=PATH of the authority's certificate, or insecure=True besides",
        )
    address = parse_server_address(typed, insecure=insecure)
    return RemoteSan(Transport(address, secret.strip(), verify), dataset, progress)


def _one_of_several(question: str | tuple[str, Any]) -> object:
    """Return a question of a batch as it is sent."""
    if isinstance(question, str):
        return question
    sql, parameters = question
    return {"sql": sql, "parameters": sent_parameters(parameters)}


def _profiles(shape: Mapping[str, Any]) -> tuple[ReceivedProfile, ...]:
    return _rebuilt(lambda shape: (*map(ReceivedProfile.from_dict, shape["profiles"]),), shape)


def _epsilons(**typed: Number | None) -> dict[str, Any]:
    """Return epsilons as they are sent, each of which is one."""
    return {
        name: sent_options({"epsilon": value})["epsilon"]
        for name, value in typed.items()
        if value is not None
    }


def _rebuilt(read: Callable[[Mapping[str, Any]], T], shape: Mapping[str, Any]) -> T:
    """Return what a server has sent as what it was; a server of another version may send otherwise."""
    try:
        return read(shape)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise unreadable() from None
