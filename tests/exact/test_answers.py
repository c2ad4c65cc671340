"""Exact answers equal DuckDB's integers, are unions of declared cells, and nothing else is answered."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from exact.towns import MEMBER, POLICY, ROWS, SCORE, Town, Truth
from sanql.errors import Refused
from sanql.results.exact import ExactAnswer

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

SAME = [
    ("score", "SELECT region, urban, SUM(score), COUNT(*) FROM people GROUP BY region, urban"),
    ("score", "SELECT region, SUM(score), COUNT(DISTINCT person_id) FROM people GROUP BY region"),
    ("score", "SELECT urban, SUM(score) FROM people WHERE region <> 'north' GROUP BY urban"),
    ("score", "SELECT SUM(score) FROM people"),
    ("score", "SELECT SUM(score) FROM people WHERE urban AND region IN ('north', 'west')"),
    ("score", "SELECT upper(region), SUM(score) FROM people GROUP BY upper(region)"),
    (
        "score",
        "SELECT CASE WHEN region = 'north' THEN 'n' ELSE 'o' END AS part, SUM(score) FROM people "
        "GROUP BY part",
    ),
    ("score", "SELECT COUNT(*) FROM people WHERE region = 'nowhere'"),
    ("score", "SELECT region, COUNT(*) AS n FROM people GROUP BY region HAVING n > 10"),
    ("amount", "SELECT region, SUM(amount), COUNT(*) FROM people GROUP BY region"),
    ("amount", "SELECT SUM(amount) FROM people WHERE region < 'o'"),
    ("member", "SELECT region, COUNT(*) FROM people WHERE member GROUP BY region"),
    ("member", "SELECT COUNT(*) FROM people WHERE member = TRUE AND region = 'west'"),
    ("member", "SELECT COUNT(*) FROM people WHERE region = 'east' AND member IS TRUE"),
    ("member", "SELECT SUM(CASE WHEN member THEN 1 ELSE 0 END), COUNT(*) FROM people"),
    ("member", "SELECT region, COUNT(*) FILTER (WHERE member) FROM people GROUP BY region"),
    ("member", "SELECT SUM(CAST(member AS INTEGER)) FROM people"),
]


@pytest.mark.parametrize("declared", ["score", "amount", "member"])
def test_an_exact_answer_is_duckdbs(town: Town, truth: Truth, declared: str) -> None:
    san = town(declared)
    for sql in [sql for name, sql in SAME if name == declared]:
        answer = san.query(sql, exact=True)
        assert isinstance(answer, ExactAnswer)
        assert sorted(answer.rows) == sorted(truth(sql)), sql
        assert answer.noise == {} and answer.intervals == {}
        assert "no noise" in answer.summary()


def test_averages_are_the_nearest_double_to_the_exact_quotient(town: Town, truth: Truth) -> None:
    san = town("amount")
    found = dict(san.query("SELECT region, AVG(amount) FROM people GROUP BY 1", exact=True).rows)
    for region, cents, records in truth(
        "SELECT region, SUM(CAST(amount * 100 AS BIGINT)), COUNT(*) FROM people GROUP BY 1"
    ):
        assert found[region] == float(Fraction(int(cents), 100 * records))


def test_sums_of_decimals_stay_decimals(town: Town, truth: Truth) -> None:
    answer = town("amount").query("SELECT SUM(amount) FROM people", exact=True)
    assert isinstance(answer.value, Decimal)
    assert answer.value == truth("SELECT SUM(amount) FROM people")[0][0]
    plain = answer.to_dict()
    assert plain["rows"] == [[str(answer.value)]] and plain["columns"][0]["type"] == "decimal"
    assert str(answer.value) in answer.to_csv() and f"{answer.value:,}" in str(answer)


def test_values_are_clamped_and_missing_ones_count_as_declared(town: Town) -> None:
    rows = f"""
    SELECT * REPLACE (CASE WHEN person_id < 400 THEN NULL WHEN person_id < 800 THEN 99
                      ELSE 2 END AS score) FROM ({ROWS})
    """
    asked = "SELECT SUM(score), AVG(score), COUNT(*) FROM people"
    assert town(rows=rows).query(asked, exact=True).rows == [
        (400 * 1 + 400 * 5 + 800 * 2, 2.5, 1600)
    ]


def test_a_declared_value_stands_for_missing_ones(town: Town) -> None:
    rows = f"SELECT * REPLACE (CAST(NULL AS INTEGER) AS score) FROM ({ROWS})"
    san = town(SCORE + "missing = 4\n", rows=rows)
    assert san.query("SELECT AVG(score) FROM people", exact=True).value == 4.0


@pytest.mark.parametrize(("column", "value"), [("amount", "0"), ("score", "1")])
def test_an_average_says_that_records_without_a_value_count(
    town: Town, column: str, value: str
) -> None:
    san, asked = town(column), f"SELECT AVG({column}) FROM people"
    answer = san.query(asked, exact=True)
    words = f"those without a value count as {value}, where SQL leaves them out"
    for told in (str(answer), answer._repr_html_(), *answer.to_dict()["certificate"]["notes"]):
        assert words in told
    assert words in str(san.explain(asked, exact=True))


@pytest.mark.parametrize(("declared", "said"), [("", False), ("missing = 4\n", True)])
def test_a_sum_says_so_where_missing_is_not_zero(town: Town, declared: str, said: bool) -> None:
    wide = POLICY.replace("bounds = [1, 5]", "bounds = [0, 4]")
    san = town(SCORE + declared, policy=wide)
    answer = san.query("SELECT SUM(score), COUNT(*) FROM people", exact=True)
    assert ("records without a value count as 4" in answer.summary()) is said
    assert ("notes" in answer.certificate.to_dict()) is said


def test_a_person_with_several_rows_counts_once(town: Town) -> None:
    rows = f"SELECT * FROM ({ROWS}) UNION ALL SELECT * FROM ({ROWS}) WHERE person_id < 100"
    assert town(rows=rows).query("SELECT COUNT(*) FROM people", exact=True).value == 1600


def test_rows_without_a_unit_or_with_other_keys_are_in_no_cell(town: Town) -> None:
    rows = f"""
    SELECT * FROM ({ROWS})
    UNION ALL SELECT NULL, 'north', true, 5, 1, true, 3 FROM range(7)
    UNION ALL SELECT 10000 + i, 'moon', true, 5, 1, true, 3 FROM range(7) AS t(i)
    UNION ALL SELECT 20000 + i, NULL, true, 5, 1, true, 3 FROM range(7) AS t(i)
    """
    assert town(rows=rows).query("SELECT COUNT(*) FROM people", exact=True).value == 1600


def test_row_units_count_rows(town: Town, truth: Truth) -> None:
    policy = POLICY.replace('"person_id"\nunique = true', '"row"')
    sql = "SELECT region, SUM(score) FROM people GROUP BY region"
    assert sorted(town(policy=policy).query(sql, exact=True).rows) == sorted(truth(sql))


def test_histograms_suppress_small_cells(town: Town, truth: Truth) -> None:
    rows = f"SELECT * FROM ({ROWS}) WHERE region <> 'north' OR person_id % 800 < 80"
    san = town("regions", rows=rows)
    sql = "SELECT region, urban, COUNT(*) FROM people GROUP BY region, urban"
    answer = san.query(sql, exact=True)
    threshold = int(str(answer.certificate.to_dict()["threshold"]))
    counts = {(region, urban): n for region, urban, n in truth(sql)}
    assert any(n < threshold for n in counts.values())
    for region, urban, n in answer.rows:
        true = counts.get((region, urban), 0)
        assert n == (true if true >= threshold else 0)
    everybody = san.query("SELECT COUNT(*) FROM people", exact=True).value
    assert everybody == sum(n for _, _, n in answer.rows)
    with pytest.raises(Refused, match=r"\[exact.regions\]|declared no exact"):
        san.query("SELECT SUM(score) FROM people", exact=True)


REFUSED = [
    ("SELECT SUM(score) FROM people WHERE age > 50", "exact_outside_cells"),
    ("SELECT SUM(score) FROM people WHERE score > 2", "exact_outside_cells"),
    ("SELECT age, SUM(score) FROM people GROUP BY age", "exact_outside_cells"),
    ("SELECT score, COUNT(*) FROM people GROUP BY score", "exact_outside_cells"),
    ("SELECT SUM(score) FROM people WHERE urban OR age > 5", "exact_outside_cells"),
    ("SELECT COUNT(*) FROM people WHERE member", "exact_outside_cells"),
    (
        "SELECT SUM(score) FROM people WHERE EXISTS (SELECT 1 FROM people p "
        "WHERE p.person_id = people.person_id AND p.age > 50)",
        "exact_outside_cells",
    ),
    (
        "SELECT COUNT(*) FROM people WHERE person_id IN (SELECT person_id FROM people "
        "WHERE age > 50)",
        "exact_outside_cells",
    ),
    ("SELECT SUM(score) FROM (SELECT * FROM people WHERE age > 50) AS p", "exact_not_declared"),
    ("SELECT SUM(score) FROM (SELECT * FROM people) AS p", "exact_not_declared"),
    (
        "SELECT SUM(p.score) FROM people AS p JOIN people AS q ON p.person_id = q.person_id",
        "exact_not_declared",
    ),
    ("SELECT VARIANCE(score) FROM people", "exact_statistic"),
    ("SELECT MEDIAN(score) FROM people", "exact_statistic"),
    ("SELECT MAX(score) FROM people", "exact_statistic"),
    ("SELECT SUM(age) FROM people", "exact_not_declared"),
    ("SELECT SUM(score), SUM(age) FROM people", "exact_one_column"),
    ("SELECT SUM(score + 1) FROM people", "exact_statistic"),
    ("SELECT SUM(CASE WHEN age > 50 THEN score ELSE 0 END) FROM people", "exact_statistic"),
    ("SELECT COUNT(score) FROM people", "exact_statistic"),
    ("SELECT COUNT(DISTINCT score) FROM people", "exact_statistic"),
    ("SELECT COUNT(DISTINCT region) FROM people", "exact_statistic"),
]


def test_what_is_not_a_union_of_certified_cells_is_refused(town: Town) -> None:
    san = town()
    for sql, code in REFUSED:
        for ask in (san.query, san.explain):
            with pytest.raises(Refused) as caught:
                ask(sql, exact=True)
            assert caught.value.code == code, sql
    assert san.ledger.exact.entries() == []


def test_a_refused_condition_says_what_to_write_instead(town: Town) -> None:
    san = town(MEMBER.replace('partition = ["region"]\n', ""))
    for where, remedy in (
        ("NOT member", "ask for COUNT(*) and for COUNT(*) … WHERE member"),
        ("age > 50", "leave WHERE and GROUP BY out, or ask with noise"),
    ):
        with pytest.raises(Refused) as caught:
            san.query(f"SELECT COUNT(*) FROM people WHERE {where}", exact=True)
        assert caught.value.remedy.startswith(remedy)


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ("amount", "probability at least 0.8 on some interval 200 wide, within bounds 0 to 200"),
        ("score", "takes each of some 5 values, 1 apart, with probability at least 0.15"),
    ],
)
def test_a_class_is_told_in_the_columns_own_units(town: Town, declared: str, said: str) -> None:
    answer = town(declared).query("SELECT COUNT(*) FROM people", exact=True)
    assert said in answer.summary() and "lattice points" not in str(answer.certificate.to_dict())


def test_a_refusal_says_what_noise_would_cost(town: Town) -> None:
    with pytest.raises(Refused) as caught:
        town().query("SELECT AVG(score) FROM people WHERE age > 50", exact=True)
    assert "with noise, epsilon 1 gives avg ±" in caught.value.remedy


def test_without_a_declaration_nothing_is_exact(town: Town) -> None:
    with pytest.raises(Refused) as caught:
        town("").query("SELECT COUNT(*) FROM people", exact=True)
    assert caught.value.code == "exact_not_declared"


def test_an_exact_answer_takes_no_price(town: Town) -> None:
    san = town()
    for given in (
        {"epsilon": 1},
        {"delta": "1e-9"},
        {"accuracy": 5},
        {"max_groups_contributed": 1},
        {"max_rows_contributed": 1},
    ):
        with pytest.raises(Refused) as caught:
            san.query("SELECT SUM(score) FROM people", exact=True, **given)  # type: ignore[arg-type]
        assert caught.value.code == "exact_price"


def test_an_exact_answer_is_shown_as_it_is(town: Town) -> None:
    san = town()
    for given in ({"other": "rest"}, {"nonnegative": True}, {"rounded": 10}):
        with pytest.raises(Refused) as caught:
            san.query("SELECT SUM(score) FROM people", exact=True, **given)  # type: ignore[arg-type]
        assert caught.value.code == "exact_form"


def test_the_clause_in_the_text_asks_exactly(town: Town, truth: Truth) -> None:
    san = town()
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({}) SUM(score) FROM people"
    answer = san.query(text.format("release='exact'"))
    assert answer.rows == truth("SELECT SUM(score) FROM people")
    for options, code in (
        ("release='exact', epsilon=1", "exact_price"),
        ("release='exact', rounded=10", "exact_form"),
        ("release='precise'", "release_unknown"),
        ("release='exact', release='noisy'", "option_twice"),
    ):
        with pytest.raises(Refused) as caught:
            san.query(text.format(options))
        assert caught.value.code == code
    with pytest.raises(Refused, match="at once"):
        san.query(text.format("release='noisy'"), exact=True)
    assert san.query(text.format("release='noisy', epsilon=1")).certificate.epsilon == 1
