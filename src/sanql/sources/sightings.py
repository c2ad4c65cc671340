"""Whether all that a check looked at is still as it was: asked before each question, for a few stats.

Whose the data are and which files they consist of is looked up in folders, files, claims beside them and
registries. Each of those is remembered as it was, with device, inode, size and times, or that it was not
there. While all of it stands, the same check would pass again, and is not made again.

The time of a change is told in steps, so what has changed shortly before it was looked at could change
again unseen: such a sighting is not relied on. Neither is one of files that other names lead to.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sanql.account import Claims, Site, registries_chosen_by

if TYPE_CHECKING:
    from sanql.policy import LedgerPlace, Policy

SETTLED_NS = 2 * 10**9
"""How long ago a file must have changed, so that its next change is told by its times."""

_MOMENT_SECONDS = 0.005
"""Less than the least time between one question of somebody and their next (`ask.time_steps`)."""

_State = tuple[int, ...]


@dataclass(frozen=True)
class Sighting:
    """Files and folders as they were when they were looked at.

    Of `places` it only matters which file or folder a name leads to; they are written to all the time.
    """

    states: tuple[tuple[str, _State], ...]
    places: tuple[tuple[str, _State], ...]
    chosen_by: tuple[object, ...]
    looks: list[float] = field(
        default_factory=lambda: [-math.inf], compare=False
    )  # when the last was

    def stood_just_now(self) -> bool:
        """Return whether everything was as it was a moment ago, for threads that ask at the same time.

        A change within that moment is like one that comes a moment after a look.
        """
        now = time.monotonic()
        if now - self.looks[0] < _MOMENT_SECONDS:
            return True
        stands = self.stands()
        if stands:
            self.looks[0] = now
        return stands

    def stands(self) -> bool:
        """Return whether everything is as it was."""
        return (
            all(_state(path) == state for path, state in self.states)
            and all(_state(path)[:2] == place for path, place in self.places)
            and self.chosen_by == registries_chosen_by()
        )


def sight(
    policy: Policy, account: str | None, site: Site, started: int, besides: Iterable[str] = ()
) -> Sighting | None:
    """Return what a check of an account's claims on a site looks at; None if not to be relied on.

    `started` is a reading of `time.time_ns()` from before the site was looked for; `besides` are files
    that must not change either. Where others have a claim on record, more would have to be looked at.
    """
    named = policy.path.parent / policy.source
    looked_at = [named, *(address.path for address in site.here), *Claims(site).looked_at()]
    states = tuple((path, _state(path)) for path in (*map(str, looked_at), *besides))
    places = tuple((path, _state(path)[:2]) for path in _names_of(policy.ledger_place))
    if _led_elsewhere(site) or _state(str(named))[:2] != _state(str(site.root.path))[:2]:
        return None
    if any(state[-1] > started - SETTLED_NS for _, state in states):
        return None
    if not Claims(site).are_all_of(account):
        return None
    return Sighting(states, places, registries_chosen_by())


def _names_of(ledger: LedgerPlace) -> list[str]:
    """Return the names that tell which file a ledger is; a database is the one it was opened as."""
    if not isinstance(ledger, Path):
        return []
    real = ledger.resolve()
    return [str(ledger), str(real), str(real.parent)]


def _led_elsewhere(site: Site) -> bool:
    """Return whether a file of the source is not in a folder of it, so that a link may lead elsewhere."""
    within = {folder.path for folder in site.folders}
    files = (*site.files, *site.public)
    return any(file.path.parent not in within and file != site.root for file in files)


def _state(path: str) -> _State:
    """Return what changes with a file or folder; where it cannot be looked at, why."""
    try:
        found = os.stat(path)  # noqa: PTH116  (a Path costs more than what it is asked)
    except OSError as fault:
        return (-(fault.errno or 1),)
    times = found.st_mtime_ns, found.st_ctime_ns
    return found.st_dev, found.st_ino, found.st_size, *times
