"""What was asked, as it is kept beside the chain: the record of a charge has a salted hash of it only.

The text with its parameters and options, and the salt, lie in a note, which can be erased: then the hash
tells nothing any more, and the chain is as sound as before. The salt is fresh for each charge, so that
equal hashes never show who asked the same, and nobody finds a text by trying likely ones.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from typing import Literal, cast, get_args

from sanql.account.charge import Charge
from sanql.account.ledger.chain import canonical_json
from sanql.account.ledger.idempotency import IdempotencyKey
from sanql.entropy import OsEntropy
from sanql.errors import LedgerError
from sanql.numbers import parse_rational, rational_text
from sanql.policy import Budget

Door = Literal["python", "command", "http", "wire", "web"]
"""Through what a question came."""

DOORS: tuple[str, ...] = get_args(Door)
ASKED = "asked"
CERTIFICATE = "certificate"
"""The kinds of notes: what was asked, with the charge; the guarantee, with the answer."""

SALT_BYTES = 16


@dataclass(frozen=True)
class Asked:
    """What somebody asked, as typed: the text, its parameters and options as plain JSON values.

    `purpose` is what a charge is for that is not the answer itself, such as finding bounds for it;
    `version` that of the data, and `within` the epsilon and delta that the answer was planned within;
    `idempotency` is the key that the charge is bound to.
    """

    text: str = ""
    parameters: object = None
    options: Mapping[str, object] = field(default_factory=dict)
    normalised: str = ""
    door: Door = "python"
    purpose: str = ""
    version: int | None = None
    within: Budget | None = None
    idempotency: IdempotencyKey | None = None

    def said_hash(self, salt: str) -> str:
        """Return the salted hash of everything that was typed."""
        typed = [salt, self.text, self.parameters, self.options]
        return hashlib.sha256(canonical_json(typed).encode("ascii")).hexdigest()


NOTHING_SAID = Asked()
"""Stands for a charge of which nobody said what it was for."""


@dataclass(frozen=True)
class AskedNote:
    """A question as it lies beside the chain; one that was erased has no `asked` and no `salt`.

    `within` is what its answer was planned within, which is not typed.
    """

    door: Door
    purpose: str
    version: int | None
    time: datetime
    price: Budget
    asked: Asked | None = None
    salt: str = ""
    key: str = ""  # the name of the idempotency key that the charge is bound to
    within: Budget | None = None

    @classmethod
    def of(cls, asked: Asked, salt: str, charge: Charge, time: str) -> AskedNote:
        """Return the note of a charge that is about to be recorded."""
        price = Budget(charge.epsilon, charge.delta)
        moment = datetime.fromisoformat(time)
        key = asked.idempotency.name if asked.idempotency is not None else ""
        about = asked.door, asked.purpose, asked.version, moment, price
        return cls(*about, asked, salt, key, asked.within)

    def erased(self) -> AskedNote:
        """Return the note without what was typed and what would let anybody guess it.

        What is left is of the charge, not of the text: when, through what, for how much.
        """
        return replace(self, asked=None, salt="")

    def to_bytes(self) -> bytes:
        """Return the note as it is kept."""
        shape: dict[str, object] = {
            "door": self.door,
            "purpose": self.purpose,
            "version": self.version,
            "time": self.time.isoformat(),
            "epsilon": rational_text(self.price.epsilon),
            "delta": rational_text(self.price.delta),
            "within": _pair(self.within),
        }
        if self.key:
            shape["key"] = self.key
        if self.asked is not None:
            shape |= {
                "salt": self.salt,
                "text": self.asked.text,
                "parameters": self.asked.parameters,
                "options": self.asked.options,
                "normalised": self.asked.normalised,
            }
        return canonical_json(shape).encode("ascii")

    @classmethod
    def from_bytes(cls, note: bytes) -> AskedNote:
        """Return the note that was kept; anything else is a LedgerError, which breaks no promise."""
        try:
            return cls._read(json.loads(note))
        except (ValueError, KeyError, TypeError):
            raise LedgerError(
                "note_damaged",
                "what is kept beside the ledger of a question that was asked cannot be read",
                "the account itself is not concerned; restore the ledger file if you need the text",
            ) from None

    @classmethod
    def _read(cls, shape: dict[str, object]) -> AskedNote:
        price = Budget(parse_rational(shape["epsilon"]), parse_rational(shape["delta"]))
        door, purpose = check_door(shape["door"]), str(shape["purpose"])
        version = cast("int | None", shape["version"])
        time, key = datetime.fromisoformat(str(shape["time"])), str(shape.get("key", ""))
        within = _budget(shape.get("within"))
        note = cls(door, purpose, version, time, price, key=key, within=within)
        if "text" not in shape:
            return note
        asked = Asked(
            text=str(shape["text"]),
            parameters=shape["parameters"],
            options=cast("dict[str, object]", shape["options"]),
            normalised=str(shape["normalised"]),
            door=door,
            purpose=purpose,
            version=version,
            within=within,
        )
        return replace(note, asked=asked, salt=str(shape["salt"]))


def fresh_salt() -> str:
    """Return a salt that nobody has seen."""
    return OsEntropy().bytes(SALT_BYTES).hex()


def note_key(analyst: str, sequence: int) -> str:
    """Return the key of what an analyst asked with a record: an analyst's own have one beginning.

    >>> note_key("ana", 12).partition("/")[2]
    '000000000012'
    """
    return f"{own_prefix(analyst)}{sequence:012d}"


def own_prefix(analyst: str) -> str:
    """Return the beginning of the keys of what an analyst asked."""
    return hashlib.sha256(analyst.encode("utf-8", "surrogatepass")).hexdigest()[:32] + "/"


def asked_hash(content: Mapping[str, object], written_in: int) -> str | None:
    """Return the hash of what was asked that a charge has since format 3, None before; or ValueError."""
    said = content.get("asked")
    if written_in < 3:
        if "asked" in content:
            raise ValueError("a word that this format does not have")
        return None
    if not isinstance(said, str) or len(said) != 64 or not set(said) <= set("0123456789abcdef"):
        raise ValueError("a charge has the hash of what was asked")
    return said


def check_door(door: object) -> Door:
    """Return a door that there is; anything else is a ValueError."""
    if door in DOORS:
        return cast(Door, door)
    raise ValueError(f"a question comes through one of {', '.join(DOORS)}")


def packed(certificate: Mapping[str, object]) -> bytes:
    """Return a certificate as it is kept with an answer."""
    return _compressed(json.dumps(certificate, separators=(",", ":")))


@lru_cache(maxsize=64)  # questions that differ in their conditions alone have the same certificate
def _compressed(text: str) -> bytes:
    return zlib.compress(text.encode("ascii"), 1)


def unpacked(note: bytes) -> dict[str, object]:
    """Return a certificate that was kept."""
    return cast("dict[str, object]", json.loads(zlib.decompress(note)))


def _pair(budget: Budget | None) -> object:
    return None if budget is None else [*map(rational_text, (budget.epsilon, budget.delta))]


def _budget(shape: object) -> Budget | None:
    if shape is None:
        return None
    epsilon, delta = (Fraction(parse_rational(part)) for part in cast("list[object]", shape))
    return Budget(epsilon, delta)
