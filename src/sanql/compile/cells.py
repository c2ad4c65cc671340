"""Exact cells as SQL: contributions added up for each group, with one integer a measurement."""

from __future__ import annotations

from sanql.compile.group_keys import KeyWriter, place
from sanql.compile.key_weights import WEIGHTS
from sanql.compile.measured_values import below, value_column
from sanql.compile.parts import AddedUp
from sanql.measurements import Measured, Measurement
from sanql.plan import Level, PublicKeys

DROPPED = "dropped_cells"  # where some are bounded by norm: what rows are dropped for
_SATURATING = (Measured.SUM, Measured.BELOW)
PRESENT = "present"  # what a row has where nothing is measured
CELL_LIMIT = 2**62  # where exact sums saturate; saturation only brings neighbours closer


class CellWriter:
    """Writes the cells of a level over its bounded contributions, or over rows that are units."""

    def __init__(
        self,
        level: Level,
        group_keys: KeyWriter,
        *,
        rows_are_units: bool,
        weighed_along: bool = False,
    ) -> None:
        self._plan = level
        self._group_keys = group_keys
        self._keys = [f"k{index}" for index in range(len(level.query.keys))]
        self._by_unit = not rows_are_units
        kinds = [measurement.kind for measurement in level.computed]
        by_weights = Measured.KEY_WEIGHTS in kinds
        self._weights = kinds.index(Measured.KEY_WEIGHTS) if by_weights else None
        self._weighed_along = weighed_along  # weights of keys are a column of `cells`

    def cells(self, source: str, name: str = "cells") -> str:
        """Return what each group adds up to of measurements that need not be scaled to a norm."""
        columns = list(self._keys)
        for index, measurement in enumerate(self._plan.computed):
            if not self._is_added_up(measurement) or self._is_scaled(measurement):
                continue
            total = self._total(index, measurement)
            if measurement.scale > 1:  # rows that are units: none is longer than it may be
                total = f"({total})::HUGEINT * {measurement.scale}"
            columns.append(f"{total} AS m{index}")
        if not columns:  # one row however many there are, and nothing of theirs is read
            return f"{name} AS (SELECT 0::BIGINT AS {PRESENT})"
        grouping = f" GROUP BY {', '.join(self._keys)}" if self._keys else ""
        return f"{name} AS (SELECT {', '.join(columns)} FROM {source}{grouping})"

    def cells_by_norm(self, source: str) -> str:
        """Return what each group adds up to of measurements that a norm bounds, as `cells`."""
        places = [i for i, part in enumerate(self._plan.computed) if self._is_scaled(part)]
        totals = [f"system.main.sum(m{place}) AS m{place}" for place in places]
        totals += ["system.main.sum(w) AS s"] if self._weighed_along else []
        grouping = f" GROUP BY {', '.join(self._keys)}" if self._keys else ""
        return f"cells AS (SELECT {', '.join([*self._keys, *totals])} FROM {source}{grouping})"

    def added_up(self, name: str = "cells") -> AddedUp:
        """Return the columns of `cells`, or of what is made beside it of rows that are not dropped."""
        by_norm = self._scales and name != DROPPED
        places = [
            f"m{index}"
            for index, measurement in enumerate(self._plan.computed)
            if self._is_added_up(measurement) and self._is_scaled(measurement) == by_norm
        ]
        places += ["s"] if self._weighed_along else []
        nothing = [] if self._keys else [PRESENT]
        return AddedUp(name, tuple(self._keys), tuple(places or nothing))

    @staticmethod
    def _is_added_up(measurement: Measurement) -> bool:
        """Return whether a measurement is a column of `cells`; others are joined, or made later."""
        joined = measurement.by_bins or measurement.kind is Measured.KEY_WEIGHTS
        return not joined and measurement.of is None

    def final(self) -> str:
        """Return the last SELECT: keys as they are shown, and one integer a measurement."""
        keys = self._plan.outline.keys
        source = "cells"
        key_columns = [f"cells.{key}" for key in self._keys]
        if isinstance(keys, PublicKeys):
            places = [place(keys, index) for index in range(len(keys.columns))]
            domains = " CROSS JOIN ".join(dict.fromkeys(place for place, _ in places))
            key_columns = [f"{place}.{column}" for place, column in places]
            same = " AND ".join(
                f"cells.k{i} IS NOT DISTINCT FROM {text}" for i, text in enumerate(key_columns)
            )
            source = f"{domains} LEFT JOIN cells ON {same}"
        elif self._weighed_along:
            pass
        elif self._weights is not None and self._scales:
            # by norm every pair is in the cells, also those of a unit that have no weight
            source += f" LEFT JOIN {WEIGHTS} ON {self._same(key_columns, WEIGHTS)}"
        elif self._weights is not None:
            # every pair that is in the cells has a weight, and others may have one besides
            key_columns = [f"{WEIGHTS}.{key}" for key in self._keys]
            source = f"{WEIGHTS} LEFT JOIN cells ON {self._same(key_columns, 'cells')}"
        columns = [
            f"{self._group_keys.shown(i, text)} AS k{i}" for i, text in enumerate(key_columns)
        ]
        apart = self._scales and any(map(self._is_dropped, self._plan.computed))
        if apart:
            source += f" LEFT JOIN {DROPPED} ON {self._same(key_columns, DROPPED)}"
        for index, measurement in enumerate(self._plan.computed):
            if measurement.of is not None:
                continue  # made of another measurement's cells once they are back
            if measurement.by_bins:
                source += f" LEFT JOIN lists{index} ON {self._same(key_columns, f'lists{index}')}"
                columns.append(f"coalesce(lists{index}.leaves, []::BIGINT[]) AS l{index}")
                columns.append(f"coalesce(lists{index}.counts, []::BIGINT[]) AS m{index}")
                continue
            dropped = apart and not self._is_scaled(measurement)
            exact = f"{DROPPED if dropped else 'cells'}.m{index}"
            if index == self._weights:
                exact = "cells.s" if self._weighed_along else f"{WEIGHTS}.s"
            if measurement.counted_before and self._by_unit:
                exact = f"distinct{index}.d[1]"
                same = self._same(key_columns, f"distinct{index}")
                source += f" LEFT JOIN distinct{index} ON {same}"
            if measurement.choices:
                columns += self._each_choice(index, measurement)
                continue
            cell = f"coalesce({exact}, 0)"
            if measurement.kind in _SATURATING or measurement.norm is not None:
                cell = (
                    f"system.main.greatest(-{CELL_LIMIT}, system.main.least({CELL_LIMIT}, {cell}))"
                )
            columns.append(f"CAST({cell} AS BIGINT) AS m{index}")
        return f"SELECT {', '.join(columns) or '1 AS present'} FROM {source}"

    def _each_choice(self, index: int, measurement: Measurement) -> list[str]:
        """Return a group's counts for each choice, as a list, and those of all groups beside them."""
        if not self._by_unit:
            raise AssertionError("of rows that are units one value counts, and nothing is chosen")
        none = ", ".join("0" for _ in measurement.choices)
        return [
            f"coalesce(distinct{index}.d, [{none}]::BIGINT[]) AS m{index}",
            f"(SELECT q FROM distinct{index}_in_all) AS q{index}",
        ]

    def zeros(self) -> str:
        """Return a SELECT of cells that are all 0, without a private row."""
        keys = self._plan.outline.keys
        columns = [f"0::BIGINT AS m{index}" for index in range(len(self._plan.computed))]
        rows = ""
        if isinstance(keys, PublicKeys):
            places = [place(keys, index) for index in range(len(keys.columns))]
            shown = [
                self._group_keys.shown(i, f"{at}.{name}") for i, (at, name) in enumerate(places)
            ]
            columns = [f"{key} AS k{index}" for index, key in enumerate(shown)] + columns
            rows = f" FROM {' CROSS JOIN '.join(dict.fromkeys(at for at, _ in places))}"
        return f"SELECT {', '.join(columns) or '1 AS present'}{rows}"

    def _is_scaled(self, measurement: Measurement) -> bool:
        """Return whether units' numbers are scaled to a norm; rows that are units are short enough."""
        return self._by_unit and measurement.norm is not None

    @property
    def _scales(self) -> bool:
        """Whether some measurements are scaled to a norm."""
        return any(map(self._is_scaled, self._plan.computed))

    def _is_dropped(self, measurement: Measurement) -> bool:
        """Return whether a measurement is added up of what limits on rows and groups leave."""
        apart = measurement.kind in (Measured.KEY_WEIGHTS, Measured.DISTINCT)
        return measurement.of is None and not apart and not self._is_scaled(measurement)

    def _total(self, index: int, measurement: Measurement) -> str:
        if measurement.counted_before:
            # by unit it is joined on later; an aggregate keeps this one row for each group
            return (
                "system.main.count(*) * 0"
                if self._by_unit
                else f"system.main.count(DISTINCT x{index})"
            )
        if measurement.kind is Measured.UNITS and measurement.expression is None:
            return "system.main.count(*)"
        if self._by_unit:
            column = value_column(self._plan.computed, index)
            counts = f"system.main.sum(w{column})"
            if measurement.kind is Measured.VALUES:
                return counts
            if measurement.kind is Measured.BELOW:
                return below(f"system.main.sum(m{column})", counts, measurement)
            return _less_centre(f"system.main.sum(m{index})", counts, measurement)
        match measurement.kind:
            case Measured.ROWS:
                return "system.main.count(*)"
            case Measured.VALUES:
                return f"system.main.count(x{value_column(self._plan.computed, index)})"
            case Measured.SUM:
                sums, counts = _summed(index, measurement), f"system.main.count(x{index})"
                return _less_centre(sums, counts, measurement)
            case Measured.BELOW:
                column = value_column(self._plan.computed, index)
                counts = f"system.main.count(x{column})"
                return below(f"system.main.sum(x{column})", counts, measurement)
            case Measured.UNITS:
                return f"system.main.count(x{index})"
            case _:
                raise AssertionError(f"{measurement.kind} are not added up here")

    def _same(self, key_columns: list[str], table: str) -> str:
        """Return the condition that a row of a table belongs to a group."""
        pairs = zip(key_columns, self._keys, strict=True)
        return (
            " AND ".join(f"{ours} IS NOT DISTINCT FROM {table}.{key}" for ours, key in pairs)
            or "TRUE"
        )


def _summed(index: int, measurement: Measurement) -> str:
    """Return the sum of the values of rows that are units, each within the bounds of a unit's total."""
    if measurement.total is None:
        return f"system.main.sum(x{index})"
    low, high = measurement.total
    value = f"coalesce(x{index}, 0)"
    return f"system.main.sum(system.main.greatest({low}, system.main.least({high}, {value})))"


def _less_centre(sums: str, counts: str, measurement: Measurement) -> str:
    """Return the sum of x - centre, from the sum and the number of x; once a cell is enough.

    A pair's sum scaled to w of its v values stays between w * low and w * high for whole bounds
    (`LimitWriter.bounded`), so the centred sum stays within its own.
    """
    if measurement.kind is not Measured.SUM or measurement.centre == 0:
        return sums
    return f"{sums} - {counts}::HUGEINT * {measurement.centre}"
