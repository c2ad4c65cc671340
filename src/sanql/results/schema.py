"""What can be asked about: tables, columns and limits as the owner declares them; nothing of any row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sanql.visible import visible

VALUES_SHOWN = 10  # of a domain


@dataclass(frozen=True)
class SchemaColumn:
    """A column: its type and, where they are declared, its bounds, precision and domain.

    A domain is a list of values, or the name of the public column that has them.
    """

    name: str
    type: str
    bounds: tuple[object, object] | None = None
    precision: object = None
    domain: tuple[object, ...] | str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the column as plain data."""
        listed = list(self.domain) if isinstance(self.domain, tuple) else self.domain
        bounds = None if self.bounds is None else list(self.bounds)
        facts = {"bounds": bounds, "precision": self.precision, "domain": listed}
        given = {name: fact for name, fact in facts.items() if fact is not None}
        return {"name": self.name, "type": self.type, **given}

    @classmethod
    def from_dict(cls, shape: Mapping[str, Any]) -> SchemaColumn:
        """Return the column that `to_dict` wrote."""
        bounds, domain = shape.get("bounds"), shape.get("domain")
        return cls(
            str(shape["name"]),
            str(shape["type"]),
            None if bounds is None else (bounds[0], bounds[1]),
            shape.get("precision"),
            tuple(domain) if isinstance(domain, list) else domain,
        )

    def facts_in_words(self) -> str:
        """Return what is declared of the column besides its type."""
        words = []
        if self.bounds is not None:
            words.append(f"{self.bounds[0]} to {self.bounds[1]}")
        if self.precision is not None:
            words.append(f"in steps of {self.precision}")
        if isinstance(self.domain, tuple):
            shown = ", ".join(map(str, self.domain[:VALUES_SHOWN]))
            more = len(self.domain) - VALUES_SHOWN
            words.append(f"one of {shown}" + (f" and {more} more" if more > 0 else ""))
        elif self.domain is not None:
            words.append(f"one of {self.domain}")
        return ", ".join(words)


@dataclass(frozen=True)
class SchemaTable:
    """A table: whom it protects, how much one of them may contribute to an answer, and its columns.

    `profile` are the lines of what was measured of its units, where anything was.
    """

    name: str
    public: bool
    privacy_unit: str
    limits: Mapping[str, int] = field(default_factory=dict)
    columns: tuple[SchemaColumn, ...] = ()
    profile: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain data."""
        return {
            "name": self.name,
            "public": self.public,
            "privacy_unit": self.privacy_unit,
            "limits": dict(self.limits),
            "columns": [column.to_dict() for column in self.columns],
            **({"profile": list(self.profile)} if self.profile else {}),
        }

    @classmethod
    def from_dict(cls, shape: Mapping[str, Any]) -> SchemaTable:
        """Return the table that `to_dict` wrote."""
        return cls(
            str(shape["name"]),
            bool(shape["public"]),
            str(shape["privacy_unit"]),
            dict(shape["limits"]),
            tuple(map(SchemaColumn.from_dict, shape["columns"])),
            tuple(shape.get("profile", ())),
        )

    def lines(self) -> list[str]:
        """Return the table for people: a line for it, and one for each column."""
        limits = [f"{name} {limit:,}" for name, limit in self.limits.items()]
        names = [len(column.name) for column in self.columns]
        types = [len(column.type) for column in self.columns]
        return [
            "; ".join([f"{self.name}: {self.privacy_unit}", *limits]),
            *(
                f"  {column.name:<{max(names)}}  {column.type:<{max(types)}}  "
                f"{column.facts_in_words()}".rstrip()
                for column in self.columns
            ),
            *self.profile,
        ]


@dataclass(frozen=True, repr=False)
class Schema:
    """The tables of a dataset, as whoever asks may know them."""

    dataset: str
    neighbours: str
    tables: tuple[SchemaTable, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "dataset": self.dataset,
            "neighbours": self.neighbours,
            "tables": [table.to_dict() for table in self.tables],
        }

    @classmethod
    def from_dict(cls, shape: Mapping[str, Any]) -> Schema:
        """Return the schema that `to_dict` wrote."""
        tables = tuple(map(SchemaTable.from_dict, shape["tables"]))
        return cls(str(shape["dataset"]), str(shape["neighbours"]), tables)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [f"{self.dataset} ({self.neighbours})"]
        for table in self.tables:
            lines += ["", *table.lines()]
        return "\n".join(map(visible, lines))
