"""Their questions over statistics, without noise: what plain DuckDB says of the same rows."""

from __future__ import annotations

import re
import shutil
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sanql.policy import load
from sanql.san import San
from support.samplers import SilentSampler
from theirs.reading import NAMES, Asked, opened, questions_of

pytestmark = pytest.mark.slow

PLENTY = 4000  # epsilon: of nearly no noise
COPIES = 40  # of each unit, so that keys are selected
# what DuckDB has no words for: the clause about privacy, aggregates named for it, a schema of theirs
THEIR_WORDS = re.compile(
    r"WITH (?:DIFFERENTIAL_PRIVACY|ANONYMIZATION) OPTIONS\s*\([^)]*\)|\bANON_|PUMS\.(?=PUMS)"
    r'|, contribution_bounds_per_group => \([^)]*\)|"public"\.'
)
SHARE = re.compile(r"RATIO_TO_REPORT\((COUNT\(\*\))\)")  # nor for this
OVER_STATISTICS = [a for name in NAMES for a in questions_of(name) if a.over_statistics]


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("asked", OVER_STATISTICS, ids=lambda asked: asked.sql[:60])
def test_a_question_over_statistics_is_answered_as_duckdb_answers_it(
    asked: Asked, tmp_path: Path
) -> None:
    name = asked.collection
    opened(name, tmp_path).close()
    with duckdb.connect(str(tmp_path / f"{name}.duckdb")) as rows:
        _copy_units(rows, tomllib.loads((tmp_path / f"{name}.toml").read_text("utf-8")))
    shutil.copy(tmp_path / f"{name}.duckdb", tmp_path / "plain.duckdb")
    with duckdb.connect(str(tmp_path / "plain.duckdb")) as plain:
        in_its_words = SHARE.sub(r"\1 / SUM(\1)", THEIR_WORDS.sub("", asked.sql))
        expected = plain.sql(in_its_words).fetchall()
    with San(load(tmp_path / f"{name}.toml"), sampler=SilentSampler()) as san:
        text = re.sub(r"epsilon=1\b", f"epsilon={PLENTY}", asked.sql)
        answer = san.query(text) if text != asked.sql else san.query(text, epsilon=PLENTY)
    found = sorted(answer.rows, key=repr)
    for row in sorted(expected, key=repr):
        found.remove(next(other for other in found if _alike(row, other)))
    for row in found:  # days, or places, that public keys list and of which there is nobody
        assert 0 in row or "0.0%" in row


def _alike(row: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Return whether rows are the same up to rounding; an empty sum is NULL to DuckDB, and 0 to San."""
    return all(
        one == two
        or (one is None and two == 0)
        or (isinstance(one, int | float | Decimal) and two == pytest.approx(float(one), rel=1e-9))
        for one, two in zip(row, other, strict=True)
    )


def _copy_units(rows: duckdb.DuckDBPyConnection, policy: dict[str, Any]) -> None:
    """Put units of the same rows beside each unit."""
    for name, table in policy["table"].items():
        unit = table.get("privacy_unit")
        if unit is None:
            continue
        columns = [unit["via"] if isinstance(unit, dict) else unit]
        columns += [table["key"]] if "key" in table else []
        shifted = ", ".join(f"(number || {each}) AS {each}" for each in columns if each != "row")
        copied = f"{name}.* REPLACE ({shifted})" if shifted else f"{name}.*"
        rows.execute(
            f"INSERT INTO {name} SELECT {copied} FROM {name}, "
            f"(SELECT range AS number FROM range(1, {COPIES})) AS copies"
        )
