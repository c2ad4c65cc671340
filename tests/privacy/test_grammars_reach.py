"""The grammars of both oracles write every construct that questions may have, and San accepts it."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from privacy.examination import Asked, ask
from privacy.kernel import source_of
from privacy.stages import STAGES, Stage

pytestmark = pytest.mark.slow

TRIED_MAX = 60  # questions with a construct, of which one at least is accepted
WRITTEN = 6_000
BY_NAME = {stage.name: stage for stage in STAGES}
CONSTRUCTS = {
    "over": {
        "windows over answers": r"OVER \(\) AS c",
        "running totals": r"OVER \(ORDER BY t\.n\)",
        "ranks": r"RANK\(\)",
        "LAG": r"LAG\(",
        "statistics in WITH": r"^WITH t AS",
        "scalar shares": r"/ \(SELECT COUNT",
        "UNION of statistics": r"UNION ALL SELECT n",
        "LIMIT inside": r"LIMIT 2\)",
        "PIVOT": "PIVOT",
        "statistics beside public tables": r"FROM places AS p WHERE p\.code = t\.n",
        "statistics beside a series": "generate_series",
        "two stages": r"> \(SELECT AVG",
        "keys chosen by a statistic": r"IN \(SELECT s\.",
    },
    "chains": {
        "identifiers in lists": r"person (NOT )?IN \(\d",
        "identifiers compared": r"person (<|>|=|<>|<=|>=) \d",
        "identifiers joined to public values": r"\.person = \w+\.code|\.code = \w+\.person\b",
        "statistics of different values": r"(SUM|AVG)\(DISTINCT",
        "dates of extremes": r"(MIN|MAX)\(\w+\.(day|born)\)",
        "quantiles of dates": r"QUANTILE_DISC\(\w+\.(day|born)",
        "frames": "ROWS BETWEEN",
        "SEMI JOIN": "SEMI JOIN",
        "ANTI JOIN": "ANTI JOIN",
        "ANY": r"= ANY \(",
        "UNNEST": r"UNNEST\(\[[^)]*\) AS",
        "IN UNNEST": r"IN UNNEST",
        "series": "generate_series",
        "VALUES": r"\(VALUES",
        "pairs in lists": r"\) (NOT )?IN \(\(",
        "regressions": "REGR_",
        "row units beside public tables": r"FROM readings AS \w+ (LEFT )?JOIN (places|labels)",
    },
    "plain": {
        "whole-number divisions": "//",
        "TIME_BUCKET": "TIME_BUCKET",
        "times of a day": "::TIME",
        "extremes of texts": r"(MIN|MAX)\((sex|region)\)",
        "variances": r"(VAR_POP|STDDEV|VARIANCE)\(",
        "several grouping sets": "(ROLLUP|CUBE|GROUPING SETS)",
    },
}


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_every_construct_is_written_and_accepted(name: str, tmp_path: Path) -> None:
    stage, rng = BY_NAME[name], random.Random(7)
    policy = stage.policy(tmp_path, "add-remove", rng)
    source = source_of(policy, stage.schema)
    asks = stage.asks(rng)
    written = [asks() for _ in range(WRITTEN)]
    for construct, form in CONSTRUCTS[name].items():
        found = [sql for sql in written if re.search(form, sql)][:TRIED_MAX]
        assert found, f"never written: {construct}"
        assert any(isinstance(ask(sql, policy, source, None, 1), Asked) for sql in found), construct


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_groups_of_null_are_asked_for(stage: Stage, tmp_path: Path) -> None:
    rng = random.Random(3)
    policy = stage.policy(tmp_path, "change-one", rng)
    source = source_of(policy, stage.schema)
    asks = stage.asks(rng)
    asked = (ask(asks(), policy, source, None, rng.getrandbits(63)) for _ in range(WRITTEN))
    assert any(isinstance(each, Asked) and each.has_null_groups for each in asked)
