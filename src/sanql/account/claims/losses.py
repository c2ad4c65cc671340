"""Records that are missing for good: an older copy of the ledger goes on, and its owner has said so.

A copy that was put back is a rollback: what was answered since is spent, and nobody knows how much that
is. So the record that lets it go on says which heads were known, and what counts as spent: everything
that any budget has ever allowed, unless the owner states a number.

**Why everything is enough.** Up to the moment of the loss each account kept to its filter, so all answers
together are (E, D)-private with its greatest budget (E, D), those that are missing included (the theorem
of `accountants.filter`). That is the greatest on record, or in the policy with which the copy goes on,
which may have been in force when the missing records were written. From then on (E, D) is paid and
nothing else: whatever the budget is raised by comes on top. **Why a statement is.** The claims of the
charges that are missing add up to at most what the owner states; that sum is paid in every account, as if
each had made them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sanql.account.ledger.budget_limits import Account, account_in
from sanql.account.ledger.chain import FORMAT_OF_TRANCHES, Head, LedgerRecord
from sanql.numbers import parse_rational, rational_text
from sanql.policy import Budget

_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Loss:
    """What an owner said when an older copy went on.

    `kept` is the last record of the copy, `lost` the heads that were known and are not in it. `spent` is
    what was charged since at most, in the owner's word; None stands for all that budgets ever allowed,
    those that the policy `declares` included. `taken` is when the copy was made, where that is known.
    """

    kept: Head
    lost: tuple[Head, ...]
    declares: tuple[Account, ...]
    spent: Budget | None
    reason: str
    by: str
    taken: str
    time: str = ""

    @property
    def missing(self) -> int:
        """How many records are missing at least."""
        return max(1, *(head.sequence - self.kept.sequence for head in self.lost))

    def to_dict(self) -> dict[str, object]:
        """Return the body of its record."""
        spent = self.spent
        return {
            "by": self.by,
            "kept": _head_words(self.kept),
            "declares": [account.to_dict() for account in self.declares],
            "lost": [_head_words(head) for head in self.lost],
            "reason": self.reason,
            "spent": None
            if spent is None
            else {"delta": rational_text(spent.delta), "epsilon": rational_text(spent.epsilon)},
            "taken": self.taken,
            "time": self.time,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, object]) -> Loss:
        """Return what a record says; ValueError where it says no loss."""
        match dict(content):
            case {
                "by": str(by),
                "declares": list(declares),
                "kept": kept,
                "lost": [_, *_] as lost,
                "reason": str(reason),
                "spent": spent,
                "taken": str(taken),
                "time": str(time),
                **rest,
            } if not rest:
                datetime.fromisoformat(time)
                heads = tuple(map(_head, lost))
                accounts = tuple(account_in(each, FORMAT_OF_TRANCHES) for each in declares)
                return cls(_head(kept), heads, accounts, _budget(spent), reason, by, taken, time)
            case _:
                raise ValueError("not a loss")


def heads_given_up(records: Iterable[LedgerRecord]) -> set[Head]:
    """Return every head that some of these records say to be missing for good."""
    losses = [Loss.from_dict(record.content) for record in records if record.kind == "restore"]
    return {head for loss in losses for head in loss.lost}


def _head_words(head: Head) -> dict[str, object]:
    return {"hash": head.hash, "sequence": head.sequence}


def _head(words: object) -> Head:
    match words:
        case {"hash": str(digest), "sequence": int(sequence), **rest} if (
            not rest and sequence > 0 and _HASH.fullmatch(digest)
        ):
            return Head(sequence, digest)
        case _:
            raise ValueError("not a head")


def _budget(words: object) -> Budget | None:
    match words:
        case None:
            return None
        case {"delta": delta, "epsilon": epsilon, **rest} if not rest:
            spent = Budget(parse_rational(epsilon), parse_rational(delta))
            if min(spent.epsilon, spent.delta) < 0:
                raise ValueError("nothing is spent backwards")
            return spent
        case _:
            raise ValueError("not what was spent")
