"""Finding bounds: those on record are read from there, others are paid for, each as a release of its own.

The order is: what can be refused is refused while bounds are still guessed; all of the price must fit;
then each search is reserved, run and spent like any question; then the question is read again with
the bounds found. It is always asked at its epsilon less the price of all bounds it needs, also when
they were found earlier, so that the same question stays the same question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction

from sanql.account import Charge, SelectionEvent
from sanql.account.numbers import show_upper
from sanql.errors import Refused
from sanql.parse import Question
from sanql.plan import Planned
from sanql.plan.auto_bounds import Ends, Found, Place, Search, search, with_bounds
from sanql.plan.plan import unit_in_words
from sanql.plan.posing import Posed, Read, guess, pose
from sanql.policy import Policy, Table
from sanql.release.cells import NoisyCells
from sanql.release.certificate import Certificate, meaning
from sanql.release.till import Till, together


@dataclass(frozen=True)
class Bounded:
    """A question with bounds found for it; those that are `missing` have a guess in their place."""

    question: Question
    tables: Mapping[str, Table]
    found: tuple[Found, ...] = ()
    missing: tuple[Search, ...] = ()

    @property
    def searches(self) -> tuple[Search, ...]:
        """The searches for all bounds it needs, done or not."""
        return (*(each.search for each in self.found), *self.missing)

    @property
    def epsilon_apart(self) -> Fraction:
        """What of the question's epsilon pays for bounds, whether they are found yet or not."""
        return sum((each.plan.charge.epsilon for each in self.searches), Fraction(0))


@dataclass(frozen=True)
class BoundsDesk:
    """What finding bounds for one text needs: the policy, its tables, the text and an account."""

    policy: Policy
    tables: Mapping[str, Table]
    read: Read
    till: Till

    def pose(self) -> Posed:
        """Return the question, and the columns whose bounds it needs."""
        return pose(self.read, self.tables)

    def settle(self, posed: Posed, *, spent: bool = False, width: int = 1) -> Bounded:
        """Return the question with the bounds on record; `spent` says that they are new.

        Bounds that are not on record are guessed, so many steps wide.
        """
        if not posed.needed:
            return Bounded(posed.question, posed.tables)
        searches = [self._search(place) for place in posed.needed]
        found: list[Found] = []
        missing: list[Search] = []
        for each in searches:
            cells = self.till.recorded(each.plan)
            if cells is None:
                missing.append(each)
            else:
                found.append(Found(each, _ends(each, cells, spent)))
        ends = {each.search.place: each.ends for each in found}
        ends |= {each.place: self._guess(each.place, width) for each in missing}
        tables = with_bounds(self.tables, ends)
        with saying_found(found):
            return Bounded(self.read(tables), tables, tuple(found), tuple(missing))

    def find(
        self, posed: Posed, planned: Callable[[Bounded], Planned]
    ) -> tuple[Bounded, list[Charge]]:
        """Return the question with all its bounds, and what was paid for those not on record.

        `planned` refuses whatever can be refused of the question while bounds are still guessed.
        """
        bounded = self.settle(posed)
        if not bounded.missing:
            return bounded, []
        self.till.check_fits(whole_charge(bounded, planned(bounded)))
        for each in bounded.missing:
            self.till.measure(each.plan)
        settled = self.settle(posed, spent=True)
        assert not settled.missing  # noqa: S101  (all of them are on record now)
        return settled, [each.plan.charge for each in bounded.missing]

    def _search(self, place: Place) -> Search:
        price = self.policy.auto_bounds
        assert price is not None  # noqa: S101  (the loader refuses a policy without one)
        return search(place, self.tables, self.policy.neighbours, price.epsilon)

    def _guess(self, place: Place, width: int) -> Ends:
        return guess(self.tables[place[0]].columns[place[1]], width)


def whole_charge(bounded: Bounded, planned: Planned) -> Charge:
    """Return what a question costs together with the bounds still to be found for it.

    Its own noise will depend on them, and with it what Rényi accounting makes of the charge. So that
    nobody pays for bounds and cannot pay for the answer, a pure epsilon is counted as the most that
    anything of that epsilon can cost.
    """
    own = planned.charge
    if bounded.missing and own.delta == 0 and own.events:
        own = Charge((SelectionEvent(own.epsilon, own.delta, 1),), own.epsilon, own.delta)
    return together([*(each.plan.charge for each in bounded.missing), own])


def less_bounds(epsilon: Fraction, bounded: Bounded) -> Fraction:
    """Return what of a question's epsilon is left for itself."""
    if epsilon > bounded.epsilon_apart:
        return epsilon - bounded.epsilon_apart
    names = ", ".join(".".join(each.place) for each in bounded.searches)
    raise Refused(
        "epsilon_below_bounds",
        f"epsilon {show_upper(epsilon)} is no more than the price of the bounds that the question "
        f"needs, {show_upper(bounded.epsilon_apart)} for {names}",
        "ask with a larger epsilon, of which the rest is the question's own; or state bounds in it, "
        "such as GREATEST(0, LEAST(100, x))",
    )


def check_bounds_known(bounded: Bounded) -> None:
    """Refuse to find the epsilon for an accuracy while the bounds it depends on are unknown."""
    if bounded.missing:
        names = ", ".join(".".join(each.place) for each in bounded.missing)
        raise Refused(
            "accuracy_needs_bounds",
            f"how much epsilon an accuracy takes depends on the bounds of {names}, which have not been "
            "found yet",
            "ask with epsilon first, which finds them; or state bounds in the question",
        )


@contextmanager
def saying_found(found: Sequence[Found]) -> Iterator[None]:
    """Add to a refusal that rests on bounds found which they are, and that they stay found."""
    try:
        yield
    except Refused as refused:
        if not found:
            raise
        which = ", ".join(
            f"{'.'.join(each.search.place)} [{float(each.ends[0]):g}, {float(each.ends[1]):g}]"
            for each in found
        )
        kept = f"the bounds found, {which}, stay found and cost nothing again"
        raise refused.adding(kept) from None


def _ends(each: Search, cells: NoisyCells, spent: bool) -> Ends:
    ends = each.ends(cells.table.column("k0").to_pylist(), cells.measurement(0).tolist())
    if ends is not None:
        return ends
    table, column = each.place
    price = show_upper(each.plan.charge.epsilon)
    paid = f"epsilon {price} was spent on it" if spent else f"it cost epsilon {price} earlier"
    raise Refused(
        "bounds_not_found",
        f"no order of magnitude of {table}.{column} has a noisy count of {each.least} units or more, "
        f"so no bounds were found; {paid}, and asking again costs nothing",
        "state bounds in the question, such as GREATEST(0, LEAST(100, x)), or let the owner declare "
        "them or raise the epsilon of auto_bounds",
    )


def with_found(certificate: Certificate, plan: Planned, bounded: Bounded) -> Certificate:
    """Return the certificate of an answer and of the bounds it rests on, taken together."""
    if not bounded.searches:
        return certificate
    whole = together([plan.charge, *(each.plan.charge for each in bounded.searches)])
    return replace(
        certificate,
        epsilon=whole.epsilon,
        theorem=f"{certificate.theorem} Bounds are releases of their own, and their epsilons add up.",
        assumptions=(
            *certificate.assumptions,
            "bounds that were found are noisy: values beyond them are read as the nearest",
        ),
        meaning=meaning(whole, unit_in_words(plan.outline.table), plan.outline.neighbours),
        bounds=(
            *(each.to_dict() for each in bounded.found),
            *(each.to_dict() for each in bounded.missing),
        ),
    )
