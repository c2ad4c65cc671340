"""What the commands of `sanql theory` share: the output form, and how errors are told."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from sanql.cli.saying import say, say_json
from sanql.theory.errors import TheoryError

FORMAT = click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", help="Output form."
)


def reports_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Turn a TheoryError into exit code 2 and one JSON object or one message."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except TheoryError as error:
            if kwargs.get("form") == "json":
                say_json(error.to_dict())
            else:
                say(f"error: {error}", err=True)
            raise SystemExit(2) from None

    return run
