"""Answers as pictures: a bar or a point for each row, with its interval as a whisker.

Bars where the rows are things, a line where one key puts them in an order: dates, times, numbers. The
table beside it is what it says in words. What is exact has no whiskers, and is drawn where its keys tell
the rows apart: rows of a public table that are only listed are no picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from markupsafe import Markup

from sanql.pictures import BLUE, Scale, axis, element, line, picture, scale_over
from sanql.results import Answer
from sanql.visible import visible

CHARTS_MAX, BARS_MAX, POINTS_MAX = 4, 40, 1_000
_WIDTH, _ROW, _LABEL, _RIGHT, _TOP = 480, 26, 130, 24, 30
_HEIGHT, _LEFT, _FOOT = 280, 64, 36
_LETTERS = 18
_LARGEST = 1e200
_NUMBERS = ("integer", "real", "decimal")
_ORDERED = ("date", "timestamp", *_NUMBERS)


@dataclass(frozen=True)
class ChartRow:
    """One row of a chart: what it is called, where it stands, its value and interval."""

    label: str
    place: float
    value: float
    low: float | None
    high: float | None


def statistics_of(answer: Answer) -> list[str]:
    """Return the columns of an answer that are no keys.

    Noise marks them. Without any they are the numbers, but for one that stands first, before others.
    """
    noisy = {*answer.intervals, *answer.without_interval}
    if noisy:
        return [name for name in answer.columns if name in noisy]
    numbers = [column.name for column in answer.content.columns if column.type in _NUMBERS]
    leads = len(numbers) > 1 and answer.columns[0] == numbers[0]
    return numbers[1:] if leads else numbers


def charts_of(answer: Answer) -> list[Markup]:
    """Return a chart for each of the first statistics of an answer; none where nothing is to be seen."""
    exact = _is_exact(answer)
    if exact and not _is_whole(answer):
        return []
    seen = [name for name in statistics_of(answer) if exact or name in answer.intervals]
    drawn = []
    for name in seen[:CHARTS_MAX]:
        rows = _rows(answer, name)
        if len(rows) < 2:
            continue
        ordered = _order_key(answer) is not None
        drawn.append(_lines(name, answer, rows) if ordered else _bars(name, answer, rows))
    return drawn


def _is_exact(answer: Answer) -> bool:
    return answer.free or not (answer.intervals or answer.without_interval)


def _is_whole(answer: Answer) -> bool:
    """Return whether all rows of an exact answer fit into a picture, and each has keys of its own."""
    most = BARS_MAX if _order_key(answer) is None else POINTS_MAX
    keys = _keys(answer)
    return len(answer.rows) <= most and len(answer.rows) == len(
        {tuple(row[key] for key in keys) for row in answer.rows}
    )


def _rows(answer: Answer, statistic: str) -> list[ChartRow]:
    keys = _keys(answer)
    column, order = answer.columns.index(statistic), _order_key(answer)
    intervals = None if _is_exact(answer) else answer.intervals[statistic]
    rows = []
    for number, row in enumerate(answer.rows):
        value, interval = row[column], (None, None) if intervals is None else intervals[number]
        place = _number(row[order]) if order is not None else float(number)
        if place is not None and _is_drawn(value):
            label = ", ".join(visible(str(row[key])) for key in keys) or f"row {number + 1}"
            rows.append(ChartRow(label, place, float(value), *interval))
    if order is not None:
        return sorted(rows, key=lambda row: row.place)[:POINTS_MAX]
    return rows[:BARS_MAX]


def _is_drawn(value: object) -> bool:
    """Return whether a value has a place on a scale."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return False
    return -_LARGEST < value < _LARGEST


def _keys(answer: Answer) -> list[int]:
    statistics = {*statistics_of(answer)}
    return [number for number, name in enumerate(answer.columns) if name not in statistics]


def _order_key(answer: Answer) -> int | None:
    """Return the one key whose values are in an order, where there are enough of them for a line."""
    keys = _keys(answer)
    if len(keys) != 1 or answer.content.columns[keys[0]].type not in _ORDERED:
        return None
    places = [_number(row[keys[0]]) for row in answer.rows]
    known = {place for place in places if place is not None}
    return keys[0] if 2 < len(known) == len([p for p in places if p is not None]) else None


def _number(value: Any) -> float | None:
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, date):
        return float(value.toordinal())
    return float(value) if isinstance(value, int | float | Decimal) else None


def _ends(rows: Sequence[ChartRow]) -> list[float]:
    ends = [end for row in rows for end in (row.low, row.high) if end is not None]
    return [*ends, *(row.value for row in rows)]


def _bars(name: str, answer: Answer, rows: list[ChartRow]) -> Markup:
    """Return bars that lie, so that their names can be read on a phone."""
    bottom = _TOP + _ROW * len(rows)
    scale = scale_over([0.0, *_ends(rows)], _LABEL, _WIDTH - _RIGHT)

    def tick(x: float, number: str) -> Markup:
        grid = line(x, _TOP, x, bottom, stroke_opacity=0.2)
        return grid + element("text", number, x=x, y=bottom + 18, text_anchor="middle")

    drawn = [*axis(scale, tick), line(scale(0), _TOP, scale(0), bottom)]
    for number, row in enumerate(rows):
        middle = _TOP + _ROW * (number + 0.5)
        start, end = sorted((scale(0), scale(row.value)))
        drawn.append(_label(row.label, _LABEL - 8, middle + 4))
        drawn.append(
            element(
                "rect",
                element("title", _said(row)),
                x=start,
                y=middle - 8,
                width=max(end - start, 0.5),
                height=16,
                fill=BLUE,
                fill_opacity=0.75,
            )
        )
        drawn += _whisker(row, scale, middle, lying=True)
    return _whole(name, answer, rows, bottom + 30, drawn)


def _lines(name: str, answer: Answer, rows: list[ChartRow]) -> Markup:
    """Return points joined by a line, in the order of their key."""
    bottom = _HEIGHT - _FOOT
    across = scale_over([row.place for row in rows], _LEFT, _WIDTH - _RIGHT)
    up = scale_over(_ends(rows), bottom, _TOP)

    def tick(y: float, number: str) -> Markup:
        grid = line(_LEFT, y, _WIDTH - _RIGHT, y, stroke_opacity=0.2)
        return grid + element("text", number, x=_LEFT - 8, y=y + 4, text_anchor="end")

    drawn = axis(up, tick)
    points = " ".join(f"{across(row.place):.1f},{up(row.value):.1f}" for row in rows)
    drawn.append(element("polyline", points=points, fill="none", stroke=BLUE, stroke_width=2))
    for row in rows:
        x = across(row.place)
        drawn += _whisker(row, up, x, lying=False)
        said = element("title", _said(row))
        drawn.append(element("circle", said, cx=x, cy=up(row.value), r=3.5, fill=BLUE))
    step = max(1, -(-len(rows) // 5))
    for row in rows[::step]:
        text = element("text", row.label[:_LETTERS], x=across(row.place), y=bottom + 20,
                       text_anchor="middle")  # fmt: skip
        drawn.append(text)
    return _whole(name, answer, rows, _HEIGHT, drawn)


def _whisker(row: ChartRow, scale: Scale, across: float, *, lying: bool) -> list[Markup]:
    """Return an interval, a line from end to end with a cap at each; nothing where it is unbounded."""
    if row.low is None or row.high is None:
        return []
    low, high = scale(row.low), scale(row.high)
    ends = [(low, across - 5, low, across + 5), (high, across - 5, high, across + 5)]
    lines = [(low, across, high, across), *ends]
    placed = lines if lying else [(y1, x1, y2, x2) for x1, y1, x2, y2 in lines]
    faint = {} if lying else {"stroke_opacity": 0.7}  # the line is what is read first
    return [line(*place, stroke_width=1.5, **faint) for place in placed]


def _label(text: str, x: float, y: float) -> Markup:
    short = text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"
    return element("text", element("title", text), short, x=x, y=y, text_anchor="end")


def _said(row: ChartRow) -> str:
    bounded = row.low is not None and row.high is not None
    ends = f" [{row.low:,.6g}, {row.high:,.6g}]" if bounded else ""
    return f"{row.label}: {row.value:,.6g}{ends}"


def _whole(
    name: str, answer: Answer, rows: list[ChartRow], height: int, drawn: list[Markup]
) -> Markup:
    title = visible(name)
    which = "The first" if len(rows) < len(answer.rows) else "All"
    how = "as they are"
    if not _is_exact(answer):
        how = f"with their {float(answer.confidence):.4g} intervals{answer.certificate.of_noise}"
    description = f"{which} {len(rows)} values {how}, which the table lists"
    heading = element("text", title, x=4, y=18, font_weight="bold")
    return picture(title, description, _WIDTH, height, heading, *drawn)
