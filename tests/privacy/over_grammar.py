"""A seeded generator of questions over statistics, and of statistics that read others' answers.

Every part is written by the grammar of `chains`, so that statistics are as nested as questions by
themselves are; what the examination looks at are the cells of each. A later stage is given rows that
were drawn, for its cells must add up whatever the answers before it were.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date, datetime, timedelta

from privacy.nested_grammar import NestedGrammar
from privacy.nested_values import Part
from sanql.compile import ReleasedAnswer
from sanql.policy import Table
from sanql.question import OverStatistics

OVERALL = {
    "integer": ["AVG(s.age) FROM people AS s", "MIN(s.n) FROM (SELECT city, COUNT(*) AS n FROM people "
                "GROUP BY city) AS s", "COUNT(*) / 3 FROM orders AS s WHERE s.urgent"],
    "real": ["AVG(s.amount) FROM orders AS s", "SUM(s.income) / COUNT(*) FROM people AS s"],
}  # fmt: skip
KINDS = {
    "text": "SELECT s.city FROM people AS s GROUP BY s.city HAVING COUNT(*) > 2",
    "integer": "SELECT s.code FROM people AS s GROUP BY s.code ORDER BY COUNT(*) DESC LIMIT 3",
}
AROUND = [
    "SELECT *, COUNT(*) OVER () AS c, SUM(t.n) OVER (ORDER BY t.n) AS s FROM ({}) AS t",
    "SELECT n, RANK() OVER (ORDER BY n DESC) AS r, n - LAG(n) OVER (ORDER BY n) AS d FROM ({}) AS t",
    "WITH t AS ({}) SELECT AVG(n) AS a, MAX(n) AS m FROM t WHERE n > 1",
    "SELECT a.n, b.n FROM ({}) AS a JOIN ({}) AS b ON a.n = b.n",
    "SELECT n FROM ({}) AS a UNION ALL SELECT n FROM ({}) AS b",
    "SELECT n, (SELECT MAX(p.size) FROM places AS p WHERE p.code = t.n) AS x FROM ({}) AS t",
    "SELECT n FROM (SELECT * FROM ({}) AS u ORDER BY n LIMIT 2) AS t",
    "SELECT n * 1.0 / (SELECT COUNT(*) FROM people AS s) AS share FROM ({}) AS t",
    "SELECT * FROM (SELECT n % 2 AS m, n FROM ({}) AS t) AS u PIVOT (SUM(n) FOR m IN (0, 1))",
    "SELECT d.k, t.n FROM generate_series(0, 4) AS d(k) LEFT JOIN ({}) AS t ON t.n = d.k",
]


class OverGrammar(NestedGrammar):
    """Writes questions over statistics, in one stage and in two."""

    def question(self) -> str:
        """Return a question over statistics; at times one statistic that reads others."""
        rng = self._rng
        if rng.random() < 0.4:
            return super().question()
        form = rng.choice(AROUND)
        parts = []
        for number in range(form.count("{}")):
            body = super().question()
            first, rest = ("SELECT ", body[7:]) if body.startswith("SELECT ") else ("", "")
            if not first:
                return body  # it begins with WITH, and has one statistic by itself
            parts.append(f"{first}COUNT(*) AS n, {rest}")
            del number
        return form.format(*parts)

    def _key(self, parts: list[Part]) -> str:
        """Return a key, at times one that compares with an overall statistic."""
        if self._rng.random() < 0.8:
            return super()._key(parts)
        kind = self._rng.choice(["integer", "real"])
        value = self._value(parts, kind)
        above = f"{value} > (SELECT {self._rng.choice(OVERALL[kind])})"
        return self._rng.choice([above, f"CASE WHEN {above} THEN 'more' ELSE 'less' END"])

    def _conditions(self, parts: list[Part], count: int, depth: int) -> list[str]:
        """Return conditions, among them some about overall statistics, at the top only."""
        found = super()._conditions(parts, count, depth)
        if depth == 2 and self._rng.random() < 0.5:
            kind = self._rng.choice(["integer", "real", "text"])
            value = self._value(parts, kind)
            if kind != "real" and self._rng.random() < 0.4:
                found.append(f"{value} IN ({KINDS[kind]})")
            elif kind != "text":
                found.append(f"{value} > (SELECT {self._rng.choice(OVERALL[kind])})")
        return found


def drawn_answers(query: OverStatistics, rng: random.Random) -> list[ReleasedAnswer]:
    """Return answers to statistics that nobody measured: cells must add up whatever they are."""
    return [ReleasedAnswer(table, _rows(table, rng)) for table in query.tables.values()]


def _rows(table: Table, rng: random.Random) -> tuple[tuple[object, ...], ...]:
    return tuple(
        tuple(_value(column.type, rng) for column in table.columns.values())
        for _ in range(rng.choice([0, 1, 1, 1, 2, 5]))
    )


def _value(kind: str, rng: random.Random) -> object:
    drawn: dict[str, Sequence[object]] = {
        "integer": [None, -3, 0, 1, 2, 7, 30, 2**62],
        "float": [None, -1.5, 0.0, -0.0, 0.25, 31.0, 1e300],
        "text": [None, "", "Rome", "Oslo", "a", "b"],
        "boolean": [None, True, False],
        "date": [None, date(2020, 1, 1) + timedelta(days=rng.randint(0, 900))],
        "timestamp": [None, datetime(2020, 1, 1, 3) + timedelta(hours=rng.randint(0, 9000))],
    }
    return rng.choice(drawn[kind])
