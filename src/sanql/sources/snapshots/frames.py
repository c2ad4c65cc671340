"""Data frames in memory: whatever offers its columns as an Arrow stream, or as a mapping of lists."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.catalog import suggest_similar
from sanql.errors import Fault, PolicyError
from sanql.policy import PassedTables, fold
from sanql.sources.snapshots.folder import keep_snapshot, make_folder

if TYPE_CHECKING:
    import pyarrow

    from sanql.policy import Policy


def snapshot_frames(policy: Policy, tables: Mapping[str, object]) -> None:
    """Keep tables that were passed where the policy's data are read; PolicyError where they do not fit.

    A name is the policy's, however it is spelled; every table of the policy is needed, and no other.
    """
    if not isinstance(policy.origin, PassedTables):
        raise PolicyError(
            [
                Fault(
                    "dataset.source",
                    "the policy names a source, and tables were passed besides",
                    "leave `source` out of the policy, or pass no tables",
                )
            ]
        )
    declared = {fold(name): name for name in policy.tables}
    passed = {
        declared[fold(name)]: frame for name, frame in tables.items() if fold(name) in declared
    }
    faults = [
        Fault(
            f"table.{name}",
            "no such table was passed",
            suggest_similar(name, tables) or f'pass tables={{"{name}": …}}',
        )
        for name in policy.tables
        if name not in passed
    ] + [
        Fault(
            f"table.{name}",
            "a table was passed that the policy does not declare",
            suggest_similar(name, policy.tables) or "declare it, or leave it out",
        )
        for name in tables
        if fold(name) not in declared
    ]
    if faults or len(passed) < len(tables):
        raise PolicyError(faults or [_twice()])
    begin = {name: partial(_rows, name, frame) for name, frame in passed.items()}
    make_folder(Path(policy.source))
    keep_snapshot(Path(policy.source), begin, _not_a_table)


def _rows(name: str, frame: object) -> pyarrow.RecordBatchReader:
    """Return the rows of a frame of pandas, polars, Arrow or DuckDB, or of a mapping of columns."""
    import pyarrow

    try:
        if isinstance(frame, Mapping):
            return pyarrow.table(dict(frame)).to_reader()
        if isinstance(frame, pyarrow.RecordBatchReader):
            return frame
        if hasattr(frame, "__arrow_c_stream__"):
            return pyarrow.RecordBatchReader.from_stream(frame)
    except (pyarrow.ArrowException, ValueError, TypeError, OverflowError):  # they quote values
        raise PolicyError([_not_a_table(name)]) from None
    raise PolicyError(
        [
            Fault(
                f"table.{name}",
                f"a {type(frame).__name__} is no table",
                "pass a frame of pandas, polars or Arrow, a DuckDB relation, or a dict of columns",
            )
        ]
    )


def _twice() -> Fault:
    return Fault("dataset.source", "a table was passed twice", "spell its name in one way")


def _not_a_table(name: str) -> Fault:
    """Return the fault of a table that cannot be read as columns that have a type each."""
    return Fault(
        f"table.{name}",
        "what was passed cannot be kept as a table: a column mixes types, or has one that"
        " Parquet does not know",
        "give each column one type (numbers, text, dates, true or false), or leave it out",
    )
