"""A person who may ask, as they are kept: a role, a way to sign in, and until when."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sanql.account.people.tokens import TokenVerifier
from sanql.errors import AccessDenied

Role = Literal["analyst", "owner", "officer"]
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._@+-]{0,62}[A-Za-z0-9])?", re.ASCII)
IDENTITY_MAX = 255


@dataclass(frozen=True)
class Person:
    """Somebody who may ask a dataset; `identity` is who they are to whoever signs them on elsewhere."""

    name: str
    role: Role
    added: datetime
    token: str = ""  # its name, never its secret
    verifier: TokenVerifier | None = None
    identity: str = ""
    expires: datetime | None = None
    last_used: datetime | None = None
    revoked: datetime | None = None

    def state(self, now: datetime) -> Literal["revoked", "expired", "active"]:
        """Return whether they may ask at a time."""
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires is not None and self.expires <= now else "active"

    def to_bytes(self) -> bytes:
        """Return the note that is kept."""
        return json.dumps(
            {
                "name": self.name,
                "role": self.role,
                "added": self.added.isoformat(),
                "token": self.token,
                "verifier": None if self.verifier is None else self.verifier.in_text(),
                "identity": self.identity,
                "expires": _written(self.expires),
                "last_used": _written(self.last_used),
                "revoked": _written(self.revoked),
            },
            sort_keys=True,
        ).encode()

    @classmethod
    def from_bytes(cls, note: bytes) -> Person:
        """Return the person of a note; anything else is a ValueError."""
        match json.loads(note):
            case {
                "name": str(name),
                "role": "analyst" | "owner" | "officer" as role,
                "added": str(added),
                "token": str(token),
                "verifier": (None | str()) as verifier,
                "identity": str(identity),
                "expires": expires,
                "last_used": last_used,
                "revoked": revoked,
            }:
                return cls(
                    name,
                    role,
                    datetime.fromisoformat(added),
                    token,
                    None if verifier is None else TokenVerifier.from_text(verifier),
                    identity,
                    _read(expires),
                    _read(last_used),
                    _read(revoked),
                )
            case _:
                raise ValueError("not a person")


def check_name(name: str) -> str:
    """Return a name that may be given to a person; refuse any other."""
    if _NAME.fullmatch(name):
        return name
    raise AccessDenied(
        "person_name",
        f"{name[:60]!r} cannot be a person's name",
        "write 1 to 64 letters, digits and . _ @ + -, with a letter or digit at both ends",
    )


def is_identity(identity: str) -> bool:
    """Return whether a text can be how a person is known to whoever signs them on."""
    return 0 < len(identity) <= IDENTITY_MAX and identity.isascii() and identity.isprintable()


def check_identity(identity: str) -> str:
    """Return how a person is known to whoever signs them on; refuse what cannot be compared."""
    if is_identity(identity):
        return identity
    raise AccessDenied(
        "person_identity",
        f"{identity[:60]!r} cannot be an identity of a sign-on",
        f"write what the provider or proxy calls them: 1 to {IDENTITY_MAX} printable ASCII characters",
    )


def _written(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _read(text: object) -> datetime | None:
    if text is None:
        return None
    if not isinstance(text, str):
        raise ValueError("not a moment")
    return datetime.fromisoformat(text)
