"""A report as one page of HTML that needs nothing else, on a screen and on paper."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from sanql.numbers import show_lower, show_upper
from sanql.pictures import belief_chart
from sanql.report.charts import spending_chart, who_asked
from sanql.report.contents import Report
from sanql.theory.closed_forms import GuaranteedPair
from sanql.theory.meaning import meaning_of

if TYPE_CHECKING:
    import jinja2


def page_of(report: Report) -> str:
    """Return the page of a report."""
    charts = [spending_chart(report.questions, float(report.whole.balance.budget.epsilon))]
    told = report.whole.so_far
    if told.found < 1:
        pair = GuaranteedPair(told.epsilon, told.delta)
        charts.append(belief_chart(pair, meaning_of(pair, 0.1, failure=told.failure)))
    return _pages().get_template("report.html").render(report=report, charts=charts)


@cache
def _pages() -> jinja2.Environment:
    import jinja2

    pages = jinja2.Environment(
        loader=jinja2.PackageLoader("sanql.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters |= {"percent": _percent, "upper": _upper, "lower": _lower, "who": who_asked}
    return pages


def _percent(share: float) -> str:
    return f"{share * 100:.4g} %"


def _upper(number: Fraction) -> str:
    return str(show_upper(number))


def _lower(number: Fraction) -> str:
    return str(show_lower(number))
