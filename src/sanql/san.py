"""San: stands between the data and whoever asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from sanql.account import Balance, Charge, Ledger, Version, parse_delta, parse_epsilon
from sanql.account.terms import account_terms
from sanql.engine import answer, answer_exactly, cells_of, data_name
from sanql.errors import BudgetExceeded, Refused
from sanql.execute import Data, Description, Source, Workers
from sanql.execute.claiming import claim, open_claimed, still_claimed
from sanql.execute.statement import public_statement, statement
from sanql.explain import Explanation, explain, explain_public
from sanql.explain.before_bounds import WIDTHS, before_bounds
from sanql.interrupts import charges_said
from sanql.mechanisms import ExactSampler, Sampler
from sanql.parse import Asked, Parameters, Question, parse
from sanql.parse.nearest import teach
from sanql.parse.shared import PublicQuery
from sanql.plan import Outlined, Plan, Planned, outline_question, plan_question
from sanql.plan.default_delta import check_selects, default_delta
from sanql.plan.keys import check_strategy
from sanql.plan.limits import parse_groups
from sanql.plan.posing import guessed
from sanql.policy import Budget, Policy, Table, load
from sanql.release import (
    Answer,
    NoisyCells,
)
from sanql.release.exact_answer import ExactExplanation
from sanql.release.exact_asking import ExactDesk, asks_exactly, with_remedy
from sanql.release.finding import (
    Bounded,
    BoundsDesk,
    whole_charge,
)
from sanql.release.finish import check_finish, check_plain
from sanql.release.suggestion import EPSILON_TYPICAL, Suggestion, suggest
from sanql.release.till import Till
from sanql.wishes import (
    Number,
    Wishes,
    check_groups,
    check_price,
    check_unit,
    confidence_of,
    epsilon_of,
    finish_of,
    one,
    raised_to_least,
)


class San:
    """A private statistical database, open for one analyst.

    >>> import sanql
    >>> san = sanql.open("policy.toml", analyst="ana")  # doctest: +SKIP
    >>> san.query("SELECT COUNT(*) FROM people", epsilon=0.1)  # doctest: +SKIP
    """

    def __init__(
        self,
        policy: Policy,
        analyst: str | None = None,
        *,
        sampler: Sampler | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.policy = policy
        self.analyst = _analyst(policy, analyst)
        self._sampler = sampler or ExactSampler()
        self._ledger = open_claimed(policy, account_terms(policy))
        self._ledger.before_charge = self._claim
        self._claimed: object = self  # what of the data was open when they were last claimed
        self.data = Data(policy, self._ledger, progress)
        self._closed = False

    def query(
        self,
        sql: str,
        *,
        parameters: Parameters | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        accuracy: object = None,
        confidence: Number | None = None,
        max_groups_contributed: int | None = None,
        other: str | None = None,
        nonnegative: bool | None = None,
        rounded: Number | None = None,
        exact: bool = False,
        fresh: bool = False,
    ) -> Answer:
        """Return a private answer, charged to the ledger; an identical question is free.

        Give `epsilon` (the whole question's) or an `accuracy` to reach: a half-width, or
        {"half_width": …, "confidence": …, "rows": a guess for averages} or {"relative": 0.02,
        "guess": 10000}. With `exact` (or release='exact' in the text) the answer has no noise and
        no price; it is there only where the owner has declared an adversary it is safe against.
        `other` names one row more that adds up the groups too small to appear; `nonnegative` and
        `rounded` (to multiples of a number) change how noisy counts and sums are shown.
        `parameters` are constants for ? and $1 (a list), or $name and :name (values by name).
        With `fresh` a recorded answer is not used: the question is measured, and charged, again.
        """
        limits = accuracy, confidence, max_groups_contributed
        wishes = Wishes(epsilon, delta, *limits, other, nonnegative, rounded, fresh)
        self._check_open()
        asked = Asked(sql, parameters)
        with charges_said(), self._teaching(asked):
            if asks_exactly(asked, exact, asdict(wishes)):
                return answer_exactly(self, asked)
            return answer(self, asked, wishes)

    def explain(
        self,
        sql: str,
        *,
        parameters: Parameters | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        accuracy: object = None,
        confidence: Number | None = None,
        max_groups_contributed: int | None = None,
        other: str | None = None,
        nonnegative: bool | None = None,
        rounded: Number | None = None,
        exact: bool = False,
    ) -> Explanation | ExactExplanation:
        """Return what an answer would cost and how exact it would be; nothing is read or spent."""
        limits = accuracy, confidence, max_groups_contributed
        wishes = Wishes(epsilon, delta, *limits, other, nonnegative, rounded)
        self._check_open()
        asked = Asked(sql, parameters)
        with self._teaching(asked):
            if not asks_exactly(asked, exact, asdict(wishes)):
                return self._explain(asked, wishes)
            with self._noise_instead(asked):
                return self._desk.explain(asked, self.data, partial(self._with_noise, asked))

    def suggest_limits(
        self,
        table: str,
        *,
        epsilon: Number,
        by: str | None = None,
        typical_epsilon: Number | None = None,
    ) -> Suggestion:
        """Return contribution limits that suit a table, found privately and charged to the ledger.

        Units are counted by how many rows they have and, with `by`, by how many groups of that
        column they are in; `typical_epsilon` (0.1) is that of the questions the limits are for.
        """
        self._check_open()
        typical = EPSILON_TYPICAL if typical_epsilon is None else parse_epsilon(typical_epsilon)
        price, till = parse_epsilon(epsilon), self._till()
        with charges_said():
            return suggest(table, by, self.policy, self.tables, price, typical, till)

    def _explain(self, asked: Asked, wishes: Wishes) -> Explanation:
        desk = self.bounds_desk(asked)
        posed = desk.pose()
        if isinstance(posed.question.query, PublicQuery):
            return self._explained_publicly(posed.question, posed.question.query, wishes)
        bounded, wider = (desk.settle(posed, width=width) for width in WIDTHS)
        explained = self._explained(bounded, wishes)
        if not bounded.missing:
            return explained
        return before_bounds(
            explained,
            self._explained(wider, wishes),
            statement(bounded.missing[0].plan, self.description, secret=0),
        )

    def _explained_publicly(
        self, question: Question, query: PublicQuery, wishes: Wishes
    ) -> Explanation:
        check_plain(finish_of(question, wishes))
        sent = public_statement(query, self.description, self.tables)
        confidence, neighbours = confidence_of(wishes), self.policy.neighbours
        return explain_public(query, sent, confidence, self.balances(), neighbours)

    def _explained(self, bounded: Bounded, wishes: Wishes) -> Explanation:
        planned = self.planned(bounded, wishes)
        finish = finish_of(bounded.question, wishes)
        check_finish(planned, finish)
        known = self.description
        sent = tuple(statement(level, known, secret=0) for level in planned.levels)
        cached = self.recorded(planned) is not None or self._is_rehearsed(planned)
        whole = whole_charge(bounded, planned)
        if not cached:
            check_price(self.policy, whole, bounded)
        return explain(
            planned,
            sent,
            confidence_of(wishes),
            self.balances(),
            cached=cached,
            fits=cached or self._fits(whole),
            finish=finish,
            bounded=bounded,
            after=self._ledger.balances_after(self.analyst, whole),
            raised=raised_to_least(self.policy, wishes, planned),
        )

    @contextmanager
    def _teaching(self, asked: Asked) -> Iterator[None]:
        """Add to a refusal the nearest question that would be answered."""
        try:
            yield
        except Refused as refused:
            raise teach(refused, asked, guessed(self.tables), self._accept) from None

    def _accept(self, question: Question) -> None:
        """Plan a question as if it had been asked; refuse what would be refused."""
        if isinstance(question.query, PublicQuery):
            public_statement(question.query, self.description, self.tables)
            return
        outlined = outline_question(question.private, self.tables, self.policy.neighbours)
        for level in plan_question(outlined, Fraction(1), Fraction(1, 10**9)).levels:
            statement(level, self.description, secret=0)

    @property
    def _desk(self) -> ExactDesk:
        return ExactDesk(self.policy.exact, self.tables, self.analyst, self._ledger)

    @contextmanager
    def _noise_instead(self, asked: Asked) -> Iterator[None]:
        """Add to a refusal of an exact answer what a noisy one would be like."""
        try:
            yield
        except Refused as refused:
            if not refused.code.startswith("exact_"):
                raise
            noise = self._with_noise(asked, self._desk.epsilon_compared())
            raise with_remedy(refused, noise) from None

    def _with_noise(self, asked: Asked, epsilon: Fraction) -> str:
        try:
            explained = self._explain(asked, Wishes(epsilon=epsilon))
        except Refused:
            return ""
        widths = [f"{part.column} {part.in_words()}" for part in explained.expected]
        what = f" gives {', '.join(widths)}" if widths else " answers it"
        return f"with noise, epsilon {float(epsilon):g}{what}, whatever the adversary knows"

    def _fits(self, charge: Charge) -> bool:
        try:
            self._ledger.would_fit(self.analyst, charge)
        except BudgetExceeded:
            return False
        return True

    def refresh(self) -> Version:
        """Open the next version of the data: from now on questions are about the source as it is.

        It is the owner's to say, whether or not anything has changed: what was answered before is of the
        versions before, and whatever is asked again is charged again.
        """
        self._check_open()
        return self.data.refresh()

    def budget(self) -> list[Balance]:
        """Return every account of the dataset as it stands: the owner's view, not one for an analyst.

        What an analyst may be shown is `balances()`: other accounts tell what others have asked.
        """
        self._check_open()
        return list(self._ledger.balances())

    def balances(self) -> tuple[Balance, ...]:
        """Return the accounts this analyst is shown: their own, or else those they share."""
        return self._ledger.balances_of(self.analyst)

    def close(self) -> None:
        """Stop the engine's workers and close the ledger."""
        self._closed = True
        self.data.close()
        self._ledger.close()

    def _check_open(self) -> None:
        if self._closed:
            raise Refused(
                "closed", "this San has been closed", "open the policy again with sanql.open(…)"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def ledger(self) -> Ledger:
        """The durable account."""
        return self._ledger

    @property
    def sampler(self) -> Sampler:
        """Where noise comes from."""
        return self._sampler

    @property
    def description(self) -> Description:
        """The data's names and types; no row has been read for it."""
        return self.data.describe()

    @property
    def source(self) -> Source:
        """The data as the engine sees it, prepared on first use."""
        return self.data.open().source

    def _claim(self) -> None:
        """See that the data belong to the ledger's account, and still do, before each charge."""
        opened = self.data.opened
        if self._claimed is not opened or not still_claimed(self._ledger, self.policy):
            claim(self._ledger, self.policy)
            self.data.keep_secret()
            self._claimed = opened

    @property
    def workers(self) -> Workers:
        """The engine's processes, started on first use."""
        return self.data.open().workers

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables of the policy; a public table without declared columns has the source's."""
        known = self.data.columns()
        return {
            name: replace(table, columns=known[name])
            if name in known and not table.columns
            else table
            for name, table in self.policy.tables.items()
        }

    def prepare(self, asked: str | Asked, wishes: Wishes) -> tuple[Planned, Question]:
        """Return the priced plan of a question; everything that can be refused is refused here."""
        desk = self.bounds_desk(asked)
        bounded = desk.settle(desk.pose())
        return self.planned(bounded, wishes), bounded.question

    def planned(self, bounded: Bounded, wishes: Wishes) -> Planned:
        """Return the priced plan of a question that has been read."""
        question, tables = bounded.question, bounded.tables
        groups = parse_groups(
            one(
                "max_groups_contributed",
                question.options.max_groups_contributed,
                wishes.max_groups_contributed,
            )
        )
        other = finish_of(question, wishes).other is not None
        outlined = outline_question(question.private, tables, self.policy.neighbours, groups, other)
        check_unit(outlined.table, question.options.privacy_unit_column)
        check_groups(outlined.table, groups)
        for level in outlined.levels:
            check_strategy(level.keys, question.options.group_selection_strategy)
        epsilon = one("epsilon", question.options.epsilon, wishes.epsilon)
        typed = one("delta", question.options.delta, wishes.delta)
        least, own = self.policy.epsilon_per_query_min, None
        if typed is None and outlined.selects_keys:
            first = self._delta(outlined, None, None)
            own = epsilon_of(outlined, epsilon, first, wishes, bounded, least)
        delta = self._delta(outlined, typed, own)
        own = epsilon_of(outlined, epsilon, delta, wishes, bounded, least)
        return plan_question(outlined, own, delta)

    def bounds_desk(self, asked: str | Asked) -> BoundsDesk:
        """Return where the bounds that a question needs are found, or only looked up."""
        return BoundsDesk(self.policy, self.tables, partial(parse, asked), self._till())

    def recorded(self, planned: Planned) -> tuple[bytes, int] | None:
        """Return the cells on record for a question about the newest version, and its number."""
        version, formerly = self.data.known_as()
        older = [planned.first_digest(formerly)] if formerly else []
        name = planned.digest(data_name(self.policy, version))
        found = self._ledger.find(self.analyst, name, *older)
        return None if found is None else (found, version)

    def _is_rehearsed(self, planned: Planned) -> bool:
        """Return whether a scratch account has been charged for a question, so that it is free now."""
        if not self._ledger.scratch:
            return False
        return self._ledger.is_rehearsed(self.analyst, planned.digest(data_name(self.policy, 1)))

    def _till(self) -> Till:
        def recorded(planned: Plan) -> NoisyCells | None:
            found = self.recorded(planned)
            return NoisyCells.from_bytes(found[0]) if found is not None else None

        return Till(
            recorded,
            partial(self._ledger.would_fit, self.analyst),
            lambda planned: cells_of(self, planned, lambda: None).cells.levels[0],
            self.balances,
        )

    def _delta(
        self, outlined: Outlined, typed: Number | None, epsilon: Fraction | None
    ) -> Fraction:
        if typed is not None:
            return parse_delta(typed)
        if not outlined.selects_keys:
            return Fraction(0)
        if self.policy.delta_per_query is not None:
            return self.policy.delta_per_query
        budgets = self._budgets()
        check_selects(budgets)
        return default_delta(epsilon, budgets, self.policy.accounting)

    def _budgets(self) -> list[Budget]:
        analyst = self.policy.analysts.get(self.analyst)
        groups = self.policy.coalitions.values()
        return [
            self.policy.budget,
            *([analyst.budget] if analyst is not None and analyst.budget is not None else []),
            *(group.budget for group in groups if self.analyst in group.members),
        ]


def open_policy(
    policy: str | Path | Policy,
    analyst: str | None = None,
    *,
    progress: Callable[[str], None] | None = None,
) -> San:
    """Return San for a policy file; `analyst` may be left out when the policy names at most one."""
    loaded = policy if isinstance(policy, Policy) else load(policy)
    return San(loaded, analyst, progress=progress)


def _analyst(policy: Policy, analyst: str | None) -> str:
    if analyst is not None:
        return analyst
    if len(policy.analysts) <= 1:
        return next(iter(policy.analysts), "analyst")
    raise Refused(
        "analyst_needed",
        "the policy names several analysts, and the question does not say who asks",
        f"pass --analyst NAME or analyst=…, one of {', '.join(sorted(policy.analysts))}",
    )
