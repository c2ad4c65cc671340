"""`sanql suggest`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sanql.cli.failing import reported
from sanql.cli.opening import POLICY, anywhere, open_here, open_there, place_of
from sanql.cli.saying import say


@click.command()
@POLICY
@click.option("--analyst", "-a", help="Whose account pays.")
@anywhere
@click.option("--table", "-t", required=True, help="The table that needs limits.")
@click.option("--by", help="A column questions are grouped by, for a limit on groups.")
@click.option("--epsilon", "-e", help="What finding out may cost, where no profile tells.")
@click.option(
    "--typical-epsilon",
    help="Of the questions the limits are for; 0.1 if not given.",
)
@click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True
)
def suggest(
    policy: Path,
    analyst: str | None,
    table: str,
    by: str | None,
    epsilon: str | None,
    typical_epsilon: str | None,
    form: str,
    **where: Any,
) -> None:
    """Suggest contribution limits for a table, from a private count of how many rows units have."""
    place = place_of(where, analyst)
    with reported(form):
        with open_here(policy, analyst) if place is None else open_there(place) as san:
            suggestion = san.suggest_limits(
                table, epsilon=epsilon, by=by, typical_epsilon=typical_epsilon
            )
        say(suggestion.to_json() if form == "json" else str(suggestion))
