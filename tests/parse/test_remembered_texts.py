"""Texts of statistics that are remembered, and words cut by what is made once, are as if made anew."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.statistics.aggregates import AGGREGATES, _text_of, _text_of_column
from sanql.parse.text.grammar import Dialect, words_of
from sanql.parse.text.guard import tokens_within_limits
from sanql.parse.text.select import syntax_tree

OPERANDS = ["*", "age", "Age", '"age"', '"a b"', '"select"', "p.age", "age + 1", "DISTINCT age", ""]
NAMES = ["COUNT", "SUM", "AVG", "MIN", "MAX", "STDDEV", "MEDIAN", "count", "MODE", "ENTROPY"]


@pytest.mark.parametrize("operand", OPERANDS)
def test_a_text_is_what_the_grammar_writes(operand: str) -> None:
    for name in NAMES * 2:  # the second time from memory
        sql = f"SELECT {name}({operand}) FROM people"
        try:
            tree = syntax_tree(tokens_within_limits(sql), sql)
        except Refused:
            continue
        assert tree is not None
        for node in tree.find_all(*AGGREGATES, exp.Anonymous):
            assert _text_of(node) == node.sql(dialect="duckdb", comments=False)


def test_names_that_differ_by_case_or_quotes_differ_in_their_texts() -> None:
    kinds = [("age", False), ("Age", False), ("age", True), None]
    texts = {_text_of_column(exp.Sum, False, name) for name in kinds}  # type: ignore[arg-type]
    assert texts == {"SUM(age)", "SUM(Age)", 'SUM("age")', "SUM(*)"}
    assert 0 < _text_of_column.cache_info().maxsize <= 1024


TEXTS = [
    "SELECT COUNT(*) FROM people WHERE income > 1",
    "SELECT 'open",
    "SELECT /* a */ $1, ?::DATE, $$x$$ -- end",
    "SELECT 1;\nSELECT 2",
    "",
]


def as_if_alone(sql: str) -> object:
    try:
        return repr(Dialect().tokenize(sql))
    except Exception as fault:
        return type(fault)


def as_kept(sql: str) -> object:
    try:
        return repr(words_of(sql))
    except Exception as fault:
        return type(fault)


def test_a_text_is_cut_the_same_whatever_came_before_it_and_in_other_threads() -> None:
    alone = {sql: as_if_alone(sql) for sql in TEXTS}
    order = [first for sql in TEXTS for first in (sql, *TEXTS)]
    assert [as_kept(sql) for sql in order] == [alone[sql] for sql in order]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(as_kept, order * 4)) == [alone[sql] for sql in order] * 4
