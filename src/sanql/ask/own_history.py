"""What an analyst has asked, and its answers read again: free of charge, and without a row.

Only one's own: questions are numbered for each analyst, so that no number is anybody else's, and none
tells how much others have asked. An answer is rebuilt from the noisy cells on record; where the policy
has changed so that they would be read otherwise than they were measured, that is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from sanql.account import Asked, AskedNote, AskedQuestion, Door
from sanql.answer import LevelCells
from sanql.ask.answer_exactly import recorded_exactly
from sanql.ask.earlier_batches import BATCH
from sanql.ask.find_bounds import look_up_bounds, read_question
from sanql.ask.measure import RecordedCells
from sanql.ask.over_statistics import plan_statistics, public_tables, show_over_statistics
from sanql.ask.price import price_with
from sanql.ask.request import Request, read_request
from sanql.ask.session import Session
from sanql.ask.shown_answer import Certifying, show_recorded
from sanql.ask.typed_values import NotReadable, from_plain
from sanql.errors import Refused
from sanql.parse import QuestionText
from sanql.question import OverStatistics
from sanql.results import Answer, HistoryEntry

ENTRIES_MAX = 1000
"""How many entries are listed at once, at most."""


def history(
    session: Session, analyst: str, after: int = 0, limit: int = 100
) -> tuple[HistoryEntry, ...]:
    """Return what an analyst has paid for, oldest first: those after a number, at most so many."""
    session.check_open()
    session.ledger.check_analyst(analyst)
    asked = session.ledger.questions.of(analyst, after, min(limit, ENTRIES_MAX))
    return tuple(entry for each in asked if (entry := _entry(each)) is not None)


def read_again(session: Session, analyst: str, number: int, door: Door = "python") -> Answer:
    """Return the answer on record to an analyst's question; nothing is charged, and no row is read."""
    return rebuilt(session, analyst, _answered(session, analyst, number), door)


def recorded_certificate(session: Session, analyst: str, number: int) -> dict[str, object]:
    """Return the certificate that came with the answer to an analyst's question, as plain data."""
    asked = _answered(session, analyst, number)
    kept = session.ledger.questions.certificate(analyst, asked)
    if kept is not None:
        return kept
    return rebuilt(session, analyst, asked, "python").certificate.to_dict()


def rebuilt(session: Session, analyst: str, asked: AskedQuestion, door: Door) -> Answer:
    """Return the answer to a question that has one, from the cells on record."""
    said = _kept(asked).asked
    if said is None:
        raise _erased(asked)
    with naming_what_changed(asked.number):
        request = _request(analyst, said, door)
        return rebuilt_as(session, request, asked)


def rebuilt_as(session: Session, request: Request, asked: AskedQuestion) -> Answer:
    """Return the answer to a question that has one, in the form of a request that measures the same.

    It says itself what was asked, so that what is kept of it may have been erased.
    """
    note = _kept(asked)
    with naming_what_changed(asked.number):
        if not request.options.exact:
            return _noisy(session, request, asked, note)
        answer = recorded_exactly(session, request)
        if answer is None:
            raise not_as_it_was(asked.number)
        return answer


def _entry(asked: AskedQuestion) -> HistoryEntry | None:
    note = asked.note
    if note is None:
        return None
    said = note.asked
    return HistoryEntry(
        asked.number,
        note.time,
        None if said is None else said.text,
        note.door,
        note.price,
        asked.outcome,
        note.version,
        note.purpose,
        None if said is None else said.parameters,
    )


def _answered(session: Session, analyst: str, number: int) -> AskedQuestion:
    """Return an analyst's question that has an answer of its own; refuse all others by name."""
    session.check_open()
    session.ledger.check_analyst(analyst)
    asked = session.ledger.questions.numbered(analyst, number)
    if asked is None:
        raise Refused(
            "question_unknown",
            f"there is no question number {str(number)[:20]} of yours",
            "the history lists the questions that you have asked, with their numbers",
        )
    if asked.outcome != "answered":
        ended = "is still being answered" if asked.outcome == "running" else "has no answer"
        raise Refused(
            "question_unanswered",
            f"your question number {number} {ended}",
            "look again later; ask anew where it ended without an answer",
        )
    return asked


def _kept(asked: AskedQuestion) -> AskedNote:
    """Return what is kept of a question; refuse where that is nothing, or it was none of its own."""
    note = asked.note
    if note is None:
        raise _erased(asked)
    if note.purpose.startswith(BATCH):
        raise Refused(
            "question_inner",
            f"number {asked.number} of your history is a {note.purpose}, which are shown together",
            "ask the same batch again: about the same version of the data it is free",
        )
    if note.purpose:
        raise Refused(
            "question_inner",
            f"number {asked.number} of your history is no answer: it paid for the {note.purpose}, on"
            " the way to one",
            "read the question again that came after it",
        )
    return note


def _erased(asked: AskedQuestion) -> Refused:
    return Refused(
        "text_erased",
        f"the text of your question number {asked.number} has been erased, and without it nobody"
        " can tell what the recorded numbers are",
        "ask anew: an identical question about the same version of the data is free",
    )


def _request(analyst: str, said: Asked, door: Door) -> Request:
    try:
        passed = {name: from_plain(value) for name, value in said.options.items()}
        asked = QuestionText(said.text, from_plain(said.parameters))
    except NotReadable as unread:
        raise Refused(
            "parameter_invalid", f"a value of the type {unread} was passed", "pass plain values"
        ) from None
    return read_request(asked, analyst, passed, door=door)


def _noisy(session: Session, request: Request, asked: AskedQuestion, note: AskedNote) -> Answer:
    """Plan what was asked as it was planned then, and show the cells that were recorded for it."""
    newest, formerly = session.data.known_as()
    version = newest if note.version is None else note.version
    about = version, formerly if version == newest else ""
    parsed = read_question(session, request)
    if isinstance(parsed.question.query, OverStatistics):
        return _over_statistics(session, request, parsed.question.query, asked, note)
    question = look_up_bounds(session, request, parsed, known_as=about)
    if question.missing_bounds or note.within is None:
        raise not_as_it_was(asked.number)
    epsilon = note.within.epsilon + question.epsilon_of_bounds
    options = replace(request.options, epsilon=epsilon, delta=note.within.delta)
    request = replace(request, options=options)
    plans = (
        price_with(session, request, question, known) for known in session.profiles.known_units()
    )
    name, content = session.name_of_data(version), session.ledger.questions.answer(asked)
    plan = next((plan for plan in plans if plan.digest(name) == asked.question), None)
    if content is None or plan is None:
        raise not_as_it_was(asked.number)
    cells = RecordedCells(LevelCells.from_bytes(content, plan), version, cached=True)
    return show_recorded(
        session,
        request,
        Certifying(plan, request, question, session.profiles.now(), session.chosen_looking),
        cells,
    )


def _over_statistics(
    session: Session,
    request: Request,
    query: OverStatistics,
    asked: AskedQuestion,
    note: AskedNote,
) -> Answer:
    """Plan statistics as they were planned then, and show what was recorded of them."""
    newest, _ = session.data.known_as()
    version = newest if note.version is None else note.version
    content = session.ledger.questions.answer(asked)
    if note.within is None or content is None:
        raise not_as_it_was(asked.number)
    options = replace(
        request.options, epsilon=note.within.epsilon, delta=note.within.delta, fresh=False
    )
    request = replace(request, options=options)
    plan = plan_statistics(session, request, query)
    if plan.digest(session.name_of_data(version)) != asked.question:
        raise not_as_it_was(asked.number)
    cells = RecordedCells(LevelCells.from_bytes(content, plan), version, cached=True)
    public, now = public_tables(session, query)
    if public and now != version:  # public tables are read as they are
        raise not_as_it_was(asked.number)
    return show_over_statistics(session, request, query, plan, cells, public)


@contextmanager
def naming_what_changed(number: int) -> Iterator[None]:
    """Say of a refusal of what was once answered that it is the policy which has changed."""
    try:
        yield
    except Refused as refused:
        if refused.code == "answer_not_rebuilt":
            raise
        raise not_as_it_was(number, f": {refused.message}") from None


def not_as_it_was(number: int, why: str = "") -> Refused:
    """Return the refusal of what is on record and would be read otherwise than it was measured."""
    return Refused(
        "answer_not_rebuilt",
        f"the answer to your question number {number} cannot be shown again: under the policy as it is"
        f" now it would be measured otherwise{why}",
        "what was measured stays on record, and its certificate can be read; ask anew for an answer"
        " under the policy as it is",
    )
