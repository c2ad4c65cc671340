"""Parquet files in an object store, through Arrow's file systems; credentials are the environment's.

A table is NAME.parquet, or the parts in NAME/. What was listed before is listed again after all has been
read: files that changed meanwhile are not one moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from posixpath import normpath
from typing import TYPE_CHECKING, Any

from sanql.account import Address, address_of
from sanql.catalog import suggest_similar
from sanql.errors import Fault, PolicyError
from sanql.policy import fold
from sanql.sources.snapshots.folder import keep_snapshot, make_folder
from sanql.sources.snapshots.manifest import Manifest, TableOrigin
from sanql.sources.snapshots.wanted import chosen_columns, wanted_columns

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import dataset, fs

    from sanql.policy import ObjectStore, Policy, Table

_SUFFIX = ".parquet"
_LAYOUT = "put NAME.parquet or a folder NAME/ of such parts there"


class _Store:
    """A folder of an object store, with what is directly in it."""

    def __init__(self, place: ObjectStore) -> None:
        from pyarrow import fs

        self.place = place
        self.system, self.root = fs.FileSystem.from_uri(str(place))
        self.entries = self.listed(self.root)

    def listed(self, folder: str) -> list[fs.FileInfo]:
        """Return what is in a folder, in order; hidden files are no data."""
        from pyarrow import fs

        found = self.system.get_file_info(fs.FileSelector(folder))
        seen = [each for each in found if not each.base_name.startswith((".", "_"))]
        return sorted(seen, key=lambda each: str(each.path))

    def files_of(self, table: Table) -> tuple[str, list[fs.FileInfo]] | Fault:
        """Return the entry of a table and its files."""
        from pyarrow import fs

        at = f"table.{table.name}"
        names = {each.path: each.base_name.removesuffix(_SUFFIX) for each in self.entries}
        named = [each for each in self.entries if fold(names[each.path]) == fold(table.name)]
        if not named:
            hint = suggest_similar(table.name, list(names.values()))
            return Fault(at, "the source has no file or folder for it", hint or _LAYOUT)
        if len(named) > 1:
            spelled = ", ".join(each.base_name for each in named)
            return Fault(at, f"the source has several candidates: {spelled}", "keep one of them")
        (entry,) = named
        inside = [entry] if entry.type == fs.FileType.File else self.listed(entry.path)
        files = [each for each in inside if each.base_name.endswith(_SUFFIX)]
        if not files or len(files) < len(inside):
            return Fault(at, f"{entry.base_name} is no Parquet file, or no folder of such", _LAYOUT)
        return entry.path, files

    def address(self, path: str) -> Address:
        """Return how an account claims a file or folder; one of this machine is known by its inode."""
        if self.system.type_name == "local":
            return address_of(Path(path))
        return address_in_store(self.place, path)


def address_in_store(place: ObjectStore, path: str) -> Address:
    """Return how an account claims what lies at a path of a store, however either is spelled.

    `abfs` and `abfss` are one store, with and without TLS; some stores take `a//b` and `a/./b` for `a/b`.

    >>> from sanql.policy import ObjectStore
    >>> address_in_store(ObjectStore("abfss://clinic@north/lake"), "clinic//lake/").identity
    'abfs:clinic/lake'
    """
    scheme = place.address.partition(":")[0]
    store, within = "abfs" if scheme == "abfss" else scheme, normpath(path.strip("/"))
    return Address(Path(f"/{store}:") / within, f"{store}:{within}", folder=False)


def look_at_store(policy: Policy, place: ObjectStore) -> None:
    """Raise PolicyError where a table or a column is missing; no row is read."""
    with _in_words(place):
        _look_up(policy, _Store(place))


def snapshot_store(policy: Policy, place: ObjectStore, admit: Callable[[Manifest], None]) -> None:
    """Keep the policy's tables as they are now; PolicyError where they cannot be read, or change."""
    make_folder(Path(policy.source))
    with _in_words(place):
        tables = _look_up(policy, _Store(place))
        manifest = Manifest(str(place), {name: origin for name, (origin, _) in tables.items()})
        admit(manifest)

    def check_unchanged() -> None:
        with _in_words(place):
            again = {name: found for name, (found, _) in _look_up(policy, _Store(place)).items()}
        if again != dict(manifest.tables):
            said = f"files of {place} have changed while they were read"
            remedy = "wait until they are complete, then try again"
            raise PolicyError([Fault("dataset.source", said, remedy)])

    begin = {name: begin for name, (_, begin) in tables.items()}
    keep_snapshot(Path(policy.source), begin, _failed, manifest, check_unchanged)


def _look_up(
    policy: Policy, store: _Store
) -> dict[str, tuple[TableOrigin, Callable[[], pyarrow.RecordBatchReader]]]:
    from pyarrow import dataset

    found: dict[str, tuple[TableOrigin, Callable[[], pyarrow.RecordBatchReader]]] = {}
    faults: list[Fault] = []
    for table in policy.tables.values():
        listed = store.files_of(table)
        if isinstance(listed, Fault):
            faults.append(listed)
            continue
        entry, files = listed
        paths = [each.path for each in files]
        data = dataset.dataset(paths, filesystem=store.system, format="parquet")
        columns = _columns(policy, table, data)
        if isinstance(columns, Fault):
            faults.append(columns)
            continue
        claimed = dict.fromkeys(map(store.address, (entry, *paths)))
        origin = TableOrigin(
            tuple(claimed),
            (store.address(store.root.rstrip("/")),),
            wanted_columns(policy, table),
            "; ".join(f"{each.base_name} {each.size} {each.mtime_ns}" for each in files),
        )
        found[table.name] = origin, partial(_rows, data, columns)
    if faults:
        raise PolicyError(faults)
    return found


def _columns(policy: Policy, table: Table, data: dataset.Dataset) -> list[str] | Fault:
    """Return the columns that the policy uses; every part must have them, with one type."""
    chosen = chosen_columns(policy, table, data.schema.names)
    if isinstance(chosen, Fault):
        return chosen
    for part in data.get_fragments():
        for name in chosen:
            own = part.physical_schema
            if name not in own.names or own.field(name).type != data.schema.field(name).type:
                said = f'a part lacks the column "{name}", or has another type for it'
                return Fault(f"table.{table.name}.column.{name}", said, "write all parts alike")
    return chosen


def _rows(data: dataset.Dataset, columns: list[str]) -> pyarrow.RecordBatchReader:
    import pyarrow.compute as pc

    counted: Any = columns or {"row": pc.scalar(True)}
    return data.scanner(columns=counted).to_reader()


def _failed(name: str) -> Fault:
    return Fault(
        f"table.{name}",
        "its files could not be read to the end",
        "check that they are whole Parquet files and that the store can be reached, then try again",
    )


@contextmanager
def _in_words(place: ObjectStore) -> Iterator[None]:
    """Say what went wrong in words of our own: those of the store may quote whatever was sent."""
    import pyarrow

    try:
        yield
    except (OSError, pyarrow.ArrowException, ValueError):
        said = f"{place} cannot be listed and read"
        remedy = "see to its name, to the network, and to the credentials in the environment"
        raise PolicyError([Fault("dataset.source", said, remedy)]) from None
