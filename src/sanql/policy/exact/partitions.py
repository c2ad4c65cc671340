"""The cells of an exact release: a partition of a table by its columns."""

from __future__ import annotations

from sanql.policy.exact.cells import Cells
from sanql.policy.model import Column, ColumnUnit, ListedDomain, Table
from sanql.policy.section import Mistake, Section, quote, suggest

CELLS_MOST = 10_000


_KEY_TYPES = ("text", "integer", "boolean", "date")


def read_partition(section: Section, table: Table | None) -> Cells | None:
    """Return the cells that a section partitions its table into."""

    def parse(written: object) -> list[str]:
        if not isinstance(written, list) or not all(isinstance(item, str) for item in written):
            raise Mistake(f"expected a list of columns, not {quote(written)}")
        if len(set(written)) < len(written):
            raise Mistake(f"{quote(written)} names a column twice", "name it once")
        return written

    names = section.read("partition", parse, 'write partition = ["region"]')
    if "partition" not in section.content:
        names = []
    if names is None or table is None:
        return None
    columns = []
    for name in names:
        column = table.columns.get(name)
        problem = _partition_problem(table, name, column)
        if problem is not None:
            section.fault("partition", *problem)
            return None
        assert column is not None and isinstance(column.domain, ListedDomain)  # noqa: S101
        columns.append((name, column.domain.values))
    cells = Cells(tuple(columns))
    if cells.count > CELLS_MOST:
        section.fault(
            "partition",
            f"{cells.count:,} cells are more than {CELLS_MOST:,}",
            "use fewer columns or shorter domains",
        )
        return None
    return cells


def _partition_problem(table: Table, name: str, column: Column | None) -> tuple[str, str] | None:
    if column is None:
        return f"{quote(table.name)} declares no column {quote(name)}", suggest(name, table.columns)
    if isinstance(table.unit, ColumnUnit) and table.unit.column == name:
        return f"{quote(name)} identifies people", "a cell of one person hides nothing"
    if column.type not in _KEY_TYPES:
        return (
            f"{quote(name)} is a {column.type}; cells are by {', '.join(_KEY_TYPES)} columns",
            "choose a public attribute with few values",
        )
    if not isinstance(column.domain, ListedDomain):
        return (
            f"{quote(name)} has no listed domain, and the base partition is fixed in advance",
            f"list its values in [table.{table.name}.column] {name}.domain",
        )
    return None
