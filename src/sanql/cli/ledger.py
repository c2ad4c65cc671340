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
from sanql.cli.opening import POLICY, ServerChoice, anywhere, open_there, place_of
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
@click.option("--questions", is_flag=True, help="Only questions, each on a line of a table.")
@click.option("--analyst", "-a", help="Only what this analyst has asked.")
@click.option("--since", metavar="TIME", help="Only what was asked since: 2030-01-31, in UTC.")
@click.option("--last", type=click.IntRange(1, 10_000), help="Only the newest so many questions.")
@click.option("--wide", is_flag=True, help="Show the texts of questions whole.")
@anywhere
@FORM
def list_ledger(
    policy: Path,
    questions: bool,
    analyst: str | None,
    since: str | None,
    last: int | None,
    wide: bool,
    form: str,
    **where: Any,
) -> None:
    """List the records in order, with what was asked; from a server, for its owners and officers."""
    place = place_of(where)
    with reported(form):
        moment = None if since is None else _moment(since)
        chosen: dict[str, Any] = {"questions": questions, "analyst": analyst, "last": last}
        chosen["since"] = moment
        records = _listed_here(policy, chosen) if place is None else _listed_there(place, chosen)
        if form == "json":
            say_json(records)
            return
        from sanql.cli.asked_tables import question_rows
        from sanql.cli.tables import print_records, print_rows

        if not any(chosen.values()):
            print_records(records, wide=wide)
        elif records:
            print_rows(question_rows(records, wide=wide))
        else:
            say("no such question")


def _listed_here(policy: Path, chosen: dict[str, Any]) -> list[dict[str, Any]]:
    from sanql.audit.ledger import RecordChoice, list_records
    from sanql.policy import load
    from sanql.sources import check_ledger_exists

    loaded = load(policy)
    check_ledger_exists(loaded)
    return list_records(loaded.ledger_place, RecordChoice(**chosen))


def _listed_there(place: ServerChoice, chosen: dict[str, Any]) -> list[dict[str, Any]]:
    with open_there(place) as san:
        return san.ledger_records(**chosen)


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
@anywhere
@FORM
def verify_records(policy: Path, form: str, **where: Any) -> None:
    """Recompute every hash and balance by an independent path; name the first bad record."""
    place = place_of(where)
    with reported(form):
        from sanql.cli.tables import print_verification

        found = _verified_here(policy) if place is None else _verified_there(place)
        if form == "json":
            say_json(found)
        else:
            print_verification(found)


def _verified_here(policy: Path) -> dict[str, Any]:
    from sanql.audit.ledger import verify_account
    from sanql.policy import load

    return verify_account(load(policy)).to_dict()


def _verified_there(place: ServerChoice) -> dict[str, Any]:
    with open_there(place) as san:
        return san.verify_ledger()


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
    say(f"what was typed {what}{whose}{since} will be erased for good", err=True)
    try:
        sure = click.confirm("erase it?", err=True)
    except click.Abort as abort:
        if isinstance(abort.__context__, EOFError):
            raise click.UsageError("nobody answers here; nothing was erased: say --yes") from None
        raise
    if not sure:
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
