"""Pages as text: templates in which everything is escaped, and the headers that keep browsers strict."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.responses import Response

from sanql.errors import Refused, SanqlError
from sanql.numbers import show_lower, show_upper
from sanql.results import parameters_in_words
from sanql.server.http.problems import problem
from sanql.server.telling import remedy_at
from sanql.server.web.places import PLACES, Place
from sanql.server.web.static_files import static_address
from sanql.visible import visible

if TYPE_CHECKING:
    from sanql.server.web.visits import Visit

HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self';"
    " img-src 'self' data: blob:; connect-src 'self'; form-action 'self';"
    " frame-ancestors 'none'; base-uri 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    # a browser tells no other site where it was, and this one where a form came from
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


def page(visit: Visit | None, template: str, status: int = 200, **context: Any) -> Response:
    """Return a page for a visitor, None of one who is not signed in."""
    return Response(text_of(visit, template, **context), status, HEADERS, "text/html")


def text_of(visit: Visit | None, template: str, **context: Any) -> str:
    """Return the text that a template gives, whatever it is a part of."""
    known: dict[str, Any] = {"visit": visit, "places": _places(visit)}
    return _templates().get_template(template).render(known | context)


def problem_page(
    visit: Visit | None, error: SanqlError, *, text: str = ""
) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and content of the page about an error, with a text that was typed."""
    return told(visit, "problem.html", error, text=text)


def told(
    visit: Visit | None, template: str, error: SanqlError, **context: Any
) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and content of a page that tells an error among other things."""
    shown = problem(error) | {"remedy": remedy_at("web", error)}
    if isinstance(error, Refused) and error.nearest:
        shown["remedy_in_words"] = error.remedy_in_words
    content = text_of(visit, template, **context | {"problem": shown})
    headers = HEADERS | {"content-type": "text/html; charset=utf-8"}
    return shown["status"], headers, content.encode()


def _places(visit: Visit | None) -> list[Place]:
    """Return the places that a visitor's role may go to."""
    return [each for each in PLACES if visit is not None and visit.person.role in each.roles]


@cache
def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("sanql.server.web"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals["static"] = static_address
    templates.filters |= {"visible": visible, "upper_bound": _upper, "lower_bound": _lower}
    templates.filters["parameters"] = parameters_in_words
    return templates


def _upper(number: Fraction | str) -> str:
    """Return a number with few digits, which is no less than it is."""
    return show_upper(Fraction(number))


def _lower(number: Fraction | str) -> str:
    """Return a number with few digits, which is no more than it is."""
    return show_lower(Fraction(number))
