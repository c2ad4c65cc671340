"""`sanql demo`."""

from __future__ import annotations

from pathlib import Path

import click

from sanql.cli.failing import reported


@click.command()
@click.argument("directory", type=click.Path(path_type=Path), default=Path("demo"))
def demo(directory: Path) -> None:
    """Make a small hospital in DIRECTORY and ask it questions, with everything in plain sight."""
    with reported("table"):
        from sanql.cli.tables import console
        from sanql.cli.tour import tour

        tour(directory, console())
