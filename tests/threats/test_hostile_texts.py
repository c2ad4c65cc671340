"""Rule 1: a text that tries to keep San busy is refused after few steps (bench/REFUSALS.md has times)."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from bench.hostile import hostile, large
from bench.tpch.__main__ import HERE

from sanql.errors import Refused
from sanql.parse.question import Question, parse
from sanql.plan.plan import outline, price
from sanql.policy import load
from sanql.policy.model import Policy
from sanql.question import Query
from sanql.teach.nearest.search import teach
from support.counting import at_most, calls_of, forget

pytestmark = pytest.mark.slow
HOSTILE = hostile()
TEXTS = [*large().items()]
# a long question of some kind, and one that is twice as long
PAIRS = list(zip(TEXTS[: len(TEXTS) // 2], TEXTS[len(TEXTS) // 2 :], strict=True))
# calls of a text at the limits; San makes some ten thousand for an ordinary question
CALLS_MAX = 400_000


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    folder = tmp_path_factory.mktemp("tpch")
    path = folder / "policy.toml"
    # the columns of public tables are those of the data, which are not there
    known = '\n[table.nation.column]\nn_nationkey = { type = "integer" }\n'
    path.write_text((HERE / "policy.toml").read_text(encoding="utf-8") + known, encoding="utf-8")
    (folder / "data").mkdir()
    return load(Path(path))


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_refused_after_few_steps_and_in_few_words(policy: Policy, name: str) -> None:
    def accept(question: Question) -> None:
        if isinstance(question.query, Query):
            outline(question.query, policy.tables, policy.neighbours)

    with at_most(CALLS_MAX):
        with pytest.raises(Refused) as caught:
            accept(parse(HOSTILE[name], policy.tables))
        refused = teach(caught.value, HOSTILE[name], policy.tables, accept)
    assert refused.remedy
    assert refused.place is not None
    assert len(str(refused)) < 5_000


@pytest.mark.parametrize(("short", "long"), PAIRS, ids=[long[0] for _, long in PAIRS])
def test_a_question_twice_as_long_takes_hardly_more_than_twice_the_steps(
    policy: Policy, short: tuple[str, str], long: tuple[str, str]
) -> None:
    def asked(text: str) -> None:
        query = parse(text, policy.tables).private
        outlined = outline(query, policy.tables, policy.neighbours)
        price(outlined, Fraction(1), Fraction(1, 10**9))

    def steps(text: str) -> int:
        forget()
        return calls_of(lambda: asked(text))

    asked(short[1])  # what is remembered besides from then on is remembered before both
    assert steps(long[1]) <= 2.4 * steps(short[1])
