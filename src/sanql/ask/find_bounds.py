"""Finding the bounds that a question needs: those on record are read from there, others are paid for.

The order is: what can be refused is refused while bounds are still guessed; all of the price must fit;
then each search is reserved, run and spent like any question; then the question is read again with
the bounds found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from sanql.ask.bounded_question import BoundedQuestion, naming_found_bounds, whole_charge
from sanql.ask.measure import measure, recorded_of
from sanql.ask.price import check_least_price, price_question
from sanql.ask.request import Request
from sanql.ask.session import Session
from sanql.errors import Refused
from sanql.measurements import NoisyCells
from sanql.numbers import show_upper
from sanql.parse import parse
from sanql.plan import (
    BoundsSearch,
    Ends,
    FoundBounds,
    ParsedQuestion,
    QualifiedColumn,
    guess_bounds,
    parse_guessing_bounds,
    plan_bounds_search,
    with_bounds,
)


def read_question(session: Session, request: Request) -> ParsedQuestion:
    """Return the parsed question of a request, and the columns whose bounds must be found for it."""
    parse_over = partial(parse, request.asked)
    return parse_guessing_bounds(parse_over, session.tables, session.public_ranges.read)


def find_bounds(session: Session, request: Request, parsed: ParsedQuestion) -> BoundedQuestion:
    """Return the question with all its bounds; those that are not on record are found and paid for."""
    question = look_up_bounds(session, request, parsed)
    if not question.missing_bounds:
        return question
    whole = whole_charge(question, price_question(session, request, question))
    check_least_price(session.policy, whole, question.epsilon_of_found_bounds)
    session.ledger.would_fit(request.analyst, whole)
    for search in question.missing_bounds:
        purpose = f"bounds of {'.'.join(search.place)}"
        asked = replace(request.said, purpose=purpose, idempotency=None)
        measure(session, request.analyst, search.plan, asked)
    bounded = look_up_bounds(session, request, parsed, just_paid=True)
    assert not bounded.missing_bounds  # noqa: S101  (all of them are on record now)
    return replace(bounded, paid=tuple(search.plan.charge for search in question.missing_bounds))


def look_up_bounds(
    session: Session,
    request: Request,
    parsed: ParsedQuestion,
    *,
    just_paid: bool = False,
    width: int = 1,
    known_as: tuple[int, str] | None = None,
) -> BoundedQuestion:
    """Return the question with the bounds on record; the others are guessed, so many steps wide.

    They are of the newest version of the data, or of the one that is known by this number, and formerly
    by that fingerprint.
    """
    if not parsed.bounds_needed:
        return BoundedQuestion(parsed.question, parsed.tables)
    about = known_as or session.data.known_as()
    found: list[FoundBounds] = []
    missing: list[BoundsSearch] = []
    for place in parsed.bounds_needed:
        wanted = _search(session, place)
        cells = recorded_of(session, request.analyst, wanted.plan, *about)
        if cells is None:
            missing.append(wanted)
        else:
            found.append(FoundBounds(wanted, _ends(wanted, cells.levels[0], just_paid)))
    ends: Mapping[QualifiedColumn, Ends] = {
        bounds.search.place: bounds.ends for bounds in found
    } | {wanted.place: _guess(session, wanted.place, width) for wanted in missing}
    tables = with_bounds(parsed.tables, ends)
    with naming_found_bounds(found):
        return BoundedQuestion(parse(request.asked, tables), tables, tuple(found), tuple(missing))


def _search(session: Session, place: QualifiedColumn) -> BoundsSearch:
    offered = session.policy.auto_bounds
    assert offered is not None  # noqa: S101  (the loader refuses a policy without one)
    return plan_bounds_search(place, session.tables, session.policy.neighbours, offered.epsilon)


def _guess(session: Session, place: QualifiedColumn, width: int) -> Ends:
    return guess_bounds(session.tables[place[0]].columns[place[1]], width)


def _ends(wanted: BoundsSearch, cells: NoisyCells, just_paid: bool) -> Ends:
    ends = wanted.ends(cells.table.column("k0").to_pylist(), cells.measurement(0).tolist())
    if ends is not None:
        return ends
    table, column = wanted.place
    cost = show_upper(wanted.plan.charge.epsilon)
    paid = f"epsilon {cost} was spent on it" if just_paid else f"it cost epsilon {cost} earlier"
    raise Refused(
        "bounds_not_found",
        f"no order of magnitude of {table}.{column} has a noisy count of {wanted.least} units or more, "
        f"so no bounds were found; {paid}, and asking again costs nothing",
        "state bounds in the question, such as GREATEST(0, LEAST(100, x)), or let the owner declare "
        "them or raise the epsilon of auto_bounds",
    )
