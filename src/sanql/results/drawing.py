"""A picture of an answer, drawn with matplotlib (extra `sanql[plots]`)."""

from __future__ import annotations

import math
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sanql.errors import Refused
from sanql.results.chart import Chart, Mark, Panel
from sanql.results.needed import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, DARK = "#1f6fb4", "#333333"
COLUMNS = 3
LYING_FROM = 6  # so many bars, or names longer than these letters, lie
LETTERS = 10
MARKED_MAX = 100  # places on a line, each with a dot
WIDTH, HEIGHT = 5.6, 3.4


def draw(chart: Chart) -> Figure:
    """Return a figure with a panel for each of a chart's."""
    need("matplotlib")
    figure_module = need("matplotlib.figure")
    count = len(chart.panels)
    columns = min(COLUMNS, count)
    rows = math.ceil(count / columns)
    scale = 1.0 if columns == 1 else 0.72
    deep = _depth(chart)
    figure: Figure = figure_module.Figure(
        figsize=(WIDTH * scale * columns, max(HEIGHT * scale, deep) * rows + 0.5),
        layout="constrained",
    )
    statistics = {panel.statistic for panel in chart.panels}
    alike, lie = len(statistics) == 1, _lie(chart)  # numbers of one kind have one scale
    grid = figure.subplots(
        rows, columns, squeeze=False, sharey=alike and not lie, sharex=alike and lie
    )
    places = [axes for line in grid for axes in line]
    for axes, panel in zip(places, chart.panels, strict=False):
        _panel(axes, chart, panel)
        if len(statistics) == 1:
            axes.label_outer()
    for axes in places[count:]:
        axes.set_visible(False)
    caption = "\n".join(_wrapped(chart.caption, 90 if columns == 1 else 120))
    figure.supxlabel(caption, fontsize=7, color="#666666", x=0.01, ha="left")
    return figure


def write_figure(figure: Figure, path: Path) -> None:
    """Write a figure to a file, in the form that its ending names."""
    known = sorted(figure.canvas.get_supported_filetypes())
    if path.suffix.lower().lstrip(".") not in known:
        raise Refused(
            "picture_form",
            f"{path.name} does not end in a form of pictures",
            "name one that ends in .png, .svg or .pdf, or, of the command, in .json",
        )
    figure.savefig(path, dpi=130)


def _panel(axes: Any, chart: Chart, panel: Panel) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    along = "both" if chart.kind == "lines" else "x" if _lie(chart) else "y"
    axes.grid(axis=along, alpha=0.25, linewidth=0.6)
    axes.set_axisbelow(True)
    if panel.title not in ("", panel.statistic):
        axes.set_title(_plain(panel.title), fontsize=10)
    if chart.kind == "lines":
        _lines(axes, chart, panel)
    elif _lie(chart):
        _lying_bars(axes, chart, panel)
    else:
        _bars(axes, chart, panel)


def _lines(axes: Any, chart: Chart, panel: Panel) -> None:
    x: list[Any] = [mark.place for mark in panel.marks]
    marker = "o" if len(x) <= MARKED_MAX else None
    values = [mark.value for mark in panel.marks]
    axes.plot(x, values, color=BLUE, marker=marker, markersize=3, linewidth=1.5 if marker else 0.9)
    known = [mark for mark in panel.marks if _has_ends(mark)]
    if known:
        axes.fill_between(
            [mark.place for mark in known],
            [mark.low for mark in known],
            [mark.high for mark in known],
            color=BLUE,
            alpha=0.22,
            linewidth=0,
        )
    if any(isinstance(place, date) for place in x):
        axes.tick_params(axis="x", rotation=30)
    axes.set_xlabel(_plain(chart.along))
    axes.set_ylabel(_plain(panel.statistic))


def _bars(axes: Any, chart: Chart, panel: Panel) -> None:
    places = range(len(panel.marks))
    axes.bar(places, [mark.value for mark in panel.marks], color=BLUE, alpha=0.8, width=0.7)
    for place, mark in zip(places, panel.marks, strict=True):
        if _has_ends(mark):
            axes.plot([place, place], [mark.low, mark.high], color=DARK, linewidth=1.6)
    axes.set_xticks(list(places), [_plain(_name(mark)) for mark in panel.marks])
    axes.set_xlabel(_plain(chart.along))
    axes.set_ylabel(_plain(panel.statistic))


def _lying_bars(axes: Any, chart: Chart, panel: Panel) -> None:
    places = range(len(panel.marks))
    axes.barh(places, [mark.value for mark in panel.marks], color=BLUE, alpha=0.8, height=0.7)
    for place, mark in zip(places, panel.marks, strict=True):
        if _has_ends(mark):
            axes.plot([mark.low, mark.high], [place, place], color=DARK, linewidth=1.6)
    axes.set_yticks(list(places), [_plain(_name(mark)) for mark in panel.marks])
    axes.invert_yaxis()
    axes.set_ylabel(_plain(chart.along))
    axes.set_xlabel(_plain(panel.statistic))


def _lie(chart: Chart) -> bool:
    if chart.kind == "lines":
        return False
    names = [_name(mark) for panel in chart.panels for mark in panel.marks]
    most = max(len(panel.marks) for panel in chart.panels)
    return most > LYING_FROM or max(map(len, names), default=0) > LETTERS


def _depth(chart: Chart) -> float:
    """Return how high a panel of lying bars must be."""
    return 0.24 * max(len(panel.marks) for panel in chart.panels) + 0.9 if _lie(chart) else 0.0


def _has_ends(mark: Mark) -> bool:
    return mark.low is not None and mark.high is not None


def _name(mark: Mark) -> str:
    place = mark.place
    return f"{place:g}" if isinstance(place, float) else str(place)


def _plain(text: str) -> str:
    """Return text that is drawn letter by letter: a dollar would begin a formula."""
    return text.replace("$", r"\$")


def _wrapped(text: str, width: int) -> list[str]:
    lines, line = [], ""
    for word in _plain(text).split(" "):
        if line and len(line) + len(word) >= width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return [*lines, line]
