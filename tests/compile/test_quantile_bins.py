"""Rows by bins of their values: each row that counts is in one bin, whatever its value."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from sanql.engines import Pool, open_engine, prepare
from sanql.policy import load
from support.cells import cells_of
from support.policies import dataset

POLICY = """\

[table.visits]
privacy_unit = "person"
rows_per_unit_max = 3
[table.visits.column]
code = { type = "integer", bounds = [0, 65535] }
"""


@pytest.mark.slow
@pytest.mark.parametrize("copied", [False, True])
def test_values_at_and_beyond_the_ends_of_as_many_bins_as_there_may_be_are_counted(
    tmp_path: Path, copied: bool
) -> None:
    with duckdb.connect(str(tmp_path / "visits.duckdb")) as made:
        made.execute(
            "CREATE TABLE visits AS SELECT * FROM (VALUES (1, 0), (1, 65535), (2, 70000), (2, -1), "
            "(2, NULL), (3, 32768), (NULL, 5), (4, 9), (4, 9), (4, 9), (4, 9), (4, 9)) AS v(person, code)"
        )
    (tmp_path / "policy.toml").write_text(dataset("visits.duckdb", name="visits") + POLICY)
    policy = load(tmp_path / "policy.toml")
    engine = open_engine("in_process")
    source = prepare(policy, engine=engine, copied=copied)
    with Pool(source, policy.engine, engine) as pool:
        (cell,) = cells_of("SELECT MEDIAN(code) FROM visits", policy, source, pool.run)
    assert dict(zip(cell["l0"], cell["m0"], strict=True)) == {0: 2, 9: 3, 32768: 1, 65535: 2}
