"""Questions as analysts write them: each has the plan that was reviewed and DuckDB's answer.

The fixtures are SQL files, one for each topic of three shapes of data; `cases.py` says how they are
written. San answers with a sampler that draws zeros, and no limit of the policies is ever reached,
so its rows are those of plain DuckDB over the analyst's own text. `agreement.py` has the differences
that are meant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from questions.agreement import disagreement
from questions.asking import Shape
from questions.cases import Case, cases
from questions.summary import is_ordered, key_columns, summary
from sanql.compile.statement import compile_plan
from sanql.engines.duckdb.engine import WorkerEngine
from sanql.engines.trials import Trials
from sanql.question.public_query import PublicQuery

pytestmark = pytest.mark.slow

CASES = list(cases(refused=False))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_plan_is_the_one_reviewed_and_the_rows_are_those_of_duckdb(
    case: Case, shape: Callable[[str], Shape]
) -> None:
    asked = shape(case.shape)
    planned = asked.plan(case.sql)
    ours, theirs = asked.answer(planned), asked.raw(case.duckdb or case.sql)
    keys, ordered = key_columns(planned), is_ordered(planned)
    assert disagreement(ours, theirs, keys, ordered, case.differences) == ""
    assert summary(planned) == case.plan


@pytest.mark.parametrize("name", ["hospital", "retail", "census"])
def test_questions_are_planned_over_the_same_tables_without_rows(
    name: str, shape: Callable[[str], Shape]
) -> None:
    """What is long is tried there before it is charged; here are some that would not be."""
    asked = shape(name)
    trials = Trials(asked.san.session.data.open().source, asked.policy.engine, WorkerEngine())
    empty, workers = trials._begin()
    for case in [case for case in CASES if case.shape == name][::8]:
        planned = asked.plan(case.sql)
        for level in () if isinstance(planned, PublicQuery) else planned.levels:
            tried = compile_plan(level, empty, secret=0)
            workers.run(tried)
    trials.close()
    assert not empty.database.exists()


def test_there_are_hundreds_of_questions_over_every_shape() -> None:
    by_shape = Counter(case.shape for case in CASES)
    assert len({(case.shape, case.sql) for case in CASES}) >= 300
    assert min(by_shape[name] for name in ("hospital", "retail", "census")) >= 80
