"""Pictures as text, wherever they are shown: elements of SVG, and what a guarantee means."""

from sanql.pictures.meaning_charts import belief_chart, error_chart
from sanql.pictures.svg import (
    BLUE,
    ORANGE,
    Scale,
    axis,
    element,
    line,
    picture,
    scale_over,
    short_number,
)

__all__ = [
    "BLUE",
    "ORANGE",
    "Scale",
    "axis",
    "belief_chart",
    "element",
    "error_chart",
    "line",
    "picture",
    "scale_over",
    "short_number",
]
