"""What people are promised, whichever store they are kept in."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sanql.account.people.people import LAST_USE_STEP, People
from sanql.account.people.tokens import TokenVerifier, make_token, name_of_token
from sanql.account.stores.protocol import Store
from sanql.errors import AccessDenied, LedgerError

DAY = timedelta(days=1)


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


class PeopleContract:
    """The promises; a subclass says where people are kept."""

    def begin(self, place: Path) -> Callable[[], Store]:
        """Return what opens a store at a new place, again and again."""
        raise NotImplementedError

    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Callable[[], Store]]:
        begun, handles = self.begin(tmp_path / "town.ledger"), list[Store]()

        def opened() -> Store:
            handles.append(begun())
            return handles[-1]

        yield opened
        for handle in handles:
            handle.close()

    @pytest.fixture
    def people(self, store: Callable[[], Store], clock: Clock) -> People:
        return People(store(), clock)

    def test_whoever_was_added_is_known_by_their_token_and_by_no_other(
        self, people: People
    ) -> None:
        ana, token = people.add("ana", "analyst")
        bob, other = people.add("bob", "officer")
        assert people.verify(token) == ana and people.verify(other) == bob
        assert (ana.name, ana.role, bob.role) == ("ana", "analyst", "officer")
        for wrong in (
            "",
            "san_",
            token[:-1],
            token[:-1] + "a" * (token[-1] != "a") + "b",
            make_token(),
        ):
            assert people.verify(wrong) is None
        secret = other.rpartition("_")[2]
        assert people.verify(f"san_{name_of_token(token)}_{secret}") is None

    def test_another_handle_knows_them_at_once_and_no_more_once_they_are_revoked(
        self, people: People, store: Callable[[], Store], clock: Clock
    ) -> None:
        elsewhere = People(store(), clock)
        _, token = people.add("ana", "analyst")
        assert elsewhere.verify(token) is not None
        people.revoke("ana")
        assert elsewhere.verify(token) is None and people.verify(token) is None

    def test_a_token_that_is_rotated_is_worth_nothing_and_the_new_one_is(
        self, people: People
    ) -> None:
        _, before = people.add("ana", "analyst")
        assert people.verify(before) is not None
        _, after = people.rotate("ana")
        assert people.verify(before) is None and people.verify(after) is not None

    def test_who_was_revoked_gets_no_new_token_but_may_be_added_again(self, people: People) -> None:
        people.add("ana", "analyst")
        people.revoke("ana")
        with pytest.raises(AccessDenied, match="'ana' was revoked"):
            people.rotate("ana")
        assert people.listed()[0].revoked is not None
        _, token = people.add("ana", "analyst")
        assert people.verify(token) is not None

    def test_a_token_ends_when_it_expires(self, people: People, clock: Clock) -> None:
        _, token = people.add("ana", "analyst", lasting=DAY)
        clock.now += DAY - timedelta(seconds=1)
        assert people.verify(token) is not None
        clock.now += timedelta(seconds=1)
        assert people.verify(token) is None
        assert people.listed()[0].state(clock.now) == "expired"

    def test_a_name_is_taken_until_it_is_revoked(self, people: People) -> None:
        people.add("ana", "analyst")
        with pytest.raises(AccessDenied, match="there is a person 'ana' already"):
            people.add("ana", "officer")
        people.revoke("ana")
        _, token = people.add("ana", "officer")
        found = people.verify(token)
        assert found is not None and found.role == "officer"

    def test_nobody_unknown_is_revoked_or_given_a_token(self, people: People) -> None:
        for act in (people.revoke, people.rotate):
            with pytest.raises(AccessDenied, match="no person 'eve'"):
                act("eve")

    @pytest.mark.parametrize("name", ["", "a b", "ana\n", "-a", "a" * 65, "ána", "a\x00b", "../x"])
    def test_a_name_that_could_be_mistaken_is_refused(self, people: People, name: str) -> None:
        with pytest.raises(AccessDenied, match="cannot be a person's name"):
            people.add(name, "analyst")
        assert people.listed() == []

    def test_one_token_may_serve_several_datasets(self, tmp_path: Path, people: People) -> None:
        _, token = people.add("ana", "analyst")
        other = People(self.begin(tmp_path / "other.ledger")())
        other.add("ana", "analyst", token=token)
        assert other.verify(token) is not None
        people.revoke("ana")
        assert other.verify(token) is not None and people.verify(token) is None
        other.close()

    def test_who_signs_on_elsewhere_is_found_by_their_identity_and_has_no_token(
        self, people: People
    ) -> None:
        ana, token = people.add("ana", "analyst", identity="ana@example.org")
        assert token == "" and people.verify("") is None
        assert people.with_identity("ana@example.org") == ana
        assert people.with_identity("ana") is None and people.with_identity("") is None
        with pytest.raises(AccessDenied, match="has no token"):
            people.rotate("ana")
        with pytest.raises(AccessDenied, match="with the identity 'ana@"):
            people.add("bob", "analyst", identity="ana@example.org")
        people.revoke("ana")
        assert people.with_identity("ana@example.org") is None

    def test_the_last_use_is_kept_to_the_minute(self, people: People, clock: Clock) -> None:
        people.add("ana", "analyst")
        assert people.listed()[0].last_used is None
        people.used("ana")
        first = clock.now
        clock.now += LAST_USE_STEP / 2
        people.used("ana")
        assert people.listed()[0].last_used == first
        clock.now += LAST_USE_STEP
        people.used("ana")
        assert people.listed()[0].last_used == clock.now
        people.used("nobody")

    def test_what_is_kept_holds_no_secret_and_verifies_as_scram_says(
        self, people: People, store: Callable[[], Store]
    ) -> None:
        """Computed by hand from RFC 5802: a client that knows the token can prove it."""
        _, token = people.add("ana", "analyst")
        opened = store()
        with opened.reading():
            kept = b"".join(note for kind in ("person", "token") for _, note in opened.notes(kind))
        secret = token.rpartition("_")[2]
        assert secret.encode() not in kept and base64.b64encode(secret.encode()) not in kept
        verifier = people.listed()[0].verifier
        assert verifier is not None and TokenVerifier.from_text(verifier.in_text()) == verifier
        salted = hashlib.pbkdf2_hmac("sha256", token.encode(), verifier.salt, verifier.iterations)
        key = hmac.new(salted, b"Client Key", hashlib.sha256).digest()
        message = b"n=ana,r=nonce"
        signature = hmac.new(verifier.stored_key, message, hashlib.sha256).digest()
        proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        recovered = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        assert hashlib.sha256(recovered).digest() == verifier.stored_key

    def test_a_note_that_is_no_person_is_an_error_and_not_an_exception(
        self, people: People, store: Callable[[], Store]
    ) -> None:
        opened = store()
        with opened.writing():
            opened.write_note("person", "ana", b'{"role": "queen"}')
        with pytest.raises(LedgerError, match="cannot be read"):
            people.listed()
