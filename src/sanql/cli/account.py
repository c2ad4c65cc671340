"""`sanql refresh` and `sanql budget`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sanql.cli.backups import loss_in_words
from sanql.cli.failing import reported
from sanql.cli.opening import POLICY, ServerChoice, anywhere, open_there, place_of
from sanql.cli.saying import say, say_json

_PRIOR = 0.1  # of the belief whose change is told beside the accounts
FORM = click.option("--format", "form", type=click.Choice(["table", "json"]), default="table")


@click.group(invoke_without_command=True)
@POLICY
@click.option("--analyst", "-a", help="Only what this analyst is shown: an account of their own.")
@anywhere
@FORM
@click.pass_context
def budget(
    context: click.Context, /, policy: Path, analyst: str | None, form: str, **where: Any
) -> None:
    """Show every account: its budget, what is spent at most and what is left at least.

    A server shows the accounts that whoever asks is shown.
    """
    if context.invoked_subcommand is not None:
        context.obj = policy
        return
    place = place_of(where, analyst)
    with reported(form):
        if place is not None:
            _budget_there(place, form)
            return
        from sanql.policy import load
        from sanql.results import after_everything, alerts_of
        from sanql.san import San

        loaded = load(policy)
        asking = analyst or next(iter(loaded.analysts), "analyst")
        with San(loaded, asking) as san:
            balances = san.budget() if analyst is None else list(san.balances())
            others = san.ledger.spent_without_budget() if analyst is None else []
            releases = san.ledger.exact.entries()
            losses = san.ledger.owner.state.losses
        alerts = alerts_of(balances, loaded.alerts_at)
        from sanql.cli.exact_tables import print_releases, releases_to_dicts
        from sanql.cli.tables import balances_to_dicts, print_balances

        if form == "json":
            accounts = balances_to_dicts(balances, others)
            missing = [loss.to_dict() for loss in losses]
            say_json(
                {
                    "accounts": accounts,
                    "exact": releases_to_dicts(releases),
                    "missing": missing,
                    "alerts": alerts,
                }
            )
        else:
            print_balances(balances, others=others, renyi=loaded.accounting == "renyi")
            say(f"What somebody can hold who held something {_PRIOR:.0%} likely of one person:")
            for balance in balances:
                say(f"  {after_everything(balance, _PRIOR)}")
            for alert in alerts:
                say(alert)
            print_releases(releases)
            for loss in losses:
                say(loss_in_words(loss))
            if loaded.scratch:
                click.echo("a scratch account: charges are rehearsed, nothing is ever answered")


@budget.command("open")
@click.argument("period", required=False)
@click.option("-p", "--policy", type=click.Path(path_type=Path), help="The owner's policy.")
@FORM
@click.pass_context
def open_(context: click.Context, period: str | None, policy: Path | None, form: str) -> None:
    """Open the tranche of PERIOD (2026-11, 2026-W47, …), or of the one that it is, on record.

    Each period has one. Of a budget with `per` nothing can be spent before its first is open.
    """
    with reported(form):
        from sanql.account import account_terms
        from sanql.policy import load
        from sanql.sources import open_claimed

        loaded = load(policy or context.obj)
        with open_claimed(loaded, account_terms(loaded)) as ledger:
            opened = ledger.tranches.open(period)
        if form == "json":
            say_json({"dataset": loaded.name, "opened": [vars(each) for each in opened]})
            return
        for each in opened:
            say(
                f"{loaded.name}: the tranche of {each.period} is open, of {', '.join(each.accounts)}"
            )


def _budget_there(place: ServerChoice, form: str) -> None:
    from sanql.cli.tables import balances_to_dicts, print_balances

    with open_there(place) as san:
        balances = san.budget()
    if form == "json":
        say_json({"accounts": balances_to_dicts(balances)})
    else:
        print_balances(balances)


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("-p", "--policy", type=click.Path(path_type=Path), help="The same as FILE.")
@anywhere
@FORM
def refresh(file: Path | None, policy: Path | None, form: str, **where: Any) -> None:
    """Open the next version of the data of a policy (policy.toml), whether or not they changed.

    From then on questions are about the source as it is now; what is asked again is charged again.
    """
    if file is not None and policy is not None:
        raise click.UsageError(f"{file} and {policy} are two policies; name one")
    place = place_of(where)
    with reported(form):
        name, number = (
            _refresh_here(file or policy or Path("policy.toml"))
            if place is None
            else _refresh_there(place)
        )
        if form == "json":
            say_json({"dataset": name, "version": number})
        else:
            say(f"{name}: version {number} of the data is open")


def _refresh_here(policy: Path) -> tuple[str, int]:
    from sanql.policy import load
    from sanql.san import San

    loaded = load(policy)
    # whoever refreshes asks nothing, so any name will do
    with San(loaded, next(iter(loaded.analysts), "analyst")) as san:
        return loaded.name, san.refresh().number


def _refresh_there(place: ServerChoice) -> tuple[str, int]:
    with open_there(place) as san:
        opened = san.refresh()
        return opened.dataset, opened.number
