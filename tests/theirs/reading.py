"""A collection: tables, a policy over them, and questions, each with what is expected of it.

A file `NAME.sql` begins with the tables as DuckDB makes them; then there is one question a line. A
comment before a question says why it has no answer (`unanswerable: …`), or that it asks about noisy
statistics (`over statistics`); any other question is answerable as it is written.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

from sanql.errors import Refused
from sanql.policy import load
from sanql.san import San

HERE = Path(__file__).parent
NAMES = tuple(sorted(file.stem for file in HERE.glob("*.toml")))
UNANSWERABLE, STATISTICS = "unanswerable", "over statistics"


@dataclass(frozen=True)
class Asked:
    """A question, and what is said about it."""

    collection: str
    sql: str
    note: str

    @property
    def answerable(self) -> bool:
        """Whether an answer is there to be had."""
        return not self.note.startswith(UNANSWERABLE)

    @property
    def over_statistics(self) -> bool:
        """Whether it asks about noisy statistics."""
        return self.note == STATISTICS


def questions_of(name: str) -> list[Asked]:
    """Return the questions of a collection in their order."""
    found, note = [], ""
    for line in (HERE / f"{name}.sql").read_text(encoding="utf-8").splitlines():
        if line.startswith("--"):
            note = line.removeprefix("--").strip()
        elif line.strip() and not line.startswith(("CREATE ", "INSERT ")):
            found.append(Asked(name, line.rstrip().removesuffix(";"), note))
            note = ""
    return found


def opened(name: str, folder: Path) -> San:
    """Return San over the tables of a collection."""
    lines = (HERE / f"{name}.sql").read_text(encoding="utf-8").splitlines()
    with duckdb.connect(str(folder / f"{name}.duckdb")) as connection:
        for line in lines:
            if line.startswith(("CREATE ", "INSERT ")):
                connection.execute(line)
    shutil.copy(HERE / f"{name}.toml", folder)
    return San(load(folder / f"{name}.toml"))


def verdict(san: San, asked: Asked) -> Refused | None:
    """Return why a question is refused as it is written, or None where it would be answered."""
    try:
        san.explain(asked.sql) if "epsilon" in asked.sql else san.explain(asked.sql, epsilon=1)
    except Refused as refused:
        if refused.code == "public_only" and "epsilon" not in asked.sql:
            return None  # it is answered for nothing
        return refused
    return None


def share(verdicts: Mapping[Asked, object]) -> Counter[str]:
    """Return how many are answerable, and answered as written, with and without those over statistics."""
    counted: Counter[str] = Counter()
    for asked, refused in verdicts.items():
        if not asked.answerable:
            counted["refused rightly" if refused else "answered wrongly"] += 1
            continue
        kind = STATISTICS if asked.over_statistics else "plain"
        counted[f"{kind}, answerable"] += 1
        counted[f"{kind}, answered"] += not refused
    return counted
