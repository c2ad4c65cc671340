"""The manifest of a layout: its tables, their types, their files and what each of those is.

It is written last, so a folder that has one has everything it speaks of; and every file that is read is
first found to be the one that was written, by its size and a hash of its bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

from sanql.kernel.buckets.carried import restored
from sanql.kernel.buckets.encryption import LayoutKey
from sanql.kernel.files import identify
from sanql.kernel.lockdown import CATALOG, literal, quote_name
from sanql.kernel.messages import FileIdentity

MANIFEST = "manifest.json"
FORMAT = 2
_ROWS_MOST = (1 << 63) - 1


class NotAsWritten(Exception):
    """A file of a layout is not the one that its manifest speaks of."""


@dataclass(frozen=True)
class BucketFile:
    """One file: where it is in the folder, and what it is."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class SpreadSegment:
    """Rows of a table that are spread into files of their own: the folder of these, and a condition."""

    folder: str
    condition: str


@dataclass(frozen=True)
class SpreadTable:
    """A table that is to be spread: its columns, segments, and where it has one, the bucket's column."""

    name: str
    public: bool
    types: Mapping[str, str]
    segments: tuple[SpreadSegment, ...]
    bucket: str | None = None


@dataclass(frozen=True)
class BucketedTable:
    """A table of a layout: files for each bucket, one of each segment, or for all where it is public."""

    name: str
    public: bool
    types: Mapping[str, str]
    buckets: tuple[tuple[BucketFile, ...], ...]

    def view(self, folder: Path, bucket: int, *, encrypted: bool = False) -> str:
        """Return the statement by which questions find the rows of a bucket under the table's name.

        Where they are encrypted, it is one file, whose key has its name. The engine cannot decrypt while
        it looks for what a condition lets it skip; none passes a limit, and no row is beyond that.
        """
        paths = ", ".join(literal(str(folder / file.path)) for file in self.files(bucket))
        shown = f"{quote_name(CATALOG)}.main.{quote_name(self.name)}"
        key = literal(self.files(bucket)[0].path)
        how = f", encryption_config = {{footer_key: {key}}}" if encrypted else ""
        rows = f"read_parquet([{paths}], hive_partitioning = false{how})"
        rows += f" LIMIT {_ROWS_MOST}" if encrypted else ""
        return f"CREATE OR REPLACE VIEW {shown} AS SELECT {restored(self.types)} FROM {rows}"  # noqa: S608

    def files(self, bucket: int) -> tuple[BucketFile, ...]:
        """Return the files in which the rows of a bucket are."""
        return self.buckets[0 if self.public else bucket]


@dataclass(frozen=True)
class BucketLayout:
    """A layout as its manifest has it; `made_of` names the data, and the policy's terms that shape it.

    Where it is encrypted, `salt` and `mark` are those of its key, and `seal` says that whoever had it
    wrote all of this.
    """

    made_of: str
    buckets: int
    tables: tuple[BucketedTable, ...]
    attached: tuple[str, ...]
    stamps: Mapping[str, str]
    salt: str = ""
    mark: str = ""
    seal: str = ""

    def sealed(self, key: LayoutKey) -> Self:
        """Return it with the seal of its key."""
        return replace(self, seal=key.seal(_written(asdict(replace(self, seal="")))))

    def to_json(self) -> str:
        """Return it as the manifest has it, with a hash of itself."""
        content = {"format": FORMAT, **asdict(self)}
        return json.dumps({**content, "sha256": _hash_of(content)}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return what a manifest says; NotAsWritten where it is none of this format, or damaged."""
        try:
            content = json.loads(text)
            if content.pop("sha256") != _hash_of(content) or content.pop("format") != FORMAT:
                raise NotAsWritten
            tables = [
                BucketedTable(
                    str(table["name"]),
                    bool(table["public"]),
                    {str(name): str(kind) for name, kind in table["types"].items()},
                    tuple(
                        tuple(BucketFile(**file) for file in files) for files in table["buckets"]
                    ),
                )
                for table in content["tables"]
            ]
            layout = cls(
                str(content["made_of"]),
                int(content["buckets"]),
                tuple(tables),
                tuple(map(str, content["attached"])),
                {str(name): str(stamp) for name, stamp in content["stamps"].items()},
                str(content["salt"]),
                str(content["mark"]),
                str(content.get("seal", "")),
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            raise NotAsWritten from None
        if any(
            len(t.buckets) != (1 if t.public else layout.buckets) or not all(t.buckets)
            for t in layout.tables
        ):
            raise NotAsWritten
        return layout

    def public_only(self) -> BucketLayout:
        """Return the layout without what is about anybody."""
        public = tuple(table for table in self.tables if table.public)
        return replace(self, tables=public, attached=())


def read_layout(folder: Path) -> BucketLayout:
    """Return the layout in a folder; OSError where there is none, NotAsWritten where it is damaged."""
    return BucketLayout.from_json((folder / MANIFEST).read_text("utf-8"))


class CheckedFiles:
    """The files of a folder that were found to be what the manifest says, and have not changed since."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._found: dict[BucketFile, FileIdentity] = {}

    def check(self, file: BucketFile) -> None:
        """Raise NotAsWritten where a file is another; its bytes are looked at once."""
        path = self._folder / file.path
        now = identify(path)
        if self._found.get(file) == now:
            return
        if now[2] != file.bytes or hash_file(path) != file.sha256 or identify(path) != now:
            raise NotAsWritten
        self._found[file] = now


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def files_of(layout: BucketLayout, bucket: int) -> Iterator[BucketFile]:
    """Yield the files that a question over one bucket may read."""
    return (file for table in layout.tables for file in table.files(bucket))


def _hash_of(content: Mapping[str, object]) -> str:
    return hashlib.sha256(_written(content).encode()).hexdigest()


def _written(content: Mapping[str, object]) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"))
