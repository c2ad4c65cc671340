"""The pages about SQL are what the program's own tables and sources say."""

from __future__ import annotations

import re
import runpy
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sanql.errors import SanqlError
from sanql.parse.relations.windows import PICKS, PLACES
from sanql.parse.statistics.aggregates import AGGREGATES
from sanql.parse.statistics.spellings import SPELLINGS
from sanql.parse.statistics.unit_aggregates import NAMES
from sanql.teach.rules import RULES

DOCS = Path(__file__).parents[2] / "docs"
SOURCE = DOCS.parent / "src" / "sanql"


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return runpy.run_path(str(DOCS / "make_sql.py"))


@pytest.fixture(scope="module")
def refusals(made: dict[str, Any]) -> dict[str, Any]:
    """Return what each code is said with, as it is found in the source."""
    found: dict[str, Any] = made["refusals"]()
    return found


@pytest.mark.slow
def test_the_page_of_refusals_is_up_to_date(made: dict[str, Any]) -> None:
    assert (DOCS / "refusals.md").read_text(encoding="utf-8") == made["page"]()


def test_the_tables_in_the_page_about_sql_are_up_to_date(made: dict[str, Any]) -> None:
    text = (DOCS / "sql.md").read_text(encoding="utf-8")
    assert text == made["with_tables"](text)


@pytest.mark.slow
def test_every_code_that_a_question_can_meet_holds_exactly_one_rule(
    refusals: dict[str, Any],
) -> None:
    listed = Counter(code for rule in RULES for code in rule.codes)
    assert [code for code, times in listed.items() if times > 1] == []
    assert sorted(set(refusals) - set(listed)) == []
    assert sorted(set(listed) - set(refusals)) == []


def test_every_code_in_the_source_is_on_the_page_and_so_is_every_exit_code() -> None:
    """Found here by their shape alone: the first words of whatever makes an error of San's."""
    page = (DOCS / "refusals.md").read_text(encoding="utf-8")
    kinds = [SanqlError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    made_by = "|".join([*(kind.__name__ for kind in kinds), r"super\(\)\.__init__"])
    first = re.compile(rf'\b(?:{made_by})\(\s*"([a-z_]+)"(?: if .*? else "([a-z_]+)")?,')
    codes = {
        code
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE).parts[0] != "theory"
        for found in first.findall(path.read_text(encoding="utf-8"))
        for code in found
        if code
    }
    assert {"ledger_unreadable", "budget_exceeded", "unavailable", "file_unusable"} <= codes
    assert len(codes) > 150
    assert sorted(code for code in codes if f"`{code}`" not in page) == []
    for kind in kinds:
        assert f"### Exit code {kind.exit_code}: " in page and f"`{kind.__name__}`" in page


@pytest.mark.slow
def test_every_refusal_has_words_and_a_remedy(refusals: dict[str, Any]) -> None:
    for code, said in refusals.items():
        for message, remedy in said:
            assert message.strip(" …") and remedy.strip(), code


def test_every_statistic_that_is_understood_is_in_the_list() -> None:
    assert set(SPELLINGS) <= set(AGGREGATES)
    assert len(AGGREGATES) == len(set(AGGREGATES))


def test_what_subqueries_and_windows_know_is_on_the_page() -> None:
    text = (DOCS / "sql.md").read_text(encoding="utf-8")
    names = {**PLACES, **PICKS, **NAMES}.values()
    assert [name for name in names if name.upper() not in text] == []
