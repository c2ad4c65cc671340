"""The oracles of additivity and engine freedom: that they see, and functions put to them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pytest

from privacy.additivity import Violation, check_same, check_sum, check_units, without_units
from privacy.examination import Asked, Examination, ask, examine_split
from privacy.kernel import source_of
from privacy.stages import STAGES
from privacy.test_functions_replay import QUESTIONS, TEXTS
from privacy.worlds import UNITS
from sanql.plan.level import Level
from support.volume import few_of

pytestmark = pytest.mark.slow

SECRET = 77
COUNTED = "SELECT COUNT(*), SUM(age) FROM readings"
GROUPED = "SELECT city, COUNT(*) FROM readings GROUP BY city"
RANKED = "SELECT MEDIAN(age) FROM readings"
DIFFERENT = "SELECT COUNT(DISTINCT big) FROM readings"


@dataclass(frozen=True)
class Town:
    """A small world with every type of column, its units apart, and how to ask of it."""

    ask: Callable[[str], Asked | str]
    engines: Examination

    def cells(self, sql: str) -> tuple[Level, pa.Table, list[pa.Table]]:
        """Return a question's plan, its cells, and those of each unit."""
        asked = self.ask(sql)
        assert isinstance(asked, Asked)
        ((plan, sent),) = asked.levels
        return plan, *self.engines.cells(sent)


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    """Return a world of a few units."""
    stage = next(stage for stage in STAGES if stage.name == "plain")
    folder, rng = tmp_path_factory.mktemp("town"), random.Random(8)
    policy = stage.policy(folder, "add-remove", rng)
    source = source_of(policy, stage.schema)
    engines = examine_split(folder, policy, stage.schema, stage.draw(rng, False), rng)
    yield Town(lambda sql: ask(sql, policy, source, None, SECRET), engines)
    engines.close()


@pytest.mark.parametrize("sql", [COUNTED, GROUPED, RANKED, DIFFERENT])
def test_a_unit_that_is_not_in_the_sum_is_seen(sql: str, town: Town) -> None:
    plan, whole, parts = town.cells(sql)
    assert check_sum(plan, whole, parts) > 0
    with pytest.raises(Violation):
        check_sum(plan, whole, parts[:1])


@pytest.mark.parametrize("sql", [COUNTED, GROUPED, RANKED])
def test_a_unit_that_counts_twice_is_seen(sql: str, town: Town) -> None:
    plan, whole, parts = town.cells(sql)
    with pytest.raises(Violation):
        check_sum(plan, whole, [*parts, parts[0]])


@pytest.mark.parametrize("sql", [COUNTED, GROUPED, DIFFERENT])
def test_two_units_in_the_place_of_one_are_seen(sql: str, town: Town) -> None:
    plan, whole, parts = town.cells(sql)
    assert check_units(plan, parts, rows=True) == len(parts)
    with pytest.raises(Violation):
        check_units(plan, [whole], rows=True)


@pytest.mark.parametrize("sql", [COUNTED, GROUPED, RANKED, DIFFERENT])
def test_a_run_with_other_cells_is_seen(sql: str, town: Town) -> None:
    plan, whole, parts = town.cells(sql)
    check_same(plan, whole, whole)
    for other in (parts[0], without_units(plan, whole)):
        with pytest.raises(Violation):
            check_same(plan, whole, other)


def test_a_question_the_engine_cannot_run_is_a_violation(town: Town) -> None:
    asked = town.ask(COUNTED)
    assert isinstance(asked, Asked)
    ((plan, sent),) = asked.levels
    broken = type(sent)("SELECT no_such_column", (), sent.public)
    with pytest.raises(Violation):
        town.engines.examine(Asked(COUNTED, ((plan, broken),), asked.in_parts))


@pytest.mark.parametrize("first", few_of(range(6), 1))
def test_functions_add_up(town: Town, first: int) -> None:
    rng = random.Random(3)
    examined = 0
    for text in TEXTS[first::6]:
        for question in rng.sample(QUESTIONS, len(QUESTIONS)):
            asked = town.ask(question.format(e=text, t=rng.choice(list(UNITS))))
            if isinstance(asked, Asked) and asked.large is None:
                assert town.engines.examine(asked) > 0
                examined += 1
                break
    assert examined >= 0.9 * len(TEXTS[first::6])
