"""`sanql account`: whose the data are, and the deliberate changes of an account."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sanql.cli.account import FORM
from sanql.cli.backups import loss_in_words
from sanql.cli.failing import reported
from sanql.cli.opening import POLICY
from sanql.cli.saying import say, say_json
from sanql.visible import visible

if TYPE_CHECKING:
    from sanql.policy import Policy
    from sanql.sources import AccountStatus


@click.group()
def account() -> None:
    """The account that the data belong to: look at it, move it, merge it, close it."""


@account.command()
@POLICY
@FORM
def show(policy: Path, form: str) -> None:
    """Show which account has claimed the data, where it is kept and what became of it."""
    with reported(form):
        from sanql.policy import load
        from sanql.sources import show_account

        standing = show_account(load(policy))
        click.echo(json.dumps(_to_dict(standing)) if form == "json" else _in_words(standing))


@account.command()
@POLICY
@click.option("--head-lost", is_flag=True, help="The second head, where it was until now, is lost.")
def move(policy: Path, head_lost: bool) -> None:
    """Record that the account goes on in the policy's ledger, which was moved or restored there."""
    with reported("table"):
        from sanql.account import account_terms
        from sanql.policy import load
        from sanql.sources import move_account

        loaded = load(policy)
        stamped = move_account(loaded, account_terms(loaded), head_lost=head_lost)
        click.echo(f"the account goes on in {loaded.ledger_place}")
        if not stamped:
            stamps = loaded.ledger.with_suffix(".stamps")
            click.echo(
                f"{stamps} is missing, and without it nobody can tell whether the data are the same: put"
                " it there, or say `sanql refresh`"
            )


@account.command()
@click.argument("other")
@POLICY
def merge(other: str, policy: Path) -> None:
    """Close the account kept in the ledger OTHER; all its charges count in the policy's."""
    with reported("table"):
        from sanql.account import account_terms
        from sanql.policy import load, named_place
        from sanql.sources import merge_accounts

        loaded = load(policy)
        try:
            place = named_place(other)
        except ValueError as fault:
            raise click.UsageError(str(fault)) from None
        charges = merge_accounts(loaded, account_terms(loaded), place)
        click.echo(
            f"{charges} charges of {place} count in {loaded.ledger_place} now; {place} is closed"
        )


@account.command()
@POLICY
@FORM
def approve(policy: Path, form: str) -> None:
    """Sign, as an officer, what the policy gives more than the account's record.

    Only where the record asks for it (second_signature = true in the policy). SANQL_TOKEN has the token.
    """
    with reported(form):
        from sanql.account import account_terms
        from sanql.policy import load
        from sanql.sources import approve_limits

        loaded = load(policy)
        officer = _officer(loaded)
        given = approve_limits(loaded, account_terms(loaded), officer)
        if form == "json":
            say_json({"dataset": loaded.name, "officer": officer, "signed": given})
            return
        say(f"{officer} signs for {loaded.name}:")
        for line in given:
            say(f"  {line}")


def _officer(policy: Policy) -> str:
    """Return the name of the officer whose token was given; anybody else is refused."""
    from sanql.account import People, is_there, open_store
    from sanql.errors import AccessDenied

    token = os.environ.get("SANQL_TOKEN") or click.prompt("token", hide_input=True, err=True)
    person = None
    if is_there(policy.ledger_place):
        with closing(People(open_store(policy))) as people:
            person = people.verify(token)
    if person is None or person.role != "officer":
        raise AccessDenied(
            "role_needed",
            "only an officer of this dataset signs, by a token that is good",
            "`sanql user add NAME --role officer` makes one, and prints the token",
        )
    return person.name


@account.command()
@click.argument("old", metavar="TABLE[.COLUMN]")
@click.argument("new")
@POLICY
@click.option("--because", required=True, help="Why, in your words; it is recorded.")
@FORM
def rename(old: str, new: str, policy: Path, because: str, form: str) -> None:
    """Record your word that a table, or a column of one, is called NEW now and is the same thing.

    What was spent stays spent, and the policy goes on with the new name. The old one stays on record.
    """
    with reported(form):
        from sanql.account import Rename
        from sanql.policy import load
        from sanql.sources import rename_on_record

        loaded = load(policy)
        table, _, column = old.partition(".")
        renamed = Rename(table, column or None, new)
        left = rename_on_record(loaded, renamed, because)
        if form == "json":
            say_json({"dataset": loaded.name, "renamed": renamed.to_dict(), "otherwise": left})
            return
        say(f"{loaded.name}: {renamed.in_words} now")
        for line in left:
            say(f"  the policy cannot go on yet: {line}")


@account.command()
@POLICY
@click.option("--because", required=True, help="Why, in your words; it is recorded.")
@click.option(
    "--release",
    type=click.Choice(["other-data", "other-terms"]),
    help="Let the data have another account: they are other data now, or the same on other terms.",
)
@click.option(
    "--lost", is_flag=True, help="The ledger is gone, or put back, for good; let go of its data."
)
def retire(policy: Path, because: str, release: str | None, lost: bool) -> None:
    """Close the account forever. Its data stay its own, unless you release them.

    With second_signature = true on record, an officer releases them, by the token in SANQL_TOKEN.
    """
    with reported("table"):
        from sanql.account import account_terms
        from sanql.errors import LedgerError
        from sanql.policy import load
        from sanql.sources import retire_account, retire_lost, statement_of

        loaded = load(policy)
        if lost:
            for path in retire_lost(loaded, because):
                click.echo(f"set aside {path}")
            click.echo(
                "the data are released; what the lost account promised adds up with the next"
            )
            return
        statement = statement_of(release)
        terms = account_terms(loaded)
        try:
            retire_account(loaded, terms, statement, because)
        except LedgerError as fault:
            if fault.code != "release_unsigned" or not os.environ.get("SANQL_TOKEN"):
                raise
            retire_account(loaded, terms, statement, because, _officer(loaded))
        click.echo(f"the account kept in {loaded.ledger_place} is closed ({statement})")


def _in_words(standing: AccountStatus) -> str:
    state = standing.state
    missing = " (missing)" if standing.missing else ""
    lines = [f"ledger    {standing.ledger}{missing}"]
    if standing.fault is not None:
        fault = standing.fault
        lines += [f"fault     {fault.message} [{fault.code}]", f"remedy    {fault.remedy}"]
    if standing.scratch:
        lines.append("account   none: a scratch account claims no data and answers nothing")
    elif state is not None:
        lines.append(
            f"account   {state.account or 'none yet: it claims its data with a first charge'}"
        )
        lines += [f"source    {source}" for source in sorted(state.sources)]
        lines += [f"head      also pinned at {state.head}"] if state.head is not None else []
        lines += [
            f"merged    {other}, closed at its record {n}" for other, n in state.merged.items()
        ]
        lines += [f"missing   {visible(loss_in_words(loss))}" for loss in state.losses]
        into = f" into {state.into}" if state.into is not None else ""
        if state.retired is not None:
            lines.append(f"closed    {state.retired}{into}, because: {visible(standing.reason)}")
    for claim in dict.fromkeys((c.account, c.ledger, c.path, c.released) for c in standing.claims):
        name, ledger, path, released = claim
        what = f"released ({released}) by" if released else "claimed by"
        lines.append(f"claim     {path} is {what} {name}, kept in {ledger}")
    return "\n".join(lines)


def _to_dict(standing: AccountStatus) -> dict[str, object]:
    state = standing.state
    return {
        "ledger": str(standing.ledger),
        "scratch": standing.scratch,
        "account": None if state is None else state.account,
        "sources": [] if state is None else sorted(state.sources),
        "head": None if state is None else state.head,
        "merged": [] if state is None else sorted(state.merged),
        "missing": [] if state is None else [loss.to_dict() for loss in state.losses],
        "closed": None if state is None else state.retired,
        "reason": standing.reason or None,
        "fault": None if standing.fault is None else standing.fault.to_dict()["error"],
        "claims": [
            {
                "account": claim.account,
                "ledger": str(claim.ledger),
                "source": str(claim.path),
                "released": claim.released or None,
            }
            for claim in dict.fromkeys(standing.claims)
        ],
    }
