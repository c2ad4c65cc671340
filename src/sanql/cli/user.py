"""`sanql user`: the people who may ask a dataset, and their tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sanql.cli.failing import reported
from sanql.cli.saying import say, say_json
from sanql.errors import AccessDenied
from sanql.options import read_lasting

if TYPE_CHECKING:
    from sanql.account import People, Person
    from sanql.policy import Policy

F = TypeVar("F", bound=Callable[..., Any])
LASTING = "90d"


def _of_datasets(command: F) -> F:
    """Give a command the policies whose people it is about."""
    options = [
        click.option(
            "--policy",
            "-p",
            "policies",
            type=click.Path(path_type=Path),
            multiple=True,
            default=[Path("policy.toml")],
            show_default="policy.toml",
            help="The owner's policy; repeat it for several datasets.",
        ),
        click.option(
            "--dataset",
            "datasets",
            multiple=True,
            help="Which of them; all if not given. Repeatable.",
        ),
        click.option("--format", "form", type=click.Choice(["table", "json"]), default="table"),
    ]
    for option in reversed(options):
        command = option(command)
    return command


_EXPIRES = click.option(
    "--expires",
    default=LASTING,
    show_default=True,
    help="How long the token is good for: 12h, 90d, 2 years, or never.",
)


@click.group()
def user() -> None:
    """Add, list, rotate and revoke the people who may ask a dataset."""


@user.command()
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(["analyst", "owner", "officer"]),
    required=True,
    help="Analysts ask; owners see to data and budgets; officers read the account.",
)
@_EXPIRES
@click.option(
    "--identity",
    default="",
    help="Who they are to the sign-on of your organisation; then they have no token.",
)
@_of_datasets
def add(
    name: str,
    role: Any,
    expires: str,
    identity: str,
    policies: tuple[Path, ...],
    datasets: tuple[str, ...],
    form: str,
) -> None:
    """Let somebody ask; their token is printed once and kept nowhere."""
    from sanql.account import check_declared

    with reported(form), _people_of(policies, datasets) as listed:
        for policy, _ in listed:
            check_declared(policy, name, role)
        lasting, token = read_lasting(expires), ""
        for _, people in listed:
            person, token = people.add(name, role, lasting=lasting, identity=identity, token=token)
        _say_token(person, token, [policy.name for policy, _ in listed], form)


@user.command()
@click.argument("name")
@_EXPIRES
@_of_datasets
def rotate(
    name: str, expires: str, policies: tuple[Path, ...], datasets: tuple[str, ...], form: str
) -> None:
    """Give somebody a new token; the one before is worth nothing from now on."""
    with reported(form), _people_of(policies, datasets) as listed:
        lasting, token = read_lasting(expires), ""
        for _, people in listed:
            person, token = people.rotate(name, lasting=lasting, token=token)
        _say_token(person, token, [policy.name for policy, _ in listed], form)


@user.command()
@click.argument("name")
@_of_datasets
def revoke(name: str, policies: tuple[Path, ...], datasets: tuple[str, ...], form: str) -> None:
    """Let somebody ask no more, from now on and on every server of the ledger."""
    with reported(form), _people_of(policies, datasets) as listed:
        for policy, people in listed:
            people.revoke(name)
            if form == "table":
                say(f"{name} may not ask {policy.name} any more")
        if form == "json":
            say_json({"name": name, "revoked": [policy.name for policy, _ in listed]})


@user.command("list")
@_of_datasets
def list_(policies: tuple[Path, ...], datasets: tuple[str, ...], form: str) -> None:
    """List everybody: role, until when, last use; nothing of a token but its name."""
    with reported(form), _people_of(policies, datasets) as listed:
        everybody = [
            {"dataset": policy.name} | _shape(person)
            for policy, people in listed
            for person in people.listed()
        ]
        if form == "json":
            say_json({"people": everybody})
        elif not everybody:
            say("nobody may ask yet: `sanql user add NAME --role analyst` lets somebody")
        else:
            from sanql.cli.tables import print_rows

            print_rows(everybody)


@contextmanager
def _people_of(
    policies: tuple[Path, ...], datasets: tuple[str, ...]
) -> Iterator[list[tuple[Policy, People]]]:
    """Hold the people of each dataset; its account is opened first, and begun where there is none."""
    from sanql.account import People, account_terms, open_store
    from sanql.policy import load
    from sanql.sources import open_claimed

    loaded = [load(path) for path in policies]
    unknown = [name for name in datasets if name not in {policy.name for policy in loaded}]
    if unknown:
        there = ", ".join(policy.name for policy in loaded)
        raise AccessDenied(
            "dataset_unknown",
            f"no policy is of a dataset {unknown[0][:60]!r}; there is: {there}",
            "name one of them, or the policy of the dataset with -p",
        )
    with ExitStack() as held:
        found = []
        for policy in loaded:
            if not datasets or policy.name in datasets:
                held.enter_context(open_claimed(policy, account_terms(policy)))
                people = People(open_store(policy))
                held.callback(people.close)
                found.append((policy, people))
        yield found


def _say_token(person: Person, token: str, datasets: list[str], form: str) -> None:
    if form == "json":
        say_json(_shape(person) | {"token": token, "datasets": datasets})
        return
    until = "" if person.expires is None else f", until {person.expires:%Y-%m-%d %H:%M} UTC"
    say(f"{person.name} may ask {', '.join(datasets)} as {person.role}{until}", err=True)
    if token:
        say("the token, shown this once:", err=True)
        say(token)


def _shape(person: Person) -> dict[str, object]:
    def shown(moment: datetime | None) -> str | None:
        return None if moment is None else f"{moment:%Y-%m-%d %H:%M}"

    return {
        "name": person.name,
        "role": person.role,
        "state": person.state(datetime.now(UTC)),
        "token": person.token,
        "identity": person.identity,
        "added": shown(person.added),
        "expires": shown(person.expires),
        "last_used": shown(person.last_used),
    }
