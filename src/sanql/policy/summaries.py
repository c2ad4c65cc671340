"""What a policy lets a prepared copy add up beforehand: `summaries = { by = […], of = […], … }`."""

from __future__ import annotations

from collections.abc import Mapping

from sanql.policy.keys import KEYS
from sanql.policy.model import Column, ColumnUnit, Summaries, Unit
from sanql.policy.section import Mistake, Section, quote, suggest

_REMEDY = (
    'write summaries = { by = ["COLUMN", …], of = ["COLUMN", …], quantiles_of = ["COLUMN", …] }'
)
_NUMBERS = ("integer", "decimal", "float")
_ROUNDED = ("decimal", "float")  # of which equal values can differ
_DONE = {"of": "sum", "quantiles_of": "rank"}


def read_summaries(section: Section, unit: Unit, columns: Mapping[str, Column]) -> Summaries | None:
    """Return what is added up beforehand; each column that cannot be has left a fault."""
    if "summaries" not in section.content:
        return None
    written = section.section("summaries", _REMEDY)
    if written is None:
        return None
    written.allow(KEYS["summaries"])
    if not isinstance(unit, ColumnUnit):
        section.fault(
            "summaries",
            "its rows have no column that says whose they are, so none are added up",
            "remove it, or write it in the table that privacy_unit is a column of",
        )
    by = written.read("by", _parse_columns, _REMEDY) or ()
    of = written.read("of", _parse_columns, _REMEDY) or ()
    quantiles_of = written.read("quantiles_of", _parse_columns, _REMEDY) or ()
    for key, named in (("by", by), ("of", of), ("quantiles_of", quantiles_of)):
        for name in named:
            if name not in columns:
                written.fault(key, f"no column {quote(name)} is declared", suggest(name, columns))
            elif (
                key == "by" and isinstance(unit, ColumnUnit) and name.lower() == unit.column.lower()
            ):
                written.fault(
                    key,
                    f"{quote(name)} says whose a row is, and rows are added up for each unit anyway",
                    "leave it out",
                )
            elif key == "by" and columns[name].type in _ROUNDED:
                written.fault(
                    key,
                    f"{quote(name)} is {columns[name].type}, and rounded numbers are no groups",
                    "name columns of integers, texts, booleans, dates or timestamps",
                )
            elif key != "by" and (
                columns[name].type not in _NUMBERS or columns[name].bounds is None
            ):
                written.fault(
                    key,
                    f"{quote(name)} has no bounds to {_DONE[key]} it within",
                    "name columns of numbers with bounds",
                )
    return Summaries(by, of, quantiles_of)


def _parse_columns(written: object) -> tuple[str, ...]:
    if not isinstance(written, list) or not all(isinstance(name, str) for name in written):
        raise Mistake("is no list of columns")
    if len(set(written)) < len(written):
        raise Mistake("names a column twice")
    return tuple(written)
