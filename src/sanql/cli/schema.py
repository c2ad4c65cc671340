"""`sanql schema`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sanql.cli.account import FORM
from sanql.cli.failing import reported
from sanql.cli.opening import POLICY, ServerChoice, anywhere, open_there, place_of
from sanql.cli.saying import say, say_json

if TYPE_CHECKING:
    from sanql.results import Schema


@click.command()
@POLICY
@anywhere
@FORM
def schema(policy: Path, form: str, **where: Any) -> None:
    """Show what can be asked about: tables, columns, bounds, domains and limits; reads no row."""
    place = place_of(where)
    with reported(form):
        described = _schema_here(policy) if place is None else _schema_there(place)
        if form == "json":
            say_json(described.to_dict())
        else:
            say(str(described))


def _schema_here(policy: Path) -> Schema:
    from sanql.ask import Session, schema_of

    with Session(policy) as session:  # nobody's in particular: nothing is asked
        return schema_of(session)


def _schema_there(server: ServerChoice) -> Schema:
    with open_there(server) as san:
        return san.schema()
