"""The answer to a question: rows with intervals, what they cost, what remains, and the guarantee."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sanql.account import Balance, Charge
from sanql.answer.remaining import remaining_in_words, remaining_to_dict
from sanql.certificate import Certificate, number_upper
from sanql.errors import Refused
from sanql.measurements import Reals
from sanql.numbers import show_upper
from sanql.visible import csv_text, json_text, visible

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Interval = tuple[float | None, float | None]
CSV_QUOTED = ',;|"'  # what parts cells in some place of the world, and what quotes them
TYPE_NAMES = {"int64": "integer", "double": "real", "string": "text", "bool": "boolean"}
NO_ROWS = "no rows: a key appears only where enough units share it, and explain says how many"


@dataclass(frozen=True, repr=False)
class Answer:
    """Private statistics, ready to use.

    `ends` holds, for each column that has noise, the low and high ends of its rows' intervals;
    `intervals` is the same as pairs, where an end that is unbounded is None. `noise` holds the
    standard deviation of the noise in columns that are an aggregate by themselves (of a row of other
    groups the certificate says it). `without_interval` names columns that have noise and no interval.
    `version` is that of the data the answer is about; `raised` is whether an accuracy was asked for
    that costs the least a question may.
    """

    table: pyarrow.Table
    ends: Mapping[str, tuple[Reals, Reals]]
    confidence: Fraction
    noise: dict[str, float]
    charge: Charge
    remaining: tuple[Balance, ...]
    certificate: Certificate
    cached: bool
    without_interval: tuple[str, ...] = ()
    version: int | None = None
    raised: bool = False

    @cached_property
    def intervals(self) -> dict[str, list[Interval]]:
        """The intervals as pairs of plain numbers, made when first looked at."""
        return {name: _as_intervals(*ends) for name, ends in self.ends.items()}

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.table.column_names)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The rows, as tuples."""
        columns = [column.to_pylist() for column in self.table.columns]
        return list(zip(*columns, strict=True))

    @property
    def value(self) -> Any:
        """The only value, of an answer that has one."""
        rows = self.rows
        if len(rows) != 1 or len(rows[0]) != 1:
            raise ValueError(f"the answer has {len(rows)} rows and {len(self.columns)} columns")
        return rows[0][0]

    def to_arrow(self) -> pyarrow.Table:
        """Return the rows as an Arrow table."""
        return self.table

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a pandas frame (extra `sanql[pandas]`)."""
        _need("pandas")
        return self.table.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Return the rows as a polars frame (extra `sanql[polars]`)."""
        _need("polars")
        import polars

        frame = polars.from_arrow(self.table)
        assert isinstance(frame, polars.DataFrame)  # noqa: S101  (a table becomes a frame)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data: the JSON form of an answer."""
        return {
            "columns": [
                {"name": field.name, "type": _type_name(str(field.type))}
                for field in self.table.schema
            ],
            "rows": [[_plain(value) for value in row] for row in self.rows],
            "intervals": {
                name: [list(interval) for interval in column]
                for name, column in self.intervals.items()
            },
            "confidence": float(self.confidence),
            "noise": self.noise,
            "charge": {
                "epsilon": 0.0 if self.cached else number_upper(self.charge.epsilon),
                "delta": 0.0 if self.cached else number_upper(self.charge.delta),
            },
            "remaining": remaining_to_dict(self.remaining),
            "certificate": self.certificate.to_dict(),
            "cached": self.cached,
            "version": self.version,
        }

    def to_json(self) -> str:
        """Return the JSON form."""
        return json_text(self.to_dict(), allow_nan=False)

    def to_csv(self) -> str:
        """Return the rows as CSV, with columns for interval ends; cells cannot become formulas."""
        header: list[str] = []
        for name in self.columns:
            header += [name, f"{name}_low", f"{name}_high"] if name in self.intervals else [name]
        lines = [_csv_line(header)]
        for number, row in enumerate(self.rows):
            cells: list[object] = []
            for name, value in zip(self.columns, row, strict=True):
                cells.append(_plain(value))
                if name in self.intervals:
                    cells += list(self.intervals[name][number])
            lines.append(_csv_line(cells))
        return "".join(lines)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self._headings())
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self.cells()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" + "".join(
            f"<p>{html.escape(line)}</p>" for line in self.footer()
        )

    def _headings(self) -> list[str]:
        return [visible(name) for name in self.columns]

    def cells(self) -> list[list[str]]:
        """Return every cell as text that is safe to show, noisy ones with their interval."""
        shown = []
        noisy = {} if self.free else self.intervals
        statistics = {*self.intervals, *self.without_interval}
        for number, row in enumerate(self.rows):
            shown.append(
                [
                    _cell(value, self.intervals[name][number] if name in noisy else None)
                    if name in statistics or not isinstance(value, int)
                    else str(value)  # a key: a year or a code has no commas
                    for name, value in zip(self.columns, row, strict=True)
                ]
            )
        return shown

    @property
    def free(self) -> bool:
        """Whether nothing in the answer depends on any unit, so that it is exact and has no price."""
        return self.charge.epsilon == 0 and self.charge.delta == 0

    def footer(self) -> list[str]:
        """Return what stands under the rows: what they do not show, and the summary."""
        bare = "" if self.free else ", ".join(map(visible, self.without_interval))
        unsaid = [f"no interval for {bare}"] if bare else []
        if not self.rows and self.certificate.selects_keys:
            unsaid.append(NO_ROWS)
        return [visible(line) for line in [*unsaid, *self.certificate.caveats(), self.summary()]]

    def as_of(self) -> list[str]:
        """Return which version of the data the answer is about, where it is known."""
        return [] if self.version is None else [f"as of version {self.version}"]

    def summary(self) -> str:
        """Return one line: the confidence, of which data, bounds found, the price and what is left."""
        if self.free:
            public = self.certificate.unit.startswith("nobody")
            exact = f"exact: {'public tables' if public else 'nobody can change it'}, free"
            return "; ".join([exact, *self.as_of()])
        price = "a repeat, free" if self.cached else price_in_words(self.charge)
        if self.raised and not self.cached:
            price += f" ({LEAST_PRICE})"
        return "; ".join(
            [
                f"{float(self.confidence):.4g} intervals",
                *self.as_of(),
                *self.certificate.bounds_in_words(),
                f"price: {price}",
                remaining_in_words(self.remaining),
            ]
        )

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        table = [self._headings(), *self.cells()]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)) for row in table]
        return "\n".join([*lines, *self.footer()])


LEAST_PRICE = "the least that a question may cost"


def price_in_words(charge: Charge) -> str:
    """Return what is charged, rounded up."""
    return f"epsilon {show_upper(charge.epsilon)}, delta {show_upper(charge.delta)}"


def _need(extra: str) -> None:
    from importlib.util import find_spec

    if find_spec(extra) is None:
        raise Refused(
            "extra_missing",
            f"{extra} is not installed",
            f"install it (it is the extra sanql[{extra}]), or use to_arrow()",
        )


def _csv_line(cells: Sequence[object]) -> str:
    """Return one line; a text with anything in it that may part cells is quoted."""
    return ",".join(map(_csv_cell, cells)) + "\n"


def _csv_cell(cell: object) -> str:
    if cell is None:
        return ""
    if not isinstance(cell, str):
        return str(cell)  # a number stays one, below zero too
    text = csv_text(cell)
    if any(sign in text for sign in CSV_QUOTED) or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def _as_intervals(lows: Reals, highs: Reals) -> list[Interval]:
    """Return interval ends as pairs; an unbounded end is None."""
    pairs = list(zip(lows.tolist(), highs.tolist(), strict=True))
    if np.isfinite(lows).all() and np.isfinite(highs).all():
        return pairs
    return [(finite(low), finite(high)) for low, high in pairs]


def finite(value: float | None) -> float | None:
    """Return a number, or None where it is unbounded or undefined."""
    return None if value is None or not math.isfinite(value) else value


def _type_name(arrow: str) -> str:
    if arrow.startswith("timestamp"):
        return "timestamp"
    if arrow.startswith("date"):
        return "date"
    return TYPE_NAMES.get(arrow, arrow)


def _plain(value: object) -> object:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        return finite(value)
    return value


def _cell(value: object, interval: Interval | None) -> str:
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
        return f"{text} ± {_rounded(above, digits, math.ceil)}"
    ends = _rounded(low, digits, math.floor), _rounded(high, digits, math.ceil)
    return f"{text} [{ends[0]}, {ends[1]}]"


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
