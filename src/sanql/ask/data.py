"""The data of a policy, one version at a time: opened for questions, and checked to be unchanged.

A source is read as the newest version that the ledger knows, and only while its files are what they were
when that version was opened; otherwise the owner must open the next one. Repeats need no source at all.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sanql.account import (
    Ledger,
    Version,
    columns_unknown,
    never_releases,
    source_changed,
    stamps_missing,
)
from sanql.catalog import Description, PreparedSource
from sanql.engines import (
    Engine,
    Pool,
    Progress,
    Trials,
    check_no_snapshot,
    describe,
    engine_of,
    first_fingerprint,
    is_prepared,
    key_file,
    open_layout,
    prepare,
    prepare_encrypted,
    spread_layout,
    spread_on_cluster,
    unavailable,
)
from sanql.errors import LedgerError, PolicyError, Refused
from sanql.kernel import identify
from sanql.sources import (
    Sighting,
    Source,
    Stamped,
    Stamps,
    admit,
    check_same_files,
    locate,
    secret_copies,
    sight,
    take_snapshot,
)

if TYPE_CHECKING:
    from sanql.account import Site
    from sanql.kernel import FileIdentity
    from sanql.policy import Column, Policy, Table


@dataclass(frozen=True)
class OpenVersion:
    """One version of the data, checked and open for questions; it knows all tables that are stamped."""

    version: Version
    hashes: Mapping[str, str]  # what the tables are stamped as
    source: PreparedSource
    workers: Pool
    trials: Trials


class Data:
    """The versions of a policy's data, of which the newest is asked; safe to share among threads."""

    def __init__(
        self,
        policy: Policy,
        ledger: Ledger,
        progress: Progress | None = None,
        engine: Engine | None = None,
    ) -> None:
        self._policy = policy
        self._ledger = ledger
        self._progress = progress
        self._engine = engine if engine is not None else engine_of(policy.engine)
        self._stamps = Stamps(policy.ledger)
        self._lock = self.looking = threading.RLock()
        """Held by who looks at the source, and whose it is."""
        self._described: tuple[Version | None, Description] | None = None
        self._opened: OpenVersion | None = None
        self._seen: tuple[OpenVersion, Sighting] | None = None  # what was open, and looked at, last

    def describe(self) -> Description:
        """Return the names and types of the newest version; no row is read for it.

        What was found when it was prepared is found again whatever the source is now; otherwise the
        source is looked at, if it is that version.
        """
        known = self._described  # looked at without waiting: it is exchanged as a whole
        if known is not None and known[0] == self._ledger.versions.newest(recently=True):
            return known[1]
        with self._lock:
            version = self._ledger.versions.newest(recently=True)
            if self._described is None or self._described[0] != version:
                if version is not None and not is_prepared(self._policy, version.stamps):
                    source = locate(self._policy)
                    self._check(*self._look(source))
                stamps = None if version is None else version.stamps
                description = describe(self._policy, stamps, self._admit, self._engine)
                self._described = version, description
            return self._described[1]

    def columns(self) -> Mapping[str, Mapping[str, Column]]:
        """Return the columns of public tables that the policy leaves to the source.

        Where it leaves none, planning needs no source: what is on record can be repeated while the source
        is something else, cannot be looked at or is gone. Whoever reads a row opens it, and is refused.
        """
        left = [table.name for table in self._policy.tables.values() if _is_left(table)]
        try:
            return self.describe().columns
        except PolicyError:
            if left or self._ledger.versions.newest() is None:
                raise
        except Refused as refused:
            if left:
                raise columns_unknown(refused, left) from None
        return {}

    def known_as(self) -> tuple[int, str]:
        """Return the number of the newest version, and the fingerprint by which version 0.1.0 knew it.

        The fingerprint is empty where no record of that version can be about it.
        """
        version = self._ledger.versions.newest(recently=True)
        if version is not None:
            return version.number, version.formerly
        if self._ledger.begun > 1:
            return 1, ""
        return 1, first_fingerprint(self._policy, locate(self._policy))

    def open(self) -> OpenVersion:
        """Return the newest version, ready for questions; raise where the source is something else.

        It is the one way to the rows, closed to a scratch account and to any account but the data's own,
        which is looked at each time.
        """
        if self._ledger.scratch:
            raise never_releases()
        seen = self._seen  # looked at without waiting: it is exchanged as a whole
        if seen is not None and self._is_as_seen(*seen):
            return seen[0]
        with self._lock:
            if self._seen is not None and self._is_as_seen(*self._seen):
                return self._seen[0]
            self._seen, started = None, time.time_ns()
            source = locate(self._policy)
            site = self._admit(source)
            stamped, formerly = self._look(source)
            check_same_files(site, stamped.stamp)
            version = self._check(stamped, formerly)
            if self._opened is not None and self._is_open(self._opened, version, stamped):
                sighting = self._sight(self._opened, source, site, started)
                self._seen = None if sighting is None else (self._opened, sighting)
                return self._opened
            prepared = self._prepare(source, stamped)
            workers = Pool(prepared, self._policy.engine, self._engine)
            self._retire()
            version = self._ledger.versions.keep(stamped.hashes, formerly)
            trials = Trials(prepared, self._policy.engine, self._engine)
            self._opened = OpenVersion(version, stamped.hashes, prepared, workers, trials)
            return self._opened

    def prepare(self, buckets: int | None = None, *, here: bool = False) -> PreparedSource:
        """Return the copy of the newest version that questions run on, made if there is none.

        A database is then copied too, although it may be read where it is. For a cluster there are so
        many buckets, which its executors write from files; of a database, and where it is to be done
        `here`, this machine makes a copy and spreads it.
        """
        if self._ledger.scratch:
            raise never_releases()
        with self._lock:
            source = locate(self._policy)
            site = self._admit(source)
            stamped, formerly = self._look(source)
            check_same_files(site, stamped.stamp)
            self._check(stamped, formerly)
            if key_file(self._policy.engine) is not None:
                return self._encrypted(source, stamped, looked_through=True)
            if self._policy.engine.spark is not None and not source.in_place and not here:
                self._spread_there(source, stamped, buckets)
                return self._prepare(source, stamped)
            copy = self._copied(source, stamped, copied=True)
            if self._policy.engine.spark is None:
                return copy
            spread_layout(self._policy, copy, stamped, buckets, self._progress)
            return self._prepare(source, stamped)

    def _spread_there(self, source: Source, stamped: Stamped, buckets: int | None) -> None:
        """Have the executors of a cluster write the layout."""
        known = self._described[1] if self._described is not None else None
        spread_on_cluster(
            self._policy,
            source,
            stamped,
            self._stamps,
            buckets,
            self._progress,
            known,
            self._engine,
        )

    def _prepare(self, source: Source, stamped: Stamped) -> PreparedSource:
        """Return what questions run on: the layout of a cluster is there already, or is refused."""
        if key_file(self._policy.engine) is not None:
            return self._encrypted(source, stamped)
        if self._policy.engine.spark is None:
            return self._copied(source, stamped)
        known = self._described[1] if self._described is not None else None
        return open_layout(self._policy, source, stamped, known, self._engine)

    def _encrypted(
        self, source: Source, stamped: Stamped, *, looked_through: bool = False
    ) -> PreparedSource:
        known = self._described[1] if self._described is not None else None
        return prepare_encrypted(
            self._policy,
            source,
            stamped,
            self._stamps,
            self._progress,
            known,
            self._engine,
            looked_through=looked_through,
        )

    def _copied(self, source: Source, stamped: Stamped, *, copied: bool = False) -> PreparedSource:
        known = self._described[1] if self._described is not None else None
        return prepare(
            self._policy,
            self._progress,
            known,
            self._stamps,
            stamped,
            source,
            self._engine,
            copied=copied,
        )

    @property
    def opened(self) -> OpenVersion | None:
        """The version that is open now, if any; the source is not looked at."""
        return self._opened

    def check(self, opened: OpenVersion) -> None:
        """Raise Unavailable if the files that are open were written to since they were checked.

        A file that was replaced is still open as it was; one that was touched is as good as ever. Nobody
        but San has anything to do with a copy, so one that was touched is not.
        """
        written = [
            path
            for path, identity in opened.workers.stamp
            if (now := _identity(path)) is not None and now[:2] == identity[:2] and now != identity
        ]
        if not written:
            return
        source = locate(self._policy)
        is_copy = opened.source.database not in source.paths()
        if is_copy or not opened.version.holds(self._look(source)[0].hashes):
            raise unavailable()

    def refresh(self) -> Version:
        """Open the next version of the data, whether or not a byte has changed.

        Where they are no files here, that is a new snapshot of them.
        """
        if self._ledger.scratch:
            raise never_releases()
        with self._lock:
            check_no_snapshot(self._policy)
            take_snapshot(self._policy, self._ledger.owner.holder_now)
            source = locate(self._policy)
            self._admit(source)
            describe(
                self._policy, None, self._admit, self._engine
            )  # what cannot be read is no version
            self._stamps.recover(secret_copies(self._ledger))
            opened = self._ledger.versions.open(self._stamps.of(source).hashes)
            self.keep_secret()
            return opened

    def keep_secret(self) -> None:
        """Keep a copy of the secret of the stamps in the registry, once it knows of the account."""
        for place in secret_copies(self._ledger)[:1]:
            self._stamps.copy_key(place)

    def close(self) -> None:
        """End the engine's servers."""
        with self._lock:
            if self._opened is not None:
                self._opened.workers.close()
                self._opened.trials.close()
            self._opened = self._seen = None

    def _admit(self, source: Source) -> Site:
        """Return where these files are; raise where they are another account's."""
        holder = self._ledger.owner.holder_now
        while True:
            try:
                return admit(self._policy, holder, source)
            except LedgerError:
                before, holder = holder, self._ledger.owner.holder_now
                if holder == before:
                    raise
                # another process has claimed the data for this account since it was looked at

    def _look(self, source: Source) -> tuple[Stamped, str]:
        """Return what the source is now, and the name that 0.1.0 would have had for it."""
        if not self._stamps.secret_known:
            version = self._ledger.versions.newest()
            if version is not None and not self._stamps.recover(secret_copies(self._ledger)):
                raise stamps_missing(version.number, self._stamps.path.name)
        # nobody asks for that name once a version is on record
        formerly = "" if self._opened is not None else first_fingerprint(self._policy, source)
        return self._stamps.of(source), formerly

    def _check(self, stamped: Stamped, formerly: str) -> Version | None:
        """Return which version a source is; Refused where it is none, also under a table's new name.

        A table that this version does not know may be one of its own that was changed and renamed, unless
        all of those are there as they were, or are in the policy.
        """
        version = self._ledger.versions.check(stamped.hashes, formerly)
        if version is not None and not version.is_renamed(stamped.hashes):
            left_out = version.left_out(stamped.hashes)
            if not all(self._is_kept(*each) for each in left_out.items()):
                raise source_changed(version.number)
        return version

    def _is_kept(self, name: str, stamp: str) -> bool:
        """Return whether the files of a table that the policy leaves out are what they were."""
        some = next(iter(self._policy.tables.values()))
        alone = replace(self._policy, tables={name: replace(some, name=name)})
        try:
            return self._stamps.of(locate(alone)).hashes == {name: stamp}
        except PolicyError:
            return False

    def _is_open(self, opened: OpenVersion, version: Version | None, stamped: Stamped) -> bool:
        """Return whether what is open is this version, its files still where they were."""
        same = version == opened.version and stamped.hashes == opened.hashes
        return same and all(_identity(path) == identity for path, identity in opened.workers.stamp)

    def _is_as_seen(self, opened: OpenVersion, sighting: Sighting) -> bool:
        """Return whether nothing has changed since what is open was looked at, and passed."""
        return sighting.stood_just_now() and self._ledger.versions.newest() == opened.version

    def _sight(
        self, opened: OpenVersion, source: Source, site: Site, started: int
    ) -> Sighting | None:
        """Return what must stand for all checks of what is open to pass again, if that can be told.

        Tables that the policy leaves out lie elsewhere, and would have to be looked at too.
        """
        if opened.version.left_out(opened.hashes):
            return None
        databases = [opened.source.database, *(source.paths() if source.in_place else ())]
        logs = [f"{path}.wal" for path in databases]
        besides = [path for path, _ in opened.workers.stamp]
        return sight(self._policy, self._ledger.owner.account, site, started, [*besides, *logs])

    def _retire(self) -> None:
        if self._opened is not None:
            self._opened.workers.retire()
            self._opened.trials.retire()
        self._opened = self._seen = None


def _is_left(table: Table) -> bool:
    """Return whether the policy leaves a table's columns to the source."""
    return table.public and not table.columns


def _identity(path: str) -> FileIdentity | None:
    try:
        return identify(path)
    except OSError:
        return None
