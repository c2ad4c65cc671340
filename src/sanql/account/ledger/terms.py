"""What the numbers of an account mean: neighbours, and whom each private table protects.

Terms never change, but they may grow: a private table that the policy declares later joins them by a
record of its own, and every earlier charge stands. Why that is sound: the new neighbours differ in one
unit's rows of all tables, old and new. What was answered before read none of the new table, so it depends
on the old tables alone, and there such neighbours differ in one unit's rows, or not at all: they are
neighbours as before, which the charge covers. (With change-one, a unit whose rows in the old tables
change from or to none is covered too: `sensitivity` never takes a unit to be there, except a row
that is protected by itself, and such a unit is a row of one table.) So all charges, old and new, are
promises about the new neighbours, and they add up in one account as they always do.

It takes that nothing answered before has read the table: one that was ever public is refused, and so is
any where nobody can tell, in a ledger that 0.1.0 began or one that has taken over another account. And
the unit must be one that the account has already, a column of the same name, or rows that are protected
by themselves. Rows would protect in small portions somebody who was promised the budget for all that
they have in the data; and under another column the same number may be somebody else, so that each of the
two is only part of a unit. A private table that the policy leaves out stays among the terms: nothing is
asked of it, and it may come back as it was, never public nor with another unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sanql.policy import Policy, fold, unit_path

_UNIT_OF = "unit of "


def account_terms(policy: Policy) -> dict[str, str]:
    """Return what every charge means under a policy."""
    return {"neighbours": policy.neighbours} | {
        f"{_UNIT_OF}{name}": unit_path(table, policy.tables)
        for name, table in policy.tables.items()
        if not table.public
    }


@dataclass(frozen=True)
class DeclaredTerms:
    """What a policy declares of an account: the dataset's name, its terms and the public tables."""

    dataset: str
    terms: Mapping[str, str]
    public: tuple[str, ...]

    @classmethod
    def of(cls, policy: Policy, terms: Mapping[str, str]) -> DeclaredTerms:
        """Return what a policy declares, on these terms."""
        public = sorted(table.name for table in policy.tables.values() if table.public)
        return cls(policy.name, dict(terms), tuple(public))

    def opening(self) -> dict[str, object]:
        """Return it in the words of a ledger's first record."""
        return {
            "dataset": self.dataset,
            "terms": dict(self.terms),
            "public": list(self.public),
        }


@dataclass
class AccountTerms:
    """The terms after the records seen so far.

    `public` are the tables that were ever public, as SQL compares names; None where that is not known.
    """

    dataset: object = None
    known: dict[str, object] = field(default_factory=dict)
    public: set[str] | None = None

    @classmethod
    def opened(cls, content: Mapping[str, object], written_in: int) -> AccountTerms:
        """Return the terms of a ledger's first record; ValueError where it has none."""
        terms, public = content.get("terms"), content.get("public")
        if not isinstance(terms, dict) or ("public" in content and written_in < 2):
            raise ValueError("a ledger is opened on terms, and says since format 2 what is public")
        called = None if "public" not in content else {fold(name) for name in _names(public)}
        return cls(content.get("dataset"), dict(terms), called)

    def add(self, content: Mapping[str, object]) -> None:
        """Take tables that were declared later; ValueError where the account cannot go on with them."""
        units, called = _declared_later(content)
        declared = DeclaredTerms(str(self.dataset), self._others() | units, tuple(called))
        public = {fold(name) for name in called}
        private, _ = self.lacking(declared)
        both = {fold(name) for name in private} & public
        if both or len(private) < len(units) or self.public is None or [*self.changes(declared)]:
            raise ValueError("tables with which the account cannot go on")
        self.known |= units
        self.public |= public

    def forget_public(self) -> None:
        """Take that charges came from elsewhere: nobody can tell what was public for them."""
        self.public = None

    def lacking(self, declared: DeclaredTerms) -> tuple[dict[str, str], list[str]]:
        """Return the private tables, with their units, and the public ones that are not on record."""
        units, public = self._units(), self.public
        private = {
            key.removeprefix(_UNIT_OF): unit
            for key, unit in declared.terms.items()
            if key.startswith(_UNIT_OF) and fold(key) not in units
        }
        called = [] if public is None else [t for t in declared.public if fold(t) not in public]
        return private, called

    def changes(self, declared: DeclaredTerms) -> Iterator[str]:
        """Yield what of a policy the account cannot go on with, each in words."""
        if declared.dataset != self.dataset:
            yield f"dataset is {declared.dataset}, and was {self.dataset}"
        others = {key: text for key, text in declared.terms.items() if not key.startswith(_UNIT_OF)}
        for key in dict.fromkeys([*self._others(), *others]):
            now, then = others.get(key), self._others().get(key)
            if now != then:
                yield f"{key} is {now or 'no more'}, and was {then or 'not there'}"
        units = self._units()
        for key, unit in declared.terms.items():
            if key.startswith(_UNIT_OF):
                why = self._why_not(key, unit, units.get(fold(key)))
                if why:
                    yield f"{key} is {unit}, {why}"
        for table in declared.public:
            if fold(_UNIT_OF + table) in units:
                yield f"{table} is public, and was private"

    def _why_not(self, key: str, unit: str, then: object) -> str:
        """Return why the account cannot go on with the unit of a table; empty where it can."""
        if then is not None:
            return "" if then == unit else f"and was {then}"
        if self.public is None:
            return (
                "and was not there; this ledger does not say which tables were public until now, and"
                " answers may have read it"
            )
        if fold(key.removeprefix(_UNIT_OF)) in self.public:
            return "and was public: what was answered from it is not protected"
        known = {_root(str(unit)) for unit in self._units().values()}
        if known and _root(unit) not in known:
            return (
                "and was not there; no table of the account has that unit (if it names the same units,"
                " declare a reference to a table that is there: { via = …, references = … })"
            )
        return ""

    def _units(self) -> dict[str, object]:
        """Return the units on record, by their keys as SQL compares names."""
        return {fold(key): unit for key, unit in self.known.items() if key.startswith(_UNIT_OF)}

    def _others(self) -> dict[str, str]:
        """Return the terms that are no units of tables."""
        return {key: str(t) for key, t in self.known.items() if not key.startswith(_UNIT_OF)}


def _root(unit: str) -> str:
    """Return the unit at the end of a chain of references.

    >>> _root("order_id = orders.id: person_id"), _root("row")
    ('person_id', 'row')
    """
    return fold(unit.rpartition(": ")[2] if " = " in unit else unit)


def _declared_later(content: Mapping[str, object]) -> tuple[dict[str, str], list[str]]:
    """Return the units of private tables, and the public ones, that a record declares."""
    match dict(content):
        case {"private": dict(private), "public": list(public), "time": str(time), **rest} if (
            not rest and (private or public)
        ):
            datetime.fromisoformat(time)
            if not all(isinstance(unit, str) for unit in private.values()):
                raise ValueError("a unit is a text")
            return {f"{_UNIT_OF}{name}": unit for name, unit in private.items()}, _names(public)
        case _:
            raise ValueError("not tables that are declared later")


def _names(shape: object) -> list[str]:
    if not isinstance(shape, list) or not all(isinstance(name, str) for name in shape):
        raise ValueError("not names of tables")
    return shape
