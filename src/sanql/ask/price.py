"""What a question may cost: from its request and the policy to a plan with a price."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

from sanql.account import Charge
from sanql.answer import check_display
from sanql.ask.bounded_question import (
    BoundedQuestion,
    check_bounds_known,
    epsilon_less_bounds,
    naming_found_bounds,
)
from sanql.ask.measure import recorded
from sanql.ask.request import Request
from sanql.ask.session import Session
from sanql.errors import Refused
from sanql.numbers import show_upper
from sanql.plan import (
    NO_LIMITS,
    ChosenLimits,
    KnownUnits,
    Level,
    Outline,
    Plan,
    check_selection_delta,
    check_strategy,
    default_delta,
    least_epsilon,
    limits_by_profile,
    outline,
    price,
    with_known_norms,
)
from sanql.policy import Budget, ColumnUnit, Policy, Table


def price_question(session: Session, request: Request, question: BoundedQuestion) -> Plan:
    """Return the plan of a question at its price; everything that can be refused is refused here.

    What was measured before there was a profile, or before more was known by one, is on record under
    other norms, and is found there.
    """
    now, *earlier = session.profiles.known_units()
    plan = price_with(session, request, question, now)
    if not earlier or request.options.fresh or recorded(session, request.analyst, plan) is not None:
        return plan
    for known in earlier:
        with suppress(Refused):  # as it was planned then it may be too dear for an account by now
            before = price_with(session, request, question, known)
            if before != plan and recorded(session, request.analyst, before) is not None:
                return before
    return plan


def price_with(
    session: Session,
    request: Request,
    question: BoundedQuestion,
    known: Mapping[str, KnownUnits],
) -> Plan:
    """Return the plan of a question at its price, with the norms of units that are known."""
    if request.options.stage_weights is not None:
        raise stages_differ(len(request.options.stage_weights), 1)
    with naming_found_bounds(question.found_bounds):
        outlined = _outline_with(session, request, question, known)
        delta = _delta(session, request, question, outlined)
        epsilon = _epsilon(session, request, question, outlined, delta)
        plan = _with_fewest_units(
            price(outlined, epsilon, delta), request.options.min_privacy_units_per_group
        )
        check_display(plan, request.display)
        return plan


def _outline_with(
    session: Session,
    request: Request,
    question: BoundedQuestion,
    known: Mapping[str, KnownUnits],
) -> Outline:
    """Return what must be measured for a question, with norms and limits that suit what is known.

    They suit its price; where that is what an accuracy needs, one that is typical.
    """
    outlined = outline_question(session, request, question)
    if not known:
        return outlined
    options = request.options
    within = Budget(options.epsilon or Fraction(1), options.delta or Fraction(0))
    if options.epsilon is None:
        known = {name: replace(units, accuracy_asked=True) for name, units in known.items()}
    return suited_to_known(session, request, question, outlined, known, within)


def suited_to_known(
    session: Session,
    request: Request,
    question: BoundedQuestion,
    outlined: Outline,
    known: Mapping[str, KnownUnits],
    within: Budget,
) -> Outline:
    """Return an outline with the limits and norms that suit what is known of units, within a price."""
    chosen = limits_by_profile(outlined, known, within)
    if chosen != NO_LIMITS:
        outlined = outline_question(session, request, question, chosen)
    return with_known_norms(outlined, known, within)


def outline_question(
    session: Session,
    request: Request,
    question: BoundedQuestion,
    chosen: ChosenLimits = NO_LIMITS,
) -> Outline:
    """Return what must be measured for a question, whatever it costs; refuse options that do not suit.

    Limits that were chosen for it hold where it states none.
    """
    options = request.options
    outlined = outline(
        replace(question.query, null_groups=options.null_group),
        question.tables,
        session.policy.neighbours,
        options.max_groups_contributed or chosen.groups,
        request.display.other is not None,
        options.max_rows_contributed or chosen.rows,
        options.max_values_contributed or chosen.values,
    )
    _check_unit(outlined.table, request.options.privacy_unit_column)
    _check_groups(outlined.table, request.options.max_groups_contributed)
    _check_rows(outlined.table, request.options.max_rows_contributed)
    _check_values(outlined.table, request.options.max_values_contributed)
    for level in outlined.levels:
        check_strategy(level.keys, request.options.group_selection_strategy)
    return outlined


def stages_differ(weights: int, stages: int) -> Refused:
    """Return the refusal of weights for stages that a question does not have."""
    measured = "one stage" if stages == 1 else f"{stages} stages"
    return Refused(
        "stage_weights_needless",
        f"stage_weights shares epsilon between {weights} stages, and the question is measured in "
        f"{measured}",
        "leave it out" if stages == 1 else f"give {stages} weights, or leave it out",
    )


def _with_fewest_units(plan: Plan, fewest: int | None) -> Plan:
    """Return a plan whose selected keys have at least so many units, but for the chance of delta.

    What the owner asks of every group it must have anyway (`Measuring.threshold_of`). 0 is of rehearsals,
    which have no noise: it takes one unit from the threshold.
    """
    if fewest is None:
        return plan
    if not plan.outline.selects_keys:
        raise Refused(
            "limits_needless",
            f"min_privacy_units_per_group = {fewest} is for keys that are selected privately, and every "
            "group of this question appears",
            "leave it out, or write HAVING COUNT(*) >= …, which looks at noisy counts",
        )
    return replace(plan, levels=tuple(_with_fewest(level, fewest) for level in plan.levels))


def _with_fewest(level: Level, fewest: int) -> Level:
    threshold = level.priced.threshold
    if threshold is None or not level.outline.selects_keys:
        return level
    declared = level.outline.measuring.fewest_units
    more = max(fewest - declared, 0) if fewest else -1
    most = level.selection.size if level.selection is not None else 1  # that one unit counts
    return replace(level, priced=replace(level.priced, threshold=threshold + more * most))


def _delta(
    session: Session, request: Request, question: BoundedQuestion, outlined: Outline
) -> Fraction:
    """Return the delta that was asked for, or what suits the epsilon of a question that selects keys."""
    if request.options.delta is not None:
        return request.options.delta
    if not outlined.selects_keys:
        return Fraction(0)
    if session.policy.delta_per_query is not None:
        return session.policy.delta_per_query
    budgets = session.budgets(request.analyst)
    check_selection_delta(budgets)
    accounting = session.policy.accounting
    typical = default_delta(None, budgets, accounting)
    epsilon = _epsilon(session, request, question, outlined, typical)
    return default_delta(epsilon, budgets, accounting)


def _epsilon(
    session: Session,
    request: Request,
    question: BoundedQuestion,
    outlined: Outline,
    delta: Fraction,
) -> Fraction:
    """Return what the question itself may cost: its epsilon less the price of bounds it needs.

    An accuracy that needs less than the least that a question costs is had for that.
    """
    if request.options.epsilon is not None:
        return epsilon_less_bounds(request.options.epsilon, question)
    if outlined.free:
        return Fraction(1)  # nothing is charged and nothing is noisy: any number does
    if request.options.accuracy is not None:
        check_bounds_known(question)
        least = least_epsilon(outlined, delta, request.options.accuracy)
        return max(session.policy.epsilon_per_query_min, least)
    raise Refused(
        "epsilon_needed",
        "the question does not say what it may cost",
        'pass --epsilon 0.1, epsilon=0.1 or "epsilon": 0.1, say, or an accuracy to reach',
    )


def is_at_least_price(policy: Policy, request: Request, plan: Plan) -> bool:
    """Return whether an accuracy costs the least that a question may cost; less may have been enough."""
    return (
        request.options.accuracy is not None and plan.charge.epsilon == policy.epsilon_per_query_min
    )


def check_least_price(policy: Policy, charge: Charge, apart: Fraction = Fraction(0)) -> None:
    """Refuse a price below the least that the policy lets a question cost.

    Whether a question fails can tell something about the data however little it costs, so that
    questions may not be had for next to nothing. `apart` is what of the epsilon that was typed
    stands for bounds that are paid for already.
    """
    least = policy.epsilon_per_query_min
    if 0 < charge.epsilon < least:
        raise Refused(
            "epsilon_below_least",
            f"the question would cost epsilon {show_upper(charge.epsilon)}, and a question costs at "
            f"least {show_upper(least)} here (epsilon_per_query_min)",
            f"ask with epsilon {show_upper(least + apart)} or more; a repeat stays free",
        )


def _check_unit(table: Table, named: str | None) -> None:
    unit = getattr(table.unit, "column", None)
    column = None if named is None else named.rpartition(".")[2]  # `people.id` is id
    if column is not None and (unit is None or column.lower() != unit.lower()):
        raise Refused(
            "unit_differs",
            f"privacy_unit_column={named} is not the privacy unit of {table.name}",
            "leave it out: the owner's policy decides the unit",
        )


def _check_groups(table: Table, asked: int | None) -> None:
    """Refuse more groups than the policy lets count, rather than hold the question to fewer."""
    most, rows = table.groups_per_unit_max, table.rows_per_unit_max
    if asked is None or most is None or rows is None or not isinstance(table.unit, ColumnUnit):
        return
    if asked > most and most < rows:  # no unit is in more groups than it has rows
        raise Refused(
            "groups_above_policy",
            f"max_groups_contributed = {asked} is more than the {most} groups of one unit that the "
            f"policy lets count in {table.name}",
            f"ask with at most {most}, or leave it out",
        )


def _check_rows(table: Table, asked: int | None) -> None:
    """Refuse more rows than the policy lets count, rather than hold the question to fewer."""
    most = table.rows_per_unit_max
    if asked is None or most is None or not isinstance(table.unit, ColumnUnit):
        return
    if asked > most:
        raise Refused(
            "rows_above_policy",
            f"max_rows_contributed = {asked} is more than the {most} rows of one unit that the policy "
            f"lets count in {table.name}",
            f"ask with at most {most}, or leave it out",
        )


def _check_values(table: Table, asked: int | None) -> None:
    """Refuse more values than a unit has rows that the policy lets count, as for rows themselves."""
    most = table.rows_per_unit_max
    if asked is None or most is None or not isinstance(table.unit, ColumnUnit):
        return
    if asked > most:
        raise Refused(
            "values_above_policy",
            f"max_values_contributed = {asked} is more than the {most} rows of one unit that the policy "
            f"lets count in {table.name}, each of which has one value",
            f"ask with at most {most}, or leave it out",
        )
