"""How fast a million draws are, as a ratio to OpenDP's vector call in the same run.

    python -m bench.noise

Both libraries are timed in CPU seconds of this process, the least of several repeats, so that a
busy machine disturbs the ratio little. OpenDP draws fewer, since it takes seconds for a million;
its call includes handing over the list, as every caller from Python must.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial

from sanql.mechanisms import DiscreteGaussian, DiscreteLaplace, ExactSampler, Noise

DRAWS = 1_000_000
DRAWS_OPENDP = 50_000
GOALS = {"discrete Laplace": 25, "discrete Gaussian": 10}
CASES = [
    ("discrete Laplace", 1.0),
    ("discrete Laplace", 10.0),
    ("discrete Laplace", 1000.0),
    ("discrete Laplace", 1e6),
    ("discrete Gaussian", 1.0),
    ("discrete Gaussian", 10.0),
    ("discrete Gaussian", 1000.0),
    ("discrete Gaussian", 1e6),
]


def measure() -> list[dict[str, object]]:
    """Return one row a case: draws per CPU second of both, their ratio, and the ratio to reach."""
    rows: list[dict[str, object]] = []
    for family, scale in CASES:
        ours = DRAWS / _cpu_seconds(partial(_draw, family, scale), repeats=5)
        theirs = DRAWS_OPENDP / _cpu_seconds(_opendp(family, scale), repeats=2)
        rows.append(
            {
                "noise": family,
                "scale": scale,
                "sanql_per_second": round(ours),
                "opendp_per_second": round(theirs),
                "ratio": round(ours / theirs, 1),
                "goal": GOALS[family],
            }
        )
    return rows


def _draw(family: str, scale: float) -> None:
    exact = Fraction(scale)
    noise: Noise = (
        DiscreteLaplace(exact) if family == "discrete Laplace" else DiscreteGaussian(exact**2)
    )
    ExactSampler().sample(noise, DRAWS)


def _opendp(family: str, scale: float) -> Callable[[], object]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    zeros = [0] * DRAWS_OPENDP
    if family == "discrete Laplace":
        mechanism = (domain, dp.l1_distance(T="i64")) >> dp.m.then_laplace(scale)
    else:
        mechanism = (domain, dp.l2_distance(T=float)) >> dp.m.then_gaussian(scale)
    return lambda: mechanism(zeros)


def _cpu_seconds(action: Callable[[], object], repeats: int) -> float:
    action()  # warm: libraries loaded, tables built
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        action()
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    """Print the rows as a table."""
    print(f"{'noise':<18} {'scale':>9} {'SanQL/s':>12} {'OpenDP/s':>10} {'ratio':>7} {'goal':>5}")
    for row in measure():
        print(
            f"{row['noise']:<18} {row['scale']:>9g} {row['sanql_per_second']:>12,} "
            f"{row['opendp_per_second']:>10,} {row['ratio']:>6}× {row['goal']:>4}×"
        )


if __name__ == "__main__":
    main()
