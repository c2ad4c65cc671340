"""What the version before the seams wrote is honoured to the last digit; fixtures/format_2 has it."""

from __future__ import annotations

from account.recorded_contract import RecordedLedgers


class TestLedgersOfFormat2(RecordedLedgers):
    """A ledger of format 2 goes on after a record of the new format, and one of its columns."""

    format = 2
    records = 37
    more = 3
    asked_anew = "street"
    exact_refused = "exact_source_changed"
