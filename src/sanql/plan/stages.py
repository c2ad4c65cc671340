"""Statistics of one question, measured stage by stage for one price.

What is measured together is a batch of its own (batch.py). A later stage reads the noisy answers of
those before it as it reads public tables; its limits, its noise and its price are fixed before any of
them is measured, and no answer changes them. So the stages compose as any questions of an analyst do
who sees the answers on the way, and their charges add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sanql.account import Charge, total_charge
from sanql.canonical import Named, Shape, digest_of
from sanql.computed_once import computed_once
from sanql.plan.batch import BatchPlan, PlannedQuestion, plan_batch
from sanql.plan.level import Level
from sanql.plan.plan import Outline
from sanql.policy import Budget
from sanql.question import (
    InnerStatistic,
    Ordering,
    Query,
    expression_form,
    optional_form,
    relation_form,
)

FORM = 1


@dataclass(frozen=True)
class StagedPlan:
    """Statistics that have only to be measured, stage by stage; `statistics` are those of each."""

    statistics: tuple[tuple[InnerStatistic, ...], ...]
    stages: tuple[BatchPlan, ...]
    within: Budget

    @computed_once
    def levels(self) -> tuple[Level, ...]:
        """What is measured, in order."""
        return tuple(level for stage in self.stages for level in stage.levels)

    @computed_once
    def charge(self) -> Charge:
        """What all of it costs."""
        return total_charge([stage.charge for stage in self.stages])

    @property
    def answers(self) -> int:
        """How many statistics there are."""
        return sum(stage.answers for stage in self.stages)

    @property
    def questions(self) -> tuple[tuple[InnerStatistic, PlannedQuestion], ...]:
        """The statistics with their plans, in order."""
        return tuple(
            pair
            for own, stage in zip(self.statistics, self.stages, strict=True)
            for pair in zip(own, stage.questions, strict=True)
        )

    @computed_once
    def firsts(self) -> tuple[int, ...]:
        """The place of the first level of each stage, and how many there are."""
        places = [0]
        for stage in self.stages:
            places.append(places[-1] + len(stage.levels))
        return tuple(places)

    def digest(self, data: str) -> str:
        """Return the name of these measurements of a version of the data.

        Statistics of one stage are called what the same batch is called. What reads the answers of
        others is named by all that makes those what they are, from the measurements to the SQL around.
        """
        if len(self.stages) == 1:
            return self.stages[0].digest(data)
        stages: list[Shape] = [stage.digest(data) for stage in self.stages]
        read = [tuple(map(_form, own)) for own in self.statistics[:-1]]
        return digest_of(Named("Stages", {"form": FORM, "stages": stages, "read": read}))

    def first_digest(self, fingerprint: str) -> str:
        """Return the name that version 0.1.0 would have given them: it had no later stages."""
        if len(self.stages) == 1:
            return self.stages[0].first_digest(fingerprint)
        return ""


def plan_stages(
    statistics: Sequence[tuple[InnerStatistic, ...]],
    outlines: Sequence[Sequence[Outline]],
    epsilon: Fraction,
    delta: Fraction,
    weights: Sequence[Fraction] | None = None,
) -> StagedPlan:
    """Return the plan of statistics within (epsilon, delta), which stages share by their weights.

    Without weights each stage has as many as it measures statistics, as if all were one batch; what costs
    nothing has no share. Delta goes to the stages that select keys.
    """
    shares = _shares(outlines, weights)
    selecting = sum(any(each.selects_keys for each in stage) for stage in outlines)
    stages = [
        plan_batch(
            stage,
            epsilon * share,
            delta / selecting if any(each.selects_keys for each in stage) else Fraction(0),
        )
        for stage, share in zip(outlines, shares, strict=True)
    ]
    return StagedPlan(tuple(statistics), tuple(stages), Budget(epsilon, delta))


def _shares(
    outlines: Sequence[Sequence[Outline]], weights: Sequence[Fraction] | None
) -> list[Fraction]:
    """Return the shares of epsilon that stages have, together 1; what is free is charged none of it."""
    paying = [sum(not each.free for each in stage) for stage in outlines]
    own = [Fraction(count) for count in paying] if weights is None else weights
    pairs = [*zip(own, paying, strict=True)]
    whole = sum(weight for weight, count in pairs if count)
    return [weight / whole if count else Fraction(1) for weight, count in pairs]


def _form(statistic: InnerStatistic) -> Named:
    """Return what makes an answer what it is, besides the measurements."""
    query: Query = statistic.query
    return Named(
        "Statistic",
        {
            "name": statistic.name,
            "source": relation_form(query.source),
            "where": optional_form(query.where),
            "keys": tuple(map(expression_form, query.keys)),
            "sets": query.sets,
            "aggregates": tuple(
                (
                    each.statistic,
                    tuple(map(expression_form, each.arguments)),
                    each.fraction,
                    each.total,
                )
                for each in query.aggregates
            ),
            "outputs": tuple((o.name, expression_form(o.expression)) for o in query.outputs),
            "having": optional_form(query.having),
            "order": tuple(map(_ordering, query.order)),
            "limit": query.limit,
            "offset": query.offset,
            "distinct": query.distinct,
        },
    )


def _ordering(item: Ordering) -> tuple[Shape, ...]:
    return expression_form(item.expression), item.descending, item.nulls_first
