"""Data frames in memory: whatever offers its columns as an Arrow stream, or as a mapping of lists."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from sanql.catalog import suggest_similar
from sanql.errors import Fault, PolicyError
from sanql.policy import PassedTables, fold
from sanql.sources.snapshots.folder import keep_snapshot, make_folder
from sanql.sources.snapshots.wanted import chosen_columns, wanted_columns

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from sanql.policy import Policy, Table


def snapshot_frames(policy: Policy, tables: Mapping[str, object]) -> None:
    """Keep tables that were passed where the policy's data are read; PolicyError where they do not fit.

    A name is the policy's, however it is spelled; every table of the policy is needed, and no other. Of
    their columns those are kept that the policy uses.
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
    if not isinstance(tables, Mapping):
        said = f"a {type(tables).__name__} was passed, and not tables by their names"
        remedy = f'pass tables={{"{next(iter(policy.tables))}": …}}'
        raise PolicyError([Fault("dataset.source", said, remedy)])
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
    begin = {
        name: partial(_rows, policy, policy.tables[name], frame) for name, frame in passed.items()
    }
    make_folder(Path(policy.source))
    keep_snapshot(Path(policy.source), begin, _not_a_table)


def _rows(policy: Policy, table: Table, frame: object) -> pyarrow.RecordBatchReader:
    """Return the rows of a frame of pandas, polars, Arrow or DuckDB, or of a mapping of columns."""
    import pyarrow

    def chosen(names: Sequence[str]) -> list[str]:
        columns = chosen_columns(policy, table, names)
        if isinstance(columns, Fault):
            raise PolicyError([columns])
        return columns or [*names[:1]]  # where rows are only counted

    given: Mapping[str, object] = {}
    try:
        if _is_pandas(frame):
            whole = _indexed_too(frame, wanted_columns(policy, table))
            names = [*map(str, whole.columns)]
            columns = chosen(names)
            part = whole.iloc[:, [names.index(name) for name in columns]].set_axis(columns, axis=1)
            given = dict(part.items())
            return _plain(pyarrow.Table.from_pandas(part, preserve_index=False), columns)
        if isinstance(frame, Mapping):
            named = {str(name): values for name, values in frame.items()}
            given = {name: named[name] for name in chosen([*named])}
            return _plain(pyarrow.table(given), [*given])
        if hasattr(frame, "__arrow_c_stream__"):
            rows = pyarrow.RecordBatchReader.from_stream(frame)
            return _plain(rows, chosen(rows.schema.names))
    except (pyarrow.ArrowException, ValueError, TypeError, OverflowError):  # they quote values
        raise PolicyError(_untyped(table.name, given) or [_not_a_table(table.name)]) from None
    raise PolicyError(
        [
            Fault(
                f"table.{table.name}",
                f"a {type(frame).__name__} is no table",
                "pass a frame of pandas, polars (collected) or Arrow, a DuckDB relation, or a dict of"
                " columns",
            )
        ]
    )


def _is_pandas(frame: object) -> TypeGuard[pandas.DataFrame]:
    """Return whether it is a frame of pandas, which is there only where somebody has imported it."""
    library = sys.modules.get("pandas")
    return library is not None and isinstance(frame, library.DataFrame)


def _indexed_too(frame: pandas.DataFrame, wanted: Sequence[str] | None) -> pandas.DataFrame:
    """Return a frame with its index as columns, where that has a name which the policy uses."""
    used = {*map(fold, wanted or ())} - {fold(str(name)) for name in frame.columns}
    return frame.reset_index() if used & {fold(str(name)) for name in frame.index.names} else frame


def _untyped(name: str, columns: Mapping[str, object]) -> list[Fault]:
    """Return the faults of columns that have no one type."""
    import pyarrow

    faults = []
    for column, values in columns.items():
        try:
            pyarrow.array(values)
        except (pyarrow.ArrowException, ValueError, TypeError, OverflowError):
            faults.append(
                Fault(
                    f"table.{name}.column.{column}",
                    "the column mixes types, or has one that Parquet does not know",
                    "give it one type: numbers, text, dates, or true and false",
                )
            )
    return faults


def _plain(
    frame: pyarrow.Table | pyarrow.RecordBatchReader, columns: list[str]
) -> pyarrow.RecordBatchReader:
    """Return some columns of rows, with texts in place of numbers that stand for them."""
    import pyarrow

    rows = frame.to_reader() if isinstance(frame, pyarrow.Table) else frame
    fields = [rows.schema.field(name) for name in columns]
    coded = [pyarrow.types.is_dictionary(field.type) for field in fields]
    schema = pyarrow.schema(
        [
            field.with_type(_stored(field.type.value_type)) if is_coded else field
            for field, is_coded in zip(fields, coded, strict=True)
        ]
    )

    def batches() -> Iterator[pyarrow.RecordBatch]:
        for batch in rows:
            arrays = [
                array.dictionary.cast(field.type).take(array.indices) if is_coded else array
                for array, field, is_coded in zip(
                    batch.select(columns).columns, schema, coded, strict=True
                )
            ]
            yield pyarrow.RecordBatch.from_arrays(arrays, schema=schema)

    return pyarrow.RecordBatchReader.from_batches(schema, batches())


def _stored(kind: pyarrow.DataType) -> pyarrow.DataType:
    import pyarrow

    texts = pyarrow.types.is_string_view(kind) or pyarrow.types.is_string(kind)
    return pyarrow.large_string() if texts else kind


def _twice() -> Fault:
    return Fault("dataset.source", "a table was passed twice", "spell its name in one way")


def _not_a_table(name: str) -> Fault:
    """Return the fault of a table that cannot be read as columns that have a type each."""
    return Fault(
        f"table.{name}",
        "what was passed cannot be kept as a table: a column mixes types, has one that Parquet does"
        " not know, or is not as long as the others",
        "give each column one type (numbers, text, dates, true or false) and one length",
    )
