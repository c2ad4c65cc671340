"""The pages about functions are what the program's own tables say."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from sanql.functions.allowed import ALLOWED, NAMES
from sanql.parse.expressions.operators import CALLS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return runpy.run_path(str(DOCS / "make_functions.py"))


def test_the_page_of_functions_is_up_to_date(made: dict[str, Any]) -> None:
    assert (DOCS / "functions.md").read_text(encoding="utf-8") == made["page"]()


def test_the_list_of_functions_is_up_to_date(made: dict[str, Any]) -> None:
    text = (DOCS / "sql.md").read_text(encoding="utf-8")
    assert text == made["with_list"](text)


def test_every_name_that_is_understood_is_on_the_page(made: dict[str, Any]) -> None:
    page = made["page"]()
    assert [name for name in {*NAMES, *CALLS} if name not in page] == []


def test_every_entry_says_why_it_is_total_and_what_is_proved() -> None:
    entries = [entry for kind in ALLOWED.values() for entry in kind]
    assert all(entry.written and entry.total and entry.bounds for entry in entries)
    assert len(NAMES) >= 80
