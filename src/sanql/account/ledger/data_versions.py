"""The versions of the data as the ledger keeps them: which one a source is, and opening the next."""

from __future__ import annotations

from collections.abc import Mapping

from sanql.account.ledger.journal import Journal
from sanql.account.ledger.moments import Clock, record_time
from sanql.account.ledger.versions import Version, source_changed


class DataVersions:
    """The records of one ledger that say which versions the data have had (versions.py)."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock

    def newest(self, *, recently: bool = False) -> Version | None:
        """Return the newest version of the data, or None where nothing has been read yet.

        `recently`: or the one that was the newest a moment ago.
        """
        settled = self._journal.settled(recently=recently)
        if settled is not None:
            return settled.version
        with self._journal.reading():
            return self._journal.books.version

    def check(self, stamps: Mapping[str, str], formerly: str) -> Version | None:
        """Return the version that a source with these stamps is; None if it is still to be opened.

        `formerly` is the fingerprint that version 0.1.0 would have recorded for it. Raises Refused where
        the source has changed: then the owner must say that the data have a new version.
        """
        with self._journal.reading():
            return self._checked(stamps, formerly)

    def keep(self, stamps: Mapping[str, str], formerly: str) -> Version:
        """Return the version that a source with these stamps is, put on disk where it is new."""
        with self._journal.reading():
            version = self._checked(stamps, formerly)
        if version is None or version.lacks(stamps):
            with self._journal.writing():
                version = self._checked(stamps, formerly)
                if version is None:
                    begun = self._journal.books.opening["format"]
                    self._append(1, stamps, formerly if begun == 1 else "")
                elif version.lacks(stamps):
                    self._append(version.number, version.lacks(stamps), "")
                version = self._journal.books.version
            self._journal.pin()
        assert version is not None  # noqa: S101  (it has just been opened)
        return version

    def open(self, stamps: Mapping[str, str]) -> Version:
        """Open the next version of the data, whether or not anything has changed.

        What a ledger begun in format 1 has read, if anything, is version 1.
        """
        with self._journal.writing():
            books = self._journal.books
            last = int(books.opening["format"] == 1)
            if books.version is not None:
                last = books.version.number
            self._append(last + 1, stamps, "")
            version = self._journal.books.version
        self._journal.pin()
        assert version is not None  # noqa: S101  (it has just been opened)
        return version

    def _checked(self, stamps: Mapping[str, str], formerly: str) -> Version | None:
        books = self._journal.books
        if books.version is None:
            if books.exact.sources_known() - {formerly}:
                raise source_changed(1)
            return None
        if not books.version.holds(stamps):
            raise source_changed(books.version.number)
        return books.version

    def _append(self, number: int, stamps: Mapping[str, str], formerly: str) -> None:
        stamped: dict[str, object] = {"version": number, "stamps": dict(stamps)}
        content = stamped | {"time": record_time(self._clock)}
        self._journal.append("version", content | ({"formerly": formerly} if formerly else {}))
