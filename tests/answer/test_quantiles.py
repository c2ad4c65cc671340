"""Quantiles: what is picked, how intervals hold, and what an analyst is told beforehand.

Coverage is counted over independent answers; if intervals hold with the stated confidence or more, the
number of misses is at most binomial, and the limit is passed with probability at most 1e-9.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from sanql.answer.estimates import band_of
from sanql.answer.post_process import show
from sanql.certificate.certificate import certify
from sanql.errors import Refused
from sanql.measurements.measurement import Measured
from sanql.measurements.noisy_cells import NoisyCells
from sanql.mechanisms import ExactSampler
from sanql.noise.cells import add_noise
from sanql.options import Accuracy
from sanql.plan.accuracy import half_width, least_epsilon
from sanql.plan.level import Level
from support.one_level import plan_of
from support.volume import share_rows_of

Planned = Callable[..., Level]
FALSE_ALARM = 1e-9
FRACTIONS = {"q1": 0.25, "q5": 0.5, "q9": 0.9}
SQL = (
    "SELECT MIN({x}) AS q0, QUANTILE_CONT({x}, 0.25) AS q1, MEDIAN({x}) AS q5, "
    "QUANTILE_DISC({x}, 0.9) AS q9, MAX({x}) AS top FROM rows"
)


def exact_cells(plan: Level, values: np.ndarray) -> pa.Table:
    """Return the leaves of some values, by plain arithmetic."""
    index, part = next((i, p) for i, p in enumerate(plan.measurements) if p.kind is Measured.PICKS)
    bins = part.quantile_bins
    assert bins is not None
    steps = np.floor(values / float(bins.grid) + 0.5).astype(np.int64)
    found, counts = np.unique((steps - bins.bottom) // bins.width, return_counts=True)
    whole = pa.list_(pa.int64())
    return pa.table(
        {
            f"l{index}": pa.array([found.tolist()], whole),
            f"m{index}": pa.array([counts.tolist()], whole),
        }
    )


def values_of(shape: str, size: int) -> np.ndarray:
    """Return ages: spread out, all at one place but a few, or at the two ends of a wide gap."""
    numbers = np.random.default_rng(11)
    if shape == "gap":  # as many below as above: every bin between is as good a median
        return np.repeat([10.0, 110.0], size // 2)
    if shape == "spike":
        return np.where(numbers.random(size) < 0.7, 30, numbers.integers(0, 121, size))
    return np.clip(np.round(numbers.normal(50, 25, size)), 0, 120)


@pytest.mark.parametrize("shape", ["spread", "spike"])
def test_without_noise_quantiles_lie_between_neighbouring_rows(
    planned: Planned, silent: object, shape: str
) -> None:
    plan = planned(SQL.format(x="age"), "1000")
    values = np.sort(values_of(shape, 997))
    shown = show(plan, add_noise(plan, exact_cells(plan, values), silent), Fraction(1, 2))  # type: ignore[arg-type]
    row = shown.table.to_pylist()[0]
    for name, fraction in FRACTIONS.items():
        place = fraction * (len(values) - 1)
        # levels share out rows in parts of a leaf, so a quantile may be off by a row or two
        assert values[int(place) - 2] <= row[name] <= values[int(place) + 3], name
    assert row["q0"] <= values[3] and row["top"] >= values[-4]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "price"),
    share_rows_of(product(["gap", "spread", "spike"], [("1", "0"), ("5", "1e-5"), ("40", "0")]), 4),
)
def test_intervals_hold_as_often_as_they_say(
    planned: Planned, shape: str, price: tuple[str, str]
) -> None:
    epsilon, delta = price
    plan = planned(SQL.format(x="age"), epsilon, delta)
    values = values_of(shape, 2000)
    exact, repeats, confidence = exact_cells(plan, values), 80, Fraction(7, 10)
    truth = {name: float(np.quantile(values, f)) for name, f in FRACTIONS.items()}
    truth |= {"q0": float(values.min()), "top": float(values.max())}
    missed = dict.fromkeys(truth, 0)
    for _ in range(repeats):
        shown = show(plan, add_noise(plan, exact, ExactSampler()), confidence)
        for name, (low, high) in shown.intervals.items():
            missed[name] += not low[0] <= truth[name] <= high[0]
    allowed = binom.isf(FALSE_ALARM / len(missed), repeats, float(1 - confidence))
    assert max(missed.values()) <= allowed, missed


def test_a_median_of_many_rows_is_near_and_its_interval_narrow(planned: Planned) -> None:
    plan = planned("SELECT MEDIAN(income) AS m FROM rows", "1")
    values = np.round(np.random.default_rng(1).uniform(-50, 150, 20_000), 2)
    shown = show(plan, add_noise(plan, exact_cells(plan, values), ExactSampler()), Fraction(19, 20))
    # each row is 0.01 wide in value; 200 rows off has probability below 1e-9 at this epsilon
    assert abs(shown.table.column("m")[0].as_py() - np.median(values)) < 2
    low, high = (ends[0] for ends in shown.intervals["m"])
    assert 0 < high - low < 30  # of 200


def test_an_empty_table_gives_nothing_or_an_interval_that_admits_ignorance(
    planned: Planned, silent: object
) -> None:
    plan = planned("SELECT MEDIAN(age) AS m FROM rows", "1")
    empty = exact_cells(plan, np.array([], dtype=float))
    for _ in range(20):
        shown = show(plan, add_noise(plan, empty, ExactSampler()), Fraction(999, 1000))
        found = shown.table.column("m")[0].as_py()
        assert found is None or 0 <= found <= 120
    shown = show(plan, add_noise(plan, empty, silent), Fraction(999, 1000))  # type: ignore[arg-type]
    assert shown.table.column("m")[0].as_py() is None
    low, high = (ends[0] for ends in shown.intervals["m"])
    assert high - low > 60


def test_public_data_has_exact_quantiles_and_null_where_there_are_none(planned: Planned) -> None:
    plan = planned("SELECT MEDIAN(age) AS m, MIN(age) AS least FROM open")
    values = np.array([3.0, 3.0, 5.0, 80.0, 90.0])
    shown = show(plan, add_noise(plan, exact_cells(plan, values), ExactSampler()), Fraction(1, 2))
    assert shown.table.to_pylist() == [{"m": 5.0, "least": 3}]
    empty = exact_cells(plan, np.array([], dtype=float))
    shown = show(plan, add_noise(plan, empty, ExactSampler()), Fraction(1, 2))
    assert shown.table.to_pylist() == [{"m": None, "least": None}]


@pytest.mark.slow
@pytest.mark.parametrize("fraction", ["0", "0.25", "0.3", "0.5", "0.9", "1"])
@pytest.mark.parametrize("disc", [False, True])
def test_intervals_without_noise_hold_for_all_small_data(
    planned: Planned, fraction: str, disc: bool
) -> None:
    """Whatever lies between two rows, and whichever side of a place the rows are on."""
    name, method = ("DISC", "inverted_cdf") if disc else ("CONT", "linear")
    plan = planned(f"SELECT QUANTILE_{name}(age, {fraction}) AS m FROM open")
    for size in range(1, 6):
        for held in combinations_with_replacement([3, 4, 6, 40], size):
            values = np.array(held, dtype=float)
            cells = add_noise(plan, exact_cells(plan, values), ExactSampler())
            band = band_of(plan, cells, 0, Fraction(19, 20), 1)
            assert band is not None
            truth = np.quantile(values, float(fraction), method=method)
            assert band.low[0] <= truth <= band.high[0], held


def test_an_interval_without_noise_is_no_wider_than_it_must_be(planned: Planned) -> None:
    plan = planned("SELECT MEDIAN(age) AS m FROM open")
    cells = add_noise(plan, exact_cells(plan, np.arange(101.0)), ExactSampler())
    band = band_of(plan, cells, 0, Fraction(19, 20), 1)
    assert band is not None
    assert (band.low[0], band.high[0]) == (50, 50)


def test_no_leaf_is_left_in_what_may_leave(planned: Planned) -> None:
    plan = planned(SQL.format(x="age"), "1")
    cells = add_noise(plan, exact_cells(plan, values_of("spread", 500)), ExactSampler())
    assert all(name.startswith("m") for name in cells.table.column_names)
    assert len(cells.lists(0)[0]) == 5
    assert NoisyCells.from_bytes(cells.to_bytes()).table.equals(cells.table)


def test_every_quantile_of_a_value_shares_one_measurement(planned: Planned) -> None:
    one = planned("SELECT MEDIAN(age) FROM rows")
    more = planned(
        "SELECT MEDIAN(age), QUANTILE_CONT(age, 0.25), QUANTILE_CONT(age, 0.75) FROM rows"
    )
    assert len(one.measurements) == len(more.measurements) == 2
    # three quantiles are two levels: less than twice as far off, not three times
    assert more.noises[0].standard_deviation < 2.1 * one.noises[0].standard_deviation


def test_the_rows_a_quantile_may_be_off_are_told_beforehand(planned: Planned) -> None:
    plan = planned("SELECT MEDIAN(age) AS m FROM rows", "1")
    width = half_width(plan, 0, Fraction(9, 10))
    assert width is not None
    values = np.arange(100_000) % 121
    exact, off = exact_cells(plan, values.astype(float)), 0
    ranks = np.cumsum(np.bincount(values, minlength=121))
    for _ in range(60):
        shown = show(plan, add_noise(plan, exact, ExactSampler()), Fraction(1, 2))
        picked = int(shown.table.column("m")[0].as_py())
        before, upto = ranks[picked - 1] if picked else 0, ranks[picked]
        off += not before - width <= 50_000 <= upto + width
    assert off <= binom.isf(FALSE_ALARM, 60, 0.1)


def test_the_certificate_says_how_a_quantile_was_found(planned: Planned) -> None:
    certificate = certify(plan_of(planned("SELECT MEDIAN(age), MIN(score) FROM rows"))).to_dict()
    words = [line["from"] for line in certificate["aggregates"]]  # type: ignore[attr-defined]
    assert words[0].startswith("0.5-quantile picked by noisy ranks (measurement 1)")
    assert words[1].startswith("smallest value picked")


def test_an_accuracy_cannot_choose_the_epsilon_of_a_quantile(planned: Planned) -> None:
    plan = planned("SELECT MEDIAN(age) FROM rows")
    with pytest.raises(Refused, match="spread"):
        least_epsilon(plan_of(plan).outline, Fraction(0), Accuracy(Fraction(3)))


@pytest.mark.slow
def test_an_end_is_wrong_no_more_often_than_its_side_may_be(planned: Planned) -> None:
    """The median is a spike, and every test above it is of a rank that is next to nothing."""
    plan = planned("SELECT MEDIAN(age) AS m FROM rows", "1")
    values = np.repeat([60.0, 110.0], [1001, 999])
    exact, repeats, confidence = exact_cells(plan, values), 500, Fraction(1, 2)
    missed = 0
    for _ in range(repeats):
        shown = show(plan, add_noise(plan, exact, ExactSampler()), confidence)
        missed += shown.intervals["m"][0][0] > 60
    assert missed <= binom.isf(FALSE_ALARM, repeats, float(1 - confidence) / 2), missed
    assert missed >= repeats / 20  # and it is not far too wide: below, by chance, in under 1e-9
