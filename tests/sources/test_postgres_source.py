"""Tables of PostgreSQL: one moment of them keeps what every source keeps, with the server's own types."""

from __future__ import annotations

import threading
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest

import sanql
from sanql.errors import PolicyError
from sanql.policy import load
from sanql.sources import FilesSource, locate, take_snapshot
from sanql.sources.snapshots import postgres
from sources.postgres_tables import People, Statements, kept, one_table
from sources.source_contract import POLICY, ROWS, SourceContract
from support.postgres import PostgresServer
from support.samplers import SilentSampler

pytestmark = pytest.mark.slow


class TestPostgresSource(SourceContract):
    """Two tables of a database, as files beside the ledger."""

    name = "town.tables"
    kind = FilesSource

    @pytest.fixture(autouse=True)
    def _database(self, server: PostgresServer, database: str, people: People) -> None:
        self.url = server.url(database)
        self.people = people

    def write(self, place: Path, rows: int = ROWS) -> None:
        self.people(rows)
        (place.parent / "taking.toml").write_text(self.text())
        take_snapshot(load(place.parent / "taking.toml"), None)

    def text(self) -> str:
        return POLICY.format(source=self.url)

    def private_files(self, place: Path) -> set[Path]:
        return {place / "people.parquet"}


# ---- values

LAST = "9999-12-31 23:59:59.999999"
VALUES = {
    "smallint": ("integer", ["-32768", "NULL"], [-32768, None]),
    "bigint": ("integer", ["-9223372036854775808", "9223372036854775807"], [-(2**63), 2**63 - 1]),
    "real": ("float", ["'0.5'", "'-0'"], [0.5, -0.0]),
    "double precision": (
        "float",
        ["'Infinity'", "1e308", "5e-324", "0.1::float8 + 0.2::float8", "NULL"],
        [float("inf"), 1e308, 5e-324, 0.1 + 0.2, None],
    ),
    "numeric(10,2)": (
        "decimal",
        ["1.5", "'NaN'", "-99999999.99"],
        [Decimal("1.50"), None, Decimal("-99999999.99")],
    ),
    "numeric(38,38)": ("decimal", ["0.5"], [Decimal("0.5")]),
    "numeric": ("text", ["1.500", "1.5", "1e40", "'NaN'"], ["1.5", "1.5", "1" + "0" * 40, "NaN"]),
    "numeric(50,3)": ("text", ["1.500"], ["1.5"]),
    "boolean": ("boolean", ["true", "false", "NULL"], [True, False, None]),
    "date": (
        "date",
        ["'0001-01-01'", "'9999-12-31'", "'infinity'", "'-infinity'", "'0044-03-15 BC'", "'10000-01-01'"],
        [date(1, 1, 1), date(9999, 12, 31), None, None, None, None],
    ),
    "timestamp": (
        "timestamp",
        [f"'{LAST}'", "'infinity'", "'0001-01-01 BC'", "'2020-02-29 12:00'"],
        [datetime.fromisoformat(LAST), None, None, datetime(2020, 2, 29, 12)],
    ),
    "timestamptz": (
        "timestamp",
        ["'2020-06-01 12:00+02'", "'2020-06-01 12:00 Europe/Berlin'", f"'{LAST}+00'", f"'{LAST}-01'"],
        [
            datetime(2020, 6, 1, 10, tzinfo=UTC),
            datetime(2020, 6, 1, 10, tzinfo=UTC),
            datetime.fromisoformat(LAST).replace(tzinfo=UTC),
            None,
        ],
    ),
    "text": ("text", ["''", "NULL", "E'a\\nb'", "E'\\r\\n'", "'\"'", "'a,b'", "'\\.'", "'NULL'", "'é🙂'"],
             ["", None, "a\nb", "\r\n", '"', "a,b", "\\.", "NULL", "é🙂"]),
    "char(5)": ("text", ["'ab'"], ["ab"]),
    "uuid": ("text", [f"'{'A0EE' * 8}'"], ["a0eea0ee-a0ee-a0ee-a0ee-a0eea0eea0ee"]),
    "jsonb": ("text", ["""'{"b": 1, "a": "x"}'"""], ['{"a": "x", "b": 1}']),
    "inet": ("text", ["'10.0.0.1/32'"], ["10.0.0.1/32"]),
    "bytea": ("text", ["'\\x00ff'"], ["\\x00ff"]),
    "int[]": ("text", ["'{1,NULL}'"], ["{1,NULL}"]),
    "interval": ("text", ["'1 day'"], ["1 day"]),
    "money_domain": ("decimal", ["3.25"], [Decimal("3.25")]),
    "mood": ("text", ["'glad'", "NULL"], ["glad", None]),
}  # fmt: skip


@pytest.mark.parametrize("kind", VALUES)
def test_each_type_is_kept_as_its_own(
    kind: str, server: PostgresServer, database: str, run: Statements, tmp_path: Path
) -> None:
    declared, written, read = VALUES[kind]
    run(
        "CREATE TYPE mood AS ENUM ('glad')",
        "CREATE DOMAIN cents AS numeric(8,2)",
        "CREATE DOMAIN money_domain AS cents CHECK (VALUE > 0)",
        "SET TimeZone = 'Asia/Tokyo'",
        f"CREATE TABLE t (id int, v {kind})",
        *(f"INSERT INTO t VALUES ({i}, {v})" for i, v in enumerate(written)),
        "GRANT SELECT ON t TO sanql",
        "ALTER ROLE sanql SET DateStyle = 'German'",
        "ALTER ROLE sanql SET TimeZone = 'Asia/Tokyo'",
        "ALTER ROLE sanql SET extra_float_digits = -10",
    )
    try:
        bounds = {
            "date": '["2000-01-01", "2001-01-01"]',
            "timestamp": '["2000-01-01T00:00", "2001-01-01T00:00"]',
        }
        more = (
            f", bounds = {bounds.get(declared, '[0, 1]')}"
            if declared not in ("text", "boolean")
            else ""
        )
        more += ", precision = 0.01" if declared == "decimal" else ""
        policy = one_table(server, database, tmp_path, f'v = {{ type = "{declared}"{more} }}\n')
        take_snapshot(policy, None)
        assert kept(policy) == {"id": [*range(len(read))], "v": read}
        locate(policy)
    finally:
        run("ALTER ROLE sanql RESET ALL")


def test_one_column_of_missing_values_keeps_its_rows(
    server: PostgresServer, database: str, run: Statements, tmp_path: Path
) -> None:
    run(
        "CREATE TABLE t (id text)",
        "INSERT INTO t VALUES (NULL), (''), (NULL)",
        "GRANT SELECT ON t TO sanql",
    )
    policy = one_table(server, database, tmp_path, "")
    take_snapshot(policy, None)
    assert kept(policy) == {"id": [None, "", None]}


def test_a_text_that_begins_with_a_mark_of_byte_order_stays_what_it_is(
    server: PostgresServer, database: str, run: Statements, tmp_path: Path
) -> None:
    """Without its mark the first would be somebody else."""
    units = ["\ufeffalice", "alice", "\ufeff", ""]
    run("CREATE TABLE t (id text)", "GRANT SELECT ON t TO sanql")
    for unit in units:
        run(f"INSERT INTO t VALUES ('{unit}')")
    policy = one_table(server, database, tmp_path, "")
    take_snapshot(policy, None)
    assert kept(policy) == {"id": units}


def test_an_empty_table_and_one_that_is_only_counted_are_kept(
    server: PostgresServer, database: str, run: Statements, tmp_path: Path
) -> None:
    run("CREATE TABLE t (id int, x int)", "GRANT SELECT ON t TO sanql")
    policy = one_table(server, database, tmp_path, 'x = { type = "integer", bounds = [0, 1] }\n')
    take_snapshot(policy, None)
    assert kept(policy) == {"id": [], "x": []}
    run("INSERT INTO t VALUES (1, 1), (2, 2)")
    text = policy.path.read_text().replace('privacy_unit = "id"', 'privacy_unit = "row"')
    text = text.replace("rows_per_unit_max = 1\n", "")
    policy.path.write_text(text.partition("[table.t.column]")[0])
    take_snapshot(load(policy.path), None)
    assert kept(policy) == {"row": [True, True]}


def test_only_columns_that_the_policy_uses_leave_the_database(
    run: Statements, people: People, policy: Path
) -> None:
    people(3)
    run(
        "REVOKE ALL ON people FROM sanql",
        "GRANT SELECT (person_id, age) ON people TO sanql",
        "UPDATE people SET name = 'Alice'",
    )
    take_snapshot(load(policy), None)
    assert kept(load(policy), "people") == {"person_id": [0, 1, 2], "age": [20, 21, 22]}


def test_texts_are_cut_where_they_count_no_more_and_units_are_not(
    server: PostgresServer, database: str, run: Statements, tmp_path: Path
) -> None:
    run("CREATE TABLE t (id text, v text)", "GRANT SELECT ON t TO sanql")
    run(
        "INSERT INTO t SELECT repeat('é', n), repeat('\"', n) FROM unnest(ARRAY[8, 4096, 20000000]) n"
    )
    policy = one_table(server, database, tmp_path, 'v = { type = "text", bytes_max = 10 }\n')
    take_snapshot(policy, None)
    found = kept(policy)
    assert found["v"] == ['"' * 8, '"' * 11, '"' * 11]
    assert [len(str(each)) for each in found["id"]] == [8, 4096, 4097]
    with sanql.San(policy, sampler=SilentSampler()) as san:
        assert san.query("SELECT COUNT(*) FROM t", epsilon="0.1").rows == [(1,)], "one has a unit"


# ---- one moment


def test_all_tables_are_of_one_moment_and_nobody_empties_one_meanwhile(
    server: PostgresServer,
    database: str,
    people: People,
    policy: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    people(10)
    begun = threading.Event()

    def change() -> None:
        with psycopg.connect(server.as_owner(database), autocommit=True) as other:
            other.execute("INSERT INTO cities VALUES ('D')")
            other.execute("DELETE FROM people WHERE person_id = 1")
            other.execute("SET lock_timeout = '100ms'")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                other.execute("TRUNCATE people")
            begun.set()

    kept_before = postgres.keep_snapshot

    def keep(*given: object) -> None:
        change()
        kept_before(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(postgres, "keep_snapshot", keep)
    loaded = load(policy)
    take_snapshot(loaded, None)
    assert begun.is_set()
    assert kept(loaded, "cities") == {"name": ["A", "B", "C"]}
    assert len(kept(loaded, "people")["age"]) == 10


def test_nobody_empties_a_table_between_the_moment_and_its_rows(
    server: PostgresServer,
    database: str,
    people: People,
    policy: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    people(10)
    looked, looks = postgres.look_up, list[object]()

    def look(*given: object) -> object:
        found = looked(*given)  # type: ignore[arg-type]
        looks.append(found)
        if len(looks) == 2:  # the moment is chosen, and its transaction holds no table yet
            with psycopg.connect(server.as_owner(database), autocommit=True) as other:
                other.execute("SET lock_timeout = '100ms'")
                with pytest.raises(psycopg.errors.LockNotAvailable):
                    other.execute("TRUNCATE people")
        return found

    monkeypatch.setattr(postgres, "look_up", look)
    loaded = load(policy)
    take_snapshot(loaded, None)
    assert len(looks) == 2 and len(kept(loaded, "people")["age"]) == 10


def test_a_table_that_is_exchanged_while_it_is_looked_at_is_not_read(
    run: Statements, people: People, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people(3)
    run("CREATE TABLE other (LIKE people)", "GRANT SELECT ON other TO sanql")
    looked = postgres.look_up

    def look(*given: object) -> object:
        found = looked(*given)  # type: ignore[arg-type]
        monkeypatch.setattr(postgres, "look_up", looked)
        run("ALTER TABLE people RENAME TO gone", "ALTER TABLE other RENAME TO people")
        return found

    monkeypatch.setattr(postgres, "look_up", look)
    with pytest.raises(PolicyError, match="changed while it was looked at"):
        take_snapshot(load(policy), None)


def test_a_database_that_goes_away_leaves_the_snapshot_before(
    server: PostgresServer,
    people: People,
    policy: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    people(50_000)
    loaded = load(policy)
    take_snapshot(loaded, None)
    before = {path.name: path.read_bytes() for path in Path(loaded.source).iterdir()}
    read = postgres.CopiedBytes.read

    def cut_off(self: postgres.CopiedBytes, size: int = -1) -> bytes:
        server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'sanql'")
        return read(self, size)

    monkeypatch.setattr(postgres.CopiedBytes, "read", cut_off)
    with pytest.raises(PolicyError) as caught:
        take_snapshot(loaded, None)
    assert "code 57P01" in str(caught.value) or "was lost" in str(caught.value)
    assert caught.value.__cause__ is None
    assert {path.name: path.read_bytes() for path in Path(loaded.source).iterdir()} == before
