"""Recorded answers, checked against the hash that is in the chain."""

from __future__ import annotations

import hashlib

from sanql.account.ledger.journal import Journal
from sanql.account.ledger.segments import RecordedAnswer
from sanql.errors import LedgerError


def recorded_answer(journal: Journal, recorded: RecordedAnswer) -> bytes:
    """Return a recorded answer, unharmed; call it while reading."""
    answer = journal.answer(recorded.reservation)
    if answer is None or hashlib.sha256(answer).hexdigest() != recorded.sha256:
        raise LedgerError(
            "ledger_damaged",
            f"the answer recorded for record {recorded.reservation} of the ledger is damaged",
            "restore the ledger file from the newest good copy",
        )
    return answer
