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
any where nobody can tell, in a ledger that 0.1.0 began, one that has taken over another account and one
that lacks records (whose tables are those of the policy under which the owner says so). And
the unit must be one that the account has already, a column of the same name, or rows that are protected
by themselves. Rows would protect in small portions somebody who was promised the budget for all that
they have in the data; and under another column the same number may be somebody else, so that each of the
two is only part of a unit. A private table that the policy leaves out stays among the terms: nothing is
asked of it, and it may come back as it was, never public nor with another unit.

Columns are on record since format 3, and join likewise (`columns` says why that needs no condition). A
table or a column may have another name by the owner's recorded word that it is the same thing
(`renames`): then the units on record are written with the new name, and the old name stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sanql.account.ledger.columns import RecordedColumns
from sanql.account.ledger.renames import Rename, Thing, names_of, unnameable
from sanql.account.ledger.unit_texts import (
    columns_in_unit,
    with_column_renamed,
    with_table_renamed,
)
from sanql.policy import Policy, fold, unit_path

_UNIT_OF = "unit of "
_KINDS = "kinds of units"


def account_terms(policy: Policy) -> dict[str, str]:
    """Return what every charge means under a policy."""
    kinds = {_KINDS: ", ".join(sorted(policy.kinds))} if policy.kinds else {}
    return (
        {"neighbours": policy.neighbours}
        | kinds
        | {
            f"{_UNIT_OF}{name}": unit_path(table, policy.tables)
            for name, table in policy.tables.items()
            if not table.public
        }
    )


@dataclass(frozen=True)
class DeclaredTerms:
    """What a policy declares of an account: the dataset's name, its terms, public tables, columns."""

    dataset: str
    terms: Mapping[str, str]
    public: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, policy: Policy, terms: Mapping[str, str]) -> DeclaredTerms:
        """Return what a policy declares, on these terms."""
        public = sorted(table.name for table in policy.tables.values() if table.public)
        columns = {
            table.name: tuple(sorted(table.columns))
            for table in policy.tables.values()
            if table.columns and (table.public or f"{_UNIT_OF}{table.name}" in terms)
        }
        return cls(policy.name, dict(terms), tuple(public), columns)

    def opening(self) -> dict[str, object]:
        """Return it in the words of a ledger's first record."""
        return {
            "dataset": self.dataset,
            "terms": dict(self.terms),
            "public": list(self.public),
            "columns": {table: list(names) for table, names in self.columns.items()},
        }


@dataclass(frozen=True)
class Joining:
    """What a policy declares and the record lacks: units of private tables, public ones, columns."""

    private: Mapping[str, str]
    public: tuple[str, ...]
    columns: Mapping[str, list[str]]

    @property
    def anything(self) -> bool:
        """Whether there is something to be put on record."""
        return bool(self.private or self.public or self.columns)

    def public_alone(self) -> Joining:
        """Return the public tables with their columns, which join before anything is charged."""
        columns = {name: self.columns[name] for name in self.public if name in self.columns}
        return Joining({}, self.public, columns)

    def to_dict(self) -> dict[str, object]:
        """Return it in the ledger's words."""
        return {
            "private": dict(self.private),
            "public": list(self.public),
            "columns": dict(self.columns),
        }


@dataclass
class AccountTerms:
    """The terms after the records seen so far.

    `public` are the tables that were ever public, as SQL compares names; None where that is not known.
    `former` are names that something has no more, `former_units` the texts that the unit of a table was
    written with before.
    """

    dataset: object = None
    known: dict[str, object] = field(default_factory=dict)
    public: set[str] | None = None
    columns: RecordedColumns = field(default_factory=RecordedColumns)
    renames: list[Rename] = field(default_factory=list)
    former: set[Thing] = field(default_factory=set)
    former_units: dict[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def opened(cls, content: Mapping[str, object], written_in: int) -> AccountTerms:
        """Return the terms of a ledger's first record; ValueError where it has none."""
        terms, public = content.get("terms"), content.get("public")
        if not isinstance(terms, dict) or ("public" in content and written_in < 2):
            raise ValueError("a ledger is opened on terms, and says since format 2 what is public")
        if ("columns" in content) != (written_in >= 3):
            raise ValueError("a ledger says since format 3 which columns there are")
        called = None if "public" not in content else {fold(name) for name in _names(public)}
        opened = cls(content.get("dataset"), dict(terms), called)
        opened.columns.add(content.get("columns", {}), opened.tables)
        return opened

    @property
    def tables(self) -> set[str]:
        """Every table on record, private or public, as SQL compares names."""
        private = {key.removeprefix(_UNIT_OF) for key in self._units()}
        return private | (self.public or set())

    def add(self, content: Mapping[str, object], written_in: int) -> None:
        """Take what was declared later; ValueError where the account cannot go on with it."""
        units, called, columns = _declared_later(content, written_in)
        declared = DeclaredTerms(str(self.dataset), self._others() | units, tuple(called))
        public = {fold(name) for name in called}
        private = self.lacking(declared).private
        once = {fold(name) for name in private}
        if once & public or len(once) < len(units) or [*self.changes(declared)]:
            raise ValueError("tables with which the account cannot go on")
        if (units or called) and self.public is None:
            raise ValueError("tables that join an account of which nobody knows what was public")
        self.columns.add(columns, self.tables | once | public)
        self.known |= units
        self.public = None if self.public is None else self.public | public

    @property
    def renamed_tables(self) -> set[str]:
        """The tables, under each name, of which anything was renamed."""
        return {thing[0] for each in self.renames for thing in (each.before, each.after)}

    def why_not_renamed(self, rename: Rename) -> str:
        """Return why it cannot be taken that something has another name; empty where it can."""
        table, column = rename.before
        tables: set[Thing] = {(name, None) for name in self.tables}
        on_record = tables if column is None else self._columns_known()
        if unnameable(rename):
            return unnameable(rename)
        if column in self._naming_kinds():
            return (
                "it identifies units of one of several kinds, and keeps the name it is on record by"
            )
        if (table, None) not in tables or rename.before not in on_record:
            return "nothing of that name is on record"
        if {(table, None), rename.before} & self.former:
            return "it has been renamed before, and has another name by now"
        if column is None and self.public is None:
            return "this ledger does not say which tables were public until now"
        if rename.after in on_record - names_of(rename.before, self.renames):
            return f"{rename.to} is the name of something else on record"
        return ""

    def rename(self, content: Mapping[str, object]) -> None:
        """Take that something has another name; ValueError where that cannot be."""
        rename = Rename.from_dict(content)
        if self.why_not_renamed(rename):
            raise ValueError("a rename that the records before it do not bear")
        if rename.column is None:
            self._name_table(fold(rename.table), rename.to)
        else:
            self.columns.name(rename.table, rename.to)
        for key, text in [*self.known.items()]:
            if key.startswith(_UNIT_OF):
                self._write_unit(key, str(text), rename)
        self.renames.append(rename)
        self.former = self.former - {rename.after} | {rename.before}

    def _name_table(self, table: str, to: str) -> None:
        """Give what is on record of a table to another name besides."""
        name = fold(to)
        self.columns.tables[name] = self.columns.of(to) | self.columns.of(table)
        self.former = {each for each in self.former if each[0] != name} | {
            (name, column) for each, column in self.former if each == table
        }
        if self.public is not None and table in self.public:
            self.public.add(name)
            return
        text = self._units()[fold(_UNIT_OF + table)]
        self.known = {
            key: unit for key, unit in self.known.items() if fold(key) != fold(_UNIT_OF + to)
        }
        self.known[_UNIT_OF + to] = text
        had = self.former_units.get(table, frozenset()) | self.former_units.get(name, frozenset())
        self.former_units[name] = had | {fold(str(text))}

    def _write_unit(self, key: str, text: str, rename: Rename) -> None:
        """Write the unit of a table with the new name of something."""
        of = key.removeprefix(_UNIT_OF)
        if rename.column is None:
            now = with_table_renamed(text, rename.table, rename.to)
        else:
            now = with_column_renamed(text, of, rename.table, rename.column, rename.to)
        if now != text:
            self.known[key] = now
            had = self.former_units.get(fold(of), frozenset())
            self.former_units[fold(of)] = had | {fold(text)}

    def _columns_known(self) -> set[Thing]:
        """Return the columns on record, declared ones and those that units are written with."""
        listed = {(table, name) for table, names in self.columns.tables.items() for name in names}
        written = [
            columns_in_unit(str(text), key.removeprefix(_UNIT_OF))
            for key, text in self._units().items()
        ]
        return {*listed, *(each for columns in written for each in columns)}

    def forget_public(self) -> None:
        """Take that charges came from elsewhere, or are missing: nobody can tell what was public then."""
        self.public = None

    def lacking(self, declared: DeclaredTerms) -> Joining:
        """Return what of a policy is not on record: private tables, with their units, public, columns.

        Where nobody knows which tables were public, none is on record, nor are its columns.
        """
        units, public = self._units(), self.public
        private = {
            key.removeprefix(_UNIT_OF): unit
            for key, unit in declared.terms.items()
            if key.startswith(_UNIT_OF) and fold(key) not in units
        }
        called = [] if public is None else [t for t in declared.public if fold(t) not in public]
        known = self.tables | {fold(name) for name in (*private, *called)}
        recorded = {t: names for t, names in declared.columns.items() if fold(t) in known}
        return Joining(private, tuple(called), self.columns.lacking(recorded))

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
            return "" if fold(str(then)) == fold(unit) else f"and was {then}"
        if self.public is None:
            return (
                "and was not there; this ledger does not say which tables were public until now, and"
                " answers may have read it"
            )
        if fold(key.removeprefix(_UNIT_OF)) in self.public:
            return "and was public: what was answered from it is not protected"
        kinds = _KINDS in self.known
        known = {root for text in self._units().values() for root in _roots(str(text), kinds)}
        if known and not _roots(unit, kinds) <= known:
            return (
                "and was not there; no table of the account has that unit (if it names the same units,"
                " declare a reference to a table that is there: { via = …, references = … })"
            )
        return ""

    def _units(self) -> dict[str, object]:
        """Return the units on record, by their keys as SQL compares names."""
        return {fold(key): unit for key, unit in self.known.items() if key.startswith(_UNIT_OF)}

    def _naming_kinds(self) -> set[str]:
        """Return the columns that identify units where there are several kinds, as SQL compares names."""
        kinds = _KINDS in self.known
        roots = [_roots(str(unit), kinds) for unit in self._units().values()] if kinds else []
        return {root.rpartition(" (")[0] for own in roots for root in own}

    def _others(self) -> dict[str, str]:
        """Return the terms that are no units of tables."""
        return {key: str(t) for key, t in self.known.items() if not key.startswith(_UNIT_OF)}


def _roots(unit: str, kinds: bool) -> set[str]:
    """Return the unit at the end of a chain of references; of several kinds a row may belong to two.

    >>> _roots("order_id = orders.id: person_id", kinds=False), _roots("row", kinds=False)
    ({'person_id'}, {'row'})
    >>> sorted(_roots("person_id (patient), doctor_id (doctor)", kinds=True))
    ['doctor_id (doctor)', 'person_id (patient)']
    """
    root = fold(unit.rpartition(": ")[2] if " = " in unit else unit)
    return {part.removesuffix(")") + ")" for part in root.split("), ")} if kinds else {root}


def _declared_later(
    content: Mapping[str, object], written_in: int
) -> tuple[dict[str, str], list[str], object]:
    """Return the units of private tables, the public ones and the columns that a record declares."""
    match dict(content):
        case {"private": dict(private), "public": list(public), "time": str(time), **rest} if (
            rest.keys() == ({"columns"} if written_in >= 3 else set())
            and (private or public or rest.get("columns"))
        ):
            datetime.fromisoformat(time)
            if not all(isinstance(unit, str) for unit in private.values()):
                raise ValueError("a unit is a text")
            units = {f"{_UNIT_OF}{name}": unit for name, unit in private.items()}
            return units, _names(public), rest.get("columns", {})
        case _:
            raise ValueError("not tables that are declared later")


def _names(shape: object) -> list[str]:
    if not isinstance(shape, list) or not all(isinstance(name, str) for name in shape):
        raise ValueError("not names of tables")
    return shape
