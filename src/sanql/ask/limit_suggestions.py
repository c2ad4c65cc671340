"""Suggested contribution limits, chosen from private counts of how many rows units have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from sanql.account import Asked, Charge, Door, total_charge
from sanql.ask.measure import measure, recorded
from sanql.ask.price import check_least_price
from sanql.ask.session import Session
from sanql.errors import Refused
from sanql.interrupts import noting_charges_on_interrupt
from sanql.numbers import show_upper
from sanql.plan import (
    Plan,
    grouping_column,
    groups_of_units,
    limit_choices,
    number_of_groups,
    rows_of_units,
)
from sanql.policy import Neighbours, Table
from sanql.profile import SizeCounts, size_counts
from sanql.results import Advice, Suggestion

EPSILON_TYPICAL = Fraction(1, 10)


def suggest_limits(
    session: Session,
    analyst: str,
    table: str,
    by: str | None,
    epsilon: Fraction | None,
    epsilon_typical: Fraction = EPSILON_TYPICAL,
    door: Door = "python",
) -> Suggestion:
    """Return limits for a table; with `by`, half of epsilon goes to groups of that column.

    Where the table has a profile that tells both, nothing is measured and nothing is charged.
    """
    session.check_open()
    profiled = _from_profile(session, analyst, session.named_table(table), by, epsilon_typical)
    if profiled is not None:
        return profiled
    if epsilon is None:
        raise Refused(
            "epsilon_needed",
            f"{table[:60]} has no profile that tells, and it is not said what finding out may cost",
            "pass --epsilon 0.1 or epsilon=0.1, say; or have the owner measure a profile",
        )
    with noting_charges_on_interrupt():
        name = session.named_table(table)
        plans, groups = _plans(name, by, session.tables, session.policy.neighbours, epsilon)
        unpaid = _check_price(session, analyst, plans.values())
        advice: list[Advice] = []
        for key, plan in plans.items():
            asked = _asked(name, by, epsilon, key, door)
            known = recorded(session, analyst, plan) or measure(session, analyst, plan, asked)
            counted = size_counts(plan, known.levels[0])
            advice.append(_advise(session, key, name, counted, epsilon_typical, groups, advice))
    charge, balances = total_charge(unpaid), session.balances(analyst)
    return Suggestion(name, by, tuple(advice), epsilon_typical, charge, not unpaid, balances)


def _asked(table: str, by: str | None, epsilon: Fraction, key: str, door: Door) -> Asked:
    """Return what was asked for, in the words of Python: it is no SQL."""
    grouped = "" if by is None else f", by={by!r}"
    text = f"suggest_limits({table!r}{grouped}, epsilon={show_upper(epsilon)})"
    return Asked(text, normalised=text, door=door, purpose=f"{key} of {table}")


def _check_price(session: Session, analyst: str, plans: Iterable[Plan]) -> list[Charge]:
    """Return what is not on record and must be paid for, all of which fits."""
    unpaid = [plan.charge for plan in plans if recorded(session, analyst, plan) is None]
    if unpaid:
        check_least_price(session.policy, total_charge(unpaid))
        session.ledger.would_fit(analyst, total_charge(unpaid))
    return unpaid


def _from_profile(
    session: Session, analyst: str, name: str, by: str | None, epsilon_typical: Fraction
) -> Suggestion | None:
    """Return the limits that a profile of the newest data suggests; None where it tells too little."""
    profile = session.profiles.of_newest(name)
    if profile is None or profile.rows is None:
        return None
    counted: dict[str, SizeCounts] = {"rows_per_unit_max": profile.rows}
    groups = None
    if by is not None:
        column = next((known for known in profile.groups if known.lower() == by.lower()), None)
        if column is None:
            return None
        counted["groups_per_unit_max"] = profile.groups[column]
        groups = number_of_groups(grouping_column(name, column, session.tables), session.tables)
    advice: list[Advice] = []
    for key, own in counted.items():
        advice.append(_advise(session, key, name, own, epsilon_typical, groups, advice))
    free = total_charge([])
    balances = session.balances(analyst)
    return Suggestion(name, by, tuple(advice), epsilon_typical, free, True, balances)


def _advise(
    session: Session,
    key: str,
    table: str,
    sizes: SizeCounts,
    epsilon_typical: Fraction,
    groups: int | None,
    advice: Sequence[Advice],
) -> Advice:
    """Return the limit that loses least, by noise and by what it cuts, among those that were counted."""
    if sizes.last is None:
        raise _not_found(table, sizes.least)
    moved, spread_over = 1, 1
    if key == "groups_per_unit_max":
        moved = 1 if session.policy.neighbours == "add-remove" else 2
        spread_over = groups or sizes.edges[sizes.last]
    seen = list(zip(sizes.edges, sizes.above_noise, sizes.sizes, strict=True))[: sizes.last + 1]
    counted = limit_choices(seen, epsilon_typical, moved, spread_over)
    best = min(counted, key=lambda choice: choice.cost).limit
    limit = min([best, *(earlier.limit for earlier in advice)])  # no more groups than rows
    return Advice(key, limit, tuple(counted), sizes.least)


def _plans(
    name: str,
    by: str | None,
    tables: Mapping[str, Table],
    neighbours: Neighbours,
    epsilon: Fraction,
) -> tuple[dict[str, Plan], int | None]:
    """Return what is measured for each limit, and how many groups there are where that is known."""
    if by is None:
        return {"rows_per_unit_max": rows_of_units(name, tables, neighbours, epsilon)}, None
    rows = rows_of_units(name, tables, neighbours, epsilon / 2)
    column = grouping_column(name, by, tables)
    groups = groups_of_units(name, column, tables, neighbours, epsilon / 2)
    plans = {"rows_per_unit_max": rows, "groups_per_unit_max": groups}
    return plans, number_of_groups(column, tables)


def _not_found(table: str, least: int) -> Refused:
    return Refused(
        "limits_not_found",
        f"no {least} units of {table} seem to have alike many rows, so there is no limit to suggest; "
        "what it cost to find out is spent, and asking again is free",
        "ask with a larger epsilon, or choose a limit from what is known of the table",
    )
