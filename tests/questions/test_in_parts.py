"""The same cells for every question, however units are read: at once or in parts, in a copy or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from privacy.additivity import check_same
from questions.asking import Shape
from questions.cases import Case, cases
from sanql.catalog import PreparedSource
from sanql.compile.statement import compile_plan
from sanql.engines import Pool, open_engine, prepare
from sanql.plan.level import Level
from sanql.question.public_query import PublicQuery
from support.volume import few_of, share_of

pytestmark = pytest.mark.slow

CASES = list(cases(refused=False))
SECRET = 7
SHORT, FEW = 2_500, 3
EVERY = 4  # case of a shape; `make soak` has all


@pytest.mark.parametrize("case", share_of(CASES, EVERY), ids=str)
def test_five_parts_have_the_cells_of_one(case: Case, shape: Callable[[str], Shape]) -> None:
    asked = shape(case.shape)
    for level in levels(asked, case):
        compare(asked, level, 5)


@pytest.mark.parametrize("case", share_of(CASES, EVERY, 2), ids=str)
def test_a_prepared_copy_has_the_cells_of_the_original(
    case: Case, shape: Callable[[str], Shape], copy: Callable[[str], tuple[PreparedSource, Pool]]
) -> None:
    """Where the rows of a unit lie together, and none are without a unit."""
    asked, (source, pool) = shape(case.shape), copy(case.shape)
    for level in levels(asked, case):
        original = compile_plan(level, asked.san.session.data.open().source, SECRET)
        prepared = compile_plan(level, replace(source, parts=1 + case.line % 3), SECRET)
        check_same(level, asked.engine.run(original), pool.run(prepared))


@pytest.mark.parametrize("name", few_of(["hospital", "retail"], 1))
def test_256_parts_have_the_cells_of_one(name: str, shape: Callable[[str], Shape]) -> None:
    """Each part is planned anew, so of long questions it would take minutes."""
    asked = shape(name)
    source = replace(asked.san.session.data.open().source, parts=256)
    every = [level for case in CASES if case.shape == name for level in levels(asked, case)]
    sent = [(level, compile_plan(level, source, SECRET)) for level in every]
    short = [level for level, one in sent if one.partial and len(one.in_full()) < SHORT]
    assert len(short) >= FEW
    for level in short[:: len(short) // FEW]:
        compare(asked, level, 256)


def test_most_questions_are_asked_in_parts(shape: Callable[[str], Shape]) -> None:
    """Of rows that are units there are none: what is computed of them is never more than cells."""
    in_parts = 0
    for case in CASES:
        asked = shape(case.shape)
        source = replace(asked.san.session.data.open().source, parts=2)
        sent = [compile_plan(level, source, SECRET) for level in levels(asked, case)]
        in_parts += any(statement.partial is not None for statement in sent)
    assert in_parts > len(CASES) / 2


@pytest.fixture(scope="module")
def copy(
    shape: Callable[[str], Shape],
) -> Iterator[Callable[[str], tuple[PreparedSource, Pool]]]:
    """Return a function that gives the prepared copy of a shape, open."""
    opened: dict[str, tuple[PreparedSource, Pool]] = {}

    def by_name(name: str) -> tuple[PreparedSource, Pool]:
        if name not in opened:
            policy, engine = shape(name).policy, open_engine("in_process")
            shape(name).san.session.data.open()  # before there is a copy, where the file is
            source = prepare(policy, engine=engine, copied=True)
            assert source.buckets
            opened[name] = source, Pool(source, policy.engine, engine)
        return opened[name]

    yield by_name
    for _, pool in opened.values():
        pool.close()


def levels(asked: Shape, case: Case) -> tuple[Level, ...]:
    """Return the levels of a question about somebody; of public tables there are none."""
    planned = asked.plan(case.sql)
    return () if isinstance(planned, PublicQuery) else tuple(planned.levels)


def compare(asked: Shape, level: Level, parts: int) -> None:
    """Raise where cells differ."""
    source = asked.san.session.data.open().source
    whole, in_parts = (
        asked.engine.run(compile_plan(level, replace(source, parts=number), SECRET))
        for number in (1, parts)
    )
    check_same(level, whole, in_parts)
