"""Profiles of tables, measured once in the dataset's own name and charged to its account alone."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sanql.account import DATASET, Asked, Charge, Door, total_charge
from sanql.ask.measure import measure, recorded
from sanql.ask.price import check_least_price
from sanql.ask.session import Session
from sanql.errors import Refused
from sanql.interrupts import noting_charges_on_interrupt
from sanql.numbers import show_upper
from sanql.profile import Profile, ProfilePart, has_profile, parts_of, plan_part


def profile_tables(
    session: Session,
    tables: Sequence[str],
    columns: Sequence[str],
    epsilon: Fraction,
    door: Door = "python",
) -> tuple[tuple[Profile, ...], Charge]:
    """Return profiles of tables at a price that they share, and what of it was not paid before.

    All of it must fit the dataset's account before any of it is measured; without names they are those of
    all tables whose units may have several rows.
    """
    session.check_open()
    names = [session.named_table(table) for table in tables] or [
        name for name, table in session.tables.items() if has_profile(table)
    ]
    if not names:
        raise Refused(
            "limits_needless",
            "no table has a unit that may have several rows, so there is nothing to tell",
            "a profile is of a table whose privacy unit is a column",
        )
    share = epsilon / len(names)
    with noting_charges_on_interrupt():
        plans = {
            part: plan_part(part, session.tables, session.policy.neighbours)
            for name in names
            for part in parts_of(name, _own(session, name, columns, names), session.tables, share)
        }
        missing = {
            part: plan for part, plan in plans.items() if recorded(session, DATASET, plan) is None
        }
        unpaid = total_charge([plan.charge for plan in missing.values()])
        if missing:
            for plan in missing.values():
                check_least_price(session.policy, plan.charge)
            session.ledger.would_fit(DATASET, unpaid)
        for part, plan in missing.items():
            measure(session, DATASET, plan, _asked(part, door))
    known = session.profiles.now()
    return tuple(known[name] for name in names), unpaid


def _own(
    session: Session, name: str, columns: Sequence[str], names: Sequence[str]
) -> Sequence[str]:
    """Return the chosen columns that a table has; of one table alone all must be there."""
    if len(names) == 1:
        return columns
    has = {column.lower() for column in session.tables[name].columns}
    known = {column.lower() for each in names for column in session.tables[each].columns}
    for column in columns:
        if column.lower() not in known:
            raise Refused(
                "column_unknown",
                f"none of the tables {', '.join(names)} has a column {column[:60]}",
                "name columns that questions are grouped by",
            )
    return [column for column in columns if column.lower() in has]


def _asked(part: ProfilePart, door: Door) -> Asked:
    """Return what was asked for, in words: it is no SQL."""
    of = f", {part.column!r}" if part.column else ""
    text = f"profile({part.table!r}, {part.kind!r}{of}, epsilon={show_upper(part.epsilon)})"
    return Asked(text, None, part.to_dict(), text, door, part.purpose)
