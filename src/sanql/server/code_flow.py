"""Signing on at a provider with a browser: OpenID Connect's authorization code, with PKCE.

A browser is sent to the provider with a wish and comes back with a code, which this server changes for
a signed token. All that belongs to one wish (state, nonce, the verifier of PKCE) follows from a random
cookie of that browser and a secret of this server: nothing is kept, and nobody else's code is taken.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

from sanql.entropy import OsEntropy
from sanql.server.settings import SignOnProvider, is_safe_to_fetch
from sanql.server.sign_on import KEYS_SECONDS, RETRY_SECONDS, SECONDS, discovered

_IN_HEADER, _IN_FORM = "client_secret_basic", "client_secret_post"


@dataclass(frozen=True)
class SignOnWish:
    """One wish to be signed on: what goes to the provider, and what has to come back."""

    wanted: str  # the page to go to afterwards
    state: str
    nonce: str
    verifier: str

    @property
    def challenge(self) -> str:
        """What the provider is told of the verifier, which it sees later."""
        return _letters(hashlib.sha256(self.verifier.encode()).digest())


class CodeFlow:
    """The way to one provider and back."""

    def __init__(self, provider: SignOnProvider) -> None:
        self._provider = provider
        self._secret = OsEntropy().bytes(32)
        self._mutex = threading.Lock()
        self._known: tuple[float, dict[str, Any]] | None = None
        self._failed_at = float("-inf")

    def wish(self, cookie: str, wanted: str) -> SignOnWish:
        """Return what belongs to the wish of a cookie's browser to come to a page."""
        made = {
            name: _letters(
                hmac.digest(self._secret, f"{name} {wanted} {cookie}".encode(), "sha256")
            )
            for name in ("state", "nonce", "verifier")
        }
        return SignOnWish(wanted, f"{wanted}.{made['state']}", made["nonce"], made["verifier"])

    def own_wish(self, cookie: str, state: str) -> SignOnWish | None:
        """Return the wish that a state is of, or None where it is not this browser's."""
        wish = self.wish(cookie, state.partition(".")[0])
        return wish if hmac.compare_digest(wish.state.encode(), state.encode()) else None

    def address(self, wish: SignOnWish) -> str | None:
        """Return where a browser is sent; None where the provider cannot be reached."""
        known = self._endpoints()
        start = "" if known is None else str(known.get("authorization_endpoint", ""))
        if not is_safe_to_fetch(start) or urlsplit(start).fragment:
            return None
        asked = {
            "response_type": "code",
            "client_id": self._provider.audience,
            "redirect_uri": self._provider.redirect,
            "scope": "openid email" if self._provider.claim == "email" else "openid",
            "state": wish.state,
            "nonce": wish.nonce,
            "code_challenge": wish.challenge,
            "code_challenge_method": "S256",
        }
        return f"{start}{'&' if urlsplit(start).query else '?'}{urlencode(asked)}"

    def token(self, wish: SignOnWish, code: str) -> str | None:
        """Return the token that a code is changed for, not yet looked at; None where there is none."""
        import httpx

        known = self._endpoints()
        address = "" if known is None else str(known.get("token_endpoint", ""))
        if not is_safe_to_fetch(address):
            return None
        sent = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._provider.redirect,
            "client_id": self._provider.audience,
            "code_verifier": wish.verifier,
        }
        headers, more = self._own_secret(known or {})
        try:
            reply = httpx.post(address, data=sent | more, headers=headers, timeout=SECONDS)
            said = reply.raise_for_status().json()
        except (httpx.HTTPError, ValueError, RecursionError):
            return None
        token = said.get("id_token") if isinstance(said, dict) else None
        return token if isinstance(token, str) else None

    def is_issuer(self, said: str) -> bool:
        """Return whether an answer is of the provider that was asked, where it says of whom it is."""
        return said in ("", self._provider.issuer)

    def _own_secret(self, known: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
        """Return headers and fields that show the secret, if there is one, as the provider takes it.

        Where it does not say how, in a header: so OpenID Connect has it. Both parts are encoded first
        (RFC 6749, section 2.3.1).
        """
        secret = self._provider.client_secret
        if not secret:
            return {}, {}
        taken = known.get("token_endpoint_auth_methods_supported", [_IN_HEADER])
        if isinstance(taken, list) and _IN_FORM in taken and _IN_HEADER not in taken:
            return {}, {"client_secret": secret}
        pair = f"{quote_plus(self._provider.audience)}:{quote_plus(secret)}"
        return {"authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}, {}

    def _endpoints(self) -> dict[str, Any] | None:
        """Return what the provider says of itself, looked up now and then."""
        import httpx

        with self._mutex:
            now = time.monotonic()
            if self._known is not None and now - self._known[0] < KEYS_SECONDS:
                return self._known[1]
            if now - self._failed_at < RETRY_SECONDS:
                return None
            try:
                found = discovered(self._provider)
            except (httpx.HTTPError, ValueError, RecursionError):
                self._failed_at = now
                return None
            self._known = now, found
            return found


def _letters(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
