"""Questions of the fixtures, put to the oracles of additivity and engine freedom."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from privacy.additivity import Violation
from privacy.examination import UNIT_PARTS, Asked, examine_database
from questions.asking import Shape
from questions.cases import cases
from sanql.compile.statement import compile_plan
from sanql.question.public_query import PublicQuery


def violations(name: str, asked: Shape, folder: Path, every: int) -> tuple[int, list[str]]:
    """Return how many questions of a shape were examined, each so-manieth, and what was wrong."""
    source = asked.san.session.data.open().source
    cut = replace(source, parts=UNIT_PARTS)
    engines = examine_database(folder, asked.policy, source.database, random.Random(name))
    wrong, examined = [], 0
    for case in [case for case in cases(refused=False) if case.shape == name][::every]:
        planned = asked.plan(case.sql)
        if isinstance(planned, PublicQuery):
            continue
        sent = tuple(zip(planned.levels, asked.write(planned), strict=True))
        in_parts = tuple(compile_plan(level, cut, secret=7) for level in planned.levels)
        try:
            engines.examine(Asked(case.sql, sent, in_parts))
            examined += 1
        except Violation as violation:
            wrong.append(f"{case}: {violation}")
    engines.close()
    return examined, wrong
