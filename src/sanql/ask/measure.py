"""The noisy cells of a plan, found in the ledger or measured: reserve, run, add noise, spend.

The charge is durable before any row is read, and a failure keeps it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from sanql.account import Asked, Balance, Reservation, VoidReason
from sanql.answer import LevelCells
from sanql.ask.data import OpenVersion
from sanql.ask.rehearse import rehearse
from sanql.ask.session import Session
from sanql.ask.time_steps import time_in_steps
from sanql.compile import SQL_LENGTH_MAX, ReleasedAnswer, compile_plan, rows_given
from sanql.engines import Lease, unavailable
from sanql.errors import Unavailable
from sanql.interrupts import cancelled, charging, is_cancelled, stoppable
from sanql.kernel import Statement
from sanql.measurements import NoisyCells
from sanql.mechanisms import Sampler
from sanql.noise import NoiseStage
from sanql.plan import Measurable

_SENT_MAX = 16 * SQL_LENGTH_MAX
"""What is written for the data as they lie is no more times as long as for their names and types."""


@dataclass(frozen=True)
class RecordedCells:
    """Noisy cells as the ledger has them, level by level; `cached` if they were there before.

    `content` is then what was found of them; otherwise `remaining` is what was left just after them.
    """

    cells: LevelCells
    version: int
    cached: bool
    content: bytes | None = None
    remaining: tuple[Balance, ...] | None = None

    @property
    def levels(self) -> tuple[NoisyCells, ...]:
        """The cells of each level."""
        return self.cells.levels


def recorded(
    session: Session, analyst: str, plan: Measurable, *, fresh: bool = False
) -> RecordedCells | None:
    """Return the cells on record for an analyst's question about the newest version of the data.

    Where none are found, `measure` looks again.
    """
    if fresh:
        return None
    return recorded_of(session, analyst, plan, *session.data.known_as(), recently=True)


def recorded_of(
    session: Session,
    analyst: str,
    plan: Measurable,
    version: int,
    formerly: str = "",
    *,
    recently: bool = False,
) -> RecordedCells | None:
    """Return the cells on record for a question about one version of the data.

    `formerly` is the fingerprint by which version 0.1.0 knew it, where it may have recorded them.
    """
    older = [plan.first_digest(formerly)] if formerly else []
    digest = plan.digest(session.name_of_data(version))
    content = session.ledger.find(analyst, digest, *older, recently=recently)
    if content is None:
        return None
    return RecordedCells(LevelCells.from_bytes(content, plan), version, True, content)


Reading = Callable[[int, Sequence[NoisyCells] | None], Sequence[ReleasedAnswer]]
"""What a level reads of noisy answers of levels before it, without rows where there are no cells yet."""


def _reading_nothing(level: int, cells: Sequence[NoisyCells] | None) -> Sequence[ReleasedAnswer]:
    return ()


def measure(
    session: Session,
    analyst: str,
    plan: Measurable,
    asked: Asked,
    certify: Callable[[], bytes] = lambda: b"",
    *,
    fresh: bool = False,
    reading: Reading = _reading_nothing,
) -> RecordedCells:
    """Return the cells of a plan that is not on record; the ledger keeps what was `asked` for them.

    `certify` makes the certificate that is kept with them; it is called while the engine is busy. Nothing
    is charged before a worker has the data open, and can plan what it is asked. `reading` says what
    levels read of the answers of others, which are there by the time those run.
    """
    if session.ledger.scratch:
        raise rehearse(session, analyst, [plan], asked, fresh=fresh)
    opened = session.data.open()
    digest = plan.digest(session.name_of_data(opened.version.number))
    with session.ledger.asking(analyst, digest):
        # it may have been opened as another version than was looked for, or for the first time;
        # and whoever asked the same at the same time has left an answer
        about = opened.version
        known = None if fresh else recorded_of(session, analyst, plan, about.number, about.formerly)
        if known is not None:
            return known
        before = [reading(number, None) for number in range(len(plan.levels))]
        pairs = list(zip(plan.levels, before, strict=True))
        for level, released in pairs:  # what is too long is so by names and types, however rows lie
            compile_plan(level, session.description, 0, released)
        sent = [
            compile_plan(level, opened.source, session.sampler.secret(), released, _SENT_MAX)
            for level, released in pairs
        ]
        for level, statement, released in zip(plan.levels, sent, before, strict=True):
            opened.trials.check(level, statement, released)
        with time_in_steps(), opened.workers.lease() as lease:
            certificate = cache(certify)  # made while the engine is busy, and once
            run = partial(_run, session, plan, opened, lease, sent, certificate, reading)
            about_it = replace(asked, version=about.number, within=plan.within)
            reserve = partial(session.ledger.reserve, analyst, digest, plan.charge, about_it)
            cells, remaining = _charged(session, plan, reserve, run, certificate)
    return RecordedCells(cells, opened.version.number, cached=False, remaining=remaining)


def _charged(
    session: Session,
    plan: Measurable,
    reserve: Callable[[], Reservation],
    run: Callable[[], LevelCells],
    certificate: Callable[[], bytes],
) -> tuple[LevelCells, tuple[Balance, ...]]:
    """Reserve, run, spend; what fails keeps its charge. Returns also what is left just then."""
    if is_cancelled():
        raise cancelled(charged=False)
    noted = charging(plan.charge)
    reservation = reserve()
    try:  # at once: an interrupt before it would leave the reservation open
        noted.stage = "charged"
        cells = run()
        remaining = session.ledger.spend(reservation, cells.to_bytes(), certificate())
        noted.stage = "answered"
    except Unavailable as fault:
        session.ledger.void(reservation, reason=_reason(session, fault))
        raise
    except BaseException as fault:
        session.ledger.give_up(reservation, fault)
        raise
    return cells, remaining


def _reason(session: Session, fault: Unavailable) -> VoidReason:
    """Return why a question ended: it was cancelled, or the server stopped, or the engine failed."""
    if fault.code == "question_cancelled":
        return "cancelled"
    return "stopped" if session.stopping else "engine"


def _run(
    session: Session,
    plan: Measurable,
    opened: OpenVersion,
    lease: Lease,
    sent: Sequence[Statement],
    meanwhile: Callable[[], object],
    reading: Reading,
) -> LevelCells:
    """Return noisy cells, or raise the one error there is; the engine is free for others by then."""
    try:
        with lease, stoppable("charged; the engine computes", lease.stop):
            lease.begin()
            deadline = time.monotonic() + plan.answers * session.policy.engine.deadline_seconds
            cells = noisy_cells(lease, plan, sent, session.sampler, meanwhile, deadline, reading)
        session.data.check(opened)
        return cells
    except Exception:
        if is_cancelled():
            raise cancelled(charged=True) from None
        # whatever happened must not be told: it could depend on a row
        raise unavailable() from None


def noisy_cells(
    lease: Lease,
    plan: Measurable,
    sent: Sequence[Statement],
    sampler: Sampler,
    meanwhile: Callable[[], object],
    deadline: float,
    reading: Reading = _reading_nothing,
) -> LevelCells:
    """Return the noisy cells of every level; all of them have the time that their answers have."""
    noisy: list[NoisyCells] = []
    for number, (level, statement) in enumerate(zip(plan.levels, sent, strict=True)):
        noise = partial(NoiseStage, level, sampler)
        left = deadline - time.monotonic() if number else math.inf
        busy = None if number else meanwhile
        given = rows_given(statement, reading(number, noisy))
        noisy.append(lease.stream(given, noise, busy, left))
    return LevelCells(tuple(noisy))
