"""`sanql continual`: counts that are released period by period, at one price."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sanql.cli.failing import reported
from sanql.cli.opening import POLICY, open_here
from sanql.cli.saying import say, say_json

if TYPE_CHECKING:
    from sanql.continual import ContinualCounts
    from sanql.san import San

FORM = click.option("--format", "form", type=click.Choice(["table", "json"]), default="table")


@click.group()
def continual() -> None:
    """Counts of everything so far, one for each period, at one price: release them, show them."""


@continual.command()
@click.argument("name")
@POLICY
@click.option("--until", metavar="PERIOD", help="The last one; else the last that is over.")
@FORM
def release(name: str, policy: Path, until: str | None, form: str) -> None:
    """Release what is missing of the count NAME; the first release is charged with the price of all."""
    with reported(form), _open(policy) as san:
        _print(san.release_continual(name, until), form)


@continual.command()
@click.argument("name")
@POLICY
@click.option("--confidence", type=float, default=0.95, show_default=True)
@FORM
def show(name: str, policy: Path, confidence: float, form: str) -> None:
    """Show what is released of the count NAME; nothing is read or spent."""
    with reported(form), _open(policy) as san:
        _print(san.continual(name, confidence), form)


def _print(counts: ContinualCounts, form: str) -> None:
    if form == "json":
        say_json(counts.to_dict())
        return
    say(
        f"{counts.name}, at {counts.confidence:g}; {counts.remaining} releases are left, already paid"
    )
    width = max((len(each.period) for each in counts.periods), default=6)
    say(f"{'period':{width}}  {'so far':>22}  {'new':>22}")
    for each in counts.periods:
        so_far, new = (
            f"{count:,.0f} ± {within:,.0f}"
            for count, within in ((each.so_far, each.so_far_within), (each.new, each.new_within))
        )
        say(f"{each.period:{width}}  {so_far:>22}  {new:>22}")


def _open(policy: Path) -> San:
    """Return San for the owner, who releases in the dataset's name whoever the analysts are."""
    from sanql.policy import load

    return open_here(policy, next(iter(load(policy).analysts), None))
