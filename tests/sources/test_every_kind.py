"""The contract of sources: the same rows are the same data, whichever kind of source they come from.

Each claim is asked of every kind. What only one kind can do is in the tests of that kind.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from pathlib import Path

import pyarrow as pa
import pytest

from sanql.engines import Pool, check_no_snapshot, open_engine, prepare
from sanql.errors import LedgerError, PolicyError, Refused, SanqlError
from sanql.kernel import Statement
from sanql.sources import take_first_snapshot
from sanql.sources.snapshots import folder as snapshot_folder
from sources.kinds_of_source import FRAMES, KINDS, Kind
from support.policies import dataset
from support.samplers import SilentSampler

pytestmark = pytest.mark.slow

TEXT = (
    dataset("data", name="town", epsilon=10)
    + """\
[table.people]
privacy_unit = "person_id"
rows_per_unit_max = 1
[table.people.column]
person_id = { type = "integer" }
age = { type = "integer", bounds = [0, 120] }
income = { type = "float", bounds = [-1000, 1000], precision = 0.5 }
paid = { type = "decimal", bounds = [-100, 100], precision = 0.01 }
city = { type = "text" }
member = { type = "boolean" }
born = { type = "date", bounds = ["1900-01-01", "2030-01-01"] }
seen = { type = "timestamp", bounds = ["2000-01-01T00:00", "2030-01-01T00:00"] }
noted = { type = "integer", bounds = [0, 10] }
[table.visits]
privacy_unit = "person_id"
rows_per_unit_max = 1
[table.visits.column]
round = { type = "integer", bounds = [0, 100] }
[table.cities]
public = true
[table.cities.column]
name = { type = "text" }
"""
)
COUNT = "SELECT COUNT(*) FROM people"
TYPES = {
    "person_id": pa.int64(),
    "age": pa.int64(),
    "income": pa.float64(),
    "paid": pa.decimal128(10, 2),
    "city": pa.string(),
    "member": pa.bool_(),
    "born": pa.date32(),
    "seen": pa.timestamp("us", "UTC"),
    "noted": pa.string(),
    "secret": pa.string(),
}
NOON = datetime(2024, 6, 1, 12, tzinfo=UTC)
ROWS = {
    "person_id": [1, 2, 3, 4, 5, 6, 7],
    "age": [30, None, 0, -(2**63), 2**63 - 1, 41, 42],
    "income": [1.5, None, nan, inf, -inf, -0.0, 0.5],
    "paid": [Decimal("1.50"), None, Decimal("-99999999.99"), Decimal(0),
             Decimal("0.01"), None, Decimal(7)],
    "city": ["Bonn", None, "a\nb", '"', "é🙂", "NULL", "a,b"],
    "member": [True, None, False, True, False, True, None],
    "born": [date(1990, 1, 2), None, date(1, 1, 1), date(9999, 12, 31), date(2024, 2, 29), None,
             date(1970, 1, 1)],
    "seen": [NOON, None, datetime(1, 1, 1, tzinfo=UTC), NOON.replace(microsecond=1), NOON, None, NOON],
    "noted": ["7", None, "Alice", "1e999", "8.0", " 9 ", "3"],
    "secret": ["Alice"] * 7,
}  # fmt: skip
READ = {name: values for name, values in ROWS.items() if name not in ("secret", "noted")} | {
    "paid": [None if each is None else float(each) for each in ROWS["paid"]],
    "seen": [None if each is None else each.replace(tzinfo=None) for each in ROWS["seen"]],
}


def tables(number: int = 0) -> dict[str, pa.Table]:
    """Return the tables as they are in a round: as many visits as people, and each of the round."""
    people = pa.table({name: pa.array(each, TYPES[name]) for name, each in ROWS.items()})
    more = [
        pa.array([100 + i if n == "person_id" else None for i in range(number)], t)
        for n, t in TYPES.items()
    ]
    people = pa.concat_tables([people, pa.table(more, names=list(TYPES))])
    rounds = [number] * len(people)
    visits = pa.table({"person_id": people["person_id"], "round": pa.array(rounds, pa.int64())})
    return {"people": people, "visits": visits, "cities": pa.table({"name": ["Bonn", "Ulm"]})}


ACCOUNTED = [name for name in KINDS if name not in FRAMES] + ["arrow"]
"""Frames differ in how their rows are read, and in nothing that comes after it."""
accounted = pytest.mark.parametrize(
    "kind",
    [
        pytest.param(each, marks=[pytest.mark.slow] if each != "parquet" else [])
        for each in ACCOUNTED
    ],
    indirect=True,
)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> Kind:
    made = KINDS[request.param](tmp_path, request)
    made.write(tables())
    return made


def read(kind: Kind, table: str) -> dict[str, list[object]]:
    """Return the rows of a table as questions read them, in the order of their people."""
    policy, engine = kind.policy(TEXT), open_engine("in_process")
    take_first_snapshot(policy, check_no_snapshot)
    source = prepare(policy, engine=engine)
    columns = ", ".join(f'{sql} AS "{name}"' for name, sql in source.scans[table].items())
    with Pool(source, policy.engine, engine) as pool:
        statement = f"SELECT {columns} FROM {source.relations[table]} ORDER BY person_id"
        found: dict[str, list[object]] = pool.run(Statement(statement)).to_pydict()
    return found


# ---- rows


def test_every_value_is_read_as_what_it_is_and_a_bad_one_is_missing(kind: Kind) -> None:
    found = read(kind, "people")
    expected = READ | {"noted": [7, None, None, None, 8, 9, 3]}
    assert set(found) == set(expected), "and no column that the policy does not use"
    assert {name: [*map(repr, found[name])] for name in expected} == {
        name: [*map(repr, values)] for name, values in expected.items()
    }


ASKED = {
    COUNT: 7,
    "SELECT COUNT(age) FROM people": 6,
    "SELECT SUM(age) FROM people": 30 + 0 + 0 + 120 + 41 + 42,
    "SELECT COUNT(income) FROM people": 3,
    "SELECT SUM(income) FROM people": 1.5 - 0.0 + 0.5,
    "SELECT COUNT(*) FROM people WHERE income = 0": 1,
    "SELECT SUM(paid) FROM people": Decimal("1.50") - 100 + Decimal("7.01"),
    "SELECT COUNT(city) FROM people": 6,
    "SELECT COUNT(*) FROM people WHERE city = 'é🙂'": 1,
    "SELECT COUNT(*) FROM people WHERE member": 3,
    "SELECT COUNT(*) FROM people WHERE seen = TIMESTAMP '2024-06-01 12:00:00'": 3,
    "SELECT COUNT(*) FROM people WHERE born = DATE '2024-02-29'": 1,
}  # fmt: skip


@accounted
def test_the_same_questions_have_the_same_answers(kind: Kind) -> None:
    with kind.opened(TEXT, SilentSampler()) as san:
        found = {asked: san.query(asked, epsilon="0.1").rows[0][0] for asked in ASKED}
    assert {asked: float(value) for asked, value in found.items()} == {
        asked: float(value) for asked, value in ASKED.items()
    }


# ---- moments


@accounted
def test_other_rows_are_another_version_and_the_account_goes_on(kind: Kind) -> None:
    with kind.opened(TEXT, SilentSampler()) as san:
        assert san.query(COUNT, epsilon="0.1").rows == [(7,)]
        kind.write(tables(2))
        assert san.query(COUNT, epsilon="0.1").cached, "the same version of the data, for free"
        assert kind.refresh(san) == 2
        answer = san.query(COUNT, epsilon="0.1")
        assert answer.rows == [(9,)] and answer.version == 2
        (spent,) = {balance.spent_upper.epsilon for balance in san.balances()}
        assert spent == Fraction(1, 5)


@accounted
def test_what_changes_is_not_asked_about_before_the_owner_says_so(kind: Kind) -> None:
    """Files that have changed are refused; a snapshot is asked as it was."""
    with kind.opened(TEXT, SilentSampler()) as san:
        san.query(COUNT, epsilon="0.1")
        kind.write(tables(2))
        try:
            assert san.query("SELECT COUNT(age) FROM people", epsilon="0.1").rows == [(6,)]
        except Refused as refused:
            assert "refresh" in str(refused)


@accounted
def test_tables_of_two_moments_are_never_read_together(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All is written anew before each table is read; whatever is read then is of one round, or none."""
    write = snapshot_folder._write
    rounds = iter(range(1, 10))

    def written_meanwhile(*given: object) -> None:
        kind.write(tables(next(rounds)))
        write(*given)  # type: ignore[arg-type]

    if kind.as_frame is not None or kind.source in ("data", "town.duckdb"):
        pytest.skip("what is passed is there already; files are told by their stamps")
    if kind.source.startswith("postgresql"):
        pytest.skip("the server lets nobody truncate a table that is being read: tests of its own")
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(snapshot_folder, "_write", written_meanwhile)
        try:
            kind.policy(TEXT)
            with kind.opened(TEXT, SilentSampler()) as san:
                people = san.query(COUNT, epsilon="0.1").rows[0][0]
                most = san.query("SELECT MAX(round) FROM visits", epsilon=5).rows[0][0]
        except PolicyError as changed:
            assert "changed while they were read" in str(changed) or "could not be read" in str(
                changed
            )
            return
    assert (people, most) == (7, 0)


# ---- whose they are, and what is said


@pytest.mark.slow
@pytest.mark.parametrize("kind", [name for name in KINDS if name not in FRAMES], indirect=True)
def test_a_second_account_over_the_same_rows_is_refused(kind: Kind) -> None:
    with kind.opened(TEXT, SilentSampler()) as san:
        san.query(COUNT, epsilon="0.1")
    other = TEXT.replace('name = "town"', 'name = "village"')
    with (
        pytest.raises(LedgerError, match="another account"),
        kind.opened(other, SilentSampler(), "other.toml") as san,
    ):
        san.query(COUNT, epsilon="0.1")


def _spoil_a_frame(kind: Kind) -> None:
    def rows() -> Iterator[pa.RecordBatch]:
        yield from kind.tables["people"].to_batches()
        raise ValueError("Alice")

    broken = pa.RecordBatchReader.from_batches(kind.tables["people"].schema, rows())
    kind.as_frame = lambda table: broken


def test_what_cannot_be_read_is_said_without_a_word_of_it(kind: Kind) -> None:
    if kind.spoil is None and kind.as_frame is None:
        pytest.skip("every file is a CSV file, whatever it holds")
    (kind.spoil or (lambda: _spoil_a_frame(kind)))()
    with pytest.raises(SanqlError) as caught, kind.opened(TEXT, SilentSampler()) as san:
        san.query(COUNT, epsilon="0.1")
    assert "Alice" not in "".join(traceback.format_exception(caught.value))


@accounted
def test_a_column_that_is_not_there_is_named(kind: Kind) -> None:
    with (
        pytest.raises(PolicyError, match='no column "ages"'),
        kind.opened(TEXT.replace("\nage =", "\nages ="), SilentSampler()) as san,
    ):
        san.query(COUNT, epsilon="0.1")


@accounted
def test_a_table_that_is_not_there_is_named(kind: Kind) -> None:
    with (
        pytest.raises(PolicyError, match=r"table\.towns"),
        kind.opened(TEXT.replace("table.cities", "table.towns"), SilentSampler()) as san,
    ):
        san.query(COUNT, epsilon="0.1")
