"""An expression for every operator of the allow-list, and how plain DuckDB says the same.

The columns are a and b (whole numbers, b without bounds), r, f and u (real ones, u without bounds), d
and e (dates), s and z (timestamps), ok (a truth value), w and v (texts).
"""

# ruff: noqa: E501  (an expression stands on one line)
from __future__ import annotations

import re
from collections.abc import Mapping


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Return an expression with other columns, or constants, in place of its columns."""
    parts = re.split(r"('(?:[^']|'')*')", text)
    parts[::2] = [
        re.sub(r"\b[a-z]+\b", lambda word: names.get(word[0], word[0]), part) for part in parts[::2]
    ]
    return "".join(parts)


# an expression, and how plain DuckDB says it where that differs (None: it cannot)
SAME = "the same"
EXPRESSIONS: dict[str, str | None] = {
    **dict.fromkeys(
        [
            "a + b", "r - a", "f * u", "-b", "a % 7", "u % 3", "MOD(a, 5)", "a // 3", "ABS(b)", "SIGN(u)",
            "ROUND(u, 1)", "ROUND(a, -1)", "TRUNC(u, 2)", "TRUNC(f)", "FLOOR(u)", "CEIL(f)", "CEILING(r)",
            "LEAST(a, b, 3)", "GREATEST(d, e)", "LEAST(w, v)", "GREATEST(s, z)",
            "CBRT(u)", "EXP(f)", "POWER(a, 2)", "POW(f, 3)", "a ^ 2", "SIN(u)", "COS(f)", "TAN(f)",
            "ATAN(u)", "ATAN2(r, f)", "SINH(f)", "COSH(r)", "TANH(u)", "ASINH(u)", "DEGREES(r)", "RADIANS(u)",
            "PI()", "GCD(a, b)", "LCM(a, 12)", "a & 6", "b | a", "XOR(a, b)", "~b", "b >> 2", "a << 3",
            "BIT_COUNT(b)", "ISNAN(u)", "ISINF(u)", "ISFINITE(f)",
            "a = b", "a <> 7", "r < f", "a <= 7", "u > f", "d >= e", "a IS DISTINCT FROM b",
            "w IS NOT DISTINCT FROM v", "a IN (1, 7)", "w IN ('Rome', NULL)", "a BETWEEN 1 AND 12",
            "ok AND a > 3", "ok OR a > 3", "NOT ok", "w IS NULL", "ok IS TRUE", "ok IS FALSE",
            "CASE WHEN ok THEN a ELSE b END", "CASE v WHEN 'a' THEN 1 WHEN 'R' THEN 2 END",
            "COALESCE(a, b, 0)", "IFNULL(w, v)", "NULLIF(a, 7)", "IF(ok, w, v)",
            "LOWER(w)", "UPPER(w)", "REVERSE(w)", "STRIP_ACCENTS(w)", "TRIM(w)", "LTRIM(w)", "RTRIM(w)",
            "TRIM(w, 'Ra ')", "TRIM(LEADING 't' FROM w)", "TRIM(BOTH FROM w)", "LENGTH(w)", "LEN(w)", "STRLEN(w)",
            "BIT_LENGTH(w)", "SUBSTRING(w, 2, 3)", "SUBSTR(w, a)", "SUBSTRING(w FROM 3 FOR 2)", "SUBSTRING(w, -3, 2)",
            "LEFT(w, 3)", "LEFT(w, -2)", "RIGHT(w, a)", "SPLIT_PART(w, ',', 2)", "SPLIT_PART(w, ' ', -1)",
            "REPLACE(w, 'o', 'oo')", "REPLACE(w, 'Rome', '')", "TRANSLATE(w, 'abc', 'xy')",
            "CONCAT(w, v, a)", "w || '-' || v", "w || a", "CONCAT_WS('/', w, v, d)", "LPAD(w, 6, '*')", "RPAD(w, 12, 'ab')",
            "REPEAT(v, 3)", "STARTS_WITH(w, v)", "w ^@ 'R'", "ENDS_WITH(w, 'x')", "CONTAINS(w, 'o')",
            "STRPOS(w, 'o')", "POSITION('o' IN w)", "INSTR(w, 'é')", "ASCII(w)", "UNICODE(w)", "ORD(v)",
            "w LIKE '%o%'", "w NOT LIKE '_o%'", "w ILIKE 'r%'", "w LIKE 'a!%%' ESCAPE '!'",
            "REGEXP_MATCHES(w, '^[A-Z][a-z]+$')", "REGEXP_MATCHES(w, 'R', 'i')", "w ~ 'o[mx]'", "w !~ 'o'", "w ~* 'ROME'",
            "REGEXP_FULL_MATCH(w, '(a|b|,)+c')", "w SIMILAR TO '[a-z ]+.*'", "w NOT SIMILAR TO 'R.{2,5}'",
            "REGEXP_EXTRACT(w, '([a-z]+)-([a-z]+)', 2)", "REGEXP_EXTRACT(w, '\\d+')",
            "REGEXP_REPLACE(w, '[aeiou]', '<\\0>', 'g')", "REGEXP_REPLACE(w, '(\\w+),', '\\1;')", "REGEXP_REPLACE(w, '', '-', 'g')",
            "CAST(a AS VARCHAR)", "CAST(u AS VARCHAR)", "CAST(s AS VARCHAR)", "CAST(ok AS DOUBLE)", "CAST(r AS BOOLEAN)",
            "CAST(a AS BOOLEAN)", "CAST(z AS DATE)", "CAST(d AS TIMESTAMP)", "CAST(ok AS INTEGER)", "a::DOUBLE", "CAST(a AS BIGINT)",
            "YEAR(d)", "QUARTER(e)", "MONTH(s)", "WEEK(d)", "WEEKOFYEAR(d)", "DAY(e)", "DAYOFMONTH(d)", "DAYOFWEEK(d)", "WEEKDAY(s)",
            "ISODOW(e)", "DAYOFYEAR(d)", "YEARWEEK(e)", "ISOYEAR(d)", "DECADE(e)", "CENTURY(e)", "MILLENNIUM(z)",
            "HOUR(s)", "MINUTE(z)", "SECOND(z)", "MILLISECOND(z)", "MICROSECOND(s)", "EXTRACT(epoch FROM z)",
            "EXTRACT(isoyear FROM e)", "DATE_PART('dow', s)", "EPOCH(d)", "EPOCH(z)", "EPOCH_MS(z)",
            *(f"DATE_TRUNC('{unit}', z)" for unit in ["year", "quarter", "month", "week", "day", "hour", "minute"]),
            "e + INTERVAL 1 MONTH", "d - INTERVAL '1 year 2 months'", "z + INTERVAL 90 MINUTE", "s - INTERVAL '3' DAY", "e + 30",
            "e - d", "d + INTERVAL (a) DAY", "DATE_ADD(e, INTERVAL 2 WEEK)", "e < DATE '2000-01-31' + INTERVAL 1 MONTH",
            *(f"DATE_DIFF('{unit}', d, e)" for unit in ["year", "quarter", "month", "week", "day", "hour", "second"]),
            *(f"DATEDIFF('{unit}', s, z)" for unit in ["year", "week", "day", "hour", "minute", "second", "millisecond"]),
            *(f"DATE_SUB('{unit}', d, e)" for unit in ["year", "quarter", "month", "week", "day", "hour", "minute", "second"]),
            *(f"DATE_SUB('{unit}', s, z)" for unit in ["year", "month", "week", "hour", "millisecond"]),
            "DATE_DIFF('day', d, z)", "YEAR(AGE(e, d))", "EXTRACT(year FROM AGE(s, z))",
            "MAKE_DATE(2000 + a, 1 + a % 12, 28)", "LAST_DAY(e)", "LAST_DAY(z)", "DAYNAME(d)", "MONTHNAME(z)",
            "STRFTIME(z, '%Y-%m-%d %H:%M:%S.%f')", "STRFTIME('%d.%m.%y', d)", "STRFTIME(e, '%a %A %b %B %j %-d %-m %p %I %U %W %w %u %V %G %%')",
        ],
        SAME,
    ),
    "d - a": "d - a::INTEGER",
    "f / NULLIF(a, 0)": SAME,
    "u / a": "u / NULLIF(a, 0)",
    "SAFE_DIVIDE(a, b)": "a / NULLIF(b, 0)",
    "SQRT(u)": "CASE WHEN u >= 0 THEN SQRT(u) END",
    "LN(u)": "CASE WHEN u > 0 THEN LN(u) END",
    "LOG1P(u)": "CASE WHEN u > -1 THEN CASE WHEN 1 + u = 1 THEN u ELSE LN(1 + u) * (u / ((1 + u) - 1)) END END",
    "LOG10(u)": "CASE WHEN u > 0 THEN LOG10(u) END",
    "LOG2(f)": SAME,
    "LOG(f)": SAME,
    "LOG(3, f)": SAME,
    "LOG(f, 3)": "CASE WHEN f <> 1 THEN LOG(f, 3) END",
    "COT(f)": SAME,
    "ASIN(u)": "CASE WHEN abs(u) <= 1 THEN ASIN(u) END",
    "ACOS(r)": "CASE WHEN abs(r) <= 1 THEN ACOS(r) END",
    "ACOSH(f)": "CASE WHEN f >= 1 THEN ACOSH(f) END",
    "ATANH(u)": "CASE WHEN abs(u) < 1 THEN ATANH(u) END",
    "WIDTH_BUCKET(u, 0, 10, 5)": "CASE WHEN u < 0 THEN 0 WHEN u >= 10 THEN 6 ELSE floor(u / 2) + 1 END",
    "CHR(b)": "CASE WHEN b >= 0 AND b <= 1114111 THEN chr(b::INTEGER) END",
    "INITCAP(w)": None,
    "NVL2(a, w, v)": "CASE WHEN a IS NOT NULL THEN w ELSE v END",
    "DECODE(a, 1, w, NULL, 'none', 3, v)": "CASE WHEN a = 1 THEN w WHEN a IS NULL THEN 'none' "
    "WHEN a = 3 THEN v END",
    "DECODE(w, v, 1, 'x', 2, 0)": "CASE WHEN w IS NOT DISTINCT FROM v THEN 1 WHEN w = 'x' THEN 2 ELSE 0 END",
    "DIV(b, a)": "b // a",
    "a DIV 3": "a // 3",
    "ZEROIFNULL(a)": "COALESCE(a, 0)",
    "NULLIFZERO(a)": "NULLIF(a, 0)",
    "DIV0(u, a)": "CASE WHEN u IS NULL OR a IS NULL THEN NULL WHEN a = 0 THEN 0 ELSE u / a END",
    "RANGE_BUCKET(u, [-3, 0.5, 2])": "CASE WHEN u IS NOT NULL THEN (u >= -3)::INTEGER + (u >= 0.5)::INTEGER "
    "+ (u >= 2)::INTEGER END",
    "w LIKE ANY ('%o%', 'R%')": "w LIKE '%o%' OR w LIKE 'R%'",
    "w LIKE ALL ('%o%', 'R%')": "w LIKE '%o%' AND w LIKE 'R%'",
    "IFF(ok, a, b)": "IF(ok, a, b)",
    "LPAD(w, 6)": "LPAD(w, 6, ' ')",
    "STARTSWITH(w, 'R')": "STARTS_WITH(w, 'R')",
    "CHARINDEX('o', w)": "STRPOS(w, 'o')",
    "REGEXP_CONTAINS(w, 'o')": "REGEXP_MATCHES(w, 'o')",
    "REGEXP_LIKE(w, 'o')": "REGEXP_MATCHES(w, 'o')",
    "CAST(w AS TINYINT)": "TRY_CAST(w AS TINYINT)",
    "CAST(b AS SMALLINT)": "TRY_CAST(b AS SMALLINT)",
    "SAFE_CAST(w AS INT64)": "TRY_CAST(w AS BIGINT)",
    "CAST(u AS INTEGER)": "TRY_CAST(u AS INTEGER)",
    # a decimal is a DOUBLE here: halves go to the even neighbour, and away from zero where rounded
    "a + 10 * CAST(2.5 AS BIGINT) + CAST(-3.5 AS BIGINT)": "a + 20 - 4",
    "a + 10 * CAST(ROUND(2.5) AS BIGINT)": "a + 30",
    "CAST(w AS FLOAT64)": "TRY_CAST(w AS DOUBLE)",
    "w::DATE": "TRY_CAST(w AS DATE)",
    "TIMESTAMP(w)": "TRY_CAST(w AS TIMESTAMP)",
    "DATE(z)": "CAST(z AS DATE)",
    "DATEADD(month, a, e)": "e + to_months(a::INTEGER)",
    "DATEADD(hour, 5, d)": "d + INTERVAL 5 HOUR",
    "ADD_MONTHS(e, -1)": "e - INTERVAL 1 MONTH",
    "DATE_SUB(e, INTERVAL 3 DAY)": "e - INTERVAL 3 DAY",
    "DATE_DIFF(e, d, MONTH)": "DATE_DIFF('month', d, e)",
    "DATEDIFF(month, d, e)": "DATE_DIFF('month', d, e)",
    "TIMESTAMPDIFF(year, d, e)": "DATE_SUB('year', d, e)",
    "TIMESTAMP_DIFF(z, s, HOUR)": "DATE_SUB('hour', s, z)",
    "DATE_TRUNC(e, MONTH)": "DATE_TRUNC('month', e)",
    "MAKE_DATE(b, a, 31)": "TRY(MAKE_DATE(CASE WHEN b BETWEEN 1 AND 9999 THEN b END, a, 31))",
    "TO_TIMESTAMP(u)": "make_timestamp(round(u * 1e6)::BIGINT)",
    "TO_TIMESTAMP(b)": "make_timestamp(b * 1000000)",
    "TO_CHAR(z, 'YYYY-MM-DD HH24:MI')": "STRFTIME(z, '%Y-%m-%d %H:%M')",
    "FORMAT_DATE('%F', d)": "STRFTIME(d, '%Y-%m-%d')",
    "DATE_FORMAT(z, '%Y-%m %i')": "STRFTIME(z, '%Y-%m %M')",
    "STRPTIME(w, '%d.%m.%Y')": "try_strptime(w, '%d.%m.%Y')",
    "TO_DATE(w, 'DD.MM.YYYY')": "try_strptime(w, '%d.%m.%Y')::DATE",
    "PARSE_DATE('%Y-%m-%d', w)": "try_strptime(w, '%Y-%m-%d')::DATE",
    "TO_DATE(w)": "TRY_CAST(w AS DATE)",
}  # fmt: skip
