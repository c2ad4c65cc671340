"""Asking exactly: parse, plan, certify, reserve (durably), read the cells once, put them on record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sanql.account import Balance, Ledger
from sanql.errors import Refused
from sanql.execute.data import Data, Opened
from sanql.execute.exact import exact_statement
from sanql.execute.pool import Lease
from sanql.execute.statement import Statement
from sanql.parse import Asked, parse
from sanql.parse.options import Options
from sanql.plan.exact import ExactPlan, plan_exact
from sanql.policy import Table
from sanql.policy.exact import Exact
from sanql.release.exact_answer import (
    ExactAnswer,
    ExactExplanation,
    exact_answer,
    notes_on,
)
from sanql.release.exact_cells import recorded_cells, release_cells
from sanql.release.exact_terms import certificate_of, certified_claim, claim_of, too_small

if TYPE_CHECKING:
    import pyarrow

EPSILON_COMPARED = Fraction(1, 10)
"""At which a noisy answer is described where the owner has declared nothing to compare with."""

FORMS = ("other", "nonnegative", "rounded")  # what is done to noisy values only

Run = Callable[[Opened, Lease, Statement], "pyarrow.Table"]
Describe = Callable[[Fraction], str]


def asks_exactly(asked: Asked, passed: bool, wishes: Mapping[str, object]) -> bool:
    """Return whether an exact answer is asked for, in the text or beside it; refuse what clashes."""
    _, options = asked.split
    if options.release not in (None, "exact", "noisy"):
        raise Refused(
            "release_unknown",
            f"release={options.release[:40]!r} is not known",
            "write release='exact', or leave it out for an answer with noise",
        )
    if options.release == "noisy" and passed:
        raise Refused(
            "option_twice",
            "the question asks for release='noisy' and an exact answer at once",
            "give it once",
        )
    exact = passed or options.release == "exact"
    if exact:
        _check_no_price(options, wishes)
    return exact


def _check_no_price(options: Options, wishes: Mapping[str, object]) -> None:
    given = [
        name
        for name, value in [
            ("epsilon", options.epsilon),
            ("delta", options.delta),
            ("max_groups_contributed", options.max_groups_contributed),
            *((name, getattr(options, name)) for name in FORMS),
            *wishes.items(),
        ]
        if value is not None and value is not False
    ]
    if given and given[0] in FORMS:
        raise Refused(
            "exact_form",
            f"{given[0]} is given with an exact answer, which shows every number as it is",
            f"leave {given[0]} out, or ask with noise",
        )
    if given:
        raise Refused(
            "exact_price",
            f"{given[0]} is given with an exact answer, which has no noise to choose: its "
            "guarantee is the one the owner accepts",
            f"leave {given[0]} out, or ask with noise",
        )


@dataclass(frozen=True)
class ExactDesk:
    """What an analyst's exact questions need: the owner's declarations and the ledger."""

    declared: Mapping[str, Exact]
    tables: Mapping[str, Table]
    analyst: str
    ledger: Ledger

    def plan(self, asked: str | Asked) -> ExactPlan:
        """Return the plan of a question; everything the policy forbids is refused here."""
        return plan_exact(parse(asked, self.tables).private, self.declared)

    def answer(
        self,
        asked: str | Asked,
        data: Data,
        run: Run,
        balances: Callable[[], tuple[Balance, ...]],
    ) -> ExactAnswer:
        """Return the exact answer; rows are read only for the first question about a release."""
        planned = self.plan(asked)
        exact = planned.exact
        table = self.tables[exact.table]
        released = recorded_cells(exact, *data.known_as(), self.analyst, self.ledger)
        if released is None:
            opened = data.open()
            sent = exact_statement(exact, table, opened.source)
            version = opened.version.number, opened.version.formerly
            with opened.workers.lease() as lease:  # ready before anything is on record
                released = release_cells(
                    exact, *version, self.analyst, self.ledger, lambda: run(opened, lease, sent)
                )
        book = self.ledger.exact_releases()
        as_of = self.ledger.version_of(released.entry)
        return exact_answer(planned, table, released, book, balances(), as_of)

    def explain(self, asked: str | Asked, data: Data, with_noise: Describe) -> ExactExplanation:
        """Return what the answer would guarantee; what would be refused is refused."""
        planned = self.plan(asked)
        exact = planned.exact
        known_as = data.known_as()
        entry = self.ledger.find_exact(self.analyst, claim_of(exact, *known_as))
        if entry is not None and entry.refusal is not None:
            raise too_small(exact)
        claim = entry.claim if entry is not None else certified_claim(exact, *known_as)
        return ExactExplanation(
            plan=planned,
            certificate=certificate_of(claim, self.ledger.exact_releases(), notes_on(planned)),
            cached=entry is not None and entry.answer is not None,
            statement=exact_statement(exact, self.tables[exact.table], data.describe()),
            noise=with_noise(exact.accept.epsilon),
        )

    def epsilon_compared(self) -> Fraction:
        """Return the epsilon at which a refusal describes noise instead."""
        accepted = [exact.accept.epsilon for exact in self.declared.values()]
        return max(accepted, default=EPSILON_COMPARED)


def with_remedy(refused: Refused, noise: str) -> Refused:
    """Return an exact refusal that also says what noise would cost."""
    if not noise:
        return refused
    return refused.adding(noise)
