"""Which columns of a table a policy uses: a snapshot holds those, and no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sanql.catalog import suggest_similar
from sanql.errors import Fault
from sanql.policy import fold, identifiers

if TYPE_CHECKING:
    from sanql.policy import Policy, Table
    from sanql.sources.snapshots.manifest import TableOrigin

REFRESH = "take the snapshot anew: `sanql refresh`"


def wanted_columns(policy: Policy, table: Table) -> tuple[str, ...] | None:
    """Return the columns that say whose a row is, that are declared or referred to; None for all."""
    if table.public and not table.columns:
        return None
    key = [table.key] if table.key else []
    named = (*identifiers(table, policy.tables), *table.columns, *key)
    return tuple({fold(name): name for name in reversed(named)}.values())[::-1]


def chosen_columns(policy: Policy, table: Table, names: Sequence[str]) -> list[str] | Fault:
    """Return those of a table's columns that the policy uses, as they are spelled there."""
    wanted = wanted_columns(policy, table)
    chosen = list(names) if wanted is None else []
    for name in wanted or ():
        named = [each for each in names if fold(each) == fold(name)]
        named = [each for each in named if each == name] or named
        at = f"table.{table.name}.column.{name}"
        if not named:
            hint = suggest_similar(name, names) or "name one that it has"
            return Fault(at, f'the source has no column "{name}"', hint)
        if len(named) > 1:
            return Fault(at, f'several columns are called "{name}"', "rename one of them")
        chosen += named
    return chosen


def lacking(policy: Policy, origins: Mapping[str, TableOrigin]) -> list[Fault]:
    """Return what the policy uses that a snapshot was taken without."""
    taken = {fold(name): origin for name, origin in origins.items()}
    faults = []
    for table in policy.tables.values():
        origin, wanted = taken.get(fold(table.name)), wanted_columns(policy, table)
        if origin is None:
            faults.append(Fault(f"table.{table.name}", "the snapshot is without it", REFRESH))
        elif origin.columns is not None:
            there = {*map(fold, origin.columns)}
            missing = [name for name in wanted or () if fold(name) not in there]
            named = f"the column {missing[0]}" if missing else "some columns"
            if missing or wanted is None:
                said = f"the snapshot of it is without {named}"
                faults.append(Fault(f"table.{table.name}", said, REFRESH))
    return faults
