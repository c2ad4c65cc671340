"""Idempotency keys: a request that is sent twice under one key is charged once, and has one answer.

A key is bound to the charge made under it, in the transaction of that charge, so that it holds between
processes and after a crash. Neither the key nor the request can be read from what is kept: the note's
name is a hash of both analyst and key, and the request is hashed together with the key.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sanql.account.ledger.chain import canonical_json

if TYPE_CHECKING:
    from sanql.account.ledger.journal import Journal

IDEMPOTENCY = "idempotency"
"""The kind of these notes."""


@dataclass(frozen=True)
class IdempotencyKey:
    """A key as it is kept: where, and for which request."""

    name: str
    request: str

    @classmethod
    def of(cls, analyst: str, key: str, typed: object) -> IdempotencyKey:
        """Return the key of an analyst for what they typed, as plain JSON."""
        name = hashlib.sha256(canonical_json([analyst, key]).encode("ascii")).hexdigest()
        said = canonical_json(typed).encode("ascii")
        return cls(name, hmac.new(key.encode(), said, hashlib.sha256).hexdigest())


@dataclass(frozen=True)
class BoundKey:
    """What a key is bound to: the charge made under it and its request, unless that was erased."""

    reservation: int
    request: str | None

    def to_bytes(self) -> bytes:
        """Return it as it is kept."""
        shape = {"request": self.request, "reservation": self.reservation}
        return canonical_json(shape).encode("ascii")

    @classmethod
    def from_bytes(cls, note: bytes) -> BoundKey:
        """Return what was kept."""
        shape = json.loads(note)
        return cls(shape["reservation"], shape["request"])


class KeyTaken(Exception):
    """A charge has been made under the same key a moment ago; this one has not."""


def bound_to(journal: Journal, name: str) -> BoundKey | None:
    """Return what a key is bound to, or None; call it while reading or writing."""
    kept = journal.note(IDEMPOTENCY, name)
    return None if kept is None else BoundKey.from_bytes(kept)


def check_free(journal: Journal, key: IdempotencyKey | None) -> None:
    """Raise KeyTaken where a charge was made under a key; call it while writing, before anything else."""
    if key is not None and bound_to(journal, key.name) is not None:
        raise KeyTaken


def bind(journal: Journal, key: IdempotencyKey, reservation: int) -> None:
    """Bind a key to a request and to the charge made for it; call it while writing."""
    journal.write_note(IDEMPOTENCY, key.name, BoundKey(reservation, key.request).to_bytes())
