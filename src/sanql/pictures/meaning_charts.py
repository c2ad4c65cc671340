"""What a guarantee means, as two pictures: beliefs before and after, and the errors of the best test."""

from __future__ import annotations

from markupsafe import Markup

from sanql.pictures.svg import BLUE, ORANGE, Scale, element, line, picture
from sanql.theory.closed_forms import Pair
from sanql.theory.meaning import Meaning, best_test_of, posterior_band_of

_SIZE, _EDGE, _TOP, _STEPS = 380, 56, 40, 60
_ACROSS = Scale(0, 1, _EDGE, _SIZE - 28)
_UP = Scale(0, 1, _SIZE - _EDGE, _TOP)
_SHARES = [number / _STEPS for number in range(_STEPS + 1)]


def belief_chart(pair: Pair, meaning: Meaning) -> Markup:
    """Return how far any answer can move a belief about one person, for every belief before."""
    bands = [posterior_band_of(pair, share, failure=meaning.failure) for share in _SHARES]
    low = [(share, band[0]) for share, band in zip(_SHARES, bands, strict=True)]
    high = [(share, band[1]) for share, band in zip(_SHARES, bands, strict=True)]
    area = element("polygon", points=_points([*low, *high[::-1]]), fill=BLUE, fill_opacity=0.3)
    edges = [_curve(each, BLUE) for each in (low, high)]
    least, most = meaning.usual_band
    x = _ACROSS(meaning.prior)
    marked = [
        line(x, _UP(least), x, _UP(most), stroke=ORANGE, stroke_width=4),
        element("circle", cx=x, cy=_UP(meaning.prior), r=5, fill=ORANGE),
    ]
    return _whole(
        "What somebody can come to believe",
        f"A belief of {meaning.prior:.4g} before lies between {least:.3g} and {most:.3g} after",
        ("belief before any answer", "belief after"),
        [area, *edges, _diagonal(), *marked],
    )


def error_chart(pair: Pair) -> Markup:
    """Return how often the best test misses, for every rate of false alarms."""
    curve = [(share, best_test_of(pair, share)) for share in _SHARES]
    blind = line(_ACROSS(0), _UP(1), _ACROSS(1), _UP(0), stroke_dasharray="4 4")
    return _whole(
        "How well anybody can tell",
        "No test misses less often than the curve; the dashed line is blind guessing",
        ("false alarms", "misses, at least"),
        [_curve(curve, BLUE), blind],
    )


def _whole(title: str, said: str, axes: tuple[str, str], drawn: list[Markup]) -> Markup:
    frame = [element("text", title, x=8, y=20, font_weight="bold")]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y, label = _ACROSS(share), _UP(share), f"{share:.0%}"
        frame += [
            line(x, _UP(0), x, _UP(1), stroke_opacity=0.15),
            line(_ACROSS(0), y, _ACROSS(1), y, stroke_opacity=0.15),
            element("text", label, x=x, y=_UP(0) + 18, text_anchor="middle"),
            element("text", label, x=_EDGE - 8, y=y + 4, text_anchor="end"),
        ]
    middle = (_TOP + _SIZE - _EDGE) / 2
    frame += [
        element("text", axes[0], x=_ACROSS(0.5), y=_SIZE - 14, text_anchor="middle"),
        element(
            "text",
            axes[1],
            x=14,
            y=middle,
            text_anchor="middle",
            transform=f"rotate(-90 14 {middle})",
        ),
    ]
    return picture(title, said, _SIZE, _SIZE, *frame, *drawn)


def _diagonal() -> Markup:
    return line(_ACROSS(0), _UP(0), _ACROSS(1), _UP(1), stroke_dasharray="4 4")


def _curve(points: list[tuple[float, float]], colour: str) -> Markup:
    return element("polyline", points=_points(points), fill="none", stroke=colour, stroke_width=2)


def _points(points: list[tuple[float, float]]) -> str:
    return " ".join(f"{_ACROSS(x):.1f},{_UP(y):.1f}" for x, y in points)
