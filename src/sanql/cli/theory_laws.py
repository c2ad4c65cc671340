"""`sanql theory compare`, `example` and `sensitivity`: two laws, mechanisms of the sources, records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import click

from sanql.cli.saying import say, say_json
from sanql.cli.theory_options import FORMAT, reports_errors
from sanql.theory.errors import TheoryError
from sanql.theory.exact import (
    INFINITE,
    Extended,
    as_count,
    as_epsilon,
    as_fraction,
    as_gamma,
    exp_lower,
    exp_upper,
    float_lower,
    float_upper,
    log_upper,
    written,
)

_EXAMPLES = ("random-row", "first-row", "named-row", "uniform-noise", "exact-sum", "constant")
_EPSILON = click.option("--epsilon", default="0", show_default=True, help="Level of divergences.")
_DELTA = click.option("--delta", default="0", show_default=True, help="At which epsilon is solved.")


@click.command()
@click.option("--p", "ps", multiple=True, required=True, help="Masses of one law, as 1/2,1/2.")
@click.option("--q", "qs", multiple=True, required=True, help="Masses of the other law.")
@click.option("--weight", "weights", multiple=True, help="Of each pair, where there are several.")
@click.option("--accept", help="Places, from 0 on, on which a test accepts P.")
@_EPSILON
@_DELTA
@FORMAT
@reports_errors
def compare(
    ps: Sequence[str],
    qs: Sequence[str],
    weights: Sequence[str],
    accept: str | None,
    epsilon: str,
    delta: str,
    form: str,
) -> None:
    """Say all that is known of two output laws: divergences both ways, best event, best test.

    With several --p, --q and --weight, what a public X with these weights gives (Claim 3.3(3), (4)).
    """
    from sanql.theory.testing import errors
    from sanql.theory.two_laws import compare as run
    from sanql.theory.two_laws import joint

    if len(ps) != len(qs):
        raise TheoryError("laws", f"{len(ps)} --p and {len(qs)} --q", "give as many of both")
    pairs = [(_law(p), _law(q)) for p, q in zip(ps, qs, strict=True)]
    gamma = gamma_below(epsilon)
    allowed = as_fraction(delta, "--delta")
    told: dict[str, Any] = {}
    for place, (p, q) in enumerate(pairs, 1):
        found = run(p, q, gamma, allowed)
        told[f"pair {place}"] = {
            "statistical difference": written(found.statistical_difference),
            "KL divergence": _both(found.kl, lambda value: f"{value:.9g}"),
            "max-divergence, as epsilon": _both(found.max_gamma, epsilon_of),
            "hockey stick": _both(found.hockey_stick, written),
            "best event": ", ".join(map(str, found.event)) or "none",
            "best interval": written(found.interval),
            "least FP + e^epsilon FN": written(found.least_weighted_error),
            f"epsilon at delta {delta}": _both(found.tight_gamma, epsilon_of),
            "variational: statistical difference, hockey stick (best events)": (
                f"{written(found.variational.statistical_difference)}, "
                f"{written(found.variational.hockey_stick)}"
            ),
            "variational: KL (Donsker and Varadhan, at f = ln p/q)": f"{found.variational.kl:.9g}",
            "variational: max-divergence (best outcome), as epsilon": epsilon_of(
                found.variational.max_gamma
            ),
            "Shannon and min-entropy of P": _pair(found.entropies[0]),
            "Shannon and min-entropy of Q": _pair(found.entropies[1]),
            "hockey stick of posterior against prior, at most": f"{float(found.prior_moved):.9g}",
        }
        if accept is not None:
            alarms, misses = errors(p, q, _places(accept, len(p.outcomes)))
            told[f"pair {place}"] |= {"FP": written(alarms), "FN": written(misses)}
    if weights or len(pairs) > 1:
        mixed = joint([as_fraction(w, "--weight") for w in weights], pairs, gamma, allowed)
        told["together"] = {
            "hockey stick (Claim 3.3(3))": written(mixed.hockey_stick),
            "weight of pairs that are further apart": written(mixed.failure),
            "bound from that alone (Claim 3.3(4))": written(mixed.bound),
        }
    tell(told, form)


@click.command()
@click.argument("name", type=click.Choice(_EXAMPLES))
@click.option("--people", type=int, default=3, show_default=True, help="Bits, at most 8.")
@click.option("--chance", default="1/10", show_default=True, help="That a row is published.")
@click.option("--width", type=int, default=5, show_default=True, help="Of uniform noise.")
@_EPSILON
@FORMAT
@reports_errors
def example(name: str, people: int, chance: str, width: int, epsilon: str, form: str) -> None:
    """Judge a mechanism of the sources: close in statistical difference, and private or not."""
    from sanql.theory.definitions.dp import approximate_dp_delta, perfect_privacy, pure_dp
    from sanql.theory.divergences import statistical_difference
    from sanql.theory.examples import EXAMPLES
    from sanql.theory.examples import example as make
    from sanql.theory.neighbours import change_one

    channel = make(name, people, as_fraction(chance, "--chance"), width)
    near = change_one(channel.databases)
    furthest = max(statistical_difference(channel.row(x), channel.row(y)) for x, y in near.pairs)
    apart = max(
        statistical_difference(channel.row(x), channel.row(y))
        for x, y in combinations(channel.databases, 2)
    )
    told = {
        EXAMPLES[name]: {
            "statistical difference of neighbours": written(furthest),
            f"of any two databases (Vadhan, case 1: at most {people} times that)": written(apart),
            "epsilon at delta 0": epsilon_of(pure_dp(channel, near)["gamma"]),
            f"delta at epsilon {epsilon}": written(
                Fraction(approximate_dp_delta(channel, near, gamma_below(epsilon))["delta"])
            ),
            "perfect privacy": perfect_privacy(channel, near).note,
        }
    }
    tell(told, form)


@click.command()
@click.argument("statistic", type=click.Choice(["count", "sum"]))
@click.option("--values", default="0,1", show_default=True, help="All that a record can be.")
@click.option("--counted", help="Of count: the value that is counted; the last one unless given.")
@click.option("--people", type=int, default=3, show_default=True, help="Records, at most 6.")
@FORMAT
@reports_errors
def sensitivity(statistic: str, values: str, counted: str | None, people: int, form: str) -> None:
    """Work out how far one record moves a statistic, by trying all neighbours."""
    from sanql.theory.neighbours import add_remove, change_one
    from sanql.theory.neighbours import sensitivity as run

    if counted is not None and statistic == "sum":
        raise TheoryError("unused_option", "sum does not use --counted", "leave out --counted")
    known = [as_fraction(value, "--values") for value in values.split(",")]
    as_count(people, "people", most=6)
    as_count(len(known) ** people, "the number of databases", most=5000)
    sizes = [list(product(known, repeat=size)) for size in range(people + 1)]
    one = known[-1] if counted is None else as_fraction(counted, "--counted")
    function: Callable[[Any], Fraction] = (
        (lambda x: sum(x, Fraction(0)))
        if statistic == "sum"
        else (lambda x: Fraction(sum(value == one for value in x)))
    )
    told = {
        f"{statistic} of at most {people} records": {
            "a record changed": written(run(function, change_one(sizes[-1]))),
            "a record more or less": written(
                run(function, add_remove([x for size in sizes for x in size]))
            ),
        }
    }
    tell(told, form)


def _law(text: str) -> Any:
    from sanql.theory.distributions import Distribution

    return Distribution.over([as_fraction(mass, "a mass") for mass in text.split(",")])


def gamma_below(epsilon: str) -> Fraction:
    """Return e^epsilon rounded down, so that no divergence is too small."""
    return Fraction(exp_lower(float_lower(as_fraction(epsilon, "--epsilon"))))


def gamma_above(epsilon: str) -> Fraction:
    """Return e^epsilon rounded up, where it is a bound that is stated."""
    level = as_epsilon(float_upper(as_fraction(epsilon, "--epsilon")))
    return as_gamma(exp_upper(level), "e^epsilon")


def _places(accept: str, outcomes: int) -> list[int]:
    found = [int(as_fraction(place, "--accept")) for place in accept.split(",") if place]
    if any(not 0 <= place < outcomes for place in found):
        raise TheoryError("places", f"there are {outcomes} outcomes", "count them from 0 on")
    return found


def epsilon_of(gamma: Extended) -> str:
    """Return ln gamma in digits."""
    return "infinite" if gamma == INFINITE else f"{log_upper(Fraction(gamma)):.9g}"


def _pair(values: tuple[float, float]) -> str:
    return f"{values[0]:.9g}, {values[1]:.9g} nats"


def _both(values: tuple[Any, Any], show: Callable[[Any], str]) -> str:
    first, second = map(show, values)
    return first if first == second else f"{first} (P to Q), {second} (Q to P)"


def tell(told: dict[str, dict[str, str]], form: str) -> None:
    """Say named numbers under their headings."""
    if form == "json":
        say_json(told, indent=2)
        return
    for what, lines in told.items():
        say(f"{what}:")
        for name, value in lines.items():
            say(f"  {name}: {value}")
