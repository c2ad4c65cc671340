"""The auditor's own reading of renames: what each name on record stands for after them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sanql.audit.ledger.terms import TermsAudit

_WORDS = {"author", "column", "reason", "table", "time", "to"}
_NAME = r"(?:(?! = |: |\.).)+"
_REFERENCE = re.compile(rf"({_NAME}) = ({_NAME})\.({_NAME}): ", re.DOTALL)
_CHAIN = re.compile(rf"(?:{_NAME} = {_NAME}\.{_NAME}: )+{_NAME}", re.DOTALL)
_PLAIN = re.compile(_NAME, re.DOTALL)


@dataclass
class RenamesAudit:
    """What things were called: each name of a table, or of a column in it, leads to a thing's number."""

    things: dict[tuple[str, str], int] = field(default_factory=dict)
    former: set[tuple[str, str]] = field(default_factory=set)
    tables: set[str] = field(default_factory=set)  # of which anything was renamed

    def take(self, body: dict[str, Any], terms: TermsAudit) -> str | None:
        """Take a rename; return what is wrong with it after the records before, or None."""
        datetime.fromisoformat(body["time"])
        said = all(isinstance(body[word], str) and body[word] for word in _WORDS - {"column"})
        if set(body) != _WORDS or not said or body["column"] == "":
            return "does not say what a record of its kind says"
        names = [body["table"], body["to"], *([body["column"]] if body["column"] else [])]
        if not all(_PLAIN.fullmatch(name) and name == name.strip() for name in names):
            return "renames what has no plain name"
        fold = terms.fold
        table, to = fold(body["table"]), fold(body["to"])
        column = "" if body["column"] is None else fold(body["column"])
        before, after = (table, column), (table, to) if column else (to, "")
        known = _columns(terms) if column else {(name, "") for name in terms.tables}
        if table not in terms.tables or before not in known or before == after:
            return "renames what is not on record"
        if before in self.former or (table, "") in self.former:
            return "renames what has another name by now"
        if column and column in terms.naming_kinds():
            return "renames what identifies units of one of several kinds"
        if not column and terms.public is None:
            return "renames a table of an account that does not know what was public"
        number = self.things.setdefault(before, len(self.things))
        if after in known and self.things.get(after) != number:
            return "gives a name that something else has"
        self.things[after] = number
        self.tables |= {before[0], after[0]}
        spelled = body["to"]
        if column:
            terms.columns.add(after)
            _rewrite(terms, lambda at, name: spelled if (at, fold(name)) == before else name, None)
        else:
            self._move_table(table, to, terms)
            _rewrite(terms, None, lambda name: spelled if fold(name) == table else name)
        self.former.discard(after)
        self.former.add(before)
        return None

    def _move_table(self, table: str, to: str, terms: TermsAudit) -> None:
        """Give the new name of a table all that is known under the old one."""
        terms.columns |= {(to, column) for name, column in terms.columns if name == table}
        gone = {(to, column) for name, column in self.former if name == table and column}
        self.former = {pair for pair in self.former if pair[0] != to} | gone
        for (name, column), number in [*self.things.items()]:
            if name == table and column:
                self.things[to, column] = number
        if terms.public is not None and table in terms.public:
            terms.public.add(to)
        else:
            terms.units[to] = terms.units[table]


def _columns(terms: TermsAudit) -> set[tuple[str, str]]:
    """Return the columns on record, those that units are written with among them."""
    found = set(terms.columns)

    def see(at: str, name: str) -> str:
        found.add((at, terms.fold(name)))
        return name

    for table, unit in terms.units.items():
        _walk(unit, table, see, lambda name: name, terms)
    return found


def _rewrite(terms: TermsAudit, column: Any, table: Any) -> None:
    for name, unit in [*terms.units.items()]:
        kept = column or (lambda _, each: each)
        terms.units[name] = _walk(unit, name, kept, table or (lambda each: each), terms)


def _walk(unit: str, at: str, column: Any, table: Any, terms: TermsAudit) -> str:
    """Return a unit's text with its names replaced; each column comes with the table that it is of."""
    if not _CHAIN.fullmatch(unit):
        return unit if unit == "row" else str(column(at, unit))
    text, end = "", 0
    for reference in _REFERENCE.finditer(unit):
        first, referred, key = reference.groups()
        following = terms.fold(referred)
        text += f"{column(at, first)} = {table(referred)}.{column(following, key)}: "
        at, end = following, reference.end()
    last = unit[end:]
    return text + (last if last == "row" else column(at, last))
