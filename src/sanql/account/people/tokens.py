"""Tokens, and the verifiers that are kept of them.

A token has a name, by which its person is found, and a secret of 256 bits. What is kept is the verifier
of SCRAM-SHA-256 (RFC 5802, RFC 7677): whoever reads it can neither ask with it nor find the token, and it
serves a header of HTTP, which carries the token, as well as a challenge, which does not.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass

from sanql.entropy import OsEntropy

ITERATIONS = (
    4096  # the least that clients of SCRAM take; the secret is no word that could be guessed
)
_TOKEN = re.compile(r"san_(?P<name>[a-z2-7]{12})_[a-z2-7]{52}", re.ASCII)
_FORM = re.compile(
    r"SCRAM-SHA-256\$(\d{4,7}):([\w+/=]{20,})\$([\w+/=]{44}):([\w+/=]{44})", re.ASCII
)


def make_token() -> str:
    """Return a token that nobody else has."""
    return f"san_{_letters(8)[:12]}_{_letters(32)}"


def name_of_token(token: str) -> str | None:
    """Return the name of a token, by which its person is found; None of anything else.

    >>> name_of_token("san_" + "a" * 12 + "_" + "b" * 52), name_of_token("secret")
    ('aaaaaaaaaaaa', None)
    """
    found = _TOKEN.fullmatch(token)
    return found["name"] if found is not None else None


@dataclass(frozen=True, repr=False)
class TokenVerifier:
    """What is kept of a token: enough to know it by, and not enough to make it."""

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes

    def admits(self, token: str) -> bool:
        """Return whether this is the verifier of a token; it takes as long whatever the token is."""
        stored, _ = _keys(token, self.salt, self.iterations)
        return hmac.compare_digest(stored, self.stored_key)

    def in_text(self) -> str:
        """Return it as PostgreSQL writes such verifiers."""
        salt, stored, server = map(_base64, (self.salt, self.stored_key, self.server_key))
        return f"SCRAM-SHA-256${self.iterations}:{salt}${stored}:{server}"

    @classmethod
    def from_text(cls, text: str) -> TokenVerifier:
        """Return the verifier that was written down; anything else is a ValueError."""
        found = _FORM.fullmatch(text)
        if found is None:
            raise ValueError("not a verifier")
        salt, stored, server = (
            base64.b64decode(part, validate=True) for part in found.groups()[1:]
        )
        return cls(salt, int(found[1]), stored, server)


def verifier_of(token: str) -> TokenVerifier:
    """Return a verifier of a token, with a salt of its own."""
    salt = OsEntropy().bytes(16)
    return TokenVerifier(salt, ITERATIONS, *_keys(token, salt, ITERATIONS))


def _keys(token: str, salt: bytes, iterations: int) -> tuple[bytes, bytes]:
    """Return the stored key and the server key of SCRAM."""
    salted = hashlib.pbkdf2_hmac("sha256", token.encode(), salt, iterations)
    client = hmac.digest(salted, b"Client Key", "sha256")
    return hashlib.sha256(client).digest(), hmac.digest(salted, b"Server Key", "sha256")


def _letters(count: int) -> str:
    """Return random bytes as letters and digits that no shell, header or address treats as its own."""
    return base64.b32encode(OsEntropy().bytes(count)).decode("ascii").rstrip("=").lower()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
