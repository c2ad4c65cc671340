"""Pictures of a mechanism of one's own: its profile, its tests, its worlds, the games of one belief."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from sanql.theory.channel_file import ChannelFile
from sanql.theory.channels import Channel, Database
from sanql.theory.definitions.coupled_worlds import distributional_dp_delta
from sanql.theory.definitions.finding import SimulatorWitness
from sanql.theory.definitions.records import people
from sanql.theory.definitions.semantic import game_posterior
from sanql.theory.definitions.worlds import records
from sanql.theory.distributions import Distribution, Outcome
from sanql.theory.divergences import indistinguishability_delta
from sanql.theory.errors import TheoryError
from sanql.theory.exact import INFINITE, as_count, exp_lower, float_upper, shown_upper
from sanql.theory.neighbours import Neighbours
from sanql.theory.plots import BLUE, GREEN, GREY, ORANGE, axes_of, panels_of, styled
from sanql.theory.testing import tradeoff_vertices

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PAIRS_MOST = 2000
_DRAWN_MOST = 24
_LEVELS = 120


@styled
def profile_of(channel: Channel, neighbours: Neighbours) -> Figure:
    """Return delta at each epsilon of a channel, over all neighbours, on a logarithmic axis."""
    as_count(len(neighbours.pairs), "the number of neighbours", most=_PAIRS_MOST)
    laws = [(channel.row(x), channel.row(y)) for x, y in neighbours.pairs]
    ends = [_end(p, q) for p, q in laws]
    reach = min(20.0, 1.15 * max(math.log(end) for end in ends)) or 1.0
    levels = [reach * step / _LEVELS for step in range(_LEVELS + 1)]
    deltas = []
    for level in levels:
        gamma = Fraction(exp_lower(level))
        deltas.append(float(max(indistinguishability_delta(p, q, gamma) for p, q in laws)))
    shown = [(level, delta) for level, delta in zip(levels, deltas, strict=True) if delta > 0]
    figure, axes = axes_of()
    if shown:
        axes.semilogy(*zip(*shown, strict=True), color=BLUE)
        axes.set_ylim(min(delta for _, delta in shown) / 3, 1)
    if not deltas[-1]:
        end = max(math.log(end) for end in ends)
        axes.axvline(
            end, color=GREY, linestyle=":", label=f"delta is 0 from epsilon = {shown_upper(end)}"
        )
        axes.legend()
    axes.set(
        xlabel="epsilon",
        ylabel="delta (logarithmic)",
        title=f"Privacy profile of the mechanism, {neighbours.name}",
        xlim=(0, reach),
    )
    return figure


@styled
def tests_of(channel: Channel, null: Database, alternative: Database) -> Figure:
    """Return the best tests between two databases; H0 is the one with the person, as in the source."""
    p, q = channel.row(null), channel.row(alternative)
    figure, axes = axes_of(width=5.2, height=5.0)
    forward, back = tradeoff_vertices(p, q), tradeoff_vertices(q, p)
    axes.plot(
        *_floats(forward), color=BLUE, marker="o", label=f"H0: the database is {_named(null)}"
    )
    swapped = f"H0: the database is {_named(alternative)}"
    axes.plot(*_floats(back), "--", color=ORANGE, marker="s", markersize=4, label=swapped)
    axes.plot([0, 1], [1, 0], ":", color=GREY, linewidth=1.2, label="guessing")
    axes.set(
        xlabel="FP: H0 is rejected although it is true",
        ylabel="FN: H0 is accepted although it is false",
        title="The best tests between two databases",
        xlim=(0, 1),
        ylim=(0, 1),
        aspect="equal",
    )
    figure.legend(loc="outside lower center", ncols=1)
    return figure


@styled
def worlds_of(given: ChannelFile, epsilon: float) -> Figure:
    """Return real against ideal output laws of the first record, with the best simulator at a level."""
    if not given.worlds:
        raise TheoryError(
            "no_worlds", "the file gives no worlds", 'add "worlds": [{database: mass}]'
        )
    world = given.worlds[0]
    found = distributional_dp_delta(given.channel, [world], Fraction(exp_lower(epsilon)))
    if not isinstance(found.witness, SimulatorWitness):
        raise TheoryError("no_simulator", "no simulator was found", "try another epsilon")
    simulator, first = found.witness.simulator, records(people(given.channel))[0]
    laws = list(world.given(first.priv).items())[:3]
    figure, panels = panels_of(len(laws), width=3.8, sharey=True)
    for axes, ((value, side), law) in zip(panels, laws, strict=True):
        real = given.channel.output_of(law)
        ideal = simulator.output_of(law.map(first.alt))
        known = "" if side is None else f", {side} known"
        _bars(
            axes,
            [("real: the record is used", real), ("ideal: simulated without it", ideal)],
            given.channel.outputs,
        )
        axes.set_title(f"given that record 1 is {value}{known}", fontsize=10)
    _finish(figure, panels, "probability of the output")
    delta = shown_upper(float_upper(found["delta"]))
    figure.suptitle(f"Real world against ideal world: delta = {delta} at epsilon = {epsilon:g}")
    return figure


@styled
def games_of(channel: Channel, belief: Distribution, output: Outcome, default: Outcome) -> Figure:
    """Return what is believed of the database before, and after one output in Games 0 to n."""
    as_count(len(belief.support), "databases that are believed possible", most=_DRAWN_MOST)
    laws: list[tuple[str, Distribution | None]] = [("before the output", belief)]
    for game in range(people(channel) + 1):
        named = "Game 0: all records used" if game == 0 else f"Game {game}: without record {game}"
        laws.append((named, game_posterior(channel, belief, output, game, default)))
    figure, axes = axes_of(width=7.0)
    _bars(axes, [(name, law) for name, law in laws if law is not None], belief.support)
    missing = [name for name, law in laws if law is None]
    axes.set(
        xlabel="database" + (f" (impossible output in {', '.join(missing)})" if missing else ""),
        ylabel="belief",
        title=f"Beliefs after the output {output} in Games 0 to {people(channel)}",
    )
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _bars(
    axes: Axes, laws: Sequence[tuple[str, Distribution]], outcomes: Sequence[Outcome]
) -> None:
    as_count(len(outcomes), "the number of bars", most=_DRAWN_MOST)
    width = 0.8 / len(laws)
    looks = ((BLUE, ""), (ORANGE, "//"), (GREEN, ".."), (GREY, "xx"))
    for place, (name, law) in enumerate(laws):
        colour, hatch = looks[place % len(looks)]
        xs = [k + (place + 0.5) * width - 0.4 for k in range(len(outcomes))]
        heights = [float(law[t]) for t in outcomes]
        axes.bar(xs, heights, width, color=colour, alpha=0.85, hatch=hatch, label=name)
    axes.set_xticks(range(len(outcomes)), [_named(t) for t in outcomes])
    axes.grid(visible=False, axis="x")
    axes.set_ylim(0, 1.05)


def _finish(figure: Figure, panels: Sequence[Axes], label: str) -> None:
    panels[0].set_ylabel(label)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)


def _end(p: Distribution, q: Distribution) -> float:
    """Return e^epsilon from which on delta changes no more: the largest finite ratio."""
    ratios = [max(a / b, b / a) for a, b in ((p[t], q[t]) for t in p.outcomes) if a > 0 and b > 0]
    largest = float(max(ratios, default=Fraction(1)))
    return largest if largest < INFINITE else 1e300


def _floats(vertices: Sequence[tuple[Fraction, Fraction]]) -> tuple[list[float], list[float]]:
    return [float(a) for a, _ in vertices], [float(b) for _, b in vertices]


def _named(outcome: Outcome) -> str:
    return ",".join(map(str, outcome)) if isinstance(outcome, tuple) else str(outcome)
