"""`sanql theory stable`, `good-set`, `sizes`: what theorems need, computed from functions and laws."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import click

from sanql.cli.failing import reported
from sanql.cli.theory_laws import epsilon_of, gamma_below, tell
from sanql.cli.theory_options import FORMAT, reports_errors
from sanql.theory.errors import TheoryError
from sanql.theory.exact import as_fraction, float_upper, written

_FUNCTION = click.argument("function", type=click.Path(path_type=Path))


@click.command()
@_FUNCTION
@click.option("--known", default=0, show_default=True, help="Other records that are known.")
@FORMAT
@reports_errors
def stable(function: Path, known: int, form: str) -> None:
    """How likely a record changes a function: the numbers of Theorems 11 and 12, exactly.

    FUNCTION is a file as of theory check, one output of mass 1 for each database, with worlds or laws.
    """
    from sanql.theory.channel_file import read_channel
    from sanql.theory.instability import instability

    given = read_channel(function)
    default = given.default if given.default_given else None
    found = instability(given.channel, given.worlds, default=default, known=known)
    lines = {
        "a record changes the output with probability at most": written(found.chance),
        "where": f"record {found.record}, world {found.world}, given "
        f"{', '.join(map(str, found.given))}, against {found.replaced}",
        "every output has probability at least": written(found.least_output),
        "(0, delta)-DDP with delta (Theorem 11)": written(found.chance),
        "(epsilon, 0)-DDP with epsilon (Theorem 12)": epsilon_of(found.gamma),
    }
    tell({"instability": lines}, form)


@click.command("good-set")
@_FUNCTION
@click.option("--scale", help="The local sensitivity that noise is made for.")
@click.option("--epsilon", help="The scale over that of the Laplace noise.")
@click.option("--eta", help="How much further than tanh(epsilon/2) beliefs may move.")
@FORMAT
@reports_errors
def good_set(
    function: Path, scale: str | None, epsilon: str | None, eta: str | None, form: str
) -> None:
    """How likely a function has a large local sensitivity, exactly (Theorem 5.1, Corollary 5.2).

    FUNCTION is a file as of theory check, one number of mass 1 for each database, with worlds or laws.
    With --scale, --epsilon and --eta, what noise for that scale then guarantees.
    """
    from sanql.theory.channel_file import read_channel
    from sanql.theory.good_set import at_scale, good_sets
    from sanql.theory.instability import records_of

    given = read_channel(function)
    found = good_sets(given.channel, given.neighbours, given.worlds)
    told = {
        f"local sensitivity above {written(one.scale)}": {
            "probability at most": written(one.bad),
            "given any record and the side information": written(one.bad_given),
        }
        for one in found
    }
    if scale is not None and epsilon is not None and eta is not None:
        bad = at_scale(found, as_fraction(scale, "--scale")).bad
        records = records_of(given.worlds)
        told["semantic privacy (Corollary 5.2)"] = _semantic(records, epsilon, bad, eta, form)
    elif scale or epsilon or eta:
        raise TheoryError(
            "good_set", "noise needs a scale, a level and a slack", "give --scale, --epsilon, --eta"
        )
    tell(told, form)


def _semantic(records: int, epsilon: str, bad: Fraction, eta: str, form: str) -> dict[str, str]:
    """Return the level and the failure of noise that is enough for all but `bad` of the belief."""
    from sanql.mechanisms.noiseless import SMALLEST, LikelyGood, exact

    with reported(form):
        delta = max(bad, Fraction(SMALLEST))  # a certificate for more bad databases holds for fewer
        good = LikelyGood(records, exact(epsilon, "--epsilon"), delta)
        found = good.certificate(exact(eta, "--eta"))
    return {"level": f"{found.epsilon:.9g}", "failure at most": f"{found.delta_upper:.9g}"}


@click.command()
@click.option("--masses", help="Probabilities of the sizes --first, --first + 1, …, with commas.")
@click.option("--first", default=0, show_default=True, help="The smallest size.")
@click.option("--population", type=int, help="Everybody of so many is sampled at --rate.")
@click.option("--rate", help="The chance to be sampled.")
@click.option("--epsilon", required=True, help="How far a ratio may be from 1.")
@FORMAT
@reports_errors
def sizes(
    masses: str | None,
    first: int,
    population: int | None,
    rate: str | None,
    epsilon: str,
    form: str,
) -> None:
    """How uncertain a sample's size is: the delta of Equation (2), as printed and as corrected."""
    from sanql.theory.distributions import Distribution
    from sanql.theory.sample_sizes import binomial_sizes, size_uncertainty

    if masses is not None and population is None and rate is None:
        listed = masses.split(",")
        law = Distribution.of({first + k: mass.strip() for k, mass in enumerate(listed)})
    elif masses is None and population is not None and rate is not None:
        law = binomial_sizes(population, rate)
    else:
        raise TheoryError(
            "sizes", "one law of the size is needed", "give --masses, or --population and --rate"
        )
    found = size_uncertainty(law, gamma_below(epsilon))
    lines = {
        "n drawn from N, as printed": written(found.printed),
        "n drawn from N + 1": written(found.shifted),
        "delta, as corrected": f"{float_upper(found.delta):.9g}",
    }
    tell({f"Equation (2) at epsilon {epsilon}": lines}, form)
