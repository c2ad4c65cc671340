"""Who asks: a token, a sign-on elsewhere, or a trusted proxy's word; whatever is wrong, one answer.

Failures are rationed by address. A token that was seen to be good is admitted however many failures its
address has, so that nobody is shut out by somebody else behind the same proxy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sanql.account import Person
from sanql.errors import AccessDenied, ServerError
from sanql.server.caller import Caller
from sanql.server.datasets import Dataset, Datasets
from sanql.server.rates import RateLimit
from sanql.server.settings import ServerSettings
from sanql.server.sign_on import SignOn

_MINUTE = 60.0


@dataclass(frozen=True)
class Credential:
    """What a request brings to say whose it is."""

    bearer: str
    said_by_proxy: str
    address: str


class SigningIn:
    """The one place where a credential becomes a caller."""

    def __init__(self, datasets: Datasets, settings: ServerSettings) -> None:
        self._datasets = datasets
        self._proxy = settings.proxy
        self._sign_on = None if settings.sign_on is None else SignOn(settings.sign_on)
        failures = settings.limits.failed_sign_ins_per_minute
        self._failures = RateLimit(failures / _MINUTE, failures)
        self._uses = RateLimit(1 / _MINUTE, 1)  # of each person one a minute is written down

    def credential(self, headers: Mapping[str, str], address: str) -> Credential:
        """Return what a request's headers say; a proxy's are read only where it is the proxy's."""
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        believed = self._proxy is not None and self._proxy.trusts(address)
        said = headers.get(self._proxy.header, "") if self._proxy and believed else ""
        return Credential(bearer.strip() if scheme.lower() == "bearer" else "", said, address)

    def caller(self, credential: Credential) -> Caller:
        """Return whoever a credential is of; AccessDenied, always the same, where it is nobody's."""
        known = {
            dataset.name: (dataset, person)
            for dataset in self._datasets
            if (person := self._person(dataset, credential)) is not None
        }
        if not known:
            if self._failures.take(credential.address):
                raise _too_many()
            raise denied()
        for dataset, person in known.values():
            if not self._uses.take(f"{dataset.name}/{person.name}"):
                dataset.people.used(person.name)
        return Caller(next(iter(known.values()))[1].name, known)

    def _person(self, dataset: Dataset, credential: Credential) -> Person | None:
        people = dataset.people
        if credential.said_by_proxy:
            return people.with_identity(credential.said_by_proxy)
        bearer = credential.bearer
        if not people.remembers(bearer) and self._failures.left(credential.address) < 1:
            raise _too_many()
        if self._sign_on is not None and bearer.count(".") == 2:
            identity = self._sign_on.identity(bearer)
            return None if identity is None else people.with_identity(identity)
        return people.verify(bearer)


def denied() -> AccessDenied:
    """Return the one answer to a credential that is missing, wrong, expired or revoked."""
    return AccessDenied(
        "credential_wrong",
        "the credential is missing, or not one that may ask here",
        "send the header `Authorization: Bearer TOKEN`; the data owner gives out tokens with"
        " `sanql user add` and `sanql user rotate`",
    )


def _too_many() -> ServerError:
    return ServerError(
        "sign_ins_failed",
        "too many credentials from this address were wrong",
        "wait a minute",
    )
