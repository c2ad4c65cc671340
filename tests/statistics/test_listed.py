"""The list of statistics: every name belongs to one of them, and what is not listed is none."""

from __future__ import annotations

import ast
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

import sanql.statistics
from sanql.errors import Refused
from sanql.parse.question import parse
from sanql.parse.statistics.aggregates import AGGREGATES
from sanql.parse.statistics.nodes import DEDICATED
from sanql.plan.plan import outline, price
from sanql.question.expressions import Aggregate
from sanql.statistics.count import COUNTED
from sanql.statistics.listed import BY_SPELLING, STATISTICS, statistic_of
from sanql.statistics.statistic import Statistic
from support.by_hand import TABLES

HOME = Path(sanql.statistics.__file__).parent
ASKED = [
    "COUNT(*)", "COUNT(age)", "COUNT(DISTINCT city)", "SUM(age)", "AVG(income)", "VAR_POP(age)",
    "GEOMEAN(age + 1)", "MODE(sex)", "ENTROPY(sex)",
    "VAR_SAMP(age)", "STDDEV_POP(age)", "STDDEV(age)", "COVAR_POP(age, score)",
    "COVAR_SAMP(age, score)", "CORR(age, score)", "MEDIAN(age)", "QUANTILE_DISC(age, 0.9)",
    "MIN(age)", "MAX(age)",
]  # fmt: skip


def test_no_name_is_that_of_two_statistics() -> None:
    names = [name for each in STATISTICS for name in each.spellings]
    assert [name for name, times in Counter(names).items() if times > 1] == []
    assert all(name == name.upper() for name in names)


def test_every_statistic_that_is_defined_is_listed() -> None:
    defined = {
        node.name
        for path in HOME.glob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id == "Statistic" for base in node.bases)
    }
    assert defined == {type(each).__name__ for each in STATISTICS}


def test_what_is_not_listed_is_never_taken_for_another() -> None:
    with pytest.raises(AssertionError, match="'skewness' is not one of those listed"):
        statistic_of(Aggregate("skewness", (), COUNTED, "SKEWNESS(x)"))


def test_every_name_is_found_in_the_grammar_or_made_a_statistic_by_name() -> None:
    assert set(DEDICATED) <= set(AGGREGATES)
    assert set(DEDICATED.values()) <= set(STATISTICS)
    assert {"AVG", "STDDEV_SAMP", "CORR", "MAX"} <= BY_SPELLING.keys()


def test_every_statistic_has_a_row_in_the_manual_or_shares_one() -> None:
    files = {type(each).__module__ for each in STATISTICS}
    assert files == {type(each).__module__ for each in STATISTICS if each.written and each.found}


@pytest.mark.parametrize("text", ASKED)
def test_an_estimate_says_what_it_rests_on_and_how_wide_it_will_be(text: str) -> None:
    query = parse(f"SELECT {text} FROM rows", TABLES).query
    (level,) = price(outline(query, TABLES, "add-remove"), Fraction(1), Fraction(0)).levels
    (estimate,) = level.estimates
    assert isinstance(statistic_of(level.query.aggregates[0]), Statistic)
    assert estimate.measurements and max(estimate.measurements) < len(level.measurements)
    assert "measurement" in estimate.in_words()
    assert estimate.half_width(level.planned_noise, Fraction(9, 10), 1000) > 0


@pytest.mark.parametrize(
    ("typed", "meant"), [("ENTROPI(sex)", "ENTROPY"), ("GEO_MEAN(age)", "GEOMEAN")]
)
def test_a_name_that_is_nearly_that_of_a_statistic_is_shown_it(typed: str, meant: str) -> None:
    with pytest.raises(Refused) as refused:
        parse(f"SELECT {typed} FROM rows", TABLES)
    assert f"did you mean {meant}?" in refused.value.remedy
