"""The same statistics from OpenDP and diffprivlib, each used as its documentation shows.

Several quantiles share epsilon equally, which is what either library leaves to its user. OpenDP chooses
among candidates, here a thousand evenly spaced ones (all values, where there are fewer). Under change-one
both libraries take the number of rows to be public, as San does.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from bench.accuracy.shapes import Shape

Run = Callable[[], list[float]]
CANDIDATES = 1000


def opendp_quantiles(
    shape: Shape, fractions: list[float], epsilon: float, neighbours: str
) -> Run | None:
    """Return one run of OpenDP's private quantiles (permute and flip over candidates)."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    size = len(shape.values) if neighbours == "change-one" else None
    distance = 1 if size is None else 2
    space = (
        dp.vector_domain(dp.atom_domain(T=float, nan=False), size=size),
        dp.symmetric_distance(),
    )
    points = min(CANDIDATES, round((shape.high - shape.low) / shape.precision)) + 1
    candidates = np.linspace(shape.low, shape.high, points).tolist()
    made = []
    for fraction in fractions:

        def at(scale: float, fraction: float = fraction) -> dp.Measurement:
            return dp.m.make_private_quantile(
                *space, dp.max_divergence(), candidates=candidates, alpha=fraction, scale=scale
            )

        made.append(
            dp.binary_search_chain(at, d_in=distance, d_out=epsilon / len(fractions), T=float)
        )
    values = shape.values.tolist()
    return lambda: [float(each(values)) for each in made]


def opendp_variance(shape: Shape, epsilon: float, neighbours: str) -> Run | None:
    """Return one run of OpenDP's variance, which exists where the number of rows is public."""
    if neighbours != "change-one":
        return None
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(
        dp.atom_domain(bounds=(float(shape.low), float(shape.high)), nan=False),
        size=len(shape.values),
    )
    exact = dp.t.make_variance(domain, dp.symmetric_distance())
    made = dp.binary_search_chain(
        lambda scale: exact >> dp.m.then_laplace(scale), d_in=2, d_out=epsilon, T=float
    )
    values = shape.values.tolist()
    return lambda: [float(made(values))]


def opendp_distinct(shape: Shape, epsilon: float, rows: int) -> Run:
    """Return one run of OpenDP's count of distinct values, where a person has so many rows."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    steps = np.round(shape.values / shape.precision).astype(int).tolist()
    counted = (
        dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    ) >> dp.t.then_count_distinct()  # fmt: skip
    made = dp.binary_search_chain(
        lambda scale: counted >> dp.m.then_laplace(scale), d_in=rows, d_out=epsilon, T=float
    )
    return lambda: [float(made(steps))]


def diffprivlib_quantiles(
    shape: Shape, fractions: list[float], epsilon: float, neighbours: str
) -> Run | None:
    """Return one run of diffprivlib's quantiles (exponential mechanism over gaps)."""
    if neighbours != "change-one" or not find_spec("diffprivlib"):
        return None
    from diffprivlib import tools

    def run() -> list[float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = tools.quantile(
                shape.values, fractions, epsilon=epsilon, bounds=(shape.low, shape.high)
            )
        return [float(value) for value in np.atleast_1d(found)]

    return run


def diffprivlib_variance(shape: Shape, epsilon: float, neighbours: str) -> Run | None:
    """Return one run of diffprivlib's variance."""
    if neighbours != "change-one" or not find_spec("diffprivlib"):
        return None
    from diffprivlib import tools

    bounds = (shape.low, shape.high)
    return lambda: [float(tools.var(shape.values, epsilon=epsilon, bounds=bounds))]
