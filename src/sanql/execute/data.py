"""The data of a policy, one version at a time: which it is, whether it still is, and open for questions.

A source is read as the newest version that the ledger knows, and only while its files are what they were
when that version was opened; otherwise the owner must open the next one. Repeats need no source at all.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.account import Ledger, Version
from sanql.account.scratch import never_releases
from sanql.execute.files import identify, locate
from sanql.execute.pool import Workers, unavailable
from sanql.execute.sources import (
    Description,
    Progress,
    Source,
    describe,
    entry_name,
    first_fingerprint,
    is_prepared,
    prepare,
)
from sanql.execute.stamps import Stamped, Stamps
from sanql.execute.trials import Trials

if TYPE_CHECKING:
    from sanql.execute.messages import Identity
    from sanql.policy import Policy


@dataclass(frozen=True)
class Opened:
    """One version of the data, checked and open for questions."""

    version: Version
    source: Source
    workers: Workers
    trials: Trials


class Data:
    """What San knows of a policy's source; safe to share among threads."""

    def __init__(self, policy: Policy, ledger: Ledger, progress: Progress | None = None) -> None:
        self._policy = policy
        self._ledger = ledger
        self._progress = progress
        self._stamps = Stamps(policy.ledger)
        self._lock = threading.RLock()
        self._described: tuple[Version | None, Description] | None = None
        self._opened: Opened | None = None

    def describe(self) -> Description:
        """Return the names and types of the newest version; no row is read for it.

        What was found when it was prepared is found again whatever the source is now; otherwise the
        source is looked at, if it is that version.
        """
        with self._lock:
            version = self._ledger.versions.newest()
            if self._described is None or self._described[0] != version:
                if version is not None and not is_prepared(self._policy, version.stamps):
                    stamped, formerly = self._look()
                    self._ledger.versions.check(stamped.hashes, formerly)
                found = describe(self._policy, None if version is None else version.stamps)
                self._described = version, found
            return self._described[1]

    def known_as(self) -> tuple[int, str]:
        """Return the number of the newest version, and the fingerprint that 0.1.0 had for it.

        The fingerprint is empty where no record of that version can be about it.
        """
        version = self._ledger.versions.newest()
        if version is not None:
            return version.number, version.formerly
        if self._ledger.begun > 1:
            return 1, ""
        return 1, first_fingerprint(self._policy, locate(self._policy))

    def open(self) -> Opened:
        """Return the newest version, ready for questions; raise where the source is something else.

        It is the one way to the rows, and closed to a scratch account.
        """
        if self._ledger.scratch:
            raise never_releases()
        with self._lock:
            stamped, formerly = self._look()
            version = self._ledger.versions.check(stamped.hashes, formerly)
            if self._opened is not None and self._is_open(self._opened, version, stamped):
                return self._opened
            known = self._described[1] if self._described is not None else None
            source = prepare(self._policy, self._progress, known, self._stamps, stamped)
            workers = Workers(source, self._policy.engine)
            self._retire()
            version = self._ledger.versions.keep(stamped.hashes, formerly)
            trials = Trials(source, self._policy.engine)
            self._opened = Opened(version, source, workers, trials)
            return self._opened

    @property
    def opened(self) -> Opened | None:
        """What is open now; nothing is looked at."""
        return self._opened

    def check(self, opened: Opened) -> None:
        """Raise Unavailable if the files that are open were written to since they were checked.

        A file that was replaced is still open as it was; one that was touched is as good as ever.
        """
        written = [
            path
            for path, identity in opened.workers.stamp
            if (now := _identity(path)) is not None and now[:2] == identity[:2] and now != identity
        ]
        if written and not opened.version.holds(self._look()[0].hashes):
            raise unavailable()

    def refresh(self) -> Version:
        """Open the next version of the data, whether or not a byte has changed."""
        if self._ledger.scratch:
            raise never_releases()
        with self._lock:
            describe(self._policy)  # what cannot be read is no version
            return self._ledger.versions.open(self._look()[0].hashes)

    def close(self) -> None:
        """End the workers."""
        with self._lock:
            if self._opened is not None:
                self._opened.workers.close()
                self._opened.trials.close()
            self._opened = None

    def _look(self) -> tuple[Stamped, str]:
        """Return what the source is now, and the name that 0.1.0 would have had for it."""
        location = locate(self._policy)
        return self._stamps.of(location), first_fingerprint(self._policy, location)

    def _is_open(self, opened: Opened, version: Version | None, stamped: Stamped) -> bool:
        """Return whether what is open is this version, its files still where they were."""
        if version != opened.version or opened.version.lacks(stamped.hashes):
            return False
        same = opened.source.fingerprint == entry_name(self._policy, stamped.hashes)
        return same and all(_identity(path) == identity for path, identity in opened.workers.stamp)

    def _retire(self) -> None:
        if self._opened is not None:
            self._opened.workers.retire()
            self._opened.trials.retire()
        self._opened = None


def _identity(path: str) -> Identity | None:
    try:
        return identify(Path(path))
    except OSError:
        return None
