"""`sanql serve`: San as the party that stands between the data and those who ask."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from sanql.cli.failing import reported
from sanql.cli.opening import anywhere, open_there, place_of
from sanql.cli.saying import say, say_json
from sanql.errors import PolicyError


@click.command()
@click.argument("policies", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--http",
    "address",
    default="127.0.0.1:8080",
    show_default=True,
    metavar="HOST:PORT",
    help="Where to listen; port 0 takes a free one.",
)
@click.option(
    "--wire",
    metavar="HOST:PORT",
    help="Where to listen for tools that speak PostgreSQL, too: psql, drivers, notebooks, BI.",
)
@click.option(
    "--tls",
    nargs=2,
    type=click.Path(path_type=Path),
    metavar="CERTIFICATE KEY",
    help="Needed wherever other machines can reach the address.",
)
@click.option(
    "--settings",
    type=click.Path(path_type=Path),
    help="A TOML file with limits, a trusted proxy, a sign-on, names of the server.",
)
@click.option(
    "--check-permissions",
    "only_check",
    is_flag=True,
    help="Only look whether others can reach data, copies, ledger or keys, and say how to mend it.",
)
@click.option(
    "--demo",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Serve the demo hospital, made in a folder, and print fresh tokens of people who may ask it.",
)
def serve(
    policies: tuple[Path, ...],
    address: str,
    wire: str | None,
    tls: tuple[Path, Path] | None,
    settings: Path | None,
    only_check: bool,
    demo: Path | None,
) -> None:
    """Serve the datasets of policies over HTTP until SIGTERM; SIGHUP reads the policies again."""
    if not policies and demo is None:
        raise click.UsageError("name the policy of a dataset, or --demo FOLDER")
    with reported("table"):
        _check_installed()
        from sanql import __version__
        from sanql.policy import load
        from sanql.server import (
            RunningServer,
            ServerSettings,
            check_permissions,
            parse_address,
            read_settings,
        )

        host, port = parse_address(address)
        certificate, key = tls or (None, None)
        listening = None if wire is None else parse_address(wire)
        chosen = ServerSettings(host, port, certificate, key, wire=listening)
        if settings is not None:
            chosen = read_settings(settings, chosen)
        if demo is not None:
            policies = (*policies, _demo_policy(demo))
        loaded = [load(path) for path in policies]
        check_permissions(loaded, *([key] if key is not None else []), settings=settings)
        if only_check:
            say("only the account that San runs as can reach data, copies, ledger and keys")
            return
        watched = demo is not None or sys.stderr.isatty()  # else it is a log: JSON alone
        progress = partial(say, err=True) if watched else None
        server = RunningServer(policies, chosen, version=__version__, progress=progress)
        names = ", ".join(policy.name for policy in loaded)

        def ready() -> None:
            if watched:
                say(f"San serves {names} at {server.url}; stop it with Ctrl-C", err=True)
            if demo is not None:
                _say_tokens(policies[-1], server.url, server.wire)

        server.run(ready)
        server.check()


@click.command()
@anywhere
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table")
def reload(form: str, **where: Any) -> None:
    """Have a server read its policies again, as its owner; one with a fault changes nothing."""
    with reported(form):
        place = place_of(where)
        if place is None:
            raise click.UsageError("name the server with --server, or in SANQL_SERVER")
        with open_there(place) as san:
            outcomes = san.reload_policies()
        if form == "json":
            say_json({"policies": outcomes})
        else:
            for policy, outcome in outcomes.items():
                say(f"{policy}: {outcome}")
        if any(outcome.startswith("not loaded") for outcome in outcomes.values()):
            sys.exit(PolicyError.exit_code)


def _demo_policy(folder: Path) -> Path:
    """Return the policy of the demo hospital, in a folder that nobody else can look into."""
    from sanql.demo import make_hospital

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return make_hospital(folder)


def _say_tokens(policy: Path, url: str, wire: str) -> None:
    """Print fresh tokens of the demo's people, and how to ask with one."""
    from sanql.account import People, Role, open_store
    from sanql.policy import load

    roles: dict[str, Role] = {
        "ana": "analyst", "bo": "analyst", "olga": "officer", "otto": "owner"
    }  # fmt: skip
    people = People(open_store(load(policy)))
    known = {person.name for person in people.listed()}
    tokens = {}
    for name, role in roles.items():
        give = people.rotate(name) if name in known else people.add(name, role)
        tokens[name] = give[1]
        say(f"  {name:4} {role:8} {give[1]}", err=True)
    people.close()
    say(
        f"open {url}/ in a browser, and sign in with a token; or ask from another terminal:\n"
        f"  export SANQL_SERVER={url} SANQL_TOKEN={tokens['ana']}\n"
        "  sanql query --epsilon 0.1 'SELECT sex, COUNT(*) FROM people GROUP BY sex'\n"
        f'  curl {url}/v1/query -H "Authorization: Bearer $SANQL_TOKEN" -H "Content-Type: '
        'application/json" -d \'{"sql": "SELECT COUNT(*) FROM people", "epsilon": 0.1}\'',
        err=True,
    )
    if wire:
        host, _, port = wire.rpartition(":")
        say(
            f'  PGPASSWORD={tokens["ana"]} psql "host={host} port={port} user=ana dbname=hospital"',
            err=True,
        )


def _check_installed() -> None:
    from importlib.util import find_spec

    from sanql.errors import ServerError

    missing = [
        name for name in ("uvicorn", "starlette", "httptools", "jinja2") if find_spec(name) is None
    ]
    if missing:
        raise ServerError(
            "extra_missing",
            f"serving needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not"
            f" installed for {sys.executable}",
            "install the extra sanql[server]",
        )
