"""Where exact values meet noise: one draw a cell, saturating, thresholded, in an order of its own."""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sanql.answer.post_process import show
from sanql.errors import Unavailable
from sanql.measurements.noisy_cells import NoisyCells
from sanql.mechanisms import ExactSampler
from sanql.noise.cells import add_noise
from sanql.plan.level import Level

Planned = Callable[..., Level]
LIMIT = 2**62


def keys_of_age_and_score() -> dict[str, Any]:
    ages, scores = np.divmod(np.arange(121 * 41), 41)
    return {"k0": ages, "k1": scores - 10}


def test_each_cell_gets_a_draw_of_its_own(planned: Planned, watched: Any) -> None:
    plan = planned(
        "SELECT age, score, COUNT(*), SUM(income) FROM visits GROUP BY age, score", "0.01"
    )
    cells = 121 * 41
    zeros = {f"m{index}": np.zeros(cells, dtype=np.int64) for index in range(len(plan.noises))}
    noisy = add_noise(plan, pa.table({**keys_of_age_and_score(), **zeros}), watched)
    assert watched.asked == [cells] * len(plan.noises)
    for index in range(len(plan.noises)):
        drawn = noisy.measurement(index)
        # a broadcast draw would show one value; scales are in the hundreds, so 4,961 independent
        # draws show fewer than 100 values with probability far below 1e-9
        assert len(np.unique(drawn)) > 100
    first, second = noisy.measurement(0), noisy.measurement(1)
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.1  # 7 sigma: measurements do not share draws


def test_a_second_answer_has_other_noise(planned: Planned) -> None:
    plan = planned("SELECT age, score, COUNT(*) FROM rows GROUP BY age, score", "0.1")
    exact = pa.table({**keys_of_age_and_score(), "m0": np.zeros(121 * 41, dtype=np.int64)})
    one, two = (add_noise(plan, exact, ExactSampler()).measurement(0) for _ in range(2))
    assert (one != two).mean() > 0.8


@pytest.mark.parametrize("exact", [LIMIT, LIMIT - 1, 2**63 - 1, -LIMIT, -(2**63)])
def test_noise_saturates_and_never_wraps(planned: Planned, exact: int) -> None:
    plan = planned("SELECT COUNT(*) AS n FROM rows", "0.000001")
    cells = pa.table({"m0": pa.array([exact], pa.int64())})
    for _ in range(200):
        noisy = add_noise(plan, cells, ExactSampler()).measurement(0)[0]
        assert -LIMIT <= noisy <= LIMIT
        assert abs(int(noisy) - max(-LIMIT, min(LIMIT, exact))) < 10**9


def test_a_sum_moved_back_by_its_centre_saturates_too(planned: Planned, silent: Any) -> None:
    sql = "SELECT SUM(income) AS s, COUNT(income) AS n FROM rows"
    plan = planned(sql, neighbours="change-one")  # the number of rows is public: no pair
    assert plan.measurements[0].centre and plan.measurements[0].pair is None
    columns = {f"m{index}": [LIMIT] for index in range(len(plan.noises))}
    shown = show(plan, add_noise(plan, pa.table(columns), silent), Fraction(19, 20))
    total, count = (shown.table.column(name)[0].as_py() for name in ("s", "n"))
    assert total == pytest.approx(LIMIT * 0.01)
    assert count == LIMIT


def test_sides_of_a_pair_saturate_and_what_is_read_off_them_never_wraps(
    planned: Planned, silent: Any
) -> None:
    plan = planned("SELECT SUM(income) AS s, COUNT(income) AS n, AVG(income) AS a FROM rows")
    assert all(part.pair is not None for part in plan.measurements)
    columns = {f"m{index}": [LIMIT] for index in range(len(plan.noises))}
    shown = show(plan, add_noise(plan, pa.table(columns), silent), Fraction(19, 20))
    total, count, mean = (shown.table.column(name)[0].as_py() for name in ("s", "n", "a"))
    assert mean == 50 and total == pytest.approx(50 * count)
    assert count >= 2**33  # nobody has so many rows


def test_only_keys_that_reach_the_threshold_appear(planned: Planned, silent: Any) -> None:
    plan = planned("SELECT city, COUNT(*) AS n FROM rows GROUP BY city", "1", "1e-6")
    threshold = plan.priced.threshold
    assert threshold is not None and threshold > 2
    counts = {"few": 1, "almost": threshold - 1, "enough": threshold, "many": threshold + 50}
    exact = pa.table({"k0": list(counts), "m0": list(counts.values())})
    noisy = add_noise(plan, exact, silent)
    assert noisy.table.to_pydict() == {"k0": ["enough", "many"], "m0": [threshold, threshold + 50]}


def test_a_key_of_one_unit_appears_at_most_as_often_as_delta_says(planned: Planned) -> None:
    plan = planned("SELECT city FROM rows GROUP BY city", "1", "1e-2")
    cells = 50_000
    exact = pa.table({"k0": np.arange(cells).astype(str), "m0": np.ones(cells, dtype=np.int64)})
    appeared = add_noise(plan, exact, ExactSampler()).count
    from scipy.stats import binom

    assert appeared <= binom.isf(1e-9, cells, 1e-2)
    assert appeared > 0


@pytest.mark.parametrize("keys", [["b", "a", None, "c"], ["c", None, "b", "a"]])
def test_cells_are_sorted_by_key_whatever_order_the_engine_had(
    planned: Planned, silent: Any, keys: list[str | None]
) -> None:
    plan = planned("SELECT city, COUNT(*) AS n FROM rows GROUP BY city", "1", "1e-6")
    exact = pa.table({"k0": keys, "m0": [1000 + len(str(key)) for key in keys]})
    assert add_noise(plan, exact, silent).table.column("k0").to_pylist() == ["a", "b", "c", None]


@pytest.mark.parametrize(
    ("sql", "rows"),
    [("SELECT COUNT(*) FROM rows", 0), ("SELECT COUNT(*) FROM rows", 2), ("SELECT sex, COUNT(*) FROM rows GROUP BY sex", 1), ("SELECT sex, COUNT(*) FROM rows GROUP BY sex", 3)],
)  # fmt: skip
def test_a_number_of_cells_that_depends_on_data_is_no_answer(
    planned: Planned, silent: Any, sql: str, rows: int
) -> None:
    plan = planned(sql)
    columns: dict[str, Any] = {"m0": pa.array([1] * rows, pa.int64())}
    if plan.query.keys:
        columns = {"k0": pa.array(["F"] * rows, pa.string()), **columns}
    with pytest.raises(Unavailable):
        add_noise(plan, pa.table(columns), silent)


def test_cells_read_back_as_they_were_written(planned: Planned, silent: Any) -> None:
    plan = planned("SELECT born, city, COUNT(*) FROM rows GROUP BY 1, 2", "1", "1e-6")
    from datetime import date

    exact = pa.table({"k0": [date(2020, 1, 2), None], "k1": ["é\u202e", None], "m0": [2**61, 1000]})
    noisy = add_noise(plan, exact, silent)
    again = NoisyCells.from_bytes(noisy.to_bytes())
    assert again.table.equals(noisy.table)
    assert again.to_bytes() == noisy.to_bytes()


def test_a_group_that_nobody_keeps_is_none_whatever_is_added_up_for_it(
    planned: Planned, watched: Any
) -> None:
    """One unit may be in more groups than it keeps; a draw for these would be paid by nobody."""
    plan = planned("SELECT city, COUNT(*) AS n FROM visits GROUP BY city", "1", "1e-6")
    selection = plan.outline.measuring.selection
    assert selection is not None and any(part.norm for part in plan.measurements)
    many = {f"m{index}": [10**9] * 4 for index in range(len(plan.noises))}
    exact = {"k0": ["a", "b", "c", "d"], **many, f"m{selection}": [0, 1, 10**6, 0]}
    noisy = add_noise(plan, pa.table(exact), watched)
    assert watched.asked == [2, 1]
    assert noisy.table.column("k0").to_pylist() == ["c"]


def test_keys_that_do_not_appear_cost_one_draw_and_no_more(planned: Planned, watched: Any) -> None:
    question = "SELECT city, COUNT(*) AS n, SUM(income) AS s FROM visits GROUP BY city"
    plan = planned(question, "1", "1e-6")
    selection, units = plan.outline.measuring.selection, [1] * 700 + [10**6] * 300
    assert selection is not None
    zeros = {f"m{index}": [0] * 1000 for index in range(len(plan.noises))}
    exact = {"k0": [f"{i:04}" for i in range(1000)], **zeros, f"m{selection}": units}
    noisy = add_noise(plan, pa.table(exact), watched)
    assert watched.asked == [1000] + [300] * (len(plan.noises) - 1)
    assert noisy.table.column("k0").to_pylist() == [f"{i:04}" for i in range(700, 1000)]
    shown = noisy.measurement(selection)
    assert (shown != 10**6).any()  # the draw that selected is the one that is shown
    assert len({len(noisy.measurement(index)) for index in range(len(plan.noises))}) == 1
