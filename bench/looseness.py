"""How far certified bounds lie above what is attained: `python -m bench.looseness` writes LOOSENESS.md.

Truth is enumerated where it can be. No number here depends on how fast the machine is.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

from sanql.mechanisms.noiseless import DiscardPrior, LikelyGood, MapAdversary, SizePrior
from sanql.mechanisms.noiseless.map_enumeration import enumerated_delta, feasible
from sanql.mechanisms.noiseless.map_estimators import chernoff_delta
from sanql.mechanisms.noiseless.map_tails import tail_delta
from sanql.mechanisms.noiseless.sampled_cells import cell_deltas
from sanql.mechanisms.noiseless.sampled_sizes import sampled_deltas

PAGE = Path(__file__).parent / "LOOSENESS.md"


def main() -> None:
    """Write the page."""
    PAGE.write_text("\n\n".join([_head(), _histograms(), _estimators(), _likely_good()]) + "\n")


def _head() -> str:
    return (
        "# How loose the bounds are\n\n`python -m bench.looseness` writes this page: certified deltas"
        " over deltas that some member of\nthe class attains, so that 1.00 is no loss."
    )


def _histograms() -> str:
    discarding = [
        (120, 60, "0.5", 20, 15, "1"),
        (300, 200, "0.5", 30, 40, "1"),
        (500, 100, "0.2", 40, 20, "1"),
    ]
    rows = []
    for population, sample, level, offset, k, epsilon in discarding:
        prior = DiscardPrior(population, sample, level, offset)
        rows.append(_row(f"{sample} of {population}, {offset} ± discarded", prior, k, epsilon))
    for population, first, count in ((300, 100, 40), (200, 150, 49), (100, 1, 99)):
        weights = [1 + (i * i) % 7 for i in range(count)]
        masses = tuple(Fraction(w, sum(weights)) for w in weights)
        prior_of_sizes = SizePrior(population, first, masses)
        name = f"{first} to {first + count - 1} of {population}, uneven law"
        rows.append(_row(name, prior_of_sizes, 20, "1"))
    head = "| sample | k | epsilon | certified | attained, at m others | ratio |"
    return "\n".join(["## Histograms of samples of random size", "", head, "|---" * 6 + "|", *rows])


def _row(name: str, prior: DiscardPrior | SizePrior, k: int, epsilon: str) -> str:
    level = Fraction(epsilon)
    found = max(sampled_deltas(k, level, prior))

    def at(m: int) -> float:
        return max(cell_deltas(k, level, prior, m))

    step = max(1, prior.population // 60)
    best = max(range(k - 1, prior.population, step), key=at)
    near = range(max(k - 1, best - step), min(prior.population, best + step + 1))
    best = max(near, key=at)
    return (
        f"| {name} | {k} | {epsilon} | {found:.3g} | {at(best):.3g}, at {best} |"
        f" {found / at(best):.3f} |"
    )


def _estimators() -> str:
    laws = {
        "0.6/0.4 and 0.4/0.6": (("0.6", "0.4"), ("0.4", "0.6")),
        "0.9/0.1 and 0.1/0.9": (("0.9", "0.1"), ("0.1", "0.9")),
        "three values, mirrored": (("0.5", "0.3", "0.2"), ("0.2", "0.3", "0.5")),
        "three values, uneven": (("0.5", "0.3", "0.2"), ("0.31", "0.29", "0.4")),
        "three laws, three values": (
            ("0.5", "0.3", "0.2"),
            ("0.2", "0.5", "0.3"),
            ("0.3", "0.2", "0.5"),
        ),
    }
    rows = []
    for name, family in laws.items():
        for others in (20, 100, 300):
            adversary = MapAdversary(others, family)
            if feasible(adversary):
                chernoff, exact = (
                    chernoff_delta(adversary),
                    enumerated_delta(adversary, Fraction(0)),
                )
                bound = tail_delta(adversary, Fraction(0))
                if chernoff > 1e-9:  # the enumeration's own slack is some 1e-12
                    rows.append(
                        f"| {name} | {others} | {exact:.3g} | {bound:.3g} | {bound / exact:.3f} |"
                        f" {chernoff / exact:.1f} |"
                    )
    text = (
        "## MAP estimators: tails where the truth can be enumerated\n\nWhere enumeration is "
        "feasible a certificate is exact; these are what the same classes get beyond it. What is left\n"
        "of three laws is the chance that two wrong ones are ahead of the right one at once, which is "
        "bounded by\nChernoff's method: it goes to 0 faster than delta does. Chernoff's bound of delta "
        "itself leaves out a factor of\nabout 1/√n; verdicts in SQL rest on it, since it falls with n, "
        "as `records_min` needs. A ratio\nbelow 1 is the enumeration's own slack for rounding."
    )
    return "\n".join(
        [
            text,
            "",
            "| laws | others | exact | tails | ratio | Chernoff's ratio |",
            "|---" * 6 + "|",
            *rows,
        ]
    )


def _likely_good() -> str:
    rows = []
    for records, epsilon, delta, eta in (
        (1000, 0.1, 1e-12, 1e-4),
        (1000, 0.5, 1e-9, 0.01),
        (100, 1.0, 1e-9, 0.05),
        (10, 0.1, 1e-6, 0.1),
    ):
        found = LikelyGood(records, epsilon, delta).certificate(eta).delta_upper
        former = delta / eta + records * (math.exp(epsilon) * delta / eta + delta)
        rows.append(
            f"| {records} | {epsilon} | {delta} | {eta} | {found:.3g} | {former / found:.2f} |"
        )
    text = (
        "## Corollary 5.2: the least of two forms\n\nThe last column is by how much the closed form with "
        "eta alone is greater. K_tv is sharp for one person\n(pairs attain it); the factor n of the "
        "union bound is the stated reason for what may be left."
    )
    head = "| records | epsilon | delta | eta | certified failure | eta form over it |"
    return "\n".join([text, "", head, "|---" * 6 + "|", *rows])


if __name__ == "__main__":
    main()
