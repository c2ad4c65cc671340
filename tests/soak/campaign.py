"""Both oracles over a stream of generated questions, as a function of a seed."""

from __future__ import annotations

import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from privacy.additivity import Violation
from privacy.examination import Asked, Examination, ask, examine_split
from privacy.kernel import source_of
from privacy.stages import STAGES, Stage
from sanql.policy.model import Neighbours
from soak.shrink import shrink

ORDERS: tuple[Neighbours, ...] = ("add-remove", "change-one")
FEATURES = {
    name: re.compile(pattern)
    for name, pattern in {
        "scalar subquery": "\\(SELECT (COUNT|SUM|AVG|MIN|MAX|BOOL)", "EXISTS": "EXISTS \\(",
        "IN subquery": "IN \\(SELECT", "JOIN": "JOIN", "window": "OVER \\(", "HAVING": "HAVING",
        "subquery in FROM": "(FROM|JOIN) \\(SELECT", "CASE": "CASE WHEN", "NULLIF": "NULLIF",
        "pattern": "(LIKE|STARTS_WITH|REGEXP|CONTAINS)", "grouped": "GROUP BY [^)]*$",
        "ROLLUP, CUBE, GROUPING SETS": " (ROLLUP|CUBE|GROUPING SETS) \\(", "UNION": " UNION ",
        "spread or correlation": "(VAR|STDDEV|COVAR|CORR)", "quantile": "(MEDIAN|QUANTILE|PERCENTILE)",
        "COUNT(DISTINCT)": "COUNT\\(DISTINCT", "FILTER": "FILTER \\(",
        "public table": "(prices|places|labels|regions)",
    }.items()
}  # fmt: skip


@dataclass
class Found:
    """What a stream of questions came to."""

    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    shapes: Counter[str] = field(default_factory=Counter)
    comparisons: int = 0
    worlds: int = 0
    violations: list[str] = field(default_factory=list)

    def add(self, other: Found) -> None:
        """Add what another stream came to."""
        self.accepted += other.accepted
        self.refused += other.refused
        self.shapes += other.shapes
        self.comparisons += other.comparisons
        self.worlds += other.worlds
        self.violations += other.violations


def campaign(
    seed: int,
    questions: int,
    stages: tuple[Stage, ...] = STAGES,
    *,
    large: bool | None = None,
    until: float | None = None,
    told: Callable[[str], None] = print,
) -> Found:
    """Return what so many accepted questions in one world came to; the seed says which."""
    rng = random.Random(f"soak {seed}")
    stage = rng.choice(stages)
    found = Found(worlds=1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        neighbours = rng.choice(ORDERS)
        policy = stage.policy(folder, neighbours, rng)
        source = source_of(policy, stage.schema)
        is_large = rng.random() < 0.35 if large is None else large
        split = stage.draw(rng, is_large)
        engines = examine_split(folder, policy, stage.schema, split, rng)
        asks = stage.asks(rng)
        place = f"{stage.name}, {neighbours}, {'large' if is_large else 'small'}"
        while found.accepted.total() < questions and (until is None or time.time() < until):
            sql = asks()
            groups = rng.choice([None, None, None, 1, 2])
            asked = ask(sql, policy, source, groups, rng.getrandbits(63))
            refused = asked.large if isinstance(asked, Asked) else asked
            if refused is not None or not isinstance(asked, Asked):
                found.refused[str(refused)] += 1
                continue
            found.accepted[place] += 1
            found.shapes.update(name for name, form in FEATURES.items() if form.search(sql))
            found.shapes.update(["NULL group"] * asked.has_null_groups)
            try:
                found.comparisons += engines.examine(asked)
            except Violation as violation:
                limits = asked.levels[0][0].outline.limits

                def still(text: str) -> bool:
                    return _breaks(engines, ask(text, policy, source, None, seed))

                text = f"seed {seed}, {place}, {limits}:\n{sql}\n{violation}"
                found.violations.append(f"{text}\nsmaller: {shrink(sql, still)}")
                told(found.violations[-1])
        engines.close()
    return found


def _breaks(engines: Examination, asked: Asked | str) -> bool:
    try:
        return isinstance(asked, Asked) and engines.examine(asked) < 0
    except Violation:
        return True
