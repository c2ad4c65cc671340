"""The registry of whoever runs San: which account claims which data, also where nothing can be written.

It is one SQLite database in the user's data folder, with the newest head of each account beside it, a
second place that an old copy of a ledger is compared with. Claims are looked for in the folder that
XDG_DATA_HOME names *and* in the one in the user's home, which no variable names, and written to both:
setting, changing or unsetting the variable forgets nothing. Heads are pinned in both, too.
"""

from __future__ import annotations

import errno
import os
import pwd
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from sanql.account.claims.address import Address, Site
from sanql.account.claims.file import Claim
from sanql.account.ledger.pinning import LOCK_SECONDS
from sanql.errors import LedgerError
from sanql.policy import named_place

HeldRegistry = sqlite3.Connection
"""A registry while nobody else may claim in it; only `Registry` looks into it."""

_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS account (
        id TEXT PRIMARY KEY, ledger TEXT NOT NULL, ledger_file TEXT NOT NULL,
        released TEXT NOT NULL) STRICT""",
    """CREATE TABLE IF NOT EXISTS address (
        account TEXT NOT NULL, path TEXT NOT NULL, parent TEXT NOT NULL, identity TEXT NOT NULL,
        folder INTEGER NOT NULL, PRIMARY KEY (account, path, identity)) STRICT""",
    """CREATE TABLE IF NOT EXISTS unit (
        account TEXT NOT NULL, path TEXT NOT NULL, identity TEXT NOT NULL, unit TEXT NOT NULL,
        PRIMARY KEY (account, path, identity, unit)) STRICT""",
    "CREATE INDEX IF NOT EXISTS address_path ON address (path)",
    "CREATE INDEX IF NOT EXISTS address_parent ON address (parent)",
    "CREATE INDEX IF NOT EXISTS address_identity ON address (identity)",
)
_FOUND = """SELECT account.id, account.ledger, account.ledger_file, address.path, address.identity,
    account.released FROM address JOIN account ON account.id = address.account WHERE """


def registry_folders(environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Return where claims are kept: first the folder that is written to; the last is the home's."""
    home = _home() / ".local" / "share"
    named = Path(environment.get("XDG_DATA_HOME", ""))
    folders = (named, home) if named.is_absolute() else (home,)
    return tuple(dict.fromkeys(folder / "sanql" / "accounts" for folder in folders))


def registries_chosen_by() -> tuple[object, ...]:
    """Return what decides where claims are kept, for whoever remembers what was in them."""
    return os.environ.get("XDG_DATA_HOME"), os.geteuid()


class Registry:
    """One folder of claims; nothing is made in it before something is claimed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / "claims.sqlite"
        """The file that claims are kept in."""

    def find(self, site: Site) -> list[Claim]:
        """Return every claim that meets the data of a source, those that were released too."""
        if not self.database.exists():
            return []
        with self._faults(), closing(self._connect()) as connection:
            return self._find(connection, site) if _begun(connection) else []

    @contextmanager
    def claiming(self) -> Iterator[HeldRegistry | None]:
        """Hold the registry, so that nobody else claims meanwhile; None where it cannot be written."""
        if not self.prepare():
            yield None
            return
        with self._faults(), closing(self._connect(create=True)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            for statement in _SCHEMA:
                connection.execute(statement)
            yield connection
            connection.execute("COMMIT")

    def record(self, held: HeldRegistry, claim: Claim, addresses: Iterable[Address]) -> None:
        """Keep an account's claim of these addresses; call it while claiming."""
        held.execute(
            "INSERT OR REPLACE INTO account VALUES (?, ?, ?, ?)",
            (claim.account, str(claim.ledger), claim.ledger_identity, claim.released),
        )
        held.executemany(
            "INSERT OR REPLACE INTO address VALUES (?, ?, ?, ?, ?)",
            [(claim.account, *_row(address)) for address in addresses],
        )

    def record_units(self, held: HeldRegistry, account: str, site: Site) -> None:
        """Keep whom each file of an account's private tables protects; call it while claiming."""
        rows = [(account, str(a.path), a.identity, unit) for a, _, unit in site.all_units]
        held.executemany("INSERT OR REPLACE INTO unit VALUES (?, ?, ?, ?)", rows)

    def units_of(self, account: str, site: Site) -> list[tuple[Path, str, str, str | None]]:
        """Return each private file of a site with its table, its unit now and one on record, or None."""
        pairs: list[tuple[Path, str, str, str | None]]
        pairs = [(a.path, table, now, None) for a, table, now in site.all_units]
        if not pairs or not self.database.exists():
            return pairs
        query = "SELECT unit FROM unit WHERE account = ? AND (identity = ? OR path = ?)"
        with self._faults(), closing(self._connect()) as connection:
            if not _begun(connection, "unit"):
                return pairs
            return [
                (address.path, table, now, was)
                for address, table, now in site.all_units
                for (was,) in connection.execute(
                    query, (account, address.identity, str(address.path))
                ).fetchall()
                or [(None,)]
            ]

    def take_over(self, held: HeldRegistry, account: str, taken: Iterable[str]) -> None:
        """Give an account everything that others claimed which it has taken over; call it claiming."""
        for other in set(taken) - {account}:
            held.execute(
                "UPDATE OR REPLACE address SET account = ? WHERE account = ?", (account, other)
            )
            held.execute(
                "UPDATE OR REPLACE unit SET account = ? WHERE account = ?", (account, other)
            )
            held.execute("DELETE FROM account WHERE id = ?", (other,))

    def knows(self, claim: Claim, addresses: Iterable[Address]) -> bool:
        """Return whether this claim of all these addresses is kept as it is."""
        if not self.database.exists():
            return False
        wanted = {_row(address) for address in addresses}
        with self._faults(), closing(self._connect()) as connection:
            if not _begun(connection):
                return False
            account = connection.execute(
                "SELECT ledger, ledger_file, released FROM account WHERE id = ?", (claim.account,)
            ).fetchone()
            query = "SELECT path, parent, identity, folder FROM address WHERE account = ?"
            kept = set(connection.execute(query, (claim.account,)))
        now = (str(claim.ledger), claim.ledger_identity, claim.released)
        return account == now and wanted <= kept

    def head_path(self, account: str) -> Path:
        """Return where the newest head of an account is pinned."""
        return self.folder / f"{account}.head"

    def stamps_path(self, account: str) -> Path:
        """Return where a copy of the secret is that hides the hashes of an account's data."""
        return self.folder / f"{account}.stamps"

    def _find(self, connection: sqlite3.Connection, site: Site) -> list[Claim]:
        claimed = "address.identity = ? OR address.path = ?"
        same = "(address.identity = ? OR address.path = ?) AND NOT folder"
        around, within = "address.identity = ? AND folder", "address.parent = ? AND NOT folder"
        found: list[tuple[str, ...]] = []
        for address in site.claimed:
            found += connection.execute(_FOUND + claimed, (address.identity, str(address.path)))
        for address in site.called_public:
            found += connection.execute(_FOUND + same, (address.identity, str(address.path)))
        for address in site.around:
            found += connection.execute(_FOUND + around, (address.identity,))
        for address in site.origins.around:
            found += connection.execute(_FOUND + "address.identity = ?", (address.identity,))
        for address in site.folders:
            found += connection.execute(_FOUND + within, (str(address.path),))
        return [
            Claim(account, named_place(ledger), ledger_file, Path(path), identity, released)
            for account, ledger, ledger_file, path, identity, released in dict.fromkeys(found)
        ]

    def prepare(self) -> bool:
        """Make the private folder; return whether it can be written."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            return False
        return os.access(self.folder, os.W_OK | os.X_OK)

    def _connect(self, *, create: bool = False) -> sqlite3.Connection:
        if create:
            # only if it is not there: closing any handle of the file would give up SQLite's locks
            with suppress(FileExistsError):
                flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                os.close(os.open(self.database, flags, 0o600))
        if self.database.is_symlink():
            raise OSError(errno.ELOOP, "the registry is a symbolic link")
        return sqlite3.connect(
            f"{self.database.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=LOCK_SECONDS,
            isolation_level=None,
        )

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as fault:
            raise LedgerError(
                "account_registry_unreadable",
                f"the registry of accounts {str(self.database)!r} cannot be read or written",
                "see to its rights and its disk, or restore it; nothing is answered without it",
            ) from fault


def _begun(connection: sqlite3.Connection, table: str = "address") -> bool:
    """Return whether anything has been claimed yet, or kept in this table."""
    query = "SELECT 1 FROM sqlite_schema WHERE name = ?"
    return connection.execute(query, (table,)).fetchone() is not None


def _row(address: Address) -> tuple[str, str, str, int]:
    path = address.path
    return str(path), str(path.parent), address.identity, int(address.folder)


def _home() -> Path:
    """Return the home of the user whose rights San has, whatever the environment says."""
    try:
        return Path(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:  # a user without an entry, as containers have
        return Path.home()
