"""Profiles as pictures: how many units have up to so many rows, or groups; a bar for each bin."""

from __future__ import annotations

from markupsafe import Markup

from sanql.pictures import BLUE, Scale, axis, element, line, picture
from sanql.profile import Profile, SizeCounts
from sanql.visible import visible

_WIDTH, _HEIGHT, _LEFT, _TOP, _FOOT = 480, 190, 64, 10, 40


def profile_charts(profile: Profile) -> list[Markup]:
    """Return a chart of rows per unit, and one of groups per unit for each column that was asked for."""
    spreads = {"rows": profile.rows} if profile.rows is not None else {}
    named = {f"groups by {column}": spread for column, spread in profile.groups.items()}
    found = [_bars(noun, profile.table, spread) for noun, spread in (spreads | named).items()]
    return [chart for chart in found if chart is not None]


def _bars(noun: str, table: str, spread: SizeCounts) -> Markup | None:
    """Return the noisy counts up to the last bin that has units; None where none has."""
    if spread.last is None:
        return None
    edges, counts = spread.edges[: spread.last + 1], spread.counts[: spread.last + 1]
    foot = _HEIGHT - _FOOT
    scale = Scale(0.0, float(max(1, *counts)), foot, _TOP)
    step = (_WIDTH - _LEFT) / len(edges)
    drawn = [
        line(_LEFT, foot, _WIDTH, foot),
        *axis(
            scale, lambda y, words: element("text", words, x=_LEFT - 6, y=y + 4, text_anchor="end")
        ),
    ]
    for place, (edge, count) in enumerate(zip(edges, counts, strict=True)):
        x, y = _LEFT + place * step, scale(float(count))
        drawn += [
            element("rect", x=x + 1, y=y, width=step - 2, height=foot - y, fill=BLUE),
            element("text", f"{edge:,}", x=x + step / 2, y=foot + 15, text_anchor="middle"),
        ]
    words = f"up to so many {visible(noun)} a unit; counts of units are noisy"
    drawn.append(
        element("text", words, x=(_LEFT + _WIDTH) / 2, y=_HEIGHT - 6, text_anchor="middle")
    )
    title = f"Units of {visible(table)} by {visible(noun)}"
    said = ", ".join(f"up to {e:,}: {c:,}" for e, c in zip(edges, counts, strict=True))
    return picture(title, said, _WIDTH, _HEIGHT, *drawn)
