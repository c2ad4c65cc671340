"""Renames: the owner's recorded word that a table or a column is what had another name before.

Nothing that was spent changes by it: the account goes on with the thing under its new name. The old
name stays on record as it was, so that it never comes to mean something public or somebody else: a
private table of that name has the unit that it had, and no other thing is ever given a name that is on
record. What may be undone is a rename itself: a thing may have a former name of its own again.

Exact cells know tables and columns by their names, so a table of which anything was renamed gives no more
exact answers (`check_exact_names`); cells that are on record can be shown again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sanql.account.ledger.unit_texts import MARKS
from sanql.errors import LedgerError, Refused
from sanql.policy import fold

Thing = tuple[str, str | None]
"""A table, or a column of one, by names as SQL compares them."""


@dataclass(frozen=True)
class Rename:
    """A table, or a column of it, and the name that it has now."""

    table: str
    column: str | None
    to: str

    @property
    def before(self) -> Thing:
        """What had another name."""
        return fold(self.table), None if self.column is None else fold(self.column)

    @property
    def after(self) -> Thing:
        """The same under its new name."""
        return (fold(self.to), None) if self.column is None else (fold(self.table), fold(self.to))

    @property
    def in_words(self) -> str:
        """What has which name."""
        what = f"table {self.table}" if self.column is None else f"{self.table}.{self.column}"
        return f"{what} is called {self.to}"

    def to_dict(self) -> dict[str, object]:
        """Return it in the ledger's words."""
        return {"table": self.table, "column": self.column, "to": self.to}

    @classmethod
    def from_dict(cls, shape: Mapping[str, object]) -> Rename:
        """Return the rename of a record; ValueError where nobody says it, or not why and when."""
        match dict(shape):
            case {
                "table": str(table),
                "column": (None | str()) as column,
                "to": str(to),
                "author": str(author),
                "reason": str(reason),
                "time": str(time),
                **rest,
            } if not rest and author and reason:
                datetime.fromisoformat(time)
                return cls(table, column, to)
            case _:
                raise ValueError("not a rename")


def unnameable(rename: Rename) -> str:
    """Return why a rename cannot be written down, whatever is on record; empty where it can."""
    names = [name for name in (rename.table, rename.column, rename.to) if name is not None]
    if any(not name or name != name.strip() for name in names):
        return "a name is missing, or has spaces around it"
    if any(mark in name for name in names for mark in MARKS):
        return "a unit's text has ` = `, `: ` and `.` between names, so none may have them inside"
    if rename.before == rename.after:
        return f"SQL does not tell {rename.to} from it, so it needs no rename"
    return ""


def names_of(thing: Thing, renames: Iterable[Rename]) -> set[Thing]:
    """Return every name that a thing has had, itself included; columns under any name of their table."""
    edges = [(each.before, each.after) for each in renames]
    tables = _reached({(thing[0], None)}, [e for e in edges if e[0][1] is None])
    if thing[1] is None:
        return tables
    moved: list[tuple[Thing, Thing]] = [
        ((thing[0], before[1]), (thing[0], after[1]))
        for before, after in edges
        if before[1] is not None and (before[0], None) in tables
    ]
    return _reached({thing}, moved)


def _reached(found: set[Thing], edges: list[tuple[Thing, Thing]]) -> set[Thing]:
    """Return all that edges lead to, either way."""
    while True:
        more = {end for edge in edges if found & set(edge) for end in edge}
        if more <= found:
            return found
        found = found | more


def refused_rename(rename: Rename, why: str) -> LedgerError:
    """Return the refusal of a rename that the record does not bear."""
    return LedgerError(
        "rename_refused",
        f"it cannot be recorded that {rename.in_words} now: {why}",
        "name a table, or TABLE.COLUMN, as `sanql ledger list` shows it, and a name that nothing has had;"
        " what is another thing needs no rename: declare it in the policy",
    )


def check_exact_names(table: str, renamed: Iterable[str]) -> None:
    """Refuse a new exact release of a table of which anything was renamed."""
    if fold(table) in renamed:
        raise Refused(
            "exact_renamed",
            f"the table {table}, or a column of it, has had another name in this account, and exact cells"
            " are known by names: a second release of the same records could not be told",
            "ask with noise: pass an epsilon; exact cells that are on record can be shown again",
        )
