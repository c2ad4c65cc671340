"""Where pages lead: their names, their addresses, and for which roles they are."""

from __future__ import annotations

from dataclasses import dataclass

from sanql.account import Role

EVERYBODY: tuple[Role, ...] = ("analyst", "officer", "owner")
OVERSEERS: tuple[Role, ...] = ("officer", "owner")


@dataclass(frozen=True)
class Place:
    """A page that one can go to."""

    name: str
    title: str
    roles: tuple[Role, ...]


PLACES = (
    Place("ask", "Ask", ("analyst",)),
    Place("history", "History", ("analyst",)),
    Place("policy", "Policy", ("owner",)),
    Place("people", "People", ("owner",)),
    Place("ledger", "Ledger", OVERSEERS),
    Place("budgets", "Budgets", EVERYBODY),
    Place("schema", "Schema", EVERYBODY),
    Place("meaning", "Meaning", EVERYBODY),
)


def place_after(wanted: str, role: Role) -> str:
    """Return the address to go to after signing in: a page of the role's, whatever was wanted.

    >>> place_after("history", "analyst"), place_after("people", "analyst")
    ('/history', '/ask')
    """
    own = [place.name for place in PLACES if role in place.roles]
    return f"/{wanted if wanted in own else own[0]}"
