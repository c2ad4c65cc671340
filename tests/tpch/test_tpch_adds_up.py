"""The TPC-H questions, put to both oracles: the cells of one customer, and of all the others."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from bench.tpch.__main__ import HERE, generate, questions

from privacy.examination import Asked, ask, examine_database
from sanql.engines.preparation import prepare
from sanql.policy import load
from support.volume import few_of

pytestmark = pytest.mark.slow

NOT_ABOUT_UNITS = {"q02", "q03", "q10", "q11", "q16", "q18"}  # public, or of individuals


@pytest.mark.parametrize("scale", few_of(["0.002", "0.005"], 1))
def test_the_cells_of_all_customers_are_those_of_each_together(scale: str, tmp_path: Path) -> None:
    generate(tmp_path / "data", scale)
    shutil.copy(HERE / "policy.toml", tmp_path / "policy.toml")
    policy = load(tmp_path / "policy.toml")
    source = prepare(policy)
    engines = examine_database(tmp_path, policy, source.database, random.Random(22))
    for name, text in questions().items():
        if name not in NOT_ABOUT_UNITS:
            asked = ask(text, policy, source, None, 22)
            assert isinstance(asked, Asked), (name, asked)
            engines.examine(asked)
    engines.close()
