"""`sanql serve`: San as the party that stands between the data and those who ask."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sanql.cli.failing import reported
from sanql.cli.saying import say


@click.command()
@click.argument("policies", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--http",
    "address",
    default="127.0.0.1:8080",
    show_default=True,
    metavar="HOST:PORT",
    help="Where to listen; port 0 takes a free one.",
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
def serve(
    policies: tuple[Path, ...],
    address: str,
    tls: tuple[Path, Path] | None,
    settings: Path | None,
    only_check: bool,
) -> None:
    """Serve the datasets of policies over HTTP until SIGTERM; SIGHUP reads the policies again."""
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
        chosen = ServerSettings(host, port, certificate, key)
        if settings is not None:
            chosen = read_settings(settings, chosen)
        loaded = [load(path) for path in policies]
        check_permissions(loaded, *([key] if key is not None else []))
        if only_check:
            say("only the account that San runs as can reach data, copies, ledger and keys")
            return
        server = RunningServer(
            policies, chosen, version=__version__, progress=lambda said: say(said, err=True)
        )
        names = ", ".join(policy.name for policy in loaded)
        say(f"San serves {names} at {server.url}", err=True)
        server.run()
        server.check()


def _check_installed() -> None:
    from importlib.util import find_spec

    from sanql.errors import ServerError

    missing = [name for name in ("uvicorn", "starlette", "httptools") if find_spec(name) is None]
    if missing:
        raise ServerError(
            "extra_missing",
            f"serving needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not"
            f" installed for {sys.executable}",
            "install the extra sanql[server]",
        )
