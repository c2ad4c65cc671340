"""The pictures of `sanql certify --plot` (extra `sanql[plots]`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sanql.errors import Refused

if TYPE_CHECKING:
    from matplotlib.figure import Figure

from sanql.theory.plots import BLUE, GREEN, GREY, ORANGE, STYLE

COLOURS = (BLUE, ORANGE, GREEN, GREY)
LINES = ("-", "--", "-.", ":")


def draw(kind: str, path: Path, *, delta: Fraction) -> None:
    """Write the picture that goes with a subcommand: sum, mean, count or histogram."""
    if path.suffix not in (".png", ".svg"):
        raise Refused(
            "certificate_plot", f"{path.name} is neither .png nor .svg", "choose one of the two"
        )
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise Refused(
            "certificate_plot",
            "pictures need matplotlib, which is not installed",
            "install sanql[plots]",
        ) from None
    pictures: dict[str, Callable[[Figure, Fraction], None]] = {
        "sum": epsilon_against_records,
        "mean": epsilon_against_records,
        "count": bound_against_truth,
        "histogram": threshold_against_fraction,
    }
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.0, 4.6), layout="constrained")
        FigureCanvasAgg(figure)
        pictures[kind](figure, delta)
        metadata = {"Date": None} if path.suffix == ".svg" else {}
        try:
            figure.savefig(path, dpi=150, bbox_inches="tight", metadata=metadata)
        except OSError as error:
            raise Refused(
                "certificate_plot",
                f"{path} cannot be written: {error.strerror}",
                "choose another path",
            ) from error


def epsilon_against_records(figure: Figure, delta: Fraction) -> None:
    """Draw epsilon of an exact sum against the number of records, for several eta and L."""
    from sanql.mechanisms.noiseless import continuous_sum

    axes = figure.add_subplot()
    for eta, colour in zip(("0.5", "0.25", "0.1", "0.05"), COLOURS, strict=True):
        unknown, levels, level = [], [], 20.0
        for quarter in range(6, 29):
            count = round(10 ** (quarter / 4))
            adversary = continuous_sum(others=count, eta=eta)
            found = _rough_epsilon(adversary.rough_delta, float(delta), level)
            if found is not None:
                unknown.append(count)
                levels.append(found)
                level = found
        axes.plot(unknown, levels, color=colour, label=f"eta = {eta}")
        # only unknown records count, so nine known in ten moves the curve by a factor of ten
        axes.plot([10 * count for count in unknown], levels, "--", color=colour)
    axes.plot([], [], "--", color="black", label="the same, 9 of 10 records known")
    axes.axhline(1, color="black", linewidth=0.8, linestyle=":")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="other records n",
        ylabel="epsilon certified",
        title=f"Exact sum: epsilon at delta = {float(delta):.0e}",
        xlim=(30, 1e7),
        ylim=(1e-3, 10),
    )
    axes.legend()


def bound_against_truth(figure: Figure, delta: Fraction) -> None:
    """Draw the certified delta of a count against what members of its class really have."""
    import numpy as np

    from sanql.mechanisms.noiseless import CountAdversary

    axes = figure.add_subplot()
    records, beta = 300, Fraction(1, 10)
    adversary = CountAdversary(records, beta)
    levels = [Fraction(k, 20) for k in range(1, 31)]
    bound = [adversary.bound(level).delta_upper for level in levels]
    axes.plot(
        [float(e) for e in levels],
        bound,
        color=COLOURS[0],
        linewidth=6,
        alpha=0.4,
        label="certified for the class",
    )
    members = (
        ("everybody 1 with probability 0.1", [0.1] * records),
        ("half 0.1, half 0.9", [0.1, 0.9] * (records // 2)),
        ("everybody 0.5", [0.5] * records),
    )
    for (name, chances), colour, line in zip(members, COLOURS[1:], LINES[1:], strict=True):
        law = np.ones(1)
        for chance in chances:
            law = np.convolve(law, [1 - chance, chance])
        true = [_count_truth(law, math.exp(level)) for level in levels]
        axes.plot([float(e) for e in levels], true, line, color=colour, label=name)
    draws = np.random.default_rng(1).binomial(records, 0.1, size=2_000_000)
    simulated = np.bincount(draws, minlength=records + 1) / len(draws)
    # below this a frequency of two million draws says nothing
    dots = [level for level, least in zip(levels, bound, strict=True) if least > 2e-4][::2]
    axes.plot(
        [float(e) for e in dots],
        [_count_truth(simulated, math.exp(level)) for level in dots],
        "o",
        color=COLOURS[1],
        markersize=5,
        label="simulated: 2,000,000 tables of the first",
    )
    axes.axhline(float(delta), color="black", linewidth=0.8, linestyle=":")
    axes.set(
        yscale="log",
        xlabel="epsilon",
        ylabel="delta",
        title=f"Exact count of {records} records, beta = 0.1: bound and truth",
        ylim=(1e-9, 1),
    )
    axes.legend()


def threshold_against_fraction(figure: Figure, delta: Fraction) -> None:
    """Draw the smallest certified threshold against the fraction of the population sampled."""
    from sanql.mechanisms.noiseless import BinomialPrior, PoissonPrior, threshold_min

    axes = figure.add_subplot()
    rates = [Fraction(k, 100) for k in (1, 2, 5, *range(10, 96, 5), 97, 98, 99)]
    for epsilon, colour, line in zip(("0.25", "0.5", "1", "2"), COLOURS, LINES, strict=True):
        least = [threshold_min(BinomialPrior(rate), epsilon, delta) for rate in rates]
        axes.plot(
            [float(rate) for rate in rates],
            least,
            line,
            color=colour,
            label=f"epsilon = {epsilon}",
        )
        poisson = threshold_min(PoissonPrior(), epsilon, delta)
        axes.plot([0], [poisson], "o", color=colour, clip_on=False, zorder=3)
    axes.plot([], [], "o", color="black", label="Poisson sampling")
    axes.set(
        yscale="log",
        xlabel="fraction of the population in the sample",
        ylabel="smallest cell shown",
        title=f"Truncated histogram: smallest k at delta = {float(delta):.0e}",
        xlim=(0, 1),
    )
    axes.legend()


def _rough_epsilon(
    rough_delta: Callable[[float], float], delta: float, most: float
) -> float | None:
    """Return epsilon at delta in floats if it is at most `most`: good enough for a curve."""
    if rough_delta(most) > delta:
        return None
    low, high = math.log(most / 4), math.log(most)
    while rough_delta(math.exp(low)) <= delta:
        low, high = low - 1.5, low
    for _ in range(9):
        middle = (low + high) / 2
        low, high = (middle, high) if rough_delta(math.exp(middle)) > delta else (low, middle)
    return math.exp(high)


def _count_truth(law: Any, g: float) -> float:
    """Return the worse direction of a count with one more against without, point by point."""
    import numpy as np

    more, less = np.concatenate([[0.0], law]), np.concatenate([law, [0.0]])
    one, two = np.maximum(more - g * less, 0).sum(), np.maximum(less - g * more, 0).sum()
    return float(max(one, two))
