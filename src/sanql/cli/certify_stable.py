"""`sanql certify stable` and `sanql certify local`: what is proved of functions known to be stable."""

from __future__ import annotations

import click

from sanql.cli.failing import reported
from sanql.cli.saying import say, say_json

_FORMAT = click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True
)


@click.command()
@click.option(
    "--instability",
    required=True,
    help="How likely, at most, removing a record changes the output.",
)
@click.option("--least-output", help="A probability that every output has at least.")
@_FORMAT
def stable(instability: str, least_output: str | None, form: str) -> None:
    """Certify a function that one record rarely changes: (0, delta), or pure (Theorems 11 and 12)."""
    with reported(form):
        from sanql.mechanisms.noiseless import StableFunction, exact

        least = None if least_output is None else exact(least_output, "--least-output")
        found = StableFunction(exact(instability, "--instability"), least).certificate()
        _write(found.to_dict(), found.sentences(), form)


@click.command()
@click.option("--records", type=int, required=True, help="How many records there are.")
@click.option(
    "--epsilon", "-e", required=True, help="Sensitivity of good databases over the noise."
)
@click.option("--delta", "-d", required=True, help="The belief that the database is not good.")
@click.option(
    "--eta", required=True, help="How much further than tanh(epsilon/2) beliefs may move."
)
@_FORMAT
def local(records: int, epsilon: str, delta: str, eta: str, form: str) -> None:
    """Certify noise for the local sensitivity of databases that are likely good (Corollary 5.2)."""
    with reported(form):
        from sanql.mechanisms.noiseless import LikelyGood, exact

        good = LikelyGood(records, exact(epsilon, "--epsilon"), exact(delta, "--delta"))
        found = good.certificate(exact(eta, "--eta"))
        _write(found.to_dict(), found.sentences(), form)


def _write(content: dict[str, object], sentences: tuple[str, ...], form: str) -> None:
    if form == "json":
        say_json(content)
        return
    for sentence in sentences:
        say(sentence)
