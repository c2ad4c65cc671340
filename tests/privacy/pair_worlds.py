"""Tables in which one unit has either value of each pair, stored as a database, CSV or Parquet.

Three worlds of the same columns: most people, who have the first value of a pair in both of their rows;
two people who have either value once, the second one first or last; and all of them together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from privacy.equal_pairs import Pairs
from privacy.kernel import Kernel
from privacy.native_storage import HEAD
from sanql.compile.statement import compile_plan
from sanql.engines.in_process.engine import InProcessEngine
from sanql.engines.preparation import prepare
from sanql.policy import load
from support.cells import SECRET, priced

MANY = 40
PEOPLE = [(unit, 0) for unit in range(MANY) for _ in range(2)]
FIRST, LAST = [(MANY, 1), (MANY, 0)], [(MANY + 1, 0), (MANY + 1, 1)]
WORLDS = {"most": PEOPLE, "two": [*FIRST, *LAST], "all": [*FIRST, *PEOPLE, *LAST]}
_POLICY = """
[table.t]
privacy_unit = "id"
rows_per_unit_max = 2
groups_per_unit_max = 2
[table.p]
public = true
[table.p.column]
k = { type = "integer", bounds = [0, 9] }
w = { type = "text" }
[table.t.column]
k = { type = "integer", bounds = [0, 9] }
j = { type = "text" }
"""
Cells = Counter[tuple[str, str]]  # how many rows have what, by the number of the pair


class PairWorlds:
    """The worlds of one storage, asked without noise on the connection that a worker would use."""

    def __init__(self, folder: Path, source: str, columns: Sequence[Pairs]) -> None:
        """Prepare the worlds, each in a folder of its own."""
        declared = [
            f'c{n} = {{ type = "{column.declared}" }}\n' for n, column in enumerate(columns)
        ]
        self._kernels = {}
        for world in WORLDS:
            policy = folder / world / "policy.toml"
            policy.write_text(HEAD.replace("data.duckdb", source) + _POLICY + "".join(declared))
            self._policy = load(policy)
            self._source = prepare(self._policy, engine=InProcessEngine())
            self._kernels[world] = Kernel(self._source.database)

    def cells(self, question: str) -> dict[str, Cells]:
        """Return a question's exact cells in each world."""
        plan = priced(question, self._policy.tables, self._policy.neighbours)
        sent = [compile_plan(level, self._source, SECRET) for level in plan.levels]
        found = {}
        for world, kernel in self._kernels.items():
            rows = [row for each in sent for row in kernel.cells(each).to_pylist()]
            found[world] = Counter({(row["k0"], repr(row.get("k1"))): row["m0"] for row in rows})
        return found


def rows_of(world: str, columns: Sequence[Pairs]) -> list[tuple[int, int, int]]:
    """Return the rows of a world: whose it is, the number of its pair, and which value it has."""
    most = max(len(column.pairs) for column in columns)
    return [
        (number * 1000 + unit, number, which)
        for number in range(most)
        for unit, which in WORLDS[world]
    ]


def database(folder: Path, columns: Sequence[Pairs]) -> PairWorlds:
    """Return pairs in a DuckDB file, which San reads where it is."""
    for world in WORLDS:
        (folder / world).mkdir()
        with duckdb.connect(folder / world / "data.duckdb") as connection:
            typed = ", ".join(f"c{n} {column.stored}" for n, column in enumerate(columns))
            connection.execute(f"CREATE TABLE t (id BIGINT, k BIGINT, j VARCHAR, {typed})")
            connection.execute(f"CREATE TEMP TABLE pairs (number BIGINT, which BIGINT, {typed})")
            for number in range(max(len(column.pairs) for column in columns)):
                for which in (0, 1):
                    values = [_value(column, number, which, "NULL") for column in columns]
                    listed = f"{number}, {which}, {', '.join(values)}"
                    connection.execute(f"INSERT INTO pairs VALUES ({listed})")
            connection.register("rows_", _rows(rows_of(world, columns)))
            connection.execute(
                "INSERT INTO t SELECT id, 1, number, pairs.* EXCLUDE (number, which) "
                "FROM rows_ JOIN pairs USING (number, which) ORDER BY place"
            )
            connection.execute("CREATE TABLE p AS SELECT 1::BIGINT AS k, 'p' AS w")
    return PairWorlds(folder, "data.duckdb", columns)


def _rows(rows: list[tuple[int, int, int]]) -> pa.Table:
    units, numbers, which = (pa.array(values) for values in zip(*rows, strict=True))
    places = pa.array(range(len(rows)))
    return pa.table({"place": places, "id": units, "number": numbers, "which": which})


def csv(folder: Path, columns: Sequence[Pairs]) -> PairWorlds:
    """Return pairs in CSV files."""
    header = ",".join(["id", "k", "j", *(f"c{n}" for n in range(len(columns)))])
    for world in WORLDS:
        data = _data(folder / world)
        lines = [
            ",".join([f"{unit},1,{number}", *(_value(c, number, which, "") for c in columns)])
            for unit, number, which in rows_of(world, columns)
        ]
        (data / "t.csv").write_text("\n".join([header, *lines]) + "\n", "utf-8")
    return PairWorlds(folder, "data", columns)


def parquet(folder: Path, columns: Sequence[Pairs]) -> PairWorlds:
    """Return pairs in Parquet files."""
    return _parts(folder, columns, pq.write_table)


def pandas(folder: Path, columns: Sequence[Pairs]) -> PairWorlds:
    """Return pairs in Parquet files that pandas writes from data frames."""
    return _parts(folder, columns, lambda table, path: table.to_pandas().to_parquet(path))


def polars(folder: Path, columns: Sequence[Pairs]) -> PairWorlds:
    """Return pairs in Parquet files that Polars writes from data frames."""
    from polars import DataFrame

    return _parts(folder, columns, lambda table, path: DataFrame(table).write_parquet(path))


def _parts(
    folder: Path, columns: Sequence[Pairs], write: Callable[[pa.Table, Path], object]
) -> PairWorlds:
    """Return pairs in parts of a table: what is first or last among rows is in parts of its own."""
    for world in WORLDS:
        parts = _data(folder / world) / "t"
        parts.mkdir()
        rows = rows_of(world, columns)
        for name, of_part in groupby(sorted(rows, key=_part), _part):
            write(_arrow(list(of_part), columns), parts / f"{name}.parquet")
    return PairWorlds(folder, "data", columns)


def _part(row: tuple[int, int, int]) -> int:
    unit, _, which = row
    return 1 if which == 0 else 0 if unit % 1000 == MANY else 2


def _arrow(rows: list[tuple[int, int, int]], columns: Sequence[Pairs]) -> pa.Table:
    table = {
        "id": pa.array([unit for unit, _, _ in rows]),
        "k": pa.array([1] * len(rows)),
        "j": pa.array([str(number) for _, number, _ in rows]),
    }
    for n, column in enumerate(columns):
        stored = pa.concat_arrays([pair.values[rows[0][2]] for pair in column.pairs])
        numbers = [number if number < len(column.pairs) else None for _, number, _ in rows]
        table[f"c{n}"] = stored.take(pa.array(numbers))
    return pa.table(table)


def _value(column: Pairs, number: int, which: int, missing: str) -> str:
    return str(column.pairs[number].values[which]) if number < len(column.pairs) else missing


def _data(folder: Path) -> Path:
    data = folder / "data"
    data.mkdir(parents=True)
    (data / "p.csv").write_text("k,w\n1,p\n")
    return data
