"""Where a server is: an address that is safe to send a token to."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from sanql.errors import ServerError


@dataclass(frozen=True)
class ServerAddress:
    """The address of a server, without what follows it in any request."""

    url: str
    place: str  # host and port, as it is spoken of
    encrypted: bool


def parse_server_address(typed: str, *, insecure: bool = False) -> ServerAddress:
    """Return the address that was typed; refuse one to which a token would travel in clear text.

    >>> parse_server_address("https://san.example.org/").url
    'https://san.example.org'
    """
    try:
        parts = urlsplit(typed.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _invalid(typed) from None
    odd = parts.query or parts.fragment or parts.username or parts.password
    if parts.scheme not in ("http", "https") or not host or odd:
        raise _invalid(typed)
    encrypted = parts.scheme == "https"
    if not encrypted and not insecure and not _is_loopback(host):
        raise ServerError(
            "address_insecure",
            f"{typed[:100]} is not encrypted, and the token and the answers would travel in clear text",
            "connect to https://…, or pass insecure=True where nobody else can read the network",
        )
    before, version, _ = f"{parts.path}/".partition("/v1/")
    url = f"{parts.scheme}://{parts.netloc}{before.rstrip('/')}"
    if version:
        raise ServerError(
            "server_address_invalid",
            f"{typed[:100]!r} goes on after the address of the server",
            f"write it without /v1: {url[:100]}",
        )
    usual = 443 if encrypted else 80
    place = f"{f'[{host}]' if ':' in host else host}:{usual if port is None else port}"
    return ServerAddress(url, place, encrypted)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _invalid(typed: str) -> ServerError:
    shown = "what was given" if "@" in typed else repr(typed[:100])  # a password may be in it
    return ServerError(
        "server_address_invalid",
        f"{shown} is no address of a server",
        "write https://HOST or https://HOST:PORT, and give the token apart",
    )
