"""`sanql prepare`."""

from __future__ import annotations

from pathlib import Path

import click

from sanql.cli.account import FORM
from sanql.cli.failing import reported
from sanql.cli.saying import say, say_json


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=Path("policy.toml"))
@click.option(
    "--buckets",
    type=click.IntRange(1, 1 << 16),
    help="Into how many files each private table is spread, for an engine that is a cluster.",
)
@FORM
def prepare(file: Path, buckets: int | None, form: str) -> None:
    """Copy the data of a policy (policy.toml) so that questions about many rows are quick.

    In the copy the rows of a unit lie together. It is beside the ledger, for its owner only, and takes
    the place of earlier ones; questions use it as long as the data are what they were. Parquet and CSV
    files are copied by the first question anyway, a .duckdb file by this command alone. Nothing is
    charged. What is interrupted is begun anew the next time.

    Where the policy's engine is a Spark cluster, the copy is then spread over buckets of files, in the
    folder that it names as `layout`; that goes on from where it was interrupted.
    """
    with reported(form):
        from sanql.ask import Session
        from sanql.kernel.buckets import MANIFEST

        with Session(file, progress=lambda words: click.echo(words, err=True)) as session:
            copy = session.data.prepare(buckets).database
        size = copy.stat().st_size
        if copy.name == MANIFEST:
            size = sum(file.stat().st_size for file in copy.parent.rglob("*.parquet"))
        if form == "json":
            say_json({"copy": f"{copy.parent.name}/{copy.name}", "bytes": size})
        else:
            say(f"prepared {copy.parent.name}/{copy.name}, {size / 1e6:,.1f} MB")
