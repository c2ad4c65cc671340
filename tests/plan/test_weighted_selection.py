"""Keys selected by weights: what one unit can move, what stays hidden, and what is found that was not."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path

import duckdb
import mpmath
import pytest

from privacy.norms import kept_rows, scaled
from sanql.account import FailureEvent, GaussianEvent
from sanql.compile import compile_plan
from sanql.compile.key_weights import key_weights
from sanql.engines import Pool, open_engine, prepare
from sanql.measurements import GROUPS_MAX, Measured, key_weight, sensitivity_of_key_weights
from sanql.mechanisms import DiscreteGaussian
from sanql.plan.weighted_selection import weight_threshold
from sanql.policy import Neighbours, Policy, load
from support.cells import SECRET, cells_of, priced
from support.policies import dataset

RELATIONS: tuple[Neighbours, ...] = ("add-remove", "change-one")
SECTION = """
[table.flights]
privacy_unit = "plane"
rows_per_unit_max = {rows}
{more}
[table.flights.column]
dest = {{ type = "text" }}
"""


@pytest.mark.slow
def test_the_engine_weighs_as_whole_numbers_do() -> None:
    """All numbers of groups there can be: floating point never reaches the next whole number."""
    (spread, _) = key_weights(["k0"], "pairs")
    weight = spread.partition("SELECT u, ")[2].partition(" AS w")[0]
    with duckdb.connect() as engine:
        found = engine.execute(
            f"SELECT {weight.replace('system.main.count(*)', 'g')} FROM range(1, ?) AS r(g) ORDER BY g",
            [GROUPS_MAX + 1],
        ).fetchall()
    assert [w for (w,) in found] == [key_weight(g) for g in range(1, GROUPS_MAX + 1)]
    assert all(w * w * g <= GROUPS_MAX < (w + 1) ** 2 * g for g, (w,) in enumerate(found, 1))


def vectors(keys: int, groups_max: int) -> Iterator[tuple[int, ...]]:
    """Yield what one unit may add to each key, by the definition: any set of keys, weighted alike."""
    for chosen in itertools.product((0, 1), repeat=keys):
        groups = sum(chosen)
        if groups > groups_max:
            continue
        weight = key_weight(groups) if groups else 0
        yield tuple(weight * is_in for is_in in chosen)


@pytest.mark.parametrize("groups_max", [1, 2, 3, 6])
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_no_unit_moves_the_weights_further_than_is_said(
    neighbours: Neighbours, groups_max: int
) -> None:
    said = sensitivity_of_key_weights(groups_max, neighbours)
    nothing = (0,) * 6
    before = [nothing] if neighbours == "add-remove" else list(vectors(6, groups_max))
    moves = [
        [abs(a - b) for a, b in zip(one, other, strict=True)]
        for one in before
        for other in vectors(6, groups_max)
    ]
    assert max(map(sum, moves)) <= said.l1
    assert max(map(max, moves)) <= said.linf
    furthest = max(sum(step * step for step in move) for move in moves)
    assert furthest <= said.l2_squared
    assert furthest > 0.99 * said.l2_squared or groups_max * 2 > 6


@cache
def tails(sigma2: Fraction) -> list[mpmath.mpf]:
    """Return P(Z >= t) of a discrete Gaussian for t from 0 on, summed up by its definition."""
    variance = mpmath.mpf(sigma2.numerator) / sigma2.denominator
    masses = [mpmath.exp(-k * k / (2 * variance)) for k in range(int(14 * math.sqrt(sigma2)) + 20)]
    beyond = list(itertools.accumulate(reversed(masses)))[::-1]
    whole = 2 * beyond[0] - masses[0]
    return [mass / whole for mass in beyond]


def tail(sigma2: Fraction, t: int) -> mpmath.mpf:
    """Return P(Z >= t); what lies beyond 14 deviations is less than any failure here."""
    known = tails(sigma2)
    if t <= 0:
        return 1 - (known[1 - t] if 1 - t < len(known) else 0)
    return known[t] if t < len(known) else mpmath.mpf(0)


@pytest.mark.parametrize("sigma2", [Fraction(1), Fraction(9_000), Fraction(90_000)])
@pytest.mark.parametrize("groups_max", [1, 7, 300])
@pytest.mark.parametrize("failure", [Fraction(1, 10**4), Fraction(1, 10**9)])
def test_keys_of_one_unit_alone_stay_hidden_but_for_the_failure(
    sigma2: Fraction, groups_max: int, failure: Fraction
) -> None:
    threshold = weight_threshold(DiscreteGaussian(sigma2), failure, groups_max)
    chances = [g * tail(sigma2, threshold - key_weight(g)) for g in range(1, groups_max + 1)]
    assert max(chances) <= mpmath.mpf(failure.numerator) / failure.denominator
    # and hardly more than is needed: a weight of the widest range lower, somebody could be seen
    slack = max(3, math.ceil(3.1 * key_weight(groups_max)) if groups_max > 1 else 1)
    lower = [g * tail(sigma2, threshold - slack - key_weight(g)) for g in range(1, groups_max + 1)]
    assert max(lower) > mpmath.mpf(failure.numerator) / failure.denominator


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_the_charge_is_of_what_the_noise_is_for(neighbours: Neighbours, tmp_path: Path) -> None:
    policy = town(tmp_path, [], rows=256)
    plan = priced(
        "SELECT dest FROM flights GROUP BY dest",
        policy.tables,
        neighbours,
        delta=Fraction(1, 10**8),
    )
    (level,) = plan.levels
    assert level.selection is not None and level.selection.kind is Measured.KEY_WEIGHTS
    gaussian, failure = plan.charge.events
    assert isinstance(gaussian, GaussianEvent) and isinstance(failure, FailureEvent)
    assert gaussian.l2_squared == (1 if neighbours == "add-remove" else 2) * GROUPS_MAX
    sides = 1 if neighbours == "add-remove" else 2
    noise = DiscreteGaussian(gaussian.sigma2)
    assert level.priced.threshold == weight_threshold(noise, failure.delta / sides, 256)


def town(folder: Path, flights: list[tuple[int, str]], rows: int, more: str = "") -> Policy:
    """Return a policy over flights of planes."""
    (folder / "data").mkdir(exist_ok=True)
    with duckdb.connect() as made:
        made.execute("CREATE TABLE f (plane BIGINT, dest VARCHAR)")
        planes, dests = ([flight[i] for flight in flights] for i in (0, 1))
        made.execute(
            "INSERT INTO f SELECT unnest(?::BIGINT[]), unnest(?::VARCHAR[])", [planes, dests]
        )
        made.execute(f"COPY f TO '{folder}/data/flights.parquet'")
    (folder / "policy.toml").write_text(dataset("data") + SECTION.format(rows=rows, more=more))
    return load(folder / "policy.toml")


def weights_of(flights: list[tuple[int, str]], groups_max: int) -> dict[str, int]:
    """Return the weight of each key, by the definition; units in too many groups are left to the hash."""
    by_plane: dict[int, set[str]] = {}
    for plane, dest in flights:
        by_plane.setdefault(plane, set()).add(dest)
    weights: Counter[str] = Counter()
    for dests in by_plane.values():
        assert len(dests) <= groups_max
        for dest in dests:
            weights[dest] += key_weight(len(dests))
    return dict(weights)


@pytest.mark.slow
def test_cells_are_the_weights_and_add_up_over_units(tmp_path: Path) -> None:
    rng = random.Random(16)
    flights = [
        (rng.randrange(40), f"d{min(rng.randrange(12), rng.randrange(12))}") for _ in range(600)
    ]
    wide = [(99, f"only{i}") for i in range(30)]  # in more groups than may count
    sql = "SELECT dest, COUNT(*) FROM flights GROUP BY dest"
    engine = open_engine("in_process")

    def measured(folder: str, rows: list[tuple[int, str]]) -> dict[str, int]:
        (tmp_path / folder).mkdir()
        policy = town(tmp_path / folder, rows, rows=20)
        source = prepare(policy, engine=engine)
        with Pool(source, policy.engine, engine) as pool:
            cells = cells_of(sql, policy, source, pool.run, epsilon="1/2", delta=Fraction(1, 10**6))
        return {row["k0"]: row["m1"] for row in cells if row["m1"]}

    whole = measured("all", flights)
    assert whole == weights_of(flights, 20)
    flights += wide
    crowded = measured("wide", flights)
    assert {k: w for k, w in crowded.items() if "only" not in k} == whole
    assert len(crowded) == len(whole) + 20
    alone: Counter[str] = Counter()
    for plane in (0, 1, 2, 3, 99):
        alone.update(measured(f"plane{plane}", [f for f in flights if f[0] == plane]))
    few = measured("few", [f for f in flights if f[0] in (0, 1, 2, 3, 99)])
    assert few == dict(alone)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1/2", "4"])
@pytest.mark.parametrize("spread", [(1,), (9,), (1, 1, 4), (3,) * 30, (200, 1, 1), (1,) * 19])
def test_a_unit_is_scaled_by_its_norm_where_its_keys_are_weighed(
    tmp_path: Path, spread: tuple[int, ...], epsilon: str
) -> None:
    flights = [(1, f"d{i:02}") for i, rows in enumerate(spread) for _ in range(rows)]
    engine = open_engine("in_process")
    policy = town(tmp_path, flights, rows=20)
    source = prepare(policy, engine=engine)
    sql = "SELECT dest, COUNT(*) FROM flights GROUP BY dest"
    price = {"epsilon": epsilon, "delta": Fraction(1, 10**6)}
    (level,) = priced(sql, policy.tables, **price).levels
    count, weight = level.computed
    assert count.norm is not None and weight.kind is Measured.KEY_WEIGHTS
    with Pool(source, policy.engine, engine) as pool:
        rows = pool.run(compile_plan(level, source, SECRET)).to_pylist()
    found = tuple(row["m0"] for row in sorted(rows, key=lambda row: row["k0"]))
    held = tuple(min(n, kept_rows(count.norm.order, count.norm.bound, None)) for n in spread)
    assert found == scaled(held, held, count.norm.order, count.norm.bound, count.norm.scale)


def test_no_more_groups_of_a_unit_have_a_weight_than_may(tmp_path: Path) -> None:
    """Also where fewer groups are counted; its rows count in all of its groups."""
    flights = [(1, f"d{i}") for i in range(30)]
    engine = open_engine("in_process")
    policy = town(tmp_path, flights, rows=20, more="groups_per_unit_max = 3")
    source = prepare(policy, engine=engine)
    sql = "SELECT dest, COUNT(*) FROM flights GROUP BY dest"
    price = {"epsilon": "1/2", "delta": Fraction(1, 10**6)}
    with Pool(source, policy.engine, engine) as pool:
        cells = cells_of(sql, policy, source, pool.run, **price)
        dropped = cells_of(
            "SELECT dest FROM flights GROUP BY dest", policy, source, pool.run, **price
        )
    assert sorted(row["m1"] for row in cells) == [0] * 10 + [key_weight(20)] * 20
    weights = [value for row in dropped for name, value in row.items() if name == "m0"]
    assert sorted(weights) == [key_weight(20)] * 20, "where nothing is bounded by norm"
    assert [row["m0"] for row in cells] == [
        1
    ] * 30  # no longer than √30, so that none is scaled down


def test_keys_are_found_that_counting_in_full_would_hide(tmp_path: Path) -> None:
    """Planes that fly to many places: each place has hundreds of them, and none would be shown.

    The noise is drawn by the true law; a weight is over the threshold by more than ten deviations, or
    the test does not count it.
    """
    rng = random.Random(2016)
    places = [f"d{i}" for i in range(104)]
    popular = [1 / (i + 3) for i in range(104)]
    flights = [
        (plane, dest)
        for plane in range(4_043)
        for dest in set(rng.choices(places, popular, k=min(256, int(rng.expovariate(1 / 12)) + 1)))
    ]
    policy = town(tmp_path, [], rows=256)
    asked = {"epsilon": "1/2", "delta": Fraction(1, 10**8)}
    sql = "SELECT dest, COUNT(*) FROM flights GROUP BY dest"
    (level,) = priced(sql, policy.tables, **asked).levels  # type: ignore[arg-type]
    in_full = Counter(dest for _, dest in flights)
    (counted,) = priced(sql, policy.tables, groups=256, **asked).levels  # type: ignore[arg-type]
    assert level.selection is not None and level.priced.threshold is not None
    assert counted.priced.threshold is not None
    noise = level.noises[level.measurements.index(level.selection)]
    surely = level.priced.threshold + 10 * noise.standard_deviation
    found = [dest for dest, weight in weights_of(flights, 256).items() if weight > surely]
    assert len(found) >= 10
    assert max(in_full.values()) < counted.priced.threshold  # today's way shows none of them
