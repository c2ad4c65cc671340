"""The book of exact releases: which cells left without noise, on whose word, from which source.

An exact release is not charged to a budget: its guarantee is another one (against a declared class
only) and does not add up with epsilons. What must never happen is a *second* exact release of the
same records that is not a function of the first. So the book knows three outcomes for a claim:

* the same declaration: the recorded cells, as of the version of the data they were read from; or, from
  the same version, another try to compute them after a crash or a failure (exact cells are the same
  whenever they are computed);
* another column of the same records, where each class holds for somebody who knows the other:
  one more release (coupled-worlds Theorem 6);
* anything else (another version, a declaration that has changed since, other cells, a table of which
  anything was renamed): refused.

A reservation counts as a release from the moment it is on disk, whether or not an answer follows:
after a crash nobody can tell what had left. A refusal names the declaration, never the record: analysts
read it, and how far the ledger had come would tell them how much others had asked.

The book is a pure state machine over the ledger's records, like the accounts beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING

from sanql.account.ledger.renames import check_exact_names
from sanql.errors import Refused
from sanql.numbers import parse_rational, rational_text
from sanql.policy.exact import Footprint, uncovered

if TYPE_CHECKING:
    from sanql.account.ledger.segments import RecordedAnswer


@dataclass(frozen=True)
class ExactClaim:
    """An exact release as it is asked for: what, from which source, and on which guarantee.

    `declaration` is the digest of everything the owner declared; `certificate` is for people.
    `first_declaration` and `first_source` are what a ledger written by version 0.1.0 has for the same.
    """

    footprint: Footprint
    declaration: str
    source: str
    partition: tuple[str, ...]
    cells: int
    epsilon: Fraction
    delta: Fraction
    certificate: Mapping[str, object]
    first_declaration: str = ""
    first_source: str = ""

    def declares(self, declaration: str) -> bool:
        """Return whether this is the name of what is declared here, now or in an older ledger."""
        return declaration in (self.declaration, self.first_declaration)

    def is_from(self, source: str) -> bool:
        """Return whether this is the name of the data meant here, now or in an older ledger."""
        return source in (self.source, self.first_source)

    def repeating(self, made: ExactClaim) -> ExactClaim:
        """Return the claim in the words of an earlier record of the same release."""
        return replace(self, declaration=made.declaration, source=made.source)

    @property
    def name(self) -> str:
        """The declaration's name in the policy."""
        return self.footprint.name

    def to_dict(self) -> dict[str, object]:
        """Return the claim in the ledger's words."""
        return {
            "cells": self.cells,
            "certificate": dict(self.certificate),
            "column": self.footprint.column,
            "declaration": self.declaration,
            "delta": rational_text(self.delta),
            "epsilon": rational_text(self.epsilon),
            "known_columns": list(self.footprint.known_columns),
            "name": self.footprint.name,
            "partition": list(self.partition),
            "source": self.source,
            "table": self.footprint.table,
        }

    @classmethod
    def from_dict(cls, shape: Mapping[str, object]) -> ExactClaim:
        """Return the claim these words describe; anything else is a ValueError."""
        match dict(shape):
            case {
                "cells": int(cells),
                "certificate": dict(certificate),
                "column": (None | str()) as column,
                "declaration": str(declaration),
                "delta": delta,
                "epsilon": epsilon,
                "known_columns": list(known),
                "name": str(name),
                "partition": list(partition),
                "source": str(source),
                "table": str(table),
            }:
                return cls(
                    Footprint(name, table, column, tuple(map(str, known))),
                    declaration,
                    source,
                    tuple(map(str, partition)),
                    cells,
                    parse_rational(epsilon),
                    parse_rational(delta),
                    certificate,
                )
            case _:
                raise ValueError("not an exact release")


@dataclass(frozen=True)
class ExactEntry:
    """One exact release in the book.

    `answer` says where its cells are kept; `refusal` is why the cells could not be released, where
    that was found out; `open` is whether its newest reservation is unsettled.
    """

    claim: ExactClaim
    sequence: int
    analyst: str
    time: datetime
    open: bool = True
    answer: RecordedAnswer | None = None
    refusal: str | None = None

    @property
    def settled(self) -> bool:
        """Whether there is nothing left to find out: its cells are on record, or why there are none."""
        return not self.open and not self.failed

    @property
    def failed(self) -> bool:
        """Whether it ended without cells for no reason in the data: it may be tried again."""
        return not self.open and self.answer is None and self.refusal is None


@dataclass
class ExactBook:
    """The exact releases of a ledger, by name."""

    entries: dict[str, ExactEntry] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    renamed: set[str] = field(default_factory=set)  # tables of which anything had another name

    def call_source(self, formerly: str, name: str) -> None:
        """Take it that a source which earlier records call by one name is called by another now."""
        self.sources[formerly] = name

    def source_of(self, claim: ExactClaim) -> str:
        """Return the version of the data that a release was made from, as it is called now."""
        return self.sources.get(claim.source, claim.source)

    def sources_known(self) -> set[str]:
        """Return what the sources of all releases are called."""
        return {self.source_of(entry.claim) for entry in self.entries.values()}

    def check(self, claim: ExactClaim) -> ExactEntry | None:
        """Return the entry this claim is a repeat of, or None for a release that may be made.

        Cells that are on record may be shown again, as of the version they were read from, whatever
        the data are now. Raises Refused when the claim would be a second release of records that have
        left.
        """
        own = self.entries.get(claim.name)
        if own is not None and own.settled and claim.declares(own.claim.declaration):
            return own
        check_exact_names(claim.footprint.table, self.renamed)
        for entry in self.entries.values():
            made = entry.claim
            if not claim.is_from(self.source_of(made)):
                raise _source_changed(entry)
            if made.name == claim.name:
                if not claim.declares(made.declaration):
                    raise _declaration_changed(entry)
                continue
            problem = uncovered(made.footprint, claim.footprint)
            if problem is not None:
                raise Refused(
                    "exact_combination",
                    f"[exact.{made.name}] has released exact cells of {made.footprint.table}"
                    f" already, and {problem[0]}",
                    "ask with noise: pass an epsilon",
                )
        return self.entries.get(claim.name)

    def reserve(self, sequence: int, content: Mapping[str, object]) -> None:
        """Take a reservation; a second one of the same claim replaces a failed first."""
        analyst, time = content["analyst"], content["time"]
        if not isinstance(analyst, str) or not isinstance(time, str):
            raise ValueError("an exact release names who asked, and when")
        claim = ExactClaim.from_dict({k: v for k, v in content.items() if k not in _ASKED})
        try:
            earlier = self.check(claim)
        except Refused as refused:
            raise ValueError("an exact release that the records before it forbid") from refused
        if earlier is not None and not earlier.failed:
            raise ValueError("an exact release that had been settled is reserved again")
        entry = ExactEntry(claim, sequence, analyst, datetime.fromisoformat(time))
        self.entries[claim.name] = entry

    def holds(self, sequence: object) -> bool:
        """Return whether this open reservation is of the exact book."""
        return any(e.sequence == sequence and e.open for e in self.entries.values())

    def open_since(self, sequence: int) -> datetime | None:
        """Return when an open reservation of the exact book was made, or None."""
        times = [e.time for e in self.entries.values() if e.sequence == sequence and e.open]
        return times[0] if times else None

    def spend(self, sequence: int, answer: RecordedAnswer) -> None:
        """Keep where the cells of a reservation are."""
        self._settle(sequence, answer=answer)

    def void(self, sequence: int, refusal: object) -> str | None:
        """Close a reservation without an answer; return who asked if it failed, None if refused."""
        if refusal is not None and not isinstance(refusal, str):
            raise ValueError("a refusal is a text")
        entry = self._settle(sequence, refusal=refusal)
        return entry.analyst if refusal is None else None

    def _settle(self, sequence: int, **changes: object) -> ExactEntry:
        for name, entry in self.entries.items():
            if entry.sequence == sequence and entry.open:
                self.entries[name] = replace(entry, open=False, **changes)  # type: ignore[arg-type]
                return entry
        raise ValueError("no such reservation is open")


_ASKED = ("analyst", "asked", "time")


def _source_changed(entry: ExactEntry) -> Refused:
    return Refused(
        "exact_source_changed",
        f"the data have another version since [exact.{entry.claim.name}] released exact cells of them;"
        " an exact release of updated records overlaps with the earlier one, and their difference is"
        " about the few who changed",
        "ask with noise: pass an epsilon; the book of exact releases stays closed",
    )


def _declaration_changed(entry: ExactEntry) -> Refused:
    return Refused(
        "exact_declaration_changed",
        f"[exact.{entry.claim.name}] is not what it was when it released its cells, and cells must be"
        " fixed in advance",
        "put the declaration back as it was, or ask with noise",
    )
