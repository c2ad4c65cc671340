"""How many exact groups there are, and how long their keys, fails no question.

A question whose exact groups are too many to come back would tell, at any price, how many there are:
and where their number lies could be found by asking for a few more or a few less.
"""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from sanql.policy import load
from sanql.san import San
from support.policies import dataset
from support.samplers import SilentSampler

RARE, COMMON = 112_000, 8_000  # notes that one person has, and people that have a note in common
KEYS = [f"SUBSTRING(note, 1, {200 + length})" for length in range(12)]
POLICY = (
    dataset("notes.duckdb", name="notes", epsilon=100, delta="1e-2")
    + """\
[engine]
memory = "1GB"
deadline = 600
[table.people]
privacy_unit = "person_id"
rows_per_unit_max = 1
[table.people.column]
note = { type = "text" }
age = { type = "integer", bounds = [0, 120] }
"""
)


@pytest.fixture(scope="module")
def san(tmp_path_factory: pytest.TempPathFactory) -> Iterator[San]:
    """Return San over many people with a long note of their own, and some who share two."""
    folder = tmp_path_factory.mktemp("notes")
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    with duckdb.connect(str(folder / "notes.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT range AS person_id, range % 90 AS age, "
            f"repeat(md5((CASE WHEN range < {RARE} THEN range ELSE -(range % 2) - 1 END)::VARCHAR), 8) "
            f"AS note FROM range({RARE + 2 * COMMON})"
        )
    with San(load(folder / "policy.toml"), sampler=SilentSampler()) as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shown", "grouping", "also", "rows"),
    [
        ("COUNT(*) AS n", "{keys}", {}, 2),
        ("COUNT(*) AS n", "{keys}", {"other": "all others"}, 3),
        ("COUNT(*) AS n", "GROUPING SETS (({keys}), ())", {}, 3),
        pytest.param("COUNT(*) AS n, SUM(age) AS s", "{keys}", {}, 2, marks=pytest.mark.soak),
    ],
)
def test_more_than_256_megabytes_of_groups_that_stay_hidden_are_answered(
    san: San, shown: str, grouping: str, also: dict[str, str], rows: int
) -> None:
    keys = ", ".join(KEYS)
    sql = f"SELECT {keys}, {shown} FROM people GROUP BY {grouping.format(keys=keys)}"
    answer = san.query(sql, epsilon="0.02", delta="1e-6", max_groups_contributed=1, **also)
    counts = sorted(answer.to_arrow().column("n").to_pylist())
    others = [] if rows == 2 else [RARE] if also else [RARE + 2 * COMMON]
    assert counts == [COMMON, COMMON, *others]
