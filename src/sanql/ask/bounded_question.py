"""A question with the bounds of its columns: declared, found on record, or still to be found.

A question is always asked at its epsilon less the price of all bounds it needs, also when they were
found earlier, so that the same question stays the same question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction

from sanql.account import Charge, SelectionEvent, total_charge
from sanql.certificate import meaning
from sanql.computed_once import computed_once
from sanql.errors import Refused
from sanql.numbers import show_upper
from sanql.parse import Question
from sanql.plan import BoundsSearch, FoundBounds, Plan, unit_in_words
from sanql.policy import Table
from sanql.question import Query
from sanql.results import Certificate


@dataclass(frozen=True)
class BoundedQuestion:
    """A question and its tables with bounds; those that are `missing_bounds` have a guess in their place.

    `paid` are the charges for bounds that were found for this very request.
    """

    question: Question
    tables: Mapping[str, Table]
    found_bounds: tuple[FoundBounds, ...] = ()
    missing_bounds: tuple[BoundsSearch, ...] = ()
    paid: tuple[Charge, ...] = ()

    @property
    def query(self) -> Query:
        """The query over private tables; a question over public tables alone is refused."""
        return self.question.private

    @computed_once
    def searches(self) -> tuple[BoundsSearch, ...]:
        """The searches for all bounds it needs, done or not."""
        return (*(bounds.search for bounds in self.found_bounds), *self.missing_bounds)

    @computed_once
    def epsilon_of_bounds(self) -> Fraction:
        """The part of the question's epsilon that pays for bounds, whether they are found yet or not."""
        return _epsilon(self.searches)

    @property
    def epsilon_of_found_bounds(self) -> Fraction:
        """The part of the question's epsilon that has already been paid, for bounds on record."""
        return _epsilon([bounds.search for bounds in self.found_bounds])


def _epsilon(searches: Sequence[BoundsSearch]) -> Fraction:
    return sum((search.plan.charge.epsilon for search in searches), Fraction(0))


def whole_charge(question: BoundedQuestion, plan: Plan) -> Charge:
    """Return what a question costs together with the bounds still to be found for it.

    Its own noise will depend on them, and with it what Rényi accounting makes of the charge. So that
    nobody pays for bounds and cannot pay for the answer, a pure epsilon is counted as the most that
    anything of that epsilon can cost.
    """
    own = plan.charge
    if question.missing_bounds and own.delta == 0 and own.events:
        own = Charge((SelectionEvent(own.epsilon, own.delta, 1),), own.epsilon, own.delta)
    return total_charge([*(search.plan.charge for search in question.missing_bounds), own])


def epsilon_less_bounds(epsilon: Fraction, question: BoundedQuestion) -> Fraction:
    """Return what is left of a question's epsilon after the price of its bounds."""
    if epsilon > question.epsilon_of_bounds:
        return epsilon - question.epsilon_of_bounds
    names = ", ".join(".".join(search.place) for search in question.searches)
    raise Refused(
        "epsilon_below_bounds",
        f"epsilon {show_upper(epsilon)} is no more than the price of the bounds that the question "
        f"needs, {show_upper(question.epsilon_of_bounds)} for {names}",
        "ask with a larger epsilon, of which the rest is the question's own; or state bounds in it, "
        "such as GREATEST(0, LEAST(100, x))",
    )


def check_bounds_known(question: BoundedQuestion) -> None:
    """Refuse to find the epsilon for an accuracy while the bounds it depends on are unknown."""
    if question.missing_bounds:
        names = ", ".join(".".join(search.place) for search in question.missing_bounds)
        raise Refused(
            "accuracy_needs_bounds",
            f"how much epsilon an accuracy takes depends on the bounds of {names}, which have not been "
            "found yet",
            "ask with epsilon first, which finds them; or state bounds in the question",
        )


@contextmanager
def naming_found_bounds(found: Sequence[FoundBounds]) -> Iterator[None]:
    """Add to a refusal which bounds were found for the question, and that they stay on record."""
    try:
        yield
    except Refused as refused:
        if not found:
            raise
        which = ", ".join(
            f"{'.'.join(bounds.search.place)} [{float(bounds.ends[0]):g}, {float(bounds.ends[1]):g}]"
            for bounds in found
        )
        on_record = f"the bounds found, {which}, stay found and cost nothing again"
        raise refused.adding(on_record) from None


def with_bounds_certified(
    certificate: Certificate, plan: Plan, question: BoundedQuestion
) -> Certificate:
    """Return the certificate of an answer and of the bounds it rests on, taken together."""
    if not question.searches:
        return certificate
    table = plan.outline.table
    whole = total_charge([plan.charge, *(search.plan.charge for search in question.searches)])
    return replace(
        certificate,
        epsilon=whole.epsilon,
        theorem=f"{certificate.theorem} Bounds are releases of their own, and their epsilons add up.",
        assumptions=(
            *certificate.assumptions,
            "bounds that were found are noisy: values beyond them are read as the nearest",
        ),
        meaning=meaning(whole, unit_in_words(table), plan.outline.neighbours, table.protections),
        bounds=(
            *(bounds.to_dict() for bounds in question.found_bounds),
            *(search.to_dict() for search in question.missing_bounds),
        ),
    )
