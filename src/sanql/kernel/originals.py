"""Rows of an attached database that get their places in a copy from where they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sanql.kernel.lockdown import quote_name
from sanql.kernel.messages import CopiedTable

ORIGINAL = "original"  # what a database is called while it is copied


def _nothing_to_check() -> None:
    """Return: of what is not read there is no version."""


@dataclass(frozen=True)
class Original:
    """The tables of a database whose rows do not wait, and what tells whether it is still the same.

    `check` raises unless it is, now, what was named when it was attached; whoever reads rows calls it
    afterwards, before what was made of them is kept.
    """

    tables: frozenset[str] = frozenset()
    check: Callable[[], None] = _nothing_to_check

    def rows(self, table: CopiedTable, added: list[str], segment: str) -> str:
        """Return a SELECT of a table's columns, of others `over` them, and of its only segment.

        What follows may join to `source`.
        """
        (projection,) = table.projections
        read = zip(projection.expressions, table.types.values(), strict=True)
        stored = ", ".join(f"CAST({expression} AS {kind})" for expression, kind in read)
        names = ", ".join(quote_name(name) for name in table.types)
        columns = [f"source.{quote_name(name)}" for name in table.types]
        listed = ", ".join([*columns, *added, f"0::UINTEGER AS {segment}"])
        original = f'{quote_name(ORIGINAL)}."main".{quote_name(table.name)}'
        return f"SELECT {listed} FROM (SELECT {stored} FROM {original}) AS source({names})"  # noqa: S608
