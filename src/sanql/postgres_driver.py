"""What every connection to PostgreSQL has in common, whatever it is for.

What the driver says never leaves San: it may quote addresses, and values of rows. What went wrong is told
by a code, in words of our own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sanql.secret_file import read_secret_file

if TYPE_CHECKING:
    from sanql.policy import PostgresDatabase

POSTGRES_LEAST = 13
"""The oldest PostgreSQL that is asked."""

IDLE_SECONDS = 20
"""How long a connection may hear nothing before it is lost."""

_CONNECT_SECONDS = 10
_WIRE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}


class PostgresFault(Exception):
    """What the database refused or broke off: its code, empty where the connection was lost."""

    def __init__(self, state: str) -> None:
        super().__init__(state or "the connection was lost")
        self.state = state


def named_password_file(
    place: PostgresDatabase, variable: str, environment: Mapping[str, str] = os.environ
) -> Path | None:
    """Return the file of a password that the policy or, failing that, a variable names."""
    named = place.password_file or environment.get(variable, "")
    return Path(named) if named else None


def connection_parameters(place: PostgresDatabase, password_file: Path | None) -> dict[str, Any]:
    """Return what is handed to the driver; SecretFileFault where there is no password in its file.

    The driver looks for a password that is not given by itself.
    """
    found: dict[str, Any] = {
        "host": place.host,
        "port": place.port,
        "dbname": place.database,
        "application_name": "sanql",
        "client_encoding": "UTF8",
        "connect_timeout": _CONNECT_SECONDS,
        "tcp_user_timeout": 1000 * IDLE_SECONDS,
        **_WIRE,
        **dict(place.tls),
    }
    if place.user:
        found["user"] = place.user
    if password_file is not None:
        found["password"] = read_secret_file(password_file)
    return found
