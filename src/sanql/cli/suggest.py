"""`sanql suggest`."""

from __future__ import annotations

from pathlib import Path

import click

from sanql.cli.failing import reported
from sanql.cli.saying import say


@click.command()
@click.option(
    "--policy",
    "-p",
    type=click.Path(path_type=Path),
    default=Path("policy.toml"),
    show_default=True,
    help="The owner's policy.",
)
@click.option("--analyst", "-a", help="Whose account pays.")
@click.option("--table", "-t", required=True, help="The table that needs limits.")
@click.option("--by", help="A column questions are grouped by, for a limit on groups.")
@click.option("--epsilon", "-e", required=True, help="What finding out may cost.")
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
    epsilon: str,
    typical_epsilon: str | None,
    form: str,
) -> None:
    """Suggest contribution limits for a table, from a private count of how many rows units have."""
    with reported(form):
        from sanql.san import open_policy

        with open_policy(policy, analyst, progress=lambda message: say(message, err=True)) as san:
            suggestion = san.suggest_limits(
                table, epsilon=epsilon, by=by, typical_epsilon=typical_epsilon
            )
        say(suggestion.to_json() if form == "json" else str(suggestion))
