"""What choosing how many distinct values of a person count costs: `python -m bench.accuracy.choosing`.

A person has up to five rows. Three kinds of data, by how many pairs are found where 1, 2, 4 or 5 values
of a person count; for each share of epsilon that choosing may have, what the count is off by on average,
as the mechanism does it (measurements/value_choice.py). Nothing is timed, and seeds are fixed.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np

from sanql.measurements import choice_penalties, choice_scores, value_choices
from sanql.measurements.quantile_picks import ROW

PAGE = Path(__file__).with_name("CHOOSING.md")
RUNS = 40_000
EPSILON = 1.0
CHOICES = value_choices(5)
FOUND = {
    "121 values, which 1,000 people share": (121, 121, 121, 121),
    "605 values of 500 people": (500, 560, 600, 605),
    "10,000 values of 2,000 people, no two of them alike": (2_000, 4_000, 8_000, 10_000),
}
SHARES = ("0", "1/20", "1/10", "1/5", "3/10", "2/5", "1/2")


def main() -> None:
    """Write the page."""
    names = ["share for choosing", *FOUND]
    lines = [
        "# What choosing how many values count costs",
        "",
        f"Written by `python -m bench.accuracy.choosing`: epsilon 1, add-remove, no groups, {RUNS:,} "
        "runs; mean absolute errors. A person has five rows; without a share all five count, as they do "
        "in OpenDP. San's share is 2/5. "
        "[Distinct values](../../docs/distinct_values.md#what-choosing-costs) says why none is best for "
        "all three.",
        "",
        "| " + " | ".join(names) + " |",
        "|" + "---|" * len(names),
    ]
    for share in SHARES:
        errors = [f"{error(found, Fraction(share)):.2f}" for found in FOUND.values()]
        lines.append("| " + " | ".join([share, *errors]) + " |")
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))


def error(found: tuple[int, ...], share: Fraction) -> float:
    """Return how far a count is off on average where choosing has this share of epsilon."""
    random = np.random.default_rng(16)
    of_counts = EPSILON * float(1 - share)
    places = _chosen(found, share, of_counts, random)
    values = np.array(CHOICES)[places]
    ratio = np.exp(-of_counts / values)
    noise = random.geometric(1 - ratio) - random.geometric(1 - ratio)
    missed = max(found) - np.array(found)[places]
    return float(np.abs(noise - missed).mean())


def _chosen(
    found: tuple[int, ...], share: Fraction, of_counts: float, random: np.random.Generator
) -> np.ndarray:
    """Return the places that are chosen; without a share all five values count."""
    if not share:
        return np.full(RUNS, len(CHOICES) - 1)
    of_choice = EPSILON * float(share)
    penalties = choice_penalties(CHOICES, Fraction(2 * ROW / of_choice), 2**0.5 / of_counts, 1)
    scores = choice_scores(found, CHOICES, penalties, "add-remove")
    drawn = random.geometric(1 - np.exp(-of_choice / 2), (RUNS, len(CHOICES)))
    return np.argmax(np.array(scores) / ROW + drawn, axis=1)


if __name__ == "__main__":
    main()
