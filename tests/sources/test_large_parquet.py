"""Parquet files that are large beside the memory are prepared in it, and answer in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sanql.policy import load
from sanql.san import San
from support.policies import dataset
from support.volume import few_of

pytestmark = pytest.mark.slow

POLICY = (
    dataset("visits.parquet", name="large", epsilon="1000.0")
    + """\
[engine]
memory = "512MB"
deadline = 600
[table.visits]
privacy_unit = "person"
rows_per_unit_max = 10
[table.visits.column]
age = { type = "integer", bounds = [0, 1000] }
weight = { type = "float", bounds = [0, 1] }
day = { type = "date" }
at = { type = "timestamp" }
paid = { type = "decimal", bounds = [0, 1000000000], precision = 1 }
ill = { type = "boolean" }
note = { type = "text" }
"""
)


def texts(random: np.random.Generator, rows: int, width: int) -> pa.Array:
    """Return texts of random letters, all of them different."""
    letters = pa.py_buffer(random.integers(97, 123, size=rows * width, dtype=np.uint8))
    ends = pa.py_buffer(np.arange(0, (rows + 1) * width, width, dtype=np.int32))
    return pa.Array.from_buffers(pa.string(), rows, [None, ends, letters])


def visits(rows: int, width: int, seed: int = 0) -> pa.Table:
    """Return random rows of every type, which no codec makes much smaller."""
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "person": pa.array(random.integers(0, 1 << 60, rows)),
            "age": pa.array(random.integers(0, 1000, rows).astype(np.int32)),
            "weight": pa.array(random.random(rows)),
            "day": pa.array(random.integers(0, 20_000, rows).astype(np.int32)).cast(pa.date32()),
            "at": pa.array(random.integers(0, 1 << 50, rows)).cast(pa.timestamp("us")),
            "paid": pa.array(random.integers(0, 10**9, rows)).cast(pa.decimal128(19, 0)),
            "ill": pa.array(random.random(rows) < 0.5),
            "note": texts(random, rows, width),
        }
    )


def write_row_groups(path: Path) -> tuple[int, int]:
    with pq.ParquetWriter(path, visits(1, 1).schema) as writer:
        for number in range(10):
            writer.write_table(visits(50_000, 240, number))
    return 500_000, 500_000


def write_one_row_group(path: Path) -> tuple[int, int]:
    """As pandas does: a million rows and more together."""
    pq.write_table(visits(1_050_000, 84), path, row_group_size=1 << 21)
    assert pq.ParquetFile(path).num_row_groups == 1
    return 1_050_000, 1_050_000


def write_half_a_million_rows(path: Path) -> tuple[int, int]:
    pq.write_table(visits(500_000, 235), path, row_group_size=1 << 20)
    assert pq.ParquetFile(path).num_row_groups == 1
    return 500_000, 500_000


def write_wide_text(path: Path) -> tuple[int, int]:
    pq.write_table(visits(3_300, 40_000), path)
    return 3_300, 3_300


def write_one_text_of_many_rows(path: Path) -> tuple[int, int]:
    """It is in the file once, and 600 MB long when it is read."""
    many = visits(20_000, 7_000)
    note = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000), ["x" * 30_000])
    pq.write_table(many.set_column(7, "note", note).append_column("more", many["note"]), path)
    return 20_000, 1


@pytest.mark.parametrize(
    "write",
    few_of(
        [
            write_wide_text,
            write_one_text_of_many_rows,
            write_half_a_million_rows,
            write_row_groups,
            write_one_row_group,
        ],
        2,
    ),
)
def test_a_parquet_file_of_127_megabytes_is_prepared_and_asked_with_512(
    write: Callable[[Path], tuple[int, int]], tmp_path: Path
) -> None:
    """Noise has a scale of some 10 at the most: beyond 300 it is with probability below 1e-9."""
    rows, distinct = write(tmp_path / "visits.parquet")
    assert (tmp_path / "visits.parquet").stat().st_size >= 127_000_000
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)
    with San(load(policy)) as san:
        counted = san.query("SELECT COUNT(*) AS n, AVG(weight) AS weight FROM visits", epsilon=20)
        notes = san.query("SELECT COUNT(DISTINCT note) AS n FROM visits", epsilon=20)
    assert abs(counted.table["n"][0].as_py() - rows) < 300
    assert abs(counted.table["weight"][0].as_py() - 0.5) < 0.05
    assert abs(notes.table["n"][0].as_py() - distinct) < 300
