"""`sanql ledger`: the account as it is recorded, listed, verified, exported; typed texts erased."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sanql.cli.account import FORM
from sanql.cli.backups import backup, restore
from sanql.cli.failing import reported
from sanql.cli.opening import POLICY, anywhere, open_there, place_of
from sanql.cli.saying import say, say_json

if TYPE_CHECKING:
    from sanql.results import Erasure
    from sanql.san import San


@click.group()
def ledger() -> None:
    """The durable account of everything that has been answered."""


ledger.add_command(backup)
ledger.add_command(restore)


@ledger.command("list")
@POLICY
@FORM
def list_records(policy: Path, form: str) -> None:
    """List the records in order."""
    with reported(form):
        from sanql.audit.ledger import export
        from sanql.policy import load
        from sanql.sources import check_ledger_exists

        loaded = load(policy)
        check_ledger_exists(loaded)
        lines = list(export(loaded.ledger_place))
        if form == "json":
            say_json([json.loads(line) for line in lines])
        else:
            from sanql.cli.tables import print_records

            print_records([json.loads(line) for line in lines])


@ledger.command("export")
@POLICY
def export_records(policy: Path) -> None:
    """Print the records as JSON lines, for somebody else to recompute."""
    with reported("table"):
        from sanql.audit.ledger import export
        from sanql.policy import load
        from sanql.sources import check_ledger_exists

        loaded = load(policy)
        check_ledger_exists(loaded)
        for line in export(loaded.ledger_place):
            say_json(json.loads(line))


@ledger.command("reset-failures")
@POLICY
def reset_failures(policy: Path) -> None:
    """Record that the owner has looked into failed questions; they count no more."""
    with reported("table"):
        with _owners_san(policy) as san:
            count = san.ledger.failures.reset()
        click.echo(f"{count} failed questions counted; from now on they do not")


@ledger.command("verify")
@POLICY
@FORM
def verify_records(policy: Path, form: str) -> None:
    """Recompute every hash and balance by an independent path; name the first bad record."""
    with reported(form):
        from sanql.audit.ledger import verify_account
        from sanql.cli.tables import print_verification
        from sanql.policy import load

        verification = verify_account(load(policy))
        if form == "json":
            say_json(verification.to_dict())
        else:
            print_verification(verification)


@ledger.command()
@click.argument("numbers", type=click.IntRange(min=1), nargs=-1)
@POLICY
@click.option("--analyst", "-a", help="All that this analyst has typed.")
@click.option("--before", metavar="TIME", help="All that was typed before: 2030-01-31, in UTC.")
@click.option("--yes", is_flag=True, help="Do not ask whether you are sure.")
@anywhere
@FORM
def erase(
    numbers: tuple[int, ...],
    policy: Path,
    analyst: str | None,
    before: str | None,
    yes: bool,
    form: str,
    **where: Any,
) -> None:
    """Erase what was typed with questions, by the NUMBERS of their records, as their owner.

    Text, parameters, options and certificate go for good, from the ledger and not from copies of it.
    Charges and answers stay: the account is as sound as before, and repeats are free.
    """
    place = place_of(where)
    if bool(numbers) == (analyst is not None or before is not None):
        raise click.UsageError("name records by their NUMBERS, or say --analyst, --before or both")
    with reported(form):
        moment = None if before is None else _moment(before)
        if not yes:
            _make_sure(numbers, analyst, moment)
        with _owners_san(policy) if place is None else open_there(place) as san:
            done = san.erase_texts(*numbers, analyst=analyst, before=moment)
        if form == "json":
            say_json(done.to_dict())
        else:
            _say_erased(done)


def _make_sure(numbers: tuple[int, ...], analyst: str | None, before: datetime | None) -> None:
    """Ask whether texts are to be erased for good; without somebody to answer, they are not."""
    named = ", ".join(map(str, numbers[:10])) + (" …" if len(numbers) > 10 else "")
    what = f"with record {named}" if numbers else "so far"
    whose = "" if analyst is None else f" by {analyst}"
    since = "" if before is None else f" before {before:%Y-%m-%d %H:%M} UTC"
    say(f"what was typed {what}{whose}{since} is erased for good", err=True)
    if not click.confirm("erase it?", err=True):
        say("nothing was erased", err=True)
        raise click.exceptions.Exit(1)


def _say_erased(done: Erasure) -> None:
    count = len(done.numbers)
    said = "no text was there to be erased"
    if count:
        said = "the text of 1 question" if count == 1 else f"the texts of {count} questions"
        said += " erased"
    closed = count and not done.recorded
    say(f"{said}; the account is closed, and takes no record of it" if closed else said)
    if done.left:
        say(done.left)
    say("backups of the ledger have what was erased; see to those yourself", err=True)


def _moment(typed: str) -> datetime:
    from sanql.options import read_moment

    return read_moment(typed)


def _owners_san(policy: Path) -> San:
    """Return San for whoever asks nothing, so that any name will do."""
    from sanql.policy import load
    from sanql.san import San

    loaded = load(policy)
    return San(loaded, next(iter(loaded.analysts), "analyst"))
