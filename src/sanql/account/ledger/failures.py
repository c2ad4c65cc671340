"""Failures of the engine, which are rationed: each one may tell something that nobody has priced.

A failure is a void that the engine caused, or a reservation that is still open when the engine's
deadline is long over (its process died); younger ones are taken to be running. What the caller broke
off or the operator stopped is none. An analyst with `failures_max` failures is refused, and everybody
once there are `failures_total_max` in all, until the owner has looked and had them counted anew.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from sanql.account.ledger.journal import Journal
from sanql.account.ledger.moments import Clock, record_time
from sanql.account.ledger.refusals import failed_too_often
from sanql.policy import Policy

ORPHAN_GRACE = timedelta(seconds=60)


class Failures:
    """The failures on one ledger's record."""

    def __init__(self, journal: Journal, policy: Policy, clock: Clock) -> None:
        self._journal = journal
        self._policy = policy
        self._clock = clock

    def count(self) -> int:
        """Return how many failures count at present, orphans among them."""
        with self._journal.reading():
            return sum(self._counted().values())

    def reset(self) -> int:
        """Record that the owner has looked: failures so far count no more. Return how many did."""
        with self._journal.writing():
            counted = sum(self._counted().values())
            self._journal.append("failures_reset", {"time": record_time(self._clock)})
        self._journal.pin()
        return counted

    def check(self, analyst: str) -> None:
        """Refuse an analyst who, or all of whom together, had too many; call it while writing."""
        failed, policy = self._counted(), self._policy
        total_max = policy.failures_max
        if policy.failures_total_max is not None:
            total_max = policy.failures_total_max
        # Names are told apart only where the owner declares them; else failures count together.
        if policy.analysts and failed[analyst] >= policy.failures_max:
            raise failed_too_often(f"{failed[analyst]} queries of this analyst", "failures_max")
        if sum(failed.values()) >= total_max:
            raise failed_too_often(
                f"{sum(failed.values())} queries of all analysts", "failures_total_max"
            )

    def _counted(self) -> Counter[str]:
        """Return the failures that count, by analyst; call it while reading."""
        books, deadline = self._journal.books, self._policy.engine.deadline_seconds
        oldest = self._clock() - ORPHAN_GRACE - timedelta(seconds=deadline)
        orphans = Counter(
            pending.analyst
            for sequence, pending in books.pending.items()
            if pending.time < oldest and sequence > books.failures_seen_until
        )
        return books.failures + orphans
