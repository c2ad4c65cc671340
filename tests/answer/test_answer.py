"""What leaves: rows, intervals, JSON, CSV, HTML and frames."""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from typing import Any

import pandas as pd
import polars as pl
import pytest

from sanql.account.ledger.ledger import Balance
from sanql.policy.model import Budget
from sanql.results.answer import Answer
from sanql.results.balance import remaining_in_words
from sanql.visible import visible

Answered = Callable[..., Answer]
HOSTILE = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "<script>alert(1)</script>", "a,b\n\"c\"", "'", "&amp;"]  # fmt: skip
BY_CITY = 'SELECT city, COUNT(*) AS n, SUM(age) / COUNT(*) AS "<b>mean" FROM rows GROUP BY city'


def by_city(answered: Answered, cities: list[str | None]) -> Answer:
    cells = {"k0": cities, "m0": [1000] * len(cities), "m1": [70] * len(cities)}
    return answered(BY_CITY, cells, delta="1e-6")


def test_json_has_the_documented_shape(answered: Answered) -> None:
    answer = by_city(answered, ["a", None])
    shape = json.loads(answer.to_json())
    documented = {"columns", "rows", "intervals", "charge", "remaining", "certificate", "cached"}
    documented |= {"version", "without_interval", "raised", "price", "balances", "footer"}
    assert set(shape) - documented == {"confidence", "noise"}  # and what explains the intervals
    assert documented <= set(shape)
    assert shape["columns"] == [
        {"name": "city", "type": "text"},
        {"name": "n", "type": "integer"},
        {"name": "<b>mean", "type": "real"},
    ]
    assert [row[:2] for row in shape["rows"]] == [["a", 1000], [None, 1000]]
    assert set(shape["intervals"]) == {"n", "<b>mean"}
    assert all(len(ends) == 2 for column in shape["intervals"].values() for ends in column)
    assert len(shape["intervals"]["n"]) == 2
    assert shape["charge"] == {"epsilon": 1.0, "delta": 1e-6}
    assert shape["remaining"]["epsilon"] <= 1 / 3  # rounded down
    assert shape["cached"] is False
    assert shape["certificate"]["epsilon"] == 1.0


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sex, SUM(income) AS s FROM rows GROUP BY sex",
        "SELECT sex, AVG(income) AS a, SUM(income) AS s FROM rows GROUP BY sex",
    ],
)
def test_a_sum_of_hundredths_has_two_decimals_and_so_do_the_ends_of_its_interval(
    answered: Answered, sql: str
) -> None:
    cells = {"k0": ["F", "M"], "m0": [83493595, 30626966], "m1": [28211, 9401]}
    answer = answered(sql, cells)
    shown = [row[-1] for row in answer.rows] + [
        end for ends in answer.intervals["s"] for end in ends
    ]
    assert all(len(repr(number).split(".")[1]) <= 2 for number in shown), shown


def test_numbers_that_are_keys_are_printed_without_commas(answered: Answered) -> None:
    sql = "SELECT age * 100 + 2000 AS year, COUNT(*) AS n FROM rows WHERE age = 0 GROUP BY 1"
    answer = answered(sql, {"k0": [2000], "m0": [2000]})
    assert [cell.split()[0] for cell in answer.cells()[0]] == ["2000", "2,000"]
    assert "<td>2000</td>" in answer._repr_html_()


def test_a_repeat_says_that_it_cost_nothing(answered: Answered) -> None:
    answer = answered("SELECT COUNT(*) FROM rows", {"m0": [5]}, cached=True)
    assert answer.to_dict()["charge"] == {"epsilon": 0.0, "delta": 0.0}
    assert answer.to_dict()["cached"] is True
    assert "free" in answer.summary()


@pytest.mark.parametrize("city", HOSTILE, ids=ascii)
def test_a_csv_cell_cannot_become_a_formula(answered: Answered, city: str) -> None:
    text = by_city(answered, [city]).to_csv()
    header, row = csv.reader(io.StringIO(text, newline=""))
    assert header == ["city", "n", "n_low", "n_high", "<b>mean", "<b>mean_low", "<b>mean_high"]
    assert row[0][0] not in "=+-@\t\r\n＝＋－＠"
    assert visible(city) in (row[0].removeprefix("'"), row[0])
    assert float(row[1]) == 1000


def test_a_csv_header_cannot_become_a_formula(answered: Answered) -> None:
    answer = answered('SELECT COUNT(*) AS "=1+1" FROM rows', {"m0": [5]})
    assert answer.to_csv().startswith("'=1+1,")


def test_negative_numbers_stay_numbers_in_csv(answered: Answered) -> None:
    answer = answered("SELECT COUNT(*) AS n FROM rows", {"m0": [-5]})
    assert list(csv.reader(io.StringIO(answer.to_csv())))[1][0] == "-5"


class Tags(HTMLParser):
    """Collects the tags of a document and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_shows_hostile_keys_and_names_as_text(answered: Answered) -> None:
    page = Tags()
    page.feed(by_city(answered, HOSTILE)._repr_html_())
    assert page.tags == {"table", "thead", "tbody", "tr", "th", "td", "p"}
    assert "<script>alert(1)</script>" in page.text
    assert "<b>mean" in page.text


def test_frames_hold_the_same_rows(answered: Answered) -> None:
    answer = by_city(answered, ["a", "b"])
    rows = answer.rows
    assert isinstance(answer.to_pandas(), pd.DataFrame)
    assert [tuple(row) for row in answer.to_pandas(intervals=False).itertuples(index=False)] == rows
    assert isinstance(answer.to_polars(), pl.DataFrame)
    assert answer.to_polars(intervals=False).rows() == rows
    assert list(zip(*answer.to_arrow(intervals=False).to_pydict().values(), strict=True)) == rows
    assert [tuple(row) for row in answer.to_dict()["rows"]] == rows
    assert answer.columns == ["city", "n", "<b>mean"]


def test_a_single_value_can_be_taken_and_several_cannot(answered: Answered) -> None:
    assert answered("SELECT COUNT(*) FROM rows", {"m0": [5]}).value == 5
    with pytest.raises(ValueError, match="2 rows"):
        _ = by_city(answered, ["a", "b"]).value


def test_the_terminal_table_shows_noise_nulls_and_price(answered: Answered) -> None:
    text = str(by_city(answered, ["a", None]))
    assert "NULL" in text and "±" in text and "epsilon 1" in text
    empty = answered("SELECT city FROM rows GROUP BY city", {"k0": ["a"], "m0": [1]}, delta="1e-6")
    assert str(empty).startswith("city")  # no key reached its threshold
    assert empty.rows == []


def test_an_answer_without_rows_says_why(answered: Answered) -> None:
    line = "no rows: a key appears only where enough units share it, and explain says how many"
    cells: dict[str, list[Any]] = {"k0": ["a"], "m0": [1]}
    empty = answered("SELECT city FROM rows GROUP BY city", cells, delta="1e-6")
    assert line in str(empty).splitlines()
    assert f"<p>{line}</p>" in empty._repr_html_()
    assert line not in str(by_city(answered, ["a"]))
    sexes = {"k0": ["F", "M"], "m0": [5, 5]}  # all of whose keys are public
    assert line not in str(answered("SELECT sex, COUNT(*) FROM rows GROUP BY sex LIMIT 0", sexes))


OUTER: list[tuple[str, list[tuple[Any, ...]]]] = [
    # clause, rows left of n = 3 (F) and n = 7 (M)
    ("SELECT sex, COUNT(*) AS n FROM rows GROUP BY sex", [("F", 3), ("M", 7)]),
    ("SELECT sex, COUNT(*) AS n FROM rows GROUP BY sex HAVING n > 5", [("M", 7)]),
    ("SELECT sex, COUNT(*) AS n FROM rows GROUP BY sex ORDER BY n DESC", [("M", 7), ("F", 3)]),
    ("SELECT sex, COUNT(*) AS n FROM rows GROUP BY sex ORDER BY 2 DESC LIMIT 1", [("M", 7)]),
    ("SELECT sex, COUNT(*) AS n FROM rows GROUP BY sex LIMIT 1 OFFSET 1", [("M", 7)]),
    ("SELECT sex, COUNT(*) AS n FROM rows GROUP BY sex LIMIT 0", []),
    ("SELECT COUNT(*) * 10 + 1 AS n FROM rows GROUP BY sex", [(31,), (71,)]),
    ("SELECT DISTINCT COUNT(*) > 1 AS b FROM rows GROUP BY sex", [(True,)]),
    ("SELECT DISTINCT COUNT(*) AS n FROM rows GROUP BY sex ORDER BY n DESC LIMIT 1", [(7,)]),
    ("SELECT CASE WHEN COUNT(*) > 5 THEN 'big' ELSE sex END AS c FROM rows GROUP BY sex", [("F",), ("big",)]),
    ("SELECT sex FROM rows GROUP BY sex HAVING COUNT(*) / 0 IS NULL", [("F",), ("M",)]),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "rows"), OUTER)
def test_what_stands_around_aggregates_runs_on_noisy_cells(
    answered: Answered, sql: str, rows: list[tuple[Any, ...]]
) -> None:
    answer = answered(sql, {"k0": ["M", "F"], "m0": [7, 3]})
    assert answer.rows == rows
    assert all(len(column) == len(rows) for column in answer.intervals.values())


def test_intervals_go_with_their_rows_when_rows_are_reordered(answered: Answered) -> None:
    sql = "SELECT sex, COUNT(*) AS n FROM rows GROUP BY sex ORDER BY n DESC"
    answer = answered(sql, {"k0": ["M", "F"], "m0": [7, 3]})
    for (_, value), (low, high) in zip(answer.rows, answer.intervals["n"], strict=True):
        assert low is not None and high is not None
        assert low + high == 2 * value


def test_limits_that_may_cut_are_said_under_the_rows(answered: Answered) -> None:
    cells = {"k0": ["a"], "m0": [1000], "m1": [1000]}
    by_unknown_key = answered(
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY city", cells, delta="1e-6"
    )
    line = "limits: an L2 norm of 2.236 rows a person_id; which share of the rows they keep is not known; what they cut is not in the intervals"
    assert line in str(by_unknown_key).splitlines()
    assert f"<p>{line}</p>" in by_unknown_key._repr_html_()
    units = answered("SELECT COUNT(DISTINCT person_id) AS n FROM visits", {"m0": [5]})
    assert "limits" not in str(units)  # one group, and rows do not matter
    assert "limits" not in str(answered("SELECT COUNT(*) FROM rows", {"m0": [5]}))
    assert "limits: 3 rows a person_id;" in str(
        answered("SELECT sex, COUNT(*) FROM visits GROUP BY sex", {"k0": ["F", "M"], "m0": [5, 5]})
    )  # a unit may be in both groups


def test_an_answer_from_public_rows_is_exact_and_free(answered: Answered) -> None:
    answer = answered("SELECT COUNT(*) AS n FROM open", {"m0": [5]})
    assert str(answer).splitlines() == ["n", "5", "exact: public tables, free"]


def test_what_is_left_names_the_account_that_binds() -> None:
    def balance(kind: Any, name: str, epsilon: str, delta: str) -> Balance:
        left = Budget(Fraction(epsilon), Fraction(delta))
        return Balance(name, kind, Budget(Fraction(4), Fraction("1e-6")), left, left, 0)

    dataset = balance("dataset", "d", "3", "5e-7")
    coalition = balance("coalition", "c", "1.23456789", "5e-7")
    analyst = balance("analyst", "a", "2", "1e-8")
    assert (
        remaining_in_words((dataset, coalition))
        == "left: epsilon 1.23456, delta 5e-7 (coalition c)"
    )
    assert (
        remaining_in_words((dataset, coalition, analyst))
        == "left: epsilon 1.23456 (coalition c), delta 1e-8 (analyst a)"
    )


def test_what_is_printed_says_of_which_version_the_data_are(answered: Answered) -> None:
    answer = replace(by_city(answered, ["a"]), version=3)
    assert "; as of version 3; price: " in answer.summary()
    assert "as of version 3" in str(answer) and "as of version 3" in answer._repr_html_()
    assert "version" not in str(by_city(answered, ["a"]))
