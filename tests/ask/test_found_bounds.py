"""Bounds that San finds, through San itself: what is answered, paid, recorded, said and refused."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from operator import le
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from sanql.account.accountants.totals import Losses
from sanql.account.events import SelectionEvent
from sanql.audit.ledger import verify
from sanql.errors import BudgetExceeded, Refused
from sanql.mechanisms import DiscreteLaplace, Noise
from sanql.parse.question import parse
from sanql.plan import price
from sanql.plan.find_bounds import with_bounds
from sanql.plan.plan import outline
from sanql.policy import load
from sanql.policy.model import Column, ColumnUnit, Neighbours, Table
from sanql.san import San, open_policy
from support.policies import dataset
from support.samplers import SilentSampler
from support.volume import few_of

pytestmark = pytest.mark.usefixtures("in_this_process")

POLICY = (
    dataset(
        "data.duckdb",
        name="{name}",
        neighbours="{neighbours}",
        epsilon="{budget}",
        delta="1e-6",
        accounting="{accounting}",
    )
    + """\
auto_bounds = {{ epsilon = 0.5 }}
[analyst.ana]
[analyst.bo]
[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
age = {{ type = "integer", bounds = {age} }}
[table.visits]
privacy_unit = {{ via = "id", references = "people" }}
rows_per_unit_max = 4
[table.visits.column]
cost = {{ type = "decimal", bounds = {cost}, precision = 0.25 }}
heat = {{ type = "float", bounds = {heat} }}
kind = {{ type = "text", domain = ["a", "b"] }}
rare = {{ type = "integer", bounds = "auto" }}
[table.readings]
privacy_unit = "row"
[table.readings.column]
level = {{ type = "integer", bounds = {level} }}
"""
)
AUTO = dict.fromkeys(("age", "cost", "heat", "level"), '"auto"')
# what the data below are within, as powers of two of a step
DECLARED = {"age": "[0, 127]", "cost": "[1, 63.75]", "heat": "[-16, 8]", "level": "[-7, 0]"}
PEOPLE = 400


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with people, their visits, and readings of nobody's."""
    path = tmp_path_factory.mktemp("bounds")
    with duckdb.connect(str(path / "data.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT range AS id, "
            f"CASE WHEN range % 5 = 0 THEN 0 ELSE range % 100 END AS age FROM range({PEOPLE})"
        )
        connection.execute(
            "CREATE TABLE visits AS SELECT id, [1, 5, 20, 60][1 + id % 4] + 0.25 * n AS cost, "
            "CASE WHEN id % 50 > 0 THEN (id % 17) - 10.5 END AS heat, "
            "CASE WHEN n = 0 THEN 'a' ELSE 'b' END AS kind, CASE WHEN id < 3 THEN 5 END AS rare "
            "FROM people, range(3) AS v(n)"
        )
        connection.execute("CREATE TABLE readings AS SELECT -(range % 7) AS level FROM range(500)")
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
    """Return a function that opens San over the folder, with a ledger of its own."""
    sans: list[San] = []

    def make(
        name: str,
        bounds: dict[str, str] = AUTO,
        analyst: str = "ana",
        sampler: Any = None,
        **more: Any,
    ) -> San:
        keys = {"neighbours": "add-remove", "budget": 100, "accounting": "pure"} | more
        path = own_place(folder, name) / f"{name}.toml"
        path.write_text(POLICY.format(name=name, **keys, **bounds), encoding="utf-8")
        sans.append(San(load(path), analyst, sampler=sampler or SilentSampler()))
        return sans[-1]

    yield make
    for san in sans:
        san.close()


def reserved(san: San) -> list[Fraction]:
    """Return the epsilons of everything that was ever reserved, in order."""
    bodies = [json.loads(r.body) for r in san.ledger.records() if r.kind == "reserve"]
    return [Fraction(body["charge"]["epsilon"]) for body in bodies]


QUESTIONS = [
    "SELECT SUM(age), AVG(age), COUNT(*) FROM people",
    "SELECT kind, SUM(cost), AVG(heat) FROM visits GROUP BY kind",
    "SELECT STDDEV(heat), VAR_POP(cost) FROM visits WHERE kind = 'a'",
    "SELECT MEDIAN(age), MAX(age) FROM people",
    "SELECT SUM(v.cost * p.age) FROM visits v JOIN people p ON v.id = p.id WHERE p.age > 17",
    "SELECT AVG(total) FROM (SELECT id, SUM(cost) AS total FROM visits GROUP BY id) AS t",
    "SELECT AVG(age / 10), SUM(CASE WHEN age > 50 THEN age END) FROM people",
    "SELECT COUNT(*), AVG(level), CORR(level, level) FROM readings",
]


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", few_of(["add-remove", "change-one"], 1))
def test_answers_are_those_of_the_same_bounds_declared(
    opened: Callable[..., San], neighbours: str
) -> None:
    """Without noise: every bin with enough people is seen, so the bounds are known beforehand."""
    found = opened(f"found-{neighbours}", neighbours=neighbours)
    declared = opened(f"declared-{neighbours}", DECLARED, neighbours=neighbours)
    for sql in QUESTIONS:
        ours = found.query(sql, epsilon=2)
        price = len(ours.certificate.bounds) * Fraction(1, 2)
        assert price > 0
        same = declared.query(sql, epsilon=2 - price)
        assert ours.rows == same.rows, sql
        assert ours.intervals == same.intervals, sql
        assert ours.certificate.measurements == same.certificate.measurements, sql
    known = found.query("SELECT SUM(age) FROM people", epsilon=3).certificate.bounds
    assert known[0]["bounds"] == [0.0, 127.0]


@pytest.mark.slow
def test_bounds_are_paid_once_and_every_question_the_rest(opened: Callable[..., San]) -> None:
    san = opened("paid")
    sql = "SELECT SUM(age) FROM people"
    first = san.query(sql, epsilon=1)
    assert first.charge.epsilon == 1
    assert reserved(san) == [Fraction(1, 2), Fraction(1, 2)]
    other = san.query("SELECT AVG(age) FROM people WHERE age > 3", epsilon="0.75")
    assert other.charge.epsilon == Fraction(1, 4)
    assert reserved(san)[2:] == [Fraction(1, 4)]
    again = san.query(sql, epsilon=1)
    assert (again.cached, again.to_dict()["charge"]["epsilon"]) == (True, 0.0)
    assert again.rows == first.rows
    assert len(reserved(san)) == 3
    assert [balance.spent_upper.epsilon for balance in san.budget()] == [Fraction(5, 4)]
    kinds = [record.kind for record in san.ledger.records()]
    assert kinds[2:] == ["version", "claim", *["reserve", "spend"] * 3]
    assert verify(san.policy.ledger).sound
    # another analyst has not paid for them
    bo = opened("paid", analyst="bo")
    assert bo.query(sql, epsilon=1).charge.epsilon == 1
    assert bo.query("SELECT COUNT(*) FROM people WHERE age > 3", epsilon=1).certificate.bounds == ()


@pytest.mark.slow
def test_an_answer_says_which_bounds_were_found_at_which_price(opened: Callable[..., San]) -> None:
    san = opened("said")
    answer = san.query("SELECT kind, SUM(cost) AS s FROM visits GROUP BY kind", epsilon=1)
    shape = answer.to_dict()
    (bounds,) = shape["certificate"]["bounds"]
    assert (bounds["table"], bounds["column"]) == ("visits", "cost")
    assert (bounds["bounds"], bounds["epsilon"]) == ([1.0, 63.75], 0.5)
    assert "of its own" in bounds["release"]
    assert shape["certificate"]["epsilon"] == 1.0
    assert "bounds of visits.cost: [1, 63.75], found once, for epsilon 0.5" in str(answer)
    later = san.query("SELECT SUM(cost) FROM visits", epsilon=1)
    assert later.charge.epsilon == Fraction(1, 2)
    assert later.certificate.epsilon == 1  # with the bounds that it rests on


@pytest.mark.slow
def test_explaining_finds_nothing_and_says_what_is_known(opened: Callable[..., San]) -> None:
    san = opened("explained", accounting="renyi")
    sql = "SELECT COUNT(*) AS n, SUM(age) AS s FROM people"
    before = san.explain(sql, epsilon=1).to_dict()
    assert list(san.ledger.records())[2:] == []
    assert before["charge"]["epsilon"] == 1.0
    assert [part["epsilon"] for part in before["certificate"]["bounds"]] == [0.5]
    assert before["certificate"]["bounds"][0]["bounds"] is None
    widths = {part["column"]: part["half_width"] for part in before["expected"]}
    assert widths["s"] is None
    assert "known once its bounds are found" in str(san.explain(sql, epsilon=1))
    san.query(sql, epsilon=1)
    after = san.explain("SELECT SUM(age) AS s FROM people", epsilon=1).to_dict()
    assert after["charge"]["epsilon"] == 0.5
    assert after["certificate"]["bounds"][0]["bounds"] == [0.0, 127.0]
    assert after["expected"][0]["half_width"] > 0
    assert len(reserved(san)) == 2


def refusal(ask: Callable[[], object]) -> Refused:
    with pytest.raises(Refused) as caught:
        ask()
    return caught.value


@pytest.mark.slow
def test_what_is_refused_beforehand_costs_nothing(opened: Callable[..., San]) -> None:
    san = opened("refused", budget="1.25")
    below = refusal(lambda: san.query("SELECT SUM(age) FROM people", epsilon="0.5"))
    assert below.code == "epsilon_below_bounds"
    both = "SELECT SUM(cost), AVG(heat) FROM visits"
    assert refusal(lambda: san.query(both, epsilon=1)).code == "epsilon_below_bounds"
    accuracy = refusal(lambda: san.query("SELECT SUM(age) FROM people", accuracy=50))
    assert accuracy.code == "accuracy_needs_bounds"
    assert refusal(lambda: san.query("SELECT SUM(age) FROM people")).code == "epsilon_needed"
    city = "SELECT rare, SUM(cost) FROM visits GROUP BY rare"
    assert refusal(lambda: san.query(city, epsilon=1, delta=0)).code == "delta_needed"
    with pytest.raises(BudgetExceeded):  # the bounds alone would fit
        san.query("SELECT SUM(age) FROM people", epsilon="1.5")
    assert san.explain("SELECT SUM(age) FROM people", epsilon="1.5").fits is False
    assert reserved(san) == []


@pytest.mark.slow
def test_a_question_that_is_shown_leaves_bounds_to_san_where_they_can_be_found(
    opened: Callable[..., San],
) -> None:
    """A fault elsewhere is no reason to state bounds: the statistic stays as it was asked."""
    san = opened("shown")
    for sql, shown in (
        ("SELECT AVG(age) FROM peopl", "SELECT AVG(age) FROM people"),
        (
            "SELECT kind, AVG(cost) FROM visits",
            "SELECT kind, AVG(cost) FROM visits GROUP BY kind",
        ),
    ):
        refused = refusal(lambda sql=sql: san.query(sql, epsilon=2))
        assert (refused.nearest, refused.fill_in) == (shown, "")
        san.explain(shown, epsilon=2)
    assert reserved(san) == []


@pytest.mark.slow
def test_an_accuracy_is_solved_once_bounds_are_known(opened: Callable[..., San]) -> None:
    san = opened("accurate")
    san.query("SELECT SUM(age) FROM people", epsilon=1)
    answer = san.query("SELECT SUM(age) AS s FROM people", accuracy=5000)
    low, high = answer.intervals["s"][0]
    assert low is not None and high is not None
    assert high - low <= 10_000
    assert answer.charge.epsilon < Fraction(1, 4)
    assert answer.certificate.epsilon == answer.charge.epsilon + Fraction(1, 2)


@pytest.mark.slow
def test_where_too_few_have_a_value_that_is_said_and_not_paid_twice(
    opened: Callable[..., San],
) -> None:
    san = opened("rare")
    first = refusal(lambda: san.query("SELECT SUM(rare) FROM visits", epsilon=1))
    assert first.code == "bounds_not_found"
    assert "epsilon 0.5 was spent" in first.message
    again = refusal(lambda: san.query("SELECT SUM(rare) FROM visits", epsilon=1))
    assert "it cost epsilon 0.5 earlier" in again.message
    assert reserved(san) == [Fraction(1, 2)]
    stated = san.query("SELECT SUM(GREATEST(0, LEAST(9, rare))) FROM visits", epsilon=1)
    assert stated.charge.epsilon == 1


@pytest.mark.slow
def test_a_question_that_the_bounds_rule_out_keeps_them(opened: Callable[..., San]) -> None:
    san = opened("zero")
    found = refusal(lambda: san.query("SELECT SUM(1 / heat) FROM visits", epsilon=1))
    assert found.code == "bounds_missing"
    assert "visits.heat [-16, 8], stay found" in found.remedy
    assert reserved(san) == [Fraction(1, 2)]
    assert san.query("SELECT SUM(1 / (heat + 17)) FROM visits", epsilon=1).charge.epsilon == 0.5


DYING = """
import os, sys
import numpy as np
from sanql.san import San
from sanql.parse import parse
from sanql.plan import outline, price
from sanql.plan.find_bounds import with_bounds
from sanql.policy import Column, ColumnUnit, Neighbours, Table, load
class Dying:
    left = int(sys.argv[2])
    def sample(self, noise, count):
        if self.left == 0:
            os._exit(7)
        self.left -= 1
        return np.zeros(count, dtype=np.int64)
    def secret(self):
        return 1
if __name__ == "__main__":
    San(load(sys.argv[1]), "ana", sampler=Dying()).query("SELECT SUM(age) FROM people", epsilon=1)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draws", "kinds", "after"),
    [
        (0, ["reserve"], 2),  # killed while the bounds were found: they are paid for again
        (1, ["reserve", "spend", "reserve"], 1),  # killed after them: they are on record
    ],
)
def test_killed_halfway_the_books_are_right(
    opened: Callable[..., San], folder: Path, draws: int, kinds: list[str], after: int
) -> None:
    path = opened(f"killed-{draws}").policy.path
    script = folder / "dying.py"
    script.write_text(DYING)
    command = [sys.executable, str(script), str(path), str(draws)]
    assert subprocess.run(command, check=False, timeout=60).returncode == 7
    ledger = load(path).ledger
    assert verify(ledger).sound
    with San(load(path), "ana", sampler=SilentSampler()) as san:
        assert [record.kind for record in san.ledger.records()][2:] == ["version", "claim", *kinds]
        answer = san.query("SELECT SUM(age) FROM people", epsilon=1)
        assert answer.value == sum(n % 100 for n in range(PEOPLE) if n % 5)
        assert len(reserved(san)) == kinds.count("reserve") + after
    assert verify(ledger).sound


@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_what_is_checked_beforehand_covers_whatever_bounds_are_found(
    neighbours: Neighbours,
) -> None:
    """In Rényi accounting a charge depends on the bounds; the check counts the most it can be."""
    own = Fraction(3, 10)
    most = Losses.of_charge((SelectionEvent(own, Fraction(0), 1),))
    column = Column("x", "decimal", None, Fraction(1, 4), bounds_auto=True)
    tables = {"t": Table("t", ColumnUnit("id"), {"x": column}, 5, None, 2)}
    for low, high in [(0, 1), (1, 127), (-64, 3), (1000, 1001), (-(2**40), 2**40)]:
        bounded = with_bounds(tables, {("t", "x"): (Fraction(low), Fraction(high))})
        for asked in ("SUM(x)", "COUNT(*), AVG(x)", "STDDEV(x), SUM(x)", "MEDIAN(x)"):
            query = parse(f"SELECT {asked} FROM t", bounded).private
            charge = price(outline(query, bounded, neighbours), own, Fraction(0)).charge
            losses = Losses.of_charge(charge.events)
            assert losses.pure is not None and most.pure is not None
            assert losses.pure <= most.pure
            assert all(map(le, losses.renyi, most.renyi))


class Seeded:
    """Noise of the right scale, the same in every run."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def sample(self, noise: Noise, count: int) -> np.ndarray:
        assert isinstance(noise, DiscreteLaplace)
        p = -np.expm1(-1 / float(noise.scale))
        return self._rng.geometric(p, count) - self._rng.geometric(p, count)

    def secret(self) -> int:
        return int(self._rng.integers(2**62))


@pytest.mark.slow
@pytest.mark.parametrize("seed", few_of(range(3), 1))
def test_skewed_values_keep_their_mean(tmp_path: Path, seed: int) -> None:
    """Twenty thousand lognormal incomes: the bounds lose the largest, and little of the mean."""
    incomes = np.random.default_rng(2026).lognormal(10, 1, 20_000)
    with duckdb.connect(str(tmp_path / "data.duckdb")) as connection:
        connection.register("incomes", {"income": incomes})
        connection.execute("CREATE TABLE people AS SELECT * FROM incomes")
    text = POLICY.format(
        name="skewed", neighbours="add-remove", budget=100, accounting="pure", **AUTO
    )
    head = text.split("[table.people]")[0].replace("epsilon = 0.5 }", "epsilon = 0.05 }")
    column = 'income = { type = "float", bounds = "auto", precision = 0.01 }'
    path = own_place(tmp_path, str(seed)) / "policy.toml"
    path.write_text(f'{head}[table.people]\nprivacy_unit = "row"\ncolumn.{column}\n')
    with San(load(path), "ana", sampler=Seeded(seed)) as san:
        answer = san.query("SELECT AVG(income) FROM people", epsilon=1)
    low, high = answer.certificate.bounds[0]["bounds"]  # type: ignore[misc]
    assert np.mean((incomes < low) | (incomes > high)) < 0.03  # type: ignore[operator]
    assert abs(answer.value / incomes.mean() - 1) < 0.05


@pytest.mark.slow
def test_sanql_opens_such_a_policy(folder: Path) -> None:
    path = own_place(folder, "opened") / "opened.toml"
    text = POLICY.format(
        name="opened", neighbours="add-remove", budget=9, accounting="pure", **AUTO
    )
    path.write_text(text, encoding="utf-8")
    with open_policy(path, "ana") as san:
        assert san.explain("SELECT SUM(age) FROM people", epsilon=1).fits
