"""`sanql theory harm`, `deny`, `noninterference`, `laplace`: what the lecture says of its definition."""

from __future__ import annotations

import math
from pathlib import Path

import click

from sanql.cli.theory_laws import epsilon_of, gamma_above, tell
from sanql.cli.theory_options import FORMAT, reports_errors
from sanql.theory.errors import TheoryError
from sanql.theory.exact import as_fraction, as_positive, float_read, written

_CHANNEL = click.argument("channel", type=click.Path(path_type=Path))


@click.command()
@click.argument("channel", type=click.Path(path_type=Path), required=False)
@click.option("--harmful", help="Outputs of the CHANNEL that lead to harm, with commas.")
@click.option("--baseline", help="Chance of the harm without one's data, for a bare guarantee.")
@click.option("--epsilon", help="Of the guarantee.")
@click.option("--delta", help="Of the guarantee; 0 unless given.")
@FORMAT
@reports_errors
def harm(
    channel: Path | None,
    harmful: str | None,
    baseline: str | None,
    epsilon: str | None,
    delta: str | None,
    form: str,
) -> None:
    """Protection from harm: how likely one's data can make what one fears.

    Of a guarantee (--epsilon, --baseline), or of a CHANNEL (see theory check) and its --harmful outputs.
    """
    from sanql.theory.channel_file import read_channel
    from sanql.theory.harm import allowed_harm, harm_of

    if channel is not None:
        if harmful is None or baseline or epsilon or delta:
            raise TheoryError(
                "harm", "of a channel, only its harmful outputs are asked for", "give --harmful"
            )
        given = read_channel(channel)
        outputs = [part.strip() for part in harmful.split(",")]
        found = harm_of(given.channel, given.neighbours, outputs)
        where = f"from {_named(found.without)} to {_named(found.using)}"
        told = found.harm
    elif harmful is None and baseline is not None and epsilon is not None:
        where = f"epsilon {epsilon}, delta {delta or 0}"
        told = allowed_harm(
            as_fraction(baseline, "--baseline"),
            gamma_above(epsilon),
            as_fraction(delta or "0", "--delta"),
        )
    else:
        raise TheoryError(
            "harm",
            "harm is judged by a guarantee or by a channel",
            "give --epsilon and --baseline, or a CHANNEL and --harmful",
        )
    lines = {
        "chance of harm without one's data": written(told.baseline),
        "with them, at most": _percent(math.ceil(told.largest * 10**6)),
        "with them, at least": _percent(math.floor(told.least * 10**6)),
    }
    tell({f"protection from harm, {where}": lines}, form)


@click.command()
@_CHANNEL
@click.option("--truth", help="The database as it is; the hardest case unless given.")
@click.option("--claim", help="The database that is claimed instead.")
@click.option("--prior", default="1/2", show_default=True, help="Belief in the claim before.")
@FORMAT
@reports_errors
def deny(channel: Path, truth: str | None, claim: str | None, prior: str, form: str) -> None:
    """Plausible deniability: how credible "my record was another" stays after the worst output."""
    from sanql.theory.channel_file import as_database, read_channel
    from sanql.theory.harm import denial, hardest_denial

    given = read_channel(channel)
    if (truth is None) != (claim is None):
        raise TheoryError(
            "denial", "a claim denies a truth", "give --truth and --claim, or neither"
        )
    if truth is None or claim is None:
        found = hardest_denial(given.channel, given.neighbours)
    else:
        found = denial(given.channel, as_database(truth), as_database(claim))
    before = as_fraction(prior, "--prior")
    lines = {
        "output that speaks most against the claim": str(found.output),
        "how many times likelier it is under the truth, as epsilon": epsilon_of(found.odds),
        f"belief in the claim after it, of {prior} before": written(found.believed(before)),
        "how often an output excludes the claim": written(found.refuted),
    }
    tell({f"{_named(found.claim)} claimed, {_named(found.truth)} true": lines}, form)


@click.command()
@_CHANNEL
@click.option("--low", default="", help="Places of the low variables, from 1, with commas.")
@FORMAT
@reports_errors
def noninterference(channel: Path, low: str, form: str) -> None:
    """A program as a channel: does its output depend on high variables, and what does it leak?

    Databases of the CHANNEL are states, their records variables (Equations 21.3 and 21.4).
    """
    from sanql.theory.channel_file import read_channel
    from sanql.theory.leakage import leakage

    places = [int(as_positive(part, "--low")) for part in low.split(",") if part.strip()]
    found = leakage(read_channel(channel).channel, places)
    lines = {
        "noninterference": found.noninterference.note,
        "statistical difference of low-equivalent states": written(
            as_fraction(found.noninterference["delta"], "delta")
        ),
        "one guess of the high variables is better by a factor of at most": written(
            found.guesses_upper
        ),
        "leakage in bits, at most": f"{found.bits_upper:.9g}",
        "where the low variables are": ", ".join(map(str, found.low)) or "none",
    }
    tell({"noninterference, epsilon 0 between states that agree on the low variables": lines}, form)


@click.command()
@click.option("--scale", default="1", show_default=True, help="b of Lap(b).")
@click.option("--uniform", default="3/4", show_default=True, help="The number u drawn.")
@click.option("--value", type=int, default=0, show_default=True, help="The true answer.")
@FORMAT
@reports_errors
def laplace(scale: str, uniform: str, value: int, form: str) -> None:
    """Figure 21.2: Laplace noise by inverse transform sampling, step by step; why we do not use it.

    The attack on its low bits: sanql theory attack low-bits.
    """
    from sanql.theory.inverse_transform import laplace_from_uniform

    found = laplace_from_uniform(
        float_read(as_fraction(uniform, "--uniform")), float_read(as_positive(scale, "--scale"))
    )
    lines = {
        "1. u": repr(found.uniform),
        "2. u' = u - 1/2": repr(found.centred),
        "3. -b sgn(u') ln(1 - 2|u'|)": repr(found.noise),
        "answer": repr(value + found.noise),
        "its bits": (value + found.noise).hex(),
    }
    tell({f"Lap({scale}) by inverse transform": lines}, form)


def _named(database: object) -> str:
    return ",".join(map(str, database)) if isinstance(database, tuple) else str(database)


def _percent(millionths: int) -> str:
    return f"{millionths / 10_000:.4f}%"
