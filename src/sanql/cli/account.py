"""`sanql refresh`, `sanql budget` and `sanql ledger`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from sanql.cli.failing import reported
from sanql.cli.saying import say_json

POLICY = click.option(
    "--policy",
    "-p",
    type=click.Path(path_type=Path),
    default=Path("policy.toml"),
    show_default=True,
    help="The owner's policy.",
)
FORM = click.option("--format", "form", type=click.Choice(["table", "json"]), default="table")


@click.command()
@POLICY
@click.option("--analyst", "-a", help="Only what this analyst is shown: an account of their own.")
@FORM
def budget(policy: Path, analyst: str | None, form: str) -> None:
    """Show every account: its budget, what is spent at most and what is left at least."""
    with reported(form):
        from sanql.policy import load
        from sanql.san import San

        loaded = load(policy)
        asking = analyst or next(iter(loaded.analysts), "analyst")
        with San(loaded, asking) as san:
            balances = san.budget() if analyst is None else list(san.balances())
            others = san.ledger.spent_without_budget() if analyst is None else []
            releases = san.ledger.exact.entries()
        from sanql.cli.exact_tables import print_releases, releases_to_dicts
        from sanql.cli.tables import balances_to_dicts, print_balances

        if form == "json":
            accounts = balances_to_dicts(balances, others)
            say_json({"accounts": accounts, "exact": releases_to_dicts(releases)})
        else:
            print_balances(balances, others=others, renyi=loaded.accounting == "renyi")
            print_releases(releases)
            if loaded.scratch:
                click.echo("a scratch account: charges are rehearsed, nothing is ever answered")


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("-p", "--policy", "named", type=click.Path(path_type=Path), help="The same as FILE.")
@FORM
def refresh(file: Path | None, named: Path | None, form: str) -> None:
    """Open the next version of the data of a policy (policy.toml), whether or not they changed.

    From then on questions are about the source as it is now; what is asked again is charged again.
    """
    if file is not None and named is not None:
        raise click.UsageError(f"{file} and {named} are two policies; name one")
    with reported(form):
        from sanql.policy import load
        from sanql.san import San

        loaded = load(file or named or Path("policy.toml"))
        # whoever refreshes asks nothing, so any name will do
        with San(loaded, next(iter(loaded.analysts), "analyst")) as san:
            opened = san.refresh()
        if form == "json":
            click.echo(json.dumps({"dataset": loaded.name, "version": opened.number}))
        else:
            click.echo(f"{loaded.name}: version {opened.number} of the data is open")


@click.group()
def ledger() -> None:
    """The durable account of everything that has been answered."""


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
        lines = list(export(loaded.ledger))
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
        for line in export(loaded.ledger):
            say_json(json.loads(line))


@ledger.command("reset-failures")
@POLICY
def reset_failures(policy: Path) -> None:
    """Record that the owner has looked into failed questions; they count no more."""
    with reported("table"):
        from sanql.policy import load
        from sanql.san import San

        loaded = load(policy)
        with San(loaded, next(iter(loaded.analysts), "analyst")) as san:
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
