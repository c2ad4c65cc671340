"""The digest of a question: equal for equal measurements of the same version of the data.

What runs on the noisy cells (HAVING, ORDER BY, arithmetic) is no part of it: asking for the same cells
again in another form is free. Of the tables that are read, the columns that are used are part of it, and
no others: a policy may declare one column more. `data` names the version of the data by number, never
by what it holds.

Form 1 is how version 0.1.0 named questions; answers recorded under such names are found by them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, assert_never

from sanql.account import Charge, Event, FailureEvent, GaussianEvent, LaplaceEvent, SelectionEvent
from sanql.canonical import (
    DIGEST_FORM,
    Named,
    Shape,
    WrittenOnce,
    digest_of,
    first_text,
    named_inside,
    word,
)
from sanql.itself import Itself
from sanql.measurements import Measurement, NormBound, Paired, QuantileBins
from sanql.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Geometric,
    Noise,
    NoNoise,
    SummedNoise,
    TruncatedGeometric,
)
from sanql.plan.keys import FilteringKey, KeyColumn, Keys, OneGroup, PrivateKeys, PublicKeys
from sanql.plan.lookups import Lookup
from sanql.policy import ColumnUnit, Table, TableDomain, ViaUnit, domain_form, table_form
from sanql.question import expression_form, optional_form, relation_form, scans

if TYPE_CHECKING:
    from sanql.plan.level import Level
    from sanql.plan.mechanism import Priced
    from sanql.statistics import Measuring

_MEASURED = {
    "rows with a value": "VALUES",
    "distinct values": "DISTINCT",
    "how many distinct values of a unit count": "CHOICE",
    "rows on either side of a value": "PICKS",
    "rows between values around the picked ones": "LADDER",
    "units in groups that do not appear": "REST",
}


def question_digest(levels: Sequence[Level], data: str) -> str:
    """Return the digest of a question with these levels, asked of this version of the data."""
    shapes = [_level_form(level) for level in levels]
    return digest_of(Named("Question", {"form": DIGEST_FORM, "data": data, "levels": shapes}))


def first_question_digest(levels: Sequence[Level], fingerprint: str) -> str:
    """Return the digest that version 0.1.0 gave a question, asked of a source with this fingerprint."""
    names = [_hashed(_first_level_text(level, fingerprint)) for level in levels]
    return names[0] if len(names) == 1 else _hashed(repr(names))


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _level_form(level: Level) -> Named:
    outline = level.outline
    read: dict[str, Shape] = {
        "source": relation_form(outline.query.source),
        "where": optional_form(outline.query.where),
        "keys": tuple(map(expression_form, outline.query.keys)),
        "groups": _keys(outline.keys),
        "beside": tuple(map(_filtering_key, outline.filtering_keys)),
        "measurements": _measurements(Itself(outline.measuring)),
    }
    tables = _declared(read.values(), outline.tables)
    return Named(
        "Level",
        read
        | {
            "whole": _table(Itself(outline.table), ()),
            "tables": [
                _table(Itself(outline.tables[name]), tuple(sorted(tables[name])))
                for name in sorted(tables)
            ],
            "neighbours": outline.neighbours,
            "limits": _limits(level),
            "selection": outline.measuring.selection,
            "other": outline.other,
        }
        | _price_of(Itself(level.priced)),
    )


@lru_cache(maxsize=256)
def _measurements(measuring: Itself[Measuring]) -> WrittenOnce:
    return WrittenOnce(tuple(map(_measurement, measuring.thing.measurements)))


@lru_cache(maxsize=256)
def _table(table: Itself[Table], columns: tuple[str, ...]) -> WrittenOnce:
    return WrittenOnce(table_form(table.thing, columns))


@lru_cache(maxsize=256)
def _price_of(priced: Itself[Priced]) -> dict[str, Shape]:
    """Return noises, threshold and charge; how the mechanism is called is in form 1 only."""
    found = priced.thing
    return {
        "noises": WrittenOnce(tuple(map(_noise, found.noises))),
        "threshold": found.threshold,
        "charge": WrittenOnce(_charge(found.charge)),
    }


def _declared(read: Iterable[Shape], tables: Mapping[str, Table]) -> dict[str, set[str]]:
    """Return the tables that something reads, those that rows lead to included, and which columns."""
    columns_read: dict[str, set[str]] = {}
    identifying: dict[str, set[str]] = {}
    identifiers: set[str] = set()
    for named in named_inside(tuple(read)):
        if named.name not in _READING:
            continue
        match named:
            case Named("Scan", {"table": str(name)}):
                for table, columns in _path(name, tables):
                    identifying.setdefault(table, set()).update(columns)
            case Named("ColumnRef", {"origin": (str(name), str(column))}):
                columns_read.setdefault(name, set()).add(column)
            case Named("TableDomain", {"table": str(name), "column": str(column)}):
                columns_read.setdefault(name, set()).add(column)
            case Named("Identifier", {"name": str(column)}):
                identifiers.add(column)
            case _:
                pass
    return {
        name: columns_read.get(name, set()) & tables[name].columns.keys()
        | _cut(tables[name], identifying.get(name, set()) | identifiers)
        for name in {*columns_read, *identifying}
    }


_READING = frozenset({"Scan", "ColumnRef", "TableDomain", "Identifier"})
"""The names of what says which tables and columns are read."""


def _cut(table: Table, identifying: set[str]) -> set[str]:
    """Return the identifying columns whose declaration says how long a text may be to be somebody's."""
    named = {name.lower() for name in identifying}
    declared = table.columns.items()
    return {name for name, c in declared if name.lower() in named and c.bytes_max is not None}


def _path(name: str, tables: Mapping[str, Table]) -> Iterator[tuple[str, set[str]]]:
    """Yield a table, those that lead from it to the unit, and by which columns they do.

    How these are read decides whose a row is, and so who is counted.
    """
    unit, second = tables[name].unit, tables[name].second
    also = set() if second is None else {second.column}
    yield name, ({unit.column} if isinstance(unit, ColumnUnit | ViaUnit) else set()) | also
    if isinstance(unit, ViaUnit):
        yield unit.table, {unit.key}
        yield from _path(unit.table, tables)


def _first_level_text(level: Level, fingerprint: str) -> str:
    """Return the text whose hash was the name of a level."""
    outline = level.outline
    query = outline.query
    read = [
        (scan.table, first_text(table_form(outline.tables[scan.table])))
        for scan in scans(query.source)
    ]
    shape: Shape = (
        table_form(outline.table),
        relation_form(query.source),
        sorted(read),
        optional_form(query.where),
        tuple(map(expression_form, query.keys)),
        outline.neighbours,
        _keys(outline.keys),
        _limits(level),
        tuple(map(_measurement, outline.measuring.measurements)),
        outline.measuring.selection,
        _priced(level),
        fingerprint,
        *(("other",) if outline.other else ()),
        *map(_filtering_key, outline.filtering_keys),
        # what version 0.1.0 has on record was not bounded so, whatever numbers agree
        *(_norm(part.norm) for part in level.measurements if part.norm is not None),
        *(_pair(part.pair) for part in level.measurements if part.pair is not None),
    )
    return first_text(shape)


def _keys(keys: Keys) -> Named:
    match keys:
        case OneGroup():
            return Named("OneGroup", {})
        case PrivateKeys():
            return Named("PrivateKeys", {})
        case PublicKeys(columns):
            return Named("PublicKeys", {"columns": tuple(map(_key_column, columns))})
        case _:
            assert_never(keys)


def _key_column(column: KeyColumn) -> Named:
    match column.values:
        case TableDomain() as domain:
            values: Shape = domain_form(domain)
        case Lookup(keys, expressions, source, conditions, nullable, absent):
            values = Named(
                "Lookup",
                {
                    "keys": keys,
                    "expressions": tuple(map(expression_form, expressions)),
                    "source": relation_form(source),
                    "conditions": tuple(map(expression_form, conditions)),
                    **({"nullable": nullable} if nullable else {}),
                    **({"absent": True} if absent else {}),
                },
            )
        case tuple() as listed:
            values = listed
        case _:
            assert_never(column.values)
    null = {"null": True} if column.null else {}
    return Named("KeyColumn", {"values": values, "filtered": column.filtered, **null})


def _filtering_key(filtering: FilteringKey) -> Named:
    return Named(
        "Beside", {"key": expression_form(filtering.key), "column": _key_column(filtering.column)}
    )


def _limits(level: Level) -> Named:
    limits = level.outline.limits
    numbers = {
        "groups": limits.groups,
        "rows": limits.rows,
        "rows_per_group": limits.rows_per_group,
    }
    return Named("Limits", numbers)


def _measurement(measurement: Measurement) -> Named:
    bounds = measurement.sensitivity
    moved = {"l1": bounds.l1, "linf": bounds.linf, "l2_squared": bounds.l2_squared}
    return Named(
        "Measurement",
        {
            "kind": word("Measured", measurement.kind, _MEASURED),
            "expression": optional_form(measurement.expression),
            "sensitivity": Named("Sensitivity", moved),
            "grid": measurement.grid,
            "centre": measurement.centre,
            "low": measurement.low,
            "high": measurement.high,
            "total": measurement.total,
            "weight": measurement.weight,
            "leaves": None
            if measurement.quantile_bins is None
            else _quantile_bins(measurement.quantile_bins),
            "fractions": measurement.fractions,
            "of": measurement.of,
        },
        later=_later(measurement),
    )


def _later(measurement: Measurement) -> dict[str, Shape]:
    """Return what later versions measure besides, where it is measured."""
    later: dict[str, Shape] = {}
    if measurement.values:
        later["values"] = measurement.values
    if measurement.groups_max is not None:
        later["groups_max"] = measurement.groups_max
    if measurement.values_per_unit is not None:
        later["values_per_unit"] = measurement.values_per_unit
    if measurement.choices:
        later["choices"] = measurement.choices
    if measurement.around is not None:
        later["around"] = measurement.around
    if measurement.norm is not None:
        later["norm"] = _norm(measurement.norm)
    if measurement.poured is not None:
        rows = {"first": measurement.poured.first, "second": measurement.poured.second}
        later["poured"] = Named("Poured", rows)
    if measurement.pair is not None:
        later["pair"] = _pair(measurement.pair)
    return later


def _pair(pair: Paired) -> Named:
    return Named("Pair", {"partner": pair.partner, "width": pair.width, "scale": pair.scale})


def _norm(norm: NormBound) -> Named:
    return Named(
        "Norm",
        {"order": norm.order, "bound": norm.bound, "scale": norm.scale, "alone": norm.alone},
        {"jointly": True} if norm.jointly else {},
    )


def _quantile_bins(bins: QuantileBins | None) -> Named | None:
    if bins is None:
        return None
    return Named(
        "Leaves",
        {
            "grid": bins.grid,
            "bottom": bins.bottom,
            "top": bins.top,
            "width": bins.width,
            "splits": bins.splits,
        },
    )


def _priced(level: Level) -> Named:
    """Return the price as form 1 has it; form 2 leaves out how the mechanism is called."""
    priced = level.priced
    return Named(
        "Priced",
        {
            "noises": tuple(map(_noise, priced.noises)),
            "threshold": priced.threshold,
            "charge": _charge(priced.charge),
            "mechanism": priced.mechanism.name,
        },
    )


def _noise(described: Noise) -> Named:
    match described:
        case NoNoise():
            return Named("NoNoise", {})
        case DiscreteLaplace(scale):
            return Named("DiscreteLaplace", {"scale": scale})
        case DiscreteGaussian(sigma2):
            return Named("DiscreteGaussian", {"sigma2": sigma2})
        case TruncatedGeometric(epsilon, limit):
            return Named("TruncatedGeometric", {"epsilon": epsilon, "limit": limit})
        case Geometric(scale):
            return Named("Geometric", {"scale": scale})
        case SummedNoise(noise, 2):  # of both sides of a pair
            return Named("SummedNoise", {"noise": _noise(noise)})
        case SummedNoise():
            raise AssertionError("what is added up from noisy cells is not measured")
        case _:
            assert_never(described)


def _charge(charge: Charge) -> Named:
    events = tuple(map(_event, charge.events))
    return Named("Charge", {"events": events, "epsilon": charge.epsilon, "delta": charge.delta})


def _event(event: Event) -> Named:
    match event:
        case LaplaceEvent(scale, l1, linf):
            return Named("LaplaceEvent", {"scale": scale, "l1": l1, "linf": linf})
        case GaussianEvent(sigma2, l2_squared):
            return Named("GaussianEvent", {"sigma2": sigma2, "l2_squared": l2_squared})
        case SelectionEvent(epsilon, delta, cells):
            return Named("SelectionEvent", {"epsilon": epsilon, "delta": delta, "cells": cells})
        case FailureEvent(delta):
            return Named("FailureEvent", {"delta": delta})
        case _:
            assert_never(event)
