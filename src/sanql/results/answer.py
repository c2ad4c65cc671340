"""The answer to a question: rows with intervals, what they cost, what remains, and the guarantee."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sanql.computed_once import computed_once
from sanql.results.balance import (
    Balance,
    after_everything,
    balances_from_dicts,
    remaining_in_words,
    remaining_to_dict,
)
from sanql.results.cells import OF_NOISE, cell_text, csv_line, plain
from sanql.results.certificate import Certificate
from sanql.results.chart import chart_of
from sanql.results.content import Content, Interval, ReceivedContent, with_interval_columns
from sanql.results.drawing import draw, write_figure
from sanql.results.needed import need
from sanql.results.price import (
    LEAST_PRICE,
    Price,
    ReceivedPrice,
    is_free,
    price_exactly,
    price_in_words,
    price_to_dict,
)
from sanql.results.text_bars import text_bars
from sanql.results.vega_lite import vega_lite
from sanql.visible import json_text, visible

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from matplotlib.figure import Figure

    from sanql.results.content import Ends

NO_ROWS = "no rows: a key appears only where enough units share it, and explain says how many"


@dataclass(frozen=True, repr=False)
class Answer:
    """Private statistics, ready to use.

    `ends` holds, for each column that has noise, the low and high ends of its rows' intervals;
    `intervals` is the same as pairs, where an end that is unbounded is None. `noise` holds the
    standard deviation of the noise in columns that are an aggregate by themselves (of a row of other
    groups the certificate says it). `without_interval` names columns that have noise and no interval.
    `version` is that of the data the answer is about; `raised` is whether an accuracy was asked for
    that costs the least a question may. `batch` is how many questions the charge is for, where they were
    asked together, and `read_from` the number, in the analyst's history, of a batch that was asked before
    and whose numbers these are. `nothing_told` are lines on numbers that tell nothing.
    """

    content: Content
    confidence: Fraction
    noise: dict[str, float]
    charge: Price
    remaining: tuple[Balance, ...]
    certificate: Certificate
    cached: bool
    without_interval: tuple[str, ...] = ()
    version: int | None = None
    raised: bool = False
    batch: int = 1
    read_from: int | None = None
    nothing_told: tuple[str, ...] = ()

    @property
    def table(self) -> pyarrow.Table:
        """The rows as an Arrow table."""
        return self.content.table

    @property
    def ends(self) -> Ends:
        """The ends of intervals as arrays."""
        return self.content.ends

    @computed_once
    def intervals(self) -> dict[str, list[Interval]]:
        """The intervals as pairs of plain numbers, made when first looked at."""
        return self.content.intervals

    def meaning_at(self, prior: float) -> list[str]:
        """Return what somebody of this belief may come to believe: from this answer, then from all."""
        told = [self.certificate.meaning_at(prior)]
        told += [after_everything(balance, prior) for balance in self.remaining]
        return [visible(line) for line in told]

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.content.columns]

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The rows, as tuples."""
        return self.content.rows

    @property
    def value(self) -> Any:
        """The only value, of an answer that has one."""
        rows = self.rows
        if len(rows) != 1 or len(rows[0]) != 1:
            raise ValueError(f"the answer has {len(rows)} rows and {len(self.columns)} columns")
        return rows[0][0]

    def to_arrow(self, *, intervals: bool = True) -> pyarrow.Table:
        """Return the rows as an Arrow table; behind each column that has intervals, their ends.

        They are called n_low and n_high, as in CSV; an end that is unbounded is missing.
        """
        return with_interval_columns(self.table, self.intervals) if intervals else self.table

    def to_pandas(self, *, intervals: bool = True) -> pandas.DataFrame:
        """Return the rows, and the ends of intervals, as a pandas frame (extra `sanql[pandas]`)."""
        need("pandas")
        return self.to_arrow(intervals=intervals).to_pandas()

    def to_polars(self, *, intervals: bool = True) -> polars.DataFrame:
        """Return the rows, and the ends of intervals, as a polars frame (extra `sanql[polars]`)."""
        from_arrow = need("polars").from_arrow
        frame: polars.DataFrame = from_arrow(self.to_arrow(intervals=intervals))
        return frame

    def to_vega_lite(self) -> dict[str, Any]:
        """Return a picture of the answer as a Vega-Lite specification, with its intervals."""
        return vega_lite(chart_of(self))

    def to_text_bars(self) -> str:
        """Return a picture of the answer in letters: bars with their intervals along them."""
        return text_bars(chart_of(self))

    def plot(self, path: str | Path | None = None) -> Figure:
        """Return a picture of the answer as a matplotlib figure (extra `sanql[plots]`).

        Bars, or lines where a key is a date or a number, with their intervals, and a panel for each
        value of a second key. With a `path` it is also written there, in the form its ending names.
        """
        figure = draw(chart_of(self))
        if path is not None:
            write_figure(figure, Path(path))
        return figure

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data: the JSON form of an answer, from which it can be rebuilt.

        Exact decimals, and whole numbers beyond 64 bits, travel as text.
        """
        return {
            "columns": [{"name": c.name, "type": c.type} for c in self.content.columns],
            "rows": [[_in_json(value) for value in row] for row in self.rows],
            "intervals": {
                name: [list(interval) for interval in column]
                for name, column in self.intervals.items()
            },
            "confidence": float(self.confidence),
            "noise": self.noise,
            "charge": price_to_dict(self.charge, cached=self.cached),
            "remaining": remaining_to_dict(self.remaining),
            "certificate": self.certificate.to_dict(),
            "cached": self.cached,
            "version": self.version,
            "without_interval": list(self.without_interval),
            "raised": self.raised,
            "price": price_exactly(self.charge),
            "balances": [balance.to_dict() for balance in self.remaining],
            "footer": self.footer(),
            **({"batch": self.batch} if self.batch > 1 else {}),
            **({} if self.read_from is None else {"read_from": self.read_from}),
            **({"nothing_told": list(self.nothing_told)} if self.nothing_told else {}),
        }

    @classmethod
    def from_dict(cls, shape: Mapping[str, Any]) -> Answer:
        """Return the answer that `to_dict` wrote."""
        return cls(
            content=ReceivedContent.from_dict(shape),
            confidence=Fraction(repr(float(shape["confidence"]))),
            noise=dict(shape["noise"]),
            charge=ReceivedPrice.from_dict(shape["price"]),
            remaining=balances_from_dicts(shape["balances"]),
            certificate=cls._certificate_from_dict(shape["certificate"]),
            cached=bool(shape["cached"]),
            without_interval=tuple(shape["without_interval"]),
            version=shape["version"],
            raised=bool(shape["raised"]),
            batch=int(shape.get("batch", 1)),
            read_from=shape.get("read_from"),
            nothing_told=tuple(shape.get("nothing_told", ())),
        )

    @classmethod
    def _certificate_from_dict(cls, shape: Mapping[str, Any]) -> Any:
        return Certificate.from_dict(shape)

    def to_json(self) -> str:
        """Return the JSON form."""
        return json_text(self.to_dict(), allow_nan=False)

    def to_csv(self) -> str:
        """Return the rows as CSV, with columns for interval ends; cells cannot become formulas."""
        return "".join(self._csv_lines())

    def _csv_lines(self) -> Iterator[str]:
        header: list[str] = []
        for name in self.columns:
            header += [name, f"{name}_low", f"{name}_high"] if name in self.intervals else [name]
        yield csv_line(header)
        for number, row in enumerate(self.rows):
            cells: list[object] = []
            for name, value in zip(self.columns, row, strict=True):
                cells.append(plain(value))
                if name in self.intervals:
                    cells += list(self.intervals[name][number])
            yield csv_line(cells)

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
        of_noise = OF_NOISE if noisy and self.certificate.limits_may_cut else ""
        statistics = {*self.intervals, *self.without_interval}
        for number, row in enumerate(self.rows):
            shown.append(
                [
                    cell_text(value, noisy[name][number] if name in noisy else None, of_noise)
                    if name in statistics or not isinstance(value, int)
                    else str(value)  # a key: a year or a code has no commas
                    for name, value in zip(self.columns, row, strict=True)
                ]
            )
        return shown

    @property
    def free(self) -> bool:
        """Whether nothing in the answer depends on any unit, so that it is exact and has no price."""
        return is_free(self.charge)

    def footer(self) -> list[str]:
        """Return what stands under the rows: what they do not show, and the summary."""
        bare = "" if self.free else ", ".join(map(visible, self.without_interval))
        unsaid = [f"no interval for {bare}"] if bare else []
        if self.certificate.selects_keys and not self.rows:
            unsaid.append(NO_ROWS)
        unsaid += self.nothing_told
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
        if self.read_from is not None:
            price = f"free, as part of batch number {self.read_from} of the analyst's history"
        elif self.batch > 1 and not self.cached:
            price += f" for the batch of {self.batch} questions"
        return "; ".join(
            [
                f"{float(self.confidence):.4g} intervals{self.certificate.of_noise}",
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


def _in_json(value: object) -> object:
    return str(value) if isinstance(value, Decimal) else plain(value)
