"""Tables of `sanql theory` that never break a word, however narrow the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from sanql.cli.saying import say


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Say rows as a table, or one below the other where a column's longest word has no room."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, highlight=False)
    widths = _widths(list(zip(columns, *rows, strict=True)), console.width - 3 * len(columns))
    if widths is None:
        _blocks(columns, rows, console.width)
        return
    drawn = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column, width in zip(columns, widths, strict=True):
        drawn.add_column(column, overflow="fold", width=width)
    for row in rows:
        drawn.add_row(*row)
    console.print(drawn)


def _widths(columns: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """Return how wide each column is, at least its longest word; None where there is no room."""
    whole = [max(map(len, cells)) for cells in columns]
    widths = [
        max((len(word) for cell in cells for word in cell.split()), default=1) for cells in columns
    ]
    if sum(widths) > room:
        return None
    for _ in range(min(room, sum(whole)) - sum(widths)):
        narrowest = max(range(len(widths)), key=lambda k: whole[k] / widths[k])
        widths[narrowest] += 1
    return widths


def _blocks(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> None:
    """Say each row as its first cell, with the others named and indented below."""
    for first, *others in rows:
        _folded(first, "", width)
        for column, cell in zip(columns[1:], others, strict=True):
            if cell:
                _folded(f"{column}: {cell}", "  ", width)


def _folded(text: str, indent: str, width: int) -> None:
    lines = textwrap.wrap(
        text,
        max(width, len(indent) + 2),
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    say("\n".join(lines))
