"""Units bounded by norm: every vector on a small grid, in the real statement, against what is declared.

A unit's numbers over three groups are all vectors of small numbers; each unit of one database has one of
them, so one statement tells what becomes of every one. These are compared with the rule worked out in
plain Python (norms.py), and the differences of all pairs with the declared sensitivity.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations_with_replacement, product
from pathlib import Path
from typing import Any

import duckdb
import pytest

from privacy.norms import Vector, kept_rows, scaled, shared, toward_zero
from privacy.worlds import ENGINE, Bounding, Database, source_of, write_policy
from sanql.account.events import GaussianEvent, LaplaceEvent
from sanql.compile.statement import compile_plan
from sanql.compile.unit_lengths import first_root, rounded_up
from sanql.kernel.messages import Statement
from sanql.measurements.limits import ContributionLimits
from sanql.measurements.norms import NormBound, OwnNorm, scale_for, sensitivity_by_norm
from sanql.measurements.sensitivity import SensitivitySetting
from sanql.mechanisms import DiscreteLaplace
from sanql.parse import parse
from sanql.plan.gaussian import GaussianMechanism
from sanql.plan.laplace import LaplaceMechanism
from sanql.plan.level import Level
from sanql.plan.norms import bounded_by_norm, norm_of
from sanql.plan.plan import outline, price
from sanql.policy.model import Neighbours
from support.volume import few_of, few_rows_of, share_rows_of

pytestmark = pytest.mark.slow

GROUPS = ("F", "M", "it's")
EMPTY: dict[str, Any] = dict.fromkeys(ENGINE)
LIMITS = [Bounding(2, 2, None), Bounding(3, 3, None), Bounding(4, 3, 2), Bounding(5, 2, None)]
RELATIONS: list[Neighbours] = ["add-remove", "change-one"]
MECHANISMS = {1: LaplaceMechanism(), 2: GaussianMechanism()}
COUNT = "SELECT sex, COUNT(*) FROM visits GROUP BY sex"
VALUES = "SELECT sex, COUNT(age) FROM visits GROUP BY sex"
SUM = "SELECT sex, SUM(age) FROM visits GROUP BY sex"
SIGNED = "SELECT sex, SUM(age - 20) FROM visits GROUP BY sex"
AVERAGE = "SELECT sex, AVG(age) FROM visits GROUP BY sex"
ALL = "SELECT sex, COUNT(*), SUM(age), AVG(temp) FROM visits GROUP BY sex"
Units = dict[int, list[dict[str, Any]]]


def planned(
    sql: str,
    folder: Path,
    relation: Neighbours,
    limits: Bounding,
    order: int,
    own: int | None = None,
) -> tuple[Level, Any]:
    """Return a level whose noise has a norm of this order, and the policy it is asked under.

    `own` is the norm that sums by themselves are known to have.
    """
    policy = write_policy(folder, relation, {"visits": limits, "stays": limits})
    (level,) = outline(parse(sql, policy.tables).query, policy.tables, relation).levels
    measuring = level.measuring
    if own is not None:
        norms = tuple(OwnNorm(m.expression, own, own**2) for m in measuring.measurements)  # type: ignore[arg-type]
        assert measuring.unit_norms is not None
        measuring = replace(measuring, unit_norms=replace(measuring.unit_norms, own=norms))
    bounded = replace(level, measuring=bounded_by_norm(measuring, order))  # type: ignore[arg-type]
    priced = MECHANISMS[order].price([bounded.measuring], Fraction(1), Fraction(1, 1000))
    assert priced is not None
    return Level(bounded, priced[0]), policy


def vectors(level: Level, policy: Any, units: Units) -> list[list[Vector]]:
    """Return, for each measurement, what each unit adds to the cells when it is there alone."""
    return run_alone(compile_plan(level, source_of(policy), 7), len(level.measurements), units)


def run_alone(statement: Statement, measured: int, units: Units) -> list[list[Vector]]:
    """Return the same of a statement that measures so many."""
    database = Database()
    found: list[list[Vector]] = [[] for _ in range(measured)]
    for rows in units.values():
        database.load("visits", [{**EMPTY, **row} for row in rows])
        cells = {row["k0"]: row for row in database.cells(statement).to_pylist()}
        for place in range(measured):
            found[place].append(tuple(cells[key][f"m{place}"] for key in GROUPS))
    return found


def of_each_relation(
    sql: str, folder: Path, limits: Bounding, order: int, units: Units
) -> Iterator[tuple[Level, list[list[Vector]]]]:
    """Yield a level for each relation with the vectors of all units; one statement is run once."""
    ran: dict[str, list[list[Vector]]] = {}
    for relation in RELATIONS:
        level, policy = planned(sql, folder, relation, limits, order)
        statement = compile_plan(level, source_of(policy), 7)
        if repr(statement) not in ran:
            ran[repr(statement)] = run_alone(statement, len(level.measurements), units)
        yield level, ran[repr(statement)]


def check_moves(level: Level, found: list[list[Vector]]) -> None:
    """Assert that no unit, or no two for one another, move cells by more than is declared."""
    for part, all_vectors in zip(level.measurements, found, strict=True):
        assert part.norm is not None
        nothing: Vector = (0,) * len(GROUPS)
        distinct = set(all_vectors) | {nothing}
        others = distinct if level.outline.neighbours == "change-one" else {nothing}
        for one in distinct:
            for other in others:
                moved = [abs(a - b) for a, b in zip(one, other, strict=True)]
                assert sum(moved) <= part.sensitivity.l1, (part, one, other)
                assert max(moved) <= part.sensitivity.linf, (part, one, other)
                assert sum(step**2 for step in moved) <= part.sensitivity.l2_squared


def rows_of(counts: Vector, ages: tuple[int | None, ...]) -> list[dict[str, Any]]:
    """Return so many rows in each group, with ages in turn."""
    keys = [key for key, count in zip(GROUPS, counts, strict=True) for _ in range(count)]
    return [
        {"person": 1, "sex": key, "age": ages[n % len(ages)], "temp": 40.0 - n}
        for n, key in enumerate(keys)
    ]


COUNTS = [counts for counts in product(range(5), repeat=3) if sum(counts)]
MANY = [(9, 0, 0), (40, 1, 3), (0, 0, 1000), (7, 7, 7), (1, 300, 1)]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("limits", few_of(LIMITS[::-1], 2))
def test_counts_of_every_unit_are_scaled_by_the_rule_and_move_no_further_than_declared(
    limits: Bounding, order: int, tmp_path: Path
) -> None:
    units = {n: rows_of(counts, (0,)) for n, counts in enumerate([*COUNTS, *MANY])}
    for level, found in of_each_relation(COUNT, tmp_path, limits, order, units):
        check_moves(level, found)
        norm = level.measurements[0].norm
        assert norm is not None
        most = kept_rows(order, norm.bound, limits.per_group)
        for counts, vector in zip([*COUNTS, *MANY], found[0], strict=True):
            held = tuple(min(count, most) for count in counts)
            assert vector == scaled(held, held, order, norm.bound, norm.scale)
        attained = max(sum(v) if order == 1 else sum(x * x for x in v) for v in found[0])
        declared = level.measurements[0].sensitivity
        whole = declared.l1 if order == 1 else declared.l2_squared
        assert attained > 0.99 * whole / (2 if level.outline.neighbours == "change-one" else 1)


@pytest.mark.parametrize("sql", [COUNT, SUM, ALL])
def test_where_no_unit_can_be_too_long_none_is_looked_at(sql: str, tmp_path: Path) -> None:
    """Three groups of two rows are six; of five rows in all a unit may have one too many."""
    units = {n: rows_of(counts, (40, 3)) for n, counts in enumerate([*COUNTS[::9], *MANY])}
    level, policy = planned(sql, tmp_path, "add-remove", Bounding(6, 3, 2), 1)
    assert "long" not in compile_plan(level, source_of(policy), 7).sql
    found = vectors(level, policy, units)
    check_moves(level, found)
    if sql is COUNT:
        whole = [tuple(min(n, 2) for n in counts) for counts in [*COUNTS[::9], *MANY]]
        assert found == [[tuple(n * level.measurements[0].scale for n in v) for v in whole]]
    level, policy = planned(sql, tmp_path, "add-remove", Bounding(5, 3, 2), 1)
    assert "long" in compile_plan(level, source_of(policy), 7).sql
    check_moves(level, vectors(level, policy, units))


@pytest.mark.parametrize("limits", few_of(LIMITS[2:0:-1] + LIMITS[3:], 1))
@pytest.mark.parametrize(
    ("order", "sql"), share_rows_of(product([1, 2], [VALUES, SUM, SIGNED, AVERAGE, ALL]), 2)
)
def test_sums_and_averages_move_no_further_than_declared(
    sql: str, limits: Bounding, order: int, tmp_path: Path
) -> None:
    shapes = [(3, 0, 0), (0, 3, 3), (2, 2, 2), (1, 4, 0), *MANY]
    ages = [(0,), (40,), (0, 40), (40, None), (None,), (13, 7, None)]
    units = dict(enumerate(rows_of(c, a) for c in shapes for a in ages))
    for level, found in of_each_relation(sql, tmp_path, limits, order, units):
        check_moves(level, found)


@pytest.mark.parametrize("order", [1, 2])
def test_an_average_has_one_factor_for_its_sum_and_its_count(order: int, tmp_path: Path) -> None:
    limits = Bounding(3, 3, None)
    level, policy = planned(AVERAGE, tmp_path, "add-remove", limits, order)
    summed, counted = level.measurements
    assert summed.norm is not None and counted.norm is not None
    cases = [(counts, ages) for counts in [*COUNTS[::7], *MANY] for ages in ((40,), (3, None, 39))]
    found = vectors(level, policy, dict(enumerate(rows_of(c, a) for c, a in cases)))
    for (counts, ages), sums, values in zip(cases, *found, strict=True):
        rows = rows_of(counts, ages)
        there = [row for row in rows if row["age"] is not None]
        number = Counter(row["sex"] for row in there)
        count = tuple(number[key] for key in GROUPS)
        most = kept_rows(order, counted.norm.bound, None)
        total = tuple(
            shared(sum(row["age"] - summed.centre for row in there if row["sex"] == key), n, most)
            for key, n in zip(GROUPS, counts, strict=True)
        )
        # rounded up where it decides, and toward zero where it is counted
        deciding = tuple(
            v if n <= most else -(-v * most // n) for v, n in zip(count, counts, strict=True)
        )
        count = tuple(shared(v, n, most) for v, n in zip(count, counts, strict=True))
        assert values == scaled(count, deciding, order, counted.norm.bound, counted.norm.scale)
        assert sums == scaled(total, deciding, order, summed.norm.bound, summed.norm.scale)


def test_a_sum_by_itself_is_scaled_by_its_own_length(tmp_path: Path) -> None:
    """A thousand rows of value 0 cost a unit nothing where nobody counts them."""
    for order in (1, 2):
        level, policy = planned(SUM, tmp_path, "add-remove", Bounding(3, 3, None), order)
        rows = [{"person": 1, "sex": "F", "age": 0}] * 1000
        rows += [{"person": 1, "sex": "M", "age": 40}]
        ((vector,),) = vectors(level, policy, {1: rows})
        assert vector == (0, 40 * level.measurements[0].scale, 0)


@pytest.mark.parametrize(
    ("sql", "relation", "order", "own"),
    share_rows_of(product([SUM, SIGNED], RELATIONS, [1, 2], [1, 7, 50, 10**6]), 3),
)
def test_a_sum_whose_own_norm_is_known_is_scaled_to_it_and_no_longer_than_limits_allow(
    sql: str, relation: Neighbours, order: int, own: int, tmp_path: Path
) -> None:
    level, policy = planned(sql, tmp_path, relation, Bounding(3, 3, None), order, own)
    (part,) = level.measurements
    assert part.norm is not None and part.norm.alone and part.norm.bound <= own**order
    assert part.norm.bound <= (3 * part.size) ** order
    shapes = [(1, 0, 0), (3, 0, 0), (0, 3, 3), (1, 4, 0), (0, 0, 1000), (7, 7, 7)]
    cases = [(c, a) for c in shapes for a in ((0,), (40,), (0, 40), (40, None), (13, 7, None))]
    found = vectors(level, policy, dict(enumerate(rows_of(c, a) for c, a in cases)))
    check_moves(level, found)
    moved = 20 if sql is SIGNED else 0
    for (counts, ages), vector in zip(cases, found[0], strict=True):
        sums = dict.fromkeys(GROUPS, 0)
        for row in rows_of(counts, ages):
            sums[row["sex"]] += 0 if row["age"] is None else row["age"] - moved
        total = tuple(sums.values())
        assert vector == scaled(total, total, order, part.norm.bound, part.norm.scale)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("own", [7, 50])
def test_sums_with_norms_of_their_own_add_up_over_units(
    order: int, own: int, tmp_path: Path
) -> None:
    level, policy = planned(SUM, tmp_path, "add-remove", Bounding(3, 3, None), order, own)
    units = {
        n: [row | {"person": n} for row in rows_of(counts, (40, 3, None))]
        for n, counts in enumerate([*COUNTS[::5], *MANY])
    }
    (alone,) = vectors(level, policy, units)
    ((together,),) = vectors(level, policy, {0: [row for rows in units.values() for row in rows]})
    assert together == tuple(map(sum, zip(*alone, strict=True)))


@pytest.mark.parametrize(
    ("order", "limits"),
    few_rows_of([(1, LIMITS[1]), (2, LIMITS[2]), *product((1, 2), LIMITS)], 2),
)
def test_all_units_together_have_the_sum_of_what_each_has_alone(
    order: int, limits: Bounding, tmp_path: Path
) -> None:
    rng = random.Random(3)
    units = {
        person: [
            row | {"person": person}
            for row in rows_of(rng.choice([*COUNTS, *MANY]), (rng.randrange(41), None))
        ]
        for person in range(60)
    }
    level, policy = planned(ALL, tmp_path, "add-remove", limits, order)
    alone = vectors(level, policy, units)
    together = vectors(level, policy, {0: [row for rows in units.values() for row in rows]})
    for one, every in zip(alone, together, strict=True):
        assert every == [tuple(map(sum, zip(*one, strict=True)))]


@pytest.mark.parametrize(
    "bound", [1, 2, 3, 5, 100, 65536, 2**40, 10**12 + 7, 2**83 + 5, 2**146 - 1]
)
@pytest.mark.parametrize("order", [1, 2])
def test_the_formula_keeps_within_128_bits_and_within_the_norm(order: int, bound: int) -> None:
    """Whatever a unit has, for norms of every size: the rule's numbers, without an engine."""
    if order == 1:
        bound = math.isqrt(bound) + 1
    norm = NormBound(order, bound, scale_for(order, bound, 1), alone=True)  # type: ignore[arg-type]
    assert norm.fits(1)
    assert norm.numerator < 2**24 and norm.numerator**norm.order <= norm.threshold
    rng = random.Random(bound)
    length = bound if order == 1 else math.isqrt(bound)
    for _ in range(300):
        far = rng.choice([1, 2, 100, 2**10])
        vector = tuple(rng.randint(-far * length - 1, far * length + 1) for _ in range(4))
        vector = tuple(max(-norm.most, min(norm.most, v)) for v in vector)
        steps = scaled(vector, vector, order, bound, norm.scale)
        assert sum(abs(v) ** order for v in steps) <= bound * norm.scale**order


def test_roots_are_never_too_short() -> None:
    """The statement's root of whole numbers, around squares of every size, against whole numbers."""
    numbers = [
        n
        for k in range(2, 63)
        for r in (2**k - 1, 2**k, 2**k + 1)
        for n in (r * r - 1, r * r, r * r + 1)
    ]
    numbers += [random.Random(5).randrange(2**125) for _ in range(2000)]
    connection = duckdb.connect()
    listed = "SELECT unnest(?::HUGEINT[]) AS squares"
    near = f"SELECT squares, {first_root('squares')} AS near FROM ({listed})"
    text = f"SELECT squares, {rounded_up('near', 'squares')} FROM ({near})"
    found = connection.execute(text, [numbers]).fetchall()
    assert len(found) == len(numbers)
    for number, root in found:
        assert root * root >= number
        assert (root - 1) ** 2 < number if number < 2**100 else root * root < number * (1 + 2**-28)


def test_each_mechanism_has_the_norm_that_its_noise_is_for(tmp_path: Path) -> None:
    policy = write_policy(tmp_path, "add-remove", {"visits": LIMITS[3], "stays": LIMITS[3]})
    outlined = outline(parse(COUNT, policy.tables).query, policy.tables, "add-remove")
    for epsilon, delta in product(("0.01", "1", "30"), ("0", "1e-9", "0.3")):
        (level,) = price(outlined, Fraction(epsilon), Fraction(delta)).levels
        (part,), (noise,) = level.measurements, level.noises
        assert part.norm is not None
        assert part.norm.order == (1 if isinstance(noise, DiscreteLaplace) else 2)
        # what is charged is what is declared
        (event,) = level.charge.events
        declared = part.sensitivity
        if isinstance(event, LaplaceEvent):
            assert (event.l1, event.linf) == (declared.l1, declared.linf)
        else:
            assert isinstance(event, GaussianEvent) and event.l2_squared == declared.l2_squared


@pytest.mark.parametrize("order", [1, 2])
def test_noise_is_never_more_than_where_rows_are_dropped(order: int) -> None:
    for groups, rows, per_group in product((1, 2, 5, 40), (2, 7, 64, 1000), (1, 3, 1000)):
        limits = ContributionLimits(
            min(groups, rows), min(rows, groups * per_group), min(per_group, rows)
        )
        bound = norm_of(limits, order, limits.groups)  # type: ignore[arg-type]
        total, _, squared = limits.row_norms
        assert 1 <= bound <= (total if order == 1 else squared)


def test_declared_norms_are_tight_for_counts() -> None:
    """Two vectors that are as far apart as two can be, in either norm."""
    l1, l2 = NormBound(1, 16, 1), NormBound(2, 256, 1)
    settings = {
        relation: SensitivitySetting(relation, ContributionLimits(4, 16, 16), False, False)
        for relation in RELATIONS
    }
    added, changed = settings["add-remove"], settings["change-one"]
    assert sensitivity_by_norm(added, l1, 0, 1).l1 == 16
    assert sensitivity_by_norm(changed, l1, 0, 1).l1 == 32  # (16, 0) and (0, 16)
    assert sensitivity_by_norm(added, l2, 0, 1).l2_squared == 256
    assert sensitivity_by_norm(changed, l2, 0, 1).l2_squared == 512
    assert sensitivity_by_norm(changed, l2, -1, 1).l2_squared == 1024  # 16 and -16
    in_one = replace(changed, one_group=True)
    assert sensitivity_by_norm(in_one, l1, 0, 1).l1 == 16  # 16 and 0
    assert toward_zero(-7, 2) == -3


SUMS = ["SELECT SUM(age) FROM visits", "SELECT SUM(age - 20) FROM visits"]


@pytest.mark.parametrize(
    ("sql", "relation", "order"),
    few_rows_of(
        [
            (SUMS[0], "change-one", 1),
            (SUMS[1], "add-remove", 2),
            *product(SUMS, RELATIONS, (1, 2)),
        ],
        2,
    ),
)
def test_a_sum_without_groups_is_held_to_what_its_rows_may_add(
    sql: str, relation: Neighbours, order: int, tmp_path: Path
) -> None:
    """Every sum of up to six rows: as it is within three times the bound, and held there beyond."""
    level, policy = planned(sql, tmp_path, relation, Bounding(3, 3, None), order)
    (part,) = level.measurements
    if relation == "change-one" and part.low < 0:
        assert part.norm is None  # rows that are dropped let it move by less
        return
    assert part.norm is not None and part.norm.alone
    most = 3 * part.size
    database, statement = Database(), compile_plan(level, source_of(policy), 7)
    found = []
    values = (0, 13, 40)
    for ages in chain.from_iterable(combinations_with_replacement(values, n) for n in range(7)):
        database.load("visits", [{**EMPTY, "person": 1, "sex": "F", "age": age} for age in ages])
        (cell,) = database.cells(statement).column("m0").to_pylist()
        whole = sum(age + part.low for age in ages)
        # beyond it, c and N of the formula round by one part in 2^23
        assert abs(cell - max(-most, min(most, whole)) * part.scale) <= most * part.scale / 2**22
        found.append(cell)
    assert max(map(abs, found)) <= part.sensitivity.l1
    if relation == "change-one":
        assert max(found) - min(found) <= part.sensitivity.l1
    assert part.sensitivity.l1 <= most * part.scale


@pytest.mark.parametrize("order", [1, 2])
def test_sums_far_from_zero_are_as_exact_as_those_near_it(order: int, tmp_path: Path) -> None:
    """A unit's rows in one group add up to more than 64 bits hold, less their centre to little."""
    rows = [{**EMPTY, "person": 1, "sex": "F", "age": n % 41} for n in range(3_000)]
    cells = []
    for value in ("age", f"age + {2**52 - 100}"):
        sql = f"SELECT sex, AVG({value}) FROM visits GROUP BY sex"
        level, policy = planned(sql, tmp_path, "add-remove", Bounding(10_000, 2, 5_000), order)
        assert any(part.centre for part in level.computed)
        database = Database()
        database.load("visits", rows)
        cells.append(database.cells(compile_plan(level, source_of(policy), 7)).to_pydict())
    assert cells[0] == cells[1]
