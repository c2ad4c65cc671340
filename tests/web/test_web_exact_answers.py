"""Answers without noise on the pages: as a table and as a chart, which has no intervals to show."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from exact.towns import REGIONS, write_people, write_policy
from support.browsing import browser, words
from support.policies import dataset
from support.serving import served

pytestmark = pytest.mark.usefixtures("in_this_process")

PUBLIC = '[table.codes]\npublic = true\n[table.people]\nprivacy_unit = "id"\nunique = true\n'


@pytest.mark.slow
def test_an_answer_from_public_tables_has_a_chart_without_intervals(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    codes = "SELECT i AS id, 'kind ' || i % 3 AS kind FROM range(10) t(i)"
    duckdb.sql(f"COPY ({codes}) TO '{data}/codes.parquet'")
    duckdb.sql(f"COPY (SELECT 1 AS id) TO '{data}/people.parquet'")
    policy = tmp_path / "policy.toml"
    policy.write_text(dataset("data/") + PUBLIC, encoding="utf-8")
    with served([policy]) as town, browser(town) as ana:
        page = ana.ask("SELECT kind, COUNT(*) AS n FROM codes GROUP BY kind ORDER BY kind")
        assert page.text.count("<rect") == 3 and 'stroke-width="1.5"' not in page.text
        assert "All 3 values as they are" in words(page) and "exact: public tables" in words(page)
        assert '<td class="number">4</td>' in page.text
        assert "<svg" not in ana.ask("SELECT kind, id FROM codes").text


@pytest.mark.slow
def test_an_exact_answer_has_a_chart_without_intervals(tmp_path: Path) -> None:
    write_people(tmp_path)
    policy = write_policy(tmp_path, REGIONS)
    sql = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"
    with served([policy]) as town, town.client() as program, browser(town) as ana:
        said = program.post("/v1/query", json={"sql": sql, "exact": True})
        assert said.status_code == 200, said.text
        page = ana.get("/history/1")
        assert page.text.count("<rect") == 4 and 'stroke-width="1.5"' not in page.text
        assert "All 4 values as they are" in words(page) and "exact, no noise" in words(page)


@pytest.mark.slow
def test_an_exact_answer_is_explained_and_asked_for_on_the_page(tmp_path: Path) -> None:
    write_people(tmp_path)
    policy = write_policy(tmp_path, REGIONS)
    sql = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"
    with served([policy]) as town, browser(town) as ana:
        explained = ana.send("/ask", sql=sql, exact="true", action="explain")
        assert "exact" in words(explained) and "Nothing has been read or spent" in words(explained)
        assert '<option value="true" selected>none: exact' in explained.text
        page = ana.ask(sql, exact="true", epsilon="")
        assert "exact, no noise" in words(page) and "All 4 values as they are" in words(page)
        refused = ana.ask(
            "SELECT COUNT(*) AS n FROM people WHERE region = 'north'", exact="true", epsilon=""
        )
        assert (
            "exact" in words(refused)
            and '<option value="true" selected>none: exact' in refused.text
        )
