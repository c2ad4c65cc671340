"""Record and replay of batches: what is measured keeps to what it declares, and so do sums.

Under one secret, the exact cells of a level that is added up are compared with the sums of the level
that is measured in its place: rows and units are the same whatever the limits are, values and sums where
they are scaled to a norm, or no unit has more rows than count.

Questions that are asked alone after a batch, and read from it, have the cells that they would have if the
same were measured for them alone.
"""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

from privacy.replay import check
from privacy.test_replay import ORDERS
from privacy.worlds import (
    UNITS,
    Bounding,
    Database,
    draw_bounding,
    draw_units,
    neighbour_of,
    source_of,
    write_policy,
)
from sanql.answer.batch import read_cells
from sanql.compile.statement import compile_plan
from sanql.measurements import NoisyCells
from sanql.measurements.measurement import Measured
from sanql.parse import parse
from sanql.plan import BatchPlan, outline, plan_batch, read_from_batch
from sanql.plan.level import Level
from sanql.policy.model import Policy
from support.volume import few_rows_of

KEYS = (
    "flag IS NULL",
    "CASE WHEN age < 10 THEN 'few' WHEN age < 30 THEN 'some' ELSE 'many' END",
    "COALESCE(level, 0) IN (1, 2)",
    "sex",
    "flag",
)
STATISTICS = ("COUNT(*)", "SUM(age)", "AVG(temp)", "COUNT(age)", "SUM(income)", "MEDIAN(age)")
STREAMS = few_rows_of(
    [(0, 4), *((seed, 10) for seed in range(4))], 1
)  # a seed, and how many worlds
SUMMED = (Measured.SUM, Measured.BELOW, Measured.VALUES)
ROWS_IN_ALL = 80  # are more than all units here have
ENOUGH = Bounding(400, 400, None)  # more rows than any unit here has


def question(rng: random.Random, table: str) -> str:
    keys = rng.sample(KEYS, rng.choice([0, 1, 1, 2, 3]))
    statistics = rng.sample(STATISTICS, rng.choice([1, 1, 2]))
    grouped = f" GROUP BY {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else ""
    where = rng.choice(["", "", "", " WHERE age > 5"])
    return f"SELECT {', '.join([*keys, *statistics])} FROM {table}{where}{grouped}"


def planned(rng: random.Random, policy: Policy) -> tuple[list[str], BatchPlan]:
    table = rng.choice(list(UNITS))
    asked = [question(rng, table) for _ in range(rng.randint(2, 5))]
    outlines = [
        outline(parse(sql, policy.tables).private, policy.tables, policy.neighbours)
        for sql in asked
    ]
    return asked, plan_batch(outlines, Fraction(1), rng.choice([Fraction(0), Fraction(1, 10**6)]))


def summed_alike(
    batch: BatchPlan, cells: list[pa.Table], ours: Database, policy: Policy, secret: int, sums: bool
) -> int:
    """Return how many levels that are added up have the cells they would have if they were measured."""
    compared = 0
    for asked in batch.questions:
        reads, shown = asked.reads[0], asked.plan.levels[0]
        if reads.cells == 1:
            continue
        compared += 1
        added = read_cells(NoisyCells(cells[reads.level]), reads).table
        measured = batch.levels[reads.level].outline.measuring
        alone = Level(replace(shown.outline, measuring=measured), shown.priced)
        own = ours.cells(compile_plan(alone, source_of(policy), secret))
        if reads.keys:
            own = own.sort_by([(f"k{i}", "ascending") for i in range(len(reads.keys))])
        for index, part in enumerate(alone.computed):
            if part.kind in (Measured.ROWS, Measured.UNITS) or (
                (sums or part.norm is not None) and part.kind in SUMMED
            ):
                name = f"m{index}"
                assert part.norm is None or part.norm.order == 1, part
                # scaled toward zero, each of a unit's cells may lose less than a step
                lost = ROWS_IN_ALL if part.scale > 1 else 0
                pairs = zip(
                    added.column(name).to_pylist(), own.column(name).to_pylist(), strict=True
                )
                assert all(abs(one - other) <= lost for one, other in pairs), part
    return compared


def alone_again(rng: random.Random, sql: str) -> str:
    """Return a question with its keys and statistics in another order, and perhaps not all of them."""
    selected, rest = sql.removeprefix("SELECT ").split(" FROM ")
    listed = selected.split(", ")
    keys = [item for item in listed if item not in STATISTICS]
    if " WHEN " in selected or "IN (" in selected:  # a key has commas of its own
        keys = [key for key in KEYS if key in selected and (key != "flag" or "flag" in listed)]
    kept = [item for item in STATISTICS if item in listed]
    kept = rng.sample(kept, rng.randint(1, len(kept)))
    rng.shuffle(keys)
    table, where, _ = (rest.partition(" GROUP BY ")[0] + " ").partition(" WHERE age > 5")
    places = ", ".join(str(i + 1) for i in range(len(keys)))
    grouped = f" GROUP BY {places}" if keys else ""
    return f"SELECT {', '.join([*keys, *kept])} FROM {table.strip()}{where}{grouped}"


def read_alike(
    rng: random.Random,
    asked: list[str],
    batch: BatchPlan,
    cells: list[pa.Table],
    ours: Database,
    policy: Policy,
    secret: int,
    limited: bool,
) -> int:
    """Return how many questions that are read from a batch have the cells they would have alone."""
    compared = 0
    others = [question(rng, rng.choice(list(UNITS))) for _ in asked]
    for place, sql in enumerate([*(alone_again(rng, each) for each in asked), *others]):
        query = parse(sql, policy.tables).private
        found = read_from_batch(batch, outline(query, policy.tables, policy.neighbours))
        assert place >= len(asked) or found is not None, sql
        if found is None or found.reads[0].cells > 1:
            continue
        if limited and list(found.reads[0].keys) != sorted(found.reads[0].keys):
            continue  # in another order of keys other rows are left out
        compared += 1
        (level,), (reads,) = found.plan.levels, found.reads
        read = read_cells(NoisyCells(cells[reads.level]), reads).table
        own = ours.cells(compile_plan(level, source_of(policy), secret))
        keys = [f"k{i}" for i in range(len(reads.keys))]
        own = own.sort_by([(key, "ascending") for key in keys]) if keys else own
        assert read.select(own.column_names).to_pylist() == own.to_pylist(), sql
    return compared


def limits_of(rng: random.Random) -> Bounding:
    """Return limits of any kind; of the second no group is lost, so that more is added up."""
    rows = rng.choice([1, 2, 4, 7])
    return rng.choice([draw_bounding(rng), Bounding(rows, rows, None)])


def replay_batches(seed: int, count: int, folder: Path, bounding: Bounding | None) -> None:
    rng = random.Random(seed)
    ours, theirs = Database(), Database()
    attained = added_up = read = 0
    for _ in range(count):
        neighbours = rng.choice(ORDERS)
        limits = {
            table: bounding or limits_of(rng) for table, unit in UNITS.items() if unit is not None
        }
        policy = write_policy(folder, neighbours, limits)
        for table in UNITS:
            units = draw_units(rng, table)
            other = neighbour_of(rng, table, units, neighbours)
            ours.load(table, [row for unit in units for row in unit])
            theirs.load(table, [row for unit in other for row in unit])
        for _ in range(8):
            asked, batch = planned(rng, policy)
            secret, cells = rng.getrandbits(63), []
            try:
                for level in batch.levels:
                    sent = compile_plan(level, source_of(policy), secret)
                    cells.append(ours.cells(sent))
                    attained += sum(check(level, cells[-1], theirs.cells(sent)))
                read += read_alike(
                    random.Random(secret),
                    asked,
                    batch,
                    cells,
                    ours,
                    policy,
                    secret,
                    bounding is None,
                )
                added_up += summed_alike(batch, cells, ours, policy, secret, bounding is not None)
            except AssertionError as error:
                raise AssertionError(f"{neighbours}, {limits}: {asked}") from error
    assert attained >= count or bounding is not None
    assert added_up >= count // 3
    assert read >= 6 * count


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "count"), STREAMS)
def test_neighbours_move_no_level_of_a_batch_by_more_than_it_declares(
    seed: int, count: int, tmp_path: Path
) -> None:
    replay_batches(seed, count, tmp_path, None)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "count"), STREAMS)
def test_sums_are_those_of_the_level_that_they_replace(
    seed: int, count: int, tmp_path: Path
) -> None:
    replay_batches(seed, count, tmp_path, ENOUGH)
