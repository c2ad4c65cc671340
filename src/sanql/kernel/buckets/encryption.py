"""The keys of a layout that is encrypted at rest: one for each file, made from the owner's secret.

Files are encrypted as Parquet says (AES-GCM with 256 bits), by Arrow, which draws nonces from OpenSSL.
The engine's own encryption of databases and of what it spills is none here: without an extension that
would have to be fetched, it draws nonces and keys from 64 bits, and says itself that it is not secure.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass, field

_KEY_BYTES = (
    24  # which are 32 letters, and so many bytes the key has: readers take it as it is written
)


@dataclass(frozen=True)
class LayoutKey:
    """The owner's secret, and what one layout adds to it, so that no two have a key in common."""

    secret: str = field(repr=False)
    salt: str

    def of(self, path: str) -> str:
        """Return the key of a file, by its name in the layout."""
        return base64.b64encode(self._derived(f"file {path}")[:_KEY_BYTES]).decode()

    def mark(self) -> str:
        """Return what tells this key from others, and nothing about it."""
        return self._derived("mark").hex()

    def seal(self, text: str) -> str:
        """Return what nobody can write beside a text without the owner's secret."""
        return self._derived(f"seal {text}").hex()

    def _derived(self, name: str) -> bytes:
        return hmac.digest(self.secret.encode(), f"{self.salt}\n{name}".encode(), hashlib.sha256)
