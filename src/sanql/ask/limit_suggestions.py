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
from sanql.measurements import NoisyCells
from sanql.numbers import show_upper
from sanql.plan import (
    SIZE_EDGES,
    Plan,
    counts_above_noise,
    grouping_column,
    groups_of_units,
    least_count_above_noise,
    limit_choices,
    number_of_groups,
    rows_of_units,
)
from sanql.policy import Neighbours, Table
from sanql.results import Advice, Suggestion

EPSILON_TYPICAL = Fraction(1, 10)


def suggest_limits(
    session: Session,
    analyst: str,
    table: str,
    by: str | None,
    epsilon: Fraction,
    epsilon_typical: Fraction = EPSILON_TYPICAL,
    door: Door = "python",
) -> Suggestion:
    """Return limits for a table; with `by`, half of epsilon goes to groups of that column."""
    session.check_open()
    with noting_charges_on_interrupt():
        name = _named(table, session.tables)
        plans, groups = _plans(name, by, session.tables, session.policy.neighbours, epsilon)
        unpaid = _check_price(session, analyst, plans.values())
        advice: list[Advice] = []
        for key, plan in plans.items():
            asked = _asked(name, by, epsilon, key, door)
            known = recorded(session, analyst, plan) or measure(session, analyst, plan, asked)
            advice.append(
                _advise(session, key, name, plan, known.levels[0], epsilon_typical, groups, advice)
            )
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


def _advise(
    session: Session,
    key: str,
    table: str,
    plan: Plan,
    cells: NoisyCells,
    epsilon_typical: Fraction,
    groups: int | None,
    advice: Sequence[Advice],
) -> Advice:
    """Return the limit that loses least, by noise and by what it cuts, among those that were counted."""
    units = counts_above_noise(
        plan, cells.table.column("k0").to_pylist(), cells.measurement(0).tolist()
    )
    least = least_count_above_noise(plan, len(SIZE_EDGES))
    if not any(units):
        raise _not_found(table, least)
    if key == "rows_per_unit_max":
        counted = limit_choices(units, epsilon_typical)
    else:
        most = SIZE_EDGES[max(index for index, count in enumerate(units) if count)]
        moved = 1 if session.policy.neighbours == "add-remove" else 2
        counted = limit_choices(units, epsilon_typical, moved, groups or most)
    best = min(counted, key=lambda choice: choice.cost).limit
    limit = min([best, *(earlier.limit for earlier in advice)])  # no more groups than rows
    return Advice(key, limit, tuple(counted), least)


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


def _named(table: str, tables: Mapping[str, Table]) -> str:
    for name in tables:
        if name.lower() == table.lower():
            return name
    raise Refused(
        "table_unknown",
        f"there is no table {table[:60]}",
        f"the tables are {', '.join(tables) or 'none'}",
    )


def _not_found(table: str, least: int) -> Refused:
    return Refused(
        "limits_not_found",
        f"no {least} units of {table} seem to have alike many rows, so there is no limit to suggest; "
        "what it cost to find out is spent, and asking again is free",
        "ask with a larger epsilon, or choose a limit from what is known of the table",
    )
