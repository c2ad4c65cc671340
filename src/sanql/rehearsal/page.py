"""A rehearsal as one page of HTML that needs nothing else."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from sanql.rehearsal.charts import errors_chart
from sanql.rehearsal.contents import OUTSIDE, Rehearsal

if TYPE_CHECKING:
    import jinja2


def page_of_rehearsal(rehearsal: Rehearsal) -> str:
    """Return the page of a rehearsal."""
    chart = errors_chart(rehearsal) if rehearsal.tried else None
    page = _pages().get_template("rehearsal.html")
    return page.render(rehearsal=rehearsal, chart=chart, outside=OUTSIDE)


@cache
def _pages() -> jinja2.Environment:
    import jinja2

    pages = jinja2.Environment(
        loader=jinja2.PackageLoader("sanql.rehearsal"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters |= {"percent": percent, "number": number}
    return pages


def percent(share: float | None) -> str:
    """Return a share as people read it.

    >>> [percent(each) for each in (None, 0.0, 1e-7, 0.00042, 0.0312, 0.5, 12.3)]
    ['', '0 %', 'under 0.001 %', '0.042 %', '3.1 %', '50 %', '1,230 %']
    """
    if share is None:
        return ""
    shown = share * 100
    if 0 < shown < 0.001:
        return "under 0.001 %"
    return f"{shown:,.0f} %" if shown >= 10 or not shown else f"{shown:.2g} %"


def number(value: object) -> str:
    """Return a value of a table: long numbers with four digits after the point at most."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "" if value is None else str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}".rstrip("0").rstrip(".")
