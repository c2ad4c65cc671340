"""The auditor: re-reads a ledger and recomputes every balance by its own, slower path.

Nothing is shared with the code that keeps the accounts but the definitions they are judged by: the
hashes' text, the filter's fixed orders and weights. Divergences come from the textbook formulas in
40-digit decimals, sums from the whole history, and each record is judged against the limits in
force when it was written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from sanql.account import (
    LedgerReader,
    is_there,
    read_pinned_text,
    reader_at,
)
from sanql.audit.ledger.accounts import (
    AuditedAccount,
    AuditedCharge,
    declared,
    kinds_of,
    under_limits,
)
from sanql.audit.ledger.arithmetic import claim_holds
from sanql.audit.ledger.checkpoints import checkpoint_fault
from sanql.audit.ledger.exact import ExactAudit
from sanql.audit.ledger.findings import RecordFault, Verification, VerifiedAccount
from sanql.audit.ledger.ownership import RECORD_KEYS as OWNERSHIP
from sanql.audit.ledger.ownership import OwnershipAudit
from sanql.audit.ledger.signing import SigningAudit
from sanql.audit.ledger.terms import TermsAudit
from sanql.audit.ledger.texts import TextsAudit, VerifiedTexts
from sanql.audit.ledger.tranches import TranchesAudit
from sanql.audit.ledger.versions import VersionAudit
from sanql.audit.ledger.voids import ends_as_it_should
from sanql.policy import LedgerPlace

_KINDS_OF_SCRATCH = {
    "open",
    "format",
    "limits",
    "tables",
    "tranche",
    "reserve",
    "void",
    "failures_reset",
    "erase",
}


def verify(
    path: LedgerPlace, elsewhere: Callable[[str | None], Iterable[Path]] = lambda _: ()
) -> Verification:
    """Return what an auditor finds in the ledger; faults are returned, not raised.

    `elsewhere` says where more heads of an account may be pinned: a ledger that ends before one of them
    has been put back to an earlier state. A ledger that this user may not read is not a faulty one:
    LedgerUnreadable is raised.
    """
    if not is_there(path):
        wrong = RecordFault(1, f"the ledger {path.name} is missing", "ledger_missing")
        return Verification(path, 0, (), wrong)
    with reader_at(path) as reader:
        places = [*elsewhere(_account_in(reader))]
    # before the records are looked at: whoever asks meanwhile writes those first
    pinned = [_looked_at(place) for place in places]
    with reader_at(path) as reader:
        return verify_reader(path, reader, pinned)


def verify_reader(
    path: LedgerPlace, reader: LedgerReader, pinned: Iterable[Callable[[], str | None]] = ()
) -> Verification:
    """Return what an auditor finds in a ledger of this name, wherever it is kept.

    `pinned` are the texts of heads that were seen elsewhere before.
    """
    audit = _Audit()
    try:
        head = _head(reader.head_text)
        for row in reader.rows(0):
            audit.take(row)
        audit.check_answers(reader.answers())
        if not reader.is_intact():
            raise _Wrong(audit.sequence + 1, "the database file is damaged")
        audit.check_head(head)
        for text in pinned:
            audit.check_pinned(_head(text))
        texts = audit.check_texts(reader.notes("asked"))
        audit.check_checkpoint(reader)
    except _Wrong as wrong:
        fault = RecordFault(wrong.sequence, wrong.message, wrong.code)
        return Verification(path, audit.sequence, (), fault)
    except reader.faults as error:  # a message of the place itself may quote the damage
        reader.check_rights(error)
        fault = RecordFault(audit.sequence + 1, "the file cannot be read any further")
        return Verification(path, audit.sequence, (), fault)
    exact, owned = audit.exact.found(), audit.ownership
    found = exact, audit.scratch, owned.account, texts, tuple(owned.losses)
    return Verification(path, audit.sequence, audit.balances(), None, *found)


class _Wrong(Exception):
    def __init__(self, sequence: int, message: str, code: str = "ledger_damaged") -> None:
        super().__init__(message)
        self.sequence = sequence
        self.message = message
        self.code = code


@dataclass
class _Audit:
    sequence: int = 0
    hashes: dict[int, str] = field(default_factory=lambda: {0: "0" * 64})
    format: int = 0
    scratch: bool = False
    accounting: str = ""
    accounts: list[AuditedAccount] = field(default_factory=list)
    history: list[AuditedCharge] = field(default_factory=list)
    open_reservations: set[int] = field(default_factory=set)
    answers: dict[int, tuple[int, str]] = field(default_factory=dict)
    exact: ExactAudit = field(default_factory=ExactAudit)
    versions: VersionAudit = field(default_factory=VersionAudit)
    ownership: OwnershipAudit = field(default_factory=OwnershipAudit)
    terms: TermsAudit = field(default_factory=TermsAudit)
    texts: TextsAudit = field(default_factory=TextsAudit)
    tranches: TranchesAudit = field(default_factory=TranchesAudit)
    signing: SigningAudit = field(default_factory=SigningAudit)
    lost: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))

    def take(self, row: tuple[Any, ...]) -> None:
        sequence, kind, body, previous, digest = row
        expected = self.sequence + 1
        if sequence != expected:
            raise _Wrong(expected, "is missing")
        if not all(isinstance(part, str) for part in row[1:]):
            raise _Wrong(expected, "is not written as text")
        if previous != self.hashes[self.sequence]:
            raise _Wrong(sequence, "does not follow the record before it")
        text = json.dumps([sequence, kind, body, previous], separators=(",", ":"))
        if hashlib.sha256(text.encode()).hexdigest() != digest:
            raise _Wrong(sequence, "has been changed: its hash does not match its content")
        try:
            self._judge(sequence, kind, json.loads(body))
        except (ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError) as fault:
            raise _Wrong(sequence, "makes no sense after the records before it") from fault
        self.sequence = sequence
        self.hashes[sequence] = digest

    def check_answers(self, answers: Mapping[object, object]) -> None:
        kept = dict(answers)
        for reservation, (spend, digest) in self.answers.items():
            content = kept.pop(reservation, None)
            if not isinstance(content, bytes) or hashlib.sha256(content).hexdigest() != digest:
                raise _Wrong(
                    spend, f"the answer to reservation {reservation} is damaged or missing"
                )
        if kept:
            first = min(each for each in kept if isinstance(each, int))
            raise _Wrong(first, "an answer is kept that was never recorded as spent")

    def check_texts(self, notes: Iterable[tuple[str, bytes]]) -> VerifiedTexts:
        match self.texts.check(notes):
            case VerifiedTexts() as found:
                return found
            case sequence, message:
                raise _Wrong(sequence, message, "ledger_text_changed")

    def check_checkpoint(self, reader: LedgerReader) -> None:
        if (wrong := checkpoint_fault(reader)) is not None:
            raise _Wrong(*wrong, "ledger_checkpoint_wrong")

    def check_head(self, head: dict[str, Any] | None) -> None:
        if head is None:
            if self.sequence > 2:
                message = "the pinned head is missing"
                raise _Wrong(self.sequence, message, "ledger_head_missing")
            return
        self.check_pinned(head)

    def check_pinned(self, head: dict[str, Any] | None) -> None:
        if head is None or self.ownership.has_given_up(head):
            return
        if head["sequence"] > self.sequence:
            raise _Wrong(
                self.sequence + 1,
                f"is missing: the ledger ends before it, but record {head['sequence']} was written",
                "ledger_rolled_back",
            )
        if self.hashes.get(head["sequence"]) != head["hash"]:
            raise _Wrong(head["sequence"], "is not the record that had been written")

    def balances(self) -> tuple[VerifiedAccount, ...]:
        return tuple(
            VerifiedAccount(
                account.kind,
                account.name,
                account.charges,
                *account.spent(),
                account.protects,
            )
            for account in self.accounts
        )

    def _judge_place(self, sequence: int, kind: str) -> None:
        if (kind == "open") != (sequence == 1):
            raise ValueError("a ledger is opened once, by its first record")
        if self.ownership.closed:
            raise _Wrong(sequence, "comes after the account had been closed")
        if self.scratch and kind not in _KINDS_OF_SCRATCH:
            raise _Wrong(sequence, "is of a kind that no scratch account has")

    def _judge_exact(self, sequence: int, body: dict[str, Any]) -> None:
        self._check(sequence, self.exact.take(sequence, body))
        if self.ownership.exact_closed:
            raise _Wrong(sequence, "exact answers were closed by an account before this one")
        if self.terms.fold(body["table"]) in self.terms.renames.tables:
            raise _Wrong(sequence, "is about a table of which something was renamed")
        self.open_reservations.add(sequence)

    def _judge(self, sequence: int, kind: str, body: dict[str, Any]) -> None:
        self._judge_place(sequence, kind)
        match kind:
            case "open":
                self._set_format(sequence, body)
                self.versions.begun = self.format
                self.scratch = "scratch" in body
                self._check(sequence, self.terms.open(body, self.format))
                if self.scratch and (body["scratch"] is not True or self.format < 2):
                    raise _Wrong(sequence, "does not say whether the account is a scratch account")
            case "format":
                self._set_format(sequence, body)
            case "limits":
                self._set_limits(sequence, body)
            case "approve" if self.format >= 3 and self.accounts:
                self._check(sequence, self.signing.sign(body))
            case "tables" if self.format > 1 and self.accounts:
                self._check(sequence, self.terms.take(body, self.format))
            case "rename" if self.format >= 3 and self.accounts:
                self._check(sequence, self.terms.rename(body))
            case "tranche":
                self._check(sequence, self.tranches.take(body, self.format, self.accounts))
            case "version":
                self._open_version(sequence, body)
            case "reserve":
                self._judge_charge(sequence, body)
            case "exact":
                self._judge_exact(sequence, body)
            case "spend":
                self.open_reservations.remove(body["reservation"])
                self.answers[body["reservation"]] = (sequence, body["sha256"])
            case "void":
                self.open_reservations.remove(body["reservation"])
                if not ends_as_it_should(body, self.format):
                    raise ValueError("a void says who ended it, or why")
            case "failures_reset" if self.format > 1:
                datetime.fromisoformat(body["time"])
            case "checkpoint" if self.format >= 4 and self.accounts:
                if set(body) != {"form", "sha256"} or int(body["sha256"], 16) < 0:
                    raise ValueError("not a checkpoint")
            case "erase":
                self._check(sequence, self.texts.erase(body, self.format))
            case _ if kind in OWNERSHIP and self.format >= 2:
                self._judge_ownership(sequence, kind, body)
            case _:
                raise ValueError("unknown kind")
        if kind in ("reserve", "exact"):
            self.texts.take(sequence, body, self.format)
        if kind in ("spend", "void"):
            self.exact.settle(body["reservation"], kind, body)

    def _set_format(self, sequence: int, body: dict[str, Any]) -> None:
        if type(body["format"]) is not int or body["format"] not in (1, 2, 3, 4, 5, 6):
            raise _Wrong(
                sequence,
                f"is written in format {str(body['format'])[:20]}, which this version does not know",
            )
        if body["format"] <= self.format or (self.format and body["format"] == 5):
            raise ValueError("a ledger goes on in a later format, none with kinds that it lacked")
        self.format = body["format"]

    def _check(self, sequence: int, wrong: str | None) -> None:
        if wrong is not None:
            raise _Wrong(sequence, wrong)

    def _open_version(self, sequence: int, body: dict[str, Any]) -> None:
        wrong = "is of a kind that format 1 lacks" if self.format < 2 else self.versions.take(body)
        self._check(sequence, wrong)
        if body.get("formerly"):
            self.exact.formerly[body["formerly"]] = f"version {body['version']}"

    def _set_limits(self, sequence: int, body: dict[str, Any]) -> None:
        self._check(sequence, self.signing.declare(body, self.format))
        self.accounting = body["accounting"]
        self.accounts, wrong = under_limits(
            body, self.format, self.accounts, self.history, self.lost
        )
        self._check(sequence, wrong)

    def _judge_ownership(self, sequence: int, kind: str, body: dict[str, Any]) -> None:
        self._check(sequence, self.ownership.take(kind, body))
        if kind in ("merge", "restore"):
            self.terms.forget_public()
        if kind == "restore":
            self._lose(sequence, body)
        for charged in body["charges"] if kind == "merge" else ():
            # it was spent from another budget: it counts here, and need not have fitted
            self._take_charge(sequence, charged)

    def _lose(self, sequence: int, body: dict[str, Any]) -> None:
        """Count records that are missing in every account: nobody knows who was answered."""
        kept = body["kept"]
        if self.format < 3 or self.hashes.get(kept["sequence"]) != kept["hash"]:
            raise _Wrong(sequence, "is not about the records before it")
        stated = self.ownership.losses[-1].spent
        limits = [declared(words) for words in body["declares"]]
        for account in self.accounts:
            account.lose(stated, limits)
        whole = [account.greatest for account in self.accounts if account.kind == "dataset"]
        most = max(each[0] for each in whole), max(each[1] for each in whole)
        more = most if stated is None else stated
        self.lost = self.lost[0] + more[0], self.lost[1] + more[1]

    def _judge_charge(self, sequence: int, body: dict[str, Any]) -> None:
        if "protects" in body["charge"] and self.format < 5:
            raise ValueError("a charge says since format 5 whom it protects")
        self.open_reservations.add(sequence)
        for account in self._take_charge(sequence, body):
            if not account.keeps_to_its_budget():
                raise _Wrong(sequence, f"{account.named} exceeds its budget")

    def _take_charge(self, sequence: int, body: dict[str, Any]) -> list[AuditedAccount]:
        """Count a charge; return the accounts it counts in."""
        words = body["charge"]
        charge = AuditedCharge(
            body["analyst"],
            words["events"],
            Fraction(words["epsilon"]),
            Fraction(words["delta"]),
            tuple(words.get("protects", ())),
        )
        if not claim_holds(charge.events, charge.epsilon, charge.delta):
            raise _Wrong(sequence, "its events do not satisfy the epsilon and delta it claims")
        kinds = kinds_of(self.accounts)
        touched = [account for account in self.accounts if account.takes(charge, kinds)]
        whole = {account.protects for account in touched if account.kind == "dataset"}
        if not whole or (set(charge.protects) & kinds) - whole:
            raise ValueError("there is no account of the dataset")
        self.history.append(charge)
        for account in touched:
            account.take(charge, self.accounting)
        return touched


def _account_in(reader: LedgerReader) -> str | None:
    """Return the account that a ledger's first claim names, if it has one that can be read."""
    faults: tuple[type[Exception], ...] = (ValueError, KeyError, TypeError, IndexError)
    try:
        for row in reader.rows(0):
            if row[1] == "claim":
                return str(json.loads(str(row[2]))["account"])
    except (*faults, *reader.faults):
        pass  # whoever reads all of it says what is wrong
    return None


def _looked_at(place: Path) -> Callable[[], str | None]:
    """Return what gives the text that is pinned somewhere at this moment, or why there is none."""
    try:
        text = read_pinned_text(place)
    except ValueError:
        return lambda: ""
    return lambda: text


def _head(pinned_text: Callable[[], str | None]) -> dict[str, Any] | None:
    """Return the head that is pinned, read anew from its text."""
    try:
        text = pinned_text()
        head = None if text is None else json.loads(text)
    except ValueError:
        text, head = "", None
    if text is None:
        return None
    if not isinstance(head, dict) or set(head) != {"sequence", "hash"}:
        raise _Wrong(1, "the pinned head cannot be read", "ledger_head_damaged")
    if type(head["sequence"]) is not int:
        raise _Wrong(1, "the pinned head cannot be read", "ledger_head_damaged")
    return head
