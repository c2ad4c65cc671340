"""Plans explained: what an answer will cost and how exact it will be, known before a row is read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction

from sanql.account import Balance, Charge, epsilon_upper
from sanql.answer import Display, widened_half_width
from sanql.ask.bounded_question import BoundedQuestion, whole_charge, with_bounds_certified
from sanql.ask.rows_expected import rows_expected
from sanql.certificate import certify, certify_public
from sanql.kernel import Statement
from sanql.measurements import Measured
from sanql.mechanisms import appearance_probability
from sanql.plan import (
    Level,
    Plan,
    half_width,
    noise_for,
)
from sanql.policy import Neighbours
from sanql.profile import Profile
from sanql.question import AggregateRef, PublicQuery
from sanql.results import LEAST_PRICE, Expected, Explanation, LevelExplained
from sanql.statistics import DistinctOf

GROUP_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


def explanation_of(
    plan: Plan,
    statements: tuple[Statement, ...],
    confidence: Fraction,
    remaining: tuple[Balance, ...],
    cached: bool,
    fits: bool,
    display: Display,
    question: BoundedQuestion,
    after: tuple[Balance, ...] | None,
    raised: bool,
    profiles: Mapping[str, Profile],
    rows_guessed: int | None,
    chosen: tuple[str, ...] = (),
) -> Explanation:
    """Return the explanation of a plan, and of the bounds that it needs found."""
    several = plan.several
    certificate = certify(plan, (*display.in_words(), *chosen), profiles)
    return Explanation(
        charge=whole_charge(question, plan),
        remaining=remaining,
        fits=fits,
        cached=cached,
        confidence=confidence,
        expected=expected_of(plan, confidence, display, profiles, rows_guessed),
        hidden=() if several else tuple(hidden_groups(plan.levels[0])),
        certificate=with_bounds_certified(certificate, plan, question),
        statement=all_statements(statements),
        notes=(
            *keys_need(plan),
            *display.in_words(),
            *certificate.rows_left_out,
            *([f"the accuracy is had for {LEAST_PRICE}"] if raised else ()),
        ),
        levels=tuple(_levels(plan, statements)) if plan.several else (),
        after=after,
    )


def explanation_of_public(
    query: PublicQuery,
    sent: Statement,
    confidence: Fraction,
    remaining: tuple[Balance, ...],
    neighbours: Neighbours,
) -> Explanation:
    """Return the explanation of a question over public tables: rows as they are, for free."""
    certificate = certify_public(query, neighbours)
    return Explanation(
        charge=Charge((), certificate.epsilon, certificate.delta),
        remaining=remaining,
        fits=True,
        cached=False,
        confidence=confidence,
        expected=(),
        hidden=(),
        certificate=certificate,
        statement=sent,
    )


def all_statements(statements: tuple[Statement, ...]) -> Statement:
    """Return what is sent to the engine, one statement after the other."""
    return Statement(
        ";\n".join(sent.sql for sent in statements),
        tuple(value for sent in statements for value in sent.parameters),
        tuple(table for sent in statements for table in sent.public),
        greedy=tuple(count for sent in statements for count in sent.greedy),
    )


def _levels(plan: Plan, statements: tuple[Statement, ...]) -> list[LevelExplained]:
    return [
        LevelExplained(
            name,
            epsilon_upper(level.charge.events, plan.charge.delta),
            tuple(hidden_groups(level)),
            sent,
        )
        for name, level, sent in zip(plan.names, plan.levels, statements, strict=True)
    ]


def expected_of(
    plan: Plan,
    confidence: Fraction,
    display: Display,
    profiles: Mapping[str, Profile],
    rows_guessed: int | None,
) -> tuple[Expected, ...]:
    """Return how exact each noisy column will be."""
    expected = []
    for number, level in enumerate(plan.levels):
        name = f" in {plan.names[number]}" if plan.several else ""
        over = rows_expected(level, profiles, rows_guessed)
        for output in level.query.outputs:
            if not isinstance(output.expression, AggregateRef):
                continue
            index = output.expression.index
            estimate = level.estimates[index]
            if not estimate.has_interval:
                continue
            width = half_width(level, index, confidence, over.rows)
            assumed = over.in_words if estimate.needs_rows else ""
            note = estimate.width_in or assumed
            note += _near_threshold(level, index) + _by_choice(level, index, confidence)
            reach = widened_half_width(level, index, display, width or Fraction(0))
            expected.append(Expected(output.name, float(reach), name + note))
    return tuple(expected)


def _near_threshold(level: Level, index: int) -> str:
    """Return what else is to be said of a width that rests on the count that selects keys.

    The interval of a count that is shown holds given that it is (mechanisms/appearing.py), so it reaches
    further down where the count is near the threshold; the half-width is that of counts far above.
    """
    measuring = level.outline.measuring
    if level.priced.threshold is None or level.outline.free or measuring.selection is None:
        return ""
    if measuring.selection not in level.estimates[index].measurements:
        return ""
    return (
        f" where the count of units is well above the threshold of {level.priced.threshold:,}; near it "
        "the interval reaches further down, as it holds given that the key appears"
    )


def _by_choice(level: Level, index: int, confidence: Fraction) -> str:
    """Return what else is to be said of a width that is in proportion to what is chosen privately."""
    estimate = level.estimates[index]
    if not isinstance(estimate, DistinctOf) or not level.measurements[estimate.measurement].choices:
        return ""
    least = noise_for(level, estimate.measurement, 1).half_width(confidence)
    return (
        f" if {estimate.choices[-1]:,} values of a unit count, and ± {least:,} if one does; how many is "
        "chosen privately"
    )


def keys_need(plan: Plan) -> Iterator[str]:
    """Yield with how many units a key appears as often as not, of each level that selects its keys."""
    for number, level in enumerate(plan.levels):
        selection, threshold = level.selection, level.priced.threshold
        if selection is None or threshold is None or level.outline.free:
            continue
        where = f" in {plan.names[number]}" if plan.several else ""
        units = math.ceil(threshold * selection.grid)
        others = "; of units that are in g groups each it needs √g times as many"
        by_weights = others if selection.kind is Measured.KEY_WEIGHTS else ""
        yield f"a key{where} appears as often as not with {units:,} units{by_weights}"
        if (fewest := level.fewest_units_in_words) is not None:
            yield f"of keys{where}, {fewest}"


def hidden_groups(level: Level) -> list[tuple[int, float]]:
    """Return how likely groups of several sizes are to appear, where keys are selected.

    By weights, they are groups of units that are in no other.
    """
    selection = level.outline.measuring.selection
    threshold = level.priced.threshold
    if selection is None or threshold is None or level.outline.free:
        return []
    noise, one = level.noises[selection], level.measurements[selection].size
    chances = [(size, appearance_probability(noise, threshold, size * one)) for size in GROUP_SIZES]
    surely = next((i for i, (_, chance) in enumerate(chances) if chance > 1 - 1e-9), len(chances))
    return chances[: surely + 1]
