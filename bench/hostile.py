"""Texts that try to keep San busy, and long ones that analysts may well write; over TPC-H's tables."""

# ruff: noqa: E501  (a question stands on one line)

from __future__ import annotations

from collections.abc import Iterable

FROM = "SELECT COUNT(*) FROM orders WHERE "
COLUMN = "o_totalprice"


def hostile() -> dict[str, str]:
    """Return texts that are to be refused soon, by what they are made of."""
    return {**_letters(), **_nested(), **_long(), **_doubling(), **_searched()}


def large() -> dict[str, str]:
    """Return long questions that are to be answered, each at two sizes, the second twice the first."""
    found: dict[str, str] = {}
    for size in (1, 2):
        found |= {
            f"{150 * size} statistics": f"SELECT {_listed(f'SUM({COLUMN}) AS s{i}' if i % 2 else f'COUNT(*) AS s{i}' for i in range(150 * size))} FROM orders",
            f"{25 * size} different sums": f"SELECT {_listed(f'SUM({COLUMN} * {i}) AS s{i}' for i in range(1, 25 * size + 1))} FROM orders",
            f"IN with {500 * size} values": f"{FROM}{COLUMN} IN ({_listed(range(500 * size))})",
            f"CASE with {60 * size} branches": f"SELECT SUM(CASE {' '.join(f'WHEN {COLUMN} < {i} THEN {i}' for i in range(1, 60 * size + 1))} ELSE 0 END) FROM orders",
            f"a key of {60 * size} branches": f"SELECT CASE {' '.join(f'WHEN {COLUMN} < {i} THEN {i}' for i in range(1, 60 * size + 1))} ELSE 0 END AS k, COUNT(*) FROM orders GROUP BY 1",
            f"{10 * size} CTEs": f"WITH c0 AS (SELECT o_custkey, {COLUMN} AS x FROM orders), {_listed(f'c{i} AS (SELECT o_custkey, x FROM c{i - 1} WHERE x > {i})' for i in range(1, 10 * size))} SELECT SUM(x) FROM c{10 * size - 1}",
            f"{15 * size} joins with public tables": f"SELECT COUNT(*) FROM customer {' '.join(f'JOIN nation AS n{i} ON n{i}.n_nationkey = c_nationkey' for i in range(15 * size))}",
            f"{150 * size} conditions": FROM
            + " OR ".join(f"{COLUMN} = {i}" for i in range(150 * size)),
            f"{10 * size} parts of a UNION": f"SELECT SUM(x) FROM ({' UNION ALL '.join(f'SELECT {COLUMN} AS x FROM orders WHERE {COLUMN} > {i}' for i in range(10 * size))}) AS t",
            f"{40 * size} joins of the same unit": f"SELECT COUNT(*) FROM orders AS o {' '.join(f'JOIN orders o{i} ON o.o_custkey = o{i}.o_custkey' for i in range(40 * size))}",
            f"{40 * size} quantiles": f"SELECT {_listed(f'QUANTILE_CONT({COLUMN}, 0.{i:03d}) AS q{i}' for i in range(1, 40 * size + 1))} FROM orders",
            f"{40 * size} deviations": f"SELECT {_listed(f'STDDEV({COLUMN} * {i}) AS s{i}' for i in range(1, 40 * size + 1))} FROM orders",
            f"{20 * size} columns ordered by": f"SELECT {_listed(f'COUNT(*) AS n{i}' for i in range(20 * size))} FROM orders GROUP BY o_orderstatus ORDER BY {_listed(f'n{i}' for i in range(20 * size))}",
        }
    return found


def _listed(parts: Iterable[object]) -> str:
    return ", ".join(map(str, parts))


def _letters() -> dict[str, str]:
    """Return what cutting a text into words takes long for, or what it leads astray."""
    return {
        "a name of 60,000 letters": FROM + "x" * 60_000 + " = 1",
        "a function of 60,000 letters": FROM + "x" * 60_000 + "(1) = 1",
        "an alias of 60,000 letters": f"SELECT COUNT(*) AS {'x' * 60_000} FROM nothing",
        "a string of 60,000 letters": FROM + f"o_orderpriority = '{'x' * 60_000}' AND nothing = 1",
        "a pattern of 60,000 letters": FROM + f"REGEXP_MATCHES(o_orderpriority, '{'(a+)+' * 12_000}')",
        "a quote that is not closed": FROM + "o_orderpriority = '" + "''x" * 20_000,
        "30,000 empty strings": FROM + "''" * 30_000 + "'",
        "a comment that is not closed": FROM + "/* " * 20_000,
        "60,000 letters of comment, and a mistake": FROM + "nothing = 1 --" + "x" * 60_000,
        "numbers of 60,000 digits": f"{FROM}{COLUMN} > " + "9" * 60_000,
        "letters that look alike": FROM + "о" * 30_000 + " = 1",
        "NUL bytes": FROM + "\0" * 60_000,
        "a lone surrogate": FROM + "'\ud800'",
        "Unicode that changes direction": FROM + "\u202e" * 5_000 + "x = 1",
        "a quoted name of 15,000 wide letters": FROM + '"' + "\U0001f984" * 15_000 + '" = 1',
        "a dollar quote that is not closed": FROM + "o_comment = $a$" + "x$" * 30_000,
        "60,000 dollars": FROM + "$" * 60_000,
        "comments in comments": FROM + "/* " * 10_000 + "*/ " * 10_000 + "nothing = 1",
        "a string of 30,000 quotes": f"{FROM}o_comment = '" + "''" * 30_000 + "' AND nothing = 1",
        "a string of 30,000 escapes": f"{FROM}o_comment = E'" + "\\x41" * 15_000 + "' AND nothing = 1",
        "60,000 blanks and a mistake": FROM + " \n" * 30_000 + "nothing = 1",
        "60,000 semicolons": "SELECT COUNT(*) FROM orders" + ";" * 60_000,
        "1e999999999": f"{FROM}{COLUMN} > 1e999999999",
        "LIKE with 30,000 signs": f"{FROM}o_comment LIKE '{'%a' * 15_000}'",
        "a pattern that backtracks": f"{FROM}o_comment SIMILAR TO '{'(a|a)*' * 28}b'",
        "a command in a command": "CALL BEGIN " * 5_000,
        "templates": "SELECT {{" + "{%" * 20_000,
    }  # fmt: skip


def _nested() -> dict[str, str]:
    """Return what nests, and is read by recursion."""
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
        "a power of powers": f"{FROM}{COLUMN} = " + "9 ** " * 90 + "9 AND nothing = 1",
        "90 subqueries, one in another": f"SELECT COUNT(nothing) FROM ({nested}) AS t",
        "500 functions": f"{FROM}{COLUMN} = " + "ABS(" * 500 + "1" + ")" * 500,
        "29 functions, and a mistake": f"{FROM}{COLUMN} = " + "ABS(" * 29 + "nothing" + ")" * 29,
        "CASE in ELSE, 29 times": f"{FROM}{COLUMN} = " + f"CASE WHEN {COLUMN} > 1 THEN 1 ELSE " * 29 + "nothing" + " END" * 29,
        "28 subqueries, and a mistake": FROM + "EXISTS (SELECT 1 FROM orders WHERE " * 28 + "nothing = 1" + ")" * 28,
        "28 subqueries around 400 conditions": FROM + "EXISTS (SELECT 1 FROM orders WHERE " * 28 + f"{COLUMN} > 1 OR " * 400 + "nothing = 1" + ")" * 28,
        "14 values of values": f"SELECT COUNT(*) FROM orders WHERE {COLUMN} > " + f"(SELECT MAX({COLUMN} + " * 14 + f"{COLUMN} + 1 " * 1 + "+ 1" * 90 + ") FROM orders)" * 14,
        "types that could be functions": f"{FROM}{COLUMN} = " + "INT(" * 26 + "1" + ")" * 26,
        "structures that could be types": "SELECT " + "STRUCT(" * 26 + "1" + ")" * 26 + " FROM orders",
        "types in types": f"SELECT CAST({COLUMN} AS " + "STRUCT(a " * 29 + "INT" + ")" * 29 + ") FROM orders",
        "lists in lists": f"{FROM}{COLUMN} IN (" + "[" * 29 + "1" + "]" * 29 + ")",
        "maps in maps": "SELECT " + "MAP {1: " * 29 + "1" + "}" * 29 + " FROM orders",
        "functions of functions of a row": "SELECT " + "f(x -> " * 29 + "1" + ")" * 29 + " FROM orders",
        "windows in windows": "SELECT " + "SUM(1) OVER (ORDER BY " * 29 + "1" + ")" * 29 + " FROM orders",
        "INTERVAL, 1,000 times": f"{FROM}o_orderdate > " + "INTERVAL " * 1_000 + "'1' DAY",
        "BETWEEN, 400 times": f"{FROM}{COLUMN} " + "BETWEEN 1 AND 2 = " * 400 + "nothing",
        "dots, 1,000 times": "SELECT COUNT(*) FROM orders WHERE x" + ".x" * 1_000 + " = 1",
        "powers of a column": f"SELECT SUM({COLUMN}" + f" * {COLUMN}" * 90 + ") FROM orders",
    }  # fmt: skip


def _long() -> dict[str, str]:
    """Return what goes on and on, beyond the limits and just within them."""
    same = "o.o_custkey = o{0}.o_custkey"
    joins = " ".join(f"JOIN orders o{i} ON {same.format(i)}" for i in range(400))
    wide = _listed(f"COUNT(*) AS n{i}" for i in range(1_200))
    return {
        "a sum of 2,400 numbers": f"{FROM}{COLUMN} = " + "1 + " * 2_400 + "1",
        "IN with 200,000 numbers": f"{FROM}{COLUMN} IN (" + ",".join(map(str, range(200_000))) + ")",
        "IN with 9,000 numbers": f"{FROM}{COLUMN} IN (" + "1," * 8_999 + "1)",
        "IN with 2,400 numbers, and a mistake": f"{FROM}nothing IN (" + "1," * 2_399 + "1)",
        "1,200 conditions, and a mistake": FROM + f"{COLUMN} > 1 OR " * 1_200 + "nothing = 1",
        "1,200 statistics, and a mistake": f"SELECT {wide}, SUM(nothing) FROM orders",
        "600 parts of a UNION": "SELECT COUNT(*) FROM (" + " UNION ALL ".join(["SELECT o_custkey FROM orders"] * 600) + ") AS t",
        "400 joins": f"SELECT COUNT(*) FROM orders AS o {joins}",
        "400 tables in a list": "SELECT COUNT(*) FROM " + ", ".join(f"orders AS o{i}" for i in range(400)),
        "200 EXISTS": FROM + " AND ".join(["EXISTS (SELECT 1 FROM orders WHERE TRUE)"] * 200),
        "2,400 different names": FROM + " = ".join(f"a{i}" for i in range(2_400)),
        "1,600 statements": "SELECT 1;" * 1_600,
        "5,000 columns": f"SELECT {_listed(f'a{i}' for i in range(5_000))} FROM orders",
        "430 statistics, and a mistake": f"SELECT {_listed(['COUNT(*)'] * 430)}, SUM(nothing) FROM orders",
        "300 different sums, and a mistake": f"SELECT {_listed(f'SUM({COLUMN} + {i})' for i in range(300))}, SUM(nothing) FROM orders",
        "500 keys, and a mistake": f"SELECT COUNT(*) FROM orders GROUP BY {_listed(f'{COLUMN} + {i}' for i in range(500))}, nothing",
        "200 keys shown, and a mistake": f"SELECT {_listed(f'{COLUMN} + {i}' for i in range(200))}, nothing FROM orders GROUP BY {_listed(f'{COLUMN} + {i}' for i in range(200))}",
        "300 branches, and a mistake": f"SELECT SUM(CASE {' '.join(f'WHEN {COLUMN} < {i} THEN {i}' for i in range(300))} ELSE nothing END) FROM orders",
        "1,050 numbers, and a mistake": f"{FROM}{COLUMN} IN ({_listed(range(1_050))}) AND nothing = 1",
        "500 conditions on a public table, and a mistake": "SELECT COUNT(*) FROM nation WHERE " + "n_nationkey > 1 OR " * 500 + "nothing = 1",
        "500 conditions, and a mistake": FROM + f"{COLUMN} > 1 OR " * 500 + "nothing = 1",
        "250 conditions on noisy values": f"SELECT COUNT(*) FROM orders HAVING {'COUNT(*) > 1 OR ' * 250} nothing > 1",
        "1,000 texts in a row": f"{FROM}o_comment = " + "'a' || " * 1_000 + "nothing",
        "ORDER BY with 3,000 columns": f"SELECT COUNT(*) AS n FROM orders ORDER BY {_listed(['n'] * 3_000)}",
        "ORDER BY with 1,050 columns, and a mistake": f"SELECT COUNT(*) AS n FROM orders ORDER BY {_listed(['n'] * 1_050)}, nothing",
        "VALUES with 5,000 rows": f"SELECT COUNT(*) FROM (VALUES {_listed(['(1)'] * 5_000)}) AS t",
        "VALUES with 501 rows": f"SELECT COUNT(*) FROM (VALUES {_listed(['(1)'] * 501)}) AS t",
        "1,000 parameters without a value": f"{FROM}{COLUMN} IN ({_listed(['?'] * 1_000)})",
        "1,000 numbered parameters": f"{FROM}{COLUMN} IN ({_listed(f'${i}' for i in range(1, 1_001))})",
        "250 windows": f"SELECT {_listed([f'SUM({COLUMN}) OVER ()'] * 250)} FROM orders",
        "180 casts": f"SELECT {_listed([f'CAST({COLUMN} AS DECIMAL(9, 2))'] * 180)} FROM orders",
        "PIVOT on 1,000 values": f"SELECT * FROM orders PIVOT (COUNT(*) FOR o_orderstatus IN ({_listed(range(1_000))}))",
        "90 SELECTs, and a mistake": "SELECT COUNT(*) FROM (" + " UNION ALL ".join(["SELECT o_custkey FROM orders"] * 90) + " UNION ALL SELECT nothing FROM orders) AS t",
        "90 joins, and a mistake": f"SELECT COUNT(*) FROM orders AS o {' '.join(f'JOIN orders o{i} ON o.o_custkey = o{i}.o_custkey' for i in range(90))} WHERE o1.o_totalpric = 1",
        "2,000 CTEs in a chain": f"WITH c0 AS (SELECT o_custkey FROM orders), {_listed(f'c{i} AS (SELECT o_custkey FROM c{i - 1})' for i in range(1, 2_000))} SELECT COUNT(*) FROM c1999",
        "90 CTEs in a chain, and a mistake": f"WITH c0 AS (SELECT o_custkey FROM orders), {_listed(f'c{i} AS (SELECT o_custkey FROM c{i - 1})' for i in range(1, 90))} SELECT COUNT(nothing) FROM c89",
    }  # fmt: skip


def _doubling() -> dict[str, str]:
    """Return what is short and stands for much."""
    fan = ", ".join(
        f"{new} AS (SELECT x.o_custkey FROM {old} AS x JOIN {old} AS y ON x.o_custkey = y.o_custkey)"
        for old, new in zip("abcdefghijklmnopqrs", "bcdefghijklmnopqrst", strict=True)
    )
    return {
        "a WITH that doubles 19 times": f"WITH a AS (SELECT o_custkey FROM orders), {fan} SELECT COUNT(*) FROM t",
        "a pattern that explodes": FROM + "REGEXP_MATCHES(o_orderpriority, '((a{1,99}){1,99}){1,99}$')",
        "CUBE of 12 columns": "SELECT COUNT(*) FROM orders GROUP BY CUBE (" + ", ".join(["o_orderpriority"] * 12) + ")",
        "1,000 grouping sets": "SELECT COUNT(*) FROM orders GROUP BY GROUPING SETS (" + ", ".join(["(o_orderpriority)"] * 1_000) + ")",
        "CTEs of themselves twice": f"WITH c0 AS (SELECT o_custkey FROM orders), {_listed(f'c{i} AS (SELECT * FROM c{i - 1} AS x, c{i - 1} AS y)' for i in range(1, 40))} SELECT COUNT(*) FROM c39",
        "a long CTE, read 40 times": f"WITH c AS (SELECT o_custkey FROM orders WHERE {' OR '.join(f'{COLUMN} = {i}' for i in range(300))}) SELECT COUNT(*) FROM c {' '.join(f'JOIN c c{i} ON c.o_custkey = c{i}.o_custkey' for i in range(40))}",
        "a recursive CTE": "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t) SELECT COUNT(*) FROM t",
        "CUBE of 26 columns": f"SELECT COUNT(*) FROM orders GROUP BY CUBE ({_listed('abcdefghijklmnopqrstuvwxyz')})",
        "ROLLUP times ROLLUP": f"SELECT COUNT(*) FROM orders GROUP BY {_listed(['ROLLUP (o_orderstatus, o_orderpriority)'] * 300)}",
        "500 grouping sets": f"SELECT COUNT(*) FROM orders GROUP BY GROUPING SETS ({_listed(['(o_orderpriority)'] * 500)})",
    }  # fmt: skip


def _searched() -> dict[str, str]:
    """Return what is refused soon, and near which another question is looked for."""
    return {
        "rows of a wide list (rewritten)": "SELECT " + ", ".join(["o_orderpriority", "o_orderstatus", "o_orderdate"] * 30) + " FROM orders",
        "ten tables without a link (rewritten)": "SELECT COUNT(*) FROM " + ", ".join(f"orders AS o{i}" for i in range(10)),
        "nine subqueries across units (rewritten)": FROM + " AND ".join([f"{COLUMN} > (SELECT {COLUMN} FROM orders)"] * 9),
        "a mistyped name in 1,100 letters (rewritten)": FROM + f"{COLUMN} > 1 OR " * 58 + "o_totalpric > 1",
        "60 tables without a link (rewritten)": "SELECT COUNT(*) FROM " + _listed(f"orders AS o{i}" for i in range(60)),
        "25 lists and a subquery (rewritten)": FROM + "".join(f"{COLUMN} IN (1) AND " for _ in range(25)) + f"{COLUMN} > (SELECT {COLUMN} FROM orders)",
        "a column of 31 tables (rewritten)": f"SELECT COUNT({COLUMN}) FROM orders AS o {' '.join(f'JOIN orders o{i} USING (o_custkey)' for i in range(30))}",
        "a text compared with 60 numbers": FROM + " AND ".join(["o_comment < 1"] * 60),
        "30 statistics of individuals (rewritten)": f"SELECT o_custkey, {_listed(f'SUM({COLUMN} + {i})' for i in range(30))} FROM orders GROUP BY o_custkey",
        "30 statistics without bounds (rewritten)": f"SELECT {_listed(f'SUM(l_partkey * {i})' for i in range(30))} FROM lineitem",
    }  # fmt: skip
