"""Questions over noisy statistics: without noise they are what SQL says; they cost one price."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from sanql.ask import over_statistics
from sanql.ask.columns import answer_columns, interval_columns
from sanql.ask.request import read_request
from sanql.audit.ledger import verify
from sanql.compile import outer as compiled_outer
from sanql.engines.leases import Lease
from sanql.errors import Refused, Unavailable
from sanql.kernel import Statement
from sanql.parse import QuestionText
from sanql.san import San
from support.policies import dataset
from support.samplers import SilentSampler

POLICY = (
    dataset("shop.duckdb", name="shop", epsilon=1000, delta="1e-3")
    + """\
[table.people]
privacy_unit = "id"
unique = true
[table.people.column]
age = { type = "integer", bounds = [0, 89] }
sex = { type = "text", domain = ["F", "M"] }
town = { type = "text", domain = ["c0", "c1", "c2", "c3", "c4"] }
city = { type = "text" }

[table.bought]
privacy_unit = "id"
rows_per_unit_max = 5
[table.bought.column]
price = { type = "integer", bounds = [0, 50] }
kind = { type = "text", domain = ["a", "b"] }

[table.towns]
public = true
"""
)
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

ONE_STAGE = [
    "SELECT town, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM people GROUP BY town",
    "SELECT town, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC, town) AS r FROM people "
    "GROUP BY town ORDER BY r",
    "SELECT town, SUM(COUNT(*)) OVER (ORDER BY town) AS running FROM people GROUP BY town",
    "SELECT town, COUNT(*) AS n, RANK() OVER (ORDER BY n DESC, town) AS r, r * n AS weighed FROM people "
    "GROUP BY town",
    "SELECT town, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY town) AS more FROM people GROUP BY town",
    "SELECT town, sex, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER (PARTITION BY town) AS share FROM people "
    "GROUP BY town, sex ORDER BY town, sex",
    "SELECT town, SUM(COUNT(*)) OVER w AS s FROM people GROUP BY town WINDOW w AS (ORDER BY town)",
    "WITH t AS (SELECT town, COUNT(*) AS n FROM people GROUP BY town) "
    "SELECT town, n FROM t WHERE n > 500 ORDER BY n DESC, town LIMIT 2",
    "WITH t AS (SELECT town, COUNT(*) AS n FROM people GROUP BY town) "
    "SELECT AVG(n) AS a, MAX(n) AS m, COUNT(*) AS c FROM t",
    "WITH grown AS (SELECT * FROM people WHERE age >= 18), "
    "t AS (SELECT town, COUNT(*) AS n FROM grown GROUP BY town) SELECT SUM(n) AS s FROM t",
    "SELECT COUNT(*) * 1.0 / (SELECT COUNT(*) FROM people) AS share FROM people WHERE age > 50",
    "SELECT (SELECT COUNT(*) FROM people WHERE age > 50) AS old, "
    "(SELECT COUNT(*) FROM people WHERE age <= 50) AS young",
    "SELECT town, COUNT(*) AS n FROM people GROUP BY town UNION ALL "
    "SELECT 'all', COUNT(*) FROM people ORDER BY 1",
    "SELECT 'old' AS what, COUNT(*) AS n FROM people WHERE age > 50 UNION "
    "SELECT 'young', COUNT(*) FROM people WHERE age <= 50 ORDER BY what LIMIT 5",
    "SELECT w.name, t.n * 1000.0 / w.homes AS rate FROM "
    "(SELECT town, COUNT(*) AS n FROM people GROUP BY town) AS t JOIN towns AS w ON w.town = t.town "
    "ORDER BY w.name",
    "SELECT a.town, a.n AS old, b.n AS young FROM "
    "(SELECT town, COUNT(*) AS n FROM people WHERE age > 50 GROUP BY town) AS a JOIN "
    "(SELECT town, COUNT(*) AS n FROM people WHERE age <= 50 GROUP BY town) AS b ON a.town = b.town "
    "ORDER BY 1",
    "SELECT town, COUNT(*) AS n FROM people GROUP BY town "
    "QUALIFY ROW_NUMBER() OVER (ORDER BY n DESC, town) <= 2 ORDER BY n DESC, town",
    "SELECT town FROM (SELECT town, COUNT(*) AS n FROM people GROUP BY town "
    "ORDER BY n DESC, town LIMIT 2) AS x ORDER BY town",
    "SELECT town, COUNT(*) AS n FROM people GROUP BY town HAVING COUNT(*) > "
    "(SELECT AVG(n) FROM (SELECT town, COUNT(*) AS n FROM people GROUP BY town) AS t) ORDER BY town",
    "SELECT x * 2 AS y FROM (SELECT AVG(c) AS x FROM (SELECT id, COUNT(*) AS c FROM bought GROUP BY id) "
    "AS u) AS z",
    "SELECT w.town, (SELECT COUNT(*) FROM people AS p WHERE p.town = w.town AND p.age > 30) AS n "
    "FROM towns AS w ORDER BY w.town",
    "SELECT DISTINCT COUNT(*) > 500 AS many FROM people GROUP BY town ORDER BY 1",
    "SELECT town, COUNT(*) AS n, AVG(COUNT(*)) OVER (ORDER BY town ROWS BETWEEN 1 PRECEDING AND "
    "CURRENT ROW) AS smooth FROM people GROUP BY town ORDER BY town",
    "SELECT town, NTILE(2) OVER (ORDER BY COUNT(*), town) AS half, PERCENT_RANK() OVER (ORDER BY town) "
    "AS p, LAG(COUNT(*), 1, 0) OVER (ORDER BY town) AS before FROM people GROUP BY town ORDER BY town",
    "SELECT kind, AVG(price) - (SELECT AVG(price) FROM bought) AS above FROM bought GROUP BY kind "
    "ORDER BY kind",
    "SELECT region, SUM(n) AS n, SUM(SUM(n)) OVER () AS whole FROM (SELECT town, COUNT(*) AS n FROM "
    "people GROUP BY town) AS t JOIN towns USING (town) GROUP BY region ORDER BY region",
    "SELECT CASE WHEN age < 30 THEN 'young' ELSE 'old' END AS band, COUNT(*) AS n, "
    "MAX(COUNT(*)) OVER () AS most FROM people GROUP BY band ORDER BY band",
    "SELECT sex, MAX(n) FILTER (WHERE town = 'c1') AS c1, MAX(n) FILTER (WHERE town = 'c2') AS c2 FROM "
    "(SELECT sex, town, COUNT(*) AS n FROM people GROUP BY sex, town) AS t GROUP BY sex ORDER BY sex",
    "SELECT * FROM (SELECT sex, town, COUNT(*) AS n FROM people GROUP BY sex, town) AS t "
    "PIVOT (MAX(n) AS m FOR town IN ('c1' AS one, 'c2')) AS q ORDER BY sex",
    "PIVOT (SELECT sex, town, COUNT(*) AS n FROM people GROUP BY sex, town) ON town IN ('c1', 'c2') "
    "USING SUM(n), COUNT(*) GROUP BY sex",
    "WITH t AS (SELECT sex, town, AVG(age) AS a FROM people GROUP BY sex, town) "
    "PIVOT t ON sex IN ('F', 'M') USING MAX(a) GROUP BY town",
    "PIVOT (SELECT kind, price // 10 AS tens, COUNT(*) AS n FROM bought GROUP BY kind, tens) ON tens IN "
    "(0, 1) USING SUM(n)",
    "PIVOT people ON town IN ('c1', 'c2') USING COUNT(*) GROUP BY sex",
    "SELECT sex, c1 * 1.0 / (c1 + c2) AS share FROM people PIVOT (COUNT(*) FOR town IN ('c1', 'c2') "
    "GROUP BY sex) ORDER BY sex",
]
OF_ROWS_ALONE = [
    "SELECT (SELECT COUNT(*) FROM people) AS n, (SELECT COUNT(*) FROM towns) AS m",
    "SELECT town, COUNT(*) AS n FROM people GROUP BY town HAVING COUNT(*) > (SELECT COUNT(*) FROM towns) "
    "ORDER BY town",
    "SELECT a.n FROM (SELECT COUNT(*) AS n FROM people) AS a CROSS JOIN towns",
]
"""These read no column of a public table, and how many rows it has."""
TWO_STAGES = [
    "SELECT COUNT(*) AS n FROM people WHERE age > (SELECT AVG(age) FROM people)",
    "SELECT sex, COUNT(*) AS n FROM people WHERE age > (SELECT AVG(age) FROM people) GROUP BY sex "
    "ORDER BY sex",
    "SELECT town, COUNT(*) AS n FROM people AS o WHERE age > "
    "(SELECT AVG(age) FROM people AS i WHERE i.town = o.town) GROUP BY town ORDER BY town",
    "SELECT p.town, COUNT(*) AS n FROM people AS p JOIN (SELECT town AS t, AVG(age) AS a FROM people "
    "GROUP BY town) AS m ON p.town = m.t WHERE p.age > m.a GROUP BY p.town ORDER BY p.town",
    "SELECT COUNT(*) AS n FROM people WHERE town IN "
    "(SELECT town FROM people GROUP BY town HAVING COUNT(*) > 500)",
    "WITH m AS (SELECT AVG(age) AS a FROM people) SELECT COUNT(*) AS n, (SELECT a FROM m) AS a FROM "
    "people WHERE age > (SELECT a FROM m)",
    "SELECT COUNT(*) AS n FROM people WHERE age > (SELECT AVG(age) FROM people WHERE age > "
    "(SELECT AVG(age) FROM people))",
    "SELECT age > (SELECT AVG(age) FROM people) AS old, COUNT(*) AS n FROM people GROUP BY 1",
    "SELECT CASE WHEN age > (SELECT AVG(age) FROM people) THEN 'old' ELSE 'young' END AS band, sex, "
    "AVG(age) AS a FROM people GROUP BY band, sex ORDER BY band",
    "SELECT COUNT(*) AS n FROM people GROUP BY age > (SELECT AVG(age) FROM people WHERE sex = 'F')",
]


@pytest.fixture
def san(tmp_path: Path) -> Iterator[San]:
    with opened(tmp_path, SilentSampler()) as san:
        yield san


def opened(folder: Path, sampler: SilentSampler | None = None) -> San:
    path = folder / "shop.duckdb"
    if not path.exists():
        with duckdb.connect(str(path)) as connection:
            connection.execute(
                "CREATE TABLE people AS SELECT i AS id, i % 90 AS age, "
                "CASE WHEN i % 7 < 3 THEN 'M' ELSE 'F' END AS sex, "
                "'c' || (CASE WHEN i % 15 < 5 THEN 0 WHEN i % 15 < 9 THEN 1 WHEN i % 15 < 12 THEN 2 "
                "WHEN i % 15 < 14 THEN 3 ELSE 4 END) AS town, 'c' || (i % 4) AS city FROM "
                "range(3000) AS t(i)"
            )
            connection.execute(
                "CREATE TABLE bought AS SELECT i % 1000 AS id, i * 7 % 51 AS price, "
                "CASE WHEN i % 3 = 0 THEN 'a' ELSE 'b' END AS kind FROM range(4000) AS t(i)"
            )
            connection.execute(
                "CREATE TABLE towns AS SELECT 'c' || i AS town, 'Town ' || i AS name, "
                "100 * (i + 1) AS homes, CASE WHEN i < 2 THEN 'north' ELSE 'south' END AS region "
                "FROM range(5) AS t(i)"
            )
    (folder / "policy.toml").write_text(POLICY)
    return San(
        folder / "policy.toml", analyst="ana", **({} if sampler is None else {"sampler": sampler})
    )


def as_sql_says(folder: Path, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(folder / "shop.duckdb"), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def spent(san: San) -> Fraction:
    return san.budget()[0].spent_upper.epsilon


def alike(one: object, other: object) -> bool:
    if isinstance(one, str | bool) or one is None or other is None:
        return one == other
    return math.isclose(float(one), float(other), rel_tol=1e-9, abs_tol=1e-9)  # type: ignore[arg-type]


@pytest.mark.parametrize("sql", [*ONE_STAGE, *OF_ROWS_ALONE, *TWO_STAGES])
def test_without_noise_a_question_over_statistics_is_what_sql_says(
    san: San, tmp_path: Path, sql: str
) -> None:
    expected = as_sql_says(tmp_path, sql)
    answer = san.query(sql, epsilon=1)
    rows, expected = sorted(answer.rows, key=repr), sorted(expected, key=repr)
    assert len(rows) == len(expected) > 0
    for row, other in zip(rows, expected, strict=True):
        assert all(map(alike, row, other)), (rows, expected)


@pytest.mark.parametrize(
    "keys",
    ["SELECT DISTINCT town FROM people WHERE age < 0", "SELECT city FROM people GROUP BY city"],
)
def test_the_keys_that_an_answer_shows_are_not_counted_as_those_that_rows_have(
    san: San, keys: str
) -> None:
    """Every public key is shown, also of no row: its number would be that of the domain."""
    with pytest.raises(Refused) as refusal:
        san.query(f"SELECT COUNT(*) AS n FROM ({keys}) AS t", epsilon=1)
    assert refusal.value.code.endswith("across_units")


@pytest.mark.parametrize("sql", [
    "SELECT town, COUNT(*) AS age, age / 2 AS h, RANK() OVER () AS r FROM people GROUP BY town",
    "SELECT town, SUM(COUNT(*)) OVER () AS sex, sex + 1 AS more FROM people GROUP BY town",
])  # fmt: skip
def test_a_column_that_is_no_key_is_not_read_as_a_name_that_select_gives(
    san: San, sql: str
) -> None:
    with pytest.raises(Refused):
        san.query(sql, epsilon=1)


def test_order_and_limit_around_statistics_are_kept(san: San) -> None:
    by_size = (
        "WITH t AS (SELECT town, COUNT(*) AS n FROM people GROUP BY town) "
        "SELECT town FROM t ORDER BY n DESC LIMIT 3"
    )
    assert [town for (town,) in san.query(by_size, epsilon=1).rows] == ["c0", "c1", "c2"]
    behind = by_size.replace("LIMIT 3", "LIMIT 2 OFFSET 3")
    assert [town for (town,) in san.query(behind, epsilon=1).rows] == ["c3", "c4"]


@pytest.mark.parametrize("sql", [ONE_STAGE[0], ONE_STAGE[9], TWO_STAGES[1], TWO_STAGES[6]])
def test_one_question_is_one_price_and_one_record_and_free_when_repeated(
    tmp_path: Path, sql: str
) -> None:
    with opened(tmp_path) as san:
        answer = san.query(sql, epsilon="0.6")
        assert spent(san) == answer.charge.epsilon == Fraction(6, 10)
        assert sum(record.kind == "reserve" for record in san.ledger.records()) == 1
        again = san.query(sql, epsilon="0.6")
        assert again.cached
        assert again.rows == answer.rows
        assert spent(san) == Fraction(6, 10)
        (entry,) = san.history()
        assert san.read_again(entry.number).rows == answer.rows
        assert san.certificate(entry.number) == answer.certificate
    assert verify(san.policy.ledger).sound


def test_other_sql_over_the_same_statistics_costs_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as san:
        plain = san.query("SELECT town, COUNT(*) AS n FROM people GROUP BY town", epsilon=1)
        shares = san.query(ONE_STAGE[0], epsilon=1)
        ranks = san.query(ONE_STAGE[1], epsilon=1)
        assert shares.cached
        assert ranks.cached
        assert spent(san) == 1
        whole = sum(n for _, n in plain.rows)
        assert dict(shares.rows) == {town: 100.0 * n / whole for town, n in plain.rows}


def test_what_a_later_stage_reads_is_part_of_its_name(tmp_path: Path) -> None:
    """Two questions whose second stages differ only in what they read of the first are two."""
    above = "SELECT COUNT(*) AS n FROM people WHERE age > (SELECT {} FROM people)"
    with opened(tmp_path) as san:
        first = san.query(above.format("AVG(age)"), epsilon=1)
        other = san.query(above.format("AVG(age) / 2"), epsilon=1)
        assert not other.cached
        assert abs(first.value - other.value) > 300
        assert spent(san) == 2


@pytest.mark.parametrize("sql", [ONE_STAGE[0], ONE_STAGE[13], TWO_STAGES[2]])
def test_explain_costs_nothing_and_names_the_price_of_all(san: San, sql: str) -> None:
    explained = san.explain(sql, epsilon="0.5")
    assert explained.charge.epsilon == Fraction(1, 2)
    assert spent(san) == 0
    assert any("noisy statistic" in note for note in explained.certificate.assumptions)
    assert explained.expected
    assert "0.5" in str(explained)


@pytest.mark.parametrize("sql", [*ONE_STAGE, *TWO_STAGES])
def test_columns_and_intervals_are_known_before_anything_is_asked(san: San, sql: str) -> None:
    session, request = san.session, read_request(QuestionText(sql), "ana", {"epsilon": 1})
    columns, with_intervals = answer_columns(session, request), interval_columns(session, request)
    assert spent(san) == 0
    answer = san.query(sql, epsilon=1)
    assert columns.names == answer.columns
    assert [field.type for field in columns] == [field.type for field in answer.table.schema]
    assert with_intervals == set(answer.intervals)


def test_a_failure_between_the_stages_keeps_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second statement fails in the engine; what the first has read is paid for, and so is all."""
    with opened(tmp_path) as san:
        lease_stream = Lease.stream
        ran: list[Statement] = []

        def breaking(lease: Lease, statement: Statement, *rest: object) -> object:
            ran.append(statement)
            if len(ran) > 1:
                raise RuntimeError("the engine is gone")
            return lease_stream(lease, statement, *rest)  # type: ignore[arg-type]

        monkeypatch.setattr(Lease, "stream", breaking)
        with pytest.raises(Unavailable):
            san.query(TWO_STAGES[0], epsilon=1)
        assert len(ran) == 2
        assert spent(san) == 1
        (entry,) = san.history()
        assert entry.outcome != "answered"


def test_the_second_stage_is_given_what_was_released_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as san:
        lease_stream = Lease.stream
        ran: list[Statement] = []

        def noting(lease: Lease, statement: Statement, *rest: object) -> object:
            ran.append(statement)
            return lease_stream(lease, statement, *rest)  # type: ignore[arg-type]

        monkeypatch.setattr(Lease, "stream", noting)
        sql = TWO_STAGES[5]
        answer = san.query(sql, epsilon=1)
        given = [table for table in ran[1].public if "statistic" in table.sql]
        assert [table.parameters for table in given] == [([answer.rows[0][1]],)]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        (
            "SELECT id, COUNT(*), SUM(COUNT(*)) OVER () FROM people GROUP BY id",
            "returns_individuals",
        ),
        ("SELECT age, SUM(age) OVER () FROM people", "column_not_grouped"),
        ("SELECT town, COUNT(*) FROM people GROUP BY town UNION ALL SELECT id, 1 FROM people", ""),
        ("SELECT COUNT(*) FROM people WHERE age > (SELECT age FROM people LIMIT 1)", ""),
        ("SELECT * FROM people ORDER BY age LIMIT (SELECT COUNT(*) FROM people)", ""),
        ("WITH t AS (SELECT age FROM people) SELECT MAX(x.age) FROM t AS x, t AS y", ""),
        (
            "SELECT COUNT(*) FROM (SELECT age FROM people QUALIFY ROW_NUMBER() OVER (ORDER BY age) < 5)",
            "",
        ),
    ],
)
def test_what_shows_rows_of_individuals_stays_refused(san: San, sql: str, code: str) -> None:
    with pytest.raises(Refused) as refused:
        san.query(sql, epsilon=1)
    assert code in ("", refused.value.code)
    assert spent(san) == 0


@pytest.mark.parametrize("option", [{"accuracy": 5}, {"other": "rest"}, {"exact": True}])
def test_options_of_one_statistic_are_refused_by_name(san: San, option: dict[str, object]) -> None:
    with pytest.raises(Refused):
        san.query(ONE_STAGE[0], epsilon=None if "accuracy" in option else 1, **option)
    assert spent(san) == 0


def test_two_stages_share_the_price_and_an_auditor_sees_both(tmp_path: Path) -> None:
    with opened(tmp_path) as san:
        answer = san.query(TWO_STAGES[1], epsilon=1)
        measured = answer.certificate.measurements
        assert {said["statistic"] for said in measured} == {1, 2}
        assert any("2 stages" in words for words in answer.certificate.assumptions)


@pytest.mark.parametrize(
    ("weights", "shares"),
    [(None, (0.5, 0.5)), ("1:3", (0.25, 0.75)), ([0.9, 0.1], (0.9, 0.1))],
)
def test_stages_share_epsilon_as_asked_and_the_certificate_says_how(
    tmp_path: Path, weights: str | list[float] | None, shares: tuple[float, float]
) -> None:
    with opened(tmp_path) as san:
        answer = san.query(TWO_STAGES[1], epsilon=1, stage_weights=weights)
        first, second = (f"{share:g}" for share in shares)
        said = f"measured in 2 stages, at epsilon {first} and {second},"
        assert any(said in words for words in answer.certificate.assumptions)
        told = san.explain(TWO_STAGES[1], epsilon=1, stage_weights=weights)
        by_stage = [float(level.epsilon_upper) for level in told.levels]
        assert told.cached and by_stage == pytest.approx(shares)
        assert spent(san) == 1


def test_every_statistic_has_the_same_share_whatever_its_stage(tmp_path: Path) -> None:
    three = (
        "SELECT COUNT(*) AS n FROM people WHERE age > (SELECT AVG(age) FROM people) "
        "AND age < (SELECT AVG(price) + 60 FROM bought)"
    )
    with opened(tmp_path) as san:
        words = " ".join(san.explain(three, epsilon=0.9).certificate.assumptions)
        assert "at epsilon 0.6 and 0.3," in words
        assert "at epsilon 0.45 and 0.45," in " ".join(
            san.explain(three, epsilon=0.9, stage_weights="1:1").certificate.assumptions
        )


@pytest.mark.parametrize(
    ("sql", "weights", "code"),
    [
        (TWO_STAGES[1], "1:2:3", "stage_weights_needless"),
        (ONE_STAGE[0], "1:2", "stage_weights_needless"),
        ("SELECT COUNT(*) FROM people", "1:2", "stage_weights_needless"),
        (TWO_STAGES[1], "1", "stage_weights_invalid"),
        (TWO_STAGES[1], "0:1", "stage_weights_invalid"),
        (TWO_STAGES[1], "1:x", "stage_weights_invalid"),
        (TWO_STAGES[1], 3, "stage_weights_invalid"),
    ],
)
def test_weights_of_other_stages_than_there_are_are_refused(
    san: San, sql: str, weights: str, code: str
) -> None:
    with pytest.raises(Refused) as refused:
        san.query(sql, epsilon=1, stage_weights=weights)
    assert refused.value.code == code
    assert spent(san) == 0


def test_sql_around_statistics_that_does_not_end_is_stopped(tmp_path: Path) -> None:
    with opened(tmp_path) as san:
        limits = replace(san.policy.engine, deadline_seconds=1.0)
        san.session.policy = replace(san.policy, engine=limits)
        ages = "SELECT age AS k, COUNT(*) AS n FROM people GROUP BY age"
        many = f"WITH t AS ({ages}) SELECT COUNT(*) AS c FROM "
        names = ", ".join(f"t AS t{number}" for number in range(8))
        with pytest.raises(Refused, match="takes more than 1 seconds"):
            san.query(f"{many}{names} WHERE t0.n + t1.n + t2.n + t3.n > t4.n * t5.n", epsilon=1)
        assert san.query(f"{many}t", epsilon=1).cached
        assert spent(san) == 1


def test_a_public_table_that_is_read_beside_answers_has_a_largest_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is held in memory beside everybody else's questions; whoever asks for more is not charged."""
    counts = "SELECT town, COUNT(*) AS n FROM people GROUP BY town"
    sql = f"SELECT w.name, t.n FROM towns AS w JOIN ({counts}) AS t ON t.town = w.town"
    for module in (compiled_outer, over_statistics):
        monkeypatch.setattr(module, "PUBLIC_ROWS_MAX", 4)
    with opened(tmp_path) as san:
        with pytest.raises(Refused, match="reads towns, which has more than 4 rows"):
            san.query(sql, epsilon=1)
        assert spent(san) == 0
        for module in (compiled_outer, over_statistics):
            monkeypatch.setattr(module, "PUBLIC_ROWS_MAX", 5)
        assert len(san.query(sql, epsilon=1).rows) == 5
