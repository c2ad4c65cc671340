"""What every door promises of several questions asked together, and of profiles."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from client.doors import Door, plain, said, unpriced
from sanql import AccessDenied, BudgetExceeded, Refused, San

COUNT = "SELECT COUNT(*) AS n FROM people"
BY_REGION = "SELECT region, COUNT(*) AS n, AVG(score) AS mean FROM people GROUP BY region"
BY_KIND = "SELECT kind, COUNT(*) AS n FROM visits GROUP BY kind"
BY_STREET = "SELECT street, COUNT(*) AS n FROM people GROUP BY street ORDER BY n DESC"
REGIONS = "SELECT * FROM regions ORDER BY name"
BORN = "SELECT COUNT(*) AS n FROM people WHERE born > $since AND region = $name"
SINCE: tuple[str, dict[str, Any]] = (BORN, {"since": date(1960, 1, 31), "name": "north"})

BATCHES: list[tuple[list[Any], dict[str, Any]]] = [
    ([COUNT, BY_REGION, f"{BY_REGION} ORDER BY n"], {"epsilon": "0.9"}),
    ([COUNT, BY_STREET, SINCE], {"epsilon": 2, "delta": "1e-8", "confidence": 0.9}),
    ([BY_KIND, REGIONS], {"epsilon": "0.7", "max_rows_contributed": 2}),
    ([REGIONS], {}),
]
WRONG: list[tuple[list[Any], dict[str, Any], str]] = [
    ([COUNT, "SELECT AVG(scor) FROM people"], {"epsilon": 1}, "column_unknown"),
    ([COUNT], {}, "epsilon_needed"),
    ([], {"epsilon": 1}, "batch_size"),
    ([COUNT] * 201, {"epsilon": 1}, "batch_size"),
    ([COUNT, REGIONS], {"epsilon": 1, "nonnegative": True}, "finish_needless"),
    ([COUNT], {"accuracy": 5}, "batch_option"),
    ([COUNT], {"epsilon": "0,1"}, "epsilon_invalid"),
    ([BORN], {"epsilon": 1}, "parameter_missing"),
]


class TogetherContract:
    """A part of the suite; `owner` is the owner's way through the same door."""

    @pytest.mark.parametrize(("questions", "options"), BATCHES, ids=str)
    def test_a_batch_is_charged_once_and_the_same_here(
        self, door: Door, here: San, questions: list[Any], options: dict[str, Any]
    ) -> None:
        first = door.batch(questions, **options)
        after = door.budget()
        again = door.batch(questions, **options)
        assert door.budget() == after
        assert list(map(unpriced, first)) == list(map(unpriced, again))
        private = [each for each, sql in zip(again, questions, strict=True) if sql != REGIONS]
        assert all(answer["cached"] for answer in private)
        assert len({str(answer["price"]) for answer in private}) <= 1
        assert again == [plain(each.to_dict()) for each in here.batch(questions, **options)]

    @pytest.mark.parametrize(("questions", "options"), BATCHES, ids=str)
    def test_the_explanation_of_a_batch_is_the_same_as_here(
        self, door: Door, here: San, questions: list[Any], options: dict[str, Any]
    ) -> None:
        local, before = here.explain_batch(questions, **options), door.budget()
        told = door.explain_batch(questions, **options)
        assert told == plain(local.to_dict() | {"text": str(local)})
        assert door.budget() == before

    def test_a_batch_costs_what_it_says(self, door: Door) -> None:
        first = door.batch([f"{COUNT} WHERE score = 3", BY_KIND], epsilon="0.45")
        assert {answer["price"]["epsilon"] for answer in first} == {"9/20"}
        assert [answer["batch"] for answer in first] == [2, 2]
        again = door.batch([f"{COUNT} WHERE score = 3", BY_KIND], epsilon="0.45", fresh=True)
        assert not again[0]["cached"] and first[0]["balances"] != again[0]["balances"]

    @pytest.mark.parametrize(
        ("questions", "options", "code"), WRONG, ids=lambda each: str(each)[:60]
    )
    def test_a_refused_batch_says_the_same_as_here(
        self, door: Door, here: San, questions: list[Any], options: dict[str, Any], code: str
    ) -> None:
        before = door.budget()
        for ask, ask_here in ((door.batch, here.batch), (door.explain_batch, here.explain_batch)):
            with pytest.raises(Refused) as caught:
                ask(questions, **options)
            with pytest.raises(Refused) as expected:
                ask_here(questions, **options)
            assert said(caught.value) == said(expected.value)
            assert caught.value.code == code
        assert door.budget() == before

    def test_a_batch_beyond_the_budget_is_not_charged(self, poor: Door) -> None:
        before = poor.budget()
        with pytest.raises(BudgetExceeded):
            poor.batch([COUNT, BY_KIND], epsilon=2)
        assert not poor.explain_batch([COUNT, BY_KIND], epsilon=2)["fits"]
        assert poor.budget() == before

    def test_a_batch_is_in_the_history_as_one(self, door: Door, here: San) -> None:
        known = len(here.history(limit=1000))
        door.batch([f"{COUNT} WHERE score > 2", BY_REGION], epsilon="0.33")
        (entry,) = door.history(known)
        assert entry["purpose"] == "batch of 2 questions"
        assert [entry] == [plain(each.to_dict()) for each in here.history(after=known)]

    def test_a_profile_is_taken_once_and_read_by_everybody(
        self, owner: Door, door: Door, here: San
    ) -> None:
        before = door.budget()
        (taken,) = owner.profile("visits", epsilon="0.5", columns=["kind"])
        assert door.budget() == before  # it is the dataset's to pay
        dataset = here.budget()[0]
        assert [taken] == owner.profile("visits", epsilon="0.5", columns=["kind"])
        assert here.budget()[0] == dataset
        (known,) = door.profiles()
        (local,) = here.profiles()
        assert known == plain(local.to_dict() | {"text": str(local)})
        assert {name: value for name, value in known.items() if name != "text"} == taken
        assert taken["table"] == "visits" and taken["rows"]["kept"]
        assert [each["group"] for each in taken["sizes"]["kind"]] == ["house", "street"]
        said_of_limits = door.explain(BY_KIND, epsilon="0.21")["text"]
        assert "profile of" in said_of_limits

    def test_a_profile_of_what_is_not_there_is_refused(self, owner: Door, here: San) -> None:
        for tables, columns, code in (
            (["visit"], [], "table_unknown"),
            (["visits"], ["kinds"], "column_unknown"),
            (["regions"], [], "limits_needless"),
        ):
            with pytest.raises(Refused) as caught:
                owner.profile(*tables, epsilon=1, columns=columns)
            with pytest.raises(Refused) as expected:
                here.profile(*tables, epsilon=1, columns=columns)
            assert said(caught.value) == said(expected.value) and caught.value.code == code


class ServedContract:
    """What holds besides of doors that a credential opens."""

    def test_only_owners_take_profiles(self, door: Door) -> None:
        with pytest.raises(AccessDenied) as caught:
            door.profile("visits", epsilon=1)
        assert caught.value.code == "role_needed"
