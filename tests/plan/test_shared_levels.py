"""What questions share is sought once for several costs, and found as for each cost by itself."""

from __future__ import annotations

import random

import pytest

from plan.test_batch import BAND, KNOWN, POOL, outlined
from sanql.plan.shared_levels import QuestionLevel, SharedLevel, gaussian_cost, laplace_cost, share
from support.volume import few_of

MORE = [
    f"SELECT {BAND}, {KNOWN}, SUM(age), COUNT(*) FROM people GROUP BY CUBE (1, 2)",
    f"SELECT {BAND}, AVG(income) FROM people GROUP BY 1",
    "SELECT COUNT(*), AVG(income), SUM(age) FROM people",
]


def measured(way: tuple[SharedLevel, ...]) -> list[object]:
    """Return what is measured, and for which levels of which questions."""
    return [
        (level.outline.measuring, [(part.question, part.level) for part in level.parts])
        for level in way
    ]


@pytest.mark.parametrize("seed", few_of(range(30), 10))
def test_a_search_for_several_costs_finds_what_one_for_each_does(seed: int) -> None:
    rng = random.Random(seed)
    asked = [rng.choice(MORE), *rng.choices([*MORE, *POOL], k=rng.randint(1, 7))]
    parts = [
        QuestionLevel(question, place, level, rng.choice([1.0, 0.5, 0.1]))
        for question, sql in enumerate(asked)
        for place, level in enumerate(outlined(sql).levels)
    ]
    costs = rng.sample([laplace_cost, gaussian_cost, laplace_cost], 3)
    apart, *together = share(parts, costs)
    assert measured(apart) == measured(share(parts)[0])
    for cost, way in zip(costs, together, strict=True):
        assert measured(way) == measured(share(parts, [cost])[1])


def test_costs_may_call_for_other_sums() -> None:
    parts = [
        QuestionLevel(question, place, level, 1.0)
        for question, sql in enumerate(MORE)
        for place, level in enumerate(outlined(sql).levels)
    ]
    apart, added_up = share(parts, [laplace_cost])
    assert len(added_up) < len(apart)
    never = share(parts, [lambda measuring: -1.0])[1]
    assert measured(never) == measured(apart)
