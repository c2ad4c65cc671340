"""The profiles of a session's tables, found on record.

What is on record is found by what is said beside its charge, and believed where the part that is named
there, planned anew, has the digest that the charge is for. So a policy that has changed in what a part
reads leaves it unused, and nothing that is written beside the chain can pass for something else. A
profile is of the newest version of the data that has one; whoever uses it says which.

A question is planned by what was known when it was asked. So that a repeat stays free when more is
measured of a table, it is looked for as it would have been planned before, too: what was known is what
was measured up to then, and it matters only where somebody asked before more was.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from sanql.account import PublishedAnswer
from sanql.answer import LevelCells
from sanql.errors import Refused
from sanql.plan import KnownUnits
from sanql.profile import (
    MeasuredPart,
    Profile,
    ProfilePart,
    plan_part,
    read_profile,
)

if TYPE_CHECKING:
    from sanql.ask.session import Session

TIMES_MAX = 8
"""As what was known at so many times, the latest, a question is looked for on record."""

_Known = tuple[Mapping[str, Profile], ...]


class Profiles:
    """The profiles that are on record for a session's tables; safe to share among threads."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: tuple[tuple[int, int], _Known] = ((0, 0), ({},))

    def now(self) -> Mapping[str, Profile]:
        """Return all of them by table."""
        return self._at_times()[0]

    def of_newest(self, table: str) -> Profile | None:
        """Return the profile of a table, if it is of the version that questions are about now."""
        profile = self.now().get(table)
        return profile if profile and profile.version == self._session.data.known_as()[0] else None

    def known_units(self) -> tuple[Mapping[str, KnownUnits], ...]:
        """Return what is known of units of the newest version of the data, by table.

        The first is what is known now, and then, newest first, what was when questions were asked before;
        the last is nothing.
        """
        version = self._session.data.known_as()[0]
        found: list[Mapping[str, KnownUnits]] = []
        for profiles in self._at_times():
            of_newest = {n: each for n, each in profiles.items() if each.version == version}
            known = {n: each.known_units for n, each in of_newest.items()}
            found.append({name: units for name, units in known.items() if units is not None})
        return *(each for each, before in pairwise([*found, {}]) if each != before), {}

    def _at_times(self) -> _Known:
        """Return all profiles, as they are and as they were before more was measured, newest first.

        Nothing is looked for again while nothing has changed.
        """
        session = self._session
        revision = session.ledger.published.revision()
        if not revision:
            return ({},)
        about = revision, session.data.known_as()[0]
        known = self._known  # looked at without waiting: it is exchanged as a whole
        if known[0] != about:
            known = self._known = about, self._read(session.ledger.published.answers())
        return known[1]

    def _read(self, answers: Sequence[PublishedAnswer]) -> _Known:
        before, found, measured = 0, list[Mapping[str, Profile]](), list[MeasuredPart]()
        for answer in answers:
            part = self._part(answer)
            if part is None:
                continue
            if measured and answer.asked_before > before:
                found.append(self._profiles(measured))
            before = answer.asked_before
            measured.append(part)
        return tuple([*found, self._profiles(measured)][::-1][:TIMES_MAX])

    def _profiles(self, measured: Sequence[MeasuredPart]) -> Mapping[str, Profile]:
        found: defaultdict[str, list[MeasuredPart]] = defaultdict(list)
        for each in measured:
            found[each.part.table].append(each)
        session = self._session
        profiles = {}
        for table, parts in found.items():
            newest = max(measured.version for measured in parts)
            own = [measured for measured in parts if measured.version == newest]
            profiles[table] = read_profile(own, session.tables, session.policy.neighbours)
        return profiles

    def _part(self, answer: PublishedAnswer) -> MeasuredPart | None:
        """Return what an answer is a part of, if it is one under the policy as it is."""
        session, note = self._session, answer.note
        part = None if note.asked is None else ProfilePart.from_dict(note.asked.options)
        if part is None or note.version is None or part.table not in session.tables:
            return None
        try:
            plan = plan_part(part, session.tables, session.policy.neighbours)
        except Refused:
            return None
        if plan.digest(session.name_of_data(note.version)) != answer.question:
            return None
        (cells,) = LevelCells.from_bytes(answer.content, plan).levels
        return MeasuredPart(part, note.version, note.time, plan, cells)
