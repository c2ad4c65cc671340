"""Whose data an account is about, and what became of it: claims, moves, mergers, its end.

A pure state machine over the ledger's records, like the accounts beside it. An account has a name that
nobody chose, from the first record in which it claims a source; more sources may be claimed later, and
none is ever let go of. A merger takes the charges of another account over the same data. After `retire`
there are no records.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, get_args

from sanql.account.charge import Charge
from sanql.account.claims.losses import Loss
from sanql.account.ledger.chain import Head

ClosingStatement = Literal["closed", "merged", "other-data", "other-terms"]
"""Why an account ended. The last two let go of its data: they are another thing now, or the same on
other terms, and then what both accounts promise adds up."""

CLOSING_STATEMENTS: tuple[ClosingStatement, ...] = get_args(ClosingStatement)
RELEASING: tuple[ClosingStatement, ...] = ("other-data", "other-terms")

_NAME = re.compile(r"[0-9a-f]{32}")
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass
class Ownership:
    """The state after the records seen so far."""

    account: str | None = None
    sources: set[str] = field(default_factory=set)
    head: str | None = None  # the second place where the head is pinned
    merged: dict[str, int] = field(default_factory=dict)
    retired: ClosingStatement | None = None
    into: str | None = None  # the account it was merged into
    exact_closed: bool = False  # exact cells of its data may have left that are not on this record
    losses: list[Loss] = field(default_factory=list)

    @property
    def given_up(self) -> set[Head]:
        """Every head that was known and, by the owner's word, is in this chain no more."""
        return {head for loss in self.losses for head in loss.lost}

    def claim(self, content: Mapping[str, object]) -> None:
        """Take one more source; the first names the account."""
        match dict(content):
            case {
                "account": str(name),
                "after": list(after),
                "source": str(source),
                "time": time,
                **rest,
            } if _NAME.fullmatch(name) and self.account in (None, name):
                _moment(time)
                if rest not in ({}, {"exact": "closed"}):
                    raise ValueError("a claim closes exact answers, or says nothing of them")
                self.exact_closed |= bool(rest)
                if not all(isinstance(other, str) and _NAME.fullmatch(other) for other in after):
                    raise ValueError("accounts are called by their names")
                self.account = name
                self.sources.add(source)
            case _:
                raise ValueError("not the claim of this account")

    def move(self, content: Mapping[str, object]) -> None:
        """Take that the account goes on in another file."""
        match dict(content):
            case {"ledger": str(), "time": time} if len(content) == 2 and self.account is not None:
                _moment(time)
            case _:
                raise ValueError("not a move")

    def pin(self, content: Mapping[str, object]) -> None:
        """Take where the head is pinned besides."""
        match dict(content):
            case {"head": (None | str()) as head, "time": time} if len(content) == 2:
                _moment(time)
                self.head = head
            case _:
                raise ValueError("not a place of the head")

    def merge(self, content: Mapping[str, object]) -> list[tuple[str, Charge]]:
        """Return the charges of an account that is merged into this one, with who made them."""
        match dict(content):
            case {
                "account": str(other),
                "charges": list(charges),
                "hash": str(digest),
                "sequence": int(sequence),
                "time": time,
            } if (
                _NAME.fullmatch(other)
                and _HASH.fullmatch(digest)
                and other not in (self.account, *self.merged)
                and self.account is not None
                and len(content) == 5
            ):
                _moment(time)
                self.merged[other] = sequence
                return [_charged(each) for each in charges]
            case _:
                raise ValueError("not a merger")

    def restore(self, content: Mapping[str, object]) -> Loss:
        """Return what is missing, by the owner's word; exact cells may be on the records that are."""
        loss = Loss.from_dict(content)
        self.losses.append(loss)
        self.exact_closed = True
        return loss

    def retire(self, content: Mapping[str, object]) -> None:
        """Take that the account is closed forever."""
        match dict(content):
            case {
                "into": (None | str()) as into,
                "reason": str(),
                "statement": statement,
                "time": time,
            } if (
                statement in CLOSING_STATEMENTS
                and (statement == "merged") == (into is not None)
                and len(content) == 4
            ):
                _moment(time)
                self.retired, self.into = statement, into
            case _:
                raise ValueError("not the end of an account")


def _charged(shape: object) -> tuple[str, Charge]:
    match shape:
        case {"analyst": str(analyst), "charge": dict(charge), **rest} if not rest:
            return analyst, Charge.from_dict(charge)
        case _:
            raise ValueError("not a charge")


def _moment(time: object) -> None:
    if not isinstance(time, str):
        raise ValueError("a time is a text")
    datetime.fromisoformat(time)
