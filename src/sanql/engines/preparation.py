"""A policy's data made ready for an engine: checked, and copied once if they are not used in place.

An entry of the cache is named by what the bytes are (sources/stamps.py) and by what shapes their
preparation, so files that were touched or copied are not prepared again. Which version of the data they
are, and whether they may be read at all, is decided elsewhere (ask/data.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.account import WHOLE
from sanql.catalog import (
    BoundTable,
    Description,
    Layout,
    PreparedSource,
    Summary,
    bind,
    layout,
    remarks_on,
)
from sanql.compile import summaries_of, summing
from sanql.engines.open import open_engine
from sanql.engines.protocol import Engine
from sanql.engines.segments import (
    SEGMENTS,
    copy_with_most_of,
    hash_of,
    segment_names,
    segments_of,
)
from sanql.errors import Fault, PolicyError
from sanql.kernel import (
    Copy,
    CopyReport,
    Stamp,
    SummedCost,
    database_files,
    stamp,
)
from sanql.policy import fold, identifiers, unit_path
from sanql.sources import (
    Cache,
    Source,
    Stamped,
    Stamps,
    admit_unopened,
    changing_files,
    check_files_readable,
    locate,
    vanished_file,
)

if TYPE_CHECKING:
    from sanql.policy import Policy

Progress = Callable[[str], None]

# Part of every entry's name: raise it when the same files would be prepared differently.
PREPARATION_VERSION = 10
_ATTEMPTS_MAX = 3
_ROW_BYTES = 384  # that a row of a private table takes while it is grouped by unit and key, at most
_VALUE_BYTES = 16  # that a value takes which is in a list of its unit's, at most
_PARTS_MAX = 256
_ROWS_OF_A_PART = 2_000_000  # in a copy
_ROWS_OF_A_BLOCK = 250_000
_BLOCKS_MAX = 8
_COPY = "copy"  # in an entry: what was seen of the copy, where there is one


def describe(
    policy: Policy,
    stamps: Mapping[str, str] | None = None,
    admit: Callable[[Source], object] | None = None,
    engine: Engine | None = None,
) -> Description:
    """Check a policy against its source; raise PolicyError with every fault, touching no cache.

    A database is described as if it were read in place: whether it is copied hangs on its rows, and what
    is written over a description may be shown. Where tables with these `stamps` have been prepared, what
    was found then is found again, without looking at the source. Where types must be read from rows, the
    source is to `admit` it first.
    """
    source = locate(policy)
    prepared = None if stamps is None else Cache(policy.ledger).schema(entry_name(policy, stamps))
    looked = None if prepared is not None else _stamp(source)
    if prepared is None and source.reads_rows:
        (admit if admit is not None else partial(admit_unopened, policy))(source)
    schema = prepared if prepared is not None else _inspect(policy, source, engine)
    formats = source.formats(policy)
    bound = bind(policy, formats, schema)
    read = layout(bound, copied=not source.in_place)
    return Description(
        **vars(read), stamp=looked, schema=schema, remarks=remarks_on(policy, formats, bound)
    )


def is_prepared(policy: Policy, stamps: Mapping[str, str]) -> bool:
    """Return whether tables with these stamps have been looked at for this policy."""
    return Cache(policy.ledger).schema(entry_name(policy, stamps)) is not None


def prepare(
    policy: Policy,
    progress: Progress | None = None,
    known: Description | None = None,
    stamps: Stamps | None = None,
    stamped: Stamped | None = None,
    source: Source | None = None,
    engine: Engine | None = None,
    *,
    copied: bool = False,
) -> PreparedSource:
    """Return the policy's source, ready to open; what is not used in place is copied the first time.

    It may be `copied` although it need not be: it is then found so from now on.

    A description of the same files saves looking at them again, and so does what they are `stamped`
    as; files that are something else by now are a PolicyError then. A `source` that was admitted is
    what is read, wherever the policy's path leads by now.
    """
    cache = Cache(policy.ledger)
    stamps = stamps if stamps is not None else Stamps(policy.ledger)
    for _ in range(_ATTEMPTS_MAX):
        here = locate(policy) if source is None else source
        current = stamped if stamped is not None else stamps.of(here)
        prepared = _recall(policy, here, current, cache, copied=copied)
        if prepared is not None:
            return prepared
        with cache.writing(entry_name(policy, current.hashes)):
            if _recall(policy, here, current, cache, copied=copied) is None:
                schema = _known_schema(known, current) or _inspect(policy, here, engine)
                makes = copied or here.is_copied(bind(policy, here.formats(policy), schema), schema)
                _build(policy, here, current, cache, schema, stamps, progress, engine, copied=makes)
            cache.clear(keep=entry_name(policy, current.hashes))
    raise changing_files()


def _recall(
    policy: Policy, source: Source, stamped: Stamped, cache: Cache, *, copied: bool
) -> PreparedSource | None:
    """Return the prepared source if its entry is complete, and a copy where it must be `copied`."""
    fingerprint = entry_name(policy, stamped.hashes)
    schema = cache.schema(fingerprint)
    if schema is None or (copied and _COPY not in schema):
        return None
    bound = bind(policy, source.formats(policy), schema)
    copied = _COPY in schema
    if copied:
        database = cache.database(fingerprint)
        if not cache.holds(fingerprint, schema):
            return None
        own = stamp(database_files(database.resolve()))
    else:
        database, own = source.paths()[0], stamped.stamp
    cache.touch(fingerprint)
    nothing: dict[str, object] = {"one_row": [], "attached": []}
    seen = CopyReport.from_dict(schema[_COPY] if copied else {**schema, **nothing})
    read = layout(bound, copied=copied, one_row=seen.one_row, attached=seen.attached)
    if copied:
        read = replace(read, summaries=_summaries(policy, bound, read, seen.rows, seen.summed))
    read = _in_parts(read, policy, bound, seen.rows, copied=copied)
    return PreparedSource(
        **vars(read),
        database=database,
        fingerprint=fingerprint,
        stamp=own,
        segments=segments_of(schema),
    )


def _in_parts(
    read: Layout,
    policy: Policy,
    bound: Mapping[str, BoundTable],
    rows: Mapping[str, int],
    *,
    copied: bool,
) -> Layout:
    """Return how tables are read with units in parts, so that what is computed of one fits into memory.

    In a copy a part is a range of rows, and small parts and blocks of them are quicker where rows are
    grouped by keys: they fit into caches of processors. Elsewhere each part reads all rows. It hangs on
    how many rows the private tables have, and on nothing that is asked.
    """
    private = [bound[name] for name, table in policy.tables.items() if not table.public]
    most = max((rows.get(table.name, 0) for table in private), default=0)
    needed, quick = (_parts(policy, most, copied=each) for each in (False, copied))
    blocks = most // quick // _ROWS_OF_A_BLOCK if copied else 1
    blocks = min(max(1, blocks), _BLOCKS_MAX)
    return replace(read, parts=needed, parts_by_key=quick, blocks=blocks)


def _parts(policy: Policy, rows: int, *, copied: bool) -> int:
    needed = -(-rows * _ROW_BYTES // policy.engine.memory_bytes)
    quick = rows // _ROWS_OF_A_PART if copied else 1
    return min(max(1, needed, quick), _PARTS_MAX)


def _summaries(
    policy: Policy,
    bound: Mapping[str, BoundTable],
    read: Layout,
    rows: Mapping[str, int],
    costs: Mapping[str, SummedCost],
) -> Mapping[str, tuple[Summary, ...]]:
    """Return the relations of rows added up that a copy has, those of fewest rows first."""

    def by_rows(table: str, summaries: tuple[Summary, ...]) -> Iterator[Summary]:
        for summary in summaries:
            cost = costs[summary.name]
            listed = rows.get(bound[table].name, 0) * len(summary.lists)
            needed = cost.rows + listed * _VALUE_BYTES // _ROW_BYTES
            yield replace(summary, cost=cost, parts=_parts(policy, needed, copied=True))

    return {
        table: tuple(sorted(by_rows(table, each), key=lambda summary: summary.cost.rows))
        for table, each in summaries_of(policy.tables, read).items()
    }


def schema_of(
    policy: Policy,
    source: Source,
    stamped: Stamped,
    known: Description | None = None,
    engine: Engine | None = None,
) -> Mapping[str, object]:
    """Return the names and types in a source, as they were found before or are found now."""
    found = Cache(policy.ledger).schema(entry_name(policy, stamped.hashes))
    return found or _known_schema(known, stamped) or _inspect(policy, source, engine)


def _known_schema(known: Description | None, stamped: Stamped) -> Mapping[str, object] | None:
    """Return what is known of a source, if it was found in the very files that are there now."""
    return known.schema if known is not None and known.stamp == stamped.stamp else None


def _build(
    policy: Policy,
    source: Source,
    stamped: Stamped,
    cache: Cache,
    schema: Mapping[str, object],
    stamps: Stamps,
    progress: Progress | None,
    engine: Engine | None,
    *,
    copied: bool,
) -> None:
    """Make the entry, unless the files changed meanwhile: then it would vouch for other bytes."""
    fingerprint = entry_name(policy, stamped.hashes)
    bound = bind(policy, source.formats(policy), schema)
    seen: dict[str, object] = {}
    if copied:
        target = cache.building(fingerprint)
        request = source.copying(policy, bound, schema, target, stamps.bucket_secret())
        request = _with_summaries(policy, bound, request)
        segments = segment_names(request, stamped, PREPARATION_VERSION)
        named = (replace(each, segments=segments[each.name]) for each in request.tables)
        before = copy_with_most_of(cache, segments)
        request = replace(request, tables=tuple(named), before=before, stamp=stamped.stamp)
        begun = cache.is_begun(fingerprint)
        report = _copy(request, progress, engine)
        if isinstance(report, str) and stamps.of(locate(policy)) != stamped:
            return
        if isinstance(report, str) and begun:  # what was begun may be of no use
            cache.begin_anew(fingerprint)
            report = _copy(request, progress, engine)
        if isinstance(report, str):
            cache.begin_anew(fingerprint)  # the disk may be full
            raise PolicyError([source.not_copied(report)])
        seen = {_COPY: report.to_dict(), SEGMENTS: segments}
    if stamps.of(locate(policy)) == stamped:
        cache.record(fingerprint, {**schema, **seen})


def _with_summaries(policy: Policy, bound: Mapping[str, BoundTable], request: Copy) -> Copy:
    """Return a request for a copy in which rows are added up as the policy says."""
    asked = summing(policy.tables, layout(bound, copied=True))
    named = {bound[table].name: summed for table, summed in asked.items()}
    tables = tuple(replace(t, summed=named.get(t.name, ())) for t in request.tables)
    return replace(request, tables=tables)


def _inspect(policy: Policy, source: Source, engine: Engine | None) -> dict[str, object]:
    """Return the names and types in a source, as an engine found them."""
    check_files_readable(source)
    schema = (engine or open_engine()).describe(source.inspection(policy))
    if schema is None:
        raise PolicyError(
            [
                Fault(
                    "dataset.source",
                    f"{policy.source!r} cannot be opened",
                    "check that it is whole, readable and not being written by another program",
                )
            ]
        )
    return schema


def _copy(request: Copy, progress: Progress | None, engine: Engine | None) -> CopyReport | str:
    """Return what was seen of a copy; the table that was being copied where that was not possible."""
    files = {table.name: len(table.projections) for table in request.tables}
    begun: list[str] = []
    parts = Counter[str]()

    def begin(table: str) -> None:
        begun.append(table)
        parts[table] += 1
        number = sum(min(count, files[each]) for each, count in parts.items())
        words = f"preparing {table}: {number} of {sum(files.values())}"
        if parts[table] > files[table]:
            words = f"moving {table} to its units: part {parts[table] - files[table]}"
        if progress is not None:
            progress(words)

    seen = (engine or open_engine()).copy(request, begin)
    return seen if seen is not None else begun[-1] if begun else request.tables[0].name


def entry_name(policy: Policy, hashes: Mapping[str, str]) -> str:
    """Return the name of a prepared copy: what the bytes are, and everything that shapes it."""
    known = {fold(name): digest for name, digest in hashes.items()}
    own = [(table.name, known.get(fold(table.name))) for table in policy.tables.values()]
    paths = [unit_path(t, policy.tables) for t in policy.tables.values() if not t.public]
    content = [PREPARATION_VERSION, own, hashes.get(WHOLE), _declared(policy), paths]
    return hash_of([*content, *_summed(policy)])


def first_fingerprint(policy: Policy, source: Source) -> str:
    """Return the name that version 0.1.0 gave a source, by which older ledgers may know it."""
    try:
        stamps = [(str(path), _stamp_of_first(path)) for path in source.paths()]
    except OSError:
        raise vanished_file() from None
    return hash_of([1, stamps, _declared(policy)])


def _stamp_of_first(path: Path) -> tuple[int, int, int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _declared(policy: Policy) -> list[tuple[object, ...]]:
    return [
        (
            table.name,
            table.public,
            identifiers(table, policy.tables),
            [(column.name, column.type, column.bytes_max) for column in table.columns.values()],
        )
        for table in policy.tables.values()
    ]


def _summed(policy: Policy) -> list[tuple[object, ...]]:
    """Return what shapes the rows that are added up, bounds and grids among it, where there are any."""
    found: list[tuple[object, ...]] = []
    for table in policy.tables.values():
        if table.summaries is None:
            continue
        summaries = table.summaries
        of, ranked = (
            [
                (c.name, str(c.bounds), str(c.precision), c.nullable)
                for c in map(table.columns.__getitem__, names)
            ]
            for names in (summaries.of, summaries.quantiles_of)
        )
        found.append((table.name, summaries.by, of, *([ranked] if ranked else [])))
    return found


def _stamp(source: Source) -> Stamp:
    try:
        return stamp(source.paths())
    except OSError:
        raise vanished_file() from None
