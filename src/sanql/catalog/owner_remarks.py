"""What an owner should know of a source that fits its policy: from names and types, never values.

Text that is declared to be a number, a date or a truth value is read as one, and a text that cannot
be is NULL: an error would tell what a row holds, and so would a count of such texts. Nobody can be
told that it happens; the owner is told where it can.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sanql.catalog.binding import BoundTable, SourceFormat
from sanql.policy import ColumnUnit, Policy, Table, ViaUnit


@dataclass(frozen=True)
class Remark:
    """One thing that is not wrong with a policy but worth a look: where, what, and a remedy."""

    place: str
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}; {self.remedy}"


def remarks_on(
    policy: Policy, formats: Mapping[str, SourceFormat], bound: Mapping[str, BoundTable]
) -> tuple[Remark, ...]:
    """Return the columns whose values may be taken for NULL; one remark for all of a CSV table."""
    remarks: list[Remark] = []
    for name, table in bound.items():
        if table.texts and formats[name] == "csv":
            remarks.append(_of_csv(policy.tables[name], table.texts))
        else:
            remarks += [_of_column(policy.tables[name], column) for column in table.texts]
    return tuple(remarks)


def _of_csv(table: Table, texts: tuple[str, ...]) -> Remark:
    """Return one remark for the table: the columns of a CSV file are texts, every one of them."""
    listed = ", ".join(f"{column} ({table.columns[column].type})" for column in texts)
    dropped = ""
    if isinstance(table.unit, ColumnUnit | ViaUnit) and table.unit.column in texts:
        dropped = f", and a row without {table.unit.column} is not counted"
    return Remark(
        f"table.{table.name}",
        f"CSV holds text, and what does not read as its type is taken for NULL{dropped}: {listed}",
        "store the table as Parquet with these types, or declare the columns as text",
    )


def _of_column(table: Table, column: str) -> Remark:
    declared = table.columns[column].type
    return Remark(
        f"table.{table.name}.column.{column}",
        f'the source stores "{column}" as VARCHAR; text that does not read as {declared} '
        "is taken for NULL",
        f"store it as {declared} in the source, or declare it as text",
    )
