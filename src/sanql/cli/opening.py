"""Whom a command asks: San on the data of a policy here, or San on a server."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from sanql.cli.saying import say
from sanql.errors import ServerError
from sanql.kernel import start_ahead

if TYPE_CHECKING:
    from sanql.client import RemoteSan
    from sanql.san import San

F = TypeVar("F", bound=Callable[..., Any])

POLICY = click.option(
    "--policy",
    "-p",
    type=click.Path(path_type=Path),
    default=Path("policy.toml"),
    show_default=True,
    help="The owner's policy.",
)
_SERVER = (
    click.option(
        "--server",
        envvar="SANQL_SERVER",
        show_envvar=True,
        metavar="URL",
        help="Ask this server instead, unless a policy is named.",
    ),
    click.option(
        "--token-file",
        type=click.Path(path_type=Path),
        help="The file with the token for it; else SANQL_TOKEN has it.",
    ),
    click.option("--dataset", help="Of the server's, where the token is good for several."),
)


@dataclass(frozen=True)
class ServerChoice:
    """The server to be asked, as typed."""

    server: str
    token_file: Path | None
    dataset: str | None


def anywhere(command: F) -> F:
    """Give a command the options that say where San is; it takes them as `place`, None for here."""
    for option in reversed(_SERVER):
        command = option(command)
    return command


def place_of(given: dict[str, Any], analyst: str | None = None) -> ServerChoice | None:
    """Take out of what was given where San is: on a server, or None for the policy's data here."""
    server, token_file, dataset = (given.pop(name) for name in ("server", "token_file", "dataset"))
    typed = {
        name: click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE
        for name in ("policy", "file", "server")
    }
    named = typed["policy"] or typed["file"]
    if named and typed["server"]:
        raise click.UsageError("a policy and --server are two places to ask; name one")
    if named or not server:
        if token_file is not None or dataset is not None:
            raise click.UsageError("--token-file and --dataset go with --server")
        return None
    if analyst is not None:
        raise click.UsageError("a server knows who asks by the token; leave --analyst out")
    return ServerChoice(server, token_file, dataset)


def open_to_measure(policy: Path, analyst: str | None) -> San:
    """Return San as `open_here` does; a process over the rows begins while this one imports."""
    start_ahead()
    return open_here(policy, analyst)


def open_here(policy: Path, analyst: str | None) -> San:
    """Return San on the data of a policy, which says what it prepares."""
    with _all_at_once():
        from sanql.san import open_policy

    return open_policy(policy, analyst, progress=_progress, door="command")


@contextmanager
def _all_at_once() -> Iterator[None]:
    """Import without looking for garbage: what modules make stays, and is not looked at later either."""
    gc.disable()
    try:
        yield
    finally:
        atexit.register(gc.unfreeze)  # or nanobind would say at the end what nobody has let go of
        gc.freeze()
        gc.enable()


def open_there(place: ServerChoice) -> RemoteSan:
    """Return San on a server, which says how far a question has come."""
    from sanql.client import connect_to_server

    token = None if place.token_file is None else _token(place.token_file)
    return connect_to_server(place.server, token=token, dataset=place.dataset, progress=_progress)


def _token(file: Path) -> str:
    try:
        token = file.expanduser().read_text(encoding="utf-8", errors="replace").strip()
        fault = "" if token else "is empty"
    except (OSError, RuntimeError) as error:  # the latter where somebody's home is not known
        fault = f"cannot be read: {getattr(error, 'strerror', None) or error}"
    if fault:
        raise ServerError(
            "token_file_unusable",
            f"{file} {fault}",
            "name the file that has the token in it, as `sanql user add` printed it",
        )
    return token


def _progress(message: str) -> None:
    say(message, err=True)
