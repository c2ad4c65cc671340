"""The accounts of a dataset as they stand: a list, which notebooks show as a table."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Protocol

from sanql.numbers import show_lower, show_upper
from sanql.results.balance import Balance, Budget
from sanql.visible import visible

_HEADINGS = ("account", "budget", "spent at most", "left at least")


class _Printer(Protocol):
    """What a shell shows a value with."""

    def text(self, text: str) -> None:
        """Show a text."""


class Accounts(list[Balance]):
    """Accounts, one a row; every number is rounded to the safe side."""

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in _HEADINGS)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self._rows()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _repr_pretty_(self, printer: _Printer, cycle: bool) -> None:
        """Show the accounts in a shell, where there are no tables."""
        printer.text(str(self))

    def __str__(self) -> str:
        rows = [_HEADINGS, *self._rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for each in self:
            yield (
                visible(each.named),
                _pair(each.budget, show_lower),
                _pair(each.spent_upper, show_upper),
                _pair(each.remaining_lower, show_lower),
            )


def _pair(budget: Budget, shown: Callable[[Fraction], str]) -> str:
    return f"epsilon {shown(budget.epsilon)}, delta {shown(budget.delta)}"
