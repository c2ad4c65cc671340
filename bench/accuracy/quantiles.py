"""`python -m bench.accuracy.quantiles`: errors and intervals of quantiles, beside OpenDP and diffprivlib.

Writes bench/accuracy/QUANTILES.md. diffprivlib is not a dependency of ours; its column stays empty unless
it is installed besides.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.accuracy import peers
from bench.accuracy.__main__ import RELATIONS, QuestionText, error
from bench.accuracy.shapes import Shape, shapes
from sanql.answer.estimates import band_of, value_of
from sanql.ask import plan_request, read_request
from sanql.compile.statement import compile_plan
from sanql.mechanisms import ExactSampler, Geometric
from sanql.noise.cells import add_noise
from sanql.parse import QuestionText as Text

RESULTS = Path(__file__).with_name("QUANTILES.md")
QUANTILES = {
    "median": [0.5],
    "0.9-quantile": [0.9],
    "quartiles": [0.25, 0.5, 0.75],
    "deciles": [number / 10 for number in range(1, 10)],
}
CONFIDENCE = Fraction(95, 100)
NOTES = """\
*San* is a whole question through the planner: its epsilon also pays for the interval of every number,
a seventh of it. *All for the pick* is San with as much more epsilon as the interval takes: what the
others do, of which neither gives an interval. *OpenDP* is handed a thousand evenly spaced candidates
(all values, where there are fewer) and *diffprivlib* exact gaps between rows; several quantiles share
epsilon equally, as either library leaves it to its user. Under change-one both take the number of rows
to be public and no value to be missing, as the policy tells San. Errors are mean absolute errors,
averaged over the quantiles of a row; *best peer / San* above 1 means that San is nearer. *Held* is how
many of the 95 % intervals have the truth in them: the least of the row's quantiles, and their mean.

**Where a peer is ahead** it is of one quantile of values that hardly any two rows share, under
change-one (*incomes*, the 0.9-quantile of *costs*). diffprivlib draws from the exponential mechanism
over the gaps between rows, at the scale of all of epsilon. San does the same, in effect: of candidates
that are cut ever more finely, permute and flip is the exponential mechanism. Its scale is 7/6 of
theirs for the interval's sake, and so is its error, or a little more where densities fall. *All for
the pick* is what is left without that: chance, and the bins, a part in 65,536 of the bounds.

**Where rows share values** (*ages*) San is nearer though it pays for the interval. A value is ahead of
the next by the rows between the middles of both, also where one has most of the rows (the median of
*costs*, which is a spike); and permute and flip, by which OpenDP picks as well, is never worse than
the exponential mechanism (McKenna & Sheldon, NeurIPS 2020).

**Intervals** hold more often than 95 of 100 times. Each end is found by tests from one side, rung by
rung, and the first that fails ends the search: it is too near only if the test of the first rung beyond
the truth passes, which happens in at most 2.5 of 100 answers, *and* all tests before it do. Counts
between rungs have noise of their own, so these do not always pass together: about 1 in 100 is left on
either side. No rule may count on that: where the rows on this side of the truth are far from it (a gap,
a spike) the tests before always pass, and the chance is 2.5 of 100. Where a spike is the quantile
(*costs*), the test beyond it is of thousands of rows and never wrong; and on the coarse grid of *ages*
an interval ends at a whole number, some rows beyond where it could.
"""


class Runs:
    """Answers of San to one question, each drawn anew: numbers, and ends of their intervals."""

    def __init__(self, asked: QuestionText, sql: str, epsilon: float | Fraction) -> None:
        self._asked = asked
        request = read_request(Text(sql), asked.analyst, {"epsilon": epsilon})
        (self.level,) = plan_request(asked.session, request).levels
        source = asked.session.data.open().source
        sent = compile_plan(self.level, source, ExactSampler().secret())
        self._exact = asked.session.data.open().workers.run(sent)

    @property
    def share_of_picks(self) -> Fraction:
        """What part of epsilon the picks have."""
        noise = self.level.noises[0]
        assert isinstance(noise, Geometric)
        spent = 2 * self.level.measurements[0].sensitivity.l1 / noise.scale
        return spent / self.level.charge.epsilon

    def draw(self, with_intervals: bool = True) -> list[tuple[float, float, float]]:
        """Return each number with the ends of its interval."""
        noisy = add_noise(self.level, self._exact, ExactSampler())
        found = []
        for place in range(len(self.level.estimates)):
            low = high = float(value_of(self.level, noisy, place)[0])
            value = low
            if with_intervals:
                band = band_of(self.level, noisy, place, CONFIDENCE, 1)
                assert band is not None
                low, high = float(band.low[0]), float(band.high[0])
            found.append((value, low, high))
        return found


def measure(epsilon: float, repeats: int) -> Iterator[list[str]]:
    """Yield a line for each shape, neighbour relation and list of quantiles."""
    for shape in shapes():
        for neighbours in RELATIONS:
            asked = QuestionText(shape, neighbours)
            for name in QUANTILES:
                yield line(asked, shape, name, neighbours, epsilon, repeats)
            asked.close()


def line(
    asked: QuestionText, shape: Shape, name: str, neighbours: str, epsilon: float, repeats: int
) -> list[str]:
    """Return the cells of one line."""
    fractions = QUANTILES[name]
    few_rows = len(shape.values) <= 1000
    times = repeats * (1 if len(fractions) > 1 else 40 if few_rows else 10)
    truth = np.quantile(shape.values, fractions)
    sql = ", ".join(f"QUANTILE_CONT(x, {each:g})" for each in fractions)
    runs = Runs(asked, f"SELECT {sql} FROM t", epsilon)
    drawn = np.array([runs.draw() for _ in range(times)])
    ours = float(np.abs(drawn[:, :, 0] - truth).mean())
    more = Runs(asked, f"SELECT {sql} FROM t", Fraction(epsilon) / runs.share_of_picks)
    alone = np.array([more.draw(with_intervals=False) for _ in range(times)])[:, :, 0]
    theirs = [
        error(make(shape, fractions, epsilon, neighbours), truth.tolist(), runs_of)
        for make, runs_of in (
            (peers.opendp_quantiles, times if few_rows else repeats),  # it takes its time
            (peers.diffprivlib_quantiles, times),
        )
    ]
    best = min(each for each in theirs if each is not None)
    shown = [
        f"{each:,.3g}" if each is not None else ""
        for each in (ours, float(np.abs(alone - truth).mean()), *theirs)
    ]
    return [
        shape.name,
        name,
        neighbours,
        *shown,
        f"{best / ours:.2f}" if ours else "",
        held(drawn, truth),
        f"{float((drawn[:, :, 2] - drawn[:, :, 1]).mean()):,.3g}",
    ]


def held(drawn: NDArray[np.float64], truth: NDArray[np.float64]) -> str:
    """Return how many intervals hold, in percent: the least of the quantiles, and their mean."""
    rounding = 1e-9 * np.abs(truth)
    inside = (drawn[:, :, 1] <= truth + rounding) & (truth - rounding <= drawn[:, :, 2])
    each = 100 * inside.mean(axis=0)
    least, mean = f"{each.min():.1f}", f"{each.mean():.1f}"
    return f"{least} %" if len(truth) == 1 else f"{least} %, {mean} %"


def main() -> None:
    """Measure everything and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--epsilon", type=float, default=1.0)
    arguments = parser.parse_args()
    lines = []
    for each in measure(arguments.epsilon, arguments.repeats):
        print(each, flush=True)
        lines.append(each)
    write(lines, arguments.epsilon, arguments.repeats)


def write(lines: list[list[str]], epsilon: float, repeats: int) -> None:
    """Write down what has been measured."""
    try:
        library = f"diffprivlib {version('diffprivlib')}"
    except PackageNotFoundError:
        library = "diffprivlib (not installed)"
    header = [
        "data",
        "statistic",
        "neighbours",
        "San",
        "all for the pick",
        "OpenDP",
        "diffprivlib",
        "best peer / San",
        "held",
        "width",
    ]
    text = [
        "# Errors and intervals of quantiles",
        "",
        f"Written by `python -m bench.accuracy.quantiles` on {datetime.now(UTC):%Y-%m-%d}: epsilon "
        f"{epsilon:g}, unit one row, {repeats} runs or more, {10 * repeats:,} or more of one quantile, "
        f"but of OpenDP; OpenDP {version('opendp')}, {library}.",
        "",
        NOTES,
        "| " + " | ".join(header) + " |",
        "|" + "---|" * len(header),
        *("| " + " | ".join(each) + " |" for each in lines),
    ]
    RESULTS.write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
