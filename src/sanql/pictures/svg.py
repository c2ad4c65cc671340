"""Pictures as text: elements of SVG whose every word is escaped, and scales with round ticks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from markupsafe import Markup, escape

# Colours that people with any kind of colour vision tell apart (Okabe and Ito), and that can be seen on
# white and on black; words and axes have the colour of the text around the picture.
BLUE, ORANGE = "#0072b2", "#d55e00"
INK = "currentColor"


def element(tag: str, *content: Markup | str, **attributes: object) -> Markup:
    """Return an element; `stroke_width` is written stroke-width, and text is escaped.

    >>> element("text", "<b>", x=1, text_anchor="end")
    Markup('<text x="1" text-anchor="end">&lt;b&gt;</text>')
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for name, value in attributes.items()
    )
    inside = Markup("").join(content)
    return Markup(f"<{tag}{written}>{inside}</{tag}>")  # noqa: S704  (all parts are escaped)


def picture(title: str, description: str, width: int, height: int, *content: Markup) -> Markup:
    """Return a whole picture that says what it is to whoever does not see it."""
    return element(
        "svg",
        element("title", title),
        element("desc", description),
        *content,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_label=f"{title}. {description}",
        font_family="system-ui, sans-serif",
        font_size=12,
        fill=INK,
        class_="chart",
    )


def line(x1: float, y1: float, x2: float, y2: float, **attributes: object) -> Markup:
    """Return a straight line in the colour of the text."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, **({"stroke": INK} | attributes))


@dataclass(frozen=True)
class Scale:
    """Where on an axis a value is: from one end of the values to the other."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the place of a value; what is outside is at the end."""
        inside = min(max(value, self.low), self.high)
        return self.start + (inside - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, most: int = 5) -> list[float]:
        """Return round values within the ends.

        >>> Scale(0, 11_000, 0, 1).ticks()
        [0.0, 5000.0, 10000.0]
        """
        rough = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * each for each in (1, 2, 5, 10) if power * each >= rough)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [round(number * step, 10) for number in range(first, last + 1)]


def scale_over(values: list[float], start: float, end: float) -> Scale:
    """Return a scale that holds all values, with a little room, whatever they are."""
    low, high = min(values), max(values)
    size = max(abs(low), abs(high))
    if high - low <= size * 1e-6:  # or steps between ticks would be lost in rounding
        room = size * 0.1 or 1.0
        return Scale(low - room, high + room, start, end)
    room = (high - low) * 0.05
    return Scale(low - room if low else low, high + room if high else high, start, end)


def short_number(value: float) -> str:
    """Return a number as axes have it.

    >>> [short_number(each) for each in (0, 1500, 2_000_000, 0.25, -3e12)]
    ['0', '1,500', '2M', '0.25', '-3T']
    """
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if abs(value) >= size:
            return f"{value / size:.4g}{letter}"
    return f"{value:,.6g}" if abs(value) >= 1 or not value else f"{value:.4g}"


def axis(scale: Scale, draw: Callable[[float, str], Markup]) -> list[Markup]:
    """Return the ticks of an axis, each drawn at its place with its number."""
    return [draw(scale(tick), short_number(tick)) for tick in scale.ticks()]


def _plain(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
