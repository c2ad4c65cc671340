"""The same cells to the bit from every kind of copy: in segments, resumed, encrypted, spread.

The questions of the fixtures, of TPC-H, and generated ones. Some of one fixture and of one world in `make
test`, all in `make soak`: there are 2,000 generated ones.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bench.tpch.__main__ import questions

from privacy.examination import Asked, ask
from privacy.kernel import write_database
from questions.asking import Shape
from questions.cases import Case
from questions.every_copy import EveryCopy
from questions.every_way import SECRET
from questions.test_every_way import (
    BY_NAME,
    CASES,
    NOT_ABOUT_UNITS,
    ORDERS,
    QUESTIONS,
    tpch,
    worlds,
)
from questions.test_in_parts import levels
from sanql.catalog import PreparedSource
from sanql.compile import compile_plan
from sanql.errors import Refused
from sanql.kernel import Statement
from sanql.policy import Policy
from support.volume import few_of, few_rows_of, share_of

pytestmark = pytest.mark.slow

EVERY = 8  # case of a shape; `make soak` has all, and all shapes
CASES_FIRST = [case for case in CASES if case.shape == "hospital"]
CASES_BESIDES = [case for case in CASES if case.shape != "hospital"]


@pytest.fixture(scope="module")
def copies(
    shape: Callable[[str], Shape], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], EveryCopy]]:
    """Return a function that gives every copy of the data of a shape."""
    opened: dict[str, EveryCopy] = {}

    def by_name(name: str) -> EveryCopy:
        if name not in opened:
            shape(name).san.session.data.open()  # before there is a copy, where the file is
            folder, rng = tmp_path_factory.mktemp(f"{name}-copies"), random.Random(name)
            opened[name] = EveryCopy(shape(name).policy, folder, rng)
            assert len(opened[name].copies) == 4
        return opened[name]

    yield by_name
    for each in opened.values():
        each.close()


@pytest.mark.parametrize(
    "case", [*share_of(CASES_FIRST, EVERY, 5), *few_of(CASES_BESIDES, 0)], ids=str
)
def test_a_question_has_the_same_cells_from_every_copy(
    case: Case, shape: Callable[[str], Shape], copies: Callable[[str], EveryCopy]
) -> None:
    for level in levels(shape(case.shape), case):

        def write(source: PreparedSource, level: object = level) -> Statement | None:
            try:
                return compile_plan(level, source, SECRET)  # type: ignore[arg-type]
            except Refused as refused:
                assert refused.code == "not_on_buckets"
                return None

        assert copies(case.shape).compare(level, write) >= 2


@pytest.mark.parametrize("name", few_of(["hospital", "retail", "census"], 1))
def test_copies_are_what_they_are_compared_for(
    name: str, copies: Callable[[str], EveryCopy]
) -> None:
    """Several buckets, rows added up, segments of a copy before."""
    found = {kind: source for kind, (source, _) in copies(name).copies.items()}
    assert found["encrypted"].parts > 2 and found["encrypted"].spread
    assert found["spread"].parts > 2
    assert found["files"].summaries and found["resumed"].summaries


@pytest.fixture(scope="module")
def customers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Policy, EveryCopy]]:
    """Return the policy of TPC-H over a database that is read where it is, and every copy of it."""
    folder = tmp_path_factory.mktemp("tpch-copies")
    policy = tpch(folder)
    (folder / "copies").mkdir()
    opened = EveryCopy(policy, folder / "copies", random.Random(1))
    yield policy, opened
    opened.close()


@pytest.mark.parametrize("name", few_of(sorted(questions().keys() - NOT_ABOUT_UNITS), 0))
def test_tpch_has_the_same_cells_from_every_copy(
    name: str, customers: tuple[Policy, EveryCopy]
) -> None:
    policy, copies = customers
    assert compared(questions()[name], policy, copies, None) >= 4


@pytest.mark.parametrize(("name", "seed"), few_rows_of(worlds(), 1))
def test_generated_questions_have_the_same_cells_from_every_copy(
    name: str, seed: int, tmp_path: Path
) -> None:
    rng, stage = random.Random(f"every copy {seed}"), BY_NAME[name]
    policy = stage.policy(tmp_path, rng.choice(ORDERS), rng)
    world = stage.draw(rng, rng.random() < 0.3).whole
    write_database(policy.ledger.parent / str(policy.source), stage.schema, world)
    (tmp_path / "copies").mkdir()
    copies, asks, asked = EveryCopy(policy, tmp_path / "copies", rng), stage.asks(rng), 0
    while asked < QUESTIONS:
        asked += compared(asks(), policy, copies, rng.choice([None, None, None, 1, 2])) > 0
    copies.close()


def compared(sql: str, policy: Policy, copies: EveryCopy, groups: int | None) -> int:
    """Return how many comparisons were made of a question; 0 where it is refused, or large."""
    first = ask(sql, policy, copies.original, groups, SECRET)
    if not isinstance(first, Asked) or first.large is not None:
        return 0
    made = 0
    for place, (level, _) in enumerate(first.levels):

        def write(source: PreparedSource, place: int = place) -> Statement | None:
            again = ask(sql, policy, source, groups, SECRET)
            if again == "not_on_buckets":
                return None
            assert isinstance(again, Asked)
            return again.levels[place][1]

        made += copies.compare(level, write)
    return made
