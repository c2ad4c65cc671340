"""Errors over epsilon as a picture: a line for each question, and the error that is wanted."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from sanql.pictures import BLUE, ORANGE, Scale, element, line, picture
from sanql.rehearsal.contents import QuestionTried, Rehearsal

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 760, 380, 70, 170, 44, 52
_LEAST, _MOST = 1e-4, 10.0  # errors beyond are drawn at the edge
_COLOURS = (BLUE, ORANGE, "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
_LINE = 15.0


def errors_chart(rehearsal: Rehearsal) -> Markup:
    """Return how the error of each question falls with epsilon; both axes are logarithmic."""
    epsilons = [math.log10(each) for each in rehearsal.epsilons]
    room = 0.0 if epsilons[-1] > epsilons[0] else 0.5
    across = Scale(epsilons[0] - room, epsilons[-1] + room, _LEFT, _WIDTH - _RIGHT)
    errors = [at.error for each in rehearsal.tried for at in each.at if at.error]
    low = math.floor(_log(min([*errors, rehearsal.within])))
    high = math.ceil(_log(max([*errors, rehearsal.within])))
    up = Scale(low, max(high, low + 1), _HEIGHT - _BOTTOM, _TOP)
    drawn = _frame(rehearsal, across, up)
    free = float(_HEIGHT)
    for question, points in sorted(
        _points(rehearsal, across, up), key=lambda each: -each[1][-1][1]
    ):
        colour = _COLOURS[(question.number - 1) % len(_COLOURS)]
        free = min(points[-1][1] + 4, free - _LINE)  # names stand above each other
        drawn += [
            element(
                "polyline",
                points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points),
                fill="none",
                stroke=colour,
                stroke_width=2,
            ),
            *(element("circle", cx=x, cy=y, r=3, fill=colour) for x, y in points),
            element("text", _name(question), x=_WIDTH - _RIGHT + 10, y=free, fill=colour),
        ]
    said = "The error of each question at each epsilon that was tried; the dashed line is what is wanted"
    return picture("Errors over epsilon", said, _WIDTH, _HEIGHT, *drawn)


def _points(
    rehearsal: Rehearsal, across: Scale, up: Scale
) -> list[tuple[QuestionTried, list[tuple[float, float]]]]:
    return [
        (
            question,
            [
                (across(math.log10(at.epsilon)), up(_log(at.error)))
                for at in question.at
                if at.error is not None
            ],
        )
        for question in rehearsal.tried
    ]


def _name(question: QuestionTried) -> str:
    enough = "" if question.enough is None else f" (from {question.enough:g})"
    return f"question {question.number}{enough}"


def _frame(rehearsal: Rehearsal, across: Scale, up: Scale) -> list[Markup]:
    wanted = up(_log(rehearsal.within))
    end = _WIDTH - _RIGHT
    return [
        element("text", "Error: median of |shown − true| / |true|", x=8, y=20, font_weight="bold"),
        *(_level(power, up) for power in _powers(up)),
        *(_mark(each, across) for each in rehearsal.epsilons),
        line(_LEFT, wanted, end, wanted, stroke_dasharray="5 4"),
        element("text", f"{rehearsal.within * 100:g} %, wanted", x=_LEFT + 4, y=wanted - 5),
        element("text", "epsilon of one answer", x=end, y=_HEIGHT - 12, text_anchor="end"),
    ]


def _level(power: int, up: Scale) -> Markup:
    y = up(power)
    return element(
        "g",
        element("text", f"{10.0**power * 100:g} %", x=_LEFT - 8, y=y + 4, text_anchor="end"),
        line(_LEFT, y, _WIDTH - _RIGHT, y, stroke_opacity=0.15),
    )


def _mark(epsilon: float, across: Scale) -> Markup:
    x = across(math.log10(epsilon))
    return element(
        "g",
        element("text", f"{epsilon:g}", x=x, y=_HEIGHT - _BOTTOM + 18, text_anchor="middle"),
        line(x, _TOP, x, _HEIGHT - _BOTTOM, stroke_opacity=0.08),
    )


def _powers(up: Scale) -> Sequence[int]:
    return range(round(up.low), round(up.high) + 1)


def _log(error: float) -> float:
    return math.log10(min(max(error, _LEAST), _MOST))
