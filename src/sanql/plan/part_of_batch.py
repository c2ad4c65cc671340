"""A question that is asked alone, read from a batch that has measured all of it.

It is one of the batch's questions but for what is computed from noisy cells: the same rows by the same
keys, in whatever order, under the same limits, and of the statistics that are measured for them any, in
whatever order. So its cells are among the batch's, and are read off them as those of the batch's own
questions are; of what is added up from a finer grouping the statistics are those that the batch's
question has, as no others are known to add up.
"""

from __future__ import annotations

from dataclasses import replace

from sanql.plan.batch import BatchPlan, PlannedQuestion, ReadFrom
from sanql.plan.level import Level, LevelOutline
from sanql.plan.plan import Outline, Plan
from sanql.plan.shared_levels import likeness
from sanql.question import Aggregate
from sanql.statistics import Estimate


def read_from_batch(batch: BatchPlan, outlined: Outline) -> PlannedQuestion | None:
    """Return a question as it is read from a batch that has measured it; None where it has not."""
    for asked in batch.questions:
        found = _read_as(batch, asked, outlined)
        if found is not None:
            return found
    return None


def _read_as(batch: BatchPlan, asked: PlannedQuestion, outlined: Outline) -> PlannedQuestion | None:
    """Return a question as one of a batch's, read level by level where that is."""
    if len(asked.reads) != len(outlined.levels):
        return None
    read = [
        _read_level(own, shown, batch.levels[reads.level], reads)
        for own, shown, reads in zip(outlined.levels, asked.plan.levels, asked.reads, strict=True)
    ]
    found = [each for each in read if each is not None]
    if len(found) < len(read):
        return None
    levels = tuple(level for level, _ in found)
    own = replace(outlined, levels=tuple(level.outline for level in levels))
    plan = Plan(own, levels, batch.charge, batch.within)
    return PlannedQuestion(plan, tuple(reads for _, reads in found))


def _read_level(
    own: LevelOutline, shown: Level, measured: Level, reads: ReadFrom
) -> tuple[Level, ReadFrom] | None:
    """Return a level with the noise of one of a batch, `shown` there, and where its cells are."""
    if likeness(own) != likeness(shown.outline) or own.counts_for != shown.outline.counts_for:
        return None
    source = measured if reads.cells == 1 else shown
    estimates = _estimates(own, source)
    apart = own.measuring.counted_apart
    if estimates is None or apart != shown.outline.measuring.counted_apart:
        return None
    measuring = replace(source.outline.measuring, estimates=tuple(estimates), counted_apart=apart)
    keys = tuple(map(measured.query.keys.index, own.query.keys))
    outlined = replace(own, measuring=measuring, by_weights=None)
    return Level(outlined, source.priced), replace(reads, keys=keys)


def _estimates(own: LevelOutline, source: Level) -> list[Estimate] | None:
    """Return the estimates of a question's statistics at a level; None where it lacks one."""
    there = [_without_text(aggregate) for aggregate in source.query.aggregates]
    wanted = [_without_text(aggregate) for aggregate in own.query.aggregates]
    if not set(wanted) <= set(there):
        return None
    return [source.estimates[there.index(aggregate)] for aggregate in wanted]


def _without_text(aggregate: Aggregate) -> Aggregate:
    """Return a statistic as it is, however it was typed."""
    return replace(aggregate, text="")
