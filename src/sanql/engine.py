"""`answer` is the whole pipeline on one screen."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING

from sanql.account import Charge
from sanql.account.scratch import rehearsed
from sanql.errors import Refused, Unavailable
from sanql.execute import Opened
from sanql.execute.pool import Lease, unavailable
from sanql.execute.statement import Statement, public_statement, statement
from sanql.interrupts import charging
from sanql.mechanisms import ExactSampler, Sampler
from sanql.mechanisms.noise import SymmetricNoise
from sanql.parse import Asked
from sanql.parse.shared import PublicQuery
from sanql.plan import Planned
from sanql.policy import Policy
from sanql.release import (
    Answer,
    LevelCells,
    NoiseStage,
    certify,
    show_levels,
)
from sanql.release.certificate import Certificate, certify_public
from sanql.release.exact_answer import ExactAnswer
from sanql.release.finding import (
    Bounded,
    saying_found,
    whole_charge,
    with_found,
)
from sanql.release.finish import Finish, check_finish, check_plain
from sanql.release.till import together
from sanql.wishes import Wishes, check_price, confidence_of, finish_of, raised_to_least

if TYPE_CHECKING:
    import pyarrow

    from sanql.san import San

TIME_BUCKET_SECONDS = 0.01


def answer(san: San, asked: Asked, wishes: Wishes) -> Answer:
    """Parse, plan, price, reserve (durably, before any row is read), run, add noise, spend."""
    confidence = confidence_of(wishes)
    desk = san.bounds_desk(asked)
    posed = desk.pose()
    finish = finish_of(posed.question, wishes)
    if isinstance(posed.question.query, PublicQuery):
        check_plain(finish)
        return answer_publicly(san, posed.question.query, confidence)

    def planned_with(bounded: Bounded) -> Planned:
        with saying_found(bounded.found):
            planned = san.planned(bounded, wishes)
            check_finish(planned, finish)
        if bounded.missing:
            check_price(san.policy, whole_charge(bounded, planned), bounded)
        return planned

    if san.ledger.scratch:
        raise _rehearsed(san, desk.settle(posed), planned_with, fresh=wishes.fresh)
    bounded, paid = desk.find(posed, planned_with)
    planned = planned_with(bounded)
    if not paid and (wishes.fresh or san.recorded(planned) is None):
        check_price(san.policy, planned.charge, bounded)
    preparation = _Preparation(planned, confidence, finish, bounded)
    taken = cells_of(san, planned, preparation.make, fresh=wishes.fresh)
    shown = _shown(san, preparation, taken, together([*paid, planned.charge]))
    return replace(shown, raised=raised_to_least(san.policy, wishes, planned))


def _rehearsed(
    san: San, bounded: Bounded, planned_with: Callable[[Bounded], Planned], *, fresh: bool
) -> Refused:
    """Charge a scratch account as the answer would be charged; return the refusal to give it."""
    planned = planned_with(bounded)
    check_price(san.policy, whole_charge(bounded, planned), bounded)
    asked: list[Planned] = [*(each.plan for each in bounded.missing), planned]
    return rehearse(san, asked, fresh=fresh)


def rehearse(san: San, asked: Sequence[Planned], *, fresh: bool = False) -> Refused:
    """Charge a scratch account for questions; return the refusal to answer them."""
    name = data_name(san.policy, 1)  # a scratch account knows of no versions
    charges = {planned.digest(name): planned.charge for planned in asked}
    san.ledger.rehearse(san.analyst, charges, afresh=list(charges)[-1] if fresh else "")
    return rehearsed(list(charges.values()))


def answer_publicly(san: San, query: PublicQuery, confidence: Fraction) -> Answer:
    """Return rows of public tables as they are: nothing is charged, and nothing needs noise."""
    opened = san.data.open()
    sent = public_statement(query, opened.source, san.tables)
    found = opened.workers.run(sent.sql, sent.parameters)
    san.data.check(opened)
    return Answer(
        table=found.rename_columns([field.name for field in query.shown]),
        ends={},
        confidence=confidence,
        noise={},
        charge=Charge((), Fraction(0), Fraction(0)),
        remaining=san.balances(),
        certificate=certify_public(query, san.policy.neighbours),
        cached=False,
        version=opened.version.number,
    )


def answer_exactly(san: San, asked: Asked) -> ExactAnswer:
    """Return an exact answer; cells are reserved in the ledger's exact book before they are read."""

    def run(opened: Opened, lease: Lease, sent: Statement) -> pyarrow.Table:
        started = time.monotonic()
        try:
            found = lease.run(sent.sql, sent.parameters)
            san.data.check(opened)
            return found
        finally:
            _wait_for_bucket(started)

    with san._noise_instead(asked):
        return san._desk.answer(asked, san.data, run, san.balances)


@dataclass(frozen=True)
class Taken:
    """Noisy cells, whether they were on record, and of which version of the data they are."""

    cells: LevelCells
    cached: bool
    version: int


def cells_of(
    san: San, planned: Planned, meanwhile: Callable[[], None], *, fresh: bool = False
) -> Taken:
    """Return a plan's noisy cells: from the record, where they are free, unless asked for afresh."""
    if san.ledger.scratch:
        raise rehearse(san, [planned], fresh=fresh)
    recorded = None if fresh else san.recorded(planned)
    if recorded is None:
        opened = san.data.open()
        digest = planned.digest(data_name(san.policy, opened.version.number))
        with san.ledger.asking(san.analyst, digest):
            # it may have been opened as another version than was looked for, or for the first time;
            # and whoever asked the same at the same time has left an answer
            recorded = None if fresh else san.recorded(planned)
            if recorded is None:
                cells = _measure(san, planned, opened, digest, meanwhile)
                return Taken(cells, False, opened.version.number)
    content, version = recorded
    return Taken(LevelCells.from_bytes(content, planned), True, version)


def _measure(
    san: San, planned: Planned, opened: Opened, digest: str, meanwhile: Callable[[], None]
) -> LevelCells:
    """Return noisy cells, charged before any row is read; a failure keeps its charge.

    Nothing is charged before a worker has the data open, and can plan what it is asked.
    """
    sent = [statement(level, opened.source, san.sampler.secret()) for level in planned.levels]
    for level in planned.levels:
        opened.trials.check(level)
    with opened.workers.lease() as lease:
        return _charged(san, planned, opened, lease, sent, digest, meanwhile)


def _charged(
    san: San,
    planned: Planned,
    opened: Opened,
    lease: Lease,
    sent: Sequence[Statement],
    digest: str,
    meanwhile: Callable[[], None],
) -> LevelCells:
    noted = charging(planned.charge)
    reservation = san.ledger.reserve(san.analyst, digest, planned.charge)
    try:  # at once: an interrupt before it would leave the reservation open
        noted.stage = "charged"
        cells = _computed(san, planned, opened, lease, sent, meanwhile)
        san.ledger.spend(reservation, cells.to_bytes())
        noted.stage = "answered"
    except Unavailable:
        san.ledger.void(reservation, ended_by="engine")
        raise
    except BaseException as fault:
        san.ledger.give_up(reservation, fault)
        raise
    return cells


def _computed(
    san: San,
    planned: Planned,
    opened: Opened,
    lease: Lease,
    sent: Sequence[Statement],
    meanwhile: Callable[[], None],
) -> LevelCells:
    """Return noisy cells, or raise the one error there is; time shows only in steps."""
    started = time.monotonic()
    try:
        deadline = started + san.policy.engine.deadline_seconds
        cells = _noisy_cells(lease, planned, sent, san.sampler, meanwhile, deadline)
        san.data.check(opened)
        return cells
    except Exception:
        # whatever happened must not be told: it could depend on a row
        raise unavailable() from None
    finally:
        _wait_for_bucket(started)


def _noisy_cells(
    lease: Lease,
    planned: Planned,
    sent: Sequence[Statement],
    sampler: Sampler,
    meanwhile: Callable[[], None],
    deadline: float,
) -> LevelCells:
    """Return the noisy cells of every level; all of them have the time that one answer has."""
    found = []
    for number, (level, each) in enumerate(zip(planned.levels, sent, strict=True)):
        begin = partial(NoiseStage, level, sampler)
        left = deadline - time.monotonic() if number else math.inf
        busy = None if number else meanwhile
        found.append(lease.stream(each.sql, each.parameters, begin, busy, left, each.public))
    return LevelCells(tuple(found))


@dataclass(frozen=True)
class _Preparation:
    """What an answer needs besides its cells, computed while the engine is busy."""

    plan: Planned
    confidence: Fraction
    finish: Finish
    bounded: Bounded

    @cached_property
    def certificate(self) -> Certificate:
        certificate = certify(self.plan, self.finish.in_words())
        return with_found(certificate, self.plan, self.bounded)

    def make(self) -> None:
        """Compute all of it; wheels and quantiles are remembered, draws made here thrown away."""
        for noise in set(self.plan.noises):
            ExactSampler().sample(noise, 1)
            if isinstance(noise, SymmetricNoise):
                noise.half_width(self.confidence)
        self.certificate  # noqa: B018  (the property remembers it)


def data_name(policy: Policy, version: int) -> str:
    """Return how digests call a version of a dataset."""
    return f"{policy.name}, version {version}"


def _wait_for_bucket(started: float) -> None:
    """Let time show only in steps: what took 3 ms and what took 9 ms look the same."""
    elapsed = time.monotonic() - started
    time.sleep(-elapsed % TIME_BUCKET_SECONDS)


def _shown(san: San, preparation: _Preparation, taken: Taken, charge: Charge) -> Answer:
    planned, confidence = preparation.plan, preparation.confidence
    shown = show_levels(planned, taken.cells, confidence, preparation.finish)
    return Answer(
        table=shown.table,
        ends=shown.intervals,
        confidence=confidence,
        noise=_noise(planned),
        charge=charge,
        remaining=san.balances(),
        certificate=preparation.certificate,
        cached=taken.cached,
        without_interval=shown.without,
        version=taken.version,
    )


def _noise(planned: Planned) -> dict[str, float]:
    """Return the noise's standard deviation in each column that is a count or a plain sum.

    Of several levels it is the largest; fitting them to each other does not enlarge it.
    """
    from sanql.parse.tree import AggregateRef
    from sanql.plan.measurements import CountOf, SumOf

    found: dict[str, float] = {}
    for level in planned.levels:
        for output in level.query.outputs:
            if isinstance(output.expression, AggregateRef):
                match level.estimates[output.expression.index]:
                    case CountOf(index) | SumOf(index, None):
                        size = float(level.measurements[index].grid)
                        own = level.noises[index].standard_deviation * size
                        found[output.name] = max(own, found.get(output.name, 0.0))
                    case _:
                        pass
    return found
