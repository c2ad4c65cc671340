"""A seeded generator of SQL: every operator and clause an analyst may use, nested at random.

Most of what it writes is accepted; what San refuses (no bounds, mixed types) is simply not counted.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

WHOLE = ["0", "1", "-1", "7", "120", "2147483648", "9223372036854775807", "NULL"]
FRACTIONS = ["0.5", "-2.25", "1e6", "0.1", "0.00000000000001", "0.00000000000002", "1e200", "NULL"]
STRINGS = ["'F'", "'Rome'", "'it''s'", "''", "'12'", "'; --'", "'żółć'", "'%'", "NULL"]
PATTERNS = ["'R%'", "'%''%'", "'_o%'", "''", "'%<script>%'"]
DATES = ["DATE '2020-01-01'", "DATE '2020-06-30'", "DATE '0001-01-01'", "DATE '9999-12-31'"]
MOMENTS = ["TIMESTAMP '2020-01-01 00:00:00'", "TIMESTAMP '2020-06-30 23:59:59'"]
COMPARED = ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]
DAY_PARTS = ["year", "quarter", "month", "week", "day", "dayofweek", "isodow", "dayofyear"]
CLOCK_PARTS = ["hour", "minute", "second"]
BUCKETS = ["'1 month'", "'2 weeks'", "'10 days'"]
DAY_UNITS = ["year", "quarter", "month", "week", "day"]
KINDS = ["rows", "rows", "values", "units", "distinct", "sum", "sum", "avg", "avg"]
KINDS += ["if", "spread", "pair", "filter", "rank", "rank", "other", "other"]
SPREADS = ["VAR_POP", "VAR_SAMP", "VARIANCE", "STDDEV", "STDDEV_POP", "STDDEV_SAMP"]
RANKS = ["MEDIAN({x})", "MIN({x})", "MAX({x})", "QUANTILE_DISC({x}, {f})"]
RANKS += ["PERCENTILE_CONT({f}) WITHIN GROUP (ORDER BY {x})", "QUANTILE_CONT({x}, {f})"]
PAIRS = ["COVAR_POP", "COVAR_SAMP", "CORR"]
OTHERS = ["GEOMEAN(level)", "GEOMEAN(GREATEST(0.5, LEAST(9, {x})))"]  # of a number
OTHERS += [
    "MIN(sex)",
    "MAX(sex)",
    "MODE(sex)",
    "MODE(level)",
    "MODE(CASE WHEN {x} > 1 THEN flag END)",
    "ENTROPY(level)",
]
UNIT_COLUMN = {"visits": "person", "stays": "patient", "readings": None}


@dataclass(frozen=True)
class Leaves:
    """What expressions are made of, besides constants."""

    integers: tuple[str, ...] = ("age", "swing", "big", "level")
    reals: tuple[str, ...] = ("income", "share", "rate", "temp", "raw")
    texts: tuple[str, ...] = ("city", "sex", "region")
    booleans: tuple[str, ...] = ("flag", "(age > 40)", "(sex = 'F')")
    dates: tuple[str, ...] = ("day", "free_day")
    moments: tuple[str, ...] = ("moment",)


COLUMNS = Leaves()
NOISY = Leaves(  # what an expression around aggregates is made of
    integers=("COUNT(*)", "SUM(age)", "COUNT(DISTINCT city)", "COUNT(raw)"),
    reals=("AVG(income)", "SUM(income)", "AVG(temp)", "SUM(share)"),
    texts=("sex",),
    booleans=("(COUNT(*) > 3)", "(sex = 'F')"),
    dates=("DATE '2020-02-29'",),
    moments=("TIMESTAMP '2020-02-29 12:30:00'",),
)


class Grammar:
    """Writes questions from a seeded random number generator."""

    def __init__(self, rng: random.Random, leaves: Leaves = COLUMNS) -> None:
        self._rng = rng
        self._leaves = leaves

    def arithmetic_outside(self, table: str) -> str:
        """Return a question whose expressions stand around aggregates (leaves must be NOISY)."""
        outputs = [f"{self._any(3)} AS out{i}" for i in range(self._rng.randint(1, 3))]
        text = f"SELECT sex, {', '.join(outputs)} FROM {table} GROUP BY sex"
        if self._rng.random() < 0.3:
            text += f" HAVING {self.boolean(2)}"
        if self._rng.random() < 0.3:
            text += f" ORDER BY {self._any(2)}, out0 DESC"
        return text

    def question(self, table: str) -> str:
        """Return one SELECT over a table."""
        rng = self._rng
        keys = list(dict.fromkeys(self._key() for _ in range(rng.choice([0, 0, 1, 1, 1, 2, 2, 3]))))
        aggregates = [self._aggregate(table) for _ in range(rng.choice([1, 1, 2, 3]))]
        outputs = [f"{key} AS key{i}" for i, key in enumerate(keys)]
        outputs += [f"{each} AS out{i}" for i, each in enumerate(aggregates)]
        if rng.random() < 0.2:
            outputs.append(
                f"{aggregates[0]} {rng.choice(['+ 1', '* 2.5', '/ 3', '- out', '% 3'])}".replace(
                    "out", aggregates[0]
                )
                + " AS more"
            )
        text = f"SELECT {'DISTINCT ' * (rng.random() < 0.1)}{', '.join(outputs)} FROM {table}"
        if rng.random() < 0.4:
            text += f" WHERE {self.boolean(3)}"
        if keys:
            positions = [str(i + 1) for i in range(len(keys))]
            text += f" GROUP BY {', '.join(rng.choice([keys, positions]))}"
        if rng.random() < 0.2:
            text += f" HAVING {aggregates[0]} > {rng.randint(-5, 5)}"
        if rng.random() < 0.3:
            text += f" ORDER BY {rng.choice(['1', 'out0', 'out0 DESC', aggregates[0]])}"
        if rng.random() < 0.15:
            text += f" LIMIT {rng.randint(0, 5)} OFFSET {rng.randint(0, 2)}"
        return text

    def question_with_levels(self, table: str) -> str:
        """Return one SELECT over a table with several grouping sets."""
        rng = self._rng
        keys = list(dict.fromkeys(self._key() for _ in range(rng.choice([1, 1, 2, 2, 3]))))
        aggregates = [self._aggregate(table) for _ in range(rng.choice([1, 1, 2]))]
        outputs = [f"{key} AS key{i}" for i, key in enumerate(keys)]
        outputs += [f"{each} AS out{i}" for i, each in enumerate(aggregates)]
        outputs.append(f"GROUPING({rng.choice(keys)}) AS bits")
        places = [str(i + 1) for i in range(len(keys))]
        some = [rng.sample(places, rng.randint(0, len(places))) for _ in range(rng.randint(2, 4))]
        bracketed = [f"({', '.join(each)})" for each in [places, *some]]
        sets = f"GROUPING SETS ({', '.join(bracketed)})"
        listed = ", ".join(places)
        grouping = rng.choice([f"ROLLUP ({listed})", f"CUBE ({listed})", sets])
        if len(places) > 1 and rng.random() < 0.2:
            grouping = f"{places[0]}, CUBE ({', '.join(places[1:])})"
        where = f" WHERE {self.boolean(2)}" if rng.random() < 0.3 else ""
        return f"SELECT {', '.join(outputs)} FROM {table}{where} GROUP BY {grouping}"

    def groups_asked(self) -> int | None:
        """Return a max_groups_contributed, or none."""
        return self._rng.choice([None, None, None, 1, 2, 5])

    def _aggregate(self, table: str) -> str:
        rng = self._rng
        kind = rng.choice(KINDS)
        if kind == "rows":
            return "COUNT(*)"
        if kind == "values":
            return f"COUNT({self._any(2)})"
        if kind == "if":
            return f"{rng.choice(['COUNT_IF', 'SUM', 'AVG'])}({self.boolean(2)})"
        if kind == "spread":
            return f"{rng.choice(SPREADS)}({self._summed()})"
        if kind == "pair":
            return f"{rng.choice(PAIRS)}({self._summed()}, {self._summed()})"
        if kind == "other":
            return rng.choice(OTHERS).format(x=self._summed())
        if kind == "rank":
            value = rng.choice(["age", "swing", "income", "temp", "age"])
            inner = value if rng.random() < 0.7 else self._summed()
            fraction = rng.choice(["0.5", "0.25", "0.9", "1", "0.01"])
            return rng.choice(RANKS).format(x=inner, f=fraction)
        if kind == "filter":
            inner = rng.choice(["COUNT(*)", "SUM(age)", "VAR_POP(income)", "COUNT(DISTINCT city)"])
            if UNIT_COLUMN[table] is not None and rng.random() < 0.4:
                inner = f"COUNT(DISTINCT {UNIT_COLUMN[table]})"
            return f"{inner} FILTER (WHERE {self.boolean(2)})"
        if kind == "units" and UNIT_COLUMN[table] is not None:
            return f"COUNT(DISTINCT {UNIT_COLUMN[table]})"
        if kind in ("units", "distinct"):
            plain = rng.choice(["age", "age", "city", "income", "big"])
            return f"COUNT(DISTINCT {plain if rng.random() < 0.5 else self._discrete(2)})"
        return f"{kind.upper()}({self._summed()})"

    def _summed(self) -> str:
        rng = self._rng
        if rng.random() < 0.4:
            return rng.choice(["age", "swing", "income", "share", "temp", "rate", *["level"] * 3])
        inner = self.integer(3) if rng.random() < 0.5 else self.real(3)
        if rng.random() < 0.7:
            low, high = rng.choice([("0", "10"), ("-3", "8"), ("-0.5", "99.75"), ("5", "9")])
            return f"GREATEST({low}, LEAST({high}, {inner}))"
        return inner

    def _key(self) -> str:
        rng = self._rng
        choices: list[Callable[[], str]] = [
            lambda: rng.choice(["sex", "level", "region", "rate", "flag", "swing", "share"]),
            lambda: rng.choice(["city", "city", "big", "income", "age", "day"]),
            lambda: f"DATE_TRUNC('{rng.choice(DAY_UNITS)}', {rng.choice(['day', 'moment'])})",
            lambda: f"DATE_TRUNC('{rng.choice(['hour', 'day'])}', moment)",
            lambda: f"TIME_BUCKET(INTERVAL {rng.choice(BUCKETS)}, {rng.choice(['day', 'moment'])})",
            lambda: f"moment::TIME {rng.choice(COMPARED[:6])} '{rng.choice(['00:00', '12:30'])}'",
            lambda: f"ROUND({self.real(1)}, {rng.randint(-1, 1)})",
            lambda: f"CAST(FLOOR({self.real(1)} / 10) AS INTEGER)",
            lambda: (
                f"CASE WHEN {self.boolean(2)} THEN {self._constant()} ELSE {self._constant()} END"
            ),
            lambda: f"CASE WHEN {self.boolean(1)} THEN 0.00000000000001 ELSE 0.00000000000002 END",
            lambda: f"CASE WHEN flag THEN {DATES[0]} ELSE {MOMENTS[0]} END",
            lambda: f"CASE WHEN {self.boolean(2)} THEN 'a' END",
            lambda: f"COALESCE(swing, {rng.choice(['0', '99', 'level'])})",
            lambda: self.boolean(2),
            lambda: self._discrete(2),
            lambda: f"EXTRACT({rng.choice(DAY_PARTS)} FROM {self.date(1)})",
        ]
        return rng.choice(choices)()

    def _constant(self) -> str:
        return self._rng.choice(["1", "2", "0.5", "1.0", "-0.0", "NULL", "0.1", "1e-15"])

    def _any(self, depth: int) -> str:
        makers = [self.integer, self.real, self.text, self.boolean, self.date, self.moment]
        return self._rng.choice(makers)(depth)

    def _discrete(self, depth: int) -> str:
        rng = self._rng
        makers: list[Callable[[], str]] = [
            lambda: self.integer(depth),
            lambda: self.text(depth),
            lambda: self.boolean(depth),
            lambda: self.date(depth),
            lambda: self.moment(depth),
            lambda: rng.choice(["income", "share", "rate"]),
            lambda: f"ROUND({self.real(depth)}, {rng.randint(-2, 3)})",
        ]
        return rng.choice(makers)()

    def _number(self, depth: int) -> str:
        return self.integer(depth) if self._rng.random() < 0.5 else self.real(depth)

    def _chosen(self, make: Callable[[int], str], depth: int) -> str:
        rng = self._rng
        return rng.choice(
            [
                f"CASE WHEN {self.boolean(depth)} THEN {make(depth)} ELSE {make(depth)} END",
                f"CASE WHEN {self.boolean(depth)} THEN {make(depth)} END",
                f"CASE {make(0)} WHEN {make(0)} THEN {make(depth)} ELSE {make(0)} END",
                f"COALESCE({make(depth)}, {make(0)})",
                f"NULLIF({make(depth)}, {make(0)})",
                f"IF({self.boolean(depth)}, {make(depth)}, {make(0)})",
            ]
        )

    def integer(self, depth: int) -> str:
        """Return a whole number."""
        rng = self._rng
        if depth <= 0:
            return rng.choice([*self._leaves.integers * 2, *WHOLE])
        deeper = depth - 1
        choices: list[Callable[[], str]] = [
            lambda: f"({self.integer(deeper)} {rng.choice('+-*')} {self.integer(deeper)})",
            lambda: f"({self.integer(deeper)} {rng.choice(['//', '%'])} {self.integer(deeper)})",
            lambda: f"(-{self.integer(deeper)})",
            lambda: f"ABS({self.integer(deeper)})",
            lambda: f"SIGN({self._number(deeper)})",
            lambda: f"ROUND({self.integer(deeper)}, {rng.randint(-2, 2)})",
            lambda: f"{rng.choice(['FLOOR', 'CEIL', 'TRUNC'])}({self.real(deeper)})",
            lambda: (
                f"{rng.choice(['LEAST', 'GREATEST'])}({self.integer(deeper)}, {self.integer(0)})"
            ),
            lambda: (
                f"CAST({self._any(deeper)} AS {rng.choice(['TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT'])})"
            ),
            lambda: f"LENGTH({self.text(deeper)})",
            lambda: f"EXTRACT({rng.choice(DAY_PARTS)} FROM {self.date(deeper)})",
            lambda: f"DATE_PART('{rng.choice(DAY_PARTS + CLOCK_PARTS)}', {self.moment(deeper)})",
            lambda: self._chosen(self.integer, deeper),
            lambda: self.integer(0),
        ]
        return rng.choice(choices)()

    def real(self, depth: int) -> str:
        """Return a number with a fraction."""
        rng = self._rng
        if depth <= 0:
            return rng.choice([*self._leaves.reals * 2, *FRACTIONS])
        deeper = depth - 1
        choices: list[Callable[[], str]] = [
            lambda: f"({self._number(deeper)} {rng.choice('+-*/')} {self.real(deeper)})",
            lambda: f"({self.integer(deeper)} / {self.integer(deeper)})",
            lambda: f"{rng.choice(['SQRT', 'LN', 'EXP', 'ABS', '-'])}({self.real(deeper)})",
            lambda: (
                f"POWER({self._number(deeper)}, {rng.choice(['0', '1', '2', '3', '-1', '0.5'])})"
            ),
            lambda: f"ROUND({self.real(deeper)}, {rng.randint(-3, 4)})",
            lambda: f"{rng.choice(['LEAST', 'GREATEST'])}({self.real(deeper)}, {self._number(0)})",
            lambda: f"CAST({self._number(deeper)} AS {rng.choice(['DOUBLE', 'DECIMAL(10,2)'])})",
            lambda: f"CAST({self.text(deeper)} AS DOUBLE)",
            lambda: self._chosen(self.real, deeper),
            lambda: self.real(0),
        ]
        return rng.choice(choices)()

    def text(self, depth: int) -> str:
        """Return a string."""
        rng = self._rng
        shown = [self.integer, self.boolean, self.date, self.moment]
        if depth <= 0:
            return rng.choice([*self._leaves.texts * 3, *STRINGS])
        deeper = depth - 1
        choices: list[Callable[[], str]] = [
            lambda: f"{rng.choice(['LOWER', 'UPPER', 'TRIM'])}({self.text(deeper)})",
            lambda: f"CAST({rng.choice(shown)(deeper)} AS VARCHAR)",
            lambda: self._chosen(self.text, deeper),
            lambda: self.text(0),
        ]
        return rng.choice(choices)()

    def boolean(self, depth: int) -> str:
        """Return a condition."""
        rng = self._rng
        if depth <= 0:
            return rng.choice([*self._leaves.booleans, "TRUE", "FALSE", "NULL"])
        deeper = depth - 1
        make = rng.choice([self.integer, self.real, self.text, self.date, self._number])
        likes = ["LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE"]
        choices: list[Callable[[], str]] = [
            lambda: f"({make(deeper)} {rng.choice(COMPARED)} {make(deeper)})",
            lambda: f"({make(deeper)} BETWEEN {make(0)} AND {make(0)})",
            lambda: (
                f"({self.integer(deeper)} {rng.choice(['', 'NOT '])}IN (1, 2, 120, 9223372036854775807))"
            ),
            lambda: f"({self.text(deeper)} IN ('F', 'it''s', 'Rome'))",
            lambda: f"({self.text(deeper)} {rng.choice(likes)} {rng.choice(PATTERNS)})",
            lambda: f"({self.text(deeper)} LIKE '%!%%' ESCAPE '!')",
            lambda: f"({self.boolean(deeper)} {rng.choice(['AND', 'OR'])} {self.boolean(deeper)})",
            lambda: f"(NOT {self.boolean(deeper)})",
            lambda: f"({self._any(deeper)} IS {rng.choice(['', 'NOT '])}NULL)",
            lambda: f"({self.boolean(deeper)} IS {rng.choice(['TRUE', 'FALSE', 'NOT TRUE'])})",
            lambda: f"CAST({rng.choice([self.integer, self.text])(deeper)} AS BOOLEAN)",
            lambda: self._chosen(self.boolean, deeper),
        ]
        return rng.choice(choices)()

    def date(self, depth: int) -> str:
        """Return a date."""
        rng = self._rng
        if depth <= 0:
            return rng.choice([*self._leaves.dates * 2, *DATES])
        deeper = depth - 1
        choices: list[Callable[[], str]] = [
            lambda: f"CAST(DATE_TRUNC('{rng.choice(DAY_UNITS)}', {self.date(deeper)}) AS DATE)",
            lambda: f"CAST({rng.choice([self.text, self.moment])(deeper)} AS DATE)",
            lambda: self._chosen(self.date, deeper),
            lambda: self.date(0),
        ]
        return rng.choice(choices)()

    def moment(self, depth: int) -> str:
        """Return a timestamp."""
        rng = self._rng
        if depth <= 0:
            return rng.choice([*self._leaves.moments * 2, *MOMENTS])
        deeper = depth - 1
        choices: list[Callable[[], str]] = [
            lambda: (
                f"DATE_TRUNC('{rng.choice(['hour', 'minute', 'month'])}', {self.moment(deeper)})"
            ),
            lambda: f"CAST({rng.choice([self.text, self.date])(deeper)} AS TIMESTAMP)",
            lambda: self._chosen(self.moment, deeper),
            lambda: self.moment(0),
        ]
        return rng.choice(choices)()
