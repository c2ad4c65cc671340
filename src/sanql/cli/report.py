"""`sanql report`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from sanql.cli.failing import reported
from sanql.cli.opening import POLICY
from sanql.cli.saying import say
from sanql.visible import json_text

_ENDINGS = (".html", ".json")


@click.command()
@POLICY
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("report.html"),
    show_default=True,
    help="Write here: a page (.html), or the same as data (.json).",
)
def report(policy: Path, output: Path) -> None:
    """Write what was promised, asked and spent, and what it means, as one page to hand over.

    The account is verified first; one that is not sound has no report. Nothing is asked or spent. A new
    file is open to its owner alone, as the ledger is: it holds what everybody asked.
    """
    if output.suffix not in _ENDINGS:
        raise click.UsageError(f"{output} is neither .html nor .json: name one of them")
    with reported("table"):
        from sanql.policy import load
        from sanql.report import gather, page_of

        gathered = gather(load(policy))
        text = (
            page_of(gathered)
            if output.suffix == ".html"
            else json_text(gathered.to_dict(), indent=2)
        )
        with open(output, "w", encoding="utf-8", opener=_for_its_owner) as page:
            page.write(text)
        say(
            f"wrote {output}: {len(gathered.questions):,} questions of {len(gathered.accounts)} accounts"
        )


def _for_its_owner(path: str, flags: int) -> int:
    """Open a file, which nobody else may read if it is new."""
    return os.open(path, flags, 0o600)
