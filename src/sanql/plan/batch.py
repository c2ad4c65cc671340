"""Several questions planned together: measured once where they share, and priced for least total error.

Every question matters as much as every other, whatever its numbers are of: its error counts in parts of
the one that it would have alone at the whole price, and its aggregates share its weight. Three ways to
measure them are priced for the same (epsilon, delta), and the one with the least expected error is
taken:

- levels that are alike measured as one, and sums of others added up where that costs less
  (shared_levels.py);
- the same without adding up;
- each question by itself, measured and bounded as it would be alone at its share of an optimal split
  (one_by_one.py).

As the last is one of them, no batch has a larger expected error than its questions one by one. Unknown
keys are selected, by numbers of units or by weights, as their questions would select them alone; and
averages have sums with norms of their own (average_norms.py) where that is better.
Whichever it is, it is a list of levels like those of one question, measured with independent noise:
their events compose as those of one question's levels do (pricing.py), and what is shown of them, sums
included, is computed from noisy cells.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sanql.account import Charge
from sanql.computed_once import computed_once
from sanql.errors import Refused
from sanql.mechanisms import DiscreteGaussian, DiscreteLaplace, Noise, SummedNoise
from sanql.plan.average_norms import with_average_norms
from sanql.plan.digest import first_question_digest, question_digest
from sanql.plan.grouping_sets import is_public
from sanql.plan.level import Level
from sanql.plan.mechanism import Priced, is_free
from sanql.plan.norms import scaling_of
from sanql.plan.one_by_one import price_one_by_one
from sanql.plan.pairs import suited
from sanql.plan.plan import (
    Outline,
    Plan,
    check_delta,
    protecting,
    selects_by_weights,
    ways_to_measure,
)
from sanql.plan.pricing import expected_error, price_best, price_levels
from sanql.plan.shared_levels import (
    QuestionLevel,
    SharedLevel,
    cells_each,
    family,
    first_aggregate,
    gaussian_cost,
    keeps_all_groups,
    laplace_cost,
    selected_by_weights,
    share,
    shared_alone,
)
from sanql.policy import Budget
from sanql.statistics import Measuring


@dataclass(frozen=True)
class ReadFrom:
    """Which level of a batch a question's level is read from.

    `keys` are the places of its keys there, and so many `cells` of that level make one of its own.
    """

    level: int
    keys: tuple[int, ...]
    cells: int = 1


@dataclass(frozen=True)
class PlannedQuestion:
    """A question of a batch: its plan as it is shown, and where its levels are read from."""

    plan: Plan
    reads: tuple[ReadFrom, ...]


@dataclass(frozen=True)
class BatchPlan:
    """Several questions that have only to be measured, together; `charge` is what all of it costs.

    `apart` are the questions as they would be one by one within the same epsilon and delta, each at its
    share of an optimal split; `error` and `error_apart` are the expected errors that were compared.
    """

    questions: tuple[PlannedQuestion, ...]
    levels: tuple[Level, ...]
    charge: Charge
    within: Budget
    error: float
    apart: tuple[Plan, ...]
    error_apart: float

    @property
    def answers(self) -> int:
        """How many questions it answers."""
        return len(self.questions)

    def digest(self, data: str) -> str:
        """Return the name of these measurements of a version of the data."""
        return question_digest(self.levels, data)

    def first_digest(self, fingerprint: str) -> str:
        """Return the name that version 0.1.0 would have given them."""
        return first_question_digest(self.levels, fingerprint)

    @computed_once
    def families(self) -> tuple[tuple[Plan, tuple[int, ...]], ...]:
        """Levels whose exact numbers add up, each family as one question with several sets."""
        members: dict[Hashable, list[int]] = {}
        for number, level in enumerate(self.levels):
            common, scaling = family(level.outline), scaling_of(level.outline.measuring)
            if common is not None and scaling is not None:
                members.setdefault((common, scaling), []).append(number)
        return tuple(
            (self._as_one_question(own), tuple(own)) for own in members.values() if len(own) > 1
        )

    def _as_one_question(self, numbers: Sequence[int]) -> Plan:
        levels = tuple(self.levels[number] for number in numbers)
        keys = tuple(dict.fromkeys(key for level in levels for key in level.query.keys))
        sets = tuple(tuple(map(keys.index, level.query.keys)) for level in levels)
        query = replace(levels[0].query, keys=keys, sets=sets)
        outlined = Outline(query, sets, tuple(level.outline for level in levels))
        return Plan(outlined, levels, self.charge, self.within)


@dataclass(frozen=True)
class _Candidate:
    levels: tuple[SharedLevel, ...]
    priced: tuple[Priced, ...]
    charge: Charge

    @property
    def error(self) -> float:
        pairs = zip(self.levels, self.priced, strict=True)
        return sum(expected_error(level.outline.measuring, priced) for level, priced in pairs)


def plan_batch(outlines: Sequence[Outline], epsilon: Fraction, delta: Fraction) -> BatchPlan:
    """Return the plan of least expected error for all questions within (epsilon, delta)."""
    check_delta(any(outlined.selects_keys for outlined in outlines), delta)
    one = len(outlines) == 1  # with nothing to weigh it against, it is measured as it is alone
    parts = [
        part
        for number, outlined in enumerate(outlines)
        for part in _parts(number, outlined, 1.0 if one else _weight(outlined, epsilon, delta))
    ]
    by_weights = _selecting_by_weights(outlines, epsilon, delta)
    apart = _one_by_one(outlines, parts, epsilon, delta)
    ways = share(parts, [laplace_cost, gaussian_cost] if delta else [laplace_cost])
    different = {tuple(map(_contents, way)): way for way in ways}
    candidates = [
        _together(measured, epsilon, delta, extra)
        for way in different.values()
        for selecting in _ways_to_select(way, by_weights)
        for measured in _ways_to_average(selecting, outlines)
        for extra in _weights_of_thresholds(measured, delta)
    ]
    candidates += [apart] if apart is not None else []
    best = min(candidates, key=lambda candidate: candidate.error)
    within = Budget(epsilon, delta)
    alone = apart or best
    return BatchPlan(
        _questions(outlines, best, within),
        _levels(best),
        protecting(best.charge, outlines),
        within,
        best.error,
        tuple(question.plan for question in _questions(outlines, alone, within)),
        alone.error,
    )


def _weight(outlined: Outline, epsilon: Fraction, delta: Fraction) -> float:
    """Return how much a question matters: the less, the larger its error is alone, in whatever units.

    No more epsilon is looked at than leaves errors of whole numbers.
    """
    parts = _parts(0, outlined, 1.0)
    try:
        way, priced, _ = price_best(_ways_alone(outlined, parts), min(epsilon, Fraction(1)), delta)
    except Refused as refused:
        if refused.code != "noise_too_large":
            raise
        return 1.0
    error = sum(map(expected_error, way, priced))
    return 1 / error if error else 1.0


def _ways_alone(outlined: Outline, parts: Sequence[QuestionLevel]) -> Sequence[Sequence[Measuring]]:
    """Return the ways to measure a question that it would have if it were asked alone."""
    levels = tuple(shared_alone(part).outline for part in parts)
    return ways_to_measure(replace(outlined, levels=levels))


def _parts(number: int, outlined: Outline, weight: float) -> list[QuestionLevel]:
    """Return the levels of a question, whose aggregates share its weight."""
    aggregates = sum(len(level.query.aggregates) for level in outlined.levels)
    alone = _is_fitted_by_itself(outlined)
    return [
        QuestionLevel(number, place, level, weight / max(1, aggregates), alone, weight)
        for place, level in enumerate(outlined.levels)
    ]


def _is_fitted_by_itself(outlined: Outline) -> bool:
    """Return whether levels are fitted to each other although limits may cut some of them more.

    Numbers fitted so are no estimates of what another question asks for, and share nothing with it.
    """
    public = [level for level in outlined.levels if is_public(level)]
    return len(public) > 1 and not all(map(keeps_all_groups, public))


def _contents(level: SharedLevel) -> tuple[tuple[int, int], ...]:
    return tuple((part.question, part.level) for part in level.parts)


def _weights_of_thresholds(way: Sequence[SharedLevel], delta: Fraction) -> tuple[float, ...]:
    """Return how much more a count that selects keys may matter: as much as what its threshold hides.

    In variances of its noise that is about half the square of ln(1/delta), or twice ln(1/delta) where
    noise is Gaussian.
    """
    if not any(level.outline.selects_keys for level in way):
        return (0.0,)
    logarithm = math.log(delta.denominator) - math.log(delta.numerator)
    return 0.0, logarithm**2 / 2, 2 * logarithm


def _together(
    levels: tuple[SharedLevel, ...], epsilon: Fraction, delta: Fraction, extra: float
) -> _Candidate:
    weighed = [_weighed(level.outline.measuring, extra) for level in levels]
    priced, charge = price_levels(weighed, epsilon, delta)
    return _Candidate(_bounded(levels, priced), priced, charge)


def _bounded(levels: Sequence[SharedLevel], priced: Sequence[Priced]) -> tuple[SharedLevel, ...]:
    """Return levels measured as suits the noise of each: bounded by its norm, and in pairs."""
    measured = [
        suited(level.outline.measuring, one.mechanism.norm_order)
        for level, one in zip(levels, priced, strict=True)
    ]
    return tuple(
        replace(level, outline=replace(level.outline, measuring=measuring))
        for level, measuring in zip(levels, measured, strict=True)
    )


def _weighed(measuring: Measuring, extra: float) -> Measuring:
    """Return measurements of which the one that selects keys matters so much more to the split."""
    if measuring.selection is None or not extra:
        return measuring
    measurements = list(measuring.measurements)
    selecting = measurements[measuring.selection]
    more = extra * measuring.hidden_weight
    measurements[measuring.selection] = replace(selecting, weight=selecting.weight + more)
    return replace(measuring, measurements=tuple(measurements))


def _selecting_by_weights(
    outlines: Sequence[Outline], epsilon: Fraction, delta: Fraction
) -> frozenset[int]:
    """Return the questions that would select keys by weights if they were asked alone at this price."""
    return frozenset(
        number
        for number, outlined in enumerate(outlines)
        if selects_by_weights(outlined, epsilon, delta)
    )


def _ways_to_select(
    levels: Sequence[SharedLevel], by_weights: frozenset[int]
) -> list[tuple[SharedLevel, ...]]:
    """Return levels whose unknown keys are selected as their questions would select them.

    Where some would by weights and others not, a level that they share is measured either way.
    """
    ways = []
    for agreed in (all, any):
        way = tuple(
            selected_by_weights(level)
            if agreed(part.question in by_weights for part in level.parts)
            else level
            for level in levels
        )
        ways += [way] if way not in ways else []
    return ways


def _ways_to_average(
    levels: tuple[SharedLevel, ...], outlines: Sequence[Outline]
) -> list[tuple[SharedLevel, ...]]:
    """Return levels as they are, and with averages by norms of their own where these are known.

    Levels of one question are fitted to each other, and bounded alike.
    """
    averaged = []
    for level in levels:
        single = all(
            len(outlines[part.question].levels) == 1 and cells_each(part, level.outline) == 1
            for part in level.parts
        )
        found = with_average_norms(level.outline.measuring) if single else None
        averaged.append(
            level
            if found is None
            else replace(level, outline=replace(level.outline, measuring=found))
        )
    return [levels] if tuple(averaged) == levels else [levels, tuple(averaged)]


def _one_by_one(
    outlines: Sequence[Outline],
    parts: Sequence[QuestionLevel],
    epsilon: Fraction,
    delta: Fraction,
) -> _Candidate | None:
    own = [[part for part in parts if part.question == n] for n in range(len(outlines))]
    questions = [_ways_alone(*each) for each in zip(outlines, own, strict=True)]
    if all(is_free(measuring) for ways in questions for measuring in ways[0]):
        return None
    found = price_one_by_one(questions, epsilon, delta)
    if found is None:
        return None
    measured, charge = found
    levels = tuple(
        SharedLevel(replace(shared_alone(part).outline, measuring=measuring), (part,))
        for each, (way, _) in zip(own, measured, strict=True)
        for part, measuring in zip(each, way, strict=True)
    )
    return _Candidate(levels, tuple(one for _, priced in measured for one in priced), charge)


def _levels(candidate: _Candidate) -> tuple[Level, ...]:
    pairs = zip(candidate.levels, candidate.priced, strict=True)
    return tuple(Level(replace(level.outline, by_weights=None), priced) for level, priced in pairs)


def _questions(
    outlines: Sequence[Outline], candidate: _Candidate, within: Budget
) -> tuple[PlannedQuestion, ...]:
    """Return every question as its part of what is measured."""
    found: dict[tuple[int, int], tuple[Level, ReadFrom]] = {}
    for number, level in enumerate(candidate.levels):
        for place, part in enumerate(level.parts):
            keys = tuple(map(level.outline.query.keys.index, part.outline.query.keys))
            reads = ReadFrom(number, keys, cells_each(part, level.outline))
            shown = _as_shown(level, place, candidate.priced[number], reads.cells)
            found[part.question, part.level] = shown, reads
    questions = []
    for number, outlined in enumerate(outlines):
        own = [found[number, place] for place in range(len(outlined.levels))]
        levels = tuple(level for level, _ in own)
        read = replace(outlined, levels=tuple(level.outline for level in levels))
        plan = Plan(read, levels, protecting(candidate.charge, outlines), within)
        questions.append(PlannedQuestion(plan, tuple(reads for _, reads in own)))
    return tuple(questions)


def _as_shown(shared: SharedLevel, place: int, priced: Priced, cells: int) -> Level:
    """Return a question's level as a part of what is measured: with its own aggregates only."""
    own, measuring = shared.parts[place].outline, shared.outline.measuring
    first = first_aggregate(shared, place)
    estimates = measuring.estimates[first : first + len(own.query.aggregates)]
    counted_apart = own.measuring.counted_apart
    read = replace(measuring, estimates=estimates, counted_apart=counted_apart)
    noises = tuple(_summed(noise, cells) for noise in priced.noises)
    return Level(replace(own, measuring=read, by_weights=None), replace(priced, noises=noises))


def _summed(noise: Noise, cells: int) -> Noise:
    if isinstance(noise, SummedNoise):
        return SummedNoise(noise.noise, noise.count * cells)
    if cells > 1 and isinstance(noise, DiscreteLaplace | DiscreteGaussian):
        return SummedNoise(noise, cells)
    return noise
