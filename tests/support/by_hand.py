"""Plans over small tables, exact cells made by hand, and samplers that are silent or watched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from sanql.account.ledger.ledger import Balance
from sanql.answer.content import MeasuredContent
from sanql.answer.post_process import show
from sanql.certificate.certificate import certify
from sanql.measurements.noisy_cells import NoisyCells
from sanql.mechanisms import Candidates, ExactSampler, Geometric, Noise
from sanql.noise.cells import add_noise
from sanql.plan.level import Level
from sanql.policy.model import (
    Budget,
    Column,
    ColumnUnit,
    ListedDomain,
    Neighbours,
    RowUnit,
    Table,
)
from sanql.results.answer import Answer
from support.cells import priced
from support.one_level import plan_of
from support.samplers import SilentSampler

COLUMNS = {
    column.name: column
    for column in (
        Column("age", "integer", (0, 120)),
        Column("score", "integer", (-10, 30)),
        Column("income", "decimal", (Fraction(-50), Fraction(150)), Fraction(1, 100)),
        Column("city", "text"),
        Column("sex", "text", domain=ListedDomain(("F", "M"))),
        Column("born", "date"),
    )
}
TABLES = {
    "rows": Table("rows", RowUnit(), COLUMNS, 1, None, 1),
    "visits": Table("visits", ColumnUnit("person_id"), COLUMNS, 3, None, 2),
    "unique": Table("unique", ColumnUnit("person_id"), COLUMNS, 1, None, 1, unique=True),
    "first": Table("first", ColumnUnit("person_id"), COLUMNS, 1, None, 1),
    "many": Table("many", ColumnUnit("person_id"), COLUMNS, 40, None, 40),
    "open": Table("open", None, COLUMNS),
}


@dataclass
class Watched:
    """The real sampler, noting how many draws it is asked for."""

    asked: list[int] = field(default_factory=list)

    def sample(self, noise: Noise, count: int) -> np.ndarray:
        self.asked.append(count)
        return ExactSampler().sample(noise, count)

    def choose(self, noise: Geometric, candidates: Candidates) -> int:
        self.asked.append(1)
        return ExactSampler().choose(noise, candidates)

    def secret(self) -> int:
        return 1


def level_of(sql: str, epsilon: str = "1", delta: str = "0") -> Level:
    """Return the only level of a question, priced."""
    return priced(sql, TABLES, "add-remove", epsilon=epsilon, delta=delta).levels[0]


@pytest.fixture
def silent() -> SilentSampler:
    """Return a sampler without noise."""
    return SilentSampler()


@pytest.fixture
def watched() -> Watched:
    """Return the real sampler under watch."""
    return Watched()


@pytest.fixture(scope="session")
def planned() -> Callable[..., Level]:
    """Return a function from a question to its plan."""

    def make(
        sql: str,
        epsilon: str = "1",
        delta: str = "0",
        neighbours: Neighbours = "add-remove",
        other: bool = False,
        groups: int | None = None,
    ) -> Level:
        price = {"epsilon": epsilon, "delta": delta}
        asked = priced(sql, TABLES, neighbours, groups=groups, other=other, **price)
        return asked.levels[0]

    return make


@pytest.fixture(scope="session")
def answered(planned: Callable[..., Level]) -> Callable[..., Answer]:
    """Return a function from a question and its exact cells to an answer without noise."""

    def make(
        sql: str, cells: dict[str, list[object]], delta: str = "0", cached: bool = False
    ) -> Answer:
        made = planned(sql, "1", delta)
        noisy: NoisyCells = add_noise(made, pa.table(cells), SilentSampler())
        shown = show(made, noisy, Fraction(95, 100))
        left = Budget(Fraction(1, 3), Fraction(1, 10**7))
        return Answer(
            content=MeasuredContent(shown.table, shown.intervals),
            confidence=Fraction(95, 100),
            noise={},
            charge=made.charge,
            remaining=(Balance("h", "dataset", left, left, left, 0),),
            certificate=certify(plan_of(made)),
            cached=cached,
            without_interval=shown.without,
        )

    return make
