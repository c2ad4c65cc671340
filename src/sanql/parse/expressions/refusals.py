"""Refusals that say what was typed, where, why not, and what to write instead."""

from __future__ import annotations

import re
from difflib import get_close_matches

from sqlglot import exp

from sanql.errors import Refused
from sanql.functions import NAMES
from sanql.statistics import BY_SPELLING

COMMON_AGGREGATES = ("COUNT", "SUM", "AVG")
FRAGMENT_MAX = 120  # characters of the text that a refusal quotes
COMMENT = re.compile(r"--|/\*")
# what the grammar calls otherwise than analysts do
SIGNS: dict[type[exp.Expression], str] = {
    exp.DPipe: "||",
    exp.ArrayOverlaps: "&&",
    exp.JSONExtract: "->",
    exp.JSONExtractScalar: "->>",
    exp.AtTimeZone: "AT TIME ZONE",
    exp.Tuple: "(a, b)",
    exp.Parameter: "the parameter",
    exp.Subquery: "a subquery",
    exp.Select: "a subquery",
    exp.Exists: "EXISTS",
    exp.Window: "OVER",
    exp.Star: "*",
    exp.Array: "a list […]",
    exp.Bracket: "a list's element […]",
    exp.Struct: "a structure {…}",
    exp.Dot: "a name with several dots",
    exp.Collate: "COLLATE",
    exp.Lambda: "a function x -> …",
    exp.Kwarg: "a named argument",
    exp.Interval: "INTERVAL",
}


def typed_name(node: exp.Expr) -> str:
    """Return the name of a function as the analyst typed it."""
    if isinstance(node, exp.Anonymous):
        return str(node.this)[:60]
    typed = str(node.meta.get("typed", ""))[:60]
    return typed or (node.sql_name() if isinstance(node, exp.Func) else type(node).__name__.upper())


def as_typed(node: exp.Expression) -> str:
    """Return an expression as it stands in the text, on one line; as it is understood otherwise."""
    text = str(node.meta.get("fragment", ""))
    before, *comment = COMMENT.split(text, 1)
    if not text or comment:
        # writing a long one out to cut it off again takes too long
        text = (
            before if len(text) > 2 * FRAGMENT_MAX else node.sql(dialect="duckdb", comments=False)
        )
    shown = " ".join(text.split())
    return shown if len(shown) <= FRAGMENT_MAX else shown[:FRAGMENT_MAX] + " …"


def renamed(refused: Refused, node: exp.Expression, known: tuple[str, ...] = ()) -> Refused:
    """Return a rule's refusal with the name that was typed."""
    message = refused.message
    typed = typed_name(node)
    for name in known:
        if message.startswith(f"{name} ") and typed.upper() in known:
            message = typed + message.removeprefix(name)
            break
    return Refused(refused.code, message, refused.remedy)


def unknown_construct(node: exp.Expression) -> Refused:
    """Return the refusal of something that has no place in a private answer."""
    hint = ""
    if isinstance(node, exp.Anonymous):
        near = get_close_matches(str(node.this).upper(), [*NAMES, *BY_SPELLING], n=1, cutoff=0.75)
        hint = f"did you mean {near[0]}? " if near else ""
    why = REASONS.get(type(node), "only functions and operators on the allow-list can be used")
    remedy = REMEDIES.get(type(node), "docs/sql.md lists what can be asked")
    if isinstance(node, exp.Anonymous) and str(node.this).upper() in NAMED:
        why, remedy = NAMED[str(node.this).upper()]
    return Refused(
        "construct_unsupported",
        f"{_shown(node)} is not supported: {why}",
        f"{hint}{remedy}",
    )


def _shown(node: exp.Expression) -> str:
    if type(node) in SIGNS:
        return SIGNS[type(node)]
    if isinstance(node, exp.Func) or "typed" in node.meta:
        return f"the function {typed_name(node)}"
    return type(node).__name__.upper()


def wrong_number(node: exp.Expression, written: str) -> Refused:
    """Return the refusal of a function with too few or too many operands."""
    return Refused(
        "arguments_wrong",
        f"{typed_name(node)} has the wrong number of operands",
        f"write {written}",
    )


HASHED = "a hash of a value shows as much as the value"
ROWS_DECIDE = "what the rows hold would decide how long it takes"
ELSEWHERE = "a subquery cannot stand here"
CLOCK = "an answer must not depend on the clock"
AGREEING = "ask how many do, with COUNT_IF(condition), or what share, with AVG(condition)"
REASONS: dict[type[exp.Expression], str] = {
    exp.Subquery: ELSEWHERE,
    exp.Select: ELSEWHERE,
    exp.Exists: ELSEWHERE,
    exp.Window: "windows show individual rows",
    exp.Min: "only one extreme can be asked for at a time",
    exp.Max: "only one extreme can be asked for at a time",
    exp.Filter: "FILTER goes with one statistic",
    exp.LogicalAnd: "one person decides whether all agree",
    exp.LogicalOr: "one person decides whether any agrees",
    exp.CurrentDate: CLOCK,
    exp.CurrentTimestamp: CLOCK,
    exp.CurrentTime: CLOCK,
    exp.Rand: "randomness comes from one place only",
    exp.Interval: "an interval is added to a date or taken from it",
    exp.AtTimeZone: "timestamps have no time zone",
    exp.Star: "it returns individual rows",
    exp.Parameter: "parameters are written $name, :name, $1 or ?",
    exp.MD5: HASHED,
    exp.SHA: HASHED,
    exp.SHA2: HASHED,
    exp.Levenshtein: ROWS_DECIDE,
    exp.Tuple: "a list of values is no value",
    exp.Any: "lists of constants go with IN",
}
REMEDIES: dict[type[exp.Expression], str] = {
    exp.Subquery: "ask the inner question by itself, or put it in FROM",
    exp.Select: "ask the inner question by itself, or put it in FROM",
    exp.Exists: "ask the inner question by itself, or join it in FROM",
    exp.Window: "GROUP BY the columns you partition by",
    exp.Min: "ask for MIN(x), or for QUANTILE_DISC(x, 0.99)",
    exp.Max: "ask for MAX(x), or for QUANTILE_DISC(x, 0.99)",
    exp.Filter: "write SUM(x) FILTER (WHERE condition)",
    exp.LogicalAnd: AGREEING,
    exp.LogicalOr: AGREEING,
    exp.CurrentDate: "write the date, for example DATE '2026-01-31'",
    exp.CurrentTimestamp: "write the moment, for example TIMESTAMP '2026-01-31 12:00:00'",
    exp.CurrentTime: "write the moment, for example TIMESTAMP '2026-01-31 12:00:00'",
    exp.Interval: "write, for example, d + INTERVAL 3 MONTH",
    exp.AtTimeZone: "add the hours: t + INTERVAL 2 HOUR",
    exp.Star: "ask for COUNT(*), or name the statistics you want",
    exp.Parameter: "write $name, and pass its value beside the question",
    exp.MD5: "group by the value itself",
    exp.SHA: "group by the value itself",
    exp.SHA2: "group by the value itself",
    exp.Levenshtein: "use LIKE, STARTS_WITH or REGEXP_MATCHES with a constant",
    exp.Tuple: "compare the values one by one: (a = 1 AND b = 2) OR (a = 3 AND b = 4)",
    exp.Any: "write x IN ('a', 'b')",
}
# functions of which the grammar knows nothing but the name
_MOMENT = (CLOCK, "write the moment, for example TIMESTAMP '2026-01-31 12:00:00'")
_LIKENESS = (ROWS_DECIDE, "use LIKE, STARTS_WITH or REGEXP_MATCHES with a constant")
NAMED: dict[str, tuple[str, str]] = {
    **dict.fromkeys(["NOW", "GETDATE", "SYSDATE", "TRANSACTION_TIMESTAMP"], _MOMENT),
    **dict.fromkeys(["JACCARD", "HAMMING", "MISMATCHES", "DAMERAU_LEVENSHTEIN"], _LIKENESS),
    "HASH": (HASHED, "group by the value itself"),
    "HISTOGRAM": (
        "a cell of an answer holds one value",
        "write SELECT x, COUNT(*) … GROUP BY x, or GROUP BY WIDTH_BUCKET(x, low, high, n)",
    ),
    "AGE": (
        "an interval is no number",
        "write DATE_SUB('year', earlier, later) or YEAR(AGE(e, d))",
    ),
    "FORMAT": ("texts are put together from texts", "use CONCAT, ||, LPAD or STRFTIME"),
    "TOP": ("rows are limited at the end", "write LIMIT 3 at the end of the question"),
    "PRINTF": ("texts are put together from texts", "use CONCAT, ||, LPAD or STRFTIME"),
}
