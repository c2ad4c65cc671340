"""A picture of an answer as a Vega-Lite specification: data, not code, for notebooks and web pages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from sanql.results.chart import Chart, Mark

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
BLUE = "#1f6fb4"
_COLUMNS = 3


def vega_lite(chart: Chart) -> dict[str, Any]:
    """Return a specification that draws a chart: a layer of numbers, and one of their intervals."""
    rows = [
        {"panel": panel.title or panel.statistic, **_row(mark)}
        for panel in chart.panels
        for mark in panel.marks
    ]
    statistics = list(dict.fromkeys(panel.statistic for panel in chart.panels))
    layers = _layers(chart, ", ".join(statistics))
    body: dict[str, Any] = {"layer": layers}
    if len(chart.panels) > 1:
        body = {
            "facet": {"field": "panel", "type": "nominal", "title": None, "sort": None},
            "columns": _COLUMNS,
            "spec": {"layer": layers, "width": 220, "height": 160},
            "resolve": {"scale": {"y": "independent"}} if len(statistics) > 1 else {},
        }
    return {
        "$schema": SCHEMA,
        "description": chart.caption,
        "title": {"text": "", "subtitle": chart.caption},
        "data": {"values": rows},
        **body,
    }


def _layers(chart: Chart, title: str) -> list[dict[str, Any]]:
    x: Mapping[str, Any] = {
        "field": "place",
        "type": _type(chart),
        "title": chart.along or None,
        "sort": None,
    }
    y = {"field": "value", "type": "quantitative", "title": title}
    ends = {"y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"}}
    if chart.kind == "lines":
        return [
            {
                "mark": {"type": "area", "opacity": 0.25, "color": BLUE},
                "encoding": {"x": x, **ends},
            },
            {"mark": {"type": "line", "point": True, "color": BLUE}, "encoding": {"x": x, "y": y}},
        ]
    return [
        {"mark": {"type": "bar", "color": BLUE, "opacity": 0.8}, "encoding": {"x": x, "y": y}},
        {"mark": {"type": "rule", "color": "black"}, "encoding": {"x": x, **ends}},
    ]


def _type(chart: Chart) -> str:
    if chart.kind == "bars":
        return "nominal"
    places = [mark.place for panel in chart.panels for mark in panel.marks]
    return "temporal" if any(isinstance(place, date) for place in places) else "quantitative"


def _row(mark: Mark) -> dict[str, Any]:
    place = mark.place.isoformat() if isinstance(mark.place, date) else mark.place
    return {"place": place, "value": mark.value, "low": mark.low, "high": mark.high}
