"""units_per_selected_group_min: no key that fewer units have is shown, however a question is asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest
from numpy.typing import NDArray

from sanql.errors import PolicyError, Refused
from sanql.measurements import Measured
from sanql.mechanisms import DiscreteGaussian, Noise, TruncatedGeometric
from sanql.plan import Level
from sanql.policy import load
from sanql.san import San
from support.plans import plan_of
from support.policies import dataset
from support.samplers import SilentSampler

FEWEST = 8
TABLES = """\
[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
city = { type = "text" }
sex = { type = "text", domain = ["F", "M"] }
age = { type = "integer", bounds = [0, 100] }
[table.visits]
privacy_unit = "id"
rows_per_unit_max = 4
column.shop = { type = "text" }
[table.regions]
public = true
"""
SIZES = {"Oslo": 400, "Bergen": FEWEST, "Alta": FEWEST - 1, "Vadsø": 1}
SQL = "SELECT city, COUNT(*) AS n FROM people GROUP BY city"
PRICE = {"epsilon": 10, "delta": "1e-6"}
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]


@dataclass(frozen=True)
class HighestSampler(SilentSampler):
    """Draws the most that truncated noise can be, and of Gaussian noise what is seldom exceeded."""

    def sample(self, noise: Noise, count: int) -> NDArray[np.int64]:
        """Return what lifts keys of few units over their threshold."""
        match noise:
            case TruncatedGeometric(_, most):
                pass
            case DiscreteGaussian():
                most = noise.least_reaching(Fraction(1, 10**5))
            case _:
                most = 0
        return np.full(count, most, dtype=np.int64)


@contextmanager
def town(folder: Path, rule: str, sampler: SilentSampler) -> Iterator[San]:
    with duckdb.connect(str(folder / "town.duckdb")) as connection:
        connection.execute("CREATE TABLE people (id BIGINT, city VARCHAR, sex VARCHAR, age BIGINT)")
        connection.execute("CREATE TABLE visits (id BIGINT, shop VARCHAR)")
        connection.execute("CREATE TABLE regions (name VARCHAR)")
        for number, (city, size) in enumerate(SIZES.items()):
            connection.execute(
                "INSERT INTO people SELECT i + 1000 * ?, ?, 'F', 40 FROM range(?) AS t(i)",
                [number, city, size],
            )
        connection.execute(
            "INSERT INTO visits SELECT id, city || k FROM people, range(3) AS t(k) "
            "UNION ALL SELECT id, city || 0 FROM people"
        )
    text = dataset("town.duckdb", name="town", epsilon=100_000, delta="1e-2")
    (folder / "policy.toml").write_text(text + rule + TABLES)
    with San(load(folder / "policy.toml"), sampler=sampler) as opened:
        yield opened


RULE = f"units_per_selected_group_min = {FEWEST}\n"


@pytest.fixture(scope="module")
def san(tmp_path_factory: pytest.TempPathFactory) -> Iterator[San]:
    with town(tmp_path_factory.mktemp("ruled"), RULE, HighestSampler()) as opened:
        yield opened


@pytest.fixture(scope="module")
def lenient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[San]:
    with town(tmp_path_factory.mktemp("lenient"), "", HighestSampler()) as opened:
        yield opened


ENOUGH = {"Oslo", "Bergen"}
WAYS: dict[str, tuple[str, set[str]]] = {
    "a count": (SQL, ENOUGH),
    "an average": ("SELECT city, AVG(age) FROM people GROUP BY city", ENOUGH),
    "a median": ("SELECT city, MEDIAN(age) FROM people GROUP BY city", ENOUGH),
    "the key alone": ("SELECT DISTINCT city FROM people", ENOUGH),
    "levels": ("SELECT city, COUNT(*) FROM people GROUP BY ROLLUP (city)", ENOUGH),
    "sets": ("SELECT city, sex, COUNT(*) FROM people GROUP BY GROUPING SETS (city, sex)", ENOUGH),
    "two keys": ("SELECT city, sex, COUNT(*) FROM people GROUP BY city, sex", ENOUGH),
    "computed": ("SELECT LEFT(city, 40) AS c, COUNT(*) FROM people GROUP BY c", ENOUGH),
    "a subquery": ("SELECT c, COUNT(*) FROM (SELECT city AS c FROM people) GROUP BY c", ENOUGH),
    "over statistics": (f"SELECT city, n * 2 FROM ({SQL})", ENOUGH),
    "a join": (
        "SELECT city, COUNT(DISTINCT people.id) FROM people JOIN visits USING (id) GROUP BY city",
        ENOUGH,
    ),
}


def shown(san: San, sql: str) -> set[str]:
    return {row[0] for row in san.query(sql, **PRICE).rows} & SIZES.keys()  # type: ignore[arg-type]


@pytest.mark.parametrize("way", WAYS)
def test_at_the_highest_noise_just_the_groups_of_enough_units_appear(
    san: San, lenient: San, way: str
) -> None:
    sql, enough = WAYS[way]
    assert shown(san, sql) == enough
    assert shown(lenient, sql) >= {"Alta"}  # the noise is high enough for fewer


def test_rows_of_the_same_units_are_not_units(san: San, lenient: San) -> None:
    """Each of the seven units of Alta has two visits of its first shop, and more groups than one."""
    sql = "SELECT shop, COUNT(*) AS n FROM visits GROUP BY shop"
    found = {row[0] for row in san.query(sql, **PRICE).rows}  # type: ignore[arg-type]
    assert found and {name[:-1] for name in found} <= ENOUGH
    unruled = {row[0] for row in lenient.query(sql, **PRICE).rows}  # type: ignore[arg-type]
    assert "Alta0" in unruled


def test_batches_keep_the_rule_too(san: San) -> None:
    questions = [SQL, WAYS["an average"][0], WAYS["levels"][0]]
    for answer in san.batch(questions, **PRICE):  # type: ignore[arg-type]
        assert {row[0] for row in answer.rows} & SIZES.keys() == ENOUGH


def test_the_most_frequent_value_is_one_that_enough_units_have(san: San, lenient: San) -> None:
    sql = "SELECT MODE(city) FROM people WHERE city IN ('Alta', 'Vadsø') OR city LIKE 'A%'"
    (few,), (unruled,) = (each.query(sql, **PRICE).rows for each in (san, lenient))  # type: ignore[arg-type]
    assert few[0] is None and unruled[0] == "Alta"


def test_groups_that_everybody_knows_appear_all_the_same(san: San) -> None:
    rows = san.query("SELECT sex, COUNT(*) FROM people GROUP BY sex", epsilon=1).rows
    assert {row[0] for row in rows} == {"F", "M"}


def test_an_analyst_may_ask_for_more_and_not_for_less(san: San) -> None:
    def thresholds(**options: object) -> list[int | None]:
        return [level.priced.threshold for level in plan_of(san, SQL, **PRICE, **options).levels]

    (plain,) = thresholds()
    assert plain is not None
    for fewest in (1, FEWEST - 1, FEWEST):
        assert thresholds(min_privacy_units_per_group=fewest) == [plain]
    assert thresholds(min_privacy_units_per_group=FEWEST + 5) == [plain + 5]
    with pytest.raises(Refused):
        san.query(SQL, min_privacy_units_per_group=0, **PRICE)  # type: ignore[arg-type]


def test_what_is_on_record_from_before_the_rule_is_not_shown_again(tmp_path: Path) -> None:
    with town(tmp_path, "", HighestSampler()) as before:
        assert shown(before, SQL) == SIZES.keys()
    text = (tmp_path / "policy.toml").read_text()
    (tmp_path / "policy.toml").write_text(
        text.replace("[table.people]", RULE + "[table.people]", 1)
    )
    with San(load(tmp_path / "policy.toml"), sampler=HighestSampler()) as after:
        assert shown(after, SQL) == ENOUGH
        with pytest.raises(Refused) as refused:
            after.read_again(1)
        assert refused.value.code == "answer_not_rebuilt"


def chance_of_fewer(level: Level) -> Fraction:
    """Return the chance of the likeliest group of too few units, by the law of the noise itself."""
    index = level.outline.measuring.selection
    assert index is not None and level.priced.threshold is not None
    own, noise = level.measurements[index], level.noises[index]
    one = own.high if own.kind is Measured.KEY_WEIGHTS else 1
    needed = level.priced.threshold - (FEWEST - 1) * one
    if isinstance(noise, TruncatedGeometric):
        return Fraction(noise.limit >= needed)
    assert isinstance(noise, DiscreteGaussian)
    steps = np.arange(-40 * float(noise.sigma2) ** 0.5, 40 * float(noise.sigma2) ** 0.5).round()
    law = np.exp(-(steps**2) / (2 * float(noise.sigma2)))
    return Fraction(float(law[steps >= needed].sum() / law.sum()))


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "3"])
@pytest.mark.parametrize("sql", [SQL, "SELECT shop, COUNT(*) AS n FROM visits GROUP BY shop"])
def test_fewer_units_appear_no_more_often_than_is_said(san: San, sql: str, epsilon: str) -> None:
    for delta in ("1e-3", "1e-9"):
        (level,) = plan_of(san, sql, epsilon=epsilon, delta=delta).levels
        said = level.fewest_units_in_words
        assert said is not None
        explained = san.explain(sql, epsilon=epsilon, delta=delta)  # type: ignore[arg-type]
        assert said in explained.certificate.keys
        assert any(said in note for note in explained.notes)
        chance = chance_of_fewer(level)
        if chance == 0:
            assert "surely never" in said
            continue
        told = float(said.split("at most ")[1].split(" ")[0])
        assert float(chance) <= told * (1 + 1e-6) and told <= float(delta)


def written(folder: Path, text: str) -> Path:
    path = folder / "policy.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("wrong", ["0", "-1", "1.5", '"ten"', "10_000_000", "true"])
def test_a_number_that_is_none_is_a_fault(tmp_path: Path, wrong: str) -> None:
    text = dataset("town.duckdb", delta="1e-6")
    with pytest.raises(PolicyError, match="units_per_selected_group_min"):
        load(written(tmp_path, f"{text}units_per_selected_group_min = {wrong}\n{TABLES}"))


def test_it_is_of_private_tables(tmp_path: Path) -> None:
    tables = load(written(tmp_path, dataset("town.duckdb", delta="1e-6") + RULE + TABLES)).tables
    fewest = {name: table.units_per_selected_group_min for name, table in tables.items()}
    assert fewest == {"people": FEWEST, "visits": FEWEST, "regions": 1}
