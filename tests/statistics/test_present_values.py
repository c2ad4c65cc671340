"""SUM, AVG and spreads of DISTINCT values are those of the values that are there; intervals hold."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from statistics import fmean, pvariance, stdev, variance

import duckdb
import numpy as np
import pytest

from sanql.errors import Refused
from sanql.policy import load
from sanql.san import San
from sanql.statistics.present_values import OF_DISTINCTS, _ends, _of_sets
from support.policies import dataset
from support.samplers import SilentSampler

POLICY = (
    dataset("data.duckdb", epsilon=1000000, delta="0.1", accounting="renyi")
    + """\
[table.sales]
privacy_unit = "person"
rows_per_unit_max = 3
[table.sales.column]
size = { type = "integer", bounds = [-3, 9] }
price = { type = "decimal", bounds = [0, 100], precision = 0.01 }
kind = { type = "text", domain = ["a", "b", "none"] }
"""
)
VALUES = {"a": [-3, 2, 9], "b": [4]}


@pytest.fixture(scope="module")
def san(tmp_path_factory: pytest.TempPathFactory) -> Iterator[San]:
    folder = tmp_path_factory.mktemp("sales")
    with duckdb.connect(str(folder / "data.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE sales (person BIGINT, size BIGINT, price DOUBLE, kind VARCHAR)"
        )
        for kind, sizes in VALUES.items():
            for size in sizes:
                # four hundred people have each of the values: far above what noise reaches
                connection.execute(
                    "INSERT INTO sales SELECT i, ?, i / 10, ? FROM range(?, ?) AS t(i)",
                    [size, kind, 1000 * (size + 5), 1000 * (size + 5) + 400],
                )
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    with San(load(folder / "policy.toml"), sampler=SilentSampler()) as opened:
        yield opened


@pytest.mark.slow
def test_values_that_many_rows_have_are_told_and_groups_without_any_are_null(san: San) -> None:
    asked = (
        "SELECT kind, SUM(DISTINCT size), AVG(DISTINCT size), VAR_POP(DISTINCT size), "
        "VAR_SAMP(DISTINCT size), STDDEV(DISTINCT size) FROM sales GROUP BY kind ORDER BY kind"
    )
    rows = san.query(asked, epsilon=2).rows
    a = VALUES["a"]
    expected = [sum(a), fmean(a), pvariance(a), variance(a), stdev(a)]
    assert rows[0] == ("a", *(pytest.approx(value) for value in expected))
    assert rows[1] == ("b", 4.0, 4.0, 0.0, None, None)
    assert rows[2][1:] == (None,) * 5


def test_a_condition_leaves_values_out(san: San) -> None:
    asked = "SELECT SUM(DISTINCT size) FILTER (WHERE size > 0) FROM sales"
    assert san.query(asked, epsilon=2).rows == [(2 + 9 + 4,)]


@pytest.mark.parametrize("of", ["price", "kind", "size * 1.5 / 7"])
def test_what_has_no_listed_values_is_refused_by_name(san: San, of: str) -> None:
    with pytest.raises(Refused) as caught:
        san.explain(f"SELECT SUM(DISTINCT {of}) FROM sales", epsilon=1)
    assert caught.value.remedy


def test_intervals_hold_the_number_of_every_set_between_the_two() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        values = np.sort(rng.choice(np.arange(-6.0, 7.0), size=5, replace=False))
        sure = rng.random((1, 5)) < 0.4
        possible = sure | (rng.random((1, 5)) < 0.5)
        opened = np.flatnonzero(possible[0] & ~sure[0])
        for kind in (each.kind for each in OF_DISTINCTS):
            band = _ends(kind, sure, possible, values)
            for size in range(len(opened) + 1):
                for chosen in combinations(opened, size):
                    present = sure.copy()
                    present[0, list(chosen)] = True
                    (number,) = _of_sets(kind, present, values)
                    if not np.isnan(number):
                        assert band.low[0] - 1e-9 <= number <= band.high[0] + 1e-9, (kind, present)
