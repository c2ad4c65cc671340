"""What every door to San promises: one suite, inherited by one small test file for each of them.

A subclass has the fixture `door`, through which everything is asked. What is recorded is compared with
what San on the data itself says of it (`here`): to the byte, but for the price of a repeat.
"""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from client.doors import Door, plain, said, unpriced
from client.together_contract import TogetherContract
from sanql import Accuracy, BudgetExceeded, Refused, San, SanqlError

CLAUSE = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=2)"
ROWS_CLAUSE = (
    "SELECT WITH DIFFERENTIAL_PRIVACY "
    "OPTIONS(epsilon=1.6, max_rows_contributed=3, even_if_empty=TRUE)"
)
COUNT = "SELECT COUNT(*) AS n FROM people"
BY_REGION = "SELECT region, COUNT(*) AS n, AVG(score) AS mean FROM people GROUP BY region"
BY_STREET = "SELECT street, COUNT(*) AS n FROM people GROUP BY street ORDER BY n DESC"
ROLLUP = "SELECT kind, COUNT(*) AS n, SUM(cost) AS cost FROM visits GROUP BY ROLLUP (kind)"
BORN = "SELECT DATE_TRUNC('year', born) AS year, MEDIAN(score) AS m FROM people GROUP BY 1"

QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    (COUNT, {"epsilon": 0.25}),
    (COUNT, {"epsilon": "0.26", "confidence": 0.9}),
    (COUNT, {"accuracy": 50}),
    (COUNT, {"accuracy": "2% of 1600 at 0.99"}),
    (COUNT, {"accuracy": {"half_width": 45, "confidence": 0.8}}),
    (COUNT, {"accuracy": Accuracy(half_width=40)}),  # type: ignore[arg-type]
    (BY_REGION, {"epsilon": 1, "max_groups_contributed": 1}),
    (ROLLUP, {"epsilon": "1.5", "max_rows_contributed": 2}),
    (BY_STREET, {"epsilon": "0.55", "delta": "1e-8", "even_if_empty": True}),
    (f"{ROWS_CLAUSE} kind, COUNT(*) AS n FROM visits GROUP BY kind", {}),
    (BY_REGION, {"epsilon": "0.3", "nonnegative": True, "rounded": 10}),
    (BY_STREET, {"epsilon": "0.5", "delta": "1e-8"}),
    (BY_STREET, {"epsilon": "0.6", "delta": 1e-08, "other": "(others)"}),
    (BY_STREET, {"epsilon": "0.7", "delta": 1e-8, "min_privacy_units_per_group": 400}),
    (ROLLUP, {"epsilon": 2}),
    (BORN, {"epsilon": 3, "delta": "1e-7"}),
    ("SELECT SUM(score) / (COUNT(*) - COUNT(*)) AS nothing FROM people", {"epsilon": 1}),
]
FREE: list[tuple[str, dict[str, Any]]] = [
    ("SELECT * FROM regions ORDER BY name", {}),
    ("SELECT COUNT(*) FROM regions", {}),
    ("SELECT region, SUM(amount), AVG(amount) FROM people GROUP BY 1 ORDER BY 1", {"exact": True}),
]
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("SELECT * FROM people", {"epsilon": 1}, "returns_rows"),
    ("SELECT COUNT(*) FROM peple", {"epsilon": 1}, "table_unknown"),
    ("SELECT AVG(scor)\nFROM people", {"epsilon": 1}, "column_unknown"),
    ("SELECT street FROM people", {"epsilon": 1}, "returns_rows"),
    ("SELECT COUNT(*) FROM people WHERE", {"epsilon": 1}, ""),
    (COUNT, {}, "epsilon_needed"),
    (COUNT, {"epsilon": "0,1"}, "epsilon_invalid"),
    (COUNT, {"epsilon": 1, "accuracy": 5}, "epsilon_and_accuracy"),
    (COUNT, {"epsilon": 1, "confidence": 2}, "confidence_invalid"),
    (COUNT, {"epsilon": 1, "exact": True}, "exact_price"),
    (COUNT, {"epsilon": 1, "other": ""}, "other_invalid"),
    (COUNT, {"epsilon": 1, "even_if_empty": "perhaps"}, "switch_invalid"),
    ("SELECT COUNT(*) FROM visits", {"epsilon": 1, "max_rows_contributed": 9}, "rows_above_policy"),
    (BY_STREET, {"epsilon": 1, "delta": "0"}, ""),
    ("SELECT SUM(score) FROM people", {"exact": True}, "exact_not_declared"),
    (f"{CLAUSE} COUNT(*) FROM people", {"epsilon": 1}, "option_twice"),
    ("SELECT COUNT(*) FROM people WHERE score > $least", {"epsilon": 1}, "parameter_missing"),
]  # fmt: skip
PARAMETERS: list[tuple[str, Any]] = [
    ("score > ?", [2]),
    ("score > $1 AND region = $2", [1, "north"]),
    ("amount < $most", {"most": Decimal("99.50")}),
    ("amount < :most", {"most": 0.1 + 0.2}),
    ("born > $since", {"since": date(1960, 1, 31)}),
    ("born > $since", {"since": datetime(1961, 1, 31, 12, 30)}),
    ("region = $name OR $yes", {"name": None, "yes": False}),
]


class SanContract(TogetherContract):
    """The suite; `door` is somebody's way to San, and `here` is San on the data for the same person."""

    @pytest.mark.parametrize(("sql", "options"), [*QUESTIONS, *FREE], ids=str)
    def test_an_answer_is_recorded_once_and_the_same_here(
        self, door: Door, here: San, sql: str, options: dict[str, Any]
    ) -> None:
        first, again = door.query(sql, **options), door.query(sql, **options)
        free = (sql, options) in FREE
        assert again["charge"] == {"epsilon": 0.0, "delta": 0.0}
        assert free or again["cached"]
        assert unpriced(first) == unpriced(again)
        local = here.query(sql, **options)
        assert again == plain(local.to_dict())
        assert door.csv(sql, **wire(options)) == local.to_csv()

    def test_a_question_is_charged_what_it_says(self, door: Door) -> None:
        before = door.budget()
        first = door.query("SELECT COUNT(*) FROM people WHERE score = 5", epsilon="0.4")
        after = door.budget()
        assert first["charge"] == {"epsilon": 0.4, "delta": 0.0} and not first["cached"]
        assert first["price"] == {"epsilon": "2/5", "delta": "0/1"}
        assert after != before and first["balances"] == after
        door.query("SELECT COUNT(*) FROM people WHERE score = 5", epsilon="0.4")
        assert door.budget() == after

    def test_what_is_measured_afresh_is_charged_again(self, door: Door) -> None:
        sql = "SELECT COUNT(*) FROM people WHERE score = 4"
        door.query(sql, epsilon=0.2)
        before = door.budget()
        assert not door.query(sql, epsilon=0.2, fresh=True)["cached"]
        assert door.budget() != before

    @pytest.mark.parametrize(("sql", "options", "code"), REFUSED, ids=str)
    def test_a_refusal_says_the_same_as_here(
        self, door: Door, here: San, sql: str, options: dict[str, Any], code: str
    ) -> None:
        before = door.budget()
        for ask, ask_here in ((door.query, here.query), (door.explain, here.explain)):
            with pytest.raises(Refused) as caught:
                ask(sql, **options)
            with pytest.raises(Refused) as expected:
                ask_here(sql, **options)
            assert said(caught.value) == said(expected.value)
            assert code in ("", caught.value.code)
        assert door.budget() == before

    def test_a_refusal_knows_its_place_and_the_nearest_question(self, door: Door) -> None:
        with pytest.raises(Refused) as caught:
            door.query("SELECT AVG(scor)\nFROM people", epsilon=1)
        assert caught.value.place == (1, 12)
        assert caught.value.nearest == "SELECT AVG(score) FROM people"
        assert caught.value.message.count("line 1") == 1
        assert caught.value.remedy.count(caught.value.nearest) == 1

    def test_a_budget_ends(self, poor: Door) -> None:
        poor.query(COUNT, epsilon="0.2")
        with pytest.raises(BudgetExceeded) as caught:
            poor.query(COUNT, epsilon="0.25")
        assert not poor.explain(COUNT, epsilon="0.25")["fits"]
        assert (caught.value.code, caught.value.exit_code) == ("budget_exceeded", 3)
        assert "the analyst account 'pat' has" in caught.value.message and caught.value.remedy
        assert poor.query(COUNT, epsilon="0.2")["cached"]

    @pytest.mark.parametrize(("where", "parameters"), PARAMETERS, ids=str)
    def test_parameters_are_the_constants_they_are_here(
        self, door: Door, here: San, where: str, parameters: Any
    ) -> None:
        sql = f"SELECT COUNT(*) FROM people WHERE {where}"
        door.query(sql, parameters=parameters, epsilon="0.3")
        local = here.query(sql, parameters=parameters, epsilon="0.3")
        assert local.cached
        assert door.query(sql, parameters=parameters, epsilon="0.3") == plain(local.to_dict())

    @pytest.mark.parametrize(("sql", "options"), [*QUESTIONS, *FREE], ids=str)
    def test_an_explanation_is_the_same_as_here(
        self, door: Door, here: San, sql: str, options: dict[str, Any]
    ) -> None:
        local = here.explain(sql, **options)
        assert door.explain(sql, **options) == plain(local.to_dict() | {"text": str(local)})

    def test_the_schema_tells_what_is_declared_and_the_same_as_here(
        self, door: Door, here: San
    ) -> None:
        shape = door.schema()
        assert shape == plain(here.schema().to_dict())
        people, visits, regions = shape["tables"]
        assert (people["name"], people["public"]) == ("people", False)
        assert visits["limits"] == {"rows_per_unit_max": 4, "groups_per_unit_max": 2}
        facts = {column["name"]: column for column in people["columns"]}
        assert facts["score"] == {"name": "score", "type": "integer", "bounds": [1, 5]}
        assert facts["region"]["domain"] == ["north", "south", "east", "west"]
        assert facts["born"]["bounds"] == ["1950-01-01", "1999-12-31"]
        assert facts["amount"]["precision"] == 0.01
        assert [column["name"] for column in regions["columns"]] == [
            "name",
            "size",
            "since",
            "coast",
        ]

    def test_limits_are_suggested_and_a_repeat_is_free(self, door: Door, here: San) -> None:
        first = door.suggest("visits", epsilon="0.5", by="kind")
        again = door.suggest("visits", epsilon="0.5", by="kind")
        assert first["limits"] == again["limits"] and again["cached"]
        local = here.suggest_limits("visits", epsilon="0.5", by="kind")
        assert again == plain(local.to_dict() | {"text": str(local)})

    def test_what_was_asked_is_in_the_history_and_read_again_for_free(
        self, door: Door, here: San
    ) -> None:
        known = len(here.history(limit=1000))
        first = door.query("SELECT SUM(score) AS total FROM people", epsilon="0.35")
        (entry,) = door.history(known)
        assert [entry] == [plain(each.to_dict()) for each in here.history(after=known)]
        assert entry["sql"] == "SELECT SUM(score) AS total FROM people"
        assert (entry["outcome"], entry["price"]["epsilon_exact"]) == ("answered", "7/20")
        before = door.budget()
        again = door.read_again(entry["id"])
        assert unpriced(again) == unpriced(first) and again["cached"]
        assert again == plain(here.read_again(entry["id"]).to_dict())
        assert door.certificate(entry["id"]) == first["certificate"]
        assert door.budget() == before

    def test_what_was_never_asked_cannot_be_read_again(self, door: Door) -> None:
        for read in (door.read_again, door.certificate):
            with pytest.raises(SanqlError) as caught:
                read(999_999)
            assert caught.value.code == "question_unknown"

    def test_the_accounts_that_are_shown_are_those_of_here(self, door: Door, here: San) -> None:
        assert door.budget() == [plain(balance.to_dict()) for balance in here.balances()]


TYPED: list[tuple[dict[str, Any], Any, str]] = [
    ({"epsilon": -1.0}, None, "epsilon_invalid"),
    ({"epsilon": float("nan")}, None, "epsilon_invalid"),
    ({"epsilon": True}, None, "epsilon_invalid"),
    ({"epsilon": [1]}, None, "epsilon_invalid"),
    ({"epsilom": 1}, None, "option_unknown"),
    ({"accuracy": {"half_width": [5]}}, None, ""),
    ({"epsilon": 1, "rounded": -5.0}, None, ""),
    ({"epsilon": 1}, "north", "parameter_invalid"),
    ({"epsilon": 1}, {1: 2}, "parameter_invalid"),
]


class PythonContract(SanContract):
    """What holds besides of doors that take the values of Python."""

    @pytest.mark.parametrize(("options", "parameters", "code"), TYPED, ids=str)
    def test_what_no_json_could_say_is_refused_as_here(
        self, door: Door, here: San, options: dict[str, Any], parameters: Any, code: str
    ) -> None:
        with pytest.raises(Refused) as caught:
            door.query(COUNT, parameters=parameters, **options)
        with pytest.raises(Refused) as expected:
            here.query(COUNT, parameters=parameters, **options)
        assert caught.value.code == expected.value.code
        assert expected.value.message.startswith(caught.value.message)  # and may tell a place
        assert caught.value.remedy and code in ("", caught.value.code)

    def test_scalars_of_numpy_and_moments_of_pandas_are_values(self, door: Door, here: San) -> None:
        sql = "SELECT COUNT(*) FROM people WHERE score > ? AND amount < ? AND born < ? AND region <> ?"
        values = [np.int64(1), np.float64(150.5), pd.Timestamp("1990-05-01"), np.str_("west")]
        door.query(sql, parameters=values, epsilon=np.float64(0.5))
        assert here.query(
            sql, parameters=[1, 150.5, datetime(1990, 5, 1), "west"], epsilon="0.5"
        ).cached

    def test_fractions_are_exact(self, door: Door, here: San) -> None:
        sql = "SELECT COUNT(*) FROM people WHERE amount < ?"
        told = door.query(sql, parameters=[Fraction(301, 4)], epsilon=Fraction(1, 16))
        assert told["price"]["epsilon"] == "1/16"
        assert here.query(sql, parameters=[Decimal("75.25")], epsilon="0.0625").cached


def wire(options: dict[str, Any]) -> dict[str, Any]:
    """Return options that need no more than JSON."""
    accuracy = options.get("accuracy")
    if isinstance(accuracy, Accuracy):
        return options | {"accuracy": {"half_width": 40, "confidence": 0.95}}
    return json.loads(json.dumps(options))  # type: ignore[no-any-return]
