"""The row of other groups through San without noise: what plain DuckDB finds in the missing groups."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import duckdb
import pytest

from privacy.oracle import cleaned, fill, orderly_rows, roomy_policy
from privacy.worlds import UNITS
from sanql.errors import Refused
from sanql.san import San
from support.plans import plan_of
from support.samplers import SilentSampler
from support.volume import share_rows_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

ROWS = {table: orderly_rows(random.Random(4), table) for table in UNITS}
ADDED = "COUNT(*), COUNT(age), SUM(age), AVG(income), SUM(swing), VAR_POP(age), CORR(age, temp)"
NOT_ADDED = "COUNT(DISTINCT age), MEDIAN(age)"
EPSILONS = ["4", "30", "300"]


@pytest.fixture(scope="module", params=["add-remove", "change-one"])
def san(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[San]:
    policy = roomy_policy(tmp_path_factory.mktemp("rest"), ROWS, request.param)
    with San(policy, sampler=SilentSampler()) as opened:
        yield opened


@pytest.fixture(scope="module")
def plain() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:")
    fill(connection, {table: cleaned(rows, UNITS[table]) for table, rows in ROWS.items()})
    return connection


@pytest.mark.parametrize(("table", "epsilon"), share_rows_of(product(UNITS, EPSILONS), 2))
def test_the_row_is_what_the_missing_groups_have_together(
    san: San, plain: duckdb.DuckDBPyConnection, table: str, epsilon: str
) -> None:
    sql = f"SELECT city, big, {ADDED}, {NOT_ADDED} FROM {table} GROUP BY city, big"
    (planned,) = plan_of(san, sql, epsilon=epsilon, delta="1e-3", other="(other)").levels
    answer = san.query(sql, epsilon=epsilon, delta="1e-3", other="(other)")
    *shown, last = answer.rows
    unit = UNITS[table]
    units = f"COUNT(DISTINCT {unit})" if unit is not None else "COUNT(*)"
    plain.execute(
        f"CREATE OR REPLACE TEMP TABLE small AS SELECT city, big FROM {table} "
        f"GROUP BY city, big HAVING {units} < {planned.priced.threshold}"
    )
    large = plain.sql(f"SELECT city, big FROM {table} EXCEPT SELECT * FROM small").fetchall()
    assert {row[:2] for row in shown} == set(large)
    expected = plain.sql(
        f"SELECT {ADDED} FROM {table} t SEMI JOIN small s "
        "ON t.city IS NOT DISTINCT FROM s.city AND t.big IS NOT DISTINCT FROM s.big"
    ).fetchall()
    assert last[:2] == ("(other)", None)
    assert last[9:] == (None, None)
    assert last[2:9] == pytest.approx(expected[0], rel=1e-6, abs=1e-6)
    assert len(shown) < len(large) + 1 + (epsilon == EPSILONS[0])


def test_units_of_the_row_are_counted_where_each_is_in_one_group(
    san: San, plain: duckdb.DuckDBPyConnection
) -> None:
    sql = "SELECT city, COUNT(DISTINCT person) AS u FROM visits GROUP BY city"
    given: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "other": "(other)"}
    several = san.query(sql, **given)
    assert several.rows[-1] == ("(other)", None)
    one = san.query(sql, **given, max_groups_contributed=1)
    assert (
        sum(row[1] for row in one.rows)
        == plain.sql("SELECT COUNT(DISTINCT person) FROM visits").fetchall()[0][0]
    )


def test_names_and_looks_are_free_and_other_groups_are_not(san: San) -> None:
    sql = "SELECT city, COUNT(*) AS n, SUM(age) AS s FROM readings GROUP BY city"
    given: dict[str, Any] = {"epsilon": "0.5", "delta": "1e-6"}
    first = san.query(sql, **given, other="(other)")
    assert (first.cached, first.charge.epsilon) == (False, Fraction(1, 2))
    renamed = san.query(sql, **given, other="rest")
    rounded = san.query(sql, **given, other="rest", rounded=10, nonnegative=True)
    assert renamed.cached and rounded.cached
    assert renamed.rows[-1][1:] == first.rows[-1][1:]
    assert [row[1] for row in rounded.rows] == [(row[1] + 5) // 10 * 10 for row in first.rows]
    assert not san.query(sql, **given).cached
    text = sql.replace(
        "SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(other = ')', rounded = 10)"
    )
    in_text = san.query(text, **given)
    assert in_text.cached
    assert in_text.rows[-1][0] == ")"
    assert in_text.rows[-1][1] == rounded.rows[-1][1]


def test_an_answer_with_the_row_has_the_published_shape(san: San) -> None:
    sql = "SELECT city, COUNT(*) AS n, COUNT(DISTINCT age) AS d FROM visits GROUP BY city"
    answer = san.query(sql, epsilon="0.25", delta="1e-6", other="(other)", rounded=5)
    data = json.loads(answer.to_json())
    assert data["rows"][-1][0] == "(other)"
    assert data["rows"][-1][2] is None
    assert data["intervals"]["d"][-1] == [None, None]
    low, high = data["intervals"]["n"][-1]
    assert low % 5 == high % 5 == 0
    assert "one row more" in data["certificate"]["keys"]
    assert any("multiple of 5" in said for said in data["certificate"]["assumptions"])
    assert answer.to_csv().splitlines()[-1].startswith("(other),")
    assert "(other)" in str(answer)


def test_an_explanation_says_what_is_done_and_how_wide_it_makes_intervals(san: San) -> None:
    sql = "SELECT city, COUNT(*) AS n FROM readings GROUP BY city"
    given: dict[str, Any] = {"epsilon": "0.75", "delta": "1e-6"}
    plain, rounded = san.explain(sql, **given), san.explain(sql, **given, rounded=100)
    widths = [each.to_dict()["expected"][0]["half_width"] for each in (plain, rounded)]
    assert widths[1] % 100 == 0 and widths[0] <= widths[1] <= widths[0] + 150
    told = san.explain(sql, **given, other="(other)", nonnegative=True)
    assert "groups that do not appear" in str(told)
    assert "too high on average" in str(told)
    assert len(told.to_dict()["notes"]) == 3  # besides how many units a key needs


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"other": ""}, "other_invalid"),
        ({"other": 7}, "other_invalid"),
        ({"rounded": 0}, "rounded_invalid"),
        ({"rounded": 2.5}, "rounded_invalid"),
        ({"nonnegative": "maybe"}, "nonnegative_invalid"),
        ({"rounded": 10, "epsilon": None, "accuracy": 50}, "rounded_and_accuracy"),
    ],
)
def test_bad_wishes_are_refused_by_name_and_cost_nothing(
    san: San, given: dict[str, Any], code: str
) -> None:
    before = san.balances()
    with pytest.raises(Refused) as caught:
        san.query("SELECT city, COUNT(*) FROM readings GROUP BY city", **{"epsilon": 1, **given})
    assert caught.value.code == code
    assert san.balances() == before


@pytest.mark.parametrize(
    ("clause", "beside", "code"),
    [
        ("other = 'a'", {"other": "b"}, "option_twice"),
        ("nonnegative = TRUE", {"nonnegative": False}, "option_twice"),
        ("rounded = 10", {"rounded": 5}, "option_twice"),
        ("other = rest", {}, "other_invalid"),
        ("other = 'a' 'b'", {}, "other_invalid"),
        ("nonnegative = 2", {}, "nonnegative_invalid"),
    ],
)
def test_options_in_the_text_are_refused_by_name(
    san: San, clause: str, beside: dict[str, Any], code: str
) -> None:
    text = (
        f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({clause}) city, COUNT(*) FROM visits GROUP BY 1"
    )
    with pytest.raises(Refused) as caught:
        san.query(text, epsilon=1, **beside)
    assert caught.value.code == code
    agreeing = text.replace(clause, "nonnegative = true, rounded = 10")
    assert san.query(agreeing, epsilon=1, nonnegative=True, rounded=10).columns


def test_public_groups_and_rows_have_no_others(san: San) -> None:
    for sql, code in (
        ("SELECT sex, COUNT(*) FROM visits GROUP BY sex", "other_needless"),
        ("SELECT COUNT(*) FROM visits", "other_needless"),
        ("SELECT name, COUNT(*) FROM regions GROUP BY name", "finish_needless"),
        ("SELECT name FROM regions", "finish_needless"),
    ):
        with pytest.raises(Refused) as caught:
            san.query(sql, epsilon=1, other="(other)")
        assert caught.value.code in (code, "other_needless"), sql
