"""The people of one dataset, kept as notes in the store of its ledger.

Servers that share a ledger share its people: whom one revokes, none admits any more. Each look-up reads
what is kept now. What is remembered is only that a token was once compared with a verifier, so that the
slow part of that is done once.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sanql.account.ledger.moments import Clock
from sanql.account.people.person import Person, Role, check_identity, check_name, is_identity
from sanql.account.people.tokens import (
    ITERATIONS,
    TokenVerifier,
    make_token,
    name_of_token,
    verifier_of,
)
from sanql.account.stores.protocol import Store
from sanql.entropy import OsEntropy
from sanql.errors import AccessDenied, LedgerError

_PERSON, _TOKEN, _IDENTITY, _SECRET = "person", "token", "identity", "secret"
_REMEMBERED_MAX = 10_000
LAST_USE_STEP = timedelta(minutes=1)
"""How exactly the last use of a token is kept."""


class People:
    """Who may ask one dataset; safe to share among threads."""

    def __init__(self, store: Store, clock: Clock = lambda: datetime.now(UTC)) -> None:
        self._store = store
        self._clock = clock
        self._mutex = threading.Lock()
        self.changes = 0
        """How often people were changed through this object, since it was made."""
        self._nobody = verifier_of(make_token())  # compared where there is nobody, to take as long
        self._secret = b""
        self._compared: OrderedDict[bytes, TokenVerifier] = OrderedDict()

    def add(
        self,
        name: str,
        role: Role,
        *,
        lasting: timedelta | None = None,
        identity: str = "",
        token: str = "",
    ) -> tuple[Person, str]:
        """Return a new person and their token, which is nowhere kept and cannot be shown again.

        With an `identity` they sign on elsewhere and have no token. One token may serve several datasets:
        it is given to the others. Whoever was revoked may be added again.
        """
        check_name(name)
        with self._writing() as store:
            before = self._person(store, name)
            if before is not None and before.revoked is None:
                raise AccessDenied(
                    "person_there",
                    f"there is a person {name!r} already",
                    f"give them a new token with `sanql user rotate {name}`, or take another name",
                )
            now = self._clock()
            person = Person(name, role, now, expires=None if lasting is None else now + lasting)
            if before is not None:
                self._forget(store, before)
            if not identity:
                return self._with_token(store, person, token)
            person = replace(person, identity=check_identity(identity))
            if store.note(_IDENTITY, identity) is not None:
                raise AccessDenied(
                    "person_there",
                    f"there is a person with the identity {identity!r} already",
                    "`sanql user list` shows who it is",
                )
            store.write_note(_IDENTITY, identity, name.encode())
            store.write_note(_PERSON, name, person.to_bytes())
            return person, ""

    def rotate(
        self, name: str, *, lasting: timedelta | None = None, token: str = ""
    ) -> tuple[Person, str]:
        """Return a person with a new token; the one before is worth nothing from now on."""
        with self._writing() as store:
            person = self._known(store, name)
            if person.revoked is not None:
                raise AccessDenied(
                    "person_revoked",
                    f"{name!r} was revoked, and a new token would let them ask again",
                    f"add them again, if that is meant: `sanql user add {name} --role {person.role}`",
                )
            if person.identity:
                raise AccessDenied(
                    "person_signs_on",
                    f"{name!r} signs on elsewhere and has no token",
                    "revoke them, and add them again without an identity",
                )
            expires = None if lasting is None else self._clock() + lasting
            self._forget(store, person)
            return self._with_token(store, replace(person, expires=expires), token)

    def revoke(self, name: str) -> Person:
        """Return a person who from now on may not ask; their record stays."""
        with self._writing() as store:
            person = replace(self._known(store, name), revoked=self._clock())
            store.write_note(_PERSON, name, person.to_bytes())
            return person

    def listed(self) -> list[Person]:
        """Return everybody, in the order of names."""
        with self._reading() as store:
            return [_person_in(note) for _, note in store.notes(_PERSON)]

    def verify(self, token: str) -> Person | None:
        """Return the person of a token who may ask now, or None.

        Whatever the reason for None, it takes one comparison.
        """
        name = name_of_token(token)
        person = None if name is None else self._of_token(name)
        verifier = None if person is None else person.verifier
        if not self._admits(verifier, token) or person is None:
            return None
        return person if person.state(self._clock()) == "active" else None

    def verify_at_hand(self, token: str) -> Person | None:
        """Return what `verify` would, where nothing is compared at length and nobody waited for, or None.

        A store whose head is at hand is read as quickly, unless this object is being written through.
        """
        at_hand = self._store.head_is_at_hand and not self._mutex.locked()
        return self.verify(token) if at_hand and self.remembers(token) else None

    def remembers(self, token: str) -> bool:
        """Return whether a token was compared before and found good, whatever became of it since."""
        with self._mutex:
            return hashlib.sha256(token.encode()).digest() in self._compared

    def is_somebodys(self, token: str) -> bool:
        """Return whether somebody has a token of this name; whether it is theirs is not compared."""
        name = name_of_token(token)
        if name is None:
            return False
        with self._reading() as store:
            return store.note(_TOKEN, name) is not None

    def with_identity(self, identity: str) -> Person | None:
        """Return the person of somebody who was signed on elsewhere and may ask now, or None."""
        if not is_identity(identity):
            return None
        with self._reading() as store:
            name = store.note(_IDENTITY, identity)
            person = None if name is None else self._person(store, name.decode())
        if person is None or person.identity != identity:
            return None
        return person if person.state(self._clock()) == "active" else None

    def named(self, name: str) -> Person | None:
        """Return the person of a name who may ask now, or None; whether it is they is not compared."""
        with self._reading() as store:
            person = self._person(store, name)
        return person if person is not None and person.state(self._clock()) == "active" else None

    def challenge_of(self, name: str) -> TokenVerifier:
        """Return the verifier by which a person of this name is challenged to show their token.

        Where there is nobody, or they have no token, it is one that no token answers; for one name always
        the same, as somebody's would be.
        """
        person = self.named(name)
        if person is not None and person.verifier is not None:
            return person.verifier
        made = [
            hmac.digest(self._made_up(), f"{part} {name}".encode(), "sha256")
            for part in ("salt", "stored", "server")
        ]
        return TokenVerifier(made[0][:16], ITERATIONS, made[1], made[2])

    def used(self, name: str) -> None:
        """Keep that a person has asked, to the minute: a note for each question would be a disk write."""
        now = self._clock()
        with self._writing() as store:
            person = self._person(store, name)
            if person is not None and (
                person.last_used is None or now - person.last_used >= LAST_USE_STEP
            ):
                person = replace(person, last_used=now)
                store.write_note(_PERSON, name, person.to_bytes())

    def close(self) -> None:
        """Let go of the store."""
        self._store.close()

    def _admits(self, verifier: TokenVerifier | None, token: str) -> bool:
        """Return whether a verifier is a token's, compared at length once."""
        digest = hashlib.sha256(token.encode()).digest()
        with self._mutex:
            known = verifier is not None and self._compared.get(digest) == verifier
        if known:
            return True
        admitted = (verifier or self._nobody).admits(token) and verifier is not None
        if admitted and verifier is not None:
            with self._mutex:
                self._compared[digest] = verifier
                while len(self._compared) > _REMEMBERED_MAX:
                    self._compared.popitem(last=False)
        return admitted

    def _made_up(self) -> bytes:
        """Return the secret that nobody's verifiers are made of, which servers on one ledger share."""
        if not self._secret:
            with self._reading() as store:
                kept = store.note(_SECRET, "challenge")
            if kept is None:
                with self._writing() as store:
                    kept = store.note(_SECRET, "challenge") or OsEntropy().bytes(32)
                    store.write_note(_SECRET, "challenge", kept)
            self._secret = kept
        return self._secret

    def _of_token(self, token_name: str) -> Person | None:
        with self._reading() as store:
            name = store.note(_TOKEN, token_name)
            person = None if name is None else self._person(store, name.decode())
        return person if person is not None and person.token == token_name else None

    def _forget(self, store: Store, person: Person) -> None:
        """Erase the ways by which a person was found."""
        store.write_note(_TOKEN, person.token, None)
        store.write_note(_IDENTITY, person.identity, None)

    def _with_token(self, store: Store, person: Person, token: str) -> tuple[Person, str]:
        token = token or make_token()
        named = name_of_token(token)
        if named is None:
            raise ValueError("not a token")
        person = replace(person, token=named, verifier=verifier_of(token))
        store.write_note(_TOKEN, named, person.name.encode())
        store.write_note(_PERSON, person.name, person.to_bytes())
        return person, token

    def _known(self, store: Store, name: str) -> Person:
        person = self._person(store, name)
        if person is None:
            raise AccessDenied(
                "person_unknown",
                f"there is no person {name[:60]!r}",
                "`sanql user list` shows who there is",
            )
        return person

    def _person(self, store: Store, name: str) -> Person | None:
        note = store.note(_PERSON, name)
        return None if note is None else _person_in(note)

    @contextmanager
    def _reading(self) -> Iterator[Store]:
        with self._mutex, self._explaining(), self._store.reading():
            yield self._store

    @contextmanager
    def _writing(self) -> Iterator[Store]:
        with self._mutex:
            try:
                with self._explaining(), self._store.writing():
                    yield self._store
            finally:
                self.changes += 1  # once it is kept, so that nobody remembers what was before

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        faults: tuple[type[Exception], ...] = (OSError, *self._store.faults)
        try:
            yield
        except faults as fault:
            raise self._store.explained(fault, 1, ()) from fault


def _person_in(note: bytes) -> Person:
    try:
        return Person.from_bytes(note)
    except ValueError:
        raise LedgerError(
            "people_damaged",
            "what is kept of a person cannot be read",
            "restore the newest good copy of the ledger's people",
        ) from None
