"""A copy spread over buckets of files that other machines open, by `sanql prepare` on this machine.

The rows of a copy lie in the order of the units' buckets (`kernel/clustering.py`); a bucket of the layout
is a range of them. Rows that are units by themselves are spread by their places in the copy, and written
anew with each.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.engines.failures import not_ready
from sanql.engines.layouts import (
    JOURNAL,
    PLACE,
    buckets_for,
    clear,
    current_layout,
    files_of_layout,
    groups_of,
    layout_folder,
    publish,
    segment_folder,
    writing_to,
)
from sanql.engines.preparation import entry_name
from sanql.errors import Fault, PolicyError
from sanql.kernel import (
    BUCKET,
    CATALOG,
    SEGMENT,
    UNIT,
    ChannelLost,
    added_column,
    identify,
    quote_name,
)
from sanql.kernel.buckets import (
    BucketedTable,
    BucketFile,
    BucketLayout,
    BucketProcess,
    Spread,
    SpreadSegment,
    SpreadTable,
)
from sanql.policy import ViaUnit, own_unit

if TYPE_CHECKING:
    from sanql.catalog import PreparedSource
    from sanql.policy import Policy
    from sanql.sources import Stamped


def spread_layout(
    policy: Policy,
    copy: PreparedSource,
    stamped: Stamped,
    buckets: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> BucketLayout:
    """Write the layout of a copy, unless it is there; PolicyError where that is not possible."""
    _check_attached(policy, copy)
    folder = layout_folder(policy)
    if buckets is None:
        buckets = buckets_for(copy.database.stat().st_size)
    with writing_to(folder):
        current = current_layout(folder)
        tables = [_table(policy, copy, name, buckets) for name in copy.relations]
        written = _written(policy, folder, copy.database, tables, buckets, current, progress)
        made = BucketLayout(
            entry_name(policy, stamped.hashes),
            buckets,
            tuple(
                BucketedTable(table.name, table.public, table.types, written[table.name])
                for table in tables
            ),
            tuple(sorted(_stored_name(copy, name) for name in copy.units)),
            {table: stamped.hashes[table] for table in sorted(stamped.hashes)},
        )
        if made != current:
            publish(folder, made)
            clear(folder, made, current)
        return made


def _table(policy: Policy, copy: PreparedSource, name: str, buckets: int) -> SpreadTable:
    types = dict(copy.types[name]) or {"row": "BOOLEAN"}
    segment = quote_name(added_column(SEGMENT, types))
    bucket = added_column(BUCKET, types) if name in copy.buckets else None
    if name in copy.units:
        # its type is that of what it leads to, which a copy keeps
        types[added_column(UNIT, types)] = _unit_type(policy, copy, name)
    stored, public = _stored_name(copy, name), policy.tables[name].public
    if public or bucket is not None:
        of = [buckets, stored, list(types.items())]
        groups = groups_of(copy.segments[stored])
        segments = [_segment(segment, numbers, [*of, sorted(names)]) for numbers, names in groups]
    else:  # where its rows are is another matter in each copy
        segments = [
            SpreadSegment(segment_folder([buckets, stored, identify(copy.database)]), "TRUE")
        ]
    return SpreadTable(stored, public, types, tuple(segments), bucket)


def _segment(column: str, numbers: list[int], content: list[object]) -> SpreadSegment:
    return SpreadSegment(segment_folder(content), f"{column} IN ({', '.join(map(str, numbers))})")


def _unit_type(policy: Policy, copy: PreparedSource, name: str) -> str:
    while (column := own_unit(policy.tables[name], policy.tables)) is None:
        unit = policy.tables[name].unit
        assert isinstance(unit, ViaUnit)  # noqa: S101  (the policy checked that references lead to a unit)
        name = unit.table
    return next(k for known, k in copy.types[name].items() if known.lower() == column.lower())


def _stored_name(copy: PreparedSource, name: str) -> str:
    """Return what a table is called in the source, as in the copy of it."""
    quoted = copy.relations[name].removeprefix(f'{quote_name(CATALOG)}."main".')
    return quoted[1:-1].replace('""', '"')


def _check_attached(policy: Policy, copy: PreparedSource) -> None:
    """Refuse tables whose rows have no unit beside them: they would be in no bucket."""
    faults = [
        Fault(
            f"table.{name}",
            "its rows cannot be put where their unit is: what they refer to is stored as another type, "
            "or has a key twice",
            "store both columns as one type, and each key once; or leave the engine to this machine",
        )
        for name, table in policy.tables.items()
        if isinstance(table.unit, ViaUnit) and name not in copy.units and name not in copy.buckets
    ]
    if faults:
        raise PolicyError(faults)


def _written(
    policy: Policy,
    folder: Path,
    database: Path,
    tables: list[SpreadTable],
    buckets: int,
    current: BucketLayout | None,
    progress: Callable[[str], None] | None,
) -> Mapping[str, tuple[tuple[BucketFile, ...], ...]]:
    """Write what is not yet there of a layout's files; return all of them, by table and bucket."""
    total = sum(len(table.segments) * (1 if table.public else buckets) for table in tables)
    journal = folder / JOURNAL
    known = {**_journal(journal), **_known(current)}
    request = Spread(database, folder, tuple(tables), buckets, policy.engine.memory_bytes, known)
    found: dict[str, list[list[BucketFile]]] = {
        table.name: [[] for _ in range(1 if table.public else buckets)] for table in tables
    }
    try:
        process = BucketProcess(request)
    except OSError:
        raise not_ready() from None
    done, lost = 0, False
    try:
        journal.touch(mode=0o600)
        with journal.open("a", encoding="utf-8") as written:
            for told in process.told():
                table, name, size, sha256 = json.loads(told)
                found[table][int(Path(name).stem)].append(BucketFile(name, int(size), str(sha256)))
                if known.get(name) != (size, sha256):
                    written.write(json.dumps([name, size, sha256]) + "\n")
                    written.flush()
                done += 1
                if progress is not None:
                    progress(f"preparing buckets: {done} of {total}")
    except ChannelLost:
        lost = True
    finally:
        process.discard()
    if lost or done != total:
        raise PolicyError(
            [
                Fault(
                    PLACE,
                    f"the layout ended after {done} of {total} files",
                    "see that the disk has room, and run `sanql prepare` again: it goes on from there",
                )
            ]
        )
    return {name: tuple(map(tuple, files)) for name, files in found.items()}


def _known(current: BucketLayout | None) -> dict[str, tuple[int, str]]:
    """Return what the files of a layout are."""
    return {file.path: (file.bytes, file.sha256) for file in files_of_layout(current)}


def _journal(path: Path) -> dict[str, tuple[int, str]]:
    """Return which files were written before; the last line may be half of one."""
    known: dict[str, tuple[int, str]] = {}
    if path.exists():
        for line in path.read_text("utf-8").splitlines():
            try:
                name, size, sha256 = json.loads(line)
            except ValueError:
                continue
            known[str(name)] = int(size), str(sha256)
    return known
