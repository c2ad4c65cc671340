"""Parquet and CSV files keep what every source keeps."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sanql.sources import FilesSource
from sources.source_contract import ROWS, SourceContract


class TestFilesSource(SourceContract):
    """A folder with a folder of Parquet parts and a CSV file."""

    name = "data"
    kind = FilesSource

    def write(self, place: Path, rows: int = ROWS) -> None:
        (place / "people").mkdir(parents=True, exist_ok=True)
        people = pa.table({"person_id": range(rows), "age": [20 + i for i in range(rows)]})
        pq.write_table(people, place / "people" / "0.parquet")
        (place / "cities.csv").write_text("name\nA\nB\nC\n")

    def private_files(self, place: Path) -> set[Path]:
        return {place / "people" / "0.parquet"}
