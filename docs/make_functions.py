"""Writes docs/functions.md, and the list in docs/sql.md, from the tables that decide what is allowed.

Run it after the allow-list has changed: `python docs/make_functions.py`. A test compares.
"""

from __future__ import annotations

from pathlib import Path

from sanql.functions.allowed import ALLOWED
from sanql.functions.formats import LETTERS, PERCENT, PRINTED, READ
from sanql.functions.table import Function

HERE = Path(__file__).parent
START, END = "<!-- functions: written by make_functions.py -->", "<!-- end of functions -->"
INTRODUCTION = """# Functions and operators

Everything that can stand in an expression, written by `docs/make_functions.py` from the tables that the
program itself follows. *Total*: why no row can make an error. *Proved*: what is known of the result for
every row there could be, which is what a SUM or AVG of it needs.

DuckDB's, PostgreSQL's, BigQuery's, Snowflake's and MySQL's spellings of one function are one function.
Where they differ in meaning, DuckDB's meaning holds. A date plus an interval of days, months or years
stays a date. Timestamps have no time zone. Text that is put together is NULL beyond 10,000 bytes.
"""
PATTERNS = """## Patterns and formats

A regular expression is a constant of at most 200 characters made of letters, `.`, `[…]`, `(…)`, `(?:…)`,
`(?i)`, `|`, `*`, `+`, `?`, `{2,5}`, `^`, `$` and `\\d \\D \\w \\W \\s \\S \\b \\B`, and of at most 200
places when its repetitions are written out. `SIMILAR TO` is such an expression over the whole text.
"""


def page() -> str:
    """Return docs/functions.md."""
    parts = [INTRODUCTION]
    for kind, functions in ALLOWED.items():
        rows = [_row(function) for function in functions]
        head = "| written | other spellings | total | proved |\n|---|---|---|---|"
        parts.append(f"## {kind}\n\n{head}\n" + "\n".join(rows) + "\n")
    letters = ", ".join(f"`{word}`" for word in LETTERS)
    codes = ", ".join(f"`%{code}`" for code in PERCENT)
    parts.append(
        f"{PATTERNS}\nFormats of dates are constants. Printing knows `{PRINTED}`, reading `{READ}`; "
        f"`%F` and `%T`\nare written out. `TO_CHAR`, `TO_VARCHAR` and `TO_DATE` know {letters}; "
        f"`DATE_FORMAT` reads {codes}\nas MySQL does.\n"
    )
    return "\n".join(parts)


def _row(function: Function) -> str:
    others = [name for name in function.names if f"{name}(" not in function.written]
    cells = [
        f"`{function.written}`",
        " ".join(f"`{name}`" for name in others),
        function.total,
        function.bounds,
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def listed() -> str:
    """Return the list in docs/sql.md: what there is, without the rules."""
    rows = ["| kind | what |", "|---|---|"]
    for kind, functions in ALLOWED.items():
        words = [_shown(function) for function in functions]
        cell = " ".join(dict.fromkeys(word for each in words for word in each)).replace("|", "\\|")
        rows.append(f"| {kind.lower()} | {cell} |")
    return "\n".join(rows)


def _shown(function: Function) -> list[str]:
    first = function.written.split(", ")[0]
    if function.names:
        sign = [] if "(" in first or first.startswith("CASE") else [f"`{first}`"]
        return [*sign, *(f"`{name}`" for name in function.names)]
    return [f"`{first if '(' in function.written else function.written}`"]


def with_list(text: str) -> str:
    """Return docs/sql.md with the list of today."""
    before, rest = text.split(START)
    _, after = rest.split(END)
    return f"{before}{START}\n{listed()}\n{END}{after}"


if __name__ == "__main__":
    (HERE / "functions.md").write_text(page(), encoding="utf-8")
    sql = HERE / "sql.md"
    sql.write_text(with_list(sql.read_text(encoding="utf-8")), encoding="utf-8")
