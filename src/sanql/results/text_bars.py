"""A picture of an answer in letters, for terminals: a bar for each row, and its interval along it."""

from __future__ import annotations

from sanql.results.chart import Chart, Mark, Panel

WIDTH = 48
LABEL_MAX = 24


def text_bars(chart: Chart, width: int = WIDTH) -> str:
    """Return bars of letters: = up to the number, | at it, - over its interval.

    All panels of one statistic have one scale, which begins at zero.
    """
    lines: list[str] = []
    for panel in chart.panels:
        same = [each for each in chart.panels if each.statistic == panel.statistic]
        lines += [panel.title or panel.statistic, *_panel(panel, same, width)]
    return "\n".join([*lines, chart.caption])


def _panel(panel: Panel, same: list[Panel], width: int) -> list[str]:
    ends = [end for each in same for mark in each.marks for end in _all(mark)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    step = (high - low) / (width - 1) or 1.0
    names = [_label(mark) for mark in panel.marks]
    wide = max(map(len, names))

    def place(x: float) -> int:
        return max(0, min(width - 1, round((x - low) / step)))

    lines = []
    for mark, name in zip(panel.marks, names, strict=True):
        letters = [" "] * width
        first, last = sorted((place(0.0), place(mark.value)))
        letters[first : last + 1] = "=" * (last + 1 - first)
        if mark.low is not None and mark.high is not None:
            from_, to = place(mark.low), place(mark.high)
            letters[from_ : to + 1] = "-" * (to + 1 - from_)
        letters[place(mark.value)] = "|"
        lines.append(f"  {name:<{wide}} {''.join(letters)} {mark.value:,.6g}")
    return lines


def _all(mark: Mark) -> list[float]:
    return [end for end in (mark.value, mark.low, mark.high) if end is not None]


def _label(mark: Mark) -> str:
    text = f"{mark.place:g}" if isinstance(mark.place, float) else str(mark.place)
    if len(text) <= LABEL_MAX:
        return text
    behind = LABEL_MAX // 3  # names that begin alike are told apart by how they end
    return f"{text[: LABEL_MAX - 1 - behind]}…{text[-behind:]}"
