"""`sanql theory draw`: pictures of a mechanism of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sanql.cli.saying import say, say_json
from sanql.cli.theory_options import FORMAT, reports_errors
from sanql.theory.errors import TheoryError
from sanql.theory.exact import as_epsilon, as_fraction, float_lower

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sanql.theory.channel_file import ChannelFile


@click.command()
@click.argument("channel", type=click.Path(path_type=Path))
@click.argument("what", type=click.Choice(["profile", "tests", "worlds", "games"]))
@click.option("--output", "-o", type=click.Path(path_type=Path), required=True, help="PNG or SVG.")
@click.option("--epsilon", default="0", show_default=True, help="Of worlds: the simulator's level.")
@click.option("--null", help="Of tests: the database of H0, with the person.")
@click.option("--alternative", help="Of tests: the database of H1.")
@click.option("--seen", help="Of games: the output; the first one unless given.")
@FORMAT
@reports_errors
def draw(
    channel: Path,
    what: str,
    output: Path,
    epsilon: str,
    null: str | None,
    alternative: str | None,
    seen: str | None,
    form: str,
) -> None:
    """Draw a CHANNEL (see theory check) into a file.

    \b
    profile   delta at each epsilon, on a logarithmic axis
    tests     the best tests between two databases, both ways round
    worlds    the real world against the best simulation without record 1
    games     beliefs before and after an output, in Games 0 to n
    """
    from sanql.theory.channel_file import as_database, read_channel
    from sanql.theory.plots import write
    from sanql.theory.plots_of_channels import profile_of, tests_of, worlds_of

    given = read_channel(channel)
    level = float_lower(as_epsilon(as_fraction(epsilon, "--epsilon")))
    if what == "profile":
        figure = profile_of(given.channel, given.neighbours)
    elif what == "worlds":
        figure = worlds_of(given, level)
    elif what == "games":
        figure = _games(given, seen)
    else:
        if (null is None) != (alternative is None):
            raise TheoryError("tests", "a test decides between two databases", "give both or none")
        first, second = given.neighbours.pairs[0]
        if null is not None and alternative is not None:
            first, second = as_database(null), as_database(alternative)
        figure = tests_of(given.channel, first, second)
    write(figure, output)
    if form == "json":
        say_json({"written": str(output)})
    else:
        say(f"written: {output}")


def _games(given: ChannelFile, seen: str | None) -> Figure:
    from sanql.theory.distributions import Distribution
    from sanql.theory.plots_of_channels import games_of

    if given.default is None:
        raise TheoryError("no_default", "the file has no records", "write databases as records")
    known = given.channel.databases
    belief = given.worlds[0].databases() if given.worlds else Distribution.uniform(known)
    output = given.channel.outputs[0] if seen is None else seen
    return games_of(given.channel, belief, output, given.default)
