"""The versions of the data: public events, each opened by a record of the ledger.

What is asked is asked of a version, and its number is all that digests, repeats and exact releases know
of the data. A version is opened at the first reading, and from then on by the owner, whether or not a
byte has changed; so neither that a question is charged nor that it is free tells anything about rows.

A version has a stamp for each table whose files it was read from (`WHOLE` for a database in one file). A
source whose stamps differ is not read under this version. A table that the policy declares later is
added to the version by a record of its own: nothing that was answered can have read it. That is not so of
a source that is one Parquet or CSV file, whatever its table is called: its bytes are the version's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from sanql.errors import Refused
from sanql.policy import fold

WHOLE = "."
"""Stands for all tables, where one file holds them."""

_STAMP = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Version:
    """One version of the data; `formerly` is the fingerprint by which 0.1.0 knew it, or empty."""

    number: int
    stamps: Mapping[str, str]
    formerly: str = ""

    @property
    def name(self) -> str:
        """How the book of exact releases calls it."""
        return version_name(self.number)

    def holds(self, stamps: Mapping[str, str]) -> bool:
        """Return whether a source with these stamps is, as far as is known, this version.

        Names are compared as SQL compares them: a table spelled otherwise is the same table.
        """
        one_file = WHOLE in stamps
        now = {fold(name): stamp for name, stamp in stamps.items()}
        return one_file == (WHOLE in self.stamps) and all(
            now.get(fold(name), stamp) == stamp for name, stamp in self.stamps.items()
        )

    def lacks(self, stamps: Mapping[str, str]) -> dict[str, str]:
        """Return the stamps of tables that this version does not know yet."""
        known = {fold(name) for name in self.stamps}
        return {name: stamp for name, stamp in stamps.items() if fold(name) not in known}

    def left_out(self, stamps: Mapping[str, str]) -> dict[str, str]:
        """Return the stamps of tables that this version has and a source with these stamps has not."""
        now = {fold(name) for name in stamps}
        return {name: stamp for name, stamp in self.stamps.items() if fold(name) not in now}

    def is_renamed(self, stamps: Mapping[str, str]) -> bool:
        """Return whether the tables that this version does not know have stamps that it knows."""
        return set(self.lacks(stamps).values()) <= set(self.stamps.values())


def version_name(number: int) -> str:
    """Return how the book of exact releases calls a version.

    >>> number_of(version_name(3)), number_of("a fingerprint of 0.1.0")
    (3, None)
    """
    return f"version {number}"


def number_of(name: str) -> int | None:
    """Return the number of a version by its name, or None."""
    number = name.removeprefix("version ")
    return int(number) if number != name and number.isdecimal() else None


def version_after(before: Version | None, content: Mapping[str, object], begun: int) -> Version:
    """Return the version that a record opens or adds tables to; ValueError where it may not.

    `begun` is the format in which the ledger was begun: one of format 1 may have read its data before
    versions were recorded, so its first record may open version 2.
    """
    match dict(content):
        case {"version": int(number), "stamps": dict(stamps), "time": str(), **rest}:
            formerly = rest.pop("formerly", "")
        case _:
            raise ValueError("not a version of the data")
    if rest or not isinstance(formerly, str) or not _are_stamps(stamps):
        raise ValueError("not a version of the data")
    stamps = cast(dict[str, str], stamps)
    if before is not None and number == before.number:
        if WHOLE in {**before.stamps, **stamps} or before.stamps.keys() & stamps.keys() or formerly:
            raise ValueError("a table whose stamp is known is stamped again")
        return Version(number, {**before.stamps, **stamps}, before.formerly)
    following = {before.number + 1} if before is not None else {1, 2} if begun == 1 else {1}
    if number not in following or (formerly and not (begun == number == 1)):
        raise ValueError("versions are opened one after another")
    return Version(number, stamps, formerly)


def _are_stamps(stamps: Mapping[object, object]) -> bool:
    texts = all(isinstance(s, str) and _STAMP.fullmatch(s) for s in stamps.values())
    return bool(stamps) and texts and (WHOLE not in stamps or len(stamps) == 1)


def stamps_missing(version: int, file: str) -> Refused:
    """Return the refusal to read a source of which nobody can tell any more whether it is the same."""
    return Refused(
        "stamps_missing",
        f"the file {file} is missing beside the ledger, and with it the secret by which the source is"
        f" known to be version {version} of the data, so it is not read",
        f"put {file} back from where the ledger was, or from a backup; where it is lost for good, let the"
        " owner say `sanql refresh`, which opens the next version; questions answered before can still be"
        " repeated until then",
    )


def columns_unknown(refused: Refused, tables: Sequence[str]) -> Refused:
    """Return the refusal of a source without the promise of repeats, for which columns are missing."""
    return Refused(
        refused.code,
        f"{refused.message}; the policy leaves the columns of {', '.join(tables)} to it",
        "put the files back, or let the owner say `sanql refresh`, which opens the next version; what was"
        " answered before can be repeated only where columns are known: declare them in the policy, or"
        " put the folder NAME.cache back beside the ledger",
    )


def source_changed(version: int) -> Refused:
    """Return the refusal to read a source that is not what it was; it says nothing of what changed."""
    return Refused(
        "source_changed",
        f"the source is not what it was when version {version} of the data was opened, so it is not "
        "read",
        "put the files back (or pass the tables as they were), or let the owner say `sanql refresh`, "
        "which opens the next version; questions answered before can still be repeated",
    )
