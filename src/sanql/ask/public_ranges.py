"""Ranges of columns of public tables that nobody has declared: read from the tables, at no cost.

They hold of one version of the data, which is public, and serve a question as declared bounds do: a value
outside would be read as the nearest end. A question that can be answered without them has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from sanql.ask.time_steps import time_in_steps
from sanql.compile import compile_public_query
from sanql.kernel import quote_name
from sanql.parse import QuestionText, parse
from sanql.plan import Ends, QualifiedColumn
from sanql.question import PublicQuery

if TYPE_CHECKING:
    from sanql.ask.session import Session


class PublicRanges:
    """The ranges of public columns in the newest version of the data, each read when it is needed."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: tuple[int | None, Mapping[QualifiedColumn, Ends | None]] = None, {}

    def read(self, columns: Sequence[QualifiedColumn]) -> Mapping[QualifiedColumn, Ends]:
        """Return the lowest and highest value of each column; one without values has none.

        A scratch account opens no data, and knows none.
        """
        if not columns or self._session.ledger.scratch:
            return {}
        version = self._session.data.open().version.number
        known = dict(self._known[1]) if self._known[0] == version else {}
        missing = [column for column in columns if column not in known]
        for table in sorted({table for table, _ in missing}):
            known |= self._ends(table, [column for of, column in missing if of == table])
        self._known = version, known  # exchanged as a whole: others may be reading it
        found = {column: known[column] for column in columns}
        return {column: ends for column, ends in found.items() if ends is not None}

    def _ends(self, table: str, columns: Sequence[str]) -> dict[QualifiedColumn, Ends | None]:
        """Ask the public table itself."""
        names = [quote_name(column) for column in columns]
        ends = ", ".join(f"MIN({name}), MAX({name})" for name in names)
        tables = self._session.tables
        text = f"SELECT {ends} FROM {quote_name(table)}"  # noqa: S608  (names, quoted)
        query = parse(QuestionText(text), tables).query
        assert isinstance(query, PublicQuery)  # noqa: S101  (the table is public)
        opened = self._session.data.open()
        sent = compile_public_query(query, opened.source, tables)
        with time_in_steps():
            rows = opened.workers.run(sent)
        self._session.data.check(opened)
        values = [column[0].as_py() for column in rows.columns]
        return {
            (table, column): _ends_of(values[2 * place], values[2 * place + 1])
            for place, column in enumerate(columns)
        }


def _ends_of(low: object, high: object) -> Ends | None:
    """Return both ends as exact numbers, apart from each other."""
    if low is None or high is None:
        return None
    assert isinstance(low, int | float | Decimal)  # noqa: S101  (only numbers are asked for)
    assert isinstance(high, int | float | Decimal)  # noqa: S101
    first, last = Fraction(low), Fraction(high)
    return first, last if last > first else first + 1
