"""What a server is told besides its policies: where it listens, whom it trusts, how much it takes."""

from __future__ import annotations

import ipaddress
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sanql.errors import ServerError
from sanql.secret_file import SecretFileFault, read_secret_file

LOOPBACK = ("localhost", "127.0.0.1", "::1")
WAY_BACK = "/signed-on"
"""Where a provider sends browsers back to."""
_LIMIT_MAX = 10**9
_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", re.ASCII)
_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]*", re.ASCII)
_HEADERS_TAKEN = frozenset({"authorization", "content-length", "content-type", "host", "origin"})


@dataclass(frozen=True)
class RequestLimits:
    """How much is taken at once, from one person and from all."""

    body_bytes: int = 256 * 1024
    header_bytes: int = 16 * 1024
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    idle_seconds: float = 75.0
    connections: int = 2_000
    questions_running: int = 16
    questions_waiting: int = 2_000
    questions_per_person: int = 16
    requests_per_second: float = 1_000.0
    failed_sign_ins_per_minute: float = 20.0
    kept_questions_per_person: int = 100
    stop_seconds: float = 90.0


@dataclass(frozen=True)
class TrustedProxy:
    """A proxy that has signed people on, and says who they are in a header; nobody else is believed."""

    addresses: tuple[str, ...]
    header: str

    def __post_init__(self) -> None:
        """Refuse a header that says something else, and addresses of nobody or everybody."""
        if not _HEADER.fullmatch(self.header) or self.header.lower() in _HEADERS_TAKEN:
            raise _wrong("proxy.header", "is no header that a proxy can add", "write X-Remote-User")
        if not self.addresses:
            raise _wrong("proxy.addresses", "is empty", "write the addresses of the proxy")
        for each in self.addresses:
            try:
                everybody = ipaddress.ip_network(each).prefixlen == 0
            except ValueError:
                raise _wrong(
                    "proxy.addresses", "has what is no address", "write 10.0.0.7"
                ) from None
            if everybody:
                raise _wrong("proxy.addresses", "has everybody's address", "write the proxy's own")

    def trusts(self, address: str) -> bool:
        """Return whether what comes from an address is the proxy's."""
        try:
            from_there = plain_address(address)
        except ValueError:
            return False
        return any(from_there in ipaddress.ip_network(each) for each in self.addresses)


@dataclass(frozen=True)
class SignOnProvider:
    """A provider of OpenID Connect whose tokens are believed, if they were made for this server."""

    issuer: str
    audience: str
    claim: str = "email"
    keys: str = ""  # where its keys are; found from the issuer where it is empty
    redirect: str = ""  # where browsers come back to; without it they are not sent to the provider
    client_secret: str = field(
        default="", repr=False
    )  # for a provider that has San registered with one

    def __post_init__(self) -> None:
        """Refuse keys that anybody on the way could have put there, and tokens made for anybody."""
        for name, address in (("issuer", self.issuer), ("keys", self.keys or self.issuer)):
            if not is_safe_to_fetch(address):
                raise _wrong(f"sign_on.{name}", "is no https address", "write https://…")
        for name, text in (("audience", self.audience), ("claim", self.claim)):
            if not text:
                raise _wrong(f"sign_on.{name}", "is empty", "write what the provider says there")
        if self.redirect and not _is_way_back(self.redirect):
            raise _wrong(
                "sign_on.redirect",
                f"is no https address of this server that ends with {WAY_BACK}",
                f"write https://NAME{WAY_BACK}, as the provider has it",
            )
        if self.client_secret and not self.redirect:
            raise _wrong(
                "sign_on.client_secret_file",
                "is of no use without redirect: only a code is changed with a secret",
                f'write redirect = "https://NAME{WAY_BACK}" too, or leave the file out',
            )


@dataclass(frozen=True)
class ServerSettings:
    """Where a server listens and under which rules."""

    host: str = "127.0.0.1"
    port: int = 8080
    certificate: Path | None = None
    key: Path | None = None
    hosts: tuple[str, ...] = ()
    wire: tuple[str, int] | None = None
    limits: RequestLimits = field(default_factory=RequestLimits)
    proxy: TrustedProxy | None = None
    sign_on: SignOnProvider | None = None

    def __post_init__(self) -> None:
        """Refuse to listen where tokens would travel in clear text."""
        open_to_others = [
            host
            for host in (self.host, *(self.wire or ())[:1])
            if self.certificate is None and not is_loopback(str(host))
        ]
        if open_to_others:
            raise ServerError(
                "tls_needed",
                f"{open_to_others[0]} can be reached from other machines, and there is no certificate:"
                " tokens and answers would travel in clear text",
                "add --tls CERTIFICATE KEY, or listen on 127.0.0.1 behind a proxy that has them",
            )

    @property
    def names(self) -> frozenset[str]:
        """The names under which it may be asked for."""
        return frozenset(name.lower() for name in (*LOOPBACK, self.host, *self.hosts))


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def plain_address(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return an address; one of IPv4 that is written in IPv6 as what it is. ValueError of another.

    >>> plain_address("::ffff:10.0.0.7"), plain_address("::1")
    (IPv4Address('10.0.0.7'), IPv6Address('::1'))
    """
    found = ipaddress.ip_address(address)
    return (isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped) or found


def is_safe_to_fetch(address: str) -> bool:
    """Return whether nobody on the way can change what is fetched from an address.

    >>> [is_safe_to_fetch(f"{each}/keys") for each in ("https://a.org", "http://a.org", "http://[::1]")]
    [True, False, True]
    """
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        return False
    return bool(host) and (
        parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))
    )


def _is_way_back(address: str) -> bool:
    """Return whether an address is where a provider may send browsers back to."""
    if not is_safe_to_fetch(address) or any(sign in address for sign in "@?#\\ "):
        return False
    return urlsplit(address).path == WAY_BACK


def parse_address(typed: str) -> tuple[str, int]:
    """Return host and port of an address.

    >>> parse_address("127.0.0.1:8080"), parse_address("[::1]:0")
    (('127.0.0.1', 8080), ('::1', 0))
    """
    host, colon, port = typed.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    plain = port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) <= 65535
    if not colon or not host or not plain:
        raise ServerError(
            "address_invalid",
            f"{typed[:80]!r} is no address to listen on",
            "write HOST:PORT, for example 127.0.0.1:8080",
        )
    return host, int(port)


def read_settings(path: Path, settings: ServerSettings) -> ServerSettings:
    """Return settings with what a TOML file says of limits, proxy, sign-on and names."""
    try:
        written = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeError, RecursionError, tomllib.TOMLDecodeError) as fault:
        raise _wrong(path.name, "cannot be read as TOML", "see docs/serving.md") from fault
    parts: dict[str, Any] = {}
    for section, content in written.items():
        match section, content:
            case "hosts", list(hosts) if all(isinstance(host, str) for host in hosts):
                parts["hosts"] = tuple(map(_host_name, hosts))
            case "limits", dict():
                parts["limits"] = replace(settings.limits, **_limits(content))
            case "proxy", {"addresses": list(addresses), "header": str(header), **rest} if not rest:
                parts["proxy"] = TrustedProxy(tuple(map(str, addresses)), header.lower())
            case "sign_on", {"issuer": str(), "audience": str(), **rest} if rest.keys() <= {
                "claim",
                "keys",
                "redirect",
                "client_secret_file",
            } and all(isinstance(v, str) for v in rest.values()):
                secret = content.pop("client_secret_file", None)
                found = "" if secret is None else _secret_in(path.parent / secret)
                parts["sign_on"] = SignOnProvider(**content, client_secret=found)
            case _:
                raise _wrong(
                    section,
                    "is no setting of a server, or not of this form",
                    "there are: hosts = […], [limits], [proxy] with addresses and header, [sign_on] with"
                    " issuer and audience (claim, keys, redirect, client_secret_file)",
                )
    return replace(settings, **parts)


def _secret_in(path: Path) -> str:
    try:
        return read_secret_file(path)
    except SecretFileFault as fault:
        raise _wrong(
            "sign_on.client_secret_file",
            f"names a file that {fault}",
            "write the secret into a file that only the user who runs San may read (chmod 600)",
        ) from None


def _limits(content: Mapping[str, object]) -> dict[str, Any]:
    known = {each.name: type(getattr(RequestLimits, each.name)) for each in fields(RequestLimits)}
    read = {}
    for name, value in content.items():
        if name not in known:
            raise _wrong(f"limits.{name}", "is no limit", f"there are: {', '.join(known)}")
        kinds = (int,) if known[name] is int else (int, float)
        plain = isinstance(value, kinds) and not isinstance(value, bool)
        if not plain or not 0 < value <= _LIMIT_MAX:  # type: ignore[operator]
            number = "whole number" if kinds == (int,) else "number"
            raise _wrong(f"limits.{name}", f"is no {number} above 0, up to 10^9", "write one")
        read[name] = known[name](value)
    return read


def _host_name(written: str) -> str:
    try:
        return str(ipaddress.ip_address(written))
    except ValueError:
        if _NAME.fullmatch(written):
            return written
    raise _wrong(
        "hosts", f"has {written[:60]!r}, which is no name of a host", "leave out scheme and port"
    )


def _wrong(name: str, what: str, remedy: str) -> ServerError:
    return ServerError("settings_invalid", f"{name[:60]} {what}", remedy)
