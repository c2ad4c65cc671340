"""Their questions over statistics, without noise: what plain DuckDB says of the same rows."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sanql.policy import load
from sanql.san import San
from support.samplers import SilentSampler
from theirs.reading import NAMES, Asked, opened, questions_of

PLENTY = 4000  # epsilon: of nearly no noise
COPIES = 40  # of each unit, so that keys are selected
# what DuckDB has no words for: the clause about privacy, aggregates named for it, a schema of theirs
THEIR_WORDS = re.compile(
    r"WITH (?:DIFFERENTIAL_PRIVACY|ANONYMIZATION) OPTIONS\s*\([^)]*\)|\bANON_|PUMS\.(?=PUMS)"
)
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
        expected = plain.sql(THEIR_WORDS.sub("", asked.sql)).fetchall()
    with San(load(tmp_path / f"{name}.toml"), sampler=SilentSampler()) as san:
        text = re.sub(r"epsilon=1\b", f"epsilon={PLENTY}", asked.sql)
        answer = san.query(text) if text != asked.sql else san.query(text, epsilon=PLENTY)
    found = sorted(answer.rows, key=repr)
    for row in sorted(expected, key=repr):
        # an empty sum is NULL to DuckDB and 0 to San
        found.remove(tuple(0 if v is None else v for v in row))
    for _, count in found:  # days that public keys list and on which there is nobody
        assert count == 0


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
