"""Fixture files: SQL that reads as SQL, with what is expected of each question in comments.

Blank lines separate cases. The comment above a question says what it asks; below it come

    --duckdb>  the same question as DuckDB must be asked, where it cannot run the analyst's text
    --but>     how the answer differs from DuckDB's on purpose (a rule of `agreement.py`)
    --plan>    what is read, protected, bounded and measured
    --code>    of a question that is refused: the refusal's code
    --remedy>  … and the question that its remedy shows, where it shows one
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
MARK = re.compile(r"--(duckdb|but|plan|code|remedy)> ?(.*)")


@dataclass(frozen=True)
class Case:
    """One question and what is expected of it."""

    shape: str
    topic: str
    line: int
    title: str
    sql: str
    duckdb: str
    differences: tuple[str, ...]
    plan: tuple[str, ...]
    code: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.shape}/{self.topic}:{self.line} {self.title}"


def cases(refused: bool) -> Iterator[Case]:
    """Yield every case of every shape: questions that are answered, or those that are refused."""
    for path in sorted(FOLDER.glob("*/*.sql")):
        for case in read(path):
            if bool(case.code) == refused:
                yield case


def read(path: Path) -> Iterator[Case]:
    """Yield the cases of one file."""
    line = 1
    for block in re.split(r"(\n{2,})", path.read_text(encoding="utf-8")):
        if block.strip():
            case = _case(path, line, block.splitlines())
            if case is not None:
                yield case
        line += block.count("\n")


def _case(path: Path, line: int, lines: list[str]) -> Case | None:
    """Return the case of a block, or None of one that is only a comment."""
    marked: dict[str, list[str]] = {}
    title: list[str] = []
    sql: list[str] = []
    for each in lines:
        mark = MARK.match(each)
        if mark is not None:
            marked.setdefault(mark[1], []).append(mark[2])
        elif not sql and each.startswith("-- "):
            title.append(each[3:])
        else:
            sql.append(each)
    if not sql:
        return None
    return Case(
        shape=path.parent.name,
        topic=path.stem,
        line=line,
        title=" ".join(title),
        sql="\n".join(sql).strip(),
        duckdb="\n".join(marked.get("duckdb", [])),
        differences=tuple(marked.get("but", [])),
        plan=tuple(marked.get("plan", [])),
        code="".join(marked.get("code", [])),
        remedy="\n".join(marked.get("remedy", [])),
    )
