"""Sign-on with OpenID Connect: a provider's signed word who somebody is.

Only signatures of the provider's own keys are believed, of tokens made by it for this server that have
not expired. What it says is an identity; whose that is, and what they may do, a dataset's people say.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from sanql.server.settings import SignOnProvider, is_loopback

if TYPE_CHECKING:
    from jwt import PyJWKClient

_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]
_SECONDS = 5.0
_RETRY_SECONDS = 30.0


class SignOn:
    """The keys of one provider, fetched when they are first needed and when they change."""

    def __init__(self, provider: SignOnProvider) -> None:
        self._provider = provider
        self._mutex = threading.Lock()
        self._keys: PyJWKClient | None = None
        self._failed_at = float("-inf")

    def identity(self, token: str) -> str | None:
        """Return who a token is about, or None where it is not to be believed."""
        import httpx
        import jwt

        try:
            key = self._client().get_signing_key_from_jwt(token).key
            said: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=_ALGORITHMS,
                audience=self._provider.audience,
                issuer=self._provider.issuer,
                options={"require": ["exp", "iat", "iss", "aud"]},
            )
        except (jwt.PyJWTError, httpx.HTTPError, OSError, ValueError, KeyError):
            return None
        if self._provider.claim == "email" and said.get("email_verified") is False:
            return None
        identity = said.get(self._provider.claim)
        return identity if isinstance(identity, str) and identity else None

    def _client(self) -> PyJWKClient:
        import jwt

        with self._mutex:
            if self._keys is None:
                if time.monotonic() - self._failed_at < _RETRY_SECONDS:
                    raise OSError("the provider could not be reached a moment ago")
                self._failed_at = time.monotonic()
                address = self._provider.keys or self._discovered()
                _check_address(address)
                self._keys = jwt.PyJWKClient(address, cache_keys=True, timeout=int(_SECONDS))
            return self._keys

    def _discovered(self) -> str:
        """Return where the provider says that its keys are."""
        import httpx

        issuer = self._provider.issuer.rstrip("/")
        _check_address(issuer)
        found = httpx.get(f"{issuer}/.well-known/openid-configuration", timeout=_SECONDS)
        said = found.raise_for_status().json()
        if not isinstance(said, dict) or said.get("issuer") != self._provider.issuer:
            raise ValueError("the provider is called otherwise")
        return str(said["jwks_uri"])


def _check_address(address: str) -> None:
    """Raise ValueError for keys that anybody on the way could have put there."""
    from urllib.parse import urlsplit

    parts = urlsplit(address)
    if parts.scheme != "https" and not (
        parts.scheme == "http" and is_loopback(parts.hostname or "")
    ):
        raise ValueError("keys are fetched over TLS")
