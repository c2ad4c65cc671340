"""max_rows_contributed: fewer rows of a unit count than the policy lets, with less noise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from sanql.errors import Refused
from sanql.policy import load
from sanql.san import San
from support.policies import dataset
from support.samplers import SilentSampler

POLICY = (
    dataset("visits.duckdb", name="visits", epsilon=1000, delta="1e-3")
    + """\
[table.visits]
privacy_unit = "id"
rows_per_unit_max = 8
[table.visits.column]
kind = { type = "text", domain = ["a", "b"] }
"""
)
ROWS = {1: 1, 2: 3, 3: 20}  # of each unit, half of them of either kind but for the first
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]


@pytest.fixture
def san(tmp_path: Path) -> Iterator[San]:
    with duckdb.connect(str(tmp_path / "visits.duckdb")) as connection:
        connection.execute("CREATE TABLE visits (id BIGINT, kind VARCHAR)")
        for unit, rows in ROWS.items():
            connection.execute(
                "INSERT INTO visits SELECT ?, CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END "
                "FROM range(?) AS t(i)",
                [unit, rows],
            )
    (tmp_path / "policy.toml").write_text(POLICY)
    with San(load(tmp_path / "policy.toml"), sampler=SilentSampler()) as opened:
        yield opened


@pytest.mark.parametrize("most", [1, 2, 3, 5, 8])
def test_without_noise_so_many_rows_of_each_unit_count(san: San, most: int) -> None:
    kept = sum(min(most, rows) for rows in ROWS.values())
    whole = san.query("SELECT COUNT(*) FROM visits", epsilon=1, max_rows_contributed=most)
    assert whole.value == kept
    if most > 1:  # of one row that counts it is drawn in which group
        sql = "SELECT kind, COUNT(*) FROM visits GROUP BY kind"
        parts = san.query(sql, epsilon=1, max_rows_contributed=most)
        # shares of rows that are scaled down are shown in whole rows
        assert abs(sum(n for _, n in parts.rows) - kept) <= 1


def test_noise_is_that_of_fewer_rows_and_the_certificate_says_so(san: San) -> None:
    sql = "SELECT COUNT(*) AS n FROM visits"
    fewer = san.explain(sql, epsilon=1, max_rows_contributed=2)
    assert fewer.expected[0].half_width == 6  # of discrete Laplace noise of scale 2
    assert "limits: 2 rows a id" in fewer.certificate.limits_in_words
    assert fewer.certificate.limits["rows_per_unit"] == 2


def test_the_policys_own_limit_is_the_same_question(san: San) -> None:
    sql = "SELECT COUNT(*) FROM visits"
    san.query(sql, epsilon=1)
    assert san.query(sql, epsilon=1, max_rows_contributed=8).cached
    assert not san.query(sql, epsilon=1, max_rows_contributed=7).cached


def test_more_rows_than_the_policys_are_refused(san: San) -> None:
    with pytest.raises(Refused) as caught:
        san.query("SELECT COUNT(*) FROM visits", epsilon=1, max_rows_contributed=9)
    assert caught.value.code == "rows_above_policy"
    assert "at most 8" in caught.value.remedy


def test_more_values_than_rows_of_the_policy_are_refused_alike(san: San) -> None:
    sql = "SELECT COUNT(DISTINCT kind) FROM visits"
    with pytest.raises(Refused) as caught:
        san.query(sql, epsilon=1, max_values_contributed=9)
    assert caught.value.code == "values_above_policy"
    assert "at most 8" in caught.value.remedy
    assert san.explain(sql, epsilon=1, max_values_contributed=8).fits
