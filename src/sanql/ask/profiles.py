"""The profiles of a session's tables, found on record.

What is on record is found by what is said beside its charge, and believed where the part that is named
there, planned anew, has the digest that the charge is for. So a policy that has changed in what a part
reads leaves it unused, and nothing that is written beside the chain can pass for something else. A
profile is of the newest version of the data that has one; whoever uses it says which.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sanql.account import PublishedAnswer
from sanql.answer import LevelCells
from sanql.errors import Refused
from sanql.profile import (
    MeasuredPart,
    Profile,
    ProfilePart,
    plan_part,
    read_profile,
)

if TYPE_CHECKING:
    from sanql.ask.session import Session


class Profiles:
    """The profiles that are on record for a session's tables; safe to share among threads."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: tuple[tuple[int, int], Mapping[str, Profile]] = ((0, 0), {})

    def now(self) -> Mapping[str, Profile]:
        """Return all of them by table; nothing is looked for again while nothing has changed."""
        session = self._session
        revision = session.ledger.published.revision()
        if not revision:
            return {}
        about = revision, session.data.known_as()[0]
        known = self._known  # looked at without waiting: it is exchanged as a whole
        if known[0] != about:
            known = self._known = about, self._read(session.ledger.published.answers())
        return known[1]

    def of_newest(self, table: str) -> Profile | None:
        """Return the profile of a table, if it is of the version that questions are about now."""
        profile = self.now().get(table)
        return profile if profile and profile.version == self._session.data.known_as()[0] else None

    def _read(self, answers: Sequence[PublishedAnswer]) -> Mapping[str, Profile]:
        found: defaultdict[str, list[MeasuredPart]] = defaultdict(list)
        for answer in answers:
            measured = self._part(answer)
            if measured is not None:
                found[measured.part.table].append(measured)
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
