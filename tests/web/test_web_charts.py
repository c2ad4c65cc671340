"""Charts of answers: a bar or a point for each row, its interval to scale, and nothing that runs."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanql.pictures import Scale, belief_chart, error_chart, scale_over
from sanql.results import Answer, Interval, ShownColumn
from sanql.results.content import ReceivedContent
from sanql.server.web.chart import BARS_MAX, charts_of
from sanql.theory.closed_forms import GuaranteedPair
from sanql.theory.meaning import meaning_of

SVG = "{http://www.w3.org/2000/svg}"


def answer(
    rows: list[tuple[Any, ...]], intervals: list[Interval], kind: str = "text", name: str = "n"
) -> Answer:
    """Return an answer with one key and one statistic."""
    columns = [ShownColumn("key", kind), ShownColumn(name, "real")]
    content = ReceivedContent(columns, rows, {name: intervals})
    return Answer(content, Fraction(19, 20), {}, Mock(), (), Mock(), cached=False)


def drawn(shown: Answer) -> ET.Element:
    [chart] = charts_of(shown)
    return ET.fromstring(str(chart))


def lines_of(chart: ET.Element) -> list[dict[str, float]]:
    whiskers = [each for each in chart.iter(f"{SVG}line") if each.get("stroke-width") == "1.5"]
    return [
        {end: float(each.get(end, "")) for end in ("x1", "x2", "y1", "y2")} for each in whiskers
    ]


@pytest.mark.slow
def test_a_bar_ends_at_its_value_and_its_whisker_at_the_interval() -> None:
    chart = drawn(answer([("a", 50.0), ("b", 100.0)], [(40.0, 60.0), (80.0, 120.0)]))
    bars = [*chart.iter(f"{SVG}rect")]
    zero, widths = float(bars[0].get("x", "")), [float(bar.get("width", "")) for bar in bars]
    assert abs(widths[1] - 2 * widths[0]) < 0.1
    one = widths[0] / 50
    whisker = lines_of(chart)[3]
    assert abs(whisker["x1"] - (zero + 80 * one)) < 0.1
    assert abs(whisker["x2"] - (zero + 120 * one)) < 0.1


def test_bars_below_zero_go_the_other_way() -> None:
    chart = drawn(answer([("a", -50.0), ("b", 100.0)], [(-60.0, -40.0), (90.0, 110.0)]))
    below, above = [*chart.iter(f"{SVG}rect")]
    end = float(below.get("x", "")) + float(below.get("width", ""))
    assert abs(end - float(above.get("x", ""))) < 0.1


def test_dates_are_joined_by_a_line_in_their_order() -> None:
    days = [date(2025, 3, 1), date(2025, 1, 1), date(2025, 2, 1), None]
    rows = [(day, float(number)) for number, day in enumerate(days)]
    chart = drawn(answer(rows, [(None, None)] * 4, "date"))
    [joined] = chart.iter(f"{SVG}polyline")
    places = [float(point.split(",")[0]) for point in joined.get("points", "").split()]
    assert len(places) == 3 and places == sorted(places) and not lines_of(chart)


def test_one_row_is_no_chart_and_very_many_are_the_first() -> None:
    assert charts_of(answer([("a", 1.0)], [(0.0, 2.0)])) == []
    many = answer([(str(number), 1.0) for number in range(99)], [(0.0, 2.0)] * 99)
    chart = drawn(many)
    assert len([*chart.iter(f"{SVG}rect")]) == BARS_MAX
    assert f"first {BARS_MAX}" in chart.findtext(f"{SVG}desc", "")


def exact_answer(columns: list[ShownColumn], rows: list[tuple[Any, ...]]) -> Answer:
    """Return an answer without noise."""
    return Answer(
        ReceivedContent(columns, rows, {}), Fraction(1), {}, Mock(), (), Mock(), cached=False
    )


KEY, N = ShownColumn("key", "text"), ShownColumn("n", "integer")
YEAR, PART = ShownColumn("year", "integer"), ShownColumn("part", "decimal")


def test_what_is_exact_has_bars_without_whiskers_and_says_so() -> None:
    chart = drawn(exact_answer([KEY, N], [("a", 50), ("b", 100)]))
    first, second = (float(bar.get("width", "")) for bar in chart.iter(f"{SVG}rect"))
    assert abs(second - 2 * first) < 0.1 and not lines_of(chart)
    said = "All 2 values as they are, which the table lists"
    assert chart.findtext(f"{SVG}desc") == said and chart.get("aria-label") == f"n. {said}"


def test_a_number_that_stands_first_is_the_key_of_the_others() -> None:
    rows = [(2024 - number, Decimal(number)) for number in range(3)]
    chart = drawn(exact_answer([YEAR, PART], rows))
    assert len([*chart.iter(f"{SVG}circle")]) == 3 and not lines_of(chart)
    assert chart.findtext(f"{SVG}title") == "part"
    mixed = exact_answer([YEAR, KEY, PART], [(1, "a", Decimal(3)), (2, "b", Decimal(4))])
    assert drawn(mixed).findtext(f"{SVG}title") == "part"
    last = exact_answer([N, KEY], [(1, "a"), (2, "b")])
    assert drawn(last).findtext(f"{SVG}title") == "n"


def test_rows_that_are_only_listed_are_no_picture() -> None:
    assert charts_of(exact_answer([KEY, N], [("a", 1), ("a", 2)])) == []
    assert charts_of(exact_answer([KEY, N], [("a", 1)])) == []
    assert charts_of(exact_answer([N], [(1,), (2,)])) == []
    assert charts_of(exact_answer([KEY], [("a",), ("b",)])) == []
    assert charts_of(exact_answer([KEY, N], [(str(i), i) for i in range(BARS_MAX + 1)])) == []
    assert charts_of(exact_answer([], [])) == []


@given(st.text(), st.text(), st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_whatever_keys_names_and_numbers_are_a_chart_is_text(
    key: str, name: str, one: float, other: float
) -> None:
    if name == "key" or not name or max(abs(one), abs(other)) > 1e199:
        return
    shown = answer([(key, one), ("b", other)], [(one - 1, one + 1), (None, None)], name=name)
    chart = drawn(shown)
    used = {each.tag.removeprefix(SVG) for each in chart.iter()}
    assert used <= {"svg", "title", "desc", "text", "line", "rect", "polyline", "circle"}
    assert not [
        attribute
        for each in chart.iter()
        for attribute in each.attrib
        if attribute.startswith("on")
    ]


@given(st.lists(st.floats(-1e12, 1e12), min_size=1), st.floats(0, 100), st.floats(101, 1000))
def test_a_scale_holds_all_its_values_and_has_ticks(
    values: list[float], start: float, end: float
) -> None:
    scale = scale_over(values, start, end)
    assert all(start - 1e-6 <= scale(value) <= end + 1e-6 for value in values)
    assert all(scale.low - 1e-9 <= tick <= scale.high + 1e9 for tick in scale.ticks())


def test_ticks_are_round_and_few() -> None:
    assert Scale(0, 1, 0, 1).ticks() == [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert Scale(-3, 7, 0, 1).ticks() == [-2.0, 0.0, 2.0, 4.0, 6.0]


def test_pictures_of_a_meaning_are_drawn_for_any_guarantee() -> None:
    for epsilon, delta in ((0.0, 0.0), (1.0, 0.0), (20.0, 0.0), (1.0, 1e-6), (0.0, 1.0)):
        pair = GuaranteedPair(epsilon, delta)
        meaning = meaning_of(pair, 0.3, failure=min(1.0, 10 * delta))
        for chart in (belief_chart(pair, meaning), error_chart(pair)):
            assert "nan" not in str(chart) and ET.fromstring(str(chart)).findtext(f"{SVG}desc")
