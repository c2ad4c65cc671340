"""A seeded generator of what engines get wrong: subqueries over public reals, windows, odd predicates.

It writes questions over `mixed_world` that lean on the order of additions, on which of two equal values
is taken, on statistics of columns, and on the query an aggregate belongs to.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import lru_cache

import duckdb

from privacy.mixed_world import BIGS, REALS
from support.scalar_expressions import EXPRESSIONS, renamed

NUMBERS = ["k", "v", "age", "big", "x", "y", "c"]
BOUNDED = ["k", "v", "age", "y", "c"]
REAL = ["x", "y", "c"]
THRESHOLDS = [
    "0.6", "0.6000000000000001", "0.3", "0.30000000000000004", "0.2", "0.19999999999999998", "0.1",
    "0.0", "1.0", "0.7", "0.09999999999999999", "0", "1", "1e16", "40", "0.5",
]  # fmt: skip
COMPARED = ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]
UNARY = [
    "CBRT", "SQRT", "LN", "LOG10", "LOG2", "EXP", "SIN", "COS", "ATAN", "TANH", "ASINH", "FLOOR", "CEIL",
    "ROUND", "TRUNC", "ABS", "SIGN", "DEGREES", "RADIANS", "SINH", "CBRT", "CBRT", "CBRT",
]  # fmt: skip
NAMES = {
    "a": "age", "b": "big", "r": "c", "f": "y", "u": "x", "d": "day", "e": "day", "s": "moment",
    "z": "moment", "ok": "ok", "w": "nm", "v": "sex",
}  # fmt: skip
CONSTANT_TEXTS = ["'abc'", "'abd'", "'xyz'", "'a'", "''", "'old'", "'-0.0'", "'0.0'"]
READ = re.compile(r"\bt\.(\w+)")
SPREADS = ["VAR_POP", "STDDEV", "VAR_SAMP", "STDDEV_POP"]
OTHERS = ["GEOMEAN(GREATEST(0.5, {x}))", "MODE({x} > 1)", "ENTROPY({x} > 1)"]


@lru_cache(maxsize=1)
def near() -> list[tuple[str, str, str]]:
    """Return functions of one number with a value they take, exactly: (function, column, value)."""
    found = []
    engine = duckdb.connect()  # not the one that all tests of a process share
    for function in UNARY:
        for column, values in (("big", [*BIGS[:1] * 8, *BIGS]), ("x", REALS)):
            for value in values:
                try:
                    asked = f"SELECT {function}(?::{'BIGINT' if column == 'big' else 'DOUBLE'})"
                    ((result,),) = engine.execute(asked, [value]).fetchall()
                except duckdb.Error:
                    continue
                if result is not None and abs(result) < 1e15:
                    found.append((function, column, repr(result)))
    return found


class MixedGrammar:
    """Writes questions from a seeded random number generator."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def question(self) -> str:
        """Return one SELECT with an aggregate."""
        rng = self._rng
        forms = (
            [self._of_rows] * 5 + [self._of_units] * 2 + [self._of_windows] * 2 + [self._joined] * 2
        )
        forms.append(self._held)
        form = rng.choice(forms)
        table = rng.choice(["people", "people", "visits", "readings"])
        if form in (self._of_units, self._of_windows, self._held) and table == "readings":
            table = "visits"
        conditions = [self.condition("t", table) for _ in range(rng.choice([0, 1, 1, 1, 1, 2]))]
        keys = [self._key("t") for _ in range(rng.choice([0, 0, 0, 0, 1, 1, 2]))]
        statistics = [self._statistic("t", table) for _ in range(rng.choice([1, 1, 1, 2]))]
        listed = [f"{text} AS o{i}" for i, text in enumerate([*keys, *statistics])]
        source, more = form(table, {*READ.findall(" ".join([*listed, *conditions]))})
        where = f" WHERE {' AND '.join([*more, *conditions])}" if more or conditions else ""
        text = f"SELECT {', '.join(listed)} FROM {source}{where}"
        if keys:
            places = ", ".join(str(i + 1) for i in range(len(keys)))
            text += f" GROUP BY {f'ROLLUP ({places})' if rng.random() < 0.15 else places}"
        return text

    def groups_asked(self) -> int | None:
        """Return a max_groups_contributed, or none."""
        return self._rng.choice([None, None, None, 1, 2])

    # ---- FROM: its text, in which `t` has the columns read, and conditions of its own

    def _of_rows(self, table: str, read: set[str]) -> tuple[str, list[str]]:
        return f"{table} t", []

    def _joined(self, table: str, read: set[str]) -> tuple[str, list[str]]:
        rng = self._rng
        kind = rng.choice(["JOIN", "JOIN", "LEFT JOIN"])
        public = rng.choice(
            [
                f"{table} t {kind} places z ON z.k = t.k",
                f"{table} t {kind} prices z ON {rng.choice(['z.k = t.k', 'z.x = t.x', 'z.w = t.nm'])}",
                f"{table} t {kind} (SELECT k, {self._sum('p')} AS n, MAX(w) AS w, AVG(x) AS x"
                f" FROM prices p{self._maybe_where('p')} GROUP BY k) z ON z.k = t.k",
                f"{table} t {kind} (SELECT k, w, n, SUM(x) OVER (PARTITION BY k ORDER BY n) AS x"
                f" FROM prices) z ON z.k = t.k",
            ]
        )
        conditions = [f"z.x {rng.choice(COMPARED)} {rng.choice(['t.x', *THRESHOLDS])}"]
        if table != "readings" and rng.random() < 0.3:
            other = rng.choice(["people", "visits"])
            return f"{table} t {kind} {other} z ON z.person = t.person", conditions
        return public, conditions

    def _of_units(self, table: str, read: set[str]) -> tuple[str, list[str]]:
        rng = self._rng
        columns = []
        for name in sorted(read - {"person"}):
            value = (
                f"BOOL_OR(t.{name})" if name == "ok" else f"{rng.choice(['MIN', 'MAX'])}(t.{name})"
            )
            if name in ("v", "k", "y") and rng.random() < 0.5:
                value = f"GREATEST(0, LEAST(8, {self._sum('t')}))"
            columns.append(f"{value} AS {name}")
        text = f"SELECT {', '.join(['t.person', *columns])} FROM {table} t"
        if rng.random() < 0.6:
            text += f" WHERE {self.condition('t', table)}"
        text += f" GROUP BY t.person{rng.choice(['', '', ', t.k, t.nm'])}"
        if rng.random() < 0.4:
            text += f" HAVING {self._sum('t')} {rng.choice(COMPARED)} {rng.choice(THRESHOLDS)}"
        return f"({text}) t", []

    def _of_windows(self, table: str, read: set[str]) -> tuple[str, list[str]]:
        rng = self._rng
        first, second = self._window(), self._window()
        text = f"SELECT t.*, {first} AS w1, {second} AS w2 FROM {table} t"
        if rng.random() < 0.2:
            text += f" WHERE {self.condition('t', table)}"
        condition = rng.choice(
            ["t.w1 = t.w2", "t.w1 > t.w2", "t.w1 = 1 AND t.w2 = 1", "t.w1 + t.w2 = 3"]
        )
        return f"({text}) t", [condition]

    def _held(self, table: str, read: set[str]) -> tuple[str, list[str]]:
        """Return rows of which WHERE leaves those whose values can be computed with."""
        rng = self._rng
        value = rng.choice(["o.big", "o.big + 1", "CASE WHEN o.ok THEN o.big ELSE 1 END", "-o.big"])
        ends = rng.choice(
            ["BETWEEN 0 AND 200", "<= 27 AND s.n >= -1", "IN (1, 7, 27)", "> 0 AND 99 > s.n"]
        )
        made = rng.choice(
            [
                "s.n + 9223372036854775000", "-s.n - 9223372036854775000", "s.n * 9000000000000000",
                "DATEADD('month', s.n, DATE '2020-01-01')", "DATEADD('day', GREATEST(s.n, 0), t.day)",
            ]
        )  # fmt: skip
        joined = rng.choice(["FULL JOIN", "FULL JOIN", "LEFT JOIN", "JOIN", "RIGHT JOIN"])
        other = f"(SELECT o.person, {value} AS n FROM {rng.choice(['people', 'visits'])} o)"
        text = (
            f"SELECT t.*, {made} AS h FROM {table} t {joined} {other} s ON s.person = t.person"
            f" WHERE s.n {ends}"
        )
        return f"({text}) t", ["t.h IS NOT NULL"]

    def _window(self) -> str:
        rng = self._rng
        order = f"{rng.choice([*NUMBERS, 'nm', 'day'])}{rng.choice(['', ' DESC'])}"
        over = f"OVER (PARTITION BY t.person{rng.choice(['', '', ', t.k'])} ORDER BY t.{order})"
        value = rng.choice(["k", "v", "age"])
        return rng.choice(
            [
                f"ROW_NUMBER() {over}",
                f"ROW_NUMBER() {over}",
                f"RANK() {over}",
                f"LAG(t.{value}) {over}",
                f"LEAD(t.{value}) {over}",
                f"FIRST_VALUE(t.{value}) {over}",
                f"LAST_VALUE(t.{value}) {over}",
                f"SUM(t.{value}) {over}",
                f"COUNT(*) {over}",
            ]
        )

    # ---- SELECT

    def _key(self, row: str) -> str:
        rng = self._rng
        return rng.choice(
            [
                f"{row}.sex", f"{row}.sex", f"{row}.k", f"{row}.nm", f"{row}.ok",
                f"CASE WHEN {self._simple(row)} THEN 'a' ELSE 'b' END", f"ROUND({row}.x, 1)",
                f"NULLIF({row}.nm, 'abc')", f"CAST({row}.k AS VARCHAR)", f"{row}.big",
            ]
        )  # fmt: skip

    def _statistic(self, row: str, table: str) -> str:
        rng = self._rng
        value = rng.choice([f"{row}.{rng.choice(BOUNDED)}", self._bounded(row, table)])
        number = rng.random()
        if number < 0.35:
            return "COUNT(*)"
        if number < 0.5:
            return f"COUNT({self._any(row, table)})"
        if number < 0.65:
            return f"{rng.choice(['SUM', 'AVG'])}({value})"
        if number < 0.8:
            return (
                f"SUM(CASE WHEN {self.condition(row, table)} THEN {row}.{rng.choice(BOUNDED)} END)"
            )
        if number < 0.85:
            return f"COUNT(*) FILTER (WHERE {self.condition(row, table)})"
        if number < 0.9:
            return f"COUNT(DISTINCT {self._any(row, table)})"
        if number < 0.93:
            return f"{rng.choice(['MEDIAN', 'MAX'])}({row}.{rng.choice(BOUNDED)})"
        if number < 0.95:
            return f"{rng.choice(SPREADS)}({value})"
        if number < 0.97:
            return rng.choice(OTHERS).format(x=value, row=row)
        return f"{rng.choice(['CORR', 'COVAR_POP'])}({row}.y, {value})"

    def _bounded(self, row: str, table: str) -> str:
        """Return a number held within bounds, whatever it is made of."""
        low, high = self._rng.choice([("0", "9"), ("-1", "1"), ("0.0", "0.5")])
        return f"GREATEST({low}, LEAST({high}, {self._number(row, table)}))"

    def _number(self, row: str, table: str) -> str:
        rng = self._rng
        return rng.choice(
            [
                f"{row}.{rng.choice(NUMBERS)}", self._public_value(row), self._public_value(row),
                f"{rng.choice(UNARY)}({row}.{rng.choice(NUMBERS)})", self._own_value(row, table),
            ]
        )  # fmt: skip

    def _any(self, row: str, table: str) -> str:
        rng = self._rng
        if rng.random() < 0.4:
            return self._scalar(row)
        return rng.choice([self._number(row, table), f"{row}.nm", f"{row}.day", self._text(row)])

    def _scalar(self, row: str) -> str:
        names = {name: f"{row}.{column}" for name, column in NAMES.items()}
        return f"({renamed(self._rng.choice(list(EXPRESSIONS)), names)})"

    # ---- conditions

    def condition(self, row: str, table: str) -> str:
        """Return a condition on a row, its unit's other rows or public ones."""
        rng = self._rng
        number = rng.random()
        if number < 0.5:
            text = self._simple(row)
        elif number < 0.85:
            text = self._public_condition(row)
        else:
            text = f"{self._own_value(row, table)} {rng.choice(COMPARED)} {rng.choice(THRESHOLDS)}"
        form = rng.random()
        if form < 0.06:
            return f"NOT ({text})"
        if form < 0.12:
            return f"({text} {rng.choice(['OR', 'AND'])} {self._simple(row)})"
        if form < 0.15:
            return f"({text}) IS {rng.choice(['NULL', 'NOT NULL', 'TRUE', 'NOT TRUE', 'FALSE'])}"
        return text

    def _simple(self, row: str) -> str:
        """Return a condition without a subquery."""
        rng = self._rng
        number = rng.random()
        if number < 0.4:
            return self._about_text(self._text(row))
        if number < 0.65:
            function, column, value = rng.choice(near())
            return f"{function}({row}.{column}) {rng.choice(COMPARED[2:6] * 2 + COMPARED)} {value}"
        if number < 0.8:
            column = rng.choice(NUMBERS)
            return f"{row}.{column} {rng.choice(COMPARED)} {rng.choice([*THRESHOLDS, f'{row}.x'])}"
        if number < 0.9:
            return f"{self._scalar(row)} IS {rng.choice(['', 'NOT '])}NULL"
        return rng.choice(
            [
                self._telling(row),
                self._telling(row),
                f"{row}.day BETWEEN DATE '2020-01-01' AND DATE '2020-02-29'",
                f"{row}.ok",
                f"NULLIF({row}.ok, TRUE)",
                f"COALESCE({row}.ok, {row}.age > 40)",
            ]
        )

    def _telling(self, row: str) -> str:
        """Return a condition that may tell values apart which compare as equal."""
        rng = self._rng
        column = f"{row}.{rng.choice(['x', 'x', 'y'])}"
        return rng.choice(
            [
                f"CAST({column} AS VARCHAR) {rng.choice(['=', '<>'])} {rng.choice(CONSTANT_TEXTS[-2:])}",
                f"CAST({column} AS VARCHAR) LIKE '-%'",
                f"ATAN2({column}, -1) > 0",
                f"1 / {column} > 0",
                f"POWER({column}, -1) > 0",
                f"CONCAT({column}, '') = '-0.0'",
            ]
        )

    def _text(self, row: str) -> str:
        rng = self._rng
        constant = rng.choice(CONSTANT_TEXTS)
        age = (
            f"{row}.age {rng.choice(['>', '>=', '<', '='])} {rng.choice(['40', '100', '-1', '30'])}"
        )
        return rng.choice(
            [
                f"{row}.nm", f"NULLIF({row}.nm, {constant})", f"NULLIF({row}.nm, {constant})",
                f"CASE WHEN {age} THEN {constant} END", f"CASE WHEN {age} THEN {row}.nm END",
                f"CASE WHEN {row}.nm <> {constant} THEN {row}.nm END",
                f"LOWER(NULLIF({row}.nm, {constant}))",
                f"COALESCE({row}.nm, {constant})", f"CAST({row}.x AS VARCHAR)", f"LEFT({row}.nm, 2)",
                f"CASE WHEN {age} THEN {constant} ELSE {row}.nm END", f"{row}.nm || {constant}",
            ]
        )  # fmt: skip

    def _about_text(self, text: str) -> str:
        rng = self._rng
        constant = rng.choice(CONSTANT_TEXTS)
        start = rng.choice(["a", "ab", "abc", "x", ""])
        return rng.choice(
            [
                f"{text} {rng.choice(['LIKE', 'NOT LIKE', 'ILIKE'])} '{start}%'",
                f"{text} LIKE '%c'", f"STARTS_WITH({text}, '{start}')", f"ENDS_WITH({text}, 'c')",
                f"REGEXP_MATCHES({text}, '^{start}')", f"CONTAINS({text}, '{start}')",
                f"{text} {rng.choice(['', 'NOT '])}IN ('old', 'abc', 'x')", f"{text} IN ('abc', 'abd')",
                f"{text} {rng.choice(COMPARED)} {constant}", f"{text} BETWEEN 'abc' AND 'b'",
                f"{text} IS {rng.choice(['', 'NOT '])}NULL", f"LENGTH({text}) = 3",
            ]
        )  # fmt: skip

    # ---- subqueries

    def _maybe_where(self, public: str) -> str:
        rng = self._rng
        if rng.random() < 0.7:
            return ""
        return f" WHERE {rng.choice([f'{public}.n > 1', self._about_text(f'{public}.w')])}"

    def _sum(self, alias: str) -> str:
        rng = self._rng
        of = rng.choice(["x", "x", "y", "x * 2", "x + 0.1"])
        return f"{rng.choice(['SUM', 'SUM', 'AVG', 'MAX', 'COUNT'])}({alias}.{of})"

    def _inner_number(self, row: str) -> str:
        rng = self._rng
        asking = rng.choice([f"{row}.y", f"{row}.v", "p.x", "p.x", "p.y"])
        return rng.choice(
            [
                "p.x", "p.x", "p.x", "p.q", "p.y", "p.n", "p.x * 3", "p.x * p.y", "ABS(p.x)",
                f"p.x * ({row}.v + 1)", f"p.x + {row}.y", f"p.n * {row}.v", asking,
                f"CASE WHEN {self._about_text('p.w')} THEN p.x END", f"CASE WHEN {row}.ok THEN p.x END",
            ]
        )  # fmt: skip

    def _linked(self, row: str, alias: str = "p") -> str:
        rng = self._rng
        links = [f"{alias}.k = {row}.k"] * 5
        links += [f"{alias}.k < {row}.k", f"{alias}.x = {row}.x", f"{alias}.x >= {row}.x"]
        found = [rng.choice(links)] if rng.random() < 0.85 else []
        if rng.random() < 0.35:
            found.append(rng.choice([self._simple, self._telling])(row))
        if rng.random() < 0.15:
            found.append(f"{alias}.n {rng.choice(COMPARED[:6])} {rng.choice(['1', f'{row}.v'])}")
        return f" WHERE {' AND '.join(found)}" if found else ""

    def _public_value(self, row: str) -> str:
        rng = self._rng
        aggregate = rng.choice(["SUM", "SUM", "SUM", "AVG", "AVG", "MIN", "MAX", "COUNT"])
        if rng.random() < 0.15:
            inner = f"SELECT p.k, {aggregate}(p.x) AS s FROM prices p GROUP BY p.k"
            return (
                f"(SELECT {rng.choice(['MAX', 'SUM'])}(g.s) FROM ({inner}) g WHERE g.k = {row}.k)"
            )
        if rng.random() < 0.1:
            return f"(SELECT {aggregate}(q.x) FROM places q{self._linked(row, 'q')})"
        return f"(SELECT {aggregate}({self._inner_number(row)}) FROM prices p{self._linked(row)})"

    def _public_condition(self, row: str) -> str:
        rng = self._rng
        compared = f"{rng.choice(COMPARED)} {rng.choice(THRESHOLDS)}"
        no = rng.choice(["", "", "NOT "])
        otherwise = f"THEN {row}.ok ELSE {row}.age > 40 END"
        having = f"HAVING {rng.choice(['SUM', 'AVG'])}(p.x) {compared}"
        forms: list[Callable[[], str]] = [
            lambda: f"{self._public_value(row)} {compared}",
            lambda: f"{self._public_value(row)} {compared}",
            lambda: f"{no}EXISTS (SELECT 1 FROM prices p{self._linked(row)})",
            lambda: f"{no}EXISTS (SELECT 1 FROM prices p{self._linked(row)})",
            lambda: (
                f"{no}EXISTS (SELECT 1 FROM prices p WHERE p.k = {row}.k GROUP BY p.w {having})"
            ),
            lambda: f"{row}.k {no}IN (SELECT p.k FROM prices p GROUP BY p.k {having})",
            lambda: (
                f"{row}.{rng.choice(REAL)} {no}IN (SELECT p.x FROM prices p{self._linked(row)})"
            ),
            lambda: f"{row}.x {no}IN (SELECT SUM(p.x) FROM prices p GROUP BY p.k)",
            lambda: f"{row}.{rng.choice(REAL)} {rng.choice(COMPARED)} {self._public_value(row)}",
            lambda: f"CASE WHEN {self._public_value(row)} {compared} {otherwise}",
            lambda: f"{row}.nm {no}IN (SELECT p.w FROM prices p{self._linked(row)})",
        ]
        return rng.choice(forms)()

    def _own_value(self, row: str, table: str) -> str:
        """Return a number over the other rows of the same unit (of a row unit: over public ones)."""
        rng = self._rng
        if table == "readings":
            return self._public_value(row)
        other = rng.choice(["people", "visits"])
        where = f"WHERE o.person = {row}.person"
        if rng.random() < 0.4:
            where += f" AND {rng.choice([self._simple('o'), self._simple(row), f'o.x = {row}.x'])}"
        of = rng.choice([*["o.v", "o.k", "o.y", "o.c", "o.x"] * 3, f"{row}.v", f"{row}.y"])
        return f"(SELECT {rng.choice(['SUM', 'COUNT', 'MAX', 'AVG'])}({of}) FROM {other} o {where})"
