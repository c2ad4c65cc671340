"""The same cells from two executors as from this machine, also while one of them is killed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from privacy.additivity import check_same
from questions.cases import Case, cases
from questions.test_in_parts import levels
from sanql.compile import compile_plan
from sanql.engines.spark import server as spark_server
from sanql.errors import Refused
from spark.conftest import OnSpark, kill_an_executor
from support.volume import share_of

pytestmark = [pytest.mark.spark, pytest.mark.slow]

CASES = list(cases(refused=False))
SECRET = 7
EVERY = 24  # case of a shape: a job takes a second
KILLED = 10  # in every so many questions


@pytest.mark.parametrize("case", share_of(CASES, EVERY, 3), ids=str)
def test_executors_have_the_cells_of_one_machine(
    case: Case, shapes: Callable[[str], OnSpark]
) -> None:
    compare(shapes(case.shape), case)


@pytest.mark.few
def test_executors_have_the_cells_of_a_few_questions(shapes: Callable[[str], OnSpark]) -> None:
    some = [case for case in CASES if case.shape == "hospital"][1 :: 2 * EVERY]
    assert sum(compare(shapes(case.shape), case) for case in some) >= len(some) / 2


def test_cells_stay_what_they_are_while_executors_are_killed(
    shapes: Callable[[str], OnSpark],
) -> None:
    """Whenever that is: Spark computes again what was lost with one."""
    some = [case for case in CASES if case.shape == "hospital"][5::EVERY]
    for number, case in enumerate(some[:12]):
        killing = None
        if number % KILLED == 1:
            compare(shapes(case.shape), case)  # so that there are executors
            killing = threading.Timer(0.3 + number / 10, kill_an_executor)
            killing.start()
        compare(shapes(case.shape), case)
        if killing is not None:
            killing.join()


def test_parts_that_are_added_up_in_two_steps_have_the_same_cells(
    shapes: Callable[[str], OnSpark], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of many buckets are, so that no task has all parts of many groups."""
    monkeypatch.setattr(spark_server, "_BUCKETS_MERGED_AT_ONCE", 2)
    some = [case for case in CASES if case.shape == "hospital"][7::EVERY]
    assert sum(compare(shapes(case.shape), case) for case in some) >= len(some) / 2


def compare(asked: OnSpark, case: Case) -> int:
    """Raise where cells differ; return how many levels were compared."""
    compared = 0
    for level in levels(asked.here, case):
        here = replace(asked.here.san.session.data.open().source, parts=1)
        try:
            sent = compile_plan(level, asked.source, SECRET)
        except Refused as refused:
            assert refused.code == "not_on_buckets"
            continue
        check_same(
            level, asked.here.engine.run(compile_plan(level, here, SECRET)), asked.pool.run(sent)
        )
        compared += 1
    return compared
