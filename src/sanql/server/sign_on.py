"""Sign-on with OpenID Connect: a provider's signed word who somebody is.

Only signatures of the provider's own keys are believed, of tokens made by it for this server that have
not expired. What it says is an identity; whose that is, and what they may do, a dataset's people say.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sanql.server.settings import SignOnProvider, is_safe_to_fetch

if TYPE_CHECKING:
    from jwt import PyJWKClient

_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]
SECONDS = 5.0
"""How long a provider is waited for."""
KEYS_SECONDS = 300.0
"""How long keys are believed that the provider may have withdrawn meanwhile."""
RETRY_SECONDS = 30.0
"""How long a provider is left alone that could not be reached, or has no key of that name."""
_REMEMBERED_MAX = 10_000


@dataclass(frozen=True)
class SignOnWord:
    """What a provider says with a token that is believed: who somebody is, until when, to what wish."""

    identity: str
    expires: float  # seconds since 1970
    nonce: str


class SignOn:
    """The keys of one provider, fetched when they are first needed and when they change."""

    def __init__(self, provider: SignOnProvider) -> None:
        self._provider = provider
        self._mutex = threading.Lock()
        self._keys: PyJWKClient | None = None
        self._failed_at = float("-inf")
        self._known: dict[str, tuple[float, Any]] = {}  # as many as the provider has ever published
        self._believed: OrderedDict[bytes, None] = OrderedDict()

    def identity(self, token: str) -> str | None:
        """Return who a token is about, or None where it is not to be believed."""
        word = self.word(token)
        return None if word is None else word.identity

    def word(self, token: str) -> SignOnWord | None:
        """Return what a token says, or None where it is not to be believed."""
        import jwt

        try:
            key = self._key(jwt.get_unverified_header(token)["kid"])
            said: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=_ALGORITHMS,
                audience=self._provider.audience,
                issuer=self._provider.issuer,
                options={"require": ["exp", "iat", "iss", "aud"]},
            )
        except (jwt.PyJWTError, OSError, ValueError, KeyError, TypeError, ArithmeticError):
            return None
        except RecursionError:  # brackets in brackets
            return None
        identity = said.get(self._provider.claim)
        if not isinstance(identity, str) or not self._is_verified(said):
            return None
        self._remember(token)
        nonce = said.get("nonce")
        expires = float(min(int(said["exp"]), 2**53))  # it may be any number of the future
        return SignOnWord(identity, expires, nonce if isinstance(nonce, str) else "")

    def remembers(self, token: str) -> bool:
        """Return whether a token was seen and believed, whatever became of it since."""
        return _digest(token) in self._believed

    def _is_verified(self, said: dict[str, Any]) -> bool:
        """Return whether the provider has seen that an address is somebody's: people can type others'."""
        return self._provider.claim != "email" or said.get("email_verified") in (True, "true")

    def _remember(self, token: str) -> None:
        with self._mutex:
            self._believed[_digest(token)] = None
            while len(self._believed) > _REMEMBERED_MAX:
                self._believed.popitem(last=False)

    def _key(self, name: str) -> Any:
        """Return a key of the provider; whoever waits for another's look at it looks no more.

        One that is known is good for a while, whatever becomes of the provider meanwhile.
        """
        import httpx
        import jwt

        with self._mutex:
            since, known = self._known.get(name, (float("-inf"), None))
            if time.monotonic() - since < KEYS_SECONDS:
                return known
            if time.monotonic() - self._failed_at < RETRY_SECONDS:
                raise OSError("the provider could not be reached a moment ago")
            try:
                if self._keys is None:
                    self._keys = self._found()
                found = self._keys.get_signing_key(name).key
                self._known[name] = time.monotonic(), found
                return found
            except (jwt.PyJWKClientConnectionError, httpx.HTTPError, ValueError, KeyError) as fault:
                self._failed_at = time.monotonic()
                raise OSError("the provider cannot be reached") from fault

    def _found(self) -> PyJWKClient:
        import jwt

        address = self._provider.keys or str(discovered(self._provider)["jwks_uri"])
        if not is_safe_to_fetch(address):
            raise ValueError("keys are fetched over TLS")
        return jwt.PyJWKClient(
            address,
            lifespan=KEYS_SECONDS,
            timeout=SECONDS,
            cooldown_duration=RETRY_SECONDS,
        )


def discovered(provider: SignOnProvider) -> dict[str, Any]:
    """Return what a provider says of itself: where its keys are, where people sign on."""
    import httpx

    issuer = provider.issuer.rstrip("/")
    found = httpx.get(f"{issuer}/.well-known/openid-configuration", timeout=SECONDS)
    said = found.raise_for_status().json()
    if not isinstance(said, dict) or said.get("issuer") != provider.issuer:
        raise ValueError("the provider is called otherwise")
    return said


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
