"""Requests to a server and what comes back: never redirected, and sent again only where that is safe."""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sanql.client.address import ServerAddress
from sanql.client.problems import denied_there, error_of, foreign
from sanql.errors import ServerError
from sanql.results import need
from sanql.visible import visible

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 10.0
SEND_SECONDS = 60.0
READ_SECONDS = 120.0  # of what is not computed for long; a question is waited for without end
_NO_TLS = {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "UNKNOWN_PROTOCOL"}
_TOKEN = re.compile(r"[!-~]{1,4096}")


@dataclass(frozen=True)
class Reply:
    """What a server has answered: plain data, and whether the rest is to be asked for later."""

    shape: Mapping[str, Any]
    later: bool = False


class Transport:
    """A connection to one server for one person; threads may share it."""

    def __init__(self, address: ServerAddress, token: str, verify: bool | str | Path) -> None:
        library = need("httpx")
        if not _TOKEN.fullmatch(token):
            raise ServerError(
                "token_invalid",
                "the token is empty, or has characters that no token has",
                "pass the token as `sanql user add` printed it",
            )
        self._address = address
        self._client: httpx.Client = library.Client(
            base_url=address.url,
            headers={"authorization": f"Bearer {token}", "accept": "application/json"},
            timeout=library.Timeout(READ_SECONDS, connect=CONNECT_SECONDS, write=SEND_SECONDS),
            verify=_trusted(verify),
            follow_redirects=False,
            trust_env=address.encrypted,  # what is not encrypted goes through nobody's proxy
        )

    def get(self, path: str, **values: object) -> Mapping[str, Any]:
        """Return what a route that only reads says."""
        given = {name: str(value) for name, value in values.items() if value is not None}
        return self._exchange("GET", path, params=given, again=True).shape

    def post(
        self, path: str, body: Mapping[str, Any], *, key: str = "", patient: bool = False
    ) -> Reply:
        """Return what comes of a body; with a `key` it is one request, however often it is sent.

        Whoever is `patient` waits as long as the server works on it.
        """
        named = {"idempotency-key": key} if key else {}
        seconds = None if patient else READ_SECONDS
        more: dict[str, Any] = {"json": body, "headers": named, "again": bool(key)}
        return self._exchange("POST", path, seconds=seconds, **more)

    def delete(self, path: str) -> Mapping[str, Any]:
        """Return what comes of ending something; whoever gives up does not wait for long."""
        return self._exchange("DELETE", path, again=True, seconds=CONNECT_SECONDS).shape

    def close(self) -> None:
        """End the connection."""
        self._client.close()

    def _exchange(
        self,
        method: str,
        path: str,
        *,
        again: bool,
        seconds: float | None = READ_SECONDS,
        **more: Any,
    ) -> Reply:
        request = self._client.build_request(method, path, **more)
        request.extensions["timeout"]["read"] = seconds
        with self._faults_in_words(again):
            try:
                response = self._client.send(request, stream=True)
            except self._lost():
                if not again:
                    raise
                response = self._client.send(request, stream=True)
            try:
                content = response.read()
            finally:
                response.close()
        return self._read(response, content)

    def _read(self, response: httpx.Response, content: bytes) -> Reply:
        status = response.status_code
        if 300 <= status < 400:
            raise self._redirected(response.headers.get("location", ""))
        try:
            shape = json.loads(content)
            problem = status >= 400 and error_of(shape)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise foreign(self._address.place, status) from None
        if problem:
            wrong = problem.code == "credential_wrong"
            raise denied_there(self._address.place) if wrong else problem
        if not isinstance(shape, dict):
            raise foreign(self._address.place, status)
        return Reply(shape, later=status == 202)

    def _lost(self) -> tuple[type[Exception], ...]:
        """Return how a connection ends before a byte of the answer has come."""
        library = need("httpx")
        return library.RemoteProtocolError, library.ReadError, library.WriteError

    @contextmanager
    def _faults_in_words(self, again: bool) -> Iterator[None]:
        library, place = need("httpx"), visible(self._address.place)
        try:
            yield
        except (library.ConnectError, library.ConnectTimeout) as fault:
            raise _unreachable(place, fault) from None
        except (library.TransportError, library.StreamError):
            sent = "what was asked may have been charged" if again else "it may have been done"
            raise ServerError(
                "connection_lost",
                f"the connection to {place} was lost before its answer had come; {sent}",
                "ask again: what is on record is free, and `history` and `budget` tell what there is",
            ) from None

    def _redirected(self, location: str) -> ServerError:
        return ServerError(
            "server_redirects",
            f"{visible(self._address.place)} sends on to {visible(location[:200]) or 'another place'},"
            " and a token is not sent after it",
            "connect to where San is itself",
        )


def _trusted(verify: bool | str | Path) -> ssl.SSLContext | bool:
    """Return whose certificates are believed: those the system knows, or those in a file."""
    if isinstance(verify, bool):
        return verify
    try:
        return ssl.create_default_context(cafile=str(verify))
    except (OSError, ssl.SSLError):
        raise ServerError(
            "certificates_unreadable",
            f"{str(verify)[:200]!r} is no file of certificates",
            "pass verify=PATH of a PEM file with the certificate of the authority",
        ) from None


def _unreachable(place: str, fault: BaseException) -> ServerError:
    cause: BaseException | None = fault
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return _not_secured(place, cause)
        cause = cause.__cause__ or cause.__context__
    return ServerError(
        "server_unreachable",
        f"{place} cannot be reached",
        "see that the address is right and the server runs",
    )


def _not_secured(place: str, fault: ssl.SSLError) -> ServerError:
    """Return why hands were not shaken: an unknown certificate, another protocol, or something else."""
    if isinstance(fault, ssl.SSLCertVerificationError):
        return ServerError(
            "certificate_untrusted",
            f"{place} has no certificate that is trusted here: {fault.verify_message}",
            "pass verify=PATH of the authority's certificate, or name the file in SSL_CERT_FILE",
        )
    if fault.reason in _NO_TLS:
        return ServerError(
            "tls_not_spoken",
            f"{place} speaks no TLS",
            f"on this machine write http://{place}; elsewhere have the server get a certificate",
        )
    return ServerError(
        "tls_failed",
        f"{place} and this client do not agree on TLS: {fault.reason or 'it ended the handshake'}",
        "see that the address and port are San's, and that the server speaks TLS 1.2 or newer",
    )
