"""Where limits bind, exact cells equal the documented rules worked out in plain Python."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from privacy.bounding import Drawn, contribution, split
from privacy.worlds import Bounding, Row
from support.volume import few_of

pytestmark = pytest.mark.slow

Exact = Callable[..., tuple[Any, list[dict[str, Any]]]]
LIMITS = [
    Bounding(1, 1, None),
    Bounding(2, 2, None),
    Bounding(4, 3, 2),
    Bounding(5, 3, None),
    Bounding(6, 3, 2),
    Bounding(7, 3, 5),
    Bounding(7, 7, 3),
]


def crowd(seed: int, units: int = 6, rows: int = 15) -> list[Row]:
    """Return people with far more rows than they may have, in few groups."""
    rng = random.Random(seed)
    return [
        {
            "person": rng.choice([None, *range(units)]),
            "sex": rng.choice(["F", "M", "it's", "elsewhere", None]),
            "city": rng.choice(["Rome", "Oslo", "Paris", "Bern", None]),
            "age": rng.choice([None, 0, 7, 13, 40]),
            "swing": rng.choice([-5, -1, 3, None]),
        }
        for _ in range(units * rows)
    ]


def age_of(row: Row) -> int | None:
    """Return the age as it is summed."""
    return None if row["age"] is None else max(0, min(40, row["age"]))


@pytest.mark.parametrize("bounding", [b for b in LIMITS if b.groups >= 3])
@pytest.mark.parametrize("seed", few_of(range(3), 1))
def test_rows_beyond_the_limits_are_shared_among_groups_as_documented(
    seed: int, bounding: Bounding, exact: Exact
) -> None:
    rows = crowd(seed)
    expected: dict[Any, list[int]] = {sex: [0, 0, 0] for sex in ("F", "M", "it's")}
    listed = [row for row in rows if row["sex"] in expected]
    for unit, groups in split(listed, "person", lambda row: (row["sex"],)).items():
        shares = contribution(unit, groups, bounding, age_of, Drawn(seed))
        assert sum(share[0] for share in shares.values()) <= bounding.rows
        for (sex,), parts in shares.items():
            expected[sex] = [a + b for a, b in zip(expected[sex], parts, strict=True)]
    # the age by itself is not counted, so its sum is not centred
    _, cells = exact(
        "SELECT sex, COUNT(*), SUM(age) FROM visits GROUP BY sex",
        rows,
        bounding=bounding,
        secret=seed,
        dropping=True,
    )
    assert {c["k0"]: [c["m0"], c["m1"]] for c in cells} == {
        sex: [parts[0], parts[2]] for sex, parts in expected.items()
    }
    _, cells = exact(
        "SELECT sex, COUNT(age) FROM visits GROUP BY sex",
        rows,
        bounding=bounding,
        secret=seed,
        dropping=True,
    )
    assert {c["k0"]: c["m0"] for c in cells} == {s: parts[1] for s, parts in expected.items()}


@pytest.mark.parametrize("bounding", LIMITS)
def test_without_groups_each_unit_is_scaled_by_itself(bounding: Bounding, exact: Exact) -> None:
    rows = crowd(8)
    one = Bounding(min(bounding.rows, bounding.per_group or bounding.rows), 1, bounding.per_group)
    parts = [
        contribution(unit, groups, one, age_of, Drawn(5))[()]
        for unit, groups in split(rows, "person", lambda row: ()).items()
    ]
    _, cells = exact(
        "SELECT SUM(age), COUNT(DISTINCT person) FROM visits",
        rows,
        bounding=bounding,
        secret=5,
        dropping=True,
    )
    assert cells == [{"m0": sum(part[2] for part in parts), "m1": len(parts)}]


def swing_of(row: Row) -> int | None:
    """Return a value that may be negative, as it is summed."""
    swing: int | None = row["swing"]
    return swing


@pytest.mark.parametrize("bounding", LIMITS[:2])
def test_sums_of_negative_values_are_scaled_by_the_same_rule(
    bounding: Bounding, exact: Exact
) -> None:
    rows = crowd(9)
    parts = [
        contribution(unit, groups, bounding, swing_of, Drawn(6))[()]
        for unit, groups in split(rows, "person", lambda row: ()).items()
    ]
    _, cells = exact("SELECT SUM(swing) FROM visits", rows, bounding=bounding, secret=6)
    assert cells == [{"m0": sum(part[2] for part in parts)}]


@pytest.mark.parametrize("bounding", [b for b in LIMITS if b.groups >= 3])
def test_averages_of_values_of_which_some_are_no_numbers_are_scaled_by_the_same_rule(
    bounding: Bounding, exact: Exact
) -> None:
    """A centred sum and its count, of values on either side of zero, by both rules at once."""
    rng = random.Random(bounding.rows)
    odd = [None, math.nan, math.inf, -math.inf, 1e308, -1e308, -10.5, -0.0]
    rows = [{**row, "temp": rng.choice([*odd, rng.uniform(-20, 50)])} for row in crowd(10)]
    sql = "SELECT sex, AVG(temp) FROM visits GROUP BY sex"
    plan, cells = exact(sql, rows, bounding=bounding, secret=12, dropping=True)
    summed, counted = plan.measurements
    low, high = -10.5, 40.0

    def temp_of(row: Row) -> int | None:
        if row["temp"] is None or not math.isfinite(row["temp"]):
            return None
        return math.floor(max(low, min(high, row["temp"])) / float(summed.value_grid) + 0.5)

    expected = {sex: [0, 0] for sex in ("F", "M", "it's")}
    listed = [row for row in rows if row["sex"] in expected]
    for unit, groups in split(listed, "person", lambda row: (row["sex"],)).items():
        for (sex,), (_, values, steps) in contribution(
            unit, groups, bounding, temp_of, Drawn(12)
        ).items():
            # as a pair, sums are in half steps
            centred = 2 * steps - values * summed.centre
            assert summed.pair and values * summed.low <= centred <= values * summed.high
            expected[sex][0] += centred
            expected[sex][1] += values
    assert summed.centre != 0
    assert counted.kind == "rows with a value"
    assert {cell["k0"]: [cell["m0"], cell["m1"]] for cell in cells} == expected


def test_the_share_of_a_few_survives_limits_that_bind(exact: Exact) -> None:
    """One in four rows of everybody is a yes; rounded toward zero, nobody's two rows had one.

    400 fair halves are within 6.5 standard deviations of their sum but once in 10¹⁰.
    """
    rows = [
        {"person": person, "sex": "F", "city": "Rome", "age": age, "swing": 1}
        for person in range(400)
        for age in (0, 0, 0, 1)
    ]
    sql, limits = "SELECT SUM(age) FROM visits", Bounding(2, 2, None)
    _, cells = exact(sql, rows, bounding=limits, secret=4, dropping=True)
    assert abs(cells[0]["m0"] - 200) < 6.5 * 10
    # held to what two rows may add, all of it survives
    _, cells = exact(sql, rows, bounding=limits, secret=4)
    assert cells == [{"m0": 400}]


def test_averages_survive_limits_that_bind(exact: Exact) -> None:
    """A person with one row here and many there, all of value 13, keeps that average everywhere."""
    rows = [
        {"person": person, "sex": sex, "city": "Rome", "age": 13, "swing": 1}
        for person in range(200)
        for sex in ("F", "M", "M", "M", "M")
    ]
    plan, cells = exact(
        "SELECT sex, COUNT(*), AVG(age) FROM visits GROUP BY sex",
        rows,
        bounding=Bounding(3, 3, None),
        secret=11,
    )
    (summed,) = [i for i, part in enumerate(plan.measurements) if part.kind == "sum"]
    (counted,) = [i for i, p in enumerate(plan.measurements) if p.kind == "rows with a value"]
    part = plan.measurements[summed]
    centre = part.centre * part.grid
    found = {cell["k0"]: cell for cell in cells}
    # everybody's five rows are scaled down together: each sex keeps its share
    assert 0 < found["F"]["m0"] < 200
    assert float(found["M"]["m0"] / found["F"]["m0"]) == pytest.approx(4, rel=1e-4)
    for sex in ("F", "M"):
        cell = found[sex]
        mean = cell[f"m{summed}"] * part.grid / cell[f"m{counted}"]
        assert float(mean) == pytest.approx(float(13 - centre), rel=1e-4)


@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("secret", [1, 2**62])
def test_a_unit_keeps_as_many_of_its_groups_as_it_may(
    groups: int, secret: int, exact: Exact
) -> None:
    rows = crowd(3)
    sql = "SELECT city, COUNT(DISTINCT person), COUNT(*) FROM visits GROUP BY city"
    _, cells = exact(sql, rows, bounding=Bounding(500, groups, None), secret=secret)
    seen = {u: set(found) for u, found in split(rows, "person", lambda row: row["city"]).items()}
    assert sum(cell["m0"] for cell in cells) == sum(min(groups, len(s)) for s in seen.values())
    assert {cell["k0"] for cell in cells} <= set().union(*seen.values())


def test_which_groups_a_unit_keeps_depends_on_the_secret(exact: Exact) -> None:
    sql = "SELECT city, COUNT(*) FROM visits GROUP BY city"
    rows = [{"person": 1, "city": city} for city in ("Rome", "Oslo", "Paris", "Bern")]
    kept = set()
    for secret in range(20):
        _, cells = exact(sql, rows, bounding=Bounding(4, 1, None), secret=secret)
        kept |= {cell["k0"] for cell in cells}
    assert kept == {"Rome", "Oslo", "Paris", "Bern"}


def test_a_group_that_is_kept_is_kept_whole(exact: Exact) -> None:
    rows = crowd(5)
    _, cells = exact(
        "SELECT city, COUNT(*) FROM visits GROUP BY city", rows, bounding=Bounding(900, 2, None)
    )
    sizes: dict[Any, set[int]] = defaultdict(set)
    for found in split(rows, "person", lambda row: row["city"]).values():
        for city, theirs in found.items():
            sizes[city].add(len(theirs))
    assert all(cell["m0"] >= min(sizes[cell["k0"]]) for cell in cells)


def test_a_units_sum_in_one_group_stays_within_its_total(exact: Exact) -> None:
    rows = [{"person": 1, "swing": -5}] * 3 + [{"person": 2, "swing": 3}] * 3
    rows += [{"person": 3, "swing": 1}]
    planned, cells = exact("SELECT SUM(swing) FROM visits", rows, bounding=Bounding(9, 9, None))
    assert cells == [{"m0": -7 + 4 + 1}]  # -15 and 9 are held within [-7, 4]
    assert planned.measurements[0].sensitivity.l1 == 7


def test_rows_of_nobody_are_left_out(exact: Exact) -> None:
    rows: list[Row] = [{"person": None, "age": 9}] * 5 + [{"person": 3, "age": 9}]
    _, cells = exact("SELECT COUNT(*), SUM(age), COUNT(DISTINCT age) FROM visits", rows)
    assert cells[0]["m0"] == 1
    _, empty = exact("SELECT city, COUNT(*) FROM visits GROUP BY city", rows[:5])
    assert empty == []
