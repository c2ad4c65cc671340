"""Pictures of the theory: matplotlib figures, colour-blind safe, as PNG or SVG (extra
`sanql[plots]`)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

from sanql.theory.closed_forms import GaussianPair, GuaranteedPair, LaplacePair, Pair
from sanql.theory.errors import TheoryError
from sanql.theory.exact import as_epsilon, as_probability
from sanql.theory.meaning import posterior_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Arguments = ParamSpec("Arguments")

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"
"""Okabe-Ito colours, told apart with every common colour blindness and in grey."""

STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "lines.linewidth": 2,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "sanql",
}


LEVELS: dict[str, tuple[str, ...]] = {
    "profile": ("epsilon",),
    "tradeoff": ("epsilon", "delta"),
    "posterior": ("epsilon",),
    "count": ("epsilon",),
    "worlds": (),
    "density": ("epsilon",),
}
"""The levels each picture depends on."""


def draw(name: str, path: Path, *, epsilon: float | None = None, delta: float = 0.0) -> None:
    """Write one picture; epsilon is 1, and of `count` the lecture's three, unless stated."""
    stated, epsilon = epsilon, 1.0 if epsilon is None else epsilon
    as_epsilon(epsilon)
    as_probability(delta, "delta")
    if not 1e-6 <= epsilon <= 50:
        raise TheoryError(
            "epsilon",
            f"at epsilon = {epsilon:g} every curve is a straight line, there is nothing to see",
            "give epsilon between 1e-6 and 50",
        )
    figures: dict[str, Callable[[], Figure]] = {
        "profile": lambda: profile(epsilon),
        "tradeoff": lambda: tradeoff(epsilon, delta),
        "posterior": lambda: posterior([epsilon / 4, epsilon, 3 * epsilon]),
        "count": lambda: count() if stated is None else count((math.exp(epsilon),)),
        "worlds": worlds,
        "density": lambda: density(epsilon),
    }
    if name not in figures:
        raise TheoryError(
            "unknown_plot", f"there is no plot {name!r}", f"use one of {', '.join(figures)}"
        )
    write(figures[name](), path)


def write(figure: Figure, path: Path) -> None:
    """Write a figure that is needed no longer."""
    try:
        save(figure, path)
    finally:
        _matplotlib().close(figure)


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG or SVG, by the suffix of the path."""
    if path.suffix not in (".png", ".svg"):
        raise TheoryError(
            "suffix", f"{path.name} is neither .png nor .svg", "choose one of the two"
        )
    metadata = {"Date": None} if path.suffix == ".svg" else {}
    with _style():
        try:
            figure.savefig(path, dpi=150, bbox_inches="tight", metadata=metadata)
        except OSError as error:
            raise TheoryError(
                "unwritable_file",
                f"{path} cannot be written: {error.strerror}",
                "choose another path",
            ) from error


def styled(drawing: Callable[Arguments, Figure]) -> Callable[Arguments, Figure]:
    """Run a drawing with the house style, and with a clear error when matplotlib is missing."""

    @functools.wraps(drawing)
    def styled(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Figure:
        _matplotlib()
        with _style():
            return drawing(*args, **kwargs)

    return styled


@styled
def profile(epsilon: float) -> Figure:
    """Return delta(epsilon) of three mechanisms, each with the same claimed epsilon at its end.

    The Gaussian has no end: its delta falls forever.
    """
    levels = [epsilon * 1.6 * k / 300 for k in range(301)]
    figure, axes = axes_of()
    mu = _gaussian_like(epsilon, 0.01)
    for pair, label, colour, line in (
        (GuaranteedPair(epsilon), "randomised response", ORANGE, "-"),
        (LaplacePair(1 / epsilon), "Laplace", BLUE, "--"),
        (GaussianPair(mu), f"Gaussian with delta = 1% at epsilon = {epsilon:.3g}", GREEN, "-."),
    ):
        heights = [pair.hockey_stick(math.exp(level)) for level in levels]
        axes.plot(levels, heights, line, color=colour, label=label)
    axes.set(
        xlabel="epsilon", ylabel="delta", title="Privacy profile: the delta left at each epsilon"
    )
    axes.set_xlim(0, levels[-1])
    axes.set_ylim(0)
    axes.legend()
    return figure


@styled
def tradeoff(epsilon: float, delta: float, mechanism: Pair | None = None) -> Figure:
    """Return the region of errors an attacker can reach: the bound and an actual mechanism.

    Without one given it is Laplace noise, or with delta > 0 Gaussian noise, of just this guarantee.
    """
    actual, name = mechanism, "the mechanism"
    if actual is None:
        actual, name = LaplacePair(1 / epsilon), "Laplace noise"
        if 0 < delta < 1:
            actual, name = GaussianPair(_gaussian_like(epsilon, delta)), "Gaussian noise"
    rates = [k / 400 for k in range(401)]
    bound = [GuaranteedPair(epsilon, delta).tradeoff(rate) for rate in rates]
    curve = [actual.tradeoff(rate) for rate in rates]
    figure, axes = axes_of(width=5.2, height=5.0)
    mirrored = [1 - actual.tradeoff(1 - rate) for rate in rates]
    axes.fill_between(rates, curve, mirrored, color=BLUE, alpha=0.12, linewidth=0)
    axes.plot(rates, curve, color=BLUE, label=f"best test of {name}")
    shown = f"epsilon = {epsilon:.3g}" + (f", delta = {delta:.3g}" if delta else "")
    axes.plot(rates, bound, "--", color=ORANGE, label=f"limit set by {shown} alone")
    axes.plot([0, 1], [1, 0], ":", color=GREY, linewidth=1.2, label="guessing")
    axes.set(
        xlabel="false alarms: accused although absent",
        ylabel="misses: cleared although present",
        title="What a membership test can reach",
        xlim=(0, 1),
        ylim=(0, 1),
        aspect="equal",
    )
    figure.legend(loc="outside lower center", ncols=1)
    return figure


@styled
def posterior(epsilons: list[float]) -> Figure:
    """Return the band of posteriors for every prior, one band an epsilon."""
    priors = [k / 200 for k in range(201)]
    figure, axes = axes_of(width=5.2, height=5.0)
    looks = ((GREEN, "-."), (BLUE, "-"), (ORANGE, "--"))
    for epsilon, (colour, line) in sorted(zip(epsilons, looks, strict=False), reverse=True):
        bands = [posterior_band(prior, epsilon) for prior in priors]
        low, high = zip(*bands, strict=True)
        axes.fill_between(priors, low, high, color=_tint(colour, 0.18), linewidth=0)
        axes.plot(priors, high, line, color=colour, label=f"epsilon = {epsilon:.3g}")
        axes.plot(priors, low, line, color=colour)
    axes.plot([0, 1], [0, 1], ":", color=GREY, linewidth=1.2, label="nothing learned")
    axes.set(
        xlabel="belief before the answer",
        ylabel="belief after the answer",
        title="How far one answer can move a belief",
        xlim=(0, 1),
        ylim=(0, 1),
        aspect="equal",
    )
    figure.legend(loc="outside lower center", ncols=2)
    return figure


@styled
def count(odds: tuple[float, ...] = (1.1, 2.0, 5.0), value: int = 1000) -> Figure:
    """Return the output densities of a noisy count and its neighbour (the lecture's Example
    21.6)."""
    figure, panels = panels_of(len(odds), width=3.5)
    for axes, ratio in zip(panels, odds, strict=True):
        _density(axes, value, math.log(ratio), BLUE, "-", f"true count {value}")
        _density(axes, value - 1, math.log(ratio), ORANGE, "--", f"true count {value - 1}")
        axes.set_title(f"epsilon = ln {ratio:g}")
        axes.set_xlabel("published count")
        axes.set_ylim(0)
        axes.locator_params(axis="x", nbins=5, integer=True)
    panels[0].set_ylabel("density")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    figure.suptitle("Two neighbouring databases, one noisy count")
    return figure


@styled
def density(epsilon: float, value: int = 0) -> Figure:
    """Return the densities of Laplace noise at three levels (the lecture's Figure 21.1)."""
    figure, axes = axes_of()
    looks = ((GREEN, "-."), (BLUE, "-"), (ORANGE, "--"))
    for level, (colour, line) in zip((epsilon / 4, epsilon, 3 * epsilon), looks, strict=True):
        xs = [value + (k - 300) * 4 / (100 * epsilon) for k in range(601)]
        heights = [level / 2 * math.exp(-level * abs(x - value)) for x in xs]
        axes.plot(xs, heights, line, color=colour, label=f"scale 1/{level:.3g}")
    axes.set(
        xlabel="noise", ylabel="density", title="Laplace noise: smaller epsilon, flatter density"
    )
    axes.set_ylim(0)
    axes.legend()
    return figure


@styled
def worlds(people: int = 5, flip: float = 0.1) -> Figure:
    """Return the law of a released majority given one record, real against ideal.

    All records follow a hidden sign. The release tells much about a record, but hardly more than
    the release without that record would.
    """
    from fractions import Fraction

    from sanql.theory.attackers.separations import majority_laws

    real, ideal = majority_laws(people, Fraction(flip).limit_denominator(1000))
    figure, panels = panels_of(2, width=3.8, sharey=True)
    for axes, sign in zip(panels, (1, -1), strict=True):
        for offset, law, colour, hatch, label in (
            (-0.2, real[sign], BLUE, "", "real: the record is used"),
            (0.2, ideal[sign], ORANGE, "//", "ideal: the record is left out"),
        ):
            heights = [float(law[1]), float(law[-1])]
            bars = axes.bar(
                [offset, 1 + offset],
                heights,
                0.38,
                color=colour,
                alpha=0.85,
                hatch=hatch,
                label=label,
            )
            axes.bar_label(bars, fmt="%.3f", padding=2, fontsize=9)
        axes.set_xticks([0, 1], ["majority +", "majority −"])
        axes.set_title(f"given that my record is {'+' if sign == 1 else '−'}")
        axes.set_ylim(0, 1.12)
        axes.grid(visible=False, axis="x")
    panels[0].set_ylabel("probability")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    figure.suptitle("Real world against ideal world: a majority that follows a hidden sign")
    return figure


def _density(axes: Axes, centre: int, epsilon: float, colour: str, line: str, label: str) -> None:
    reach = 5.5 / epsilon
    grid = sorted({centre, *(centre + reach * (k - 200) / 200 for k in range(401))})
    heights = [epsilon / 2 * math.exp(-epsilon * abs(x - centre)) for x in grid]
    axes.plot(grid, heights, line, color=colour, label=label)


def _gaussian_like(epsilon: float, delta: float) -> float:
    """The mu whose delta at this epsilon is the one given."""
    low, high = 1e-6, 50.0
    for _ in range(80):
        middle = (low + high) / 2
        if GaussianPair(middle).hockey_stick(math.exp(epsilon)) > delta:
            high = middle
        else:
            low = middle
    return low


def axes_of(width: float = 6.4, height: float = 4.0) -> tuple[Figure, Axes]:
    """Return a figure of one picture."""
    figure, axes = _matplotlib().subplots(figsize=(width, height), layout="constrained")
    return figure, axes


def panels_of(count: int, width: float, *, sharey: bool = False) -> tuple[Figure, list[Axes]]:
    """Return a figure of several pictures beside each other."""
    figure, panels = _matplotlib().subplots(
        1, count, figsize=(width * count, 3.5), sharey=sharey, layout="constrained", squeeze=False
    )
    return figure, list(panels[0])


def _tint(colour: str, share: float) -> tuple[float, float, float]:
    """A colour mixed with white, so that bands laid over each other keep their own hue."""
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return (1 - share * (1 - red), 1 - share * (1 - green), 1 - share * (1 - blue))


def _style() -> Any:
    import matplotlib as mpl

    return mpl.rc_context(rc=STYLE)


def _matplotlib() -> Any:
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise TheoryError(
            "no_matplotlib",
            "plots need matplotlib, which is not installed",
            "run `make plots` in a clone, or install the extra sanql[plots]: pip install matplotlib",
        ) from error
    mpl.use("agg")
    from matplotlib import pyplot

    return pyplot
