"""A connection to the database of a ledger: made, checked, lost and made again.

What the driver says never leaves this file: it may quote addresses and whatever else was sent. What went
wrong is told by a code, in words of our own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sanql.account.ledger.pinning import LOCK_SECONDS
from sanql.errors import LedgerError
from sanql.policy import LedgerDatabase
from sanql.postgres_driver import (
    IDLE_SECONDS,
    POSTGRES_LEAST,
    PostgresFault,
    connection_parameters,
    named_password_file,
)
from sanql.secret_file import SecretFileFault

if TYPE_CHECKING:
    import psycopg

PASSWORD_FILE = "SANQL_LEDGER_PASSWORD_FILE"  # noqa: S105  (a variable's name)
"""The variable that names the file of the password, where the policy names none."""

SECONDS_RECONNECTING = 5.0
"""How long a database that was lost is waited for; to start again takes it moments."""

_ABOUT = f"""SELECT current_setting('server_version_num'), current_setting('server_encoding'),
    (SELECT system_identifier FROM pg_control_system()) || ':' ||
    (SELECT oid FROM pg_database WHERE datname = current_database()),
    set_config('search_path', 'pg_catalog', false),
    set_config('synchronous_commit', current_setting('synchronous_commit'), false),
    set_config('lock_timeout', '{int(LOCK_SECONDS)}s', false),
    set_config('idle_in_transaction_session_timeout', '{IDLE_SECONDS}s', false)"""  # noqa: S608

RECORDS_DIGEST = """SELECT encode(sha256(convert_to(coalesce(string_agg(
    sequence || chr(10) || kind || chr(10) || body || chr(10) || previous || chr(10) || hash
    || chr(10), '' ORDER BY sequence), ''), 'UTF8')), 'hex')
    FROM sanql.record WHERE ledger = %s AND sequence > %s AND sequence <= %s"""
"""Returns the hash of records as `RecordsDigest` has it, computed where they are."""

DURABILITY = """pg_is_in_recovery()::text, current_setting('fsync'),
    current_setting('full_page_writes'), current_setting('synchronous_commit')"""
"""What decides whether a commit lasts, to be selected on the very connection that commits."""


class LedgerConnection:
    """One connection, for one transaction at a time; one that is lost between two is made anew."""

    def __init__(self, place: LedgerDatabase) -> None:
        self._place = place
        self._connection, self.database = _connect(place)
        self._refused_until = 0.0

    def begin(self, statement: str) -> None:
        """Begin a transaction; what an interrupt has left open is ended first."""
        self.end()
        self.look(statement)

    def look(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a statement that may be run again where the connection turns out lost.

        Within a transaction it is not: what was done in it is lost, too.
        """
        fresh = not self.in_transaction()
        if fresh and self._connection.closed:
            self._reconnect()
        try:
            return self.run(statement, values)
        except PostgresFault as fault:
            if fault.state or not fresh:
                raise
        self._reconnect()
        return self.run(statement, values)

    def run(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a statement; PostgresFault where it fails."""
        import psycopg

        try:
            cursor = self._connection.execute(cast(Any, statement), values or None)
            return cursor.fetchall() if cursor.description is not None else []
        except psycopg.Error as error:
            lost = self._connection.closed
            fault = PostgresFault("" if lost else error.sqlstate or "XX000")
        raise fault  # outside, so that it carries no text of the driver's

    def commit(self) -> None:
        """Make what was done last; PostgresFault where nobody knows whether it does, or it does not."""
        import psycopg

        try:
            done = self._connection.execute("COMMIT", prepare=False).statusmessage
            fault = None if done == "COMMIT" else PostgresFault("25P02")  # it was taken back
        except psycopg.Error as error:
            fault = PostgresFault("" if self._connection.closed else error.sqlstate or "XX000")
        if fault is not None:
            raise fault

    def end(self) -> None:
        """Take back what was not committed; a connection in disorder is given up."""
        import psycopg
        from psycopg.pq import TransactionStatus

        status = self._connection.info.transaction_status
        if status == TransactionStatus.IDLE or self._connection.closed:
            return
        try:
            if status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
                self._connection.execute("ROLLBACK")
                return
        except psycopg.Error:
            pass
        self._connection.close()

    def in_transaction(self) -> bool:
        """Return whether one has begun."""
        from psycopg.pq import TransactionStatus

        status = self._connection.info.transaction_status
        return status in (TransactionStatus.INTRANS, TransactionStatus.INERROR)

    def close(self) -> None:
        """Let go of the database."""
        self._connection.close()

    def _reconnect(self) -> None:
        """Connect again; whoever comes right after one who waited in vain does not wait, too."""
        deadline = time.monotonic() + SECONDS_RECONNECTING
        if time.monotonic() < self._refused_until:
            raise unreachable(self._place)
        while True:
            try:
                self._connection, self.database = _connect(self._place)
                return
            except LedgerError as refused:
                if refused.code != "ledger_unavailable" or time.monotonic() > deadline:
                    self._refused_until = time.monotonic() + 1
                    raise
                time.sleep(0.1)


def check_durable(place: LedgerDatabase, found: Sequence[str]) -> None:
    """Refuse a database that may lose what it has confirmed, by the setting that says so."""
    standby, *settings = found
    if standby == "true":
        raise LedgerError(
            "ledger_standby",
            f"the database of the ledger {place.name} is a standby, which only repeats another",
            "name the primary in the policy, or promote this one for good",
        )
    for name, value in zip(
        ("fsync", "full_page_writes", "synchronous_commit"), settings, strict=True
    ):
        wanted = ("on", "remote_apply") if name == "synchronous_commit" else ("on",)
        if value not in wanted:
            raise LedgerError(
                "ledger_not_durable",
                f"the database of the ledger {place.name} has {name} = {value}: after a crash charges"
                " that it confirmed could be missing",
                f"let its administrator set {name} = on (ALTER SYSTEM SET {name} = on, and the same for"
                " the role and the database where they say otherwise), then reload",
            )


def unreachable(place: LedgerDatabase, why: str = "does not answer") -> LedgerError:
    """Return the refusal while the database is away; it passes when the database is back."""
    return LedgerError(
        "ledger_unavailable",
        f"the database of the ledger {place.name} {why}; nothing is answered meanwhile",
        "try again; if it lasts, see whether it runs, and to the user, the password and the certificate"
        " with which it is reached",
    )


def _connect(place: LedgerDatabase) -> tuple[psycopg.Connection[Any], str]:
    """Return a connection whose settings were made and read back, and which database it is."""
    try:
        import psycopg
    except ImportError:
        raise LedgerError(
            "postgres_missing",
            "a ledger in PostgreSQL needs a driver, which is not installed",
            "install it: pip install 'sanql[postgres]'",
        ) from None
    refused, connection = None, None
    try:
        connection = psycopg.connect(**_parameters(place), autocommit=True)
        ((version, encoding, database, *_),) = connection.execute(_ABOUT).fetchall()
        (durability,) = connection.execute(cast(Any, f"SELECT {DURABILITY}")).fetchall()
    except psycopg.Error as error:
        needed = error.pgconn is not None and error.pgconn.needs_password
        why = "asks for a password, and there is none" if needed else "cannot be reached"
        refused = unreachable(place, why)
    if refused is None and connection is not None:
        try:
            _check_kind(place, int(version), encoding)
            check_durable(place, durability)
        except LedgerError as fault:
            refused = fault
    if connection is None or refused is not None:
        if connection is not None:
            connection.close()
        raise refused or unreachable(place)
    return connection, f"postgresql:{database}"


def _parameters(place: LedgerDatabase) -> dict[str, Any]:
    file = named_password_file(place, PASSWORD_FILE)
    try:
        return connection_parameters(place, file)
    except SecretFileFault as fault:
        raise _bad_file(file, str(fault)) from None


def _bad_file(named: Path | None, what: str) -> LedgerError:
    return LedgerError(
        "ledger_password_file",
        f"the file {str(named)!r} that holds the password of the ledger's database {what}",
        "write the password into a file that only the user who runs San may read (chmod 600)",
    )


def _check_kind(place: LedgerDatabase, version: int, encoding: str) -> None:
    wrong = None
    if version < POSTGRES_LEAST * 10_000:
        wrong = f"is PostgreSQL {version // 10_000}", f"PostgreSQL {POSTGRES_LEAST} or newer"
    elif encoding != "UTF8":
        wrong = f"is encoded in {encoding}", "a database with the encoding UTF8"
    if wrong is not None:
        raise LedgerError(
            "ledger_database",
            f"the database of the ledger {place.name} {wrong[0]}",
            f"name {wrong[1]}",
        )
