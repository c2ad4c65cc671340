"""What commands say: text that is safe to see, and JSON that reads back as it was."""

from __future__ import annotations

import click

from sanql.visible import json_text, visible


def say(text: str, *, err: bool = False) -> None:
    """Print text of one line or several; what would steer the terminal is shown as an escape."""
    click.echo(visible(text, lines=True), err=err)


def say_json(shape: object, *, indent: int | None = None) -> None:
    """Print plain data as JSON, on one line unless it is indented."""
    click.echo(json_text(shape, indent=indent))
