"""`sanql theory attack`: run an attacker, and see what it learns in the real and the ideal world."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sanql.cli.saying import say, say_json
from sanql.cli.theory_options import FORMAT, reports_errors
from sanql.theory.exact import as_fraction

if TYPE_CHECKING:
    from sanql.theory.attackers import Learned

_SEED = click.option("--seed", type=int, default=0, show_default=True, help="Of the simulation.")


@click.group()
def attack() -> None:
    """Run an attacker: what it learns, next to what it would learn without the person's data."""


@attack.command()
@click.option("--people", type=int, default=3, show_default=True, help="People, from 2.")
@FORMAT
@reports_errors
def parity(people: int, form: str) -> None:
    """The parity: no simulator is near, and yet nothing is inferred (coupled worlds, Example 1)."""
    from sanql.theory.attackers.separations import parity as run

    _say(run(people), form)


@attack.command()
@click.option("--people", type=int, default=5, show_default=True, help="People, at most 10.")
@click.option("--flip", default="1/4", show_default=True, help="How often a record errs.")
@click.option("--sign-known", is_flag=True, help="The attacker knows the common sign.")
@FORMAT
@reports_errors
def mu(people: int, flip: str, sign_known: bool, form: str) -> None:
    """A common sign: private to DDP, not to noiseless privacy, when it is released as a majority."""
    from sanql.theory.attackers.separations import common_sign

    _say(common_sign(people, as_fraction(flip, "--flip"), sign_is_known=sign_known), form)


@attack.command()
@click.option("--people", type=int, default=10, show_default=True, help="Everybody is a 1.")
@click.option("--sigma", default="1", show_default=True, help="Deviation of the noise.")
@FORMAT
@reports_errors
def a2(people: int, sigma: str, form: str) -> None:
    """A belief far from reality under Gaussian noise (Kasiviswanathan-Smith, Theorem A.2)."""
    from sanql.theory.attackers.separations import gaussian_sum

    _say(gaussian_sum(people, float(as_fraction(sigma, "--sigma"))), form)


@attack.command()
@click.option("--people", type=int, default=50, show_default=True, help="People in the study.")
@click.option("--attributes", type=int, default=500, show_default=True, help="Averages published.")
@click.option("--noise", default="0", show_default=True, help="Deviation on each average.")
@click.option("--trials", type=int, default=200, show_default=True, help="Studies simulated.")
@_SEED
@FORMAT
@reports_errors
def homer(people: int, attributes: int, noise: str, trials: int, seed: int, form: str) -> None:
    """Membership in a study from many published averages."""
    from sanql.theory.attackers.membership import homer as run

    width = float(as_fraction(noise, "--noise"))
    _say(run(people, attributes, noise=width, trials=trials, seed=seed), form)


@attack.command()
@click.option("--people", type=int, default=40, show_default=True, help="Secret bits.")
@click.option("--queries", type=int, default=160, show_default=True, help="Random subset sums.")
@click.option("--noise", default="1", show_default=True, help="The most by which one errs.")
@_SEED
@FORMAT
@reports_errors
def reconstruct(people: int, queries: int, noise: str, seed: int, form: str) -> None:
    """Secret bits from many sums with little noise, by linear programming (Dinur and Nissim)."""
    from sanql.theory.attackers.reconstruction import linear

    _say(linear(people, queries, noise=float(as_fraction(noise, "--noise")), seed=seed), form)


@attack.command()
@click.option("--values", default="3,5,4", show_default=True, help="Whole numbers, with commas.")
@click.option("--person", type=int, default=1, show_default=True, help="Whose value, from 1.")
@click.option("--scale", default="0", show_default=True, help="Of Laplace noise on each sum.")
@_SEED
@FORMAT
@reports_errors
def difference(values: str, person: int, scale: str, seed: int, form: str) -> None:
    """One person's value: the sum of all minus the sum of all the others."""
    from sanql.theory.attackers.reconstruction import noisy_difference

    numbers = [as_fraction(value, "--values") for value in values.split(",")]
    _say(noisy_difference(numbers, person, as_fraction(scale, "--scale"), seed=seed), form)


@attack.command()
@click.argument("channel", type=click.Path(path_type=Path))
@click.option("--member", required=True, help="The database with the person's record.")
@click.option("--absent", required=True, help="The database without it.")
@click.option("--false-alarms", default="1/20", show_default=True, help="Accepted by the test.")
@FORMAT
@reports_errors
def membership(channel: Path, member: str, absent: str, false_alarms: str, form: str) -> None:
    """The best test between two databases of a mechanism written as JSON (see theory check)."""
    from sanql.theory.attackers.membership import tester
    from sanql.theory.channel_file import as_database, read_channel

    rate = as_fraction(false_alarms, "--false-alarms")
    described = read_channel(channel)
    _say(tester(described.channel, as_database(member), as_database(absent), rate), form)


@attack.command("low-bits")
@click.option("--value", type=int, default=0, show_default=True, help="The true answer.")
@click.option("--other", type=int, default=1, show_default=True, help="The one that is ruled out.")
@click.option("--epsilon", default="1", show_default=True, help="1 over the scale of the noise.")
@click.option("--bits", type=int, default=53, show_default=True, help="Of the generator, 2 to 53.")
@click.option("--trials", type=int, default=1000, show_default=True, help="Answers, above 16 bits.")
@_SEED
@FORMAT
@reports_errors
def low_bits(
    value: int, other: int, epsilon: str, bits: int, trials: int, seed: int, form: str
) -> None:
    """Floating-point Laplace noise by inverse transform: answers that one true value alone can give.

    Up to 16 bits every noise is tried, and the share is exact. Integers leave nothing to this attack.
    """
    from sanql.theory.attackers.low_bits import low_bits as run

    level = as_fraction(epsilon, "--epsilon")
    _say(run(value, other, level, bits=bits, trials=trials, seed=seed), form)


def _say(learned: Learned, form: str) -> None:
    if form == "json":
        say_json(learned.to_dict(), indent=2)
        return
    say(learned.describe())
    for name, value in learned.details.items():
        shown = ", ".join(str(part) for part in value) if isinstance(value, tuple) else value
        say(f"  {name}: {shown}")
