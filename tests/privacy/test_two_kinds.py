"""Rows of two kinds of unit: whoever comes, goes or changes moves the cells by no more than is declared.

Cells do not add up over units of either kind, so this is an oracle of its own, like that of distinct values:
random worlds, with units of many rows among them, every unit of both kinds taken away or changed for
another, and the exact cells of both compared by all three norms. Within all limits the cells are those of
plain SQL; and they are the same whatever order rows lie in, and however many threads and parts there are.
"""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest

from privacy.kernel import Kernel, Settings, source_of, write_database
from sanql.compile.statement import compile_plan
from sanql.errors import Refused
from sanql.parse import parse
from sanql.plan import outline
from sanql.plan.level import Level
from sanql.policy import load
from sanql.policy.model import Neighbours, Policy
from support.cells import priced
from support.kinds import hospital

pytestmark = pytest.mark.slow

Row = dict[str, Any]
SCHEMA = {
    "people": {"person_id": "BIGINT", "age": "BIGINT"},
    "bills": {"person": "BIGINT", "paid": "BIGINT"},
    "doctors": {"doctor_id": "BIGINT", "years": "BIGINT"},
    "visits": {"person_id": "BIGINT", "doctor_id": "BIGINT", "cost": "BIGINT", "ward": "VARCHAR", "note": "VARCHAR", "day": "BIGINT"},
    "wards": {"name": "VARCHAR", "beds": "BIGINT"},
}  # fmt: skip
WARDS = [{"name": "a", "beds": 10}, {"name": "b", "beds": 20}]
QUESTIONS = [
    "SELECT COUNT(*) FROM visits",
    "SELECT COUNT(cost), SUM(cost), AVG(cost) FROM visits",
    "SELECT ward, COUNT(*), SUM(cost) FROM visits GROUP BY ward",
    "SELECT SUM(cost * cost) FROM visits WHERE cost > -1 AND note <> 'c'",
    "SELECT ward, SUM(cost * beds), COUNT(*) FROM visits JOIN wards ON visits.ward = wards.name GROUP BY ward",
    "SELECT ward, COUNT(*), AVG(cost) FROM visits GROUP BY ROLLUP (ward)",
    "SELECT COUNT(DISTINCT person_id) FROM visits",
    "SELECT ward, COUNT(DISTINCT person_id), COUNT(*) FROM visits WHERE cost > 0 GROUP BY ward",
    "SELECT VAR_POP(cost), COUNT(*) FROM visits WHERE person_id > 1",
]  # fmt: skip
RELATIONS: tuple[Neighbours, ...] = ("add-remove", "change-one")
KINDS = ("person_id", "doctor_id")


def visit(random: Random) -> Row:
    return {
        "person_id": random.choice([1, 2, 3, 4, None]),
        "doctor_id": random.choice([1, 2, 3, 4, None]),
        "cost": random.choice([-9, -2, -1, 0, 1, 5, 9, None]),
        "ward": random.choice(["a", "a", "b", "c", None]),
        "note": random.choice(["a", "c", None]),
        "day": 1,
    }


def world(random: Random) -> list[Row]:
    """Return visits; in some worlds one patient, or one doctor, has most of them."""
    rows = [visit(random) for _ in range(random.choice([0, 3, 12, 40]))]
    giant = random.choice([None, *KINDS])
    if giant is not None:
        rows = [row | ({giant: 1} if random.random() < 0.8 else {}) for row in rows]
    return rows


def neighbours(rows: Sequence[Row], relation: Neighbours, random: Random) -> Iterator[list[Row]]:
    """Yield neighbours for units of each kind: without one of them, or with others in its rows' place."""
    for kind in KINDS:
        for unit in range(1, 5):
            others = [row for row in rows if row[kind] != unit]
            if relation == "change-one":
                others += [visit(random) | {kind: unit} for _ in range(random.choice([0, 2, 9]))]
            yield others


class Hospital:
    """A folder with a database, and the cells of questions about whatever visits there are."""

    def __init__(self, folder: Path, neighbours: Neighbours = "add-remove") -> None:
        path = hospital(folder, neighbours=neighbours)
        path.write_text(path.read_text().replace('"data"', '"town.duckdb"', 1))
        self.policy: Policy = load(path)
        self.source = source_of(self.policy, SCHEMA)
        self._database = folder / "world.duckdb"

    def levels(self, sql: str) -> tuple[Level, ...]:
        return priced(sql, self.policy.tables, self.policy.neighbours).levels

    def cells(
        self, levels: Sequence[Level], rows: Sequence[Row], secret: int, settings: Settings | None = None,
        parts: int = 1,
    ) -> list[dict[tuple[Any, ...], list[int]]]:  # fmt: skip
        write_database(self._database, SCHEMA, {"visits": rows, "wards": WARDS})
        kernel = Kernel(self._database, settings)
        layout = replace(self.source, parts=parts)
        try:
            found = [
                kernel.cells(compile_plan(level, layout, secret)).to_pylist() for level in levels
            ]
        finally:
            kernel.close()
        return [
            {
                tuple(v for k, v in row.items() if k[0] == "k"): [
                    row[f"m{place}"] for place in range(len(level.measurements))
                ]
                for row in cells
            }
            for level, cells in zip(levels, found, strict=True)
        ]


def check_moved(level: Level, one: dict[Any, list[int]], other: dict[Any, list[int]]) -> None:
    assert one.keys() == other.keys()
    for place, measurement in enumerate(level.measurements):
        moved = [abs(one[key][place] - other[key][place]) for key in one]
        bounds = measurement.sensitivity
        assert max(moved) <= bounds.linf
        assert sum(moved) <= bounds.l1
        assert sum(m * m for m in moved) <= bounds.l2_squared


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("sql", QUESTIONS)
def test_one_unit_of_either_kind_moves_cells_by_no_more_than_is_declared(
    sql: str, relation: Neighbours, tmp_path: Path
) -> None:
    random = Random(f"{sql}{relation}")
    town = Hospital(tmp_path, relation)
    levels = town.levels(sql)
    for _ in range(4):
        rows, secret = world(random), random.randrange(2**60)
        whole = town.cells(levels, rows, secret)
        for others in neighbours(rows, relation, random):
            for level, one, other in zip(
                levels, whole, town.cells(levels, others, secret), strict=True
            ):
                check_moved(level, one, other)


def test_the_bounds_are_those_of_the_kind_with_more_rows(tmp_path: Path) -> None:
    """By hand: doctors have room for 4 rows in a group, patients for 3; values lie from -2 to 5."""
    town = Hospital(tmp_path)
    (level,) = town.levels("SELECT ward, COUNT(*), SUM(cost) FROM visits GROUP BY ward")
    count, total = level.measurements
    assert (count.sensitivity.l1, count.sensitivity.linf, count.sensitivity.l2_squared) == (
        8,
        4,
        32,
    )
    assert (total.sensitivity.l1, total.sensitivity.linf) == (40, 20)


@pytest.mark.parametrize("sql", QUESTIONS)
def test_within_all_limits_cells_are_those_of_plain_sql(sql: str, tmp_path: Path) -> None:
    """Three rows of a patient in a group and four of a doctor at most: nothing is cut."""
    town = Hospital(tmp_path)
    rows = [
        {"person_id": p, "doctor_id": d, "cost": (p * d) % 8 - 2, "ward": w, "note": "a", "day": 1}
        for p, d, w in [(1, 1, "a"), (1, 2, "b"), (2, 1, "a"), (2, 3, "a"), (3, 1, "b"), (4, 4, "b")]
    ]  # fmt: skip
    levels = town.levels(sql)
    for level, cells in zip(levels, town.cells(levels, rows, 7), strict=True):
        with duckdb.connect() as plain:
            plain.execute("CREATE TABLE visits AS SELECT * FROM (VALUES " + ", ".join(f"({r['person_id']}, {r['doctor_id']}, {r['cost']}, '{r['ward']}', 'a')" for r in rows) + ") t(person_id, doctor_id, cost, ward, note)")  # fmt: skip
            plain.execute("CREATE TABLE wards AS SELECT * FROM (VALUES ('a', 10), ('b', 20)) t(name, beds)")  # fmt: skip
            source, where = sql.partition(" FROM ")[2].partition(" GROUP BY ")[0], ""
            keys = ["ward"] if level.query.keys else []
            counted = f"SELECT {', '.join([*keys, 'COUNT(*)'])} FROM {source}{where} {'GROUP BY ward' if keys else ''}"
            expected = {row[:-1]: row[-1] for row in plain.execute(counted).fetchall()}
        for place, part in enumerate(level.measurements):
            if part.kind.value == "rows":
                assert {key: own[place] for key, own in cells.items()} == expected


def test_sums_within_all_limits_are_exact(tmp_path: Path) -> None:
    town = Hospital(tmp_path)
    rows = [{"person_id": n % 4, "doctor_id": n // 4, "cost": n % 8 - 2, "ward": "a", "note": "a", "day": 1} for n in range(12)]  # fmt: skip
    nobodys = [rows[7] | {"person_id": None}, rows[6] | {"doctor_id": None}]
    (level,) = levels = town.levels("SELECT SUM(cost), COUNT(*) FROM visits")
    (cells,) = town.cells(levels, rows + nobodys, 7)
    total = [part.kind.value for part in level.measurements].index("sum")
    assert level.measurements[total].centre == 0
    assert cells[()][total] == sum(row["cost"] for row in rows)
    assert cells[()][1 - total] == len(rows)  # rows that lack one of their units are left out


def test_units_of_the_first_kind_are_counted_once_each(tmp_path: Path) -> None:
    town = Hospital(tmp_path)
    rows = [{"person_id": p, "doctor_id": d, "cost": c, "ward": w} for p, d, c, w in [(1, 1, 1, "a"), (1, 2, 1, "a"), (1, 2, 1, "b"), (2, 2, None, "a")]]  # fmt: skip
    (level,) = levels = town.levels(
        "SELECT ward, COUNT(DISTINCT person_id) FROM visits GROUP BY ward"
    )
    assert town.cells(levels, rows, 7) == [{("a",): [2], ("b",): [1]}]
    (count,) = level.measurements
    assert (count.sensitivity.l1, count.sensitivity.linf, count.sensitivity.l2_squared) == (
        8,
        4,
        32,
    )


def test_cells_hang_on_nothing_but_rows_and_secret(tmp_path: Path) -> None:
    random = Random(11)
    town = Hospital(tmp_path)
    sql = "SELECT ward, COUNT(*), SUM(cost) FROM visits GROUP BY ward"
    levels = town.levels(sql)
    for _ in range(5):
        rows = [visit(random) for _ in range(60)]
        known = town.cells(levels, rows, 3)
        for threads, parts in ((1, 1), (2, 3), (8, 8)):
            random.shuffle(rows)
            settings = Settings(threads, keeps_order=False)
            assert town.cells(levels, rows, 3, settings, parts) == known


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT note, COUNT(*) FROM visits GROUP BY note",
        "SELECT COUNT(DISTINCT day) FROM visits",
        "SELECT COUNT(DISTINCT note) FROM visits",
        "SELECT MEDIAN(cost) FROM visits",
        "SELECT MAX(cost) FROM visits",
        "SELECT MODE(ward) FROM visits",
        "SELECT COUNT(*) FROM (SELECT * FROM visits) t",
        "SELECT COUNT(*) FROM (SELECT person_id, SUM(cost) AS s FROM visits GROUP BY person_id) t WHERE s > 3",
        "SELECT COUNT(*) FROM (SELECT cost, LAG(cost) OVER (PARTITION BY person_id ORDER BY day) AS l FROM visits) t WHERE l > 1",
        "SELECT SUM(CASE WHEN cost > (SELECT MAX(beds) FROM wards) THEN 1 ELSE 0 END) FROM visits",
        "SELECT name, COUNT(*) FROM visits JOIN wards ON visits.ward = wards.name GROUP BY name",
    ],
)  # fmt: skip
def test_what_is_not_proved_is_refused_by_name(sql: str, tmp_path: Path) -> None:
    tables = Hospital(tmp_path).policy.tables
    with pytest.raises(Refused) as refused:
        outline(parse(sql, tables).private, tables, "add-remove")
    assert refused.value.code == "kinds_not_covered"
