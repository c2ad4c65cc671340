"""Spending over time as a picture: prices added up, person by person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup

from sanql.account import DATASET
from sanql.pictures import BLUE, ORANGE, Scale, axis, element, line, picture

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM, _RIGHT = 720, 300, 56, 40, 46, 150
_ROOM_SECONDS, _LINE = 3600.0, 15.0
_COLOURS = (BLUE, ORANGE, "#009e73", "#cc79a7", "#56b4e9", "#e69f00")


def who_asked(name: str) -> str:
    """Return who asked, in words: what is asked in the dataset's own name, nobody did."""
    return "the dataset itself" if name == DATASET else name


def spending_chart(questions: Iterable[Mapping[str, Any]], budget: float) -> Markup:
    """Return how prices have added up over time, for each who asked and for all together."""
    paid = [
        (who_asked(each["analyst"]), _moment(each["time"]), each["price"]["epsilon"])
        for each in questions
    ]
    moments = [moment for _, moment, _ in paid] or [0.0]
    room = max(0.03 * (max(moments) - min(moments)), _ROOM_SECONDS)
    across = Scale(min(moments) - room, max(moments) + room, _LEFT, _WIDTH - _RIGHT)
    up = Scale(0, max(budget, sum(price for *_, price in paid)), _HEIGHT - _BOTTOM, _TOP)
    names = list(dict.fromkeys(name for name, _, _ in paid))
    steps = {name: _steps(paid, across, name) for name in names[: len(_COLOURS)]}
    if len(names) > 1:
        steps["all together"] = _steps(paid, across, None)
    drawn, free = _frame(across, up, budget), float(_HEIGHT)
    by_height = sorted(steps.items(), key=lambda each: each[1][-1][1])
    for (name, points), colour in zip(by_height, (*_COLOURS, "currentColor"), strict=False):
        ends = [(across(moment), up(total)) for moment, total in points]
        shown = " ".join(f"{x:.1f},{y:.1f}" for x, y in ends)
        free = min(ends[-1][1] + 4, free - _LINE)  # names stand above each other
        drawn += [
            element("polyline", points=shown, fill="none", stroke=colour, stroke_width=2),
            element("text", name, x=_WIDTH - _RIGHT + 8, y=free, fill=colour),
        ]
    said = "Prices added up over time, for each who asked and for all together"
    return picture("Spending over time", said, _WIDTH, _HEIGHT, *drawn)


def _steps(
    paid: Iterable[tuple[str, float, float]], across: Scale, name: str | None
) -> list[tuple[float, float]]:
    points, total = [(across.low, 0.0)], 0.0
    for who, moment, price in paid:
        if name in (None, who):
            points += [(moment, total), (moment, total + price)]
            total += price
    return [*points, (across.high, total)]


def _frame(across: Scale, up: Scale, budget: float) -> list[Markup]:
    def level(y: float, label: str) -> Markup:
        text = element("text", label, x=_LEFT - 8, y=y + 4, text_anchor="end")
        rule = line(_LEFT, y, _WIDTH - _RIGHT, y, stroke_opacity=0.15)
        return element("g", text, rule)

    first, last = (
        datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M")
        for moment in (across.low, across.high)
    )
    y = up(budget)
    return [
        element("text", "Epsilon, prices added up", x=8, y=20, font_weight="bold"),
        *axis(up, level),
        line(_LEFT, y, _WIDTH - _RIGHT, y, stroke_dasharray="4 4"),
        element("text", "the budget of all", x=_WIDTH - _RIGHT + 8, y=y + 4),
        element("text", first, x=_LEFT, y=_HEIGHT - 16),
        element("text", last, x=_WIDTH - _RIGHT, y=_HEIGHT - 16, text_anchor="end"),
    ]


def _moment(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()
