"""The options that commands of `sanql certify` share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

FORMAT = click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True
)
LEVELS = (
    click.option("--epsilon", "-e", help="The epsilon at which delta is wanted."),
    click.option("--delta", "-d", help="The delta at which epsilon is wanted."),
)
RECORDS = (
    click.option(
        "--records",
        type=int,
        help="Records besides the protected one: one fewer than the table has rows.",
    ),
    click.option(
        "--known", type=int, default=0, show_default=True, help="How many of them are known."
    ),
    click.option(
        "--smallest-records",
        is_flag=True,
        help="Answer the least --records that pass at --epsilon and --delta.",
    ),
    click.option(
        "--largest-known",
        is_flag=True,
        help="Answer the largest --known that passes at --epsilon and --delta.",
    ),
)
UNIFORM = (
    click.option(
        "--eta", help="Least density of every unknown record, bounds scaled to [-1, 1]; up to 0.5."
    ),
    click.option("--lower", help="Lower bound of the column."),
    click.option("--upper", help="Upper bound of the column."),
    click.option("--mass", help="Least probability of every lattice value (whole numbers)."),
    click.option("--first", help="First value with that mass; the lower bound unless given."),
    click.option("--last", help="Last value with that mass; the upper bound unless given."),
    click.option("--step", default="1", show_default=True, help="Distance of lattice values."),
    click.option("--alpha", help="Probability of the uniform part of a real column."),
    click.option("--width", help="Width of the uniform part of a real column."),
    click.option(
        "--noiseless", is_flag=True, help="Noiseless privacy (Definition 6) instead of DDP."
    ),
)
PLOT = click.option(
    "--plot",
    type=click.Path(path_type=Path),
    help="Also draw a picture (PNG or SVG; needs matplotlib).",
)


def options_of(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return a decorator that gives a command these options, in this order in its help."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate
