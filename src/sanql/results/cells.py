"""The cells of an answer as text: values with their intervals, for people and for spreadsheets."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal

from sanql.results.content import Interval
from sanql.visible import csv_text, visible

CSV_QUOTED = ',;|"'  # what parts cells in some place of the world, and what quotes them


OF_NOISE = " noise"


def cell_text(value: object, interval: Interval | None, of_noise: str = "") -> str:
    """Return a value as text that is safe to show, with its interval if it has one.

    An interval that is of noise alone says so, as limits may have cut more than it covers.
    """
    if value is None:
        return "NULL"
    grouped = isinstance(value, int | Decimal) and not isinstance(value, bool)
    text = f"{value:,}" if grouped else visible(str(value))
    if isinstance(value, float):
        text = _rounded(value, _digits(interval))
    if interval is None:
        return text
    low, high = interval
    if low is None or high is None:
        return f"{text} (unbounded)"
    below, above = float(value) - low, high - float(value)  # type: ignore[arg-type]
    digits = _digits(interval) if isinstance(value, float) else 0
    if math.isclose(below, above, rel_tol=1e-9, abs_tol=1e-9):
        return f"{text} ± {_rounded(above, digits, math.ceil)}{of_noise}"
    ends = _rounded(low, digits, math.floor), _rounded(high, digits, math.ceil)
    return f"{text} [{ends[0]}, {ends[1]}]{of_noise}"


def csv_line(cells: Sequence[object]) -> str:
    """Return one line; a text with anything in it that may part cells is quoted."""
    return ",".join(map(_csv_cell, cells)) + "\n"


def plain(value: object) -> object:
    """Return a value as JSON has it: dates as text, numbers that are none as null."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        return finite(value)
    return value


def finite(value: float | None) -> float | None:
    """Return a number, or None where it is unbounded or undefined."""
    return None if value is None or not math.isfinite(value) else value


def _csv_cell(cell: object) -> str:
    if cell is None:
        return ""
    if not isinstance(cell, str):
        return str(cell)  # a number stays one, below zero too
    text = csv_text(cell)
    if any(sign in text for sign in CSV_QUOTED) or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def _digits(interval: Interval | None) -> int:
    """Return how many decimals are worth showing: two beyond the size of the interval."""
    if interval is None or None in interval:
        return 4
    width = float(interval[1] or 0) - float(interval[0] or 0)
    return 4 if width <= 0 else max(0, min(6, 1 - math.floor(math.log10(width))))


def _rounded(value: float, digits: int, toward: Callable[[float], int] | None = None) -> str:
    """Return a number with so many decimals; ends of intervals are rounded outward."""
    if abs(value) >= 1e15:
        return f"{value:,.6g}"
    if toward is not None:
        value = toward(round(value * 10**digits, 6)) / 10**digits
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
