"""A ledger in a PostgreSQL database, which servers on several machines share, append to and never change.

A write holds the row of its ledger (`SELECT … FOR UPDATE`), so there is one at a time over all servers,
and what is decided inside is decided on the newest state. A commit is on the disk of the database when it
returns; the settings that this hangs on are read in each write, on the very connection that commits. One
whose answer was lost may have happened: whoever goes on reads everything anew.

One database keeps the ledgers of several datasets, in the schema `sanql`, each under a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import asdict, astuple, replace
from pathlib import Path

from sanql.account.ledger.chain import Head, LedgerRecord, canonical_json, damaged
from sanql.account.ledger.places import unwritable
from sanql.account.stores.postgres_asking import AskingLocks
from sanql.account.stores.postgres_connection import (
    DURABILITY,
    RECORDS_DIGEST,
    LedgerConnection,
    check_durable,
    unreachable,
)
from sanql.account.stores.protocol import StoredRow
from sanql.entropy import OsEntropy
from sanql.errors import LedgerError, LedgerUnreadable
from sanql.policy import LedgerDatabase
from sanql.postgres_driver import PostgresFault

_SCHEMA = (
    "CREATE SCHEMA IF NOT EXISTS sanql",
    """CREATE TABLE sanql.ledger (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name TEXT NOT NULL UNIQUE,
        made TEXT NOT NULL, head_sequence BIGINT, head_hash TEXT)""",
    """CREATE TABLE sanql.record (
        ledger BIGINT NOT NULL REFERENCES sanql.ledger, sequence BIGINT NOT NULL,
        kind TEXT NOT NULL, body TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL,
        PRIMARY KEY (ledger, sequence))""",
    """CREATE TABLE sanql.answer (
        ledger BIGINT NOT NULL REFERENCES sanql.ledger, reservation BIGINT NOT NULL,
        content BYTEA NOT NULL, PRIMARY KEY (ledger, reservation))""",
    # kinds and keys are bytes: their order is that of code points, and none is impossible
    """CREATE TABLE sanql.note (
        ledger BIGINT NOT NULL REFERENCES sanql.ledger, kind BYTEA NOT NULL, key BYTEA NOT NULL,
        content BYTEA NOT NULL, PRIMARY KEY (ledger, kind, key))""",
    """CREATE FUNCTION sanql.refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$""",
    *(
        f"""CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE
        ON sanql.{table} FOR EACH STATEMENT EXECUTE FUNCTION sanql.refuse()"""
        for table in ("record", "answer")
    ),
)
_ROWS_AT_ONCE = 5_000
_READ = """SELECT sequence, kind, body, previous, hash FROM sanql.record
    WHERE ledger = %s AND sequence > %s ORDER BY sequence LIMIT %s"""
_HEAD = "SELECT head_sequence, head_hash FROM sanql.ledger WHERE id = %s"
_NOTE = "SELECT content FROM sanql.note WHERE ledger = %s AND kind = %s AND key = %s"
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_BUSY = {"40001", "40P01", "55P03", "57014"}
_DAMAGE = ("22", "23", "42P", "42703", "XX001", "XX002")
_REASONS = {
    "25006": "is read-only",
    "25P03": "has broken off a write that took too long",
    "42501": "does not let its user write",
    "53100": "has no room left on its disk",
    "53300": "has too many connections",
}


class PostgresStore:
    """The records, recorded answers, notes and head of one ledger in a database."""

    faults: tuple[type[Exception], ...] = (PostgresFault, UnicodeError)
    head_is_at_hand = False  # it is a question to the database

    def __init__(self, place: LedgerDatabase) -> None:
        self.place = place
        self._connection = LedgerConnection(place)
        try:
            self._ledger, self._made = self._prepared()
        except PostgresFault as fault:
            self._connection.close()
            raise self.explained(fault, 1, ()) from None
        except BaseException:
            self._connection.close()
            raise
        self._identity = f"{self._connection.database}:{self._made}"
        self._asking = AskingLocks(place, self._made)

    def identity(self) -> str:
        """Return which cluster, database and ledger that is, whatever address leads there."""
        return self._identity

    def explained(self, fault: Exception, sequence: int, besides: Sequence[Path]) -> LedgerError:
        """Return what a fault of the database, or of a file where the head is pinned, means."""
        if isinstance(fault, PostgresFault):
            return explained(fault, sequence, self.place)
        if isinstance(fault, UnicodeError):
            return damaged(sequence, "cannot be read")
        return unwritable(*besides) if besides else unreachable(self.place)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold one snapshot of the database."""
        self._connection.begin(_SNAPSHOT)
        try:
            self._check_same(self._connection.run(_KNOWN, (self._ledger,)))
            yield
        finally:
            self._connection.end()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the ledger's row against all servers; commit unless something is raised."""
        self._connection.begin("BEGIN ISOLATION LEVEL READ COMMITTED")
        try:
            self._check_same(self._connection.run(_HELD, (self._ledger,)))
            yield
            self._connection.commit()
        finally:
            self._connection.end()

    def rows(self, after: int) -> Iterable[StoredRow]:
        """Yield the records after a sequence, oldest first."""
        while True:
            found = self._connection.run(_READ, (self._ledger, after, _ROWS_AT_ONCE))
            yield from found
            if len(found) < _ROWS_AT_ONCE:
                return
            after = found[-1][0]

    def hash_at(self, sequence: int) -> str | None:
        """Return the hash of one record, or None."""
        query = "SELECT hash FROM sanql.record WHERE ledger = %s AND sequence = %s"
        found = self._connection.run(query, (self._ledger, sequence))
        return found[0][0] if found else None

    def records_digest(self, after: int, until: int) -> str:
        """Return the hash of some records, computed where they are."""
        return str(self._connection.run(RECORDS_DIGEST, (self._ledger, after, until))[0][0])

    def append(self, record: LedgerRecord) -> None:
        """Add a record."""
        self._connection.run(
            "INSERT INTO sanql.record (ledger, sequence, kind, body, previous, hash)"
            " VALUES (%s, %s, %s, %s, %s, %s)",
            (self._ledger, *astuple(record)),
        )

    def answer(self, reservation: int) -> bytes | None:
        """Return the answer kept for a reservation, or None."""
        query = "SELECT content FROM sanql.answer WHERE ledger = %s AND reservation = %s"
        found = self._connection.run(query, (self._ledger, reservation))
        return bytes(found[0][0]) if found else None

    def keep(self, reservation: int, answer: bytes) -> None:
        """Add an answer."""
        query = "INSERT INTO sanql.answer (ledger, reservation, content) VALUES (%s, %s, %s)"
        self._connection.run(query, (self._ledger, reservation, answer))

    def note(self, kind: str, key: str) -> bytes | None:
        """Return a note, or None."""
        found = self._connection.run(_NOTE, (self._ledger, kind.encode(), key.encode()))
        return bytes(found[0][0]) if found else None

    def notes(self, kind: str, prefix: str = "", after: str = "") -> Iterable[tuple[str, bytes]]:
        """Return the notes of a kind, in the order of their keys."""
        query = (
            "SELECT key, content FROM sanql.note WHERE ledger = %s AND kind = %s AND key > %s"
            " AND key >= %s AND substring(key FROM 1 FOR %s) = %s ORDER BY key"
        )
        begun = prefix.encode()
        asked = (self._ledger, kind.encode(), after.encode(), begun, len(begun), begun)
        return [(bytes(key).decode(), bytes(n)) for key, n in self._connection.run(query, asked)]

    def write_note(self, kind: str, key: str, note: bytes | None) -> None:
        """Add, replace or erase a note."""
        named = (self._ledger, kind.encode(), key.encode())
        if note is None:
            query = "DELETE FROM sanql.note WHERE ledger = %s AND kind = %s AND key = %s"
            self._connection.run(query, named)
        else:
            query = (
                "INSERT INTO sanql.note (ledger, kind, key, content) VALUES (%s, %s, %s, %s)"
                " ON CONFLICT (ledger, kind, key) DO UPDATE SET content = EXCLUDED.content"
            )
            self._connection.run(query, (*named, note))

    def scrub(self) -> str:
        """Have the database reuse the room of erased notes, where its user may say so."""
        with suppress(PostgresFault):
            self._connection.end()
            self._connection.run("VACUUM sanql.note")
        return (
            "the database keeps rows that were erased until it writes over them, in its log, its backups"
            " and its replicas for as long as these are kept; see docs/postgres.md"
        )

    def head(self) -> Head | None:
        """Return the head that is pinned in the ledger's row."""
        return _head(self._connection.look(_HEAD, (self._ledger,)))

    def pin(self, head: Head) -> None:
        """Pin the head in the ledger's row."""
        query = "UPDATE sanql.ledger SET head_sequence = %s, head_hash = %s WHERE id = %s"
        self._connection.run(query, (head.sequence, head.hash, self._ledger))

    def asking(
        self, analyst: str, question: str, seconds_max: float
    ) -> AbstractContextManager[None]:
        """Hold a question against all servers that are asked the same."""
        return self._asking.held(analyst, question, seconds_max)

    def close(self) -> None:
        """Let go of the database."""
        self._asking.close()
        self._connection.close()

    def _prepared(self) -> tuple[int, str]:
        """Return the ledger's number and mark; the tables and its row are made where there are none."""
        connection = self._connection
        if not _has_tables(connection):
            connection.begin("BEGIN")
            connection.run("SELECT pg_advisory_xact_lock(7309465127)")  # one server at a time
            for statement in () if _has_tables(connection) else _SCHEMA:
                connection.run(statement)
            connection.commit()
        name = self.place.ledger
        if not (found := connection.run(_NAMED, (name,))):
            query = "INSERT INTO sanql.ledger (name, made) VALUES (%s, %s) ON CONFLICT DO NOTHING"
            connection.run(query, (name, OsEntropy().bytes(16).hex()))
            found = connection.run(_NAMED, (name,))
        return found[0]

    def _check_same(self, found: list[tuple[object, ...]]) -> None:
        """Refuse what was put in the ledger's place, and a database that does not keep what it says."""
        known = [(self.place.ledger, self._made)] == [row[:2] for row in found]
        if not known or not self._identity.startswith(f"{self._connection.database}:"):
            raise LedgerError(
                "ledger_rolled_back",
                f"the ledger {self.place.name} has been replaced",
                "restart; the ledger is checked anew when it is opened",
            )
        if len(found[0]) > 2:
            check_durable(self.place, [str(setting) for setting in found[0][2:]])


_NAMED = "SELECT id, made FROM sanql.ledger WHERE name = %s"
_NUMBER = "SELECT id FROM sanql.ledger WHERE name = %s"
_NEWEST = "SELECT sequence, hash FROM sanql.record WHERE ledger = %s ORDER BY sequence DESC LIMIT 1"
_KNOWN = "SELECT name, made FROM sanql.ledger WHERE id = %s"
_HELD = f"SELECT name, made, {DURABILITY} FROM sanql.ledger WHERE id = %s FOR UPDATE"  # noqa: S608


class PostgresReader:
    """One snapshot of a ledger in a database, for whoever checks it; nothing is made or locked."""

    faults: tuple[type[Exception], ...] = (PostgresFault, UnicodeError)

    def __init__(self, place: LedgerDatabase, connection: LedgerConnection) -> None:
        self._place = place
        self._connection = connection
        self._ledger: int | None = None

    def check_rights(self, fault: Exception) -> None:
        """Raise LedgerUnreadable where the user may not read, and what a lost connection means."""
        match fault:
            case PostgresFault(state="42501"):
                raise LedgerUnreadable(self._place.name) from None
            case PostgresFault(state=state) if not state.startswith(_DAMAGE):
                raise explained(fault, 1, self._place) from None
            case _:
                return

    def rows(self, after: int) -> Iterable[StoredRow]:
        """Yield the records after a sequence, oldest first."""
        ledger = self._begun()
        while found := self._connection.run(_READ, (ledger, after, _ROWS_AT_ONCE)):
            yield from found
            after = found[-1][0]

    def answers(self) -> Mapping[object, object]:
        """Return every answer that is kept, by its reservation."""
        query = "SELECT reservation, content FROM sanql.answer WHERE ledger = %s"
        return {n: bytes(found) for n, found in self._connection.run(query, (self._begun(),))}

    def note(self, kind: str, key: str) -> bytes | None:
        """Return a note, or None."""
        found = self._connection.run(_NOTE, (self._begun(), kind.encode(), key.encode()))
        return bytes(found[0][0]) if found else None

    def notes(self, kind: str) -> Iterable[tuple[str, bytes]]:
        """Yield the notes of a kind, in the order of their keys."""
        ledger, after = self._begun(), b""
        query = (
            "SELECT key, content FROM sanql.note WHERE ledger = %s AND kind = %s AND key > %s"
            " ORDER BY key LIMIT %s"
        )
        while found := self._connection.run(query, (ledger, kind.encode(), after, _ROWS_AT_ONCE)):
            yield from ((bytes(key).decode(), bytes(note)) for key, note in found)
            after = bytes(found[-1][0])

    def all_notes(self) -> Iterable[tuple[tuple[str, str], bytes]]:
        """Return every note with its kind and key."""
        query = "SELECT kind, key, content FROM sanql.note WHERE ledger = %s"
        found = self._connection.run(query, (self._begun(),))
        return [((bytes(k).decode(), bytes(key).decode()), bytes(n)) for k, key, n in found]

    def is_intact(self) -> bool:
        """Return whether the database has met no page whose checksum is wrong."""
        query = "SELECT coalesce(sum(checksum_failures), 0)::bigint FROM pg_stat_database"
        return bool(self._connection.run(query) == [(0,)])

    def head(self) -> Head | None:
        """Return the head in the ledger's row."""
        return _head(self._connection.run(_HEAD, (self._begun(),)))

    def head_text(self) -> str | None:
        """Return the same as it would be written to a file."""
        head = self.head()
        return None if head is None else canonical_json(asdict(head))

    def _begun(self) -> int:
        if self._ledger is None:
            self._connection.begin(_SNAPSHOT)
            self._connection.run("SET LOCAL idle_in_transaction_session_timeout = 0")
            found = self._connection.run(_NAMED, (self._place.ledger,))
            self._ledger = found[0][0] if found else -1
        return self._ledger


@contextmanager
def read_database(place: LedgerDatabase) -> Iterator[PostgresReader]:
    """Hold one snapshot of a ledger, without changing anything about it."""
    with closing(LedgerConnection(place)) as connection:
        yield PostgresReader(place, connection)


def is_kept(place: LedgerDatabase) -> bool:
    """Return whether the database has a ledger of this name."""
    with closing(LedgerConnection(place)) as connection:
        try:
            return _has_tables(connection) and bool(connection.run(_NAMED, (place.ledger,)))
        except PostgresFault as fault:
            raise explained(fault, 1, place) from None


def rename(
    place: LedgerDatabase, name: str, allow: Callable[[Head], bool] = lambda _: True
) -> LedgerDatabase | None:
    """Give a ledger another name in its database, so that nobody finds it by the one it had.

    While nobody writes, `allow` sees its newest record; None where it does not allow it.
    """
    with closing(LedgerConnection(place)) as connection:
        try:
            connection.begin("BEGIN")
            for (number,) in connection.run(f"{_NUMBER} FOR UPDATE", (place.ledger,)):
                newest = _head(connection.run(_NEWEST, (number,)))
                if newest is not None and not allow(newest):
                    return None
                connection.run("UPDATE sanql.ledger SET name = %s WHERE id = %s", (name, number))
            connection.commit()
        except PostgresFault as fault:
            raise explained(fault, 1, place) from None
    return replace(place, ledger=name)


def explained(fault: PostgresFault, sequence: int, place: LedgerDatabase) -> LedgerError:
    """Return what a fault means: somebody else's turn, damage, or something that passes.

    A database keeps a transaction as a whole or not at all, so after most faults the account goes on,
    with what is read anew.
    """
    if fault.state in _BUSY:
        return LedgerError("ledger_busy", "the ledger is in use by others", "try again")
    if fault.state.startswith(_DAMAGE):
        return damaged(sequence, "cannot be read, or is there already")
    if not fault.state:
        return unreachable(place, "was lost")
    return unreachable(place, _REASONS.get(fault.state, f"refuses ({fault.state})"))


def _has_tables(connection: LedgerConnection) -> bool:
    """Return whether there are tables now; `to_regclass` may remember that there were none."""
    query = "SELECT 1 FROM pg_tables WHERE schemaname = 'sanql' AND tablename = 'note'"
    return bool(connection.run(query))


def _head(found: list[tuple[object, ...]]) -> Head | None:
    match found:
        case [(int(sequence), str(digest))]:
            return Head(sequence, digest)
        case _:
            return None
