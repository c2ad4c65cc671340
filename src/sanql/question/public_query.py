"""A question over public tables alone: nothing in it is private."""

from __future__ import annotations

from dataclasses import dataclass

from sanql.question.relations import Field, Rows


@dataclass(frozen=True)
class SortColumn:
    """One item of ORDER BY: a column of the rows."""

    index: int
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class PublicQuery:
    """Rows of public tables, in order; columns beyond the first `width` are there to order by only."""

    rows: Rows
    width: int
    order: tuple[SortColumn, ...]
    limit: int | None
    offset: int

    @property
    def shown(self) -> tuple[Field, ...]:
        """The columns of the answer."""
        return self.rows.fields[: self.width]
