"""The row of other groups: exactly what the groups that do not appear have, and noise of its own."""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sanql.answer.display import Display
from sanql.answer.post_process import show
from sanql.certificate.certificate import certify
from sanql.measurements.measurement import Measured
from sanql.measurements.noisy_cells import NoisyCells
from sanql.mechanisms import Noise
from sanql.noise.cells import add_noise
from sanql.plan.level import Level
from support.one_level import plan_of

Planned = Callable[..., Level]
CONFIDENCE = Fraction(95, 100)
NAMED = Display(other="(other)")
COUNTED = "SELECT city, COUNT(*) AS n FROM rows GROUP BY city"
SUMMED = "SELECT city, COUNT(*) AS n, SUM(score) AS s, AVG(score) AS a FROM visits GROUP BY city"


@dataclass
class Telling:
    """A sampler whose draws are 1 for whole columns and 1000 for single cells; it notes both."""

    asked: list[tuple[Noise, int]] = field(default_factory=list)

    def sample(self, noise: Noise, count: int) -> np.ndarray:
        self.asked.append((noise, count))
        return np.full(count, 1 if count > 1 else 1000)

    def secret(self) -> int:
        return 1


def cells_of(plan: Level, units: list[int], **others: list[int]) -> pa.Table:
    """Return exact cells of groups a, b, …: units as given, other measurements by kind."""
    keys = [chr(97 + i) for i in range(len(units))]
    columns: dict[str, Any] = {"k0": pa.array(keys, pa.string())}
    for index, part in enumerate(plan.measurements):
        values = others.get(part.kind.name.lower(), units)
        if part.choices:  # how many values of a unit count changes nothing
            columns[f"m{index}"] = pa.array([[n] * len(part.choices) for n in values])
            columns[f"q{index}"] = pa.array([[sum(values)] * len(part.choices) for _ in values])
        elif part.of is None:
            columns[f"m{index}"] = pa.array(values, pa.int64())
    return pa.table(columns)


def rows_of(plan: Level, cells: NoisyCells, finish: Display = NAMED) -> list[dict[str, Any]]:
    return show(plan, cells, CONFIDENCE, finish).table.to_pylist()


def test_the_row_adds_up_the_groups_that_do_not_appear(planned: Planned, silent: Any) -> None:
    plan = planned(SUMMED, delta="1e-6", other=True)
    threshold = plan.priced.threshold
    assert threshold is not None
    units = [threshold + 5, 3, threshold - 1, threshold]
    sums = [50, -7, 40, 11]
    cells = cells_of(plan, units, rows=[900, 5, 70, 800], values=[900, 4, 60, 800], sum=sums)
    found = rows_of(plan, add_noise(plan, cells, silent))
    assert [row["city"] for row in found] == ["a", "d", "(other)"]
    centre = next(p.centre for p in plan.measurements if p.kind is Measured.SUM)
    assert found[-1]["n"] == 75
    assert found[-1]["s"] == 33 + 64 * centre
    assert found[-1]["a"] == pytest.approx(33 / 64 + centre)


@pytest.mark.parametrize("units", [[], [1, 2], [10_000, 20_000]])
def test_the_row_is_there_whatever_is_missing(
    planned: Planned, silent: Any, units: list[int]
) -> None:
    plan = planned(COUNTED, delta="1e-6", other=True)
    found = rows_of(plan, add_noise(plan, cells_of(plan, units), silent))
    assert found[-1] == {"city": "(other)", "n": sum(n for n in units if n < 10_000)}
    assert len(found) == 1 + sum(n >= 10_000 for n in units)


def test_the_noise_of_the_row_is_one_draw_of_its_own_however_many_groups_are_missing(
    planned: Planned,
) -> None:
    for missing in (2, 50):
        plan = planned(SUMMED, delta="1e-6", other=True)
        assert plan.outline.measuring.other_groups is None
        telling = Telling()
        noisy = add_noise(plan, cells_of(plan, [1] * missing, sum=[0] * missing), telling)
        columns = [noise for noise, count in telling.asked if count == missing]
        single = [noise for noise, count in telling.asked if count == 1]
        selection = plan.outline.measuring.selection
        assert selection is not None
        assert columns == [plan.noises[selection]]
        added = [i for i, p in enumerate(plan.measurements) if p.kind is not Measured.UNITS]
        assert single == [plan.noises[index] for index in added]
        rows = next(i for i in added if plan.measurements[i].kind is Measured.ROWS)
        assert noisy.measurement(rows).tolist() == [missing + 1000]


def test_the_draw_that_selects_is_never_used_for_other_groups(planned: Planned) -> None:
    plan = planned(COUNTED, delta="1e-6", other=True)
    other_groups, selection = plan.outline.measuring.other_groups, plan.outline.measuring.selection
    assert other_groups is not None and selection is not None
    telling = Telling()
    noisy = add_noise(plan, cells_of(plan, [1, 2, 3]), telling)
    assert telling.asked == [(plan.noises[selection], 3), (plan.noises[other_groups], 1)]
    assert noisy.measurement(selection).tolist() == [6 + 1000]


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.3", "1e-2"), ("30", "1e-9")])
@pytest.mark.parametrize("sql", [COUNTED, SUMMED, "SELECT city, AVG(age + 1) AS a, COUNT(*) AS n, SUM(age + 1) AS s FROM rows GROUP BY city"])  # fmt: skip
def test_intervals_of_the_row_are_those_of_its_own_noise(
    planned: Planned, silent: Any, sql: str, epsilon: str, delta: str
) -> None:
    # what is shown is the exact rest plus one draw of that noise (see above), so ends at the
    # noise's half-width around it hold with the confidence exactly as for any group
    plan = planned(sql, epsilon, delta, other=True)
    measuring = plan.outline.measuring
    cells = add_noise(plan, cells_of(plan, [1, 1, 1, 10_000]), silent)
    shown = show(plan, cells, CONFIDENCE, NAMED)
    index = measuring.other_groups
    if index is None:
        index = next(i for i, p in enumerate(plan.measurements) if p.kind is Measured.ROWS)
    width = plan.noises[index].half_width(CONFIDENCE)
    low, high = shown.intervals["n"]
    assert (low[-1], high[-1]) == (3 - width, 3 + width)
    if measuring.other_groups is not None and measuring.selection is not None:
        theirs = plan.noises[measuring.selection].half_width(CONFIDENCE)
        assert (low[0], high[0]) == (10_000 - theirs, 10_000 + theirs)


def test_what_cannot_be_added_up_is_null_in_the_row(planned: Planned, silent: Any) -> None:
    sql = "SELECT city, COUNT(DISTINCT person_id) AS u, COUNT(DISTINCT age) AS d, COUNT(*) AS n, 2 * COUNT(DISTINCT age) AS e FROM visits GROUP BY city"
    plan = planned(sql, delta="1e-6", other=True)
    shown = show(plan, add_noise(plan, cells_of(plan, [10_000, 2]), silent), CONFIDENCE, NAMED)
    assert shown.table.to_pylist() == [
        {"city": "a", "u": 10_000, "d": 10_000, "n": 10_000, "e": 20_000},
        {"city": "(other)", "u": None, "d": None, "n": 2, "e": None},
    ]
    for name in "ude":
        low, high = shown.intervals[name]
        assert np.isfinite([low[0], high[0]]).all()
        assert np.isnan([low[1], high[1]]).all()


def test_quantiles_are_null_in_the_row(planned: Planned, silent: Any) -> None:
    plan = planned("SELECT city, MEDIAN(age) AS m, MAX(age) AS x FROM rows GROUP BY city", delta="1e-6", other=True)  # fmt: skip
    picks = next(i for i, p in enumerate(plan.measurements) if p.kind is Measured.PICKS)
    selection = plan.outline.measuring.selection
    lists = pa.list_(pa.int64())
    cells = pa.table({
        "k0": ["a", "b"], f"m{selection}": [10_000, 2],
        f"l{picks}": pa.array([[40], [40]], lists), f"m{picks}": pa.array([[10_000], [2]], lists),
    })  # fmt: skip
    shown = show(plan, add_noise(plan, cells, silent), CONFIDENCE, NAMED)
    first, last = shown.table.to_pylist()
    assert first["m"] == 40
    assert last == {"city": "(other)", "m": None, "x": None}
    assert np.isnan([shown.intervals["m"][0][1], shown.intervals["m"][1][1]]).all()


def test_units_are_added_up_where_a_unit_is_in_one_group(planned: Planned, silent: Any) -> None:
    sql = "SELECT city, COUNT(*) AS n, COUNT(DISTINCT age) AS d FROM rows GROUP BY city"
    plan = planned(sql, delta="1e-6", other=True)
    found = rows_of(plan, add_noise(plan, cells_of(plan, [3, 4, 5]), silent))
    assert found == [{"city": "(other)", "n": 12, "d": None}]


def test_sums_saturate_and_never_wrap(planned: Planned, silent: Any) -> None:
    sql = "SELECT city, SUM(score) AS s FROM visits GROUP BY city"
    plan = planned(sql, delta="1e-6", other=True)
    big = 2**62
    for sums, expected in ([big] * 3, big), ([-big] * 3, -big), ([big, big, -big, -big, 5], 5):
        cells = cells_of(plan, [1] * len(sums), sum=sums)
        noisy = add_noise(plan, cells, silent)
        index = next(i for i, p in enumerate(plan.measurements) if p.kind is Measured.SUM)
        assert noisy.measurement(index).tolist() == [expected]


def test_keys_that_are_not_text_are_null_in_the_row(planned: Planned, silent: Any) -> None:
    plan = planned(
        "SELECT born, city, COUNT(*) AS n FROM rows GROUP BY 1, 2", delta="1e-6", other=True
    )
    exact = pa.table({"k0": [date(2020, 1, 2), None], "k1": ["x", None], "m0": [10_000, 3]})
    assert rows_of(plan, add_noise(plan, exact, silent)) == [
        {"born": date(2020, 1, 2), "city": "x", "n": 10_000},
        {"born": None, "city": "(other)", "n": 3},
    ]


@pytest.mark.parametrize(
    ("clause", "cities"),
    [
        ("", ["a", "c", "(other)"]),
        (" ORDER BY city", ["(other)", "a", "c"]),
        (" ORDER BY n DESC", ["c", "a", "(other)"]),
        (" ORDER BY n LIMIT 1", ["(other)"]),
        (" LIMIT 2", ["a", "c"]),
        (" HAVING COUNT(*) > 100", ["a", "c"]),
        (" HAVING COUNT(*) < 100", ["(other)"]),
        (" HAVING city <> 'a'", ["c", "(other)"]),
    ],
)
def test_sql_around_the_groups_treats_the_row_as_any_other(
    planned: Planned, silent: Any, clause: str, cities: list[str]
) -> None:
    plan = planned(COUNTED + clause, delta="1e-6", other=True)
    found = rows_of(plan, add_noise(plan, cells_of(plan, [5_000, 3, 10_000]), silent))
    assert [row["city"] for row in found] == cities


def test_cells_with_the_row_read_back_as_they_were_written(planned: Planned, silent: Any) -> None:
    plan = planned(COUNTED, delta="1e-6", other=True)
    noisy = add_noise(plan, cells_of(plan, [10_000, 3]), silent)
    again = NoisyCells.from_bytes(noisy.to_bytes())
    assert again.table.equals(noisy.table)
    assert again.other_groups.tolist() == noisy.other_groups.tolist() == [False, True]
    named, renamed = (rows_of(plan, again, Display(other=name)) for name in ("(other)", "rest"))
    assert [row["city"] for row in (named[-1], renamed[-1])] == ["(other)", "rest"]


def test_the_certificate_says_that_others_are_added_up(planned: Planned) -> None:
    certificate = certify(plan_of(planned(COUNTED, delta="1e-6", other=True)), NAMED.in_words())
    assert certificate.keys.endswith("what all others have together is one row more")
    assert certificate.measurements[-1]["measures"] == "units in groups that do not appear"
    assert any("groups that do not appear" in said for said in certificate.assumptions)
    plain = certify(plan_of(planned(COUNTED, delta="1e-6")))
    assert "others" not in plain.keys
