"""Addresses of PostgreSQL databases in a policy: one that keeps the ledger, one that has the data.

A password is never part of it: it comes from the environment or from a file that only its owner may read.
What is written as an address may hold one all the same, so nothing of an address that is refused is ever
quoted but its scheme.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Self
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from sanql.policy.section import Mistake

_SCHEMES = ("postgresql", "postgres")
_SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_FILES = ("sslrootcert", "sslcert", "sslkey")
_PARAMETERS = ("host", "port", "sslmode", *_FILES)
_PORT = 5432
_FORM = "write postgresql://USER@HOST:PORT/DATABASE"
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://|(postgres|postgresql):", re.ASCII)


@dataclass(frozen=True)
class PostgresDatabase:
    """A PostgreSQL database: which one, and how it is reached.

    Two are the same place that have the same host, port and database, whoever asks.
    """

    host: str
    port: int
    database: str
    user: str = field(default="", compare=False, kw_only=True)
    tls: tuple[tuple[str, str], ...] = field(default=(), compare=False, kw_only=True)
    password_file: Path | None = field(default=None, compare=False, kw_only=True)

    def from_folder(self, folder: Path, password_file: str | None) -> Self:
        """Return it with its files found from a folder, that of the policy (`system` is no file)."""
        tls = tuple(
            (key, value if key == "sslmode" or value == "system" else str(folder / value))
            for key, value in self.tls
        )
        secret = None if password_file is None else folder / password_file
        return replace(self, tls=tls, password_file=secret)

    def address(self, more: dict[str, str], *, with_user: bool = True) -> str:
        """Return how it is written, with more parameters."""
        if self.host.startswith("/"):
            more = {"host": self.host, "port": str(self.port)} | more
            authority = ""
        else:
            host = f"[{self.host}]" if ":" in self.host else self.host
            authority = f"{host}:{self.port}"
        user = f"{quote(self.user, safe='')}@" if self.user and with_user else ""
        asked = f"?{urlencode(more, safe='/,')}" if more else ""
        return f"postgresql://{user}{authority}/{quote(self.database, safe='')}{asked}"


@dataclass(frozen=True)
class LedgerDatabase(PostgresDatabase):
    """A ledger in a database: two are the same that have the same name in the same one."""

    ledger: str

    @property
    def name(self) -> str:
        """How messages call it."""
        return str(self)

    def __str__(self) -> str:
        """Return its address.

        >>> str(LedgerDatabase("db.example", 5432, "ledgers", "hospital", user="sanql"))
        'postgresql://sanql@db.example:5432/ledgers?ledger=hospital'
        """
        return self.address({"ledger": self.ledger})


@dataclass(frozen=True)
class SourceDatabase(PostgresDatabase):
    """Tables in a database, looked for in these schemas in turn; where none are named, in the role's."""

    schemas: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return which tables are meant, whoever reads them.

        >>> str(SourceDatabase("db.example", 5432, "clinic", ("public",), user="reader"))
        'postgresql://db.example:5432/clinic?schemas=public'
        """
        more = {"schemas": ",".join(self.schemas)} if self.schemas else {}
        return self.address(more, with_user=False)


@dataclass(frozen=True)
class _Use:
    """What an address is for: how it is called, its own parameters, and where its password may be."""

    name: str
    besides: str
    parameters: tuple[str, ...] = ()

    @property
    def secrets(self) -> str:
        named = self.name.upper()
        return (
            "leave it out of the policy: it is taken from PGPASSWORD, from ~/.pgpass, or from the file"
            f" that SANQL_{named}_PASSWORD_FILE or {self.name}_password_file names"
        )


_LEDGER = _Use("ledger", "name a file", ("ledger",))
_SOURCE = _Use("source", "name a folder of .parquet or .csv files, or a .duckdb file")

LedgerPlace = Path | LedgerDatabase


def named_place(written: str) -> LedgerPlace:
    """Return the place that a text names, as `str` of a place wrote it; ValueError where it is none."""
    if not is_address(written):
        return Path(written)
    try:
        return parse_address(written)
    except Mistake as mistake:
        raise ValueError(mistake.message) from None


def is_address(written: str) -> bool:
    """Return whether a text is an address, not the name of a file."""
    return _ADDRESS.match(written) is not None or "password=" in written.lower()


def parse_address(written: str) -> LedgerDatabase:
    """Return the database that an address of a ledger names; its `ledger` is empty where it says none."""
    found, asked = _parse(written, _LEDGER)
    return LedgerDatabase(
        found.host,
        found.port,
        found.database,
        asked.get("ledger", ""),
        user=found.user,
        tls=found.tls,
    )


def parse_source_address(written: str) -> SourceDatabase:
    """Return the database that an address of data names."""
    found, _ = _parse(written, _SOURCE)
    return SourceDatabase(found.host, found.port, found.database, user=found.user, tls=found.tls)


def _parse(written: str, use: _Use) -> tuple[PostgresDatabase, dict[str, str]]:
    found = _ADDRESS.match(written)
    if found is None:
        raise _unreadable(use)
    scheme = found[1] or found[2]
    if scheme not in _SCHEMES:
        raise Mistake(
            f'a {use.name} "{scheme[:20]}:…" is not available', f"{use.besides}, or {_FORM}"
        )
    try:
        parts = urlsplit(written)
        port, given = parts.port, parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        raise _unreadable(use) from None
    asked = dict(given)
    if parts.password is not None or "password" in asked:
        raise Mistake(f'the address "{scheme}://…" has a password in it', use.secrets)
    _check_parameters(asked, len(given), (*use.parameters, *_PARAMETERS))
    host = asked.get("host", unquote(parts.hostname or ""))
    database = unquote(parts.path.removeprefix("/"))
    if not written.isprintable() or parts.fragment or re.search("[/@:]", database) or "," in host:
        raise _unreadable(use)  # perhaps a password that was not encoded stands where these should
    if not host:
        raise Mistake("the address names no host", _FORM)
    if not database:
        raise Mistake("the address names no database", _FORM)
    user = unquote(parts.username or "")
    place = PostgresDatabase(host, _port(port, asked), database, user=user, tls=_tls(host, asked))
    return place, asked


def _check_parameters(asked: dict[str, str], count: int, known: tuple[str, ...]) -> None:
    if not set(asked) <= set(known):
        raise Mistake(
            "the address has a parameter that is not known",
            f"the parameters of an address are {', '.join(known)}",
        )
    if len(asked) != count:
        raise Mistake("a parameter of the address is given twice", "give it once")
    empty = [key for key, value in asked.items() if not 0 < len(value) <= 200]
    if empty:
        raise Mistake(f"the parameter {empty[0]} of the address is empty or too long", _FORM)


def _port(port: int | None, asked: dict[str, str]) -> int:
    if port is None and "port" in asked:
        text = asked["port"]
        port = int(text) if re.fullmatch(r"[1-9][0-9]{0,4}", text, re.ASCII) else 0
    port = _PORT if port is None else port
    if not 0 < port < 2**16:
        raise Mistake("the port of the address is not between 1 and 65535", _FORM)
    return port


def _tls(host: str, asked: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Return how the connection is secured: beyond this machine, by a certificate for the very host."""
    mode = asked.get("sslmode", "prefer" if _is_here(host) else "verify-full")
    if mode not in _SSL_MODES:
        raise Mistake(
            "the sslmode of the address is not known", f"write one of {', '.join(_SSL_MODES)}"
        )
    return (("sslmode", mode), *((key, asked[key]) for key in _FILES if key in asked))


def _is_here(host: str) -> bool:
    """Return whether a host is this machine: a socket, or an address that leads nowhere else."""
    if host.startswith("/") or host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _unreadable(use: _Use) -> Mistake:
    return Mistake(f"the address of the {use.name} cannot be read", _FORM)
