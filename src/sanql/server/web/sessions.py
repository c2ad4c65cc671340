"""Who is signed in at a browser: a random cookie, and on the server whom it stands for.

A session is worth what its person's token is worth: each request looks the person up again, so that it
ends when the token is rotated, expires or is revoked; one that a provider of sign-on has signed says when
it ends. A session ends by itself too, and when the server stops.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sanql.account import Person
from sanql.entropy import OsEntropy

IDLE_SECONDS = 2 * 3600.0
LASTING_SECONDS = 12 * 3600.0
SESSIONS_MAX = 10_000
PER_PERSON_MAX = 16
_TYPED_MAX = 2_000


@dataclass(frozen=True)
class WebSession:
    """Whom a cookie stands for: a person in each dataset that knew them when they signed in."""

    key: str  # the caller's
    people: Mapping[str, Person]
    said_by_proxy: str
    dataset: str
    expires: float  # what was signed in with, in seconds since 1970
    begun: float
    seen: float

    def ended(self, now: float, today: float) -> bool:
        """Return whether it is too old, or nobody has used it for too long, or its token has ended."""
        old = now - self.begun >= LASTING_SECONDS or now - self.seen >= IDLE_SECONDS
        return old or today >= self.expires


class WebSessions:
    """Every session of a server, by a digest of its cookie; in memory alone."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        calendar: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._calendar = calendar
        self._secret = OsEntropy().bytes(32)
        self._mutex = threading.Lock()
        self._open: OrderedDict[bytes, WebSession] = OrderedDict()
        self._typed: OrderedDict[str, Mapping[str, str]] = OrderedDict()

    def open(
        self,
        key: str,
        people: Mapping[str, Person],
        said_by_proxy: str,
        dataset: str,
        expires: float = math.inf,
    ) -> str:
        """Return the cookie of a new session, which nobody can guess."""
        cookie, now = new_cookie(), self._clock()
        with self._mutex:
            own = [digest for digest, each in self._open.items() if each.key == key]
            for digest in own[: max(0, len(own) - PER_PERSON_MAX + 1)]:
                del self._open[digest]
            self._open[_digest(cookie)] = WebSession(
                key, dict(people), said_by_proxy, dataset, expires, now, now
            )
            while len(self._open) > SESSIONS_MAX:
                self._open.popitem(last=False)
        return cookie

    def find(self, cookie: str) -> WebSession | None:
        """Return the session of a cookie, which is used by that; None where there is none any more."""
        digest, now = _digest(cookie), self._clock()
        with self._mutex:
            found = self._open.pop(digest, None)
            if found is None or found.ended(now, self._calendar()):
                return None
            self._open[digest] = found = replace(found, seen=now)
            return found

    def choose(self, cookie: str, dataset: str) -> None:
        """Have a session be about another dataset from now on."""
        with self._mutex:
            found = self._open.get(_digest(cookie))
            if found is not None:
                self._open[_digest(cookie)] = replace(found, dataset=dataset)

    def close(self, cookie: str) -> None:
        """End a session."""
        with self._mutex:
            self._open.pop(_digest(cookie), None)

    def form_token(self, cookie: str) -> str:
        """Return what every form of a cookie's pages carries, and no page of another site can know."""
        return hmac.digest(self._secret, cookie.encode(), "sha256").hex()

    def is_own_form(self, cookie: str, token: str) -> bool:
        """Return whether a form was made for this cookie."""
        return hmac.compare_digest(self.form_token(cookie).encode(), token.encode())

    def remember(self, question: str, typed: Mapping[str, str]) -> None:
        """Keep what was typed with a question, by its number, to be shown beside its answer."""
        with self._mutex:
            self._typed[question] = dict(typed)
            while len(self._typed) > _TYPED_MAX:
                self._typed.popitem(last=False)

    def typed(self, question: str) -> Mapping[str, str]:
        """Return what was typed with a question; nothing where it was forgotten."""
        with self._mutex:
            return self._typed.get(question, {})


def new_cookie() -> str:
    """Return a text that nobody can guess."""
    return OsEntropy().bytes(32).hex()


def _digest(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode()).digest()
