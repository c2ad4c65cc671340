"""What limits mean where each row belongs to units of two kinds, in words."""

from __future__ import annotations

from sanql.plan import Level


def rows_by_kind(level: Level) -> dict[str, int]:
    """Return how many rows of one unit of each kind count in a group; nothing where there is one kind."""
    table = level.outline.table
    poured = next((part.poured for part in level.measurements if part.poured is not None), None)
    if poured is None or table.kind is None or table.second is None:
        return {}
    return {table.kind: poured.first, table.second.kind: poured.second}


def limits_of_kinds(level: Level) -> dict[str, int]:
    """Return the limits of both kinds as certificates name them."""
    return {f"rows_per_group ({kind})": rows for kind, rows in rows_by_kind(level).items()}


def rows_of_kinds(level: Level) -> str:
    """Return how much of one unit of each kind counts, for the line under an answer."""
    of_kinds = [
        f"{rows:,} row{'' if rows == 1 else 's'} of a {kind} in a group"
        for kind, rows in rows_by_kind(level).items()
    ]
    return " and ".join(of_kinds)


def assumptions_of_kinds(level: Level) -> tuple[str, ...]:
    """Return what a claim about units of two kinds rests on."""
    table = level.outline.table
    if table.second is None:
        return ()
    columns = getattr(table.unit, "column", ""), table.second.column
    return (
        f"{columns[0]} identifies each {table.kind} in {table.name} and {columns[1]} each"
        f" {table.second.kind}; rows that lack one of them are left out",
        "in each group rows are taken in an order drawn for this answer, each as far as both its units"
        " have room; so one unit of either kind moves what is taken in all by no more than its own",
    )
