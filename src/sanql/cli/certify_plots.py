"""The pictures of `sanql certify --plot` (extra `sanql[plots]`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sanql.errors import Refused
from sanql.mechanisms.noiseless import RECORDS_MAX
from sanql.theory.plots import BLUE, GREEN, GREY, ORANGE, STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sanql.mechanisms.noiseless import (
        BinomialPrior,
        CountAdversary,
        HistogramAdversary,
        MapAdversary,
        NoiselessCertificate,
        PoissonPrior,
        SamplingPrior,
        SumAdversary,
    )

LEAST_DRAWN = 1e-6
COLOURS = (BLUE, ORANGE, GREEN, GREY)
LINES = ("-", "--", "-.", ":")


def draw(path: Path, adversary: Any, certificate: NoiselessCertificate) -> None:
    """Write the picture of the class that was certified, with the certificate as a point."""
    from sanql.mechanisms.noiseless import CountAdversary, HistogramAdversary, MapAdversary

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
            "run `make plots` in a clone, or install the extra sanql[plots]: pip install matplotlib",
        ) from None
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.0, 4.6), layout="constrained")
        FigureCanvasAgg(figure)
        match adversary:
            case CountAdversary():
                bound_against_members(figure, adversary, certificate)
            case MapAdversary():
                certificates_against_truth(figure, adversary, certificate)
            case HistogramAdversary():
                threshold_against_fraction(figure, adversary, certificate)
            case _:
                epsilon_against_records(figure, adversary, certificate)
        metadata = {"Date": None} if path.suffix == ".svg" else {}
        try:
            figure.savefig(path, dpi=150, bbox_inches="tight", metadata=metadata)
        except OSError as error:
            raise Refused(
                "certificate_plot",
                f"{path} cannot be written: {error.strerror}",
                "choose another path",
            ) from error


def epsilon_against_records(
    figure: Figure, adversary: SumAdversary, certificate: NoiselessCertificate
) -> None:
    """Draw epsilon of an exact sum against the number of unknown records, at the delta found."""
    axes = figure.add_subplot()
    counts = [round(adversary.unknown * 10 ** (quarter / 4)) for quarter in range(-6, 7)]
    counts = [count for count in sorted(set(counts)) if 8 <= count <= RECORDS_MAX]
    for part, colour, line, name in (
        (1, COLOURS[0], LINES[0], "the class certified"),
        (2, COLOURS[1], LINES[1], "a uniform part half as large"),
        (4, COLOURS[2], LINES[2], "a quarter as large"),
    ):
        unknown, levels = [], []
        for count in counts:
            other = replace(adversary, others=count, known=0, alpha=adversary.alpha / part)
            level = _rough_epsilon(other.rough_delta, certificate.delta_upper, 20.0)
            if level is not None:
                unknown.append(count)
                levels.append(level)
        axes.plot(unknown, levels, line, color=colour, label=name)
    _mark(axes, adversary.unknown, certificate.epsilon)
    axes.axhline(1, color="black", linewidth=0.8, linestyle=":")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="unknown other records",
        ylabel="epsilon certified",
        title=f"Exact sum or mean: epsilon at delta = {certificate.delta_upper:.3g}",
    )
    axes.legend()


def bound_against_members(
    figure: Figure, adversary: CountAdversary, certificate: NoiselessCertificate
) -> None:
    """Draw the certified delta of a count beside those of members of its class.

    A member's delta is for the simulator that fills in 0 (or 1) for the protected record, which is
    the one certified; a better simulator may do with less.
    """
    axes = figure.add_subplot()
    width = Fraction(certificate.epsilon) or Fraction(1)
    levels = [width * k / 6 for k in range(1, 13)]
    across = [float(level) for level in levels]
    bound = [adversary.bound(level).delta_upper for level in levels]
    axes.plot(
        across, bound, color=COLOURS[0], linewidth=6, alpha=0.4, label="certified for the class"
    )
    chances = sorted({float(adversary.chance), 0.5})
    for chance, colour, line in zip(chances, COLOURS[1:], LINES[1:], strict=False):
        law = _binomial(adversary.unknown, chance)
        deltas = [_count_truth(law, math.exp(level)) for level in levels]
        axes.plot(across, deltas, line, color=colour, label=f"everybody 1 with chance {chance:g}")
    _mark(axes, certificate.epsilon, certificate.delta_upper)
    axes.set(
        yscale="log",
        xlabel="epsilon",
        ylabel="delta, the simulator filling in 0 or 1",
        title=f"Exact count: {adversary.unknown:,} unknown records, "
        f"beta = {float(adversary.chance):g}",
        ylim=(bound[-1] / 100, 1),
    )
    axes.legend()


def certificates_against_truth(
    figure: Figure, adversary: MapAdversary, certificate: NoiselessCertificate
) -> None:
    """Draw what is certified of a MAP estimate against records, beside the truth where it is counted.

    The truth is that of every database of the class, enumerated; Chernoff's bound is what is shown in
    the sources' proof, sharpened pair by pair.
    """
    from sanql.mechanisms.noiseless import chernoff_delta, enumerated_delta, feasible

    axes = figure.add_subplot()
    counts = sorted({max(adversary.known, adversary.others * k // 8, 1) for k in range(1, 9)})
    classes = [adversary.with_others(count) for count in counts]
    level = Fraction(certificate.epsilon)
    truth = [(c.others, enumerated_delta(c, level)) for c in classes if feasible(c)]
    lines: tuple[tuple[str, list[tuple[int, float]]], ...] = (
        ("certified", [(c.others, c.bound(level).delta_upper) for c in classes]),
        ("truth, every database counted", truth),
        ("Chernoff, pair by pair", [(c.others, chernoff_delta(c)) for c in classes]),
    )
    for (name, points), colour, line, width in zip(lines, COLOURS, LINES, (6, 2, 2), strict=False):
        if points:
            axes.plot(*zip(*points, strict=True), line, color=colour, linewidth=width, label=name)
    _mark(axes, adversary.others, certificate.delta_upper)
    least = min(delta for _, points in lines for _, delta in points)
    axes.set(
        yscale="log",
        xlabel="other records",
        ylabel=f"delta at epsilon = {float(level):g}",
        title=f"MAP estimate of {len(adversary.laws)} laws, {adversary.known} records known",
        ylim=(max(least, LEAST_DRAWN**3) / 3, 1),
    )
    axes.legend()


def threshold_against_fraction(
    figure: Figure, adversary: HistogramAdversary, certificate: NoiselessCertificate
) -> None:
    """Draw the smallest certified threshold against the fraction of the population sampled."""
    from sanql.mechanisms.noiseless import BinomialPrior, PoissonPrior

    axes = figure.add_subplot()
    rates = [Fraction(k, 100) for k in (1, 5, *range(10, 91, 10), 95, 98)]
    delta, epsilon = certificate.delta_upper, Fraction(certificate.epsilon)
    for factor, colour, line in zip(
        (Fraction(1), Fraction(2), Fraction(1, 2)), COLOURS, LINES, strict=False
    ):
        level = epsilon * factor
        least = [_threshold(BinomialPrior(rate), level, delta, adversary.known) for rate in rates]
        axes.plot(
            [float(rate) for rate in rates],
            least,
            line,
            color=colour,
            label=f"epsilon = {float(level):.3g}",
        )
        poisson = _threshold(PoissonPrior(), level, delta, adversary.known)
        axes.plot([0], [poisson], "o", color=colour, clip_on=False, zorder=3)
    axes.plot([], [], "o", color="black", label="Poisson sampling")
    _mark(axes, _fraction(adversary.prior), adversary.threshold)
    axes.set(
        yscale="log",
        xlabel="fraction of the population in the sample",
        ylabel="smallest cell shown",
        title=f"Truncated histogram: smallest k at delta = {delta:.3g}",
        xlim=(0, 1),
    )
    axes.legend()


def _mark(axes: Any, x: float, y: float) -> None:
    axes.plot(
        [x],
        [y],
        "D",
        color="black",
        markersize=7,
        clip_on=False,
        zorder=4,
        label="this certificate",
    )


def _fraction(prior: SamplingPrior) -> float:
    """Return the share of the population in the sample; a Poisson sample is of no fixed one."""
    from sanql.mechanisms.noiseless import BinomialPrior, DiscardPrior, PoissonPrior

    match prior:
        case BinomialPrior(rate):
            return float(Fraction(rate))
        case DiscardPrior():
            return prior.sample / prior.population
        case PoissonPrior():
            return 0.0
        case _:
            raise Refused("certificate_plot", "this sample has no fixed fraction", "draw nothing")


def _threshold(
    prior: BinomialPrior | PoissonPrior, epsilon: Fraction, delta: float, known: int
) -> float:
    """Return the least threshold, or nothing to draw where none is small enough."""
    from sanql.mechanisms.noiseless import threshold_min

    try:
        return threshold_min(prior, epsilon, delta, known=known)
    except Refused:
        return math.nan


def _rough_epsilon(
    rough_delta: Callable[[float], float], delta: float, most: float
) -> float | None:
    """Return epsilon at delta in floats if it is at most `most`: good enough for a curve."""
    if rough_delta(most) > delta:
        return None
    low, high = math.log(most / 4), math.log(most)
    while rough_delta(math.exp(low)) <= delta:
        low, high = low - 1.5, low
        if low < math.log(LEAST_DRAWN):
            return None
    for _ in range(9):
        middle = (low + high) / 2
        low, high = (middle, high) if rough_delta(math.exp(middle)) > delta else (low, middle)
    return math.exp(high)


def _binomial(trials: int, chance: float) -> Any:
    """Return the law of a binomial number, from 40 standard deviations below to as many above."""
    import numpy as np

    mean, spread = trials * chance, math.sqrt(trials * chance * (1 - chance))
    first = max(0, math.floor(mean - 40 * spread))
    last = min(trials, math.ceil(mean + 40 * spread))
    ks = np.arange(first + 1, last + 1)
    steps = np.log((trials - ks + 1) / ks) + math.log(chance / (1 - chance))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    masses = np.exp(logs - logs.max())
    return masses / masses.sum()


def _count_truth(law: Any, g: float) -> float:
    """Return the worse direction of a count with one more against without, point by point."""
    import numpy as np

    more, less = np.concatenate([[0.0], law]), np.concatenate([law, [0.0]])
    one, two = np.maximum(more - g * less, 0).sum(), np.maximum(less - g * more, 0).sum()
    return float(max(one, two))
