"""The benchmark of tables with few large units and few values: its data, and how OpenDP is asked."""

from __future__ import annotations

import statistics
from pathlib import Path

import duckdb
import pytest
from bench.utility.tails.__main__ import truth
from bench.utility.tails.opendp_answers import answer
from bench.utility.tails.shapes import SHAPES

import sanql


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_san_and_opendp_answer_the_same_questions_of_a_shape(name: str, tmp_path: Path) -> None:
    shape = SHAPES[name]()
    policy = shape.write(tmp_path / name)
    data = policy.parent / "data" / "events.parquet"
    with sanql.open(policy) as san:
        for asked in shape.asked:
            assert san.explain(asked.sql, epsilon="0.5", delta="1e-8").fits
            true = truth(asked, data)
            # so large an epsilon and limit that neither noise nor what is left out is seen
            theirs = answer(asked, data, 10_000, 1e9, 1)
            assert theirs == pytest.approx(true, rel=1e-2, abs=1)


@pytest.mark.slow
def test_opendp_has_the_noise_of_the_limit_and_leaves_out_what_is_beyond(tmp_path: Path) -> None:
    shape = SHAPES["purchases"]()
    data = shape.write(tmp_path / "purchases").parent / "data" / "events.parquet"
    (count,) = (each for each in shape.asked if each.title == "rows")
    with duckdb.connect() as connection:
        ((kept,),) = connection.execute(
            f"SELECT SUM(least(n, 400)) FROM (SELECT COUNT(*) AS n FROM '{data}' GROUP BY unit)"
        ).fetchall()
    far = [abs(answer(count, data, 400, 0.5, seed)["all"] - float(kept)) for seed in range(15)]
    # Laplace noise of scale 800 is within 5 of 0 with a chance of 0.7 %, and beyond 5,000 with 0.2 %:
    # that eight of 15 are has chances below 1e-13 and 1e-17
    assert 5 < statistics.median(far) < 5000


def test_large_customers_have_three_tenths_of_purchases_and_few_visits_have_a_fee(
    tmp_path: Path,
) -> None:
    shares = {}
    for name, share in (
        ("purchases", "COUNT_IF(unit % 100 = 0) / COUNT(*)"),
        ("visits", "COUNT(fee) / COUNT(*)"),
    ):
        path = SHAPES[name]().write(tmp_path / name).parent / "data" / "events.parquet"
        with duckdb.connect() as connection:
            ((shares[name],),) = connection.execute(f"SELECT {share} FROM '{path}'").fetchall()
    assert 0.25 < shares["purchases"] < 0.35
    assert 0.03 < shares["visits"] < 0.05
