"""A DuckDB file keeps what every source keeps."""

from __future__ import annotations

from pathlib import Path

import duckdb

from sanql.sources import DatabaseSource
from sources.source_contract import ROWS, SourceContract


class TestDatabaseSource(SourceContract):
    """A database with two tables."""

    name = "town.duckdb"
    kind = DatabaseSource

    def write(self, place: Path, rows: int = ROWS) -> None:
        place.unlink(missing_ok=True)
        with duckdb.connect(str(place)) as connection:
            connection.execute(
                "CREATE TABLE people AS SELECT range AS person_id, 20 + range AS age "
                f"FROM range({rows})"
            )
            connection.execute("CREATE TABLE cities AS SELECT unnest(['A', 'B', 'C']) AS name")

    def private_files(self, place: Path) -> set[Path]:
        return {place}
