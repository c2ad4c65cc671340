"""Every kind of source behind one interface: tables are written to it, and a policy reads them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import sanql
from sanql.mechanisms import Sampler
from sanql.policy import Policy, load
from sanql.sources import snapshot_frames
from support.postgres import PostgresServer

Tables = Mapping[str, pa.Table]
_IN_UTC = pa.timestamp("us", "UTC")
_POSTGRES = {
    pa.int64(): "bigint",
    pa.float64(): "double precision",
    pa.decimal128(10, 2): "numeric(10,2)",
    pa.string(): "text",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
    _IN_UTC: "timestamptz",
}


@dataclass
class Kind:
    """A source of one kind in a folder, and the policy beside it."""

    folder: Path
    source: str  # as the policy names it; empty where frames are passed
    put: Callable[[str, pa.Table], None]
    """Writes a table, in place of what was there."""
    spoil: Callable[[], None] | None = None
    """Makes the table `people` one that cannot be read, with "Alice" in it; of a CSV file all can be."""
    as_frame: Callable[[pa.Table], object] | None = None
    tables: dict[str, pa.Table] = field(default_factory=dict)

    def write(self, tables: Tables) -> None:
        """Write all tables."""
        self.tables |= tables
        for name, table in tables.items():
            self.put(name, table)

    def policy(self, text: str, name: str = "policy.toml") -> Policy:
        """Return a policy over it, loaded; frames are passed to it."""
        written = "" if self.as_frame else f'source = "{self.source}"\n'
        (self.folder / name).write_text(text.replace('source = "data"\n', written))
        loaded = load(self.folder / name)
        if self.as_frame:
            snapshot_frames(loaded, self.frames())
        return loaded

    def frames(self) -> dict[str, object]:
        """Return its tables as frames."""
        assert self.as_frame is not None
        return {name: self.as_frame(table) for name, table in self.tables.items()}

    def opened(self, text: str, sampler: Sampler, name: str = "policy.toml") -> sanql.San:
        """Open a policy over it for questions."""
        return sanql.San(self.policy(text, name), sampler=sampler)

    def refresh(self, san: sanql.San) -> int:
        """Have the next version read, and return its number."""
        version = san.refresh(self.frames()) if self.as_frame else san.refresh()
        return version.number


def _parquet(folder: Path, request: pytest.FixtureRequest) -> Kind:
    data = folder / "data"
    data.mkdir()
    return Kind(
        folder,
        "data",
        lambda name, table: pq.write_table(table, data / f"{name}.parquet"),
        lambda: _cut(data / "people.parquet"),
    )


def _csv(folder: Path, request: pytest.FixtureRequest) -> Kind:
    data = folder / "data"
    data.mkdir()

    def put(name: str, table: pa.Table) -> None:
        times = {f.name for f in table.schema if f.type == _IN_UTC}
        plain = table.select(table.column_names)
        for each in times:
            place = plain.column_names.index(each)
            plain = plain.set_column(place, each, plain[each].cast(pa.timestamp("us")))
        pyarrow.csv.write_csv(plain, data / f"{name}.csv")

    return Kind(folder, "data", put)


def _database(folder: Path, request: pytest.FixtureRequest) -> Kind:
    file = folder / "town.duckdb"

    def put(name: str, table: pa.Table) -> None:
        new = folder / "new.duckdb"  # the engine lets nobody write to what is being read
        if file.exists():
            shutil.copy(file, new)
        with duckdb.connect(str(new)) as connection:
            connection.register("given", table)
            connection.execute(f"CREATE OR REPLACE TABLE {name} AS FROM given")
        new.replace(file)

    return Kind(folder, file.name, put, lambda: _cut(file))


def _postgres(folder: Path, request: pytest.FixtureRequest) -> Kind:
    server: PostgresServer = request.getfixturevalue("server")
    database = server.new_database()
    server.run("ALTER ROLE sanql SET TimeZone = 'Asia/Tokyo'", database=database)

    def put(name: str, table: pa.Table) -> None:
        columns = [f"{each.name} {_POSTGRES[each.type]}" for each in table.schema]
        server.run(
            f"CREATE TABLE IF NOT EXISTS {name} ({', '.join(columns)})",
            f"TRUNCATE {name}",
            f"GRANT SELECT ON {name} TO sanql",
            database=database,
        )
        places = ", ".join(["%s"] * len(columns))
        rows = list(zip(*table.to_pydict().values(), strict=True))
        with (
            psycopg.connect(server.as_owner(database)) as connection,
            connection.cursor() as cursor,
        ):
            cursor.executemany(f"INSERT INTO {name} VALUES ({places})", rows)

    def spoil() -> None:
        server.run("DROP TABLE people", database=database)

    return Kind(folder, server.url(database), put, spoil)


def _store(folder: Path, request: pytest.FixtureRequest) -> Kind:
    store = folder / "store"

    def put(name: str, table: pa.Table) -> None:
        (store / name).mkdir(parents=True, exist_ok=True)
        half = len(table) // 2
        pq.write_table(table.slice(0, half), store / name / "0.parquet")
        pq.write_table(table.slice(half), store / name / "1.parquet")

    return Kind(folder, f"file://{store}", put, lambda: _cut(store / "people" / "1.parquet"))


def _delta(folder: Path, request: pytest.FixtureRequest) -> Kind:
    deltalake = pytest.importorskip("deltalake")
    lake = folder / "lake"

    def put(name: str, table: pa.Table) -> None:
        deltalake.write_deltalake(str(lake / name), table, mode="overwrite")

    def spoil() -> None:
        for part in (lake / "people").glob("*.parquet"):
            _cut(part)

    return Kind(folder, "delta:lake", put, spoil)


def _iceberg(folder: Path, request: pytest.FixtureRequest) -> Kind:
    pytest.importorskip("pyiceberg")
    from support import iceberg

    lake = folder / "lake"
    iceberg.configure(request.getfixturevalue("monkeypatch"), lake)

    def spoil() -> None:
        for part in (lake / "clinic" / "people" / "data").glob("*.parquet"):
            _cut(part)

    def put(name: str, table: pa.Table) -> None:
        iceberg.write_table(lake, name, table)

    return Kind(folder, "iceberg://town/clinic", put, spoil)


def _frames(as_frame: Callable[[pa.Table], object]) -> Callable[..., Kind]:
    return lambda folder, request: Kind(folder, "", lambda *_: None, as_frame=as_frame)


def _pandas(table: pa.Table) -> object:
    return table.to_pandas(types_mapper=pytest.importorskip("pandas").ArrowDtype)


def _polars(table: pa.Table) -> object:
    return pytest.importorskip("polars").from_arrow(table)


def _relation(table: pa.Table) -> object:
    return duckdb.connect().from_arrow(table)


KINDS: dict[str, Callable[[Path, pytest.FixtureRequest], Kind]] = {
    "parquet": _parquet,
    "csv": _csv,
    "duckdb": _database,
    "postgres": _postgres,
    "object store": _store,
    "delta": _delta,
    "iceberg": _iceberg,
    "a dict": _frames(lambda table: dict(zip(table.column_names, table.columns, strict=True))),
    "arrow": _frames(lambda table: table),
    "a stream": _frames(lambda table: table.to_reader(max_chunksize=3)),
    "pandas": _frames(_pandas),
    "polars": _frames(_polars),
    "a relation": _frames(_relation),
}
FRAMES = [name for name in KINDS if name.startswith("a ") or name in ("arrow", "pandas", "polars")]


def _cut(file: Path) -> None:
    """Spoil a file: half of it is gone, and a name stands in its place."""
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2] + b"Alice" * 10)
