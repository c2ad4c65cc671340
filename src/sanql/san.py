"""San, the interface for Python: a session and one analyst who asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack

from sanql.account import DATASET, Balance, Door, Ledger, TextChoice, Version, author_named
from sanql.ask import (
    EPSILON_TYPICAL,
    AskedText,
    BatchRequest,
    Request,
    Session,
    ask,
    ask_batch,
    closed,
    counts_on_record,
    explain_batch,
    explain_request,
    history,
    profile_tables,
    read_again,
    read_batch,
    read_request,
    recorded_certificate,
    release_counts,
    schema_of,
    suggest_limits,
)
from sanql.continual import ContinualCounts
from sanql.engines import check_no_snapshot
from sanql.errors import Refused
from sanql.mechanisms import Sampler
from sanql.numbers import parse_epsilon
from sanql.options import Number, Options, changed_defaults, read_moment, with_defaults
from sanql.parse import Parameters, QuestionText
from sanql.policy import Policy, load
from sanql.profile import Profile
from sanql.results import (
    Accounts,
    Answer,
    BatchExplanation,
    Certificate,
    Erasure,
    ExactCertificate,
    ExactExplanation,
    Explanation,
    HistoryEntry,
    Schema,
    Suggestion,
    certificate_from_dict,
)
from sanql.sources import snapshot_frames


class San:
    """A private statistical database, open for one analyst.

    >>> import sanql
    >>> san = sanql.open("policy.toml", analyst="ana")  # doctest: +SKIP
    >>> san.query("SELECT COUNT(*) FROM people", epsilon=0.1)  # doctest: +SKIP
    """

    def __init__(
        self,
        policy: Policy | Session,
        analyst: str | None = None,
        *,
        sampler: Sampler | None = None,
        progress: Callable[[str], None] | None = None,
        door: Door = "python",
    ) -> None:
        """Open a policy's data for an analyst, or ask in a session that is open already.

        `door` is what the ledger says that questions came through.
        """
        self._door: Door = door
        self._shares_session = isinstance(policy, Session)
        self.analyst = _analyst(policy.policy if isinstance(policy, Session) else policy, analyst)
        if not isinstance(policy, Session):
            policy = Session(policy, sampler=sampler, progress=progress)
        self.session = policy
        self._defaults: dict[str, object] = {}
        self._closed = False

    def defaults(self, **options: Unpack[Options]) -> dict[str, object]:
        """Return the options of questions that say nothing themselves, changed by those that are passed.

        `san.defaults(epsilon=0.1)` prices every question from here on that has no epsilon, or accuracy,
        of its own, and each is charged for it; `san.defaults(epsilon=None)` takes that back.
        """
        self._defaults = changed_defaults(self._defaults, options)
        return dict(self._defaults)

    def query(
        self, sql: str, *, parameters: Parameters | None = None, **options: Unpack[Options]
    ) -> Answer:
        """Return a private answer, charged to the ledger; an identical question is free.

        Give `epsilon` (the whole question's) or an `accuracy` to reach: a half-width, or
        {"half_width": …, "confidence": …, "rows": a guess for averages} or {"relative": 0.02,
        "guess": 10000}; `delta`, where keys are selected; `confidence`, of the intervals;
        `max_groups_contributed` and `max_rows_contributed`, in how many groups one unit may count, and
        with how many rows; and where groups are selected privately, `min_privacy_units_per_group`,
        which a group must have to appear. With `exact` (or release='exact' in the text) the answer has
        no noise and no price; it is there only where the owner has declared an adversary it is safe
        against. `other` names one row more that adds up the groups too small to appear; `null_group`
        makes rows whose public key is NULL a group of their own; `nonnegative` and `rounded` (to
        multiples of a number) change how noisy counts and sums are shown.
        `parameters` are constants for ? and $1 (a list), or $name and :name (values by name). With
        `fresh` a recorded answer is not used: the question is measured, and charged, again.
        """
        return ask(self.session, self._request(sql, parameters, options))

    def explain(
        self, sql: str, *, parameters: Parameters | None = None, **options: Unpack[Options]
    ) -> Explanation | ExactExplanation:
        """Return what an answer would cost and how exact it would be; nothing is read or spent."""
        return explain_request(self.session, self._request(sql, parameters, options))

    def batch(
        self, questions: Sequence[AskedText], **options: Unpack[Options]
    ) -> tuple[Answer, ...]:
        """Return an answer to each of several questions, measured together for one `epsilon`.

        What they share is measured once, sums of others are added up, and epsilon is split for the least
        error of all. The charge is one, and each answer has it: it is for all of them. A question
        is a text, or a pair of a text and its parameters; `epsilon`, `delta` and `fresh` are of the
        batch, all other options of each question. The same batch asked again is free.
        """
        return ask_batch(self.session, self._batch(questions, options))

    def explain_batch(
        self, questions: Sequence[AskedText], **options: Unpack[Options]
    ) -> BatchExplanation:
        """Return what a batch would cost and how exact it would be; nothing is read or spent."""
        return explain_batch(self.session, self._batch(questions, options))

    def suggest_limits(
        self,
        table: str,
        *,
        epsilon: Number | None = None,
        by: str | None = None,
        typical_epsilon: Number | None = None,
    ) -> Suggestion:
        """Return contribution limits that suit a table, found privately and charged to the ledger.

        Units are counted by how many rows they have and, with `by`, by how many groups of that
        column they are in; `typical_epsilon` (0.1) is that of the questions the limits are for. A
        profile that tells as much is used instead: then nothing is charged, and no `epsilon` needed.
        """
        typical = EPSILON_TYPICAL if typical_epsilon is None else parse_epsilon(typical_epsilon)
        price = None if epsilon is None else parse_epsilon(epsilon)
        return suggest_limits(self.session, self.analyst, table, by, price, typical, self._door)

    def profile(
        self, *tables: str, epsilon: Number, columns: Sequence[str] = ()
    ) -> tuple[Profile, ...]:
        """Return what is known of units of tables, measured once and charged to the dataset's account.

        It is the owner's to ask for: how many rows units have and, for each of `columns`, how many
        groups they are in, how large the groups are where its values are public, and the range of a
        number. Without names it is of all tables whose units may have several rows. From then on every
        analyst has it in `profiles`, and answers, explanations and suggestions use it for free.
        """
        self._check_open()
        price = parse_epsilon(epsilon)
        return profile_tables(self.session, tables, columns, price, self._door)[0]

    def profiles(self) -> tuple[Profile, ...]:
        """Return the profiles that are on record, one a table; nothing is read or spent."""
        self._check_open()
        return tuple(self.session.profiles.now().values())

    def release_continual(self, name: str, until: str | None = None) -> ContinualCounts:
        """Release a continual count of the policy up to a period, or to the last that is over.

        It is the owner's to ask for: the first release is charged, to the dataset's account, with the
        price of all of them. From then on every analyst has it in `continual`.
        """
        self._check_open()
        today = datetime.now(UTC).date()
        return release_counts(self.session, name, until, today, door=self._door)

    def continual(self, name: str, confidence: float = 0.95) -> ContinualCounts:
        """Return what is released of a continual count, with intervals; nothing is read or spent."""
        self._check_open()
        return counts_on_record(self.session, name, confidence)

    def history(self, *, after: int = 0, limit: int = 100) -> tuple[HistoryEntry, ...]:
        """Return what this analyst has asked and paid for, oldest first, those after a number."""
        return history(self.session, self.analyst, after, limit)

    def read_again(self, number: int) -> Answer:
        """Return an answer on record, by its number in the history; it is free, and no row is read."""
        return read_again(self.session, self.analyst, number)

    def certificate(self, number: int) -> Certificate | ExactCertificate:
        """Return the certificate that came with an answer, by its number in the history."""
        return certificate_from_dict(recorded_certificate(self.session, self.analyst, number))

    def refresh(self, tables: Mapping[str, object] | None = None) -> Version:
        """Open the next version of the data: from now on questions are about the source as it is.

        It is the owner's to say, whether or not anything has changed: what was answered before is of the
        versions before, and whatever is asked again is charged again. Where the policy has its `tables`
        passed, the next version's may be passed here.
        """
        self.session.check_open()
        if tables is not None:
            check_no_snapshot(self.session.policy)
            snapshot_frames(self.session.policy, tables)
        return self.session.data.refresh()

    def erase_texts(
        self, *numbers: int, analyst: str | None = None, before: datetime | None = None
    ) -> Erasure:
        """Erase what was typed with questions, by the numbers of their records in the ledger.

        Or all that an analyst has typed, or that was typed before a time, or both. It is the owner's to
        say, and is recorded; charges and answers stay as they are, so that repeats are free.
        """
        self.session.check_open()
        moment = None if before is None else read_moment(before.isoformat())
        choice = TextChoice(numbers, analyst, moment)
        return self.ledger.texts.erase(choice, author_named(None))

    def budget(self) -> Accounts:
        """Return every account of the dataset as it stands: the owner's view, not one for an analyst.

        What an analyst may be shown is `balances()`: other accounts tell what others have asked.
        """
        self.session.check_open()
        return Accounts(self.ledger.balances())

    def schema(self) -> Schema:
        """Return what can be asked about: tables, columns, bounds, domains and limits; no row is read."""
        return schema_of(self.session)

    def balances(self) -> tuple[Balance, ...]:
        """Return the accounts this analyst is shown: their own, or else those they share."""
        return self.session.balances(self.analyst)

    @property
    def policy(self) -> Policy:
        """What the owner declares."""
        return self.session.policy

    @property
    def ledger(self) -> Ledger:
        """The durable account."""
        return self.session.ledger

    def close(self) -> None:
        """Stop the engine and close the ledger; a session that others share stays open."""
        self._closed = True
        if not self._shares_session:
            self.session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _batch(self, questions: Sequence[AskedText], options: Mapping[str, object]) -> BatchRequest:
        self._check_open()
        own = with_defaults(self._defaults, options)
        return read_batch(questions, self.analyst, own, door=self._door)

    def _check_open(self) -> None:
        if self._closed:
            raise closed()
        self.session.check_open()

    def _request(
        self, sql: str, parameters: Parameters | None, options: Mapping[str, object]
    ) -> Request:
        self._check_open()
        asked = QuestionText(sql, parameters)
        own = with_defaults(self._defaults, options, asked.options if self._defaults else ())
        return read_request(asked, self.analyst, own, door=self._door)


def open_policy(
    policy: str | Path | Policy,
    analyst: str | None = None,
    *,
    tables: Mapping[str, object] | None = None,
    progress: Callable[[str], None] | None = None,
    door: Door = "python",
) -> San:
    """Return San for a policy file; `analyst` may be left out when the policy names at most one.

    A policy that names no source has its `tables` passed: data frames by name, kept beside the ledger.
    """
    loaded = policy if isinstance(policy, Policy) else load(policy)
    if tables is not None:
        check_no_snapshot(loaded)
        snapshot_frames(loaded, tables)
    return San(loaded, analyst, progress=progress, door=door)


def _analyst(policy: Policy, analyst: str | None) -> str:
    if analyst == DATASET:
        raise Refused(
            "analyst_unknown",
            f"{DATASET} is how the ledger calls the dataset itself, which asks for profiles alone",
            "ask under a name of your own",
        )
    if analyst is not None:
        return analyst
    if len(policy.analysts) <= 1:
        return next(iter(policy.analysts), "analyst")
    raise Refused(
        "analyst_needed",
        "the policy names several analysts, and the question does not say who asks",
        f"pass --analyst NAME or analyst=…, one of {', '.join(sorted(policy.analysts))}",
    )
