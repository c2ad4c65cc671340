"""Noisy cells on record → the profile that they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from sanql.measurements import NoisyCells
from sanql.mechanisms import DiscreteLaplace
from sanql.plan import (
    OCTAVES,
    SIZE_EDGES,
    VALUE_EDGES,
    BoundsSearch,
    Ends,
    Plan,
    ValueSpread,
    plan_bounds_search,
)
from sanql.policy import Column, Neighbours, Table
from sanql.profile.histogram import SizeCounts, UnitSpread
from sanql.profile.parts import PartKind, ProfilePart
from sanql.profile.profile import GroupSizes, Profile


@dataclass(frozen=True)
class MeasuredPart:
    """One part of a profile as it is on record."""

    part: ProfilePart
    version: int
    time: datetime
    plan: Plan
    cells: NoisyCells


def read_profile(
    parts: Sequence[MeasuredPart], tables: Mapping[str, Table], neighbours: Neighbours
) -> Profile:
    """Return the profile of one table that parts of one version make; of two alike the dearer counts."""
    best: dict[tuple[PartKind, str], MeasuredPart] = {}
    for measured in parts:
        name = measured.part.kind, measured.part.column
        if name not in best or measured.part.epsilon >= best[name].part.epsilon:
            best[name] = measured
    first = parts[0]
    rows: UnitSpread | None = None
    groups: dict[str, UnitSpread] = {}
    norms: dict[str, SizeCounts] = {}
    values: dict[str, SizeCounts] = {}
    sizes: dict[str, GroupSizes] = {}
    ranges: dict[str, Ends | None] = {}
    average_sizes: dict[str, Fraction] = {}
    spreads: dict[str, ValueSpread] = {}
    for (kind, column), measured in best.items():
        match kind:
            case "rows":
                rows = _spread(measured)
            case "groups":
                groups[column] = _spread(measured)
            case "norms":
                norms[column] = size_counts(measured.plan, measured.cells)
            case "values":
                values[column] = size_counts(measured.plan, measured.cells, VALUE_EDGES)
            case "sizes":
                sizes[column] = _sizes(measured)
            case "ranges":
                search, bins, counts = _magnitudes(measured, tables, neighbours)
                ranges[column] = search.ends(bins, counts)
                most = _largest(tables[measured.part.table].columns[column])
                average_sizes[column] = search.average_size(bins, counts, most)
                spreads[column] = search.spread_of_sizes(bins, counts, most)
    return Profile(
        first.part.table,
        first.version,
        max(measured.time for measured in best.values()),
        sum((measured.plan.charge.epsilon for measured in best.values()), Fraction(0)),
        rows,
        groups,
        norms,
        sizes,
        ranges,
        average_sizes,
        spreads,
        values,
    )


def size_counts(plan: Plan, cells: NoisyCells, edges: tuple[int, ...] = SIZE_EDGES) -> SizeCounts:
    """Return noisy counts of units by size, in the bins of limits that are suggested."""
    counted = dict(zip(*_counted(cells), strict=True))
    (noise,) = _noises(plan)
    return SizeCounts(edges, tuple(counted[i] for i in range(len(edges))), noise)


def _spread(measured: MeasuredPart) -> UnitSpread:
    keys, counts = _counted(measured.cells)
    units = dict(zip(keys, counts, strict=True))
    places = dict(zip(keys, measured.cells.measurement(1).tolist(), strict=True))
    noise, place_noise = _noises(measured.plan)
    bins = range(len(OCTAVES))
    return UnitSpread(
        OCTAVES,
        tuple(units[index] for index in bins),
        noise,
        tuple(places[index] for index in bins),
        place_noise,
    )


def _sizes(measured: MeasuredPart) -> GroupSizes:
    keys, counts = _counted(measured.cells)
    limit = measured.plan.levels[0].outline.limits.groups
    (noise,) = _noises(measured.plan)
    return GroupSizes(dict(zip(keys, counts, strict=True)), noise, limit)


def _magnitudes(
    measured: MeasuredPart, tables: Mapping[str, Table], neighbours: Neighbours
) -> tuple[BoundsSearch, list[int], list[int]]:
    part = measured.part
    search = plan_bounds_search((part.table, part.column), tables, neighbours, part.epsilon)
    return search, *_counted(measured.cells)


def _largest(column: Column) -> Fraction:
    """Return how far from zero a value can be."""
    match column.bounds:
        case (int() | Fraction() as low, int() | Fraction() as high):
            return max(abs(Fraction(low)), abs(Fraction(high)))
        case _:
            return Fraction(2) ** 64


def _counted(cells: NoisyCells) -> tuple[list[int], list[int]]:
    return cells.table.column("k0").to_pylist(), cells.measurement(0).tolist()


def _noises(plan: Plan) -> list[DiscreteLaplace]:
    noises = [noise for noise in plan.noises if isinstance(noise, DiscreteLaplace)]
    assert len(noises) == len(plan.noises)  # noqa: S101  (without a delta nothing else is used)
    return noises
