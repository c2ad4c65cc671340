"""Continual counts: released by periods in the dataset's own name, and read by everybody for free."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from sanql.account import DATASET, Asked, Door
from sanql.ask.measure import RecordedCells, measure, recorded
from sanql.ask.session import Session
from sanql.continual import ContinualCounts, ContinualRelease, Stream, read_counts
from sanql.errors import Refused
from sanql.interrupts import noting_charges_on_interrupt


def release_counts(
    session: Session,
    name: str,
    until: str | None,
    today: date,
    confidence: float = 0.95,
    door: Door = "python",
) -> ContinualCounts:
    """Release all periods up to one that are not on record yet; without one, up to the last that is over.

    The first release is charged with the price of all. Which periods are over does not decide what they
    may cost, so a wrong clock releases early or late, and never more.
    """
    session.check_open()
    stream = _stream(session, name)
    last = stream.place_before(today) if until is None else stream.place(until)
    if last is None:
        raise Refused(
            "period_unknown",
            f"no period of {name} is over yet; the first is {stream.periods[0]}",
            "wait for it to end, or name a period",
        )
    with noting_charges_on_interrupt():
        for place in range(last + 1):
            release = _release(session, stream, place)
            if recorded(session, DATASET, release) is None:
                measure(session, DATASET, release, _asked(release, door))
    return counts_on_record(session, name, confidence)


def counts_on_record(session: Session, name: str, confidence: float = 0.95) -> ContinualCounts:
    """Return what is released of a count; nothing is read or spent."""
    if not 0 < confidence < 1:
        raise Refused(
            "confidence_invalid",
            f"{confidence} is not between 0 and 1",
            "write 0.95, or leave it out",
        )
    stream = _stream(session, name)
    return read_counts(stream, [*_released(session, stream)], confidence)


def _released(session: Session, stream: Stream) -> Iterator[int]:
    for place in range(stream.declared.releases):
        cells = recorded(session, DATASET, _release(session, stream, place))
        if cells is None:
            return
        yield _number(cells)


def _number(cells: RecordedCells) -> int:
    (noisy,) = cells.levels
    (number,) = noisy.measurement(0).tolist()
    return int(number)


def _stream(session: Session, name: str) -> Stream:
    declared = session.policy.continual.get(name)
    if declared is None:
        raise Refused(
            "continual_unknown",
            f"no continual count {name[:60]!r} is declared",
            f"the policy has {', '.join(session.policy.continual) or 'none'}; write [continual.NAME]",
        )
    return Stream(declared, session.policy.neighbours)


def _release(session: Session, stream: Stream, place: int) -> ContinualRelease:
    lost = len(session.ledger.owner.state.losses)
    dataset = f"{session.policy.name}, {lost} losses of records"
    return ContinualRelease(stream, place, session.tables, dataset)


def _asked(release: ContinualRelease, door: Door) -> Asked:
    """Return what was asked for, in words: it is no SQL."""
    name, period = release.stream.declared.name, release.stream.periods[release.place]
    text = f"continual({name!r}, {period!r})"
    options: dict[str, object] = {"continual": name, "period": period}
    purpose = f"continual count {name}: {period}"
    return Asked(text, None, options, text, door, purpose)
