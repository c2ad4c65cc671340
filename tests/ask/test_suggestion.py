"""Suggested limits: the histogram, the rule, what is paid, and what is printed."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest
from click.testing import CliRunner

from sanql.audit.ledger import verify
from sanql.cli.main import main
from sanql.errors import BudgetExceeded, Refused
from sanql.mechanisms import DiscreteLaplace
from sanql.plan.unit_sizes import SIZE_EDGES, limit_choices
from sanql.policy import load
from sanql.profile import SizeCounts
from sanql.san import San
from support.policies import dataset
from support.samplers import SilentSampler

pytestmark = pytest.mark.usefixtures("in_this_process")

POLICY = (
    dataset("data.duckdb", name="{name}", neighbours="{neighbours}", epsilon="{budget}")
    + """\
[analyst.ana]
[analyst.bo]
[table.visits]
privacy_unit = "person"
rows_per_unit_max = {limit}
[table.visits.column]
city = {{ type = "text", domain = ["a", "b", "c", "d"] }}
cost = {{ type = "float" }}
[table.people]
privacy_unit = "row"
[table.cities]
public = true
"""
)
# how many people have so many visits; nobody is beyond the third
SIZES = {1: 600, 3: 300, 10: 100}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("suggested")
    people = [size for size, count in SIZES.items() for _ in range(count)]
    with duckdb.connect(str(path / "data.duckdb")) as connection:
        connection.register("sizes", {"size": np.array(people)})
        connection.execute(
            "CREATE TABLE visits AS SELECT person, ['a', 'b', 'c', 'd'][1 + n % 4] AS city, "
            "n * 0.1 AS cost FROM (SELECT row_number() OVER () AS person, size FROM sizes) AS p, "
            "LATERAL (SELECT unnest(range(size)) AS n)"
        )
        connection.execute("CREATE TABLE people AS SELECT 1 AS x")
        connection.execute("CREATE TABLE cities AS SELECT 1 AS x")
    return path


def own_place(folder: Path, name: str) -> Path:
    """Return a folder with a copy of the data, for an account of their own."""
    place = folder / name
    if not place.exists():
        place.mkdir()
        shutil.copy(folder / "data.duckdb", place)
    return place


@pytest.fixture
def opened(folder: Path) -> Iterator[Callable[..., San]]:
    sans: list[San] = []

    def make(name: str, limit: str = '"undecided"', analyst: str = "ana", **more: object) -> San:
        keys = {"neighbours": "add-remove", "budget": 10} | more
        path = own_place(folder, name) / f"{name}.toml"
        path.write_text(POLICY.format(name=name, limit=limit, **keys), encoding="utf-8")
        sans.append(San(load(path), analyst, sampler=SilentSampler()))
        return sans[-1]

    yield make
    for san in sans:
        san.close()


def units(**seen: int) -> list[tuple[int, int, Fraction]]:
    """Return each bin up to the last with units: its end, its units, and the middle of its numbers."""
    counts = tuple(seen.get(f"upto{edge}", 0) for edge in SIZE_EDGES)
    sizes = SizeCounts(SIZE_EDGES, counts, DiscreteLaplace(Fraction(1))).sizes
    last = max(index for index, count in enumerate(counts) if count)
    return list(zip(SIZE_EDGES, counts, sizes, strict=True))[: last + 1]


def test_a_choice_says_who_is_within_and_what_is_lost() -> None:
    found = limit_choices(units(upto1=600, upto3=300, upto12=100), Fraction(1, 10))
    assert [choice.limit for choice in found] == [1, 2, 3, 4, 6, 8, 12]
    # a bin counts with the middle of its numbers: 9 to 12 are 10.5
    rows = 600 + 3 * 300 + 10.5 * 100
    third = found[2]
    assert third.units == 0.9
    assert third.lost == pytest.approx(7.5 * 100)
    assert third.kept == pytest.approx(1 - 750 / rows)
    assert third.noise == pytest.approx(2**0.5 * 30, rel=1e-3)
    assert (found[-1].units, found[-1].lost, found[-1].kept) == (1.0, 0.0, 1.0)


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1"])
def test_the_least_cost_is_where_a_step_keeps_as_much_as_it_adds(epsilon: str) -> None:
    """Of units spread evenly over the bins, about 1.4 / epsilon are above the best limit."""
    counts = units(**{f"upto{edge}": 40 for edge in SIZE_EDGES[:14]})
    found = limit_choices(counts, Fraction(epsilon))
    best = min(range(len(found)), key=lambda index: found[index].cost)
    above = sum(count for _, count, _ in counts[best + 1 :])
    wanted = 2**0.5 / float(epsilon)
    # units of the bin beyond have half of a step more each
    assert above - 20 <= wanted
    assert best == 0 or above + 20 >= wanted


@pytest.mark.slow
@pytest.mark.parametrize(("neighbours", "moved"), [("add-remove", 1), ("change-one", 2)])
def test_limits_are_suggested_for_a_table_that_has_none(
    opened: Callable[..., San], neighbours: str, moved: int
) -> None:
    san = opened(f"none-{neighbours}", neighbours=neighbours)
    with pytest.raises(Refused) as caught:
        san.query("SELECT COUNT(*) FROM visits", epsilon=1)
    assert caught.value.code == "limits_missing"
    found = san.suggest_limits("Visits", epsilon=1, by="city")
    by_hand = limit_choices(units(upto1=600, upto3=300, upto12=100), Fraction(1, 10))
    rows, groups = found.advice
    assert rows.choices == tuple(by_hand)
    assert found.limits["rows_per_unit_max"] == min(by_hand, key=lambda choice: choice.cost).limit
    # 10 visits are in all four cities, over which what is lost is spread
    cities = limit_choices(units(upto1=600, upto3=300, upto4=100), Fraction(1, 10), moved, 4)
    assert groups.choices == tuple(cities)
    assert found.limits["groups_per_unit_max"] == min(cities, key=lambda choice: choice.cost).limit
    assert found.charge.epsilon == 1
    assert verify(san.policy.ledger).sound


@pytest.mark.slow
def test_suggesting_is_paid_once_and_recorded(opened: Callable[..., San]) -> None:
    san = opened("paid")
    first = san.suggest_limits("visits", epsilon="0.5")
    kinds = [record.kind for record in san.ledger.records()]
    assert kinds[2:] == ["version", "claim", "reserve", "spend"]
    again = san.suggest_limits("visits", epsilon="0.5", typical_epsilon=1)
    assert (first.cached, again.cached) == (False, True)
    assert again.to_dict()["charge"]["epsilon"] == 0.0
    assert [choice.kept for choice in again.advice[0].choices] == [
        choice.kept for choice in first.advice[0].choices
    ]
    assert again.advice[0].choices[0].noise < first.advice[0].choices[0].noise
    assert san.budget()[0].spent_upper.epsilon == Fraction(1, 2)
    # pasting the limits into the policy does not make the count another one
    pasted = opened("paid", limit=str(first.limits["rows_per_unit_max"]))
    assert pasted.suggest_limits("visits", epsilon="0.5").cached
    assert not opened("paid", analyst="bo").suggest_limits("visits", epsilon="0.5").cached


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ({"table": "people"}, "limits_needless"),
        ({"table": "cities"}, "limits_needless"),
        ({"table": "nothing"}, "table_unknown"),
        ({"table": "visits", "by": "nothing"}, "column_unknown"),
        ({"table": "visits", "by": "person"}, "column_unknown"),
        ({"table": "visits", "by": "cost"}, "group_real"),
        ({"table": "visits", "epsilon": 0}, "epsilon_invalid"),
        ({"table": "visits", "typical_epsilon": "x"}, "epsilon_invalid"),
    ],
)
def test_what_cannot_be_suggested_costs_nothing(
    opened: Callable[..., San], words: dict[str, str], code: str
) -> None:
    san = opened("refused")
    with pytest.raises(Refused) as caught:
        san.suggest_limits(**({"epsilon": 1} | words))  # type: ignore[arg-type]
    assert caught.value.code == code
    assert [r.kind for r in san.ledger.records() if r.kind == "reserve"] == []


@pytest.mark.slow
def test_all_of_the_price_must_fit(opened: Callable[..., San]) -> None:
    san = opened("poor", budget="0.75")
    with pytest.raises(BudgetExceeded):
        san.suggest_limits("visits", epsilon=1, by="city")
    assert san.budget()[0].spent_upper.epsilon == 0


@pytest.mark.slow
def test_too_few_units_suggest_nothing(opened: Callable[..., San]) -> None:
    with pytest.raises(Refused) as caught:
        opened("few").suggest_limits("visits", epsilon="0.005")
    assert caught.value.code == "limits_not_found"
    assert "asking again is free" in caught.value.message


@pytest.mark.slow
def test_the_command_prints_lines_to_paste(opened: Callable[..., San]) -> None:
    path = str(opened("command").policy.path)
    words = ["suggest", "-p", path, "-a", "ana", "-t", "visits", "-e", "5", "--by", "city"]
    shown = CliRunner().invoke(main, words, catch_exceptions=False).stdout
    assert "<- suggested" in shown
    lines = tomllib.loads(shown[shown.index("[table.visits]") :])["table"]["visits"]
    assert list(lines) == ["rows_per_unit_max", "groups_per_unit_max"]
    plain = CliRunner().invoke(main, [*words, "--format", "json"], catch_exceptions=False).stdout
    found = json.loads(plain)
    assert found["cached"] is True
    assert {key: each["limit"] for key, each in found["limits"].items()} == lines
    checked = CliRunner().invoke(main, ["check", path], catch_exceptions=False).stdout
    assert "only `sanql suggest -t visits` can be asked" in checked
