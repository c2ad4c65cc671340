"""The same cells for every question, from buckets of files as from the engine of one machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from privacy.additivity import check_same
from questions.asking import Shape
from questions.cases import Case, cases
from questions.test_in_parts import levels
from sanql.catalog import PreparedSource
from sanql.compile import compile_plan
from sanql.errors import Refused
from support.on_buckets import Buckets, on_spark, spread
from support.volume import share_of

pytestmark = pytest.mark.slow

CASES = list(cases(refused=False))
SECRET = 7
EVERY = 4  # case of a shape; `make soak` has all


@pytest.mark.parametrize("case", share_of(CASES, EVERY, 1), ids=str)
def test_buckets_have_the_cells_of_one_machine(
    case: Case,
    shape: Callable[[str], Shape],
    buckets: Callable[[str], tuple[PreparedSource, Buckets]],
) -> None:
    asked, (source, engine) = shape(case.shape), buckets(case.shape)
    for level in levels(asked, case):
        here = compile_plan(level, asked.san.session.data.open().source, SECRET)
        try:
            sent = compile_plan(level, source, SECRET)
        except Refused as refused:
            assert refused.code == "not_on_buckets"
            continue
        nobodys = level.outline.reads_no_rows or level.outline.table.public
        assert (sent.partial is None) == nobodys
        expected = asked.engine.run(here)
        check_same(level, expected, engine.run(sent))
        if sent.partial is not None and not sent.greedy:
            assert sent.partial.several
            check_same(level, expected, engine.run(sent, two_steps=True))


@pytest.fixture(scope="module")
def buckets(
    shape: Callable[[str], Shape], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], tuple[PreparedSource, Buckets]]]:
    """Return a function that gives the layout of a shape, open."""
    opened: dict[str, tuple[PreparedSource, Buckets]] = {}

    def by_name(name: str) -> tuple[PreparedSource, Buckets]:
        if name not in opened:
            folder = tmp_path_factory.mktemp(f"{name}-layout")
            shape(name).san.session.data.open()  # before there is a copy, where the file is
            source = spread(on_spark(shape(name).policy, folder), 5)
            opened[name] = source, Buckets(folder)
        return opened[name]

    yield by_name
    for _, engine in opened.values():
        engine.close()
