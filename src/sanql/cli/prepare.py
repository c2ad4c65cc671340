"""`sanql prepare`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sanql.cli.account import FORM
from sanql.cli.failing import reported
from sanql.cli.saying import say, say_json

if TYPE_CHECKING:
    from sanql.catalog import PreparedSource


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=Path("policy.toml"))
@click.option(
    "--buckets",
    type=click.IntRange(1, 1 << 16),
    help="Into how many files each private table is spread, for an engine that is a cluster.",
)
@click.option(
    "--here",
    is_flag=True,
    help="Do it on this machine, where the engine is a cluster that would.",
)
@FORM
def prepare(file: Path, buckets: int | None, here: bool, form: str) -> None:
    """Copy the data of a policy (policy.toml) so that questions about many rows are quick.

    In the copy the rows of a unit lie together. It is beside the ledger, for its owner only, and takes
    the place of earlier ones; questions use it as long as the data are what they were. Parquet and CSV
    files are copied by the first question anyway, a .duckdb file by this command alone. Nothing is
    charged. What is interrupted goes on the next time from where it was, file by file; and when some of
    many files have changed, only those are read again.

    Where the policy's engine is a Spark cluster, its executors write buckets of files into the folder
    that it names as `layout`, from Parquet and CSV files that they reach as this machine does. A .duckdb
    file, or with --here anything, is copied by this machine, which then spreads the copy.
    """
    with reported(form):
        from sanql.ask import Session
        from sanql.examine import remove_leftovers
        from sanql.kernel.buckets import MANIFEST

        with Session(file, progress=lambda words: click.echo(words, err=True)) as session:
            remove_leftovers(session.policy)
            prepared = session.data.prepare(buckets, here=here)
        copy, summaries = prepared.database, list(_in_words(prepared))
        size = copy.stat().st_size
        if copy.name == MANIFEST:
            size = sum(file.stat().st_size for file in copy.parent.rglob("*.parquet"))
        if form == "json":
            say_json({"copy": f"{copy.parent.name}/{copy.name}", "bytes": size})
        else:
            say(f"prepared {copy.parent.name}/{copy.name}, {size / 1e6:,.1f} MB")
            for line in summaries:
                say(line)


def _in_words(prepared: PreparedSource) -> Iterator[str]:
    """Yield what rows that are added up take, apart from the copy itself."""
    for table, summaries in prepared.summaries.items():
        for summary in summaries:
            cost, by = summary.cost, "unit" if summary.column is None else summary.column
            listed = ", with all values of a unit in order" if summary.lists else ""
            yield (
                f"  of these, {table} added up by {by}: {cost.rows:,} rows, {cost.size / 1e6:,.1f} MB, "
                f"{cost.seconds:,.1f} s of processors{listed}"
            )
