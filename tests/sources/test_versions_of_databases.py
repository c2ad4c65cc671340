"""A copy of a database has the rows of the version that was named, and of no other.

While it is made, the file is written over with another of the same size: the engine reads its blocks
when it needs them, so without a check it would take some of either. What was begun stays for whoever
goes on, once the first version is back under its name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sanql.engines import open_engine
from sanql.engines.in_process import connection
from sanql.kernel import (
    ChannelLost,
    CopiedTable,
    CopyDatabase,
    CopyReport,
    Projection,
    Serve,
    clustering,
    database_files,
    lockdown,
    source_requests,
    stamp,
)
from sanql.kernel.messages import UnitReference

pytestmark = pytest.mark.slow

ROWS = 6_000
WRITTEN = {  # values that no two versions share, and that no encoding makes smaller
    "people": "SELECT i AS id, (hash(i, {version}) % 3000 * {version})::BIGINT AS who",
    "visits": "SELECT (hash(-i, 0) % {rows})::BIGINT AS patient, "
    "(hash(i, 7, {version}) >> 1)::BIGINT AS cost",
    "places": "SELECT (hash(i, 9, {version}) >> 1)::BIGINT AS place",
}
COPIED = {
    "people": "SELECT id, who, count(*) OVER (PARTITION BY who) FROM people",
    "visits": "SELECT patient, cost, who, count(*) OVER (PARTITION BY who) FROM visits JOIN people "
    "ON patient = id",
    "places": "SELECT place FROM places",
}
KEYS_TWICE = {"visits": "SELECT patient, cost FROM visits"}
SHOWN = {"people": "id, who, rows", "visits": "patient, cost, unit, rows", "places": "place"}
SHOWN_AS_IT_IS = {"visits": "patient, cost"}


def write(path: Path, version: int, more: str = "") -> None:
    """Write a version of the database, of which each row is another's, and as long."""
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as made:
        made.execute("SET force_compression = 'uncompressed'")
        for table, rows in WRITTEN.items():
            select = rows.format(version=version, rows=ROWS)
            made.execute(f"CREATE TABLE {table} AS {select} FROM range({ROWS}) AS n(i)")
        made.execute(more)


def request_for(path: Path) -> CopyDatabase:
    def table(name: str, *columns: str, **whose: object) -> CopiedTable:
        types = dict.fromkeys(columns, "BIGINT")
        read = Projection(columns, tuple(f'"{column}"' for column in columns), {})
        return CopiedTable(name, types, (read,), segments=(f"{name} of the first",), **whose)  # type: ignore[arg-type]

    tables = (
        table("people", "id", "who", unit="who"),
        table("places", "place"),
        table("visits", "patient", "cost", reference=UnitReference("patient", "people", "id")),
    )
    target, now = path.with_name("copy.building"), stamp(database_files(path))
    return CopyDatabase(path, target, tables, 512 << 20, 7, long_texts=False, stamp=now)


def copied(request: CopyDatabase, begun: Callable[[str], None] = lambda _: None) -> bool:
    return isinstance(open_engine("in_process").copy(request, begun), CopyReport)


def check_copy(request: CopyDatabase, *, keys_twice: bool = False) -> None:
    """Compare every table of a copy to the database as it is."""
    copies, columns = (
        (COPIED | KEYS_TWICE, SHOWN | SHOWN_AS_IT_IS) if keys_twice else (COPIED, SHOWN)
    )
    with duckdb.connect(str(request.database), read_only=True) as plain:
        plain.execute(f"ATTACH '{request.target}' AS copy (READ_ONLY)")
        for table, expected in copies.items():
            own = plain.sql(f"SELECT {columns[table]} FROM copy.{table} ORDER BY ALL").fetchall()
            assert own == plain.sql(f"SELECT * FROM ({expected}) ORDER BY ALL").fetchall(), table
            assert len(own) >= ROWS, table


ONE_KEY_TWICE = "UPDATE people SET id = 5 WHERE id = 6"


@pytest.mark.parametrize("more", ["", ONE_KEY_TWICE], ids=["keys once", "a key twice"])
@pytest.mark.parametrize("row_bytes", [256, 96 << 10, 512 << 10], ids=["one", "few", "many"])
def test_a_file_that_is_written_over_while_it_is_read_gives_no_row_to_a_copy(
    row_bytes: int, more: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether rows are moved in one part, in several, or in so many that they are put apart first."""
    monkeypatch.setattr(clustering, "_ROW_BYTES", row_bytes)
    path, other = tmp_path / "d.duckdb", tmp_path / "other.duckdb"
    write(path, 1, more)
    write(other, 3, more)
    first, second = path.read_bytes(), other.read_bytes()
    assert len(first) == len(second)
    told: list[str] = []
    assert copied(request_for(path), told.append)
    check_copy(request_for(path), keys_twice=bool(more))
    moments = range(1, len(told) + 1)
    for moment in (*moments[:-1][:: len(moments) // 5 + 1], moments[-1]):
        request_for(path).target.unlink()
        said: list[str] = []

        def begun(table: str, moment: int = moment, said: list[str] = said) -> None:
            said.append(table)
            if len(said) == moment:
                path.write_bytes(second)

        assert not copied(request_for(path), begun), moment
        path.write_bytes(first)
        again = request_for(path)
        assert copied(again)
        check_copy(again, keys_twice=bool(more))


def test_a_database_without_the_log_it_was_named_with_gives_no_row_to_a_copy(
    tmp_path: Path,
) -> None:
    path = tmp_path / "d.duckdb"
    write(path, 1)
    with duckdb.connect(str(path)) as made:
        made.execute("SET checkpoint_threshold = '1TB'")
        made.execute(f"INSERT INTO people SELECT {ROWS} + i, 5 FROM range(50) AS n(i)")
        log = path.with_name("d.duckdb.wal")
        kept, database = log.read_bytes(), path.read_bytes()
    path.write_bytes(database)
    log.write_bytes(kept)
    named = request_for(path)
    assert len(named.stamp) == 2
    log.unlink()
    assert not copied(named)
    log.write_bytes(kept)
    again = replace(named, stamp=request_for(path).stamp)
    assert copied(again)
    check_copy(again)


@pytest.fixture
def swinging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a database for which another stands while it is opened; no file changes by that.

    Its folder has the other's name, and the other its, until it is open.
    """
    folder, other, away = (tmp_path / name for name in ("data", "other", "away"))
    for number, made in enumerate((folder, other)):
        made.mkdir()
        write(made / "d.duckdb", 1 + 2 * number)

    def swing() -> None:
        folder.rename(away)
        other.rename(folder)
        away.rename(other)

    def attach(*arguments: Any, **options: Any) -> None:
        if path not in arguments:
            return lockdown.attach(*arguments, **options)
        swing()
        lockdown.attach(*arguments, **options)
        swing()

    path = folder / "d.duckdb"
    for module in (source_requests, connection):
        monkeypatch.setattr(module, "attach", attach)
    return path


def test_a_database_that_another_stood_for_while_it_was_opened_gives_no_row_to_a_copy(
    swinging: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = request_for(swinging)
    assert not copied(named)
    monkeypatch.undo()
    assert request_for(swinging).stamp == named.stamp
    assert copied(named)
    check_copy(named)


def test_a_database_that_another_stood_for_while_it_was_opened_answers_nothing(
    swinging: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = Serve(swinging, stamp(database_files(swinging)), 512 << 20)
    with pytest.raises(ChannelLost):
        open_engine("in_process").serve(named).await_ready()
    monkeypatch.undo()
    open_engine("in_process").serve(named).await_ready()
