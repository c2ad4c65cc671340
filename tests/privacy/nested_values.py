"""Expressions, keys and statistics over the columns that a part of a nested question shows."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

from privacy.grammar import Grammar, Leaves

COMPARED = ["=", "<>", "<", "<=", ">", ">="]
CONSTANTS: dict[str, list[str]] = {
    "integer": ["0", "1", "3", "7"],
    "real": ["0.5", "4.25", "-1.0"],
    "text": ["'red'", "'it''s'", "''"],
    "boolean": ["TRUE", "FALSE"],
    "date": ["DATE '2020-02-29'", "DATE '2020-01-01'"],
}
RANKS = [
    "MEDIAN({x})",
    "MIN({x})",
    "MAX({x})",
    "QUANTILE_DISC({x}, 0.9)",
    "QUANTILE_CONT({x}, 0.25)",
]
FILTERED = ["AVG({x})", "VAR_POP({x})", "MEDIAN({x})", "MAX({x})", "COUNT(DISTINCT {x})"]
OTHERS = [
    "GEOMEAN(GREATEST(0.5, {x}))", "MODE({x} > 1)", "ENTROPY({x} > 1)",
    "SUM(DISTINCT CASE WHEN {x} > 1 THEN 3 ELSE 2 END)", "AVG(DISTINCT CASE WHEN {x} > 1 THEN 3 END)",
]  # fmt: skip
DATED = ["MIN({x})", "MAX({x})", "QUANTILE_DISC({x}, 0.5)"]
SPREADS = ["VAR_POP", "VAR_SAMP", "STDDEV", "STDDEV_POP"]
PAIRS = ["COVAR_POP", "COVAR_SAMP", "CORR", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_COUNT"]
MAKERS = ("integer", "real", "text", "boolean", "date")
OTHER = {"integer": "real", "real": "integer"}
AGGREGATE = re.compile(r"a\d+")  # what a subquery calls its aggregates
THEIRS = {  # words of other systems
    "integer": ["RANGE_BUCKET({x}, [0, 2, 5])", "RANGE_BUCKET({y}, [-1, 3])"],
    "real": ["DIV0({y}, {x})", "DIV0({x}, {y})"],
}
LISTED = [  # lists of constants, in the words of several systems
    "{x} = ANY ([{one}, {other}])", "{x} <> ALL ([{one}, {other}])", "{x} IN UNNEST([{one}, {other}])",
    "({x}, {y}) IN (({one}, 'red'), ({other}, 'Rome'))", "({x}, {x}) NOT IN (({one}, {other}))",
    "EQUAL_NULL({x}, {one})", "ISNULL({x}, {one}) = {other}",
]  # fmt: skip
LIMITED = {  # columns with bounds of their own
    "age", "income", "amount", "quantity", "price", "code", "score", "u", "level", "temp", "size",
    "area", "weight",
}  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """What a relation shows: columns with their types, and identifiers with what they identify."""

    whose: str
    columns: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Part:
    """One item of FROM by its alias."""

    alias: str
    shape: Shape


class Values:
    """Writes expressions from a seeded random number generator."""

    def __init__(self, rng: random.Random, plain: bool) -> None:
        self._rng = rng
        self._plain = plain

    def _columns(self, parts: list[Part], kind: str) -> tuple[str, ...]:
        return tuple(f"{p.alias}.{n}" for p in parts for n, k in p.shape.columns if k == kind)

    def _value(self, parts: list[Part], kind: str) -> str:
        """Return an expression of a type over columns in sight."""
        rng = self._rng
        known = self._columns(parts, kind)
        if known and rng.random() < 0.5:
            return rng.choice(known)
        if self._plain:
            return self._plain_value(parts, kind)
        if rng.random() < 0.6:  # scalar functions are replayed elsewhere, and make long statements
            return self._simple_value(parts, kind)
        leaves = Leaves(
            integers=self._columns(parts, "integer"),
            reals=self._columns(parts, "real"),
            texts=self._columns(parts, "text"),
            booleans=self._columns(parts, "boolean"),
            dates=self._columns(parts, "date"),
            moments=(),
        )
        make: Callable[[int], str] = getattr(Grammar(rng, leaves), kind)
        return make(rng.choice([1, 1, 2]))

    def _simple_value(self, parts: list[Part], kind: str) -> str:
        """Return a column, a constant or a comparison of two of them."""
        rng = self._rng
        if kind != "boolean":
            known = [*self._columns(parts, kind), *CONSTANTS[kind][:2]]
            numbers = self._columns(parts, "integer") or CONSTANTS["integer"]
            if kind in THEIRS and not self._plain and rng.random() < 0.1:
                return rng.choice(THEIRS[kind]).format(x=rng.choice(numbers), y=rng.choice(known))
            return rng.choice(known)
        of = rng.choice([kind for kind in MAKERS if self._columns(parts, kind)] or MAKERS)
        left = rng.choice(self._columns(parts, of) or CONSTANTS[of][:1])
        right = rng.choice([*self._columns(parts, of), *CONSTANTS[of], *CONSTANTS[of]])
        known = rng.choice(self._columns(parts, "boolean") or CONSTANTS["boolean"])
        texts = self._columns(parts, "text")
        if not self._plain and of in ("integer", "text") and rng.random() < 0.15:
            one, other = CONSTANTS[of][:2]
            form = rng.choice(LISTED)
            return f"({form.format(x=left, y=rng.choice(texts or [left]), one=one, other=other)})"
        if texts and not self._plain and rng.random() < 0.1:
            which = rng.choice(["ANY", "ALL"])
            return f"({rng.choice(texts)} ILIKE {which} ('%o%', 'r%'))"
        return rng.choice(
            [f"({left} {rng.choice(COMPARED)} {right})", f"({left} IS NOT NULL)", known]
        )

    def _plain_value(self, parts: list[Part], kind: str) -> str:
        """Return an expression that DuckDB by itself computes as San does."""
        rng = self._rng
        if kind == "boolean":
            return self._simple_value(parts, kind)
        column = rng.choice(self._columns(parts, kind) or CONSTANTS[kind])
        constant = rng.choice(CONSTANTS[kind])
        choices = [
            f"COALESCE({column}, {constant})",
            f"CASE WHEN {self._plain_value(parts, 'boolean')} THEN {column} ELSE {constant} END",
            f"NULLIF({column}, {constant})",
        ]
        if kind in ("integer", "real"):
            choices.append(f"LEAST({column}, {constant}) + {constant}")
        return rng.choice(choices)

    def _bounded(self, parts: list[Part], kind: str) -> str:
        """Return a number with bounds: one that has them, or any that is held within some."""
        rng = self._rng
        known = self._limited(parts, kind) or self._limited(parts, OTHER[kind])
        if known and rng.random() < 0.9:
            return rng.choice(known)
        low, high = rng.choice([("0", "9"), ("-3", "8"), ("2", "5")])
        value = self._value if kind == "integer" else self._simple_value
        return f"GREATEST({low}, LEAST({high}, {value(parts, kind)}))"

    def _limited(self, parts: list[Part], kind: str) -> list[str]:
        """Return the columns with bounds: those of the policy, and aggregates inside a unit."""
        found = [(column, column.split(".")[1]) for column in self._columns(parts, kind)]
        inner = [column for column, name in found if AGGREGATE.match(name)]
        return [*(column for column, name in found if name in LIMITED), *inner, *inner, *inner]

    def _key(self, parts: list[Part]) -> str:
        rng = self._rng
        known = [
            c
            for p in parts
            for c in ([f"{p.alias}.{n}" for n, k in p.shape.columns if k != "real"])
        ]
        if known and rng.random() < 0.8:
            return rng.choice(known)
        return self._value(parts, rng.choice(["integer", "text", "boolean", "date"]))

    def _statistic(self, parts: list[Part]) -> str:
        rng = self._rng
        links = [f"{p.alias}.{n}" for p in parts for n, _ in p.shape.links]
        kinds = ["rows", "rows", "values", "sum", "sum", "avg", "distinct", "units"]
        if not self._plain:
            kinds = [
                *kinds * 6,
                *["if", "filter"] * 6,
                *["rank"] * 3,
                "spread",
                "pair",
                *["other"] * 2,
            ]
        number = rng.choice(["integer", "real"])
        limited = self._limited(parts, number)
        match rng.choice(kinds):
            case "values":
                of = [self._value(parts, rng.choice(MAKERS)), *links]
                return f"COUNT({rng.choice(of)})"
            case "units" if links:
                return f"COUNT(DISTINCT {rng.choice(links)})"
            case "distinct" | "units":
                return f"COUNT(DISTINCT {self._value(parts, rng.choice(['integer', 'text']))})"
            case "sum":
                return f"SUM({self._bounded(parts, number)})"
            case "avg":
                return f"AVG({self._bounded(parts, number)})"
            case "if":
                return f"COUNT_IF({self._value(parts, 'boolean')})"
            case "filter":
                inner = rng.choice(["COUNT(*)", f"SUM({self._bounded(parts, number)})"])
                if limited and rng.random() < 0.3:
                    inner = rng.choice(FILTERED).format(x=rng.choice(limited))
                return f"{inner} FILTER (WHERE {self._value(parts, 'boolean')})"
            case "spread" if limited:
                return f"{rng.choice(SPREADS)}({rng.choice(limited)})"
            case "other" if limited:
                return rng.choice(OTHERS).format(x=rng.choice(limited))
            case "pair" if limited:
                return f"{rng.choice(PAIRS)}({rng.choice(limited)}, {rng.choice(limited)})"
            case "rank" if rng.random() < 0.2:
                days = [name for name in self._columns(parts, "date") if ".c" not in name]
                return rng.choice(DATED).format(x=rng.choice(days)) if days else "COUNT(*)"
            case "rank" if limited:
                return rng.choice(RANKS).format(x=rng.choice(limited))
            case _:
                return "COUNT(*)"
