"""A DuckDB connection that can read one attached database and nothing else.

The order matters. Settings that need the file system come before external access is switched off,
and the configuration is locked last. Every setting is read back, because a misspelt or renamed one
would otherwise fail open.

Switching external access off still leaves the attached file and the spill directory reachable
(`read_blob`, `COPY … TO`). Landlock closes that where the kernel has it. Elsewhere DuckDB's whole
local file system is disabled, which closes it too but costs spilling to disk: DuckDB writes its
temporary files through the same layer.

Some settings belong to a session, and a cursor is a session of its own that does not inherit them.
They are therefore made for the whole instance, and `question_cursor` reads all of them back on the
very cursor that runs a question. As the configuration is locked, they stay what they were then.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

CATALOG = "data"
# DuckDB's own limit sits below the operating system's so that it spills before it is refused.
_MEMORY_SHARE = 0.8
_SPILL_BYTES_PER_MEMORY_BYTE = 10
_BYTES = {"bytes": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40, "PiB": 50}

# One thread until the files are confined: threads started later inherit the confinement.
_CONNECT = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_unsigned_extensions": False,
    "allow_persistent_secrets": False,
    "async_threads": 0,
    "threads": 1,
}

# Which questions have an answer, and which one, rests on these.
_FOR_QUESTIONS: dict[str, str | bool] = {
    "TimeZone": "UTC",
    "python_enable_replacements": False,
    "error_on_division_by_zero": False,
    "scalar_subquery_error_on_multiple_rows": False,
    "ieee_floating_point_ops": True,
    "integer_division": False,
    "default_collation": "",
    # It decides conditions of all rows from the ends of a column, which are somebody's values.
    "disabled_optimizers": "statistics_propagation",
}
_CLOSED: dict[str, str | bool] = {"enable_external_access": False, "lock_configuration": True}


class NotLocked(Exception):
    """A setting did not take; the connection must not be used."""


def connect() -> duckdb.DuckDBPyConnection:
    """Return a fresh in-memory connection that can neither fetch nor load extensions."""
    import duckdb

    connection = duckdb.connect(":memory:", config=dict(_CONNECT))
    for name, value in _CONNECT.items():
        _verify(connection, name, value)
    return connection


def attach(
    connection: duckdb.DuckDBPyConnection, database: Path, *, read_only: bool, name: str = CATALOG
) -> None:
    """Attach a database file, if nothing else is said under the name the emitted SQL uses."""
    mode = "READ_ONLY" if read_only else "READ_WRITE"
    connection.execute(f"ATTACH {literal(str(database))} AS {quote_name(name)} ({mode})")


def limit(
    connection: duckdb.DuckDBPyConnection, memory_bytes: int, spill: Path | None, threads: int
) -> None:
    """Set what the engine may use: memory, spill directory and size, threads."""
    engine_bytes = int(memory_bytes * _MEMORY_SHARE)
    spill_bytes = memory_bytes * _SPILL_BYTES_PER_MEMORY_BYTE
    _set(connection, "temp_directory", str(spill or ""))
    connection.execute(f"SET memory_limit = '{engine_bytes}B'")
    _verify_bytes(connection, "memory_limit", engine_bytes)
    if spill is not None:
        connection.execute(f"SET max_temp_directory_size = '{spill_bytes}B'")
        _verify_bytes(connection, "max_temp_directory_size", spill_bytes)
    _set(connection, "threads", threads)


def settle(connection: duckdb.DuckDBPyConnection) -> None:
    """Settle what questions mean on every cursor of this instance, also on those still to come."""
    for name, value in _FOR_QUESTIONS.items():
        _set(connection, name, value)


def lock(connection: duckdb.DuckDBPyConnection, *, files_confined: bool) -> None:
    """Apply the settings that questions need, deny all access to files, then lock the configuration."""
    settle(connection)
    _set(connection, "enable_external_access", False)
    if not files_confined:
        # After external access, not before: before, that setting would fail open. It reads back
        # empty, so what is verified is that it bites.
        connection.execute("SET disabled_filesystems = 'LocalFileSystem'")
        _verify_no_files(connection)
    _set(connection, "lock_configuration", True)


def question_cursor(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Return a cursor of a locked connection to run a question on, its settings read back on it.

    It is new, so that a question that makes tables of its own leaves none behind for another.
    """
    cursor = connection.cursor()
    wanted = {**_FOR_QUESTIONS, **_CLOSED}
    listed = ", ".join(f"current_setting({literal(name)})" for name in wanted)
    (found,) = cursor.execute(f"SELECT {listed}").fetchall()
    for name, value in zip(wanted, found, strict=True):
        if value != wanted[name]:
            raise NotLocked(name)
    return cursor


def allow_only(connection: duckdb.DuckDBPyConnection, paths: Sequence[Path]) -> None:
    """Lock a preparing connection to the files it was told to read (and what it has attached)."""
    listed = ", ".join(literal(str(path)) for path in paths)
    connection.execute(f"SET allowed_paths = [{listed}]")
    _set(connection, "enable_external_access", False)
    _set(connection, "lock_configuration", True)


def lock_to_folder(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Apply the settings that questions need, deny all files but those below a folder, then lock.

    Whether those may be written to, the operating system decides.
    """
    settle(connection)
    connection.execute(f"SET allowed_directories = [{literal(f'{folder}/')}]")
    _set(connection, "enable_external_access", False)
    _set(connection, "lock_configuration", True)


def quote_name(name: str) -> str:
    """Return an identifier in double quotes.

    >>> quote_name('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a string constant in single quotes.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def _set(connection: duckdb.DuckDBPyConnection, name: str, value: str | bool | int) -> None:
    written = literal(value) if isinstance(value, str) else str(value).lower()
    connection.execute(f"SET GLOBAL {name} = {written}")
    _verify(connection, name, value)


def _verify(connection: duckdb.DuckDBPyConnection, name: str, value: object) -> None:
    if _current(connection, name) != value:
        raise NotLocked(name)


def _verify_bytes(connection: duckdb.DuckDBPyConnection, name: str, value: int) -> None:
    shown = re.fullmatch(r"([0-9.]+) (\w+)", str(_current(connection, name)))
    if shown is None or shown[2] not in _BYTES:
        raise NotLocked(name)
    # Shown with one decimal, cut off rather than rounded.
    if not -1e-6 < value / 2 ** _BYTES[shown[2]] - float(shown[1]) < 0.1 + 1e-6:
        raise NotLocked(name)


def _current(connection: duckdb.DuckDBPyConnection, name: str) -> object:
    ((value,),) = connection.execute("SELECT current_setting(?)", [name]).fetchall()
    return value


def _verify_no_files(connection: duckdb.DuckDBPyConnection) -> None:
    import duckdb

    try:
        connection.execute("SELECT count(*) FROM glob('/*')").fetchall()
    except duckdb.PermissionException as refusal:
        if "LocalFileSystem" in str(refusal):
            return
    raise NotLocked("disabled_filesystems")
