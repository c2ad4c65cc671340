"""`sanql docs`: every page that a refusal names can be read where there is no browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sanql.cli.docs import find_pages, folder_of_pages
from support.commands import run

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "sanql").rglob("*.py"))

pytestmark = pytest.mark.usefixtures("in_this_process")


def test_every_page_is_listed_with_its_title() -> None:
    said = run("docs").stdout
    listed = {line.split()[0]: line[24:].strip() for line in said.splitlines()}
    assert set(listed) == set(find_pages(folder_of_pages()))
    assert listed["policy"] and listed["theory/4_definitions"]


@pytest.mark.parametrize("name", ["sql", "docs/sql.md", "sql.md"])
def test_a_page_is_shown_as_it_is_written_by_each_of_its_names(name: str) -> None:
    page = (ROOT / "docs" / "sql.md").read_text(encoding="utf-8")
    assert run("docs", name).stdout.strip() == page.strip()


def test_a_heading_is_shown_with_what_stands_below_it_and_nothing_else() -> None:
    shown = run("docs", "python#data-frames").stdout
    assert shown.startswith("## Data frames\n")
    assert not [line for line in shown.splitlines()[1:] if line.startswith("## ")]


def test_no_page_and_no_heading_are_said_with_what_there_is() -> None:
    assert "`sanql docs` lists them" in run("docs", "nowhere").stderr
    missing = run("docs", "python#nowhere")
    assert missing.exit_code == 2
    assert "data-frames" in missing.stderr


def test_every_page_and_heading_that_the_code_names_is_there() -> None:
    named = {
        found
        for path in SOURCES
        for found in re.findall(r"docs/[\w/]+\.md(?:#[\w-]+)?", path.read_text(encoding="utf-8"))
    }
    assert "docs/sql.md" in named
    assert [name for name in sorted(named) if run("docs", name).exit_code] == []
