"""Rows shared out by many processes: each in the bucket of its unit, once, with the values of a copy."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from sanql.kernel.buckets import (
    SEVERAL,
    BucketFile,
    FindUnits,
    ShareOut,
    ShareOutKeys,
    SourceShare,
    Towards,
    WriteShares,
    read_name,
)
from sanql.kernel.buckets.tasks import OtherVersion, TaskFailed
from sanql.kernel.messages import CopiedTable, Projection, UnitReference
from sanql.kernel.ranges import bucket_ranges
from sanql.kernel.stored_types import unit_bucket
from support.without_cluster import Rows, find_units, share_out, write

pytestmark = pytest.mark.slow

MEMORY = 512 << 20
SECRET = 12345
ORDERS, BUCKETS, KEYS_PLACES = 5_000, 7, 3
ORDERS_TABLE = CopiedTable(
    "orders",
    {"id": "BIGINT", "customer": "VARCHAR"},
    (Projection(("id", "customer"), ('"id"', 'TRY(decode("customer"))'), {}),),
    unit="customer",
)
ITEMS_TABLE = CopiedTable(
    "items",
    {"order_id": "INTEGER", "price": "DOUBLE"},
    (Projection(("order_id", "price"), ('"order_id"', 'TRY_CAST("price" AS DOUBLE)'), {}),),
    reference=UnitReference("order_id", "orders", "id"),
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Orders of 300 customers and of nobody, in many row groups; items of orders that there are not."""
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT range AS id, CASE WHEN range % 50 > 0 THEN 'c' || range % 300 END AS customer "
            f"FROM range({ORDERS})) TO '{tmp_path}/orders.parquet' (ROW_GROUP_SIZE 2048)"
        )
        connection.execute(
            f"COPY (SELECT CASE WHEN range % 9 > 0 THEN range % {ORDERS + 100} END::INTEGER AS order_id, "
            "(range % 1000)::DECIMAL(10, 2) / 10 AS price FROM range(12000)) "
            f"TO '{tmp_path}/items.parquet' (ROW_GROUP_SIZE 2048)"
        )
    return tmp_path


def parts(path: Path, table: CopiedTable, shares: int = 1, **changed: Any) -> list[SourceShare]:
    status = path.stat()
    identity = changed.get("identity", (status.st_size, status.st_mtime_ns))
    return [
        SourceShare(path, "parquet", table.projections[0], identity, (share, shares), 0)
        for share in range(shares)
    ]


def shared(source: Path, shares: int, towards: Towards) -> Rows:
    """Return the orders as they are given away, by one process for each share."""
    each = parts(source / "orders.parquet", ORDERS_TABLE, shares)
    return share_out(*(ShareOut((part,), ORDERS_TABLE, towards, MEMORY) for part in each))


def written(folder: Path, rows: Rows, types: dict[str, str], unit: str, **changed: Any) -> Path:
    """Return the folder of buckets that were written, each file named by its bytes."""
    missing = changed.get("missing", dict.fromkeys(range(BUCKETS), (0,)))
    folder.mkdir(mode=0o700, exist_ok=True)
    request = WriteShares(folder, types, unit, ("segment-a",), missing, MEMORY)
    told = write(rows, request)
    assert sorted(bucket for bucket, *_ in told) == sorted(missing)
    for bucket, _, path, size, sha256 in told:
        assert (folder / str(path)).stat().st_size == size
        assert read_name(Path(str(path)).name) == (bucket, sha256)
    return folder / "segment-a"


def rows_of(folder: Path) -> dict[int, list[dict[str, Any]]]:
    return {int(f.name[:5]): pq.read_table(f).to_pylist() for f in sorted(folder.glob("*.parquet"))}


def homes(units: set[str]) -> dict[str, int]:
    """Return the bucket of each unit, as a copy on one machine has it."""
    with duckdb.connect() as connection:
        hashed = unit_bucket("unit", "VARCHAR", SECRET)
        connection.execute("CREATE TABLE units (unit VARCHAR)")
        connection.executemany("INSERT INTO units VALUES (?)", [[unit] for unit in units])
        found = dict(connection.execute(f"SELECT unit, {hashed} FROM units").fetchall())
    ranges = list(enumerate(bucket_ranges(BUCKETS)))
    return {u: next(n for n, (a, b) in ranges if a <= h < b) for u, h in found.items()}


def test_rows_of_somebody_are_in_the_bucket_of_their_unit_once_and_together(source: Path) -> None:
    towards = Towards(BUCKETS, SECRET)
    folder = written(
        source / "layout", shared(source, 3, towards), dict(ORDERS_TABLE.types), "customer"
    )
    found = rows_of(folder)
    expected = duckdb.sql(
        f"SELECT id, customer FROM '{source}/orders.parquet' WHERE customer IS NOT NULL"
    ).fetchall()
    assert Counter((r["id"], r["customer"]) for rows in found.values() for r in rows) == Counter(
        expected
    )
    home = homes({customer for _, customer in expected})
    for bucket, rows in found.items():
        units = [row["customer"] for row in rows]
        assert {home[unit] for unit in units} <= {bucket}
        assert units == sorted(units)


def test_who_reads_which_share_changes_no_place(source: Path) -> None:
    """A share that is computed again, by another process, goes where it went."""
    towards = Towards(BUCKETS, SECRET)

    def places(rows: Rows) -> set[tuple[int, int]]:
        folder = source / f"layout-{len(rows)}"
        made = written(folder, rows, dict(ORDERS_TABLE.types), "customer")
        return {(n, row["id"]) for n, rows in rows_of(made).items() for row in rows}

    assert places(shared(source, 1, towards)) == places(shared(source, 5, towards))


def test_only_what_is_wanted_is_given_away_and_written(source: Path) -> None:
    rows = shared(source, 2, Towards(BUCKETS, SECRET, frozenset({2, 5})))
    assert {place for place, _, _ in rows} == {2, 5}
    folder = written(
        source / "layout", rows, dict(ORDERS_TABLE.types), "customer", missing={2: (0,), 5: (0,)}
    )
    assert len(list(folder.iterdir())) == 2


def keys(source: Path) -> tuple[Path, list[ShareOutKeys]]:
    """Return the layout of the orders, and what gives their keys away."""
    towards = Towards(BUCKETS, SECRET)
    layout = source / "layout"
    folder = written(layout, shared(source, 1, towards), dict(ORDERS_TABLE.types), "customer")
    files = tuple(
        BucketFile(f"{folder.name}/{f.name}", f.stat().st_size, (read_name(f.name) or (0, ""))[1])
        for f in folder.iterdir()
    )
    by_key = Towards(KEYS_PLACES, SECRET)
    types = dict(ORDERS_TABLE.types)
    return layout, [
        ShareOutKeys(layout, files[:3], types, "id", "customer", by_key, MEMORY),
        ShareOutKeys(layout, files[3:], types, "id", "customer", by_key, MEMORY),
    ]


def test_rows_that_refer_find_their_units_whatever_process_has_which_keys(source: Path) -> None:
    layout, chores = keys(source)
    by_key = Towards(KEYS_PLACES, SECRET)
    each = parts(source / "items.parquet", ITEMS_TABLE, 2)
    items = [ShareOut((part,), ITEMS_TABLE, by_key, MEMORY) for part in each]
    find = FindUnits(ITEMS_TABLE, "unit", "VARCHAR", Towards(BUCKETS, SECRET), MEMORY)
    types = {**ITEMS_TABLE.types, "unit": "VARCHAR"}
    found = find_units(share_out(*chores, *items), find)
    rows = rows_of(written(source / "items-layout", found, types, "unit"))
    expected = duckdb.sql(
        f"SELECT order_id, price, customer FROM '{source}/items.parquet' "
        f"JOIN '{source}/orders.parquet' ON order_id = id WHERE customer IS NOT NULL"
    ).fetchall()
    assert Counter(
        (r["order_id"], r["price"], r["unit"]) for each in rows.values() for r in each
    ) == Counter((order, float(price), customer) for order, price, customer in expected)
    home = homes({customer for *_, customer in expected})
    assert all(home[row["unit"]] == bucket for bucket, each in rows.items() for row in each)
    assert layout.is_dir()


def test_a_key_that_is_there_twice_is_told_of_and_leads_nowhere(source: Path) -> None:
    _, chores = keys(source)
    only = FindUnits(ITEMS_TABLE, "unit", "VARCHAR", Towards(3, SECRET), MEMORY, keys_only=True)
    apart = find_units(share_out(*chores), only)
    assert SEVERAL not in {frame for _, _, frame in apart}
    twice = share_out(*chores, chores[0])
    assert SEVERAL in {frame for _, _, frame in find_units(twice, only)}
    items = parts(source / "items.parquet", ITEMS_TABLE)
    rows = share_out(ShareOut(tuple(items), ITEMS_TABLE, Towards(KEYS_PLACES, SECRET), MEMORY))
    find = FindUnits(ITEMS_TABLE, "unit", "VARCHAR", Towards(BUCKETS, SECRET), MEMORY)
    with pytest.raises(TaskFailed):
        find_units([*twice, *rows], find)


def test_a_file_that_is_another_by_now_is_not_read(source: Path) -> None:
    path = source / "orders.parquet"
    (part,) = parts(path, ORDERS_TABLE)
    os.utime(path, ns=(1, 1))
    with pytest.raises(TaskFailed):
        share_out(ShareOut((part,), ORDERS_TABLE, Towards(BUCKETS, SECRET), MEMORY))


def test_a_bucket_that_is_another_by_now_gives_no_key_away(source: Path) -> None:
    layout, (first, _) = keys(source)
    file = layout / first.files[0].path
    content = file.read_bytes()
    file.write_bytes(content[:50] + bytes([content[50] ^ 1]) + content[51:])
    with pytest.raises(TaskFailed):
        share_out(first)


def test_two_that_write_one_bucket_do_not_disturb_each_other(source: Path) -> None:
    """As where a task is run twice: each has a file of its own, and both hold the rows."""
    towards = Towards(BUCKETS, SECRET)
    types = dict(ORDERS_TABLE.types)
    rows = shared(source, 3, towards)
    folder = written(source / "layout", rows, types, "customer")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    written(source / "layout", list(reversed(rows)), types, "customer")
    assert all(path.read_bytes() == content for path, content in before.items())
    assert not list(folder.glob("*.making"))


def test_files_say_nothing_of_their_values_and_are_for_their_owner(source: Path) -> None:
    rows = shared(source, 1, Towards(BUCKETS, SECRET))
    folder = written(source / "layout", rows, dict(ORDERS_TABLE.types), "customer")
    for file in folder.iterdir():
        assert not file.stat().st_mode & 0o077
        group = pq.ParquetFile(file).metadata.row_group(0)
        assert not any(group.column(n).is_stats_set for n in range(group.num_columns))


def test_another_kernel_does_nothing(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sanql.kernel.buckets import sharing_tasks

    monkeypatch.setattr(sharing_tasks, "own_versions", lambda: None)
    with pytest.raises(OtherVersion):
        shared(source, 1, Towards(BUCKETS, SECRET))


def test_a_failure_says_nothing(source: Path) -> None:
    """Its text is written into logs, and shown to whoever watches a cluster."""
    (part,) = parts(source / "orders.parquet", ORDERS_TABLE, identity=(0, 0))
    with pytest.raises(TaskFailed) as caught:
        share_out(ShareOut((part,), ORDERS_TABLE, Towards(BUCKETS, SECRET), MEMORY))
    assert str(caught.value) == "" and caught.value.__suppress_context__
