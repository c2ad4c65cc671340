"""Pictures of answers: what they show is what the answer says, with its intervals."""

from __future__ import annotations

import html
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from ask.test_over_statistics import opened
from sanql.errors import Refused
from sanql.results.chart import chart_of
from sanql.results.drawing import draw
from sanql.san import San

pytestmark = pytest.mark.usefixtures("in_this_process")
BY_TOWN = "SELECT town, COUNT(*) AS n FROM people GROUP BY town"
BY_BOTH = "SELECT town, sex, COUNT(*) AS n FROM people GROUP BY town, sex"
BY_AGE = "SELECT age, COUNT(*) AS n FROM people WHERE age < 20 GROUP BY age ORDER BY n"
BY_AGE_AND_SEX = "SELECT sex, age, COUNT(*) AS n FROM people WHERE age < 20 GROUP BY sex, age"


@pytest.fixture(scope="module")
def san(tmp_path_factory: pytest.TempPathFactory) -> Iterator[San]:
    with opened(tmp_path_factory.mktemp("pictures")) as san:
        yield san


def test_every_row_is_a_mark_with_its_interval(san: San) -> None:
    answer = san.query(BY_TOWN, epsilon=1)
    chart = chart_of(answer)
    (panel,) = chart.panels
    assert chart.kind == "bars" and chart.along == "town" and chart.by is None
    assert [(mark.place, mark.value) for mark in panel.marks] == answer.rows
    assert [(mark.low, mark.high) for mark in panel.marks] == answer.intervals["n"]


def test_a_key_in_an_order_is_a_line_in_that_order(san: San) -> None:
    chart = chart_of(san.query(BY_AGE, epsilon=1))
    assert chart.kind == "lines"
    places = [mark.place for mark in chart.panels[0].marks]
    assert places == sorted(places) and len(places) == 20  # type: ignore[type-var]


@pytest.mark.parametrize(("sql", "by", "panels"), [(BY_BOTH, "sex", 2), (BY_AGE_AND_SEX, "sex", 2)])
def test_a_second_key_makes_panels(san: San, sql: str, by: str, panels: int) -> None:
    chart = chart_of(san.query(sql, epsilon=1))
    assert chart.by == by
    assert [panel.title for panel in chart.panels] == ["sex = F", "sex = M"]
    assert len(chart.panels) == panels


def test_several_statistics_are_panels_of_their_own(san: San) -> None:
    sql = (
        "SELECT town, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*)) AS r FROM people GROUP BY town"
    )
    chart = chart_of(san.query(sql, epsilon=1))
    assert [panel.statistic for panel in chart.panels] == ["n", "r (no interval)"]


def test_the_vega_lite_of_an_answer_has_its_numbers_and_is_data(san: San) -> None:
    answer = san.query(BY_BOTH, epsilon=1)
    made = json.loads(json.dumps(answer.to_vega_lite()))
    assert made["$schema"].endswith("/vega-lite/v5.json")
    values = made["data"]["values"]
    assert [(row["low"], row["high"]) for row in values if row["panel"] == "sex = F"] == [
        ends for row, ends in zip(answer.rows, answer.intervals["n"], strict=True) if row[1] == "F"
    ]
    assert made["facet"]["field"] == "panel"
    assert {layer["mark"]["type"] for layer in made["spec"]["layer"]} == {"bar", "rule"}


def test_a_figure_draws_a_whisker_for_every_interval(san: San) -> None:
    answer = san.query(BY_TOWN, epsilon=1)
    (axes,) = answer.plot().axes
    ends = [tuple(line.get_ydata()) for line in axes.lines]
    assert ends == answer.intervals["n"]
    assert [patch.get_height() for patch in axes.patches] == [n for _, n in answer.rows]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.png", "a.svg", "a.pdf"])
def test_a_picture_is_written_in_the_form_that_its_name_says(
    san: San, tmp_path: Path, name: str
) -> None:
    san.query(BY_AGE_AND_SEX, epsilon=1).plot(tmp_path / name)
    beginning = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[name[2:]]
    assert (tmp_path / name).read_bytes().startswith(beginning)


def test_another_ending_is_refused_by_name(san: San, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"a\.xlsx does not end in a form of pictures"):
        san.query(BY_TOWN, epsilon=1).plot(tmp_path / "a.xlsx")
    assert not (tmp_path / "a.xlsx").exists()


def test_hostile_names_are_drawn_letter_by_letter(san: San) -> None:
    sql = 'SELECT town AS "$\\frac{1}{0}$", COUNT(*) AS "$n_$" FROM people GROUP BY 1'
    figure = draw(chart_of(san.query(sql, epsilon=1)))
    written = io.StringIO()
    figure.savefig(written, format="svg")
    assert "$n_$" in written.getvalue()


def test_bars_of_letters_reach_as_far_as_their_numbers(san: San) -> None:
    answer = san.query(BY_TOWN, epsilon=1)
    lines = answer.to_text_bars().splitlines()
    assert lines[0] == "n" and lines[-1] == answer.summary()
    reach = [line.rindex("|") for line in lines[1:-1]]
    values = [n for _, n in answer.rows]
    assert sorted(range(5), key=reach.__getitem__) == sorted(range(5), key=values.__getitem__)
    assert [int(re.sub(r".* |,", "", line)) for line in lines[1:-1]] == values


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT town, sex, age < 9 AS young, COUNT(*) AS n FROM people GROUP BY ALL",
        "SELECT town FROM towns",
    ],
)
def test_what_has_no_picture_says_why(san: San, sql: str) -> None:
    with pytest.raises(Refused, match="the answer cannot be drawn: it has"):
        chart_of(san.query(sql, epsilon=1 if "people" in sql else None))


def test_frames_have_the_ends_of_intervals_behind_their_numbers(san: San) -> None:
    answer = san.query(BY_TOWN, epsilon=1)
    assert answer.to_arrow().column_names == ["town", "n", "n_low", "n_high"]
    assert list(answer.to_pandas().columns) == answer.to_polars().columns
    lows = [low for low, _ in answer.intervals["n"]]
    assert answer.to_arrow().column("n_low").to_pylist() == lows
    assert answer.to_arrow(intervals=False) == answer.table


def test_dates_stand_where_they_are() -> None:
    from sanql.results.chart import Chart as Drawn
    from sanql.results.chart import Mark, Panel
    from sanql.results.vega_lite import vega_lite

    marks = tuple(Mark(date(2024, month, 1), 3.0, 2.0, 4.0) for month in (1, 2, 3))
    made = vega_lite(Drawn("lines", "day", None, (Panel("", "n", marks),), "caption"))
    assert made["data"]["values"][1]["place"] == "2024-02-01"
    assert made["layer"][1]["encoding"]["x"]["type"] == "temporal"


def test_a_notebook_shows_a_certificate_in_sentences_and_as_text(san: San) -> None:
    answer = san.query(BY_TOWN, epsilon=1)
    shown = answer.certificate._repr_html_()
    assert "epsilon-differential privacy: epsilon 1, delta 0" in shown
    assert html.escape(str(answer.certificate.meaning["words"])) in shown
    hostile = replace(answer.certificate, unit="<script>alert(1)</script>\u202e")
    assert "<script>" not in hostile._repr_html_() and "\u202e" not in hostile._repr_html_()


@pytest.mark.slow
def test_a_key_that_is_null_somewhere_has_a_name_and_no_place_in_an_order(
    san: San, tmp_path: Path
) -> None:
    total = "SELECT age, COUNT(*) AS n FROM people WHERE age < 9 GROUP BY ROLLUP (age)"
    answer = san.query(total, epsilon=1)
    chart = chart_of(answer)
    assert chart.kind == "bars" and chart.panels[0].marks[-1].place == "NULL"
    assert answer.plot(tmp_path / "total.png") and "NULL" in answer.to_text_bars()
    assert json.loads(json.dumps(answer.to_vega_lite()))["data"]["values"][-1]["place"] == "NULL"
    both = "SELECT sex, age, COUNT(*) AS n FROM people WHERE age < 9 GROUP BY ROLLUP (sex, age)"
    titles = {panel.title for panel in chart_of(san.query(both, epsilon=1)).panels}
    assert titles == {"sex = F", "sex = M", "sex = NULL"}
    figure = san.query(both, epsilon=1).plot(tmp_path / "both.png")
    scales = {axes.get_xlim() for axes in figure.axes if axes.get_visible()}
    assert len(scales) == 1  # small panels are compared with each other


def test_long_names_of_bars_are_told_apart_by_how_they_end(san: San) -> None:
    long = "'a very long name of district "
    names = f"CASE WHEN town = 'c0' THEN {long}1' ELSE {long}2' END"
    bars = san.query(
        f"SELECT {names} AS d, COUNT(*) AS n FROM people GROUP BY d", epsilon=1
    ).to_text_bars()
    labels = [line[:27] for line in bars.splitlines() if line.startswith("  ")]
    assert len(labels) == 2 == len(set(labels))
