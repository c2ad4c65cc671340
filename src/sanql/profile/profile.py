"""The profile of a table: what was measured of its units, once, and what limits keep of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from typing import Any

from sanql.computed_once import computed_once
from sanql.mechanisms import DiscreteLaplace
from sanql.numbers import show_upper
from sanql.plan import Ends, KnownUnits, ValueSpread
from sanql.profile.histogram import CELLS, MISSED, KeptShare, SizeCounts, UnitSpread
from sanql.profile.norms import lengths_hidden, lengths_of, lengths_of_rows, lengths_of_some
from sanql.visible import visible

SHOWN = 10  # groups of a column


@dataclass(frozen=True)
class GroupSizes:
    """Noisy counts of units in the public groups of a column, no unit in more than `limit` of them."""

    sizes: Mapping[object, int]
    noise: DiscreteLaplace
    limit: int

    @property
    def half_width(self) -> int:
        """How far each count may be off, all together at 95 %."""
        return self.noise.half_width(1 - MISSED / max(1, len(self.sizes)))


@dataclass(frozen=True, repr=False)
class Profile:
    """What is known, privately, of the units of a table: counts with noise, and intervals for it.

    `version` is that of the data it is of, `time` when the newest of its parts was measured, `epsilon`
    what all of them cost.
    """

    table: str
    version: int
    time: datetime
    epsilon: Fraction
    rows: UnitSpread | None = None
    groups: Mapping[str, UnitSpread] = field(default_factory=dict)
    norms: Mapping[str, SizeCounts] = field(default_factory=dict)
    sizes: Mapping[str, GroupSizes] = field(default_factory=dict)
    ranges: Mapping[str, Ends | None] = field(default_factory=dict)
    average_sizes: Mapping[str, Fraction] = field(default_factory=dict)
    value_spreads: Mapping[str, ValueSpread] = field(default_factory=dict)
    values: Mapping[str, SizeCounts] = field(default_factory=dict)

    def rows_kept(self, limit: int) -> KeptShare | None:
        """Return what share of the rows is kept where each unit has at most so many."""
        return None if self.rows is None else self.rows.kept(limit)

    def groups_kept(self, column: str, limit: int) -> KeptShare | None:
        """Return what share is kept of the groups that units are in, where each is in at most so many."""
        return self.groups[column].kept(limit) if column in self.groups else None

    def units_within(self, rows: int, column: str = "") -> KeptShare | None:
        """Return what share of the units has at most so many rows, or groups of a column."""
        spread = self.groups.get(column) if column else self.rows
        return None if spread is None else spread.within(rows)

    def units_upper(self, missed: Fraction = MISSED) -> int | None:
        """Return a number that there are no more units than, but with probability `missed`."""
        return None if self.rows is None else self.rows.units_upper(missed)

    def weights_upper(self, column: str, most: int, missed: Fraction = MISSED) -> int | None:
        """Return a number that units' 1/√groups of a column add up to no more than, but for `missed`."""
        spread = self.groups.get(column)
        return None if spread is None else spread.weights_upper(most, missed)

    @computed_once
    def known_units(self) -> KnownUnits | None:
        """What norms and limits are chosen by; None where rows of units are not known.

        These are estimates, and whatever is chosen by them is enforced like a declared limit.
        """
        if self.rows is None or not (rows := lengths_of(self.rows)):
            return None
        norms = {
            column: lengths_of_rows(counted, self.rows) for column, counted in self.norms.items()
        }
        groups = {column: lengths_of(spread) for column, spread in self.groups.items()}
        return KnownUnits(
            rows,
            norms,
            groups,
            self.average_sizes,
            self.value_spreads,
            hidden=lengths_hidden(self.rows),
            values={name: lengths_of_some(each) for name, each in self.values.items()},
        )

    @property
    def name(self) -> str:
        """How it is cited: by its day and the version of the data it is of."""
        return f"profile of {self.time:%Y-%m-%d}, version {self.version} of the data"

    def to_dict(self) -> dict[str, Any]:
        """Return what is known as plain data."""
        return {
            "table": self.table,
            "version": self.version,
            "time": self.time.isoformat(),
            "epsilon": float(show_upper(self.epsilon)),
            "rows": None if self.rows is None else _counts(self.rows),
            "groups": {name: _counts(each) for name, each in self.groups.items()},
            "norms": {name: _counts(each) for name, each in self.norms.items()},
            "values": {name: _counts(each) for name, each in self.values.items()},
            "sizes": {name: _sizes(each) for name, each in self.sizes.items()},
            "ranges": {
                name: None if ends is None else [*map(float, ends)]
                for name, ends in self.ranges.items()
            },
        }

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return visible("\n".join(self.lines()), lines=True)

    def lines(self) -> list[str]:
        """Return the profile for people."""
        lines = [f"{self.table}: {self.name}, epsilon {show_upper(self.epsilon)}"]
        if self.rows is not None:
            lines.append(f"  units: {_units(self.rows)}")
            lines += _spread("rows", self.rows)
        for name, spread in self.groups.items():
            lines += _spread(f"groups by {name}", spread)
        for name, sizes in self.sizes.items():
            shown = sorted(sizes.sizes.items(), key=lambda each: -each[1])[:SHOWN]
            listed = ", ".join(f"{key} {count:,}" for key, count in shown)
            lines.append(f"  units by {name}, ± {sizes.half_width:,}: {listed}")
        for name, ends in self.ranges.items():
            found = "not found" if ends is None else f"{float(ends[0]):g} to {float(ends[1]):g}"
            lines.append(f"  values of {name}: {found}")
        for name, counted in self.values.items():
            lines += _with_values(name, counted)
        return lines


def _units(spread: UnitSpread) -> str:
    reach = spread.units_upper(MISSED / 2) - sum(spread.counts)
    return f"{spread.units:,} ± {reach:,}"


def _spread(noun: str, spread: UnitSpread) -> list[str]:
    """Return what is not known of the largest units, then a line for each limit on the others."""
    if spread.last is None:
        return [f"  {noun}: no {spread.least} units have alike many"]
    lines = [
        f"  {noun}: a limit of {edge:,} keeps {share.in_words()}" for edge, share in _shares(spread)
    ]
    beyond = spread.beyond(spread.last)
    largest = f"  {noun}: {beyond.beyond_in_words} than {beyond.up_to:,}"
    unknown = f"which share of all {noun} these have is not known, and limits may take most of it"
    return [f"{largest}: {unknown}; of the others'", *lines]


def _with_values(name: str, counted: SizeCounts) -> list[str]:
    """Return how many units have none, and how many rows with a value about half of the others have."""
    some = sum(counted.above_noise[1:])
    if not some:
        return [f"  rows with {name}: no {counted.least} units have alike many"]
    up_to = next(
        edge
        for index, edge in enumerate(counted.edges)
        if index and 2 * sum(counted.above_noise[1 : index + 1]) >= some
    )
    none = max(0, counted.counts[0])
    return [
        f"  rows with {name}: about {none:,} units have none, half of the others up to {up_to:,}"
    ]


def _shares(spread: UnitSpread) -> list[tuple[int, KeptShare]]:
    """Return limits up to the largest unit that was seen, and what each keeps as far as can be told."""
    edges = () if spread.last is None else spread.edges[1 : spread.last + 1]
    shares = [(edge, spread.kept(edge)) for edge in edges]
    return [(edge, share) for edge, share in shares if share is not None]


def _counts(counted: SizeCounts) -> dict[str, Any]:
    shape: dict[str, Any] = {"up_to": list(counted.edges), "units": list(counted.counts)}
    shape |= {"noise": counted.noise.describe()}
    if isinstance(counted, UnitSpread):
        shape |= {"places": list(counted.places), "place_noise": counted.place_noise.describe()}
        shape |= {"kept": [_kept(edge, share) for edge, share in _shares(counted)]}
    return shape


def _kept(limit: int, share: KeptShare) -> dict[str, Any]:
    return {"limit": limit, "low": share.low / CELLS, "high": share.high / CELLS}


def _sizes(sizes: GroupSizes) -> list[dict[str, Any]]:
    width = sizes.half_width
    return [
        {"group": key if isinstance(key, bool | int | float | str) else str(key), "units": count}
        | {"low": max(0, count - width), "high": count + width}
        for key, count in sizes.sizes.items()
    ]
