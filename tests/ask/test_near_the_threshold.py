"""An explanation says of which counts its widths are, where keys are selected privately."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from sanql.policy import load
from sanql.san import San
from support.policies import dataset

POLICY = (
    dataset("people.duckdb", name="people", epsilon="10.0", delta="1e-6")
    + """\
[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
city = { type = "text" }
sex = { type = "text", domain = ["F", "M"] }
age = { type = "integer", bounds = [0, 100] }
"""
)
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]


@pytest.fixture
def san(tmp_path: Path) -> Iterator[San]:
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.execute("CREATE TABLE people (id BIGINT, city VARCHAR, sex VARCHAR, age BIGINT)")
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)
    with San(load(policy)) as opened:
        yield opened


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"accuracy": "5000 over 1000 rows"}])
def test_a_width_that_rests_on_the_selecting_count_is_that_of_large_counts(
    san: San, price: dict[str, object]
) -> None:
    sql = "SELECT city, COUNT(*) AS n, SUM(age) AS s, AVG(COALESCE(age, 0)) AS a FROM people GROUP BY 1"
    explained = san.explain(sql, delta="1e-7", **price)  # type: ignore[arg-type]
    notes = {part.column: part.note for part in explained.expected}
    (threshold,) = set(re.findall(r"noisy count of units reaches (\d+)", str(explained.to_dict())))
    words = f"well above the threshold of {threshold}; near it the interval reaches further down"
    assert {name: words in note for name, note in notes.items()} == {
        "n": True,
        "s": False,
        "a": True,
    }
    assert str(explained).count(words) == 2


@pytest.mark.parametrize("by", ["sex", "age // 10"])
def test_nothing_is_said_of_a_threshold_where_all_keys_appear(san: San, by: str) -> None:
    sql = f"SELECT {by} AS g, COUNT(*) AS n FROM people GROUP BY 1"
    assert "threshold" not in str(san.explain(sql, epsilon=1))
