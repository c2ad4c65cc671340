"""A layout for other machines: complete or refused, taken up where it was left, open to nobody else."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sanql.engines import open_layout
from sanql.errors import PolicyError
from sanql.kernel import ChannelLost, PartialCells, PublicTable, Statement, locked_spill
from sanql.kernel.buckets import (
    MANIFEST,
    BucketLayout,
    BucketProcess,
    NotAsWritten,
    OpenBuckets,
    read_layout,
)
from sanql.kernel.buckets.messages import ComputePart, FinishPublic
from sanql.policy import Policy, load
from sanql.sources import Stamps, locate
from support.on_buckets import on_spark, spread

pytestmark = pytest.mark.slow

BUCKETS = 4
ROWS = 4_000
POLICY = """
[dataset]
name = "shop"
source = "shop.duckdb"
neighbours = "add-remove"
budget = { epsilon = 10, delta = 1e-4 }
accounting = "renyi"
[engine]
memory = "512MB"
[table.orders]
privacy_unit = "customer"
key = "id"
rows_per_unit_max = 20
column.id = { type = "integer", bounds = [0, 100000] }
[table.items]
privacy_unit = { via = "order_id", references = "orders.id" }
rows_per_unit_max = 40
column.price = { type = "decimal", bounds = [0, 100], precision = 0.01 }
[table.clicks]
privacy_unit = "row"
column.page = { type = "integer", bounds = [0, 100] }
[table.pages]
public = true
"""


@pytest.fixture
def shop(tmp_path: Path) -> Policy:
    """Customers of 128 bits, orders without one, items of orders that there are not."""
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute(
            f"CREATE TABLE orders AS SELECT range AS id, CASE WHEN range % 50 > 0 THEN "
            f"(range % 700)::HUGEINT * 100000000000000000000 END AS customer FROM range({ROWS})"
        )
        connection.execute(
            f"CREATE TABLE items AS SELECT (range * 7) % {ROWS + 100} AS order_id, "
            f"(range % 1000)::DECIMAL(10, 2) / 10 AS price FROM range({3 * ROWS})"
        )
        connection.execute(f"CREATE TABLE clicks AS SELECT range % 100 AS page FROM range({ROWS})")
        connection.execute("CREATE TABLE pages AS SELECT range AS page FROM range(100)")
    (tmp_path / "policy.toml").write_text(POLICY)
    return on_spark(load(tmp_path / "policy.toml"), tmp_path / "layout")


@pytest.fixture
def folder(shop: Policy) -> Path:
    return spread(shop, BUCKETS).database.parent


@pytest.fixture
def process(folder: Path) -> Iterator[BucketProcess]:
    with process_over(folder) as opened:
        yield opened


@contextmanager
def process_over(folder: Path) -> Iterator[BucketProcess]:
    """Another process over the same buckets, discarded at the end."""
    opened = BucketProcess(OpenBuckets(folder, read_layout(folder), 512 << 20))
    try:
        yield opened
    finally:
        opened.discard()


def rows_of(folder: Path, table: str) -> list[list[dict[str, object]]]:
    """Return the rows of each bucket of a table."""
    layout = read_layout(folder)
    (found,) = (each for each in layout.tables if each.name == table)
    return [
        [row for file in files for row in pq.read_table(folder / file.path).to_pylist()]
        for files in found.buckets
    ]


def test_every_row_of_somebody_is_in_the_bucket_of_its_unit_and_no_other_row_anywhere(
    folder: Path,
) -> None:
    orders, items = rows_of(folder, "orders"), rows_of(folder, "items")
    homes = {row["customer"]: place for place, rows in enumerate(orders) for row in rows}
    assert len(homes) == 686 and len(set(homes.values())) == BUCKETS
    assert all(homes[row["customer"]] == n for n, rows in enumerate(orders) for row in rows)
    assert all(homes[row["unit"]] == n for n, rows in enumerate(items) for row in rows)
    counted = "SELECT count(customer) FROM {} JOIN orders ON order_id = id"
    with duckdb.connect(str(folder.parent / "shop.duckdb"), read_only=True) as plain:
        (of_items,) = plain.execute(counted.format("items")).fetchall()[0]
        (of_orders,) = plain.execute("SELECT count(customer) FROM orders").fetchall()[0]
    assert (sum(map(len, orders)), sum(map(len, items))) == (of_orders, of_items)
    assert sum(map(len, rows_of(folder, "clicks"))) == ROWS
    assert list(map(len, rows_of(folder, "pages"))) == [100]


def test_files_say_nothing_of_their_values_besides(folder: Path) -> None:
    """With statistics, readers would skip rows by the ends of what is somebody's."""
    for file in folder.rglob("*.parquet"):
        groups = pq.ParquetFile(file).metadata
        for number in range(groups.num_row_groups):
            columns = [groups.row_group(number).column(n) for n in range(groups.num_columns)]
            assert not any(column.is_stats_set for column in columns)


def test_a_layout_is_for_its_owner_only(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        assert not path.stat().st_mode & 0o077, path


def test_a_layout_that_is_there_is_not_written_again(shop: Policy, folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}
    spread(shop, BUCKETS)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")} == before


def test_the_layout_before_stays_and_the_one_before_it_goes(shop: Policy, folder: Path) -> None:
    first = {path.name for path in folder.glob("segment-*")}
    spread(shop, BUCKETS + 1)
    second = {path.name for path in folder.glob("segment-*")}
    assert first < second and len(second) == 2 * len(first)
    spread(shop, BUCKETS + 2)
    assert not first & {path.name for path in folder.glob("segment-*")}


def test_a_file_that_changes_is_all_that_is_written_again(tmp_path: Path) -> None:
    """Of what refers to others, all: whose its rows are may be another by now."""
    policy = of_files(tmp_path)
    folder = spread(policy, BUCKETS).database.parent
    whole = {table.name: table.buckets for table in read_layout(folder).tables}
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}
    write_part(tmp_path, "orders", 1, 7)
    write_part(tmp_path, "items", 3, 3)
    check_rows(tmp_path, spread(policy, BUCKETS).database.parent)
    after = {table.name: table.buckets for table in read_layout(folder).tables}
    assert after["pages"] == whole["pages"]
    for bucket in range(BUCKETS):
        shared = {*after["orders"][bucket]} & {*whole["orders"][bucket]}
        assert len(shared) == 2 and len(after["orders"][bucket]) == 3
        assert not {*after["items"][bucket]} & {*whole["items"][bucket]}
        assert all((folder / f.path).stat().st_mtime_ns == before[folder / f.path] for f in shared)
    write_part(tmp_path, "items", 4, 4)
    check_rows(tmp_path, spread(policy, BUCKETS).database.parent)
    last = {table.name: table.buckets for table in read_layout(folder).tables}
    assert last["orders"] == after["orders"]
    assert all({*last["items"][n]} > {*after["items"][n]} for n in range(BUCKETS))
    # those before are there for questions under way, and those before them are gone
    kept = {path.relative_to(folder) for path in folder.rglob("*.parquet")}
    listed = [*after.values(), *last.values()]
    assert kept == {Path(file.path) for table in listed for files in table for file in files}


def test_many_files_are_few_segments(tmp_path: Path) -> None:
    policy = of_files(tmp_path, files=40)
    folder = spread(policy, BUCKETS).database.parent
    check_rows(tmp_path, folder)
    before = {t.name: t.buckets for t in read_layout(folder).tables}
    assert all(len(files) <= 16 for buckets in before.values() for files in buckets)
    write_part(tmp_path, "orders", 1, 77)
    check_rows(tmp_path, spread(policy, BUCKETS).database.parent)
    after = {t.name: t.buckets for t in read_layout(folder).tables}["orders"][0]
    assert len(after) > len({*after} & {*before["orders"][0]}) >= len(after) - 2


def of_files(folder: Path, files: int = 3) -> Policy:
    """Return a policy over a folder with several files of each table."""
    for table in ("orders", "items", "pages", "clicks"):
        for part in range(files):
            write_part(folder, table, part, part)
    text = POLICY.replace('"shop.duckdb"', '"data"')
    (folder / "policy.toml").write_text(text)
    return on_spark(load(folder / "policy.toml"), folder / "layout")


def write_part(folder: Path, table: str, part: int, seed: int) -> None:
    """Write a file of a table; rows of another seed are others."""
    rows = {
        "orders": f"{seed} * 1000 + i AS id, CASE WHEN i % 50 > 0 THEN i % 70 END AS customer",
        "items": f"{seed} * 1000 + i * 3 AS order_id, (i % 100)::DECIMAL(10, 2) / 10 AS price",
        "pages": f"{seed} * 100 + i % 5 AS page",
        "clicks": "i % 100 AS page",
    }
    (folder / "data" / table).mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as made:
        path = folder / "data" / table / f"part{part}.parquet"
        made.execute(f"COPY (SELECT {rows[table]} FROM range(300) AS n(i)) TO '{path}'")


def check_rows(folder: Path, layout: Path) -> None:
    """Compare the rows of all buckets to those of the files as they are."""
    orders = "(SELECT id, customer FROM 'data/orders/*.parquet' WHERE customer NOTNULL)"
    plain = {
        "orders": f"SELECT id, customer FROM {orders}",
        "items": "SELECT order_id, price::DECIMAL(18, 2), customer FROM 'data/items/*.parquet' "
        f"JOIN {orders} ON id = order_id",
        "clicks": "SELECT page FROM 'data/clicks/*.parquet'",
        "pages": "SELECT page FROM 'data/pages/*.parquet'",
    }
    shown = {"items": "order_id, price::DECIMAL(18, 2), unit", "orders": "id, customer"}
    with duckdb.connect() as connection:
        for table in read_layout(layout).tables:
            paths = [str(layout / file.path) for files in table.buckets for file in files]
            columns = shown.get(table.name, "page")
            rows = f"SELECT {columns} FROM read_parquet({paths}) ORDER BY ALL"
            expected = plain[table.name].replace("'data/", f"'{folder}/data/")
            found = connection.sql(rows).fetchall()
            assert found and found == connection.sql(f"{expected} ORDER BY ALL").fetchall()


def test_prepare_that_is_killed_leaves_no_layout_and_goes_on_the_next_time(shop: Policy) -> None:
    """At whichever file it is: what was written then is not written again."""
    folder = shop.path.parent / "layout"
    many = 32  # so that whoever writes is not done before it notices
    shop.path.write_text(
        shop.path.read_text().replace(
            "[engine]\n", f'[engine]\nkind = "spark"\nmaster = "local"\nlayout = "{folder}"\n'
        )
    )
    script = (
        "import os, sys\nfrom sanql.ask import Session\n"
        "def progress(words):\n"
        "    if words.startswith('preparing buckets: 6 '): os.kill(os.getpid(), 9)\n"
        f"with Session({str(shop.path)!r}, progress=progress) as session: session.data.prepare({many})\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert ended.returncode == -signal.SIGKILL
    time.sleep(1)  # the process that writes ends with the one that started it
    assert not (folder / MANIFEST).exists()
    with pytest.raises(PolicyError, match="there is no layout"):
        opened(shop)
    written = {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}
    assert 4 <= len(written) < 3 * many + 1
    spread(shop, many)
    assert len(read_layout(folder).tables) == 4
    kept = [path for path, when in written.items() if path.stat().st_mtime_ns == when]
    assert len(kept) >= 4


def opened(policy: Policy) -> object:
    source = locate(policy)
    return open_layout(policy, source, Stamps(policy.ledger).of(source))


def test_a_layout_of_other_data_or_of_another_policy_is_refused(shop: Policy, folder: Path) -> None:
    opened(shop)
    text = shop.path.read_text()
    shop.path.write_text(text.replace('column.page = { type = "integer", bounds = [0, 100] }', ""))
    with pytest.raises(PolicyError, match="of other data, or of another policy"):
        opened(on_spark(load(shop.path), folder))
    shop.path.write_text(text)
    with duckdb.connect(str(shop.path.parent / "shop.duckdb")) as connection:
        connection.execute("DELETE FROM orders WHERE id = 77")
    with pytest.raises(PolicyError, match="of other data, or of another policy"):
        opened(shop)


@pytest.mark.parametrize("how", ["cut", "changed", "of the future", "no json", "fewer files"])
def test_a_damaged_manifest_is_none(how: str, shop: Policy, folder: Path) -> None:
    manifest = folder / MANIFEST
    text = manifest.read_text()
    content = json.loads(text)
    match how:
        case "cut":
            manifest.write_text(text[: len(text) // 2])
        case "changed":
            manifest.write_text(text.replace('"buckets": 4', '"buckets": 3'))
        case "of the future":
            manifest.write_text(json.dumps({**content, "format": 3}))
        case "no json":
            manifest.write_text("[1]")
        case _:
            layout = read_layout(folder)
            fewer = replace(layout.tables[0], buckets=layout.tables[0].buckets[:-1])
            made = replace(layout, tables=(fewer, *layout.tables[1:]))
            manifest.write_text(made.to_json())
    with pytest.raises(NotAsWritten):
        read_layout(folder)
    with pytest.raises(PolicyError, match="run `sanql prepare`"):
        opened(shop)


def test_a_manifest_is_read_as_it_was_written(folder: Path) -> None:
    layout = read_layout(folder)
    assert BucketLayout.from_json(layout.to_json()) == layout
    assert layout.attached == ("items",)


COUNT = Statement(
    "SELECT 1",
    partial=PartialCells("partial_cells", "SELECT count(*) AS n FROM data.main.orders", ()),
)


@pytest.mark.parametrize("how", ["flipped", "cut", "swapped", "gone", "another while it is open"])
def test_a_bad_bucket_is_never_read(how: str, folder: Path, process: BucketProcess) -> None:
    layout = read_layout(folder)
    table = next(each for each in layout.tables if each.name == "orders")
    first, second = (folder / table.files(bucket)[0].path for bucket in (0, 1))
    content = first.read_bytes()
    if how == "another while it is open":
        assert list(process.ask(ComputePart(COUNT, 0, ()), math.inf))
    match how:
        case "flipped":
            first.write_bytes(content[:50] + bytes([content[50] ^ 4]) + content[51:])
        case "cut":
            first.write_bytes(content[:-8])
        case "gone":
            first.unlink()
        case _:
            first.write_bytes(second.read_bytes())
    with pytest.raises(ChannelLost):
        list(process.ask(ComputePart(COUNT, 0, ()), math.inf))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT content FROM read_text('/etc/passwd')",
        "SELECT count(*) FROM read_parquet('{other}')",
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "CREATE TABLE mine AS SELECT 1",
        "SET threads = 4",
        "SELECT 1; SELECT 2",
    ],
)
def test_a_bucket_process_reaches_nothing_but_its_layout(
    sql: str, folder: Path, process: BucketProcess
) -> None:
    other = folder.parent / "other.parquet"
    pq.write_table(pq.read_table(next(folder.rglob("*.parquet"))), other)
    written = sql.format(folder=folder, other=other)
    asked = Statement("SELECT 1", partial=PartialCells("partial_cells", written, ()))
    with pytest.raises(ChannelLost):
        list(process.ask(ComputePart(asked, 0, ()), math.inf))
    assert not (folder / "out.csv").exists()


def test_a_public_table_may_read_one_that_was_finished_before_it(process: BucketProcess) -> None:
    """As where a stage of a question over statistics reads the answers of one before."""
    first = PublicTable("first", "SELECT unnest(?::INTEGER[]) AS x", ([3, 5],))
    second = PublicTable("second", "SELECT max(x) + 1 AS y FROM temp.main.first", ())
    asked = FinishPublic(Statement("SELECT 1", public=(first, second)))
    found = [
        (frame[:4], pa.ipc.open_stream(frame[4:]).read_all().to_pylist())
        for frame in process.ask(asked, math.inf)
    ]
    assert found == [(bytes(4), [{"x": 3}, {"x": 5}]), (b"\0\0\0\1", [{"y": 6}])]


def test_without_a_bucket_private_tables_are_out_of_sight(
    folder: Path, process: BucketProcess
) -> None:
    assert list(process.ask(ComputePart(COUNT, 0, ()), math.inf))
    assert list(process.ask(Statement("SELECT count(*) FROM data.main.pages"), math.inf))
    with pytest.raises(ChannelLost):
        list(process.ask(Statement("SELECT count(*) FROM data.main.orders"), math.inf))


def test_a_public_table_may_be_made_of_those_before_it(process: BucketProcess) -> None:
    """As where a question over statistics computes with the answers of its first stage."""
    first = PublicTable("public0", "SELECT system.main.unnest(CAST(? AS BIGINT[])) AS n", ([3, 4],))
    second = PublicTable("public1", "SELECT n * 2 AS n FROM temp.main.public0", ())
    frames = list(process.ask(FinishPublic(Statement("", public=(first, second))), math.inf))
    found: dict[int, list[int]] = {0: [], 1: []}
    for frame in frames:
        rows = pa.ipc.open_stream(frame[4:]).read_all()
        found[int.from_bytes(frame[:4], "big")] += rows["n"].to_pylist()
    assert found == {0: [3, 4], 1: [6, 8]}


def test_what_a_process_over_buckets_spills_stays_while_it_lives_and_goes_when_it_was_killed(
    folder: Path, process: BucketProcess
) -> None:
    assert list(process.ask(ComputePart(COUNT, 0, ()), math.inf))
    left, lock = locked_spill()
    os.close(lock)  # as after a kill of a process and of what had started it
    with process_over(folder):
        assert process.spill.exists()
        assert not left.exists()


def test_a_key_that_is_there_twice_leaves_rows_in_no_bucket_and_is_refused(shop: Policy) -> None:
    with duckdb.connect(str(shop.path.parent / "shop.duckdb")) as connection:
        connection.execute("INSERT INTO orders SELECT * FROM orders WHERE id = 5")
    with pytest.raises(PolicyError, match="has a key twice") as caught:
        spread(shop, BUCKETS)
    assert "table.items" in str(caught.value)


def test_an_object_store_and_an_unknown_master_are_refused_by_name(tmp_path: Path) -> None:
    text = POLICY
    chosen = '[engine]\nkind = "spark"\nmaster = "{}"\nlayout = "{}"\n'
    path = tmp_path / "policy.toml"
    for master, layout, said in [
        ("local[2]", "s3a://bucket/path", "object store"),
        ("mesos://here", "layout", "no master of Spark's"),
    ]:
        path.write_text(text.replace("[engine]\n", chosen.format(master, layout)))
        with pytest.raises(PolicyError, match=said):
            load(path)
    path.write_text(text.replace("[engine]\n", '[engine]\nmaster = "local"\n'))
    with pytest.raises(PolicyError, match="for the engine 'spark'"):
        load(path)
