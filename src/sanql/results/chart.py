"""What a picture of an answer shows: which column is drawn along which, and in how many panels.

Lines where one key puts the rows in an order (dates, times, numbers), bars where rows are things. Of two
keys the one with fewer values makes the panels. Noisy numbers have their interval as a whisker or a band;
what has none is drawn without, and its name says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from sanql.errors import Refused
from sanql.visible import visible

if TYPE_CHECKING:
    from sanql.results.answer import Answer

PANELS_MAX = 12
STATISTICS_MAX = 4
ROWS_MAX = 2_000
_ORDERED = ("date", "timestamp", "integer", "real", "decimal")
_NUMBERS = ("integer", "real", "decimal")
ORDERED_LEAST = 3

Place = str | float | date | datetime


@dataclass(frozen=True)
class Mark:
    """One number: where it stands, and the ends of its interval, where it has any."""

    place: Place
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Panel:
    """The numbers of one statistic, of one value of the key that makes panels."""

    title: str
    statistic: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Chart:
    """An answer as pictures: `along` is the key they are drawn along, `by` the one that makes panels."""

    kind: Literal["bars", "lines"]
    along: str
    by: str | None
    panels: tuple[Panel, ...]
    caption: str


def chart_of(answer: Answer) -> Chart:
    """Return what a picture of an answer shows, or refuse one that has no picture."""
    names = answer.columns
    kinds = {column.name: column.type for column in answer.content.columns}
    statistics = _statistics(answer, kinds)
    keys = [name for name in names if name not in statistics]
    if not statistics or not answer.rows:
        raise _no_picture("it has no number to draw" if answer.rows else "it has no rows")
    if len(keys) > 2:
        raise _no_picture(f"it has {len(keys)} keys, and a picture shows two")
    drawn = statistics[:STATISTICS_MAX]
    along, by = _roles(answer, keys, kinds)
    ordered = along is not None and _is_ordered(answer, along, kinds)
    panels = [
        panel
        for name in drawn
        for panel in _panels(answer, name, along, by, several=len(drawn) > 1)
    ]
    return Chart(
        "lines" if ordered else "bars",
        "" if along is None else visible(along),
        None if by is None else visible(by),
        tuple(panels[: PANELS_MAX * len(drawn)]),
        visible(answer.summary()),
    )


def _statistics(answer: Answer, kinds: dict[str, str]) -> list[str]:
    """Return the columns with noise that are numbers; without any, numbers that are no first key."""
    noisy = {*answer.intervals, *answer.without_interval}
    if noisy:
        return [name for name in answer.columns if name in noisy and kinds[name] in _NUMBERS]
    numbers = [name for name in answer.columns if kinds[name] in _NUMBERS]
    return numbers[1:] if len(numbers) > 1 and answer.columns[0] == numbers[0] else numbers


def _roles(
    answer: Answer, keys: Sequence[str], kinds: dict[str, str]
) -> tuple[str | None, str | None]:
    """Return the key that numbers are drawn along, and the one that makes panels."""
    if len(keys) < 2:
        return (keys[0] if keys else None), None
    one, other = keys
    ordered = [key for key in keys if _is_ordered(answer, key, kinds)]
    if len(ordered) == 1:
        (along,) = ordered
    else:
        along = one if _values(answer, one) >= _values(answer, other) else other
    return along, (other if along == one else one)


def _values(answer: Answer, key: str) -> int:
    place = answer.columns.index(key)
    return len({row[place] for row in answer.rows})


def _is_ordered(answer: Answer, key: str, kinds: dict[str, str]) -> bool:
    """Return whether a key puts the rows in an order; NULL, as in a total, has no place in one."""
    place = answer.columns.index(key)
    known = all(row[place] is not None for row in answer.rows)
    return known and kinds[key] in _ORDERED and _values(answer, key) >= ORDERED_LEAST


def _panels(
    answer: Answer, name: str, along: str | None, by: str | None, *, several: bool
) -> list[Panel]:
    column, intervals = answer.columns.index(name), answer.intervals.get(name)
    where = None if along is None else answer.columns.index(along)
    which = None if by is None else answer.columns.index(by)
    marks: dict[str, list[Mark]] = {}
    for number, row in enumerate(answer.rows[:ROWS_MAX]):
        value = row[column]
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            continue
        if not math.isfinite(value):
            continue
        low, high = (None, None) if intervals is None else intervals[number]
        place = visible(name) if where is None else _place(row[where])
        title = "" if which is None else f"{visible(str(by))} = {_named(row[which])}"
        marks.setdefault(title, []).append(Mark(place, float(value), low, high))
    bare = visible(name) + ("" if intervals is not None or answer.free else " (no interval)")
    found = []
    for title, own in marks.items():
        ordered = all(isinstance(mark.place, float | date) for mark in own)
        shown = sorted(own, key=lambda mark: mark.place) if ordered else own
        titles = [*([bare] if several and title else []), *([title] if title else [])]
        found.append(Panel(", ".join(titles) or (bare if several else ""), bare, tuple(shown)))
    return found


def _place(value: Any) -> Place:
    if isinstance(value, bool) or value is None:
        return _named(value)
    if isinstance(value, int | float | Decimal):
        return float(value)
    return value if isinstance(value, date) else visible(str(value))


def _named(value: Any) -> str:
    return "NULL" if value is None else visible(str(value))


def _no_picture(why: str) -> Refused:
    return Refused(
        "no_picture",
        f"the answer cannot be drawn: {why}",
        "ask for numbers by one or two keys, or show it as a table",
    )
