"""Suggested contribution limits: units counted privately, paid for like any answer, and what follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sanql.account import Balance, Charge
from sanql.account.numbers import show_upper
from sanql.errors import Refused
from sanql.plan import Plan
from sanql.plan.bins import least_seen
from sanql.plan.spread import (
    EDGES,
    Choice,
    choices,
    grouped_by,
    groups_of_units,
    number_of_groups,
    rows_of_units,
    seen,
)
from sanql.plan.wishes import check_least
from sanql.policy import Neighbours, Policy, Table
from sanql.policy.draft import toml_key
from sanql.release.certificate import number_upper
from sanql.release.remaining import left_in_words, remaining_to_dict
from sanql.release.till import Till, together
from sanql.visible import json_text, visible

EPSILON_TYPICAL = Fraction(1, 10)


@dataclass(frozen=True)
class Advice:
    """One limit that is suggested, among those it was chosen from."""

    key: str
    limit: int
    choices: tuple[Choice, ...]
    units_least: int

    @property
    def noun(self) -> str:
        """What is limited."""
        return self.key.partition("_")[0]

    def to_dict(self) -> dict[str, Any]:
        """Return the advice as plain data."""
        return {
            "limit": self.limit,
            "units_least": self.units_least,
            "choices": [
                {
                    "limit": choice.limit,
                    "units_within": choice.units,
                    "kept": choice.kept,
                    "noise": choice.noise,
                    "lost": choice.lost,
                }
                for choice in self.choices
            ],
        }


@dataclass(frozen=True, repr=False)
class Suggestion:
    """The limits suggested for a table, what finding them cost, and the lines to paste."""

    table: str
    by: str | None
    advice: tuple[Advice, ...]
    epsilon_typical: Fraction
    charge: Charge
    cached: bool
    remaining: tuple[Balance, ...]

    @property
    def limits(self) -> dict[str, int]:
        """The limits by their names in a policy."""
        return {each.key: each.limit for each in self.advice}

    def toml(self) -> str:
        """Return the lines of a policy that state the limits."""
        lines = [f"[table.{toml_key(self.table)}]"]
        return "\n".join([*lines, *(f"{key} = {limit}" for key, limit in self.limits.items())])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "table": self.table,
            "by": self.by,
            "limits": {each.key: each.to_dict() for each in self.advice},
            "typical_epsilon": float(self.epsilon_typical),
            "charge": {
                "epsilon": 0.0 if self.cached else number_upper(self.charge.epsilon),
                "delta": 0.0,
            },
            "cached": self.cached,
            "remaining": remaining_to_dict(self.remaining),
            "toml": self.toml(),
        }

    def to_json(self) -> str:
        """Return the JSON form."""
        return json_text(self.to_dict(), allow_nan=False)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines: list[str] = []
        for each in self.advice:
            kept, lost = f"{each.noun} kept", f"{each.noun} lost"
            lines += [each.key, f"  limit  units within  {kept:>11}      noise  {lost:>11}"]
            lines += [_line(choice, each.limit) for choice in each.choices]
            lines.append(
                f"  fewer than {each.units_least} units in a line cannot be told from none"
            )
        price = "a repeat, free" if self.cached else f"epsilon {show_upper(self.charge.epsilon)}"
        lines.append(
            f"noise and loss are those of a count at epsilon {show_upper(self.epsilon_typical)}; "
            f"price: {price}; {left_in_words(self.remaining)}"
        )
        return visible("\n".join([*lines, "", self.toml()]), lines=True)


def suggest(
    table: str,
    by: str | None,
    policy: Policy,
    tables: Mapping[str, Table],
    epsilon: Fraction,
    epsilon_typical: Fraction,
    till: Till,
) -> Suggestion:
    """Return limits for a table; with `by`, half of epsilon goes to groups of that column."""
    name = _named(table, tables)
    plans, groups = _plans(name, by, tables, policy.neighbours, epsilon)
    unpaid = [planned.charge for planned in plans.values() if till.recorded(planned) is None]
    if unpaid:
        check_least(together(unpaid).epsilon, policy.epsilon_per_query_min)
        till.check_fits(together(unpaid))
    advice: list[Advice] = []
    for key, planned in plans.items():
        cells = till.measure(planned)
        units = seen(planned, cells.table.column("k0").to_pylist(), cells.measurement(0).tolist())
        least = least_seen(planned, len(EDGES))
        if not any(units):
            raise _not_found(name, least)
        if key == "rows_per_unit_max":
            found = choices(units, epsilon_typical)
        else:
            most = EDGES[max(index for index, count in enumerate(units) if count)]
            moved = 1 if policy.neighbours == "add-remove" else 2
            found = choices(units, epsilon_typical, moved, groups or most)
        best = min(found, key=lambda choice: choice.cost).limit
        limit = min([best, *(each.limit for each in advice)])  # no more groups than rows
        advice.append(Advice(key, limit, tuple(found), least))
    charge, balances = together(unpaid), till.balances()
    return Suggestion(name, by, tuple(advice), epsilon_typical, charge, not unpaid, balances)


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
    column = grouped_by(name, by, tables)
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


def _line(choice: Choice, best: int) -> str:
    mark = "  <- suggested" if choice.limit == best else ""
    return (
        f"{choice.limit:7,}  {choice.units:12.1%}  {choice.kept:11.1%}  {choice.noise:9,.1f}  "
        f"{choice.lost:11,.1f}{mark}"
    )
