"""Questions and declarations with the digests that they have had since they were first named.

    python -m plan.golden            # in tests/: print the digests of now, as JSON

The committed file `golden_digests.json` has two digests of each. Those of form 1 were made by version 0.1.0
and are never made anew: ledgers out there hold such names. Where a question is planned differently on
purpose, its digests change, and whoever asks it again pays again: commit new ones of form 2, strike the
old one of form 1, and say so in the changelog.
"""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

import json
import sys
from datetime import date
from fractions import Fraction
from types import MappingProxyType

from sanql.parse.question import parse
from sanql.plan.plan import Plan, outline, price
from sanql.policy.exact.model import (
    Acceptance,
    BinaryColumn,
    BinomialSample,
    Cells,
    Exact,
    ExactHistogram,
    ExactValues,
    LatticePart,
    PoissonSample,
    UniformComponent,
)
from sanql.policy.model import (
    Column,
    ColumnUnit,
    ListedDomain,
    RowUnit,
    Table,
    TableDomain,
    ViaUnit,
)

_COLUMNS = {
    "age": Column("age", "integer", (0, 120)),
    "income": Column("income", "decimal", (Fraction(0), Fraction(1000)), Fraction(1, 100)),
    "rated": Column("rated", "integer", (-5, 50), total_bounds=(Fraction(-8), Fraction(60))),
    "city": Column("city", "text"),
    "sex": Column("sex", "text", domain=ListedDomain(("F", "M", "X"))),
    "region": Column("region", "text", domain=TableDomain("regions", "name")),
    "member": Column("member", "boolean"),
    "born": Column("born", "date", (date(2020, 1, 15), date(2020, 3, 2))),
    "found": Column("found", "integer", bounds_auto=True),
}
TABLES = {
    "people": Table("people", ColumnUnit("person"), _COLUMNS, 1, None, 1, key="person"),
    "visits": Table("visits", ColumnUnit("person"), _COLUMNS, 6, 4, 3, unique=False),
    "notes": Table(
        "notes",
        ViaUnit("visit", "stays", "id"),
        {"length": Column("length", "integer", (0, 9))},
        5,
        None,
        2,
    ),
    "stays": Table("stays", ColumnUnit("person"), {}, 4, None, 2, key="id"),
    "rows": Table("rows", RowUnit(), _COLUMNS, 1, None, 1),
    "regions": Table(
        "regions",
        None,
        {"name": Column("name", "text"), "size": Column("size", "integer", (0, 9))},
    ),
    "places": Table("places", None, MappingProxyType({"spot": Column("spot", "text")})),
}

QUESTIONS = {
    "a count": "SELECT COUNT(*) FROM people",
    "a count of rows": "SELECT COUNT(*) FROM rows WHERE age > 40",
    "listed keys": "SELECT sex, COUNT(*), SUM(age) FROM visits WHERE age > 3 GROUP BY sex",
    "keys of a table": "SELECT region, AVG(income) FROM visits GROUP BY region",
    "unknown keys": "SELECT city, COUNT(*) FROM visits GROUP BY city",
    "a period": "SELECT DATE_TRUNC('month', born), COUNT(*) FROM visits GROUP BY 1",
    "a sum with a total": "SELECT SUM(rated) FROM visits",
    "units and values": "SELECT COUNT(DISTINCT person), COUNT(DISTINCT age), COUNT(city) FROM visits",
    "moments": "SELECT VARIANCE(age), CORR(age, income) FROM people",
    "a median": "SELECT MEDIAN(age), QUANTILE_CONT(age, 0.9) FROM visits",
    "levels": "SELECT sex, member, COUNT(*) FROM visits GROUP BY CUBE (sex, member)",
    "levels of unknown keys": "SELECT city, sex, SUM(age) FROM visits GROUP BY ROLLUP (sex, city)",
    "a join": "SELECT p.sex, COUNT(*) FROM people p JOIN visits v ON p.person = v.person GROUP BY p.sex",
    "an outer join": "SELECT COUNT(v.age) FROM people p LEFT JOIN visits v ON p.person = v.person AND v.age > 3",
    "a chain": "SELECT SUM(length) FROM notes",
    "a public table": "SELECT r.size, COUNT(*) FROM visits v JOIN regions r ON v.region = r.name GROUP BY r.size",
    "a public table as found": "SELECT COUNT(*) FROM visits WHERE city IN (SELECT spot FROM places)",
    "a subquery": "SELECT AVG(n) FROM (SELECT person, sex, COUNT(*) AS n FROM visits WHERE age > 3 GROUP BY person, sex HAVING COUNT(*) < 9) x WHERE sex = 'F'",
    "rows of a subquery": "SELECT COUNT(*) FROM (SELECT DISTINCT person, city, age FROM visits) x WHERE x.age < 50",
    "somebody else's row": "SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person = p.person AND v.age > p.age)",
    "a value": "SELECT SUM(age) FROM people p WHERE age < (SELECT MAX(v.age) FROM visits v WHERE v.person = p.person)",
    "a window": "SELECT COUNT(*) FROM (SELECT age, ROW_NUMBER() OVER (PARTITION BY person ORDER BY born DESC NULLS LAST) AS n FROM visits) x WHERE n = 1",
    "rows of the question": "SELECT v.k, COUNT(*) FROM visits JOIN (VALUES (1, 'F'), (2, 'M')) AS v(k, s) ON sex = v.s GROUP BY v.k",
    "a frame": "SELECT SUM(x) FROM (SELECT SUM(age) OVER (PARTITION BY person ORDER BY rated ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS x FROM visits) t",
    "a condition on the unit": "SELECT COUNT(*) FROM visits WHERE person IN (1, 2)",
    "different values": "SELECT SUM(DISTINCT rated) FROM visits",
    "a union": "SELECT SUM(age) FROM (SELECT age FROM visits WHERE member UNION ALL SELECT age FROM people) x",
    "the other groups": "SELECT city, COUNT(*) FROM people GROUP BY city",
}  # fmt: skip
OTHERS = frozenset({"the other groups"})

_ACCEPT = Acceptance(Fraction(1, 10), Fraction(1, 10**9))
_CELLS = Cells((("region", ("N", "S")), ("year", (2020, 2021))))
_SCORE = ("score", "people", _CELLS, _ACCEPT, 10, "score")
DECLARATIONS: dict[str, Exact] = {
    "uniform": ExactValues(
        *_SCORE, UniformComponent(Fraction(1, 2), Fraction(50)), ("age",), Fraction(1), 0, 100, 0, None
    ),
    "lattice": ExactValues(
        *_SCORE, LatticePart(20, Fraction(1, 100)), (), Fraction(1, 2), -5, 5, 0, 4_000
    ),
    "binary": ExactValues(*_SCORE, BinaryColumn(Fraction(1, 9)), (), Fraction(1), 0, 1, 0, 900),
    "poisson": ExactHistogram("cells", "people", Cells(), _ACCEPT, 5, PoissonSample(), None),
    "binomial": ExactHistogram(
        "cells", "people", _CELLS, _ACCEPT, 5, BinomialSample(Fraction(1, 20)), 12
    ),
}  # fmt: skip


def planned(title: str, epsilon: str = "1", delta: str = "1/1000000") -> Plan:
    """Return the plan of one of the questions."""
    query = parse(QUESTIONS[title], TABLES).private
    outlined = outline(query, TABLES, "add-remove", other=title in OTHERS)
    return price(outlined, Fraction(epsilon), Fraction(delta))


def digests() -> dict[str, dict[str, str]]:
    """Return both digests of everything here, by title."""
    from sanql.policy.forms import declaration_digest, first_declaration_digest

    found = {}
    for title in QUESTIONS:
        plan = planned(title)
        found[title] = {"1": plan.first_digest("source"), "2": plan.digest("data, version 1")}
    for title, declared in DECLARATIONS.items():
        first = first_declaration_digest(declared)
        found[f"[exact] {title}"] = {"1": first, "2": declaration_digest(declared)}
    return found


if __name__ == "__main__":
    json.dump(digests(), sys.stdout, indent=1)
    sys.stdout.write("\n")
