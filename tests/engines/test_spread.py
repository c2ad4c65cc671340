"""A layout for other machines: complete or refused, taken up where it was left, open to nobody else."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from sanql.engines import open_layout
from sanql.errors import PolicyError
from sanql.kernel import ChannelLost, PartialCells, Statement
from sanql.kernel.buckets import (
    MANIFEST,
    BucketLayout,
    BucketProcess,
    NotAsWritten,
    OpenBuckets,
    read_layout,
)
from sanql.kernel.buckets.messages import ComputePart
from sanql.policy import Policy, load
from sanql.sources import Stamps, locate
from support.on_buckets import on_spark, spread

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
    opened = BucketProcess(OpenBuckets(folder, read_layout(folder), 512 << 20))
    yield opened
    opened.discard()


def rows_of(folder: Path, table: str) -> list[list[dict[str, object]]]:
    """Return the rows of each bucket of a table."""
    layout = read_layout(folder)
    (found,) = (each for each in layout.tables if each.name == table)
    return [pq.read_table(folder / file.path).to_pylist() for file in found.files]


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
    first = {path.name for path in folder.glob("layout-*")}
    spread(shop, BUCKETS + 1)
    second = {path.name for path in folder.glob("layout-*")}
    assert first < second and len(second) == 2
    spread(shop, BUCKETS + 2)
    assert not first & {path.name for path in folder.glob("layout-*")}


def test_prepare_that_is_killed_leaves_no_layout_and_goes_on_the_next_time(shop: Policy) -> None:
    """At whichever file it is: what was written then is not written again."""
    folder = shop.path.parent / "layout"
    shop.path.write_text(
        shop.path.read_text().replace(
            "[engine]\n", f'[engine]\nkind = "spark"\nmaster = "local"\nlayout = "{folder}"\n'
        )
    )
    script = (
        "import os, sys\nfrom sanql.ask import Session\n"
        "def progress(words):\n"
        "    if words.startswith('preparing buckets: 6 '): os.kill(os.getpid(), 9)\n"
        f"with Session({str(shop.path)!r}, progress=progress) as session: session.data.prepare(8)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert ended.returncode == -signal.SIGKILL
    time.sleep(1)  # the process that writes ends with the one that started it
    assert not (folder / MANIFEST).exists()
    with pytest.raises(PolicyError, match="there is no layout"):
        opened(shop)
    written = {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}
    assert 4 <= len(written) < 25
    spread(shop, 8)
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
            manifest.write_text(json.dumps({**content, "format": 2}))
        case "no json":
            manifest.write_text("[1]")
        case _:
            layout = read_layout(folder)
            fewer = replace(layout.tables[0], files=layout.tables[0].files[:-1])
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
    first, second = (folder / table.file(bucket).path for bucket in (0, 1))
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


def test_without_a_bucket_private_tables_are_out_of_sight(
    folder: Path, process: BucketProcess
) -> None:
    assert list(process.ask(ComputePart(COUNT, 0, ()), math.inf))
    assert list(process.ask(Statement("SELECT count(*) FROM data.main.pages"), math.inf))
    with pytest.raises(ChannelLost):
        list(process.ask(Statement("SELECT count(*) FROM data.main.orders"), math.inf))


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
