"""Who asks: a token, a sign-on elsewhere, or a trusted proxy's word; whatever is wrong, one answer.

Failures are rationed by address. However many its address has, a token is admitted that was seen to be
good, and one is compared whose name is somebody's, unless that name has had too many itself: so nobody is
shut out by somebody else behind the same proxy, who knows neither token nor name. Who was admitted a
moment ago is admitted again without a look: what another server or a command changes takes effect a tenth
of a second later.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import ip_network

from sanql.account import People, Person, name_of_token
from sanql.errors import AccessDenied, ServerError
from sanql.server.caller import Caller
from sanql.server.datasets import Dataset, Datasets
from sanql.server.rates import RateLimit
from sanql.server.settings import ServerSettings, plain_address
from sanql.server.sign_on import SignOn, SignOnWord

RECENT_SECONDS = 0.1
_RECENT_MAX = 10_000
_WAITING_MAX = 4
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
        self._mutex = threading.Lock()
        self._recent: OrderedDict[Credential, tuple[float, int, Caller]] = OrderedDict()
        self.waiting = ThreadPoolExecutor(_WAITING_MAX, "sign-on")

    def threads(self, credential: Credential) -> Executor | None:
        """Return where to look a credential up, None of the usual place.

        Those that wait for a provider wait apart, so that a slow one keeps nobody else from asking.
        """
        return self.waiting if self._is_sign_on(credential) else None

    def credential(self, headers: Mapping[str, str], address: str) -> Credential:
        """Return what a request's headers say; a proxy's are read only where it is the proxy's."""
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        believed = self._proxy is not None and self._proxy.trusts(address)
        said = headers.get(self._proxy.header, "") if self._proxy and believed else ""
        return Credential(bearer.strip() if scheme.lower() == "bearer" else "", said, address)

    def caller_at_hand(self, credential: Credential) -> Caller | None:
        """Return whoever a credential is of, where nobody need be waited for to know it, or None.

        That is so of who was seen a moment ago, and of who was seen before and has a token that every
        dataset admits still: then it is looked up at once, as it takes less than another thread would.
        """
        seen, state, caller = self._recent.get(credential, (0.0, 0, None))
        if caller is None or state != self._datasets.state:
            return None
        moment = time.monotonic()
        if moment - seen < RECENT_SECONDS:
            return caller
        if credential.said_by_proxy or self._is_sign_on(credential):
            return None
        known = {
            dataset.name: (dataset, person)
            for dataset in self._datasets
            if (person := dataset.people.verify_at_hand(credential.bearer)) is not None
            and self._uses.left(f"{dataset.name}/{person.name}")
            < 1  # else it is to be written down
        }
        complete = len(known) == len([*self._datasets])
        return self._remembered(credential, moment, state, known) if complete else None

    def caller(self, credential: Credential) -> Caller:
        """Return whoever a credential is of; AccessDenied, always the same, where it is nobody's."""
        state, moment = self._datasets.state, time.monotonic()
        self._check_rate(credential)
        find = self._finding(credential)
        known = {
            dataset.name: (dataset, person)
            for dataset in self._datasets
            if (person := find(dataset.people)) is not None
        }
        if not known:
            waits = [self._failures.take(key) for key in _counted_by(credential)]
            raise _too_many() if waits[0] else denied()
        for dataset, person in known.values():
            if not self._uses.take(f"{dataset.name}/{person.name}"):
                dataset.people.used(person.name)
        return self._remembered(credential, moment, state, known)

    def _remembered(
        self,
        credential: Credential,
        moment: float,
        state: int,
        known: dict[str, tuple[Dataset, Person]],
    ) -> Caller:
        """Return the caller who is known to some datasets, to be admitted for a moment."""
        caller = Caller(next(iter(known.values()))[1].name, known)
        with self._mutex:
            self._recent[credential] = moment, state, caller
            self._recent.move_to_end(credential)
            while len(self._recent) > _RECENT_MAX:
                self._recent.popitem(last=False)
        return caller

    def expires(self, credential: Credential) -> float:
        """Return when a credential ends by itself, in seconds since 1970.

        A provider says it in its token; of San's own tokens people's records say it, which are looked at
        with every request.
        """
        if not self._is_sign_on(credential):
            return math.inf
        word = self.word(credential.bearer)
        return 0.0 if word is None else word.expires

    def word(self, token: str) -> SignOnWord | None:
        """Return what the provider says with a token; None where it is not to be believed."""
        return None if self._sign_on is None else self._sign_on.word(token)

    def check_sign_on(self, address: str) -> None:
        """Ask the provider nothing for an address that had too many failures."""
        if self._failures.left(_neighbourhood(address)) < 1:
            raise _too_many()

    def sign_on_failed(self, address: str) -> None:
        """Count a failure of an address."""
        self._failures.take(_neighbourhood(address))

    def check_challenge(self, address: str, people: People, name: str) -> None:
        """Refuse to challenge for an address that had too many failures, but for a name that had not."""
        if self._failures.left(_neighbourhood(address)) >= 1:
            return
        if self._failures.left(f"name {name}") < 1 or people.named(name) is None:
            raise _too_many()

    def challenge_failed(self, address: str, name: str) -> AccessDenied:
        """Count a challenge that was not met; return the one answer to it."""
        for key in (_neighbourhood(address), f"name {name}"):
            self._failures.take(key)
        return AccessDenied(
            "credential_wrong",
            "the password is not the token of a person of this name who may ask this dataset",
            "the password is a token: the data owner gives them out with `sanql user add` and `sanql user"
            " rotate`; the database is the dataset's name",
        )

    def still(self, name: str, person: Person) -> tuple[Dataset, Person]:
        """Return a dataset and a person as they are now; AccessDenied where that has ended."""
        for dataset in self._datasets:
            if dataset.name == name:
                now = dataset.people.named(person.name)
                if now is not None and now.verifier == person.verifier:
                    if not self._uses.take(f"{name}/{person.name}"):
                        dataset.people.used(person.name)
                    return dataset, now
        raise denied()

    def _check_rate(self, credential: Credential) -> None:
        """Compare nothing for an address that had too many failures, unless the token was seen good."""
        if credential.said_by_proxy or self._failures.left(_neighbourhood(credential.address)) >= 1:
            return
        places = [dataset.people for dataset in self._datasets]
        if self._sign_on is not None and self._sign_on.remembers(credential.bearer):
            return
        if any(people.remembers(credential.bearer) for people in places):
            return
        *_, last = _counted_by(credential)  # the token's name, where it has one
        if self._failures.left(last) < 1 or not any(
            people.is_somebodys(credential.bearer) for people in places
        ):
            raise _too_many()

    def _finding(self, credential: Credential) -> Callable[[People], Person | None]:
        """Return what finds whoever a credential is of among people."""
        identity: str | None = credential.said_by_proxy
        if not identity and self._is_sign_on(credential) and self._sign_on is not None:
            identity = self._sign_on.identity(credential.bearer)
        elif not identity:
            return lambda people: people.verify(credential.bearer)
        return lambda people: None if identity is None else people.with_identity(identity)

    def _is_sign_on(self, credential: Credential) -> bool:
        """Return whether a provider's word is to be asked for: San's own tokens have no dots."""
        own = not credential.said_by_proxy and credential.bearer.count(".") == 2
        return own and self._sign_on is not None


def _counted_by(credential: Credential) -> list[str]:
    """Return what a failure is counted by: the address, and the name of the token that was tried."""
    named = name_of_token(credential.bearer)
    return [_neighbourhood(credential.address), *([] if named is None else [f"token {named}"])]


def _neighbourhood(address: str) -> str:
    """Return what failures are counted by: with IPv6 one machine has more addresses than can be kept.

    >>> _neighbourhood("10.0.0.7"), _neighbourhood("::ffff:10.0.0.7"), _neighbourhood("2001:db8::7:1")
    ('10.0.0.7', '10.0.0.7', '2001:db8::/64')
    """
    try:
        found = plain_address(address)
    except ValueError:
        return address
    return str(found) if found.version == 4 else str(ip_network((found, 64), strict=False))


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
