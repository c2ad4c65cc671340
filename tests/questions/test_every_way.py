"""The same cells to the bit: original and copy, workers and in process, 1 part and 256, one secret.

The questions of the fixtures, of TPC-H, and generated ones. A share of them in `make test`, all in
`make soak`: there are 2,000 generated ones.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest
from bench.tpch.__main__ import HERE, generate, questions

from privacy.examination import Asked, ask
from privacy.kernel import write_database
from privacy.stages import STAGES
from questions.asking import Shape
from questions.cases import Case, cases
from questions.every_way import SECRET, EveryWay
from questions.test_in_parts import levels
from sanql.catalog import PreparedSource
from sanql.compile.statement import compile_plan
from sanql.kernel import Statement
from sanql.policy import Policy, load
from sanql.policy.model import Neighbours
from support.volume import few_rows_of, share_rows_of

pytestmark = pytest.mark.slow

EVERY = 8  # case of a shape; `make soak` has all
CASES = list(cases(refused=False))
BY_NAME = {stage.name: stage for stage in STAGES}
ORDERS: tuple[Neighbours, ...] = ("add-remove", "change-one")
QUESTIONS = 10  # of one world
GENERATED = 2_000
NOT_ABOUT_UNITS = {"q02", "q03", "q10", "q11", "q16", "q18"}  # public, or of individuals


# ---- the questions of the fixtures


@pytest.fixture(scope="module")
def ways(shape: Callable[[str], Shape]) -> Iterator[Callable[[str], EveryWay]]:
    """Return a function that gives every way to the data of a shape."""
    opened: dict[str, EveryWay] = {}

    def by_name(name: str) -> EveryWay:
        if name not in opened:
            shape(name).san.session.data.open()  # before there is a copy, where the file is
            opened[name] = EveryWay(shape(name).policy)
        return opened[name]

    yield by_name
    for each in opened.values():
        each.close()


@pytest.mark.parametrize(
    ("case", "many"),
    [
        *share_rows_of(((case, False) for case in CASES), EVERY, 3),
        *share_rows_of(((case, True) for case in CASES), 6 * EVERY, 3),
    ],
    ids=str,
)
def test_a_question_has_the_same_cells_every_way(
    case: Case,
    many: bool,
    shape: Callable[[str], Shape],
    ways: Callable[[str], EveryWay],
) -> None:
    for level in levels(shape(case.shape), case):

        def write(source: PreparedSource, level: object = level) -> Statement:
            return compile_plan(level, source, SECRET)  # type: ignore[arg-type]

        assert ways(case.shape).compare(level, write, many=many) >= 3


def test_some_questions_go_the_short_way(
    shape: Callable[[str], Shape], ways: Callable[[str], EveryWay]
) -> None:
    short = {
        case.shape
        for case in CASES
        for level in levels(shape(case.shape), case)
        if ways(case.shape).has_small_units(level)
    }
    assert short >= {"hospital", "retail"}


def test_some_questions_are_computed_from_rows_added_up(
    shape: Callable[[str], Shape], ways: Callable[[str], EveryWay]
) -> None:
    added_up = [
        case.shape
        for case in CASES
        for level in levels(shape(case.shape), case)
        if ways(case.shape).is_added_up(level)
    ]
    assert {name: added_up.count(name) > 20 for name in added_up}["hospital"]


# ---- TPC-H


@pytest.fixture(scope="module")
def customers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Policy, EveryWay]]:
    """Return the policy of TPC-H over a database that is read where it is, and every way to it."""
    policy = tpch(tmp_path_factory.mktemp("tpch"))
    opened = EveryWay(policy)
    yield policy, opened
    opened.close()


def tpch(folder: Path) -> Policy:
    """Write TPC-H as a database into a folder; return the policy over it."""
    generate(folder / "data", "0.002")
    with duckdb.connect(str(folder / "tpch.duckdb")) as made:
        for file in sorted((folder / "data").glob("*.parquet")):
            made.execute(f"CREATE TABLE {file.stem} AS FROM '{file}'")
    shutil.rmtree(folder / "data")
    text = (HERE / "policy.toml").read_text(encoding="utf-8")
    assert 'source = "data/"' in text
    (folder / "policy.toml").write_text(text.replace('"data/"', '"tpch.duckdb"'), encoding="utf-8")
    return load(folder / "policy.toml")


@pytest.mark.parametrize(
    "name", share_rows_of([(n,) for n in sorted(questions().keys() - NOT_ABOUT_UNITS)], 3)
)
def test_tpch_has_the_same_cells_every_way(name: str, customers: tuple[Policy, EveryWay]) -> None:
    policy, ways = customers
    assert compared(questions()[name], policy, ways, None, many=name == "q06") >= 3


# ---- generated questions


def worlds() -> list[tuple[str, int]]:
    """Return a stage and a seed for each world that questions are generated in."""
    names = list(BY_NAME)
    return [(names[n % len(names)], n) for n in range(GENERATED // QUESTIONS)]


@pytest.mark.parametrize(("name", "seed"), few_rows_of(worlds(), len(BY_NAME)))
def test_generated_questions_have_the_same_cells_every_way(
    name: str, seed: int, tmp_path: Path
) -> None:
    rng, stage = random.Random(f"every way {seed}"), BY_NAME[name]
    policy = stage.policy(tmp_path, rng.choice(ORDERS), rng)
    world = stage.draw(rng, rng.random() < 0.3).whole
    write_database(policy.ledger.parent / str(policy.source), stage.schema, world)
    ways, asks, asked = EveryWay(policy), stage.asks(rng), 0
    while asked < QUESTIONS:
        sql, groups = asks(), rng.choice([None, None, None, 1, 2])
        asked += compared(sql, policy, ways, groups, many=asked == 0) > 0
    ways.close()


def compared(sql: str, policy: Policy, ways: EveryWay, groups: int | None, *, many: bool) -> int:
    """Return how many comparisons were made of a question; 0 where it is refused, or large."""
    first = ask(sql, policy, ways.original, groups, SECRET)
    if not isinstance(first, Asked) or first.large is not None:
        return 0
    made = 0
    for place, (level, _) in enumerate(first.levels):

        def write(source: PreparedSource, place: int = place) -> Statement:
            again = ask(sql, policy, source, groups, SECRET)
            assert isinstance(again, Asked)
            return again.levels[place][1]

        made += ways.compare(level, write, many=many)
    return made
