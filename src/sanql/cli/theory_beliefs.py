"""`sanql theory beliefs`, `predicates`, `crowd`: remarks of the sources, as numbers."""

from __future__ import annotations

import math
from pathlib import Path

import click

from sanql.cli.theory_laws import gamma_above, gamma_below, tell
from sanql.cli.theory_options import FORMAT, reports_errors
from sanql.theory.errors import TheoryError
from sanql.theory.exact import as_fraction, shown_upper, up, written

_METRIC = (
    "statistical-difference, hellinger, kl, kl-of-prior, chi-squared, chi-squared-of-prior, "
    "renyi-2 or renyi-8."
)


@click.command()
@click.option("--epsilon", help="How far each metric then lets a belief move.")
@click.option("--metric", help=_METRIC)
@click.option("--at-most", help="A bound on the --metric for every prior: which epsilon follows.")
@FORMAT
@reports_errors
def beliefs(epsilon: str | None, metric: str | None, at_most: str | None, form: str) -> None:
    """Prior against posterior in any metric, and back (Vadhan, remark to Proposition 2)."""
    from sanql.theory.metrics import METRICS, implied_gamma, largest_move

    told: dict[str, dict[str, str]] = {}
    if metric is not None and metric not in METRICS:
        raise TheoryError("metric", f"there is no metric {metric!r}", f"use {', '.join(METRICS)}")
    if (metric is None) != (at_most is None) or (epsilon is None and metric is None):
        raise TheoryError(
            "beliefs",
            "neither an epsilon nor a bound on a metric is given",
            "give --epsilon, or --metric and --at-most",
        )
    if epsilon is not None:
        gamma = gamma_above(epsilon)
        told[f"most that a belief moves at epsilon {epsilon}, over all priors"] = {
            each.says: shown_upper(largest_move(each, gamma)) for each in METRICS.values()
        }
    if metric is not None and at_most is not None:
        bound = as_fraction(at_most, "--at-most")
        told[f"{METRICS[metric].says} at most {at_most}"] = {
            name: _epsilon(implied_gamma(METRICS[metric], bound, even=even))
            for name, even in (
                ("for every prior, it follows that epsilon is at most", False),
                ("for the even prior alone, as in the remark", True),
            )
        }
    tell(told, form)


@click.command()
@click.argument("channel", type=click.Path(path_type=Path))
@click.option("--tau", default="1/4", show_default=True, help="Change of belief that is a failure.")
@FORMAT
@reports_errors
def predicates(channel: Path, tau: str, form: str) -> None:
    """One predicate at a time against all at once (Kasiviswanathan and Smith, section 5).

    For each of the file's worlds, the chance that somebody's absence changes what is believed.
    """
    from sanql.theory.channel_file import read_channel
    from sanql.theory.definitions.predicates import order_of_quantifiers

    given = read_channel(channel)
    if not given.worlds or given.default is None:
        raise TheoryError(
            "no_worlds", "the file gives no worlds", 'add "worlds": [{database: mass}]'
        )
    told = {}
    for number, world in enumerate(given.worlds, 1):
        found = order_of_quantifiers(
            given.channel, world.databases(), as_fraction(tau, "--tau"), given.default
        )
        told[f"world {number}, beliefs that change by more than {tau}"] = {
            "of the worst predicate, with probability": written(found.one_predicate),
            "which holds of": " and ".join(_named(x) for x in found.predicate) or "nothing",
            "of any predicate, with probability": written(found.all_predicates),
        }
    tell(told, form)


@click.command()
@click.argument("channel", type=click.Path(path_type=Path), required=False)
@click.option("--epsilon", default="1", show_default=True, help="Level.")
@click.option("--people", type=int, default=100, show_default=True, help="Of a cell, at most 400.")
@click.option("--rate", default="1/10", show_default=True, help="How often one is sampled.")
@click.option("--smallest", type=int, default=10, show_default=True, help="Smaller cells are 0.")
@click.option("--delta", help="Answer the smallest cells at this delta instead.")
@FORMAT
@reports_errors
def crowd(
    channel: Path | None,
    epsilon: str,
    people: int,
    rate: str,
    smallest: int,
    delta: str | None,
    form: str,
) -> None:
    """Crowd-blending privacy: the crowd of a CHANNEL, or a sampled histogram against Theorem 10.

    A CHANNEL (see theory check) has databases of every size up to some. Without one, cells of at most
    --people are sampled: who hides in the population, and who in the sample?
    """
    from sanql.theory.channel_file import read_channel
    from sanql.theory.crowd import crowd_blending, sampled_histogram, smallest_cells

    gamma = gamma_below(epsilon)
    if channel is not None:
        found = crowd_blending(read_channel(channel).channel, gamma)
        lines = {"smallest crowd": "everybody is as good as left out"}
        if found.size is not None:
            lines = {
                "smallest crowd": str(found.size),
                "of record": str(found.record),
                "in database": _named(found.database),
            }
        tell({f"crowd-blending at epsilon {epsilon}": lines}, form)
        return
    chance = as_fraction(rate, "--rate")
    heading = f"cells of at most {people} people, sampled at {rate}, epsilon {epsilon}"
    hidden = "who may be in the population (Gehrke et al.)"
    known = "who is known to be in the sample (Theorem 10)"
    if delta is not None:
        sizes = smallest_cells(people, chance, gamma, as_fraction(delta, "--delta"))
        shown = ["none" if size is None else str(size) for size in sizes]
        tell(
            {
                f"{heading}: smallest cells at delta {delta}": dict(
                    zip((hidden, known), shown, strict=True)
                )
            },
            form,
        )
        return
    both = sampled_histogram(people, chance, smallest, gamma)
    lines = {
        f"delta of {hidden}": f"{_upper(both.population)} (with {both.population_at} others)",
        f"delta of {known}": f"{_upper(both.sample)} (with {both.sample_at} others)",
    }
    tell({f"{heading}: cells below {smallest} shown as 0": lines}, form)


def _upper(number: object) -> str:
    from sanql.theory.exact import float_upper

    return shown_upper(float_upper(number))  # type: ignore[arg-type]


def _epsilon(gamma: float) -> str:
    return "infinite" if gamma == math.inf else shown_upper(up(math.log(gamma)))


def _named(database: object) -> str:
    return ",".join(map(str, database)) if isinstance(database, tuple) else str(database)
