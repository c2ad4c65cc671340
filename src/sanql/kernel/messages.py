"""What the parent asks of a worker process, and the kinds of reply it may get.

Requests travel pickled, for only the parent ever writes them. Replies never are: a worker that a
hostile file has taken over must not be able to make the parent run anything, so they are one byte
of kind followed by JSON or an Arrow stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self

Format = Literal["parquet", "csv"]
FileIdentity = tuple[int, int, int, int, int]
Stamp = tuple[tuple[str, FileIdentity], ...]

BUCKETS = 1 << 16
"""A unit's bucket is a hash of it below this number; a part of the units is a range of buckets."""
IN_PART = "\x00in_part\x00"
"""Where a statement that is run part by part says which buckets it reads, behind what a bucket is."""

READY = b"r"
TABLE = b"t"  # some rows of a result; more may follow
END = b"e"  # of a result
JSON = b"j"
PROGRESS = b"p"
FAILED = b"f"


@dataclass(frozen=True)
class Serve:
    """Answer queries from a database until the pipe closes; it must be the one with this stamp.

    The processors are shared by so many `workers`: each computes with its part of them.
    """

    database: Path
    stamp: Stamp
    memory_bytes: int
    workers: int = 1


@dataclass(frozen=True)
class Confirm:
    """Say at once whether this is what you have open, and that you wait for a query."""

    stamp: Stamp


@dataclass(frozen=True)
class PublicTable:
    """A SELECT over public tables, whose rows are there, finished, before the query is planned."""

    name: str
    sql: str
    parameters: tuple[object, ...]


@dataclass(frozen=True)
class GreedyCount:
    """Distinct values counted before the query: in turn, each unit takes up to l pairs that nobody took.

    `held` are each unit's different (group, value) pairs; `pairs`, over them, all pairs with numbers from
    0 for each and for its group; `turns`, over both, whose turn it is, and the group and the pair that it
    offers, in the one order there is (kernel/greedy.py). The table `taken` then has, for each group `g`
    that has any, how many pairs are taken there for each l of `most`, which ascend, as the list `d`.
    """

    name: str
    held: str
    pairs: str
    turns: str
    most: tuple[int, ...]
    parameters: tuple[object, ...]  # of `held`; what follows needs none

    @property
    def taken(self) -> str:
        """The name of the table that the query finds."""
        return f"{self.name}_taken"


Room = tuple[int, int]
"""What one unit of the first kind may add to a group, and one of the second."""


@dataclass(frozen=True)
class PouredSum:
    """A sum over rows that belong to units of two kinds, taken in turn as far as both have room.

    `held` is what the rows of each two units add up to in a group; `pairs`, over it, all groups with a
    number from 0 for each; `turns`, over `held`, the numbers of group and units, and what they have
    `above` zero and `below`, in the one order there is (kernel/pouring.py). The table `taken` then has,
    for each group `g` that has any, what is taken there, as a list `d` of one number.
    """

    name: str
    held: str
    pairs: str
    turns: str
    above: Room
    below: Room
    parameters: tuple[object, ...]  # of `held`; what follows needs none

    @property
    def taken(self) -> str:
        """The name of the table that the query finds."""
        return f"{self.name}_taken"


@dataclass(frozen=True)
class PartialCells:
    """What the units of one part add to the cells: a SELECT that is run for each part of them.

    The table `name` has the rows of all parts. `IN_PART` stands for the range of buckets, or what says
    which piece of it is read (`blocks.py`). `several`, over that table, makes of the rows of some parts
    as few as one part has, where that is possible.
    """

    name: str
    sql: str
    parameters: tuple[object, ...]
    several: str = ""


@dataclass(frozen=True)
class Statement:
    """One SELECT with its parameters, the public tables that it reads besides the source's, and counts.

    Public tables are made of public tables alone, and finished before anything private is planned; what
    is counted greedily is finished before the SELECT. `few_rows` says that the question alone decides how
    many rows there are, and that they are few. Where units are taken in several `parts`, what each
    of them adds is finished before the SELECT, which takes of the parameters those that it names.
    """

    sql: str
    parameters: tuple[object, ...] = ()
    public: tuple[PublicTable, ...] = ()
    few_rows: bool = False
    greedy: tuple[GreedyCount | PouredSum, ...] = ()
    partial: PartialCells | None = None
    parts: int = 1

    @property
    def makes_tables(self) -> bool:
        """Whether something is there, in tables of its own, before the SELECT is planned."""
        return bool(self.public or self.greedy or self.partial)

    def in_full(self) -> str:
        """Return all that the engine is told, in order."""
        made = [f"CREATE TEMP TABLE {table.name} AS {table.sql};\n" for table in self.public]
        for count in self.greedy:
            made += [
                f"CREATE TEMP TABLE {count.name}_held AS {count.held};\n",
                f"CREATE TEMP TABLE {count.name}_pairs AS {count.pairs};\n",
                f"{count.turns};\n",
                f"CREATE TEMP TABLE {count.taken} (g BIGINT, d BIGINT[]);\n",
            ]
        if self.partial is not None:
            made.append(f"CREATE TEMP TABLE {self.partial.name} AS {self.partial.sql};\n")
        return "".join(made) + self.sql


@dataclass(frozen=True)
class TableFiles:
    """The files of one table; `infer` allows reading a public CSV's values for its types."""

    table: str
    format: Format
    paths: tuple[Path, ...]
    infer: bool = False


@dataclass(frozen=True)
class InspectDatabase:
    """Report the names and types in a DuckDB file, and of these tables how long texts may be."""

    database: Path
    tables: tuple[str, ...]
    memory_bytes: int


@dataclass(frozen=True)
class InspectFiles:
    """Report the names and types in Parquet and CSV files."""

    tables: tuple[TableFiles, ...]
    memory_bytes: int


@dataclass(frozen=True)
class Projection:
    """The columns one file is read for, and the expressions over them, in the order stored.

    `bytes_max` says of which of the columns no value counts beyond so many bytes.
    """

    columns: tuple[str, ...]
    expressions: tuple[str, ...]
    bytes_max: Mapping[str, int]


@dataclass(frozen=True)
class UnitReference:
    """A column that leads, by the key of another table, to the row there that says whose a row is."""

    column: str
    table: str
    key: str


@dataclass(frozen=True)
class SummedTable:
    """Rows of a copied table added up: a SELECT over it that is run for each part of the units.

    `IN_PART` stands for the range of buckets. Rows are kept in this `order`.
    """

    name: str
    sql: str
    order: str


@dataclass(frozen=True)
class CopiedTable:
    """How one table is copied: its columns' stored types, and what fills them from each of its files.

    A table of a database is one file. `unit` is the column that identifies whose a row is, where it is
    one of its own: by it rows are clustered; elsewhere a `reference` leads to it. Where the owner
    declares that it is `unique`, it is looked at in the copy whether no unit has two rows. `segments`
    name what each file gives: by its bytes, and by all that shapes what becomes of them.
    """

    name: str
    types: Mapping[str, str]
    projections: tuple[Projection, ...]
    unit: str | None = None
    unique: bool = False
    reference: UnitReference | None = None
    segments: tuple[str, ...] = ()
    summed: tuple[SummedTable, ...] = ()


@dataclass(frozen=True)
class CopyBefore:
    """A copy that is there, and the segments that the rows of its tables are of, by their numbers."""

    database: Path
    segments: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class CopyFiles:
    """Copy declared columns of Parquet and CSV files into a DuckDB file, as far as it is not done.

    What a copy `before` has of the same segments is taken from there. Files are those of the `stamp`, or
    what is read of them is not kept.
    """

    files: tuple[TableFiles, ...]
    target: Path
    tables: tuple[CopiedTable, ...]
    memory_bytes: int
    bucket_secret: int
    before: CopyBefore | None = None
    stamp: Stamp = ()


@dataclass(frozen=True)
class CopyDatabase:
    """Copy declared columns of a DuckDB file into another, with as much of texts as is read.

    Of `long_texts` few rows are read at a time. `before` and `stamp` are as they are for files.
    """

    database: Path
    target: Path
    tables: tuple[CopiedTable, ...]
    memory_bytes: int
    bucket_secret: int
    long_texts: bool = True
    before: CopyBefore | None = None
    stamp: Stamp = ()


@dataclass(frozen=True)
class SummedCost:
    """What a table of rows added up has and takes: rows, bytes on the disk, seconds of processors."""

    rows: int
    size: int
    seconds: float


@dataclass(frozen=True)
class CopyReport:
    """What was seen of a copy when it was made: how many rows its tables have, by their names.

    `one_row` are the tables in which no unit has two rows, of those that declare it; `attached` those
    whose rows have the unit beside them that a reference leads to. `summed` says by name what tables of
    rows added up take.
    """

    rows: Mapping[str, int]
    one_row: tuple[str, ...]
    attached: tuple[str, ...] = ()
    summed: Mapping[str, SummedCost] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """Return it as JSON has it."""
        lists = {"one_row": list(self.one_row), "attached": list(self.attached)}
        summed = {name: [cost.rows, cost.size, cost.seconds] for name, cost in self.summed.items()}
        return {"rows": dict(self.rows), **lists, "summed": summed}

    @classmethod
    def from_dict(cls, told: object) -> Self:
        """Return what a worker told, of which nothing is assumed."""
        if not isinstance(told, dict):
            raise TypeError
        rows = {str(table): int(count) for table, count in told["rows"].items()}
        one_row, attached = (tuple(map(str, told[name])) for name in ("one_row", "attached"))
        summed = {
            str(name): SummedCost(int(count), int(size), float(seconds))
            for name, (count, size, seconds) in told.get("summed", {}).items()
        }
        return cls(rows, one_row, attached, summed)


Inspect = InspectDatabase | InspectFiles
Copy = CopyDatabase | CopyFiles
WorkerRequest = Serve | Inspect | Copy
