"""Where limits may cut, no door shows a width as if it were one of the truth.

A width covers noise. Every ± and every pair of brackets beside a number says so where units may have more
rows than count; where none can, nothing is added.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import pytest
from rich.console import Console

import sanql
from sanql.cli.tables import print_answer
from sanql.demo import make_hospital
from sanql.san import San
from sanql.server.web.chart import charts_of
from sanql.server.web.shown_answers import shown_answer, shown_explanation

CUT = "SELECT kind, COUNT(*) AS n, AVG(cost) AS mean FROM visits GROUP BY kind"
WHOLE = "SELECT sex, COUNT(*) AS n, AVG(age) AS mean FROM people GROUP BY sex"
WIDTH = re.compile(r"(?:± [\d,.]+|\[[-\d,.]+, [-\d,.]+\])(.{0,40})", re.DOTALL)


@pytest.fixture(scope="module")
def san(tmp_path_factory: pytest.TempPathFactory) -> Iterator[San]:
    with sanql.open(make_hospital(tmp_path_factory.mktemp("hospital")), analyst="ana") as opened:
        yield opened


def after_widths(text: str) -> list[str]:
    """Return what follows each width in a text."""
    found = WIDTH.findall(re.sub(r"<[^>]+>", "\n", text))
    assert found, text
    return found


def shown_at_every_door(san: San, sql: str) -> dict[str, str]:
    answer, explained = san.query(sql, epsilon="0.5"), san.explain(sql, epsilon="0.5")
    terminal = Console(record=True, width=200, file=io.StringIO())
    print_answer(answer, terminal)
    page = shown_answer(answer, "/answers/1")
    batch = san.explain_batch([sql], epsilon="0.5")
    return {
        "text": str(answer).rsplit("0.95 intervals", 1)[0],
        "notebook": answer._repr_html_(),
        "command": terminal.export_text(),
        "page": "\n".join(cell for row in page.rows for cell in row),
        "explanation": "\n".join(shown_explanation(explained).expected),
        "batch": re.sub(r"; one by one ± [\d,.]+", "", str(batch)),
    }


@pytest.mark.slow
def test_every_width_is_said_to_be_of_noise_where_limits_may_cut(san: San) -> None:
    for door, text in shown_at_every_door(san, CUT).items():
        assert all("noise" in rest.split("\n")[0] for rest in after_widths(text)), (door, text)


def test_nothing_is_added_where_nothing_can_be_cut(san: San) -> None:
    """Nobody has two rows there. Explanations say it all the same: the declaration is not checked."""
    doors = shown_at_every_door(san, WHOLE)
    for door, text in doors.items():
        if door in ("explanation", "batch"):
            continue
        assert not any("noise" in rest.split("\n")[0] for rest in after_widths(text)), (door, text)


def test_a_picture_says_of_what_its_whiskers_are(san: San) -> None:
    pictures = [str(chart) for chart in charts_of(san.query(CUT, epsilon="0.5"))]
    assert pictures and all("intervals of the noise alone" in each for each in pictures)
