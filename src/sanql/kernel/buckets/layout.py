"""The manifest of a layout: its tables, their types, their files and what each of those is.

It is written last, so a folder that has one has everything it speaks of; and every file that is read is
first found to be the one that was written, by its size and a hash of its bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from sanql.kernel.buckets.carried import restored
from sanql.kernel.files import identify
from sanql.kernel.lockdown import CATALOG, literal, quote_name
from sanql.kernel.messages import FileIdentity

MANIFEST = "manifest.json"
FORMAT = 1
_READ_BYTES = 1 << 20


class NotAsWritten(Exception):
    """A file of a layout is not the one that its manifest speaks of."""


@dataclass(frozen=True)
class BucketFile:
    """One file: where it is in the folder, and what it is."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class SpreadTable:
    """A table that is to be spread: its columns, and where it has one, that of the bucket."""

    name: str
    public: bool
    types: Mapping[str, str]
    bucket: str | None = None


@dataclass(frozen=True)
class BucketedTable:
    """A table of a layout: one file for each bucket, or one file in all where it is public."""

    name: str
    public: bool
    types: Mapping[str, str]
    files: tuple[BucketFile, ...]

    def view(self, folder: Path, bucket: int) -> str:
        """Return the statement by which questions find the rows of a bucket under the table's name."""
        path = literal(str(folder / self.file(bucket).path))
        shown = f"{quote_name(CATALOG)}.main.{quote_name(self.name)}"
        rows = f"SELECT {restored(self.types)} FROM read_parquet({path}, hive_partitioning = false)"  # noqa: S608
        return f"CREATE OR REPLACE VIEW {shown} AS {rows}"

    def file(self, bucket: int) -> BucketFile:
        """Return the file in which the rows of a bucket are."""
        return self.files[0 if self.public else bucket]


@dataclass(frozen=True)
class BucketLayout:
    """A layout as its manifest has it; `made_of` names the data, and the policy's terms that shape it."""

    made_of: str
    buckets: int
    tables: tuple[BucketedTable, ...]
    attached: tuple[str, ...]
    stamps: Mapping[str, str]

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
                    tuple(BucketFile(**file) for file in table["files"]),
                )
                for table in content["tables"]
            ]
            layout = cls(
                str(content["made_of"]),
                int(content["buckets"]),
                tuple(tables),
                tuple(map(str, content["attached"])),
                {str(name): str(stamp) for name, stamp in content["stamps"].items()},
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            raise NotAsWritten from None
        if any(len(t.files) != (1 if t.public else layout.buckets) for t in layout.tables):
            raise NotAsWritten
        return layout

    def public_only(self) -> BucketLayout:
        """Return the layout without what is about anybody."""
        public = tuple(table for table in self.tables if table.public)
        return BucketLayout(self.made_of, self.buckets, public, (), self.stamps)


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
    return (table.file(bucket) for table in layout.tables)


def _hash_of(content: Mapping[str, object]) -> str:
    written = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(written.encode()).hexdigest()
