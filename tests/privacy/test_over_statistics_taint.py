"""SQL over answers never sees an exact number: noise marks every number that it may see.

The sampler adds a million million to every cell. Whatever reaches SQL around statistics, or a later
stage, must carry the mark; an exact number of three thousand people does not. No private table is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from ask.test_over_statistics import ONE_STAGE, opened
from sanql.answer import outer
from sanql.engines.leases import Lease
from sanql.kernel import Statement
from sanql.mechanisms import Candidates, Geometric, Noise
from support.samplers import SECRET

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]
MARK = 10**12
PUBLIC = {"towns"}
COUNTS = [
    sql
    for sql in ONE_STAGE
    if not any(
        part in sql  # averages; keys that are numbers; questions by themselves
        for part in ("AVG(c)", "AVG(price)", "AVG(age)", "DISTINCT", " tens", "PIVOT people")
    )
]
BY_COUNTS = [
    "SELECT COUNT(*) AS n FROM people WHERE age > (SELECT COUNT(*) FROM people WHERE age > 88)",
    "SELECT COUNT(*) AS n FROM people WHERE town IN "
    "(SELECT town FROM people GROUP BY town HAVING COUNT(*) > 500)",
    "SELECT p.town, COUNT(*) AS n FROM people AS p JOIN (SELECT town AS t, COUNT(*) AS a FROM people "
    "GROUP BY town) AS m ON p.town = m.t WHERE p.age > m.a GROUP BY p.town ORDER BY p.town",
]


@dataclass(frozen=True)
class MarkingSampler:
    """Adds a mark to every cell instead of noise."""

    def sample(self, noise: Noise, count: int) -> NDArray[np.int64]:
        """Return marks."""
        return np.full(count, MARK, dtype=np.int64)

    def choose(self, noise: Geometric, candidates: Candidates) -> int:
        """Return the first of the best."""
        return candidates.runs(0).starts[0]

    def secret(self) -> int:
        """Return the same key every time."""
        return SECRET


def unmarked(table: pa.Table) -> list[object]:
    """Return the numbers of a table that carry no mark: keys are texts here."""
    found: list[object] = []
    for column in table.columns:
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            found += [
                value for value in column.to_pylist() if value is not None and value < MARK / 2
            ]
    return found


@pytest.mark.parametrize("sql", [*COUNTS, *BY_COUNTS])
def test_no_exact_number_reaches_the_sql_around_statistics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    seen: list[Mapping[str, pa.Table]] = []
    texts: list[str] = []
    run = outer.run_on_tables

    def watching(
        text: str, parameters: list[object], tables: Mapping[str, pa.Table], seconds: float
    ) -> pa.Table:
        texts.append(text)
        seen.append(tables)
        return run(text, parameters, tables, seconds)

    released: list[object] = []
    stream = Lease.stream

    def noting(lease: Lease, statement: Statement, *rest: object) -> object:
        for table in statement.public:
            if "statistic" in table.sql:
                released.extend(value for column in table.parameters for value in column)  # type: ignore[attr-defined]
        return stream(lease, statement, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(outer, "run_on_tables", watching)
    monkeypatch.setattr(Lease, "stream", noting)
    with opened(tmp_path, MarkingSampler()) as san:  # type: ignore[arg-type]
        san.query(sql, epsilon=1)
    assert len(seen) == 1
    statistics = {name: table for name, table in seen[0].items() if name not in PUBLIC}
    assert all(name.startswith("statistic") for name in statistics)
    assert [number for table in statistics.values() for number in unmarked(table)] == []
    assert all(isinstance(value, str) or value > MARK / 2 for value in released)  # type: ignore[operator]
    assert "people" not in texts[0]
    assert "bought" not in texts[0]
