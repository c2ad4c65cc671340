"""What was seen of rows when they were copied decides neither which questions are answered nor prices.

A copy that was made while `unique = true` was declared knows whether any unit has two rows. With
`rows_per_unit_max` in its place, some questions then failed where none had, and were answered otherwise.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from sanql.cli.main import main
from sanql.errors import Refused
from sanql.policy import load
from sanql.san import San
from support.policies import dataset

pytestmark = pytest.mark.usefixtures("in_this_process")

COLUMNS = """\

[table.t]
privacy_unit = "id"
{limits}
[table.t.column]
city = {{ type = "text" }}
x = {{ type = "integer", bounds = [0, 40] }}
"""
QUESTIONS = [
    "SELECT COUNT(DISTINCT x) FROM t",
    "SELECT city, COUNT(DISTINCT x) FROM t GROUP BY city",
    "SELECT city, COUNT(DISTINCT id) FROM t GROUP BY city",
    "SELECT city, MEDIAN(x) FROM t GROUP BY city",
    "SELECT city, COUNT(*), SUM(x), AVG(x) FROM t GROUP BY city",
    "SELECT city, x, COUNT(*) FROM t GROUP BY ROLLUP (city, x)",
    "SELECT MODE(x), VARIANCE(x), COUNT(*) FROM t",
]


def prepared_as_unique(folder: Path, *, somebody_has_two_rows: bool) -> Path:
    """Return a policy that lets several rows of a unit count, over a copy of when it was one."""
    folder.mkdir()
    with duckdb.connect(str(folder / "data.duckdb")) as made:
        made.execute(
            "CREATE TABLE t AS SELECT i AS id, 'c' || (i % 5) AS city, i % 30 AS x "
            "FROM range(3000) AS numbers(i)"
        )
        if somebody_has_two_rows:
            made.execute("INSERT INTO t VALUES (3000, 'c1', 7), (3000, 'c2', 8)")
    policy = folder / "policy.toml"
    shared = dataset("data.duckdb", epsilon=1000, delta="1e-3", accounting="renyi") + COLUMNS
    policy.write_text(shared.format(limits="unique = true"))
    assert CliRunner().invoke(main, ["prepare", str(policy)]).exit_code == 0
    policy.write_text(shared.format(limits="rows_per_unit_max = 20"))
    return policy


@pytest.mark.slow
def test_nobody_is_told_whether_anybody_has_two_rows(tmp_path: Path) -> None:
    """Red where a copy's `one_row` counts for tables that are not declared `unique` any more."""
    seen = []
    for name, twice in (("neighbour", True), ("data", False)):
        with San(load(prepared_as_unique(tmp_path / name, somebody_has_two_rows=twice))) as san:
            answers = [san.query(sql, epsilon=1, delta="1e-6") for sql in QUESTIONS]
            seen.append(([answer.columns for answer in answers], str(san.budget())))
    assert seen[0] == seen[1]


COUNTS = ", ".join(f"COUNT(DISTINCT x + {number})" for number in range(6))


@pytest.mark.slow
def test_whether_a_long_question_is_tried_hangs_on_no_row(tmp_path: Path) -> None:
    """Red where what is written for rows that are units decides: it is a twelfth as long."""
    tried = []
    for extra in ("", " UNION ALL SELECT 0, 1"):
        folder = tmp_path / f"with {len(extra)}"
        (folder / "data").mkdir(parents=True)
        with duckdb.connect() as made:
            made.execute(
                "COPY (SELECT i AS id, i % 9 AS x FROM range(60) AS numbers(i)"
                f"{extra}) TO '{folder}/data/t.parquet'"
            )
        declared = (dataset("data") + COLUMNS).format(limits="unique = true")
        (folder / "policy.toml").write_text(declared.replace('city = { type = "text" }\n', ""))
        with San(load(folder / "policy.toml")) as san:
            san.query(f"SELECT {COUNTS} FROM t", epsilon=1)
            opened = san.session.data.open()
            tried.append((bool(opened.source.one_row), opened.trials._begun is not None))
    assert tried == [(True, True), (False, True)]


@pytest.mark.slow
def test_whether_a_question_is_too_long_hangs_on_nobodys_text(tmp_path: Path) -> None:
    """Red where it is the length of what is written for the data as they lie: in place, or copied.

    A database with a long text is copied, and each of its columns is written shorter then.
    """
    names = [f"c{number}" for number in range(120)]
    tests = [f" AND {names[n % 120]} || {names[n % 120]} <> '{n}'" for n in range(345)]
    inner = f"SELECT COUNT(*) FROM v AS r WHERE r.id = v.id{''.join(tests)}"
    seen = []
    for letters in (1, 20_000_000):
        folder = tmp_path / f"of {letters}"
        folder.mkdir()
        columns = ", ".join(f"'a' AS {name}" for name in names[1:])
        first = f"CASE WHEN i = 0 THEN repeat('a', {letters}) ELSE 'a' END AS c0"
        with duckdb.connect(str(folder / "data.duckdb")) as made:
            made.execute(f"CREATE TABLE v AS SELECT i AS id, {first}, {columns} FROM range(9) n(i)")
        (folder / "policy.toml").write_text(
            dataset("data.duckdb") + "[table.v]\nprivacy_unit = 'id'\nrows_per_unit_max = 2\n"
            "[table.v.column]\n" + "".join(f"{name} = {{ type = 'text' }}\n" for name in names)
        )
        with San(load(folder / "policy.toml")) as san:
            san.query("SELECT COUNT(*) FROM v", epsilon=1)
            in_place = san.session.data.open().source.database == folder / "data.duckdb"
            with pytest.raises(Refused) as refused:
                san.query(f"SELECT COUNT(*) FROM v WHERE ({inner}) > 1", epsilon=1)
            seen.append((in_place, refused.value.code, str(san.budget())))
    assert [in_place for in_place, *_ in seen] == [True, False]
    assert seen[0][1:] == seen[1][1:] and seen[0][1] == "query_too_complex"
