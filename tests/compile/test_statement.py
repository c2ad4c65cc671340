"""How plans become SQL where the usual way would not do."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from sanql.compile import limits as writing
from sanql.compile import statement as writing_statement
from sanql.policy import load
from sanql.san import San
from support.by_hand import level_of
from support.policies import dataset

POLICY = (
    dataset("rows.duckdb", name="rows", epsilon="10.0", delta="1e-6")
    + """\
[table.plain]
privacy_unit = "row"
[table.plain.column]
x = { type = "integer", bounds = [0, 1000], total_bounds = [0, 10] }
"""
)


@pytest.mark.parametrize("most", [1, 3, 7, 8])
def test_a_units_groups_are_limited_by_its_hashes_alone(most: int) -> None:
    connection = duckdb.connect(":memory:")
    connection.execute(
        "CREATE TABLE pairs AS SELECT i % 50 AS u, hash(i) % 97 AS h FROM range(390) AS r(i)"
    )
    hashes: dict[int, list[int]] = {}
    for unit, hashed in connection.execute("SELECT u, h FROM pairs").fetchall():
        hashes.setdefault(unit, []).append(hashed)
    crowded = {unit: sorted(own)[most] for unit, own in hashes.items() if len(own) > most}
    assert len(crowded) == {7: 40, 8: 0}.get(most, 50)
    found = connection.execute(writing._thresholds("pairs", most)).fetchall()
    assert sorted(found) == sorted(crowded.items())


def test_limits_beyond_what_the_engine_can_keep_sorted_are_answered() -> None:
    connection = duckdb.connect(":memory:")
    connection.execute("CREATE TABLE pairs AS SELECT 1 AS u, hash(1) AS h")
    assert connection.execute(writing._thresholds("pairs", 2**20)).fetchall() == []


@pytest.mark.parametrize(("low", "high"), [(-2, 3), (0, 3), (-5, -1), (2, 4)])
def test_a_sum_scaled_to_fewer_values_is_right_on_average_and_stays_within_their_bounds(
    low: int, high: int
) -> None:
    """All sums of up to six values within bounds, all smaller numbers of them, and all draws."""
    most = 6
    shares: dict[tuple[int, int, int], list[int]] = {}
    with duckdb.connect(":memory:") as connection:
        rows = connection.execute(
            f"SELECT v0, s0, w0, {writing._share(0, low)} FROM range(1, {most + 1}) AS a(v0), "
            f"range({min(low, low * most)}, {max(high, high * most) + 1}) AS b(s0), "
            f"range({most + 1}) AS c(w0), (SELECT range::UBIGINT AS d FROM range({most})) "
            f"WHERE s0 BETWEEN v0 * {low} AND v0 * {high} AND w0 <= v0 AND d < v0"
        ).fetchall()
    assert len(rows) > 1000
    for v, s, w, share in rows:
        assert w * low <= share <= w * high
        shares.setdefault((v, s, w), []).append(share)
    assert all(
        len(each) == v and Fraction(sum(each), v) == Fraction(s * w, v)
        for (v, s, w), each in shares.items()
    )


@pytest.mark.slow
def test_a_row_unit_has_no_total_beside_its_bounds(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "rows.duckdb")) as connection:
        connection.execute("CREATE TABLE plain AS SELECT 5 AS x")
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)
    with San(load(policy)) as san:
        explained = san.explain("SELECT SUM(x) FROM plain", epsilon=1)
    (measured,) = explained.certificate.measurements
    assert measured["sensitivity"] == {"l1": 1000.0, "linf": 1000.0, "l2": 1000.0}


@pytest.mark.parametrize(
    ("asked", "few"),
    [
        ("COUNT(*) FROM visits", True),
        ("AVG(age), SUM(income) FROM visits", True),
        ("sex, COUNT(*) FROM visits GROUP BY sex", True),
        ("city, COUNT(*) FROM visits GROUP BY city", False),  # keys come from rows
        ("MEDIAN(age) FROM visits", False),  # lists of bins
        ("born, COUNT(*) FROM visits WHERE born IN ('2020-01-01') GROUP BY born", False),
        ("age, score, COUNT(*) FROM visits GROUP BY age, score", False),  # many
    ],
)
def test_a_question_alone_decides_whether_its_cells_are_few(*, asked: str, few: bool) -> None:
    level = level_of(f"SELECT {asked}", delta="1/1000")
    assert writing_statement._has_few_rows(level) is few
