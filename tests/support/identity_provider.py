"""A small provider of OpenID Connect on loopback, with keys of its own."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlencode

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


@dataclass(frozen=True)
class SigningKey:
    """A key, and how it signs."""

    name: str
    algorithm: str
    private: PrivateKey

    def published(self) -> dict[str, Any]:
        """Return what others may know of it."""
        public = self.private.public_key()
        kinds: dict[str, Any] = {"RS": RSAAlgorithm, "PS": RSAAlgorithm, "ES": ECAlgorithm}
        shape = kinds.get(self.algorithm[:2], OKPAlgorithm).to_jwk(public, as_dict=True)
        return shape | {"kid": self.name, "use": "sig"}


def rsa_key(name: str, algorithm: str = "RS256") -> SigningKey:
    return SigningKey(name, algorithm, rsa.generate_private_key(65537, 2048))


def ec_key(name: str) -> SigningKey:
    return SigningKey(name, "ES256", ec.generate_private_key(ec.SECP256R1()))


def ed_key(name: str) -> SigningKey:
    return SigningKey(name, "EdDSA", ed25519.Ed25519PrivateKey.generate())


@dataclass
class Provider:
    """What it publishes, and how often it was asked for it."""

    url: str
    keys: list[SigningKey] = field(default_factory=list)
    issuer: str = ""
    broken: bool = False
    asked: list[str] = field(default_factory=list)
    codes: dict[str, tuple[dict[str, str], str]] = field(default_factory=dict)
    client_secret: str = ""
    secret_is_sent: str = ""  # "client_secret_basic" or "client_secret_post"; "" is said to nobody

    def page(self, path: str) -> dict[str, Any] | None:
        """Return what is at an address of it."""
        self.asked.append(path)
        if self.broken:
            return None
        if path == "/.well-known/openid-configuration":
            return {
                "issuer": self.issuer,
                "jwks_uri": f"{self.url}/keys",
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
            } | (
                {"token_endpoint_auth_methods_supported": [self.secret_is_sent]}
                if self.secret_is_sent
                else {}
            )
        return {"keys": [key.published() for key in self.keys]} if path == "/keys" else None

    def signed_on(self, address: str, key: SigningKey, **changed: Any) -> str:
        """Sign somebody on who was sent to an address of it; return where they are sent back to."""
        start, _, query = address.partition("?")
        wish = {name: value for name, [value] in parse_qs(query, strict_parsing=True).items()}
        assert (start, wish["response_type"]) == (f"{self.url}/authorize", "code")
        assert wish["code_challenge_method"] == "S256" and "openid" in wish["scope"].split()
        code = secrets.token_urlsafe(16)
        said = {"aud": wish["client_id"], "nonce": wish["nonce"]} | changed
        self.codes[code] = wish, self.token(key, **said)
        return f"{wish['redirect_uri']}?{urlencode({'code': code, 'state': wish['state']})}"

    def changed(
        self, form: dict[str, list[str]], authorization: str | None
    ) -> dict[str, Any] | None:
        """Return what a code is changed for, once, where whoever brings it is who wished for it."""
        sent = {name: value for name, [value] in form.items()}
        if self.shown_secret(sent, authorization) != self.client_secret:
            return None
        wish, token = self.codes.pop(sent.get("code", ""), ({}, ""))
        digest = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
        shown = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        same = all(sent.get(name) == wish.get(name) for name in ("client_id", "redirect_uri"))
        if not wish or not same or shown != wish["code_challenge"]:
            return None
        return {"id_token": token, "token_type": "Bearer"}

    def shown_secret(self, sent: dict[str, str], authorization: str | None) -> str:
        """Return the secret that a client showed in the way that is taken here, or nothing."""
        if self.secret_is_sent == "client_secret_post":
            return "" if authorization else sent.get("client_secret", "")
        if authorization is None or "client_secret" in sent:
            return ""
        kind, _, letters = authorization.partition(" ")
        name, _, secret = base64.b64decode(letters).decode().partition(":")
        known = kind == "Basic" and unquote_plus(name) == sent.get("client_id")
        return unquote_plus(secret) if known else ""

    def claims(self, **changed: Any) -> dict[str, Any]:
        """Return what a good token says, with changes; None leaves a claim out."""
        now = int(time.time())
        said: dict[str, Any] = {
            "iss": self.issuer,
            "aud": "san",
            "iat": now - 10,
            "exp": now + 600,
            "sub": "007",
            "email": "ana@example.org",
            "email_verified": True,
        } | changed
        return {name: value for name, value in said.items() if value is not None}

    def token(self, key: SigningKey, header: dict[str, Any] | None = None, **changed: Any) -> str:
        """Return a token that a key signs."""
        named = {"kid": key.name} | (header or {})
        said = json.dumps(self.claims(**changed)).encode()  # whatever it says
        return jwt.PyJWS().encode(said, key.private, key.algorithm, named)


@contextmanager
def provided(*keys: SigningKey) -> Iterator[Provider]:
    """Hold a provider with some keys."""

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = provider.page(self.path)
            self.send_response(503 if found is None else 200)
            self.end_headers()
            self.wfile.write(json.dumps(found).encode())

        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
            provider.asked.append(self.path)
            found = None
            if self.path == "/token":
                found = provider.changed(form, self.headers["authorization"])
            self.send_response(400 if found is None else 200)
            self.end_headers()
            self.wfile.write(json.dumps(found).encode())

        def log_message(self, format: str, *parts: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        url = f"http://127.0.0.1:{server.server_address[1]}"
        provider = Provider(url, [*keys], issuer=url)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()
