"""`sanql history`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sanql.cli.ask import write_answer
from sanql.cli.asked_tables import one_line
from sanql.cli.failing import reported
from sanql.cli.opening import POLICY, anywhere, open_here, open_there, place_of
from sanql.cli.saying import say, say_json

if TYPE_CHECKING:
    from sanql.results import HistoryEntry


@click.command()
@POLICY
@click.option("--analyst", "-a", help="Whose history.")
@anywhere
@click.option("--after", type=click.IntRange(min=0), default=0, help="List what comes after it.")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table")
@click.argument("number", type=click.IntRange(min=1), required=False)
def history(
    policy: Path,
    analyst: str | None,
    after: int,
    limit: int,
    form: str,
    number: int | None,
    **where: Any,
) -> None:
    """List what you have asked and paid for, or show the answer to NUMBER of it again, for free."""
    place = place_of(where, analyst)
    if form == "csv" and number is None:
        raise click.UsageError("csv is a form of answers: name the NUMBER of one")
    with reported(form):
        with open_here(policy, analyst) if place is None else open_there(place) as san:
            if number is not None:
                write_answer(san.read_again(number), form)
                return
            entries = san.history(after=after, limit=limit)
        if form == "json":
            say_json({"questions": [entry.to_dict() for entry in entries]})
        else:
            print_history(entries)


def print_history(entries: Sequence[HistoryEntry]) -> None:
    """Print what was asked, a line each."""
    from sanql.cli.tables import print_rows
    from sanql.numbers import show_upper

    rows = [
        {
            "number": entry.number,
            "time (UTC)": entry.time.strftime("%Y-%m-%d %H:%M:%S"),
            "price": f"epsilon {show_upper(entry.price.epsilon)}, delta {show_upper(entry.price.delta)}",
            "version": entry.version,
            "outcome": entry.outcome,
            "question": _question(entry),
        }
        for entry in entries
    ]
    if rows:
        print_rows(rows)
    else:
        say("nothing has been asked and paid for")


def _question(entry: HistoryEntry) -> str:
    """Return a question on one line; what was erased, or paid for something else, is said as such."""
    if entry.purpose:
        return f"({entry.purpose})"
    if entry.sql is None:
        return "(text erased)"
    return one_line(entry.sql)
