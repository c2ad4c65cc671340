"""A connection to a database that has the data: one transaction that reads, and nothing else.

What the driver says stays here: it may quote values of rows. What went wrong is told by a code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, cast

from sanql.errors import Fault, PolicyError
from sanql.postgres_driver import (
    POSTGRES_LEAST,
    PostgresFault,
    connection_parameters,
    named_password_file,
)
from sanql.secret_file import SecretFileFault

if TYPE_CHECKING:
    from psycopg import Connection, Copy
    from psycopg.sql import Composed

    from sanql.policy import SourceDatabase

PASSWORD_FILE = "SANQL_SOURCE_PASSWORD_FILE"  # noqa: S105  (a variable's name)
"""The variable that names the file of the password, where the policy names none."""

_LOCK_SECONDS = 10
_SETTINGS = {
    "row_security": "off",  # a policy that would hide rows is an error
    "search_path": "pg_catalog",
    "client_encoding": "UTF8",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "bytea_output": "hex",
    "extra_float_digits": "1",  # as many as tell every number apart
    "lock_timeout": f"{_LOCK_SECONDS}s",
    "statement_timeout": "0",
}
_SYSTEM = """SELECT current_setting('server_version_num')::int,
    (SELECT system_identifier FROM pg_control_system()) || ':' ||
    (SELECT oid FROM pg_database WHERE datname = current_database())"""

Isolation = Literal["READ COMMITTED", "REPEATABLE READ"]


class SourceSession:
    """A connection in a transaction that may only read; `run` raises PostgresFault where it fails."""

    def __init__(self, place: SourceDatabase, isolation: Isolation) -> None:
        self._place = place
        self._connection = _connect(place)
        try:
            ((version, self.system),) = self.run(_SYSTEM)
            ((self.search_path,),) = self.run("SELECT current_schemas(false)")
            self._check_version(version)
            self.run(f"BEGIN TRANSACTION ISOLATION LEVEL {isolation} READ ONLY")
            for name, value in _SETTINGS.items():
                self.run("SELECT set_config(%s, %s, true)", (name, value))
        except BaseException:
            self.close()
            raise

    def run(
        self, statement: str | Composed, values: Sequence[object] = ()
    ) -> list[tuple[Any, ...]]:
        """Return the rows of a statement."""
        import psycopg

        try:
            cursor = self._connection.execute(cast(Any, statement), values or None)
            return cursor.fetchall() if cursor.description is not None else []
        except psycopg.Error as error:
            fault = fault_of(error)
        raise fault  # outside, so that it carries no text of the driver's

    @contextmanager
    def copying(self, statement: Composed) -> Iterator[Copy]:
        """Hold what a COPY statement sends."""
        with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            yield copy

    def close(self) -> None:
        """Let go of the database; nothing was written."""
        self._connection.close()

    def _check_version(self, version: int) -> None:
        if version < POSTGRES_LEAST * 10_000:
            raise PolicyError(
                [
                    Fault(
                        "dataset.source",
                        f"the database {self._place} is PostgreSQL {version // 10_000}",
                        f"name one of PostgreSQL {POSTGRES_LEAST} or newer",
                    )
                ]
            )


class CopiedBytes:
    """What a COPY statement sends, as a file; why it ended early is kept as its `fault`.

    The statement is over when all has been read and `end` was called, or the session is closed.
    """

    closed = False

    def __init__(self, session: SourceSession, statement: Composed) -> None:
        self._left = memoryview(b"")
        self.fault: PostgresFault | None = None
        self._held = session.copying(statement)
        self._copy = self._guarded(self._held.__enter__)

    def is_empty(self) -> bool:
        """Return whether it has nothing at all; call it before the first reading."""
        self._left = memoryview(self._guarded(self._copy.read))
        return not self._left

    def read(self, size: int) -> bytes:
        """Return so many bytes, fewer at the end; ValueError where the database breaks off."""
        parts, wanted = [], size
        while wanted:
            if not self._left:
                self._left = memoryview(self._guarded(self._copy.read))
                if not self._left:
                    break
            part = self._left[:wanted]
            self._left = self._left[len(part) :]
            parts.append(part)
            wanted -= len(part)
        return b"".join(parts)

    def end(self) -> None:
        """End the statement, which has been read to its end."""
        self._guarded(lambda: self._held.__exit__(None, None, None))

    def _guarded(self, act: Callable[[], Any]) -> Any:
        import psycopg

        try:
            return act()
        except psycopg.Error as error:
            self.fault = fault_of(error)
        raise ValueError("the database has broken off")  # without a text of the driver's


def fault_of(error: Any) -> PostgresFault:
    """Return what is told of a driver's error: its code."""
    return PostgresFault(error.sqlstate or "")


def fault_in_words(place: SourceDatabase, fault: PostgresFault) -> Fault:
    """Return what an owner can do where the database refuses or breaks off."""
    match fault.state:
        case "":
            what, remedy = "was lost", "see that it runs and is reached, then try again"
        case "42501":
            what = "refuses to show something to the role"
            remedy = "grant it USAGE on the schemas and SELECT on the columns that the policy names"
        case "55P03":
            what = f"has a table that somebody else locks for more than {_LOCK_SECONDS} seconds"
            remedy = "wait until they are done"
        case state:
            what, remedy = f"broke off with its code {state}", "try again; its log says why"
    return Fault("dataset.source", f"the database {place} {what}", remedy)


def _connect(place: SourceDatabase) -> Connection[Any]:
    try:
        import psycopg
    except ImportError:
        raise PolicyError(
            [
                Fault(
                    "dataset.source",
                    "a source in PostgreSQL needs a driver, which is not installed",
                    "install it: pip install 'sanql[postgres]'",
                )
            ]
        ) from None
    file = named_password_file(place, PASSWORD_FILE)
    try:
        given = connection_parameters(place, file)
    except SecretFileFault as fault:
        raise PolicyError(
            [
                Fault(
                    "dataset.source_password_file",
                    f"the file {str(file)!r} that holds the password of the database {fault}",
                    "write the password into a file that only the user who runs San may read (chmod 600)",
                )
            ]
        ) from None
    try:
        return psycopg.connect(**given, autocommit=True, prepare_threshold=None)
    except psycopg.Error as error:
        needed = error.pgconn is not None and error.pgconn.needs_password
    why = "asks for a password, and there is none" if needed else "cannot be reached"
    raise PolicyError(
        [
            Fault(
                "dataset.source",
                f"the database {place} {why}",
                "see whether it runs, and to the user, the password and the certificate with which it"
                " is reached",
            )
        ]
    )
