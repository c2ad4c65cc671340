"""SCRAM-SHA-256 with a token as the password (RFC 5802, RFC 7677): the token itself never travels.

Over TLS the challenge can be bound to the certificate (RFC 5929), so that nobody in between passes it on.
PostgreSQL's clients leave out the name, which the connection began with, and so no library's server takes
what they send.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from pathlib import Path

from sanql.account import TokenVerifier
from sanql.entropy import OsEntropy

PLAIN, BOUND = "SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"
_FIRST = re.compile(
    r"(?P<header>(?:n|y|p=(?P<bound>[A-Za-z0-9.-]+)),,)(?P<bare>n=[^,]*,r=(?P<nonce>[!-+\--~]{8,256}))",
    re.ASCII,
)
_LAST = re.compile(
    r"(?P<before>c=(?P<header>[A-Za-z0-9+/=]+),r=(?P<nonce>[!-+\--~]+)),p=(?P<proof>[A-Za-z0-9+/=]+)",
    re.ASCII,
)
_END_POINT = "tls-server-end-point"
_WEAK = ("md5", "sha1")  # in whose place SHA-256 is taken


class ChallengeFailed(Exception):
    """Whoever was challenged has not shown that they have the token."""


class Challenge:
    """One challenge, by the verifier of whoever they say they are; over TLS with what it is bound to."""

    def __init__(
        self, verifier: TokenVerifier, bound_to: bytes = b"", nonce: str | None = None
    ) -> None:
        self._verifier = verifier
        self._bound_to = bound_to
        self._own = nonce or base64.b64encode(OsEntropy().bytes(24)).decode()
        self.mechanisms = [BOUND, PLAIN] if bound_to else [PLAIN]

    def begin(self, mechanism: str, first: bytes) -> bytes:
        """Return what is answered to the first word of a client; ChallengeFailed where it is none."""
        found = _FIRST.fullmatch(_text(first))
        if found is None or mechanism not in self.mechanisms:
            raise ChallengeFailed
        self._header = found["header"]
        bound = found["bound"]
        # a client that could bind, and was told that this server cannot, was told so by somebody else
        misled = self._header.startswith("y") and bool(self._bound_to)
        if misled or bound != (_END_POINT if mechanism == BOUND else None):
            raise ChallengeFailed
        self._nonce = found["nonce"] + self._own
        salt = base64.b64encode(self._verifier.salt).decode()
        answer = f"r={self._nonce},s={salt},i={self._verifier.iterations}"
        self._said = f"{found['bare']},{answer}"
        return answer.encode()

    def end(self, last: bytes) -> bytes:
        """Return the server's own proof; ChallengeFailed where the client's is wrong."""
        found = _LAST.fullmatch(_text(last))
        if found is None:
            raise ChallengeFailed
        bound_to = self._bound_to if self._header.startswith("p") else b""
        said = f"{self._said},{found['before']}".encode()
        signature = hmac.digest(self._verifier.stored_key, said, "sha256")
        proof = _bytes(found["proof"])
        key = bytes(a ^ b for a, b in zip(proof, signature, strict=False))
        right = (
            len(proof) == len(signature)
            and hmac.compare_digest(hashlib.sha256(key).digest(), self._verifier.stored_key)
            and hmac.compare_digest(_bytes(found["header"]), self._header.encode() + bound_to)
            and hmac.compare_digest(found["nonce"], self._nonce)
        )
        if not right:
            raise ChallengeFailed
        own = hmac.digest(self._verifier.server_key, said, "sha256")
        return b"v=" + base64.b64encode(own)


def bound_to_certificate(certificate: Path) -> bytes:
    """Return what a challenge is bound to by a certificate; empty where there is no such thing."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    parsed = x509.load_pem_x509_certificate(certificate.read_bytes())
    algorithm = parsed.signature_hash_algorithm
    if algorithm is None:
        return b""
    name = "sha256" if algorithm.name in _WEAK else algorithm.name
    return hashlib.new(name, parsed.public_bytes(Encoding.DER)).digest()


def _text(message: bytes) -> str:
    try:
        return message.decode("ascii")
    except UnicodeDecodeError:
        raise ChallengeFailed from None


def _bytes(written: str) -> bytes:
    try:
        return base64.b64decode(written, validate=True)
    except (binascii.Error, ValueError):
        raise ChallengeFailed from None
