"""min_privacy_units_per_group: groups of fewer units do not appear, and the raised threshold is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from sanql.errors import Refused
from sanql.policy import load
from sanql.san import San
from support.plans import plan_of
from support.policies import dataset
from support.samplers import SilentSampler

POLICY = (
    dataset("people.duckdb", name="people", epsilon=1000, delta="1e-3")
    + """\
[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
city = { type = "text" }
sex = { type = "text", domain = ["F", "M"] }
"""
)
SIZES = {"Oslo": 400, "Bergen": 60, "Tromsø": 59, "Alta": 20}
SQL = "SELECT city, COUNT(*) AS n FROM people GROUP BY city ORDER BY n DESC"
PRICE = {"epsilon": 10, "delta": "1e-6"}
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]


@pytest.fixture(scope="module")
def san(tmp_path_factory: pytest.TempPathFactory) -> Iterator[San]:
    folder: Path = tmp_path_factory.mktemp("fewest")
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.execute("CREATE TABLE people (id BIGINT, city VARCHAR, sex VARCHAR)")
        for number, (city, size) in enumerate(SIZES.items()):
            connection.execute(
                "INSERT INTO people SELECT i + 1000 * ?, ?, 'F' FROM range(?) AS t(i)",
                [number, city, size],
            )
    (folder / "policy.toml").write_text(POLICY)
    with San(load(folder / "policy.toml"), sampler=SilentSampler()) as opened:
        yield opened


def threshold(san: San, **options: object) -> int:
    found = plan_of(san, SQL, **PRICE, **options).levels[0].priced.threshold
    assert found is not None
    return found


def test_without_noise_just_the_groups_that_have_enough_beyond_the_threshold_appear(
    san: San,
) -> None:
    plain = threshold(san)
    assert 1 < plain < 20
    for fewest in (1, 5, 60 - plain + 1, 60 - plain + 2, 500):
        answer = san.query(SQL, min_privacy_units_per_group=fewest, **PRICE)  # type: ignore[arg-type]
        reached = [city for city, size in SIZES.items() if size >= plain + fewest - 1]
        assert [row[0] for row in answer.rows] == reached


@pytest.mark.parametrize("missing", [1, 2, 7])
def test_a_group_of_fewer_units_never_has_a_better_chance_than_one_unit_had(
    san: San, missing: int
) -> None:
    plain, fewest = threshold(san), 8
    raised = threshold(san, min_privacy_units_per_group=fewest)
    assert raised == plain + fewest - 1
    assert raised - (fewest - missing) >= plain - 1  # what noise must add


def test_the_explanation_and_the_certificate_have_the_raised_threshold(san: San) -> None:
    raised = threshold(san, min_privacy_units_per_group=50)
    explained = san.explain(SQL, min_privacy_units_per_group=50, **PRICE)  # type: ignore[arg-type]
    assert f"noisy count of units reaches {raised}" in str(explained.to_dict())


def test_it_is_another_question_with_a_price_of_its_own_and_repeats_are_free(san: San) -> None:
    first = san.query(SQL, min_privacy_units_per_group=30, **PRICE)  # type: ignore[arg-type]
    clause = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(min_privacy_units_per_group={}) city, "
    again = san.query(SQL.replace("SELECT city, ", clause.format(30)), **PRICE)  # type: ignore[arg-type]
    other = san.query(SQL.replace("SELECT city, ", clause.format(31)), **PRICE)  # type: ignore[arg-type]
    assert (first.cached, again.cached, other.cached) == (False, True, False)
    assert again.rows == first.rows


@pytest.mark.parametrize("grouping", ["", " GROUP BY sex"])
def test_where_every_group_appears_it_is_refused_as_needless(san: San, grouping: str) -> None:
    with pytest.raises(Refused, match="min_privacy_units_per_group = 5") as refused:
        san.query(
            f"SELECT COUNT(*) FROM people{grouping}", epsilon=1, min_privacy_units_per_group=5
        )
    assert refused.value.code == "limits_needless" and "HAVING" in refused.value.remedy
