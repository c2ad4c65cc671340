"""MODE: what it is without noise, how its intervals hold, and what is told or refused beforehand.

Coverage is counted over independent answers, with seeded noise; if intervals hold with the stated
confidence or more, the limit is passed by one seed in 1e9.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from privacy.additivity import check_sum, check_units
from privacy.replay import check
from privacy.worlds import (
    UNITS,
    Bounding,
    Database,
    Row,
    draw_bounding,
    draw_units,
    neighbour_of,
    source_of,
    write_policy,
)
from sanql.answer.levels import add_noise_to_levels, show_levels
from sanql.answer.most_frequent import with_most_frequent
from sanql.answer.post_process import show
from sanql.certificate.certificate import certify
from sanql.compile.statement import compile_plan
from sanql.errors import Refused
from sanql.measurements.measurement import Measured
from sanql.measurements.noisy_cells import NoisyCells
from sanql.noise.cells import add_noise
from sanql.options import Accuracy
from sanql.parse.question import parse
from sanql.plan.accuracy import half_width, least_epsilon
from sanql.plan.level import CountsApart
from sanql.policy.model import Neighbours
from support.by_hand import TABLES, level_of
from support.by_value import cells_of_values
from support.cells import priced
from support.one_level import plan_of
from support.samplers import SilentSampler
from support.seeded import seeded
from support.without_noise import answer_without_noise

LIMITS = {"visits": Bounding(99, 99, None), "stays": Bounding(99, 99, None)}
SQL = "SELECT MODE(score) AS m FROM rows"
FIRST = -10  # of all scores
FALSE_ALARM = 1e-9


BY_HAND: list[tuple[str, Callable[[Row], Any]]] = [
    ("level", lambda row: None if row["level"] is None else max(1, min(9, row["level"]))),
    ("sex", lambda row: row["sex"]),
    ("flag", lambda row: row["flag"]),
    ("CASE WHEN flag THEN sex ELSE 'M' END", lambda row: row["sex"] if row["flag"] else "M"),
]


@pytest.mark.slow
@pytest.mark.parametrize("table", ["visits", "readings"])
@pytest.mark.parametrize(("text", "value"), BY_HAND)
def test_without_noise_no_declared_value_has_more_rows(
    table: str, text: str, value: Callable[[Row], Any], tmp_path: Path
) -> None:
    policy, database = write_policy(tmp_path, "add-remove", LIMITS), Database()
    rng = random.Random(7)
    rows = [row for _ in range(9) for unit in draw_units(rng, table) for row in unit]
    database.load(table, rows)
    declared = {"F", "M", "it's", False, 1, 2, 5}  # True is 1
    answer = answer_without_noise(
        f"SELECT sex, MODE({text}) AS m FROM {table} GROUP BY sex", policy, database
    )
    assert any(found["m"] is not None for found in answer)
    for found in answer:
        own = [
            row for row in rows if row["sex"] == found["sex"] and row.get("person", 0) is not None
        ]
        counted = Counter(v for v in map(value, own) if v in declared)
        assert counted[found["m"]] == max(counted.values(), default=0)
        assert (found["m"] is None) == (not counted)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta"), [("0.05", "0"), ("1", "1e-5"), ("40", "0")])
def test_intervals_hold_as_often_as_they_say(epsilon: str, delta: str) -> None:
    level, sampler, confidence = level_of(SQL, epsilon, delta), seeded(5), Fraction(8, 10)
    numbers = np.random.default_rng(5)
    missed, asked = 0, 0
    for size in (1, 30, 1000):
        rows = np.clip(np.rint(numbers.normal(4, 3, size)), -10, 30).astype(int).tolist()
        counted, exact = Counter(rows), cells_of_values(rows, FIRST)
        modes = [score for score, count in counted.items() if count == max(counted.values())]
        for _ in range(80):
            shown = show(level, add_noise(level, exact, sampler), confidence)
            low, high = (ends[0] for ends in shown.intervals["m"])
            missed += not all(low <= mode <= high for mode in modes)
            value = shown.table.column("m")[0].as_py()
            assert value is None or -10 <= low <= value <= high <= 30
            asked += 1
    assert missed <= binom.isf(FALSE_ALARM, asked, float(1 - confidence))


def test_much_noise_leaves_every_value_possible_and_little_leaves_one() -> None:
    rows = [3] * 900 + [4] * 100

    def ends(epsilon: str) -> tuple[float, float]:
        level = level_of(SQL, epsilon)
        noisy = add_noise(level, cells_of_values(rows, FIRST), seeded(1))
        shown = show(level, noisy, Fraction(95, 100))
        return shown.intervals["m"][0][0], shown.intervals["m"][1][0]

    assert ends("0.001") == (-10, 30)
    assert ends("10") == (3, 3)


def test_where_no_count_sees_a_row_it_is_null() -> None:
    level = level_of(SQL, "40")
    shown = show(level, add_noise(level, cells_of_values([], FIRST), seeded(2)), Fraction(95, 100))
    assert shown.table.column("m")[0].as_py() is None


def test_the_shortfall_told_beforehand_covers_the_error() -> None:
    level, sampler = level_of(SQL, "0.2"), seeded(6)
    rows = (
        np.clip(np.rint(np.random.default_rng(6).normal(4, 6, 3000)), -10, 30).astype(int).tolist()
    )
    counted, exact = Counter(rows), cells_of_values(rows, FIRST)
    width = half_width(level, 0, Fraction(9, 10))
    assert width is not None and 0 < width < 200
    short = 0
    for _ in range(80):
        shown = show(level, add_noise(level, exact, sampler), Fraction(1, 2))
        short += max(counted.values()) - counted[shown.table.column("m")[0].as_py()] > width
    assert short <= binom.isf(FALSE_ALARM, 80, 0.1)


def test_no_accuracy_is_promised_of_it() -> None:
    with pytest.raises(Refused) as refused:
        least_epsilon(plan_of(level_of(SQL)).outline, Fraction(0), Accuracy(Fraction(5), rows=1000))
    assert refused.value.code == "accuracy_not_applicable"


def test_modes_of_one_value_share_their_counts() -> None:
    level = level_of("SELECT MODE(sex), MODE(sex), MODE(score) FROM rows")
    assert [part.kind for part in level.measurements] == [Measured.HISTOGRAM] * 2
    assert len(level.measurements[0].values) == 2


def test_text_has_no_interval_and_says_so() -> None:
    level = level_of("SELECT MODE(sex) AS m FROM rows")
    shown = show(
        level, add_noise(level, pa.table({"l0": [[1]], "m0": [[900]]}), seeded(1)), Fraction(19, 20)
    )
    assert shown.table.to_pylist() == [{"m": "M"}]
    assert "m" in shown.without


UNKNOWN = [
    ("city", lambda row: row["city"]),
    ("big", lambda row: row["big"]),
    ("UPPER(city)", lambda row: row["city"] and row["city"].upper()),
]


@pytest.mark.slow
@pytest.mark.parametrize("grouping", ["", "sex", "region"])
@pytest.mark.parametrize(("text", "value"), UNKNOWN)
def test_without_noise_no_value_that_enough_units_share_has_more_rows(
    grouping: str, text: str, value: Callable[[Row], Any], tmp_path: Path
) -> None:
    policy, database = write_policy(tmp_path, "add-remove", LIMITS), Database()
    rng = random.Random(8)
    rows = [row for _ in range(40) for unit in draw_units(rng, "readings") for row in unit]
    database.load("readings", rows)
    keys = f"{grouping} AS g, " if grouping else ""
    by = f" GROUP BY {grouping}" if grouping else ""
    plan = priced(
        f"SELECT {keys}COUNT(*) AS n, MODE({text}) AS m FROM readings{by}", policy.tables,
        epsilon=60, delta="1/100",
    )  # fmt: skip
    _, apart = plan.levels
    assert apart.outline.counts_for is not None and apart.priced.threshold is not None
    exact = [database.cells(compile_plan(level, source_of(policy), 7)) for level in plan.levels]
    cells = add_noise_to_levels(plan, exact, SilentSampler())
    answer = show_levels(plan, cells, Fraction(19, 20)).table.to_pylist()
    assert any(found["m"] is not None for found in answer)
    for found in answer:
        own = [row for row in rows if not grouping or row[grouping] == found["g"]]
        counted = Counter(v for v in map(value, own) if v is not None)
        enough = {v: n for v, n in counted.items() if n >= apart.priced.threshold}
        assert (found["m"] is None) == (not enough)
        assert not enough or enough[found["m"]] == max(enough.values())


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
@pytest.mark.parametrize(
    "sql", ["MODE(city) FROM {}", "sex, MODE(big), COUNT(*) FROM {} GROUP BY sex"]
)
def test_neighbours_move_what_is_counted_apart_by_no_more_than_declared(
    sql: str, neighbours: Neighbours, tmp_path: Path
) -> None:
    rng, ours, theirs, attained = random.Random(3), Database(), Database(), 0
    for _ in range(6):
        limits = {name: draw_bounding(rng) for name, unit in UNITS.items() if unit is not None}
        policy = write_policy(tmp_path, neighbours, limits)
        for table in UNITS:
            units = draw_units(rng, table)
            ours.load(table, [row for unit in units for row in unit])
            other = neighbour_of(rng, table, units, neighbours)
            theirs.load(table, [row for unit in other for row in unit])
            plan = priced(f"SELECT {sql.format(table)}", policy.tables, neighbours)
            for level in plan.levels:
                sent = compile_plan(level, source_of(policy), rng.getrandbits(63))
                attained += sum(check(level, ours.cells(sent), theirs.cells(sent)))
    assert attained > 4


@pytest.mark.slow
@pytest.mark.parametrize("table", UNITS)
def test_what_is_counted_apart_adds_up_over_units(table: str, tmp_path: Path) -> None:
    limits = {"visits": Bounding(3, 2, None), "stays": Bounding(2, 2, 1)}
    policy, database = write_policy(tmp_path, "add-remove", limits), Database()
    units = draw_units(random.Random(4), table)
    alone = units if UNITS[table] is not None else [[row] for unit in units for row in unit]
    for asked in ("MODE(city) FROM {}", "sex, MODE(big) FROM {} GROUP BY ROLLUP (sex)"):
        for level in priced(f"SELECT {asked.format(table)}", policy.tables).levels:
            if level.outline.counts_for is None:
                continue
            sent, parts = compile_plan(level, source_of(policy), 5), []
            database.load(table, [row for unit in units for row in unit])
            whole = database.cells(sent)
            for unit in alone:
                database.load(table, list(unit))
                parts.append(database.cells(sent))
            assert check_sum(level, whole, parts) > 0
            assert check_units(level, parts, rows=UNITS[table] is None) == len(parts)
            with pytest.raises(AssertionError):
                check_sum(level, whole, [part for part in parts if part.num_rows][1:])


def test_one_value_is_counted_apart_once_and_paid_for_with_the_whole() -> None:
    plan = priced("SELECT sex, MODE(city), MODE(city), COUNT(*) FROM rows GROUP BY sex", TABLES)
    assert [level.outline.counts_for for level in plan.levels] == [None, CountsApart(0, 0)]
    assert plan.names == ("(sex)", "(sex, city)")
    assert plan.charge.epsilon == sum(level.charge.epsilon for level in plan.levels)
    assert plan.charge.delta == Fraction(1, 1000)


def test_each_grouping_set_has_its_own_counts() -> None:
    plan = priced("SELECT sex, MODE(city) FROM rows GROUP BY ROLLUP (sex)", TABLES)
    served = [level.outline.counts_for for level in plan.levels]
    assert served == [None, None, CountsApart(0, 0), CountsApart(1, 0)]
    assert plan.names[2:] == ("(sex, city)", "(city)")


def test_values_that_are_selected_need_a_delta() -> None:
    with pytest.raises(Refused) as refused:
        priced("SELECT MODE(city) FROM rows", TABLES, delta=0)
    assert refused.value.code == "delta_needed"


def test_the_other_groups_have_no_mode() -> None:
    sql = "SELECT city, COUNT(*) AS n, MODE(UPPER(city)) AS m FROM rows GROUP BY city"
    plan = priced(sql, TABLES, other=True)
    cells = map(
        NoisyCells,
        [
            pa.table({"k0": ["a", None, None], "m0": [9, 9, 9], "other": [False, False, True]}),
            pa.table({"k0": ["a", "a", None], "k1": ["x", "y", "z"], "m0": [7, 9, 9]}),
        ],
    )
    found = with_most_frequent(plan, list(cells))[0].found(0)
    assert found == ["y", "z", None]


def test_the_certificate_says_how_it_was_found() -> None:
    (said,) = certify(plan_of(level_of(SQL))).aggregates
    assert said["from"] == "the value with the largest count of measurement 1"


REFUSED: list[tuple[str, str, str]] = [
    ("MODE(SQRT(age))", "values_unknown", "which values there are"),
    ("MODE(DISTINCT sex)", "distinct_unsupported", "DISTINCT"),
    ("MODE(sex, 2)", "construct_unsupported", "MODE"),
]


@pytest.mark.parametrize(("text", "code", "words"), REFUSED)
def test_what_has_none_is_refused_with_a_remedy(text: str, code: str, words: str) -> None:
    with pytest.raises(Refused, match=words) as refused:
        level_of(f"SELECT {text} FROM rows")
    assert refused.value.code == code and refused.value.remedy


def test_very_many_counts_are_refused_before_anything_is_charged() -> None:
    with pytest.raises(Refused, match="counts is the most") as refused:
        level_of("SELECT age, MODE(score * 10 + age) FROM rows GROUP BY age, score")
    assert refused.value.code == "values_too_many"


SPELLINGS = ["mode(sex)", "MODE() WITHIN GROUP (ORDER BY sex)", "MODE(sex) FILTER (WHERE age > 3)"]


@pytest.mark.parametrize("text", SPELLINGS)
def test_every_spelling_is_one_statistic(text: str) -> None:
    (found,) = parse(f"SELECT {text} FROM rows", TABLES).private.aggregates
    assert found.statistic == "mode" and found.facts.nullable


@pytest.mark.parametrize(
    "text", ["MODE(NULL)", "ENTROPY(NULL)", "MODE(CASE WHEN age > 3 THEN NULL END)"]
)
def test_null_alone_has_no_values(text: str) -> None:
    with pytest.raises(Refused, match="NULL alone") as refused:
        level_of(f"SELECT {text} FROM rows")
    assert refused.value.code == "type_mismatch"


NAMED = [
    ("CASE WHEN city IN ('a', 'b') THEN city END", ("a", "b")),
    ("CASE WHEN city = 'a' THEN city WHEN city = 'c' THEN 'other' END", ("a", "other")),
    ("CASE WHEN income IN (1, 2.5) THEN income END", (1, Fraction(5, 2))),
]


@pytest.mark.parametrize(("text", "values"), NAMED)
def test_values_that_the_question_names_are_known(text: str, values: tuple[object, ...]) -> None:
    """That is the remedy which the refusal of unknown values shows."""
    (part,) = level_of(f"SELECT MODE({text}), ENTROPY({text}) FROM rows").measurements
    assert part.values == values


@pytest.mark.parametrize(
    "text",
    ["CASE WHEN city IN ('a', 'b') THEN UPPER(city) END", "CASE WHEN city <> 'a' THEN city END"],
)
def test_values_that_a_condition_does_not_name_are_not(text: str) -> None:
    with pytest.raises(Refused) as refused:
        level_of(f"SELECT ENTROPY({text}) FROM rows")
    assert refused.value.code == "values_unknown"


def test_an_answer_says_what_no_interval_tells() -> None:
    known, unknown = (
        certify(priced(f"SELECT MODE({x}) FROM rows", TABLES)).caveats() for x in ("sex", "city")
    )
    assert any("another value may have more rows" in line for line in known)
    assert any("enough units share to appear" in line for line in unknown)
    assert not any("MODE" in line for line in certify(priced(SQL, TABLES)).caveats())
