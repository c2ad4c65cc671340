"""The questions of `questions.sql`, and which of their columns are keys."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import sqlglot
from sqlglot import exp

TEXTS = Path(__file__).with_name("questions.sql")
HEAD = re.compile(r"-- (\w+): (.*)")


@dataclass(frozen=True)
class Question:
    """One question: of which shape, what it asks in words, its text, and how San refuses it, if so."""

    shape: str
    title: str
    sql: str
    refusal: str | None = None

    @property
    def keys(self) -> list[bool]:
        """Which columns are keys: those without an aggregate."""
        return [not column.find(exp.AggFunc) for column in self._tree().selects]

    @property
    def key_columns(self) -> list[str]:
        """The names of the keys."""
        selected = zip(self._tree().selects, self.keys, strict=True)
        return [column.alias_or_name for column, key in selected if key]

    @property
    def of_all_groups(self) -> str:
        """The text without HAVING and LIMIT, which tells the truth about every group."""
        tree = self._tree()
        for clause in ("having", "limit", "order"):
            tree.set(clause, None)
        return tree.sql("duckdb")

    def _tree(self) -> exp.Select:
        tree = sqlglot.parse_one(self.sql, dialect="duckdb")
        assert isinstance(tree, exp.Select)
        return tree


@cache
def questions() -> tuple[Question, ...]:
    """Return all questions, in order."""
    found = []
    _, *blocks = TEXTS.read_text(encoding="utf-8").strip().split("\n\n")
    for block in blocks:
        lines = block.splitlines()
        comments = [HEAD.fullmatch(line) for line in lines if line.startswith("--")]
        (shape, title), *refusals = [(match[1], match[2]) for match in comments if match]
        sql = "\n".join(line for line in lines if not line.startswith("--")).rstrip(";")
        found.append(Question(shape, title, sql, dict(refusals).get("refused")))
    return tuple(found)
