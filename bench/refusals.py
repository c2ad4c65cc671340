"""`python -m bench.refusals`: how long it takes to plan a question, and to refuse a hostile text.

Everything is asked through San as an analyst would, with `explain`, which reads no row: parsing,
planning, pricing and writing the statement; of what is refused, up to and including the search for the
nearest question that would be answered. Each text is asked once to warm up and then nine times; the table
has the middle and the worst of these. The promise is that no text keeps San for more than 100 ms before
it is refused. Writes bench/REFUSALS.md.
"""

# ruff: noqa: E501  (a question stands on one line)

from __future__ import annotations

import gc
import os
import platform
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import sanql
from bench.tpch.__main__ import HERE as TPCH
from bench.tpch.__main__ import generate, questions
from sanql.errors import SanqlError

RESULTS = Path(__file__).with_name("REFUSALS.md")
REPEATS = 9
PROMISED = 100  # milliseconds
FROM = "SELECT COUNT(*) FROM orders WHERE "
COLUMN = "o_totalprice"


def hostile() -> dict[str, str]:
    """Return texts that try to keep a parser busy, by what they are made of."""
    fan = ", ".join(
        f"{new} AS (SELECT x.o_custkey FROM {old} AS x JOIN {old} AS y ON x.o_custkey = y.o_custkey)"
        for old, new in zip("abcdefghijklmnopqrs", "bcdefghijklmnopqrst", strict=True)
    )
    same = "o.o_custkey = o{0}.o_custkey"
    joins = " ".join(f"JOIN orders o{i} ON {same.format(i)}" for i in range(400))
    wide = ", ".join(f"COUNT(*) AS n{i}" for i in range(1_200))
    nested = "SELECT o_custkey FROM orders"
    for _ in range(90):
        nested = f"SELECT o_custkey FROM ({nested}) AS t"
    return {
        "65,000 opening brackets": "(" * 65_000,
        "64 KB of brackets that close": FROM + "(" * 32_000 + "1" + ")" * 32_000,
        "500 brackets": f"{FROM}{COLUMN} = " + "(" * 500 + "1" + ")" * 500,
        "99 brackets": f"{FROM}{COLUMN} = " + "(" * 99 + "1" + ")" * 99 + " AND nothing = 1",
        "32,000 square brackets": "SELECT " + "[" * 32_000,
        "NOT, 500 times": FROM + "NOT " * 500 + "TRUE",
        "a minus, 2,400 times": f"{FROM}{COLUMN} = " + "- " * 2_400 + "1",
        "casts, 200 times": f"{FROM}{COLUMN}" + "::INT" * 200 + " = 1",
        "CASE in CASE, 200 times": FROM + "CASE WHEN TRUE THEN " * 200 + "TRUE" + " END" * 200,
        "a sum of 2,400 numbers": f"{FROM}{COLUMN} = " + "1 + " * 2_400 + "1",
        "a power of powers": f"{FROM}{COLUMN} = " + "9 ** " * 90 + "9",
        "IN with 200,000 numbers": f"{FROM}{COLUMN} IN (" + ",".join(map(str, range(200_000))) + ")",
        "IN with 9,000 numbers": f"{FROM}{COLUMN} IN (" + "1," * 8_999 + "1)",
        "IN with 2,400 numbers, and a mistake": f"{FROM}nothing IN (" + "1," * 2_399 + "1)",
        "1,200 conditions, and a mistake": FROM + f"{COLUMN} > 1 OR " * 1_200 + "nothing = 1",
        "1,200 statistics, and a mistake": f"SELECT {wide}, SUM(nothing) FROM orders",
        "a WITH that doubles 19 times": f"WITH a AS (SELECT o_custkey FROM orders), {fan} SELECT COUNT(*) FROM t",
        "600 parts of a UNION": "SELECT COUNT(*) FROM (" + " UNION ALL ".join(["SELECT o_custkey FROM orders"] * 600) + ") AS t",
        "400 joins": f"SELECT COUNT(*) FROM orders AS o {joins}",
        "400 tables in a list": "SELECT COUNT(*) FROM " + ", ".join(f"orders AS o{i}" for i in range(400)),
        "90 subqueries, one in another": f"SELECT COUNT(nothing) FROM ({nested}) AS t",
        "200 EXISTS": FROM + " AND ".join(["EXISTS (SELECT 1 FROM orders WHERE TRUE)"] * 200),
        "a name of 60,000 letters": FROM + "x" * 60_000 + " = 1",
        "a function of 60,000 letters": FROM + "x" * 60_000 + "(1) = 1",
        "an alias of 60,000 letters": f"SELECT COUNT(*) AS {'x' * 60_000} FROM nothing",
        "4,000 different names": FROM + " = ".join(f"a{i}" for i in range(2_400)),
        "a string of 60,000 letters": FROM + f"o_orderpriority = '{'x' * 60_000}' AND nothing = 1",
        "a pattern of 60,000 letters": FROM + f"REGEXP_MATCHES(o_orderpriority, '{'(a+)+' * 12_000}')",
        "a pattern that explodes": FROM + "REGEXP_MATCHES(o_orderpriority, '((a{1,99}){1,99}){1,99}$')",
        "a quote that is not closed": FROM + "o_orderpriority = '" + "''x" * 20_000,
        "30,000 empty strings": FROM + "''" * 30_000 + "'",
        "a comment that is not closed": FROM + "/* " * 20_000,
        "60,000 letters of comment": FROM + "TRUE --" + "x" * 60_000,
        "2,000 statements": "SELECT 1;" * 1_600,
        "numbers of 60,000 digits": f"{FROM}{COLUMN} > " + "9" * 60_000,
        "letters that look alike": FROM + "о" * 30_000 + " = 1",
        "NUL bytes": FROM + "\0" * 60_000,
        "a lone surrogate": FROM + "'\ud800'",
        "CUBE of 12 columns": "SELECT COUNT(*) FROM orders GROUP BY CUBE (" + ", ".join(["o_orderpriority"] * 12) + ")",
        "1,000 grouping sets": "SELECT COUNT(*) FROM orders GROUP BY GROUPING SETS (" + ", ".join(["(o_orderpriority)"] * 1_000) + ")",
        "rows of a wide list (rewritten)": "SELECT " + ", ".join(["o_orderpriority", "o_orderstatus", "o_orderdate"] * 30) + " FROM orders",
        "ten tables without a link (rewritten)": "SELECT COUNT(*) FROM " + ", ".join(f"orders AS o{i}" for i in range(10)),
        "nine subqueries across units (rewritten)": FROM + " AND ".join([f"{COLUMN} > (SELECT AVG({COLUMN}) FROM orders)"] * 9),
        "a mistyped name in 1,900 letters (rewritten)": FROM + f"{COLUMN} > 1 OR " * 95 + "o_totalpric > 1",
    }  # fmt: skip


def main() -> None:
    """Measure and write the tables."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder / "data", "0.01")
        shutil.copy(TPCH / "policy.toml", folder / "policy.toml")
        with sanql.open(folder / "policy.toml") as san:
            asked = [(name, *measured(san, text)) for name, text in questions().items()]
            refused = [(name, *measured(san, text)) for name, text in hostile().items()]
    text = "\n\n".join([_head(), _table("TPC-H", asked), _table("Hostile texts", refused)]) + "\n"
    RESULTS.write_text(text, encoding="utf-8")
    print(text)
    slow = [row[0] for row in refused if row[4] > PROMISED and row[2] != "answered"]
    if slow:
        raise SystemExit(f"over {PROMISED} ms: {', '.join(slow)}")


def measured(san: sanql.San, text: str) -> tuple[int, str, float, float]:
    """Return the size of a text, its verdict, and the middle and the worst time in milliseconds."""
    verdict = ""
    times = []
    for _ in range(REPEATS + 1):
        gc.collect()
        started = time.perf_counter()
        verdict = _verdict(san, text)
        times.append(1000 * (time.perf_counter() - started))
    return len(text), verdict, statistics.median(times[1:]), max(times[1:])


def _verdict(san: sanql.San, text: str) -> str:
    try:
        san.explain(text, epsilon=1)
    except SanqlError as error:
        shown = ", with a question" if getattr(error, "nearest", "") else ""
        return f"`{error.code}`{shown}"
    return "answered"


def _head() -> str:
    words = (__doc__ or "").split("\n\n", 1)[1].strip()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return f"# Planning and refusing\n\n{words}\n\n{machine}; nothing else was running."


def _table(title: str, rows: list[tuple[str, int, str, float, float]]) -> str:
    lines = [
        f"## {title}",
        "",
        "| what | letters | verdict | ms | worst ms |",
        "|---|---:|---|---:|---:|",
    ]
    lines += [
        f"| {n} | {size:,} | {v} | {middle:.1f} | {worst:.1f} |"
        for n, size, v, middle, worst in rows
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
