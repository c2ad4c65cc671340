"""Each thing an owner can write wrongly: the place that is named, and the words that explain it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from sanql.errors import Fault, PolicyError
from sanql.policy import load

Write = Callable[[str], Path]
Text = Callable[..., str]


def faults_of(path: Path) -> tuple[Fault, ...]:
    with pytest.raises(PolicyError) as caught:
        load(path)
    return caught.value.faults


def check_only_fault(path: Path, place: str, words: str) -> None:
    """Check that there is one fault, with the place, on a line that shows it, and all the words."""
    faults = faults_of(path)
    assert len(faults) == 1, faults
    named, _, line = faults[0].place.partition(" (line ")
    assert named == place
    said = f"{faults[0].message}; {faults[0].remedy}"
    assert [word for word in words.split(" & ") if word not in said] == [], said
    assert faults[0].remedy
    shown = path.read_text(encoding="utf-8").splitlines()[int(line.rstrip(")")) - 1]
    assert any(part in shown for part in re.split(r"[\[\]. \"]+", place) if part), shown


DATASET = [
    ("name", None, "name is missing"),
    ("name", '""', "name is left blank"),
    ("name", "7", "expected a text in quotes, not 7"),
    ("name", '"a/b"', 'the name "a/b" has a slash'),
    ("name", '"..\\\\b"', "has a slash"),
    ("name", '".hidden"', "begins with a dot"),
    ("name", '"a\\u0007b"', '"a\\U00000007b" has a control'),
    ("name", '"a\\u202Eb"', '"a\\U0000202Eb" has a control or invisible'),
    ("name", '"o\'clock"', "has a quotation mark & rename"),
    ("name", '" x"', "spaces around it"),
    ("name", f'"{"x" * 201}"', "longer than 200 characters & …"),
    ("source", "['data']", 'not ["data"]'),
    ("source", '"postgres://ana:secret@host/db"', "has a password in it & source_password_file"),
    ("source", '"spark:local"', '"spark:…" is not available yet & folder of .parquet'),
    ("source", '"s3://key:secret@bucket/x"', "has credentials in it & environment"),
    ("source", '"data/*.parquet"', "is a pattern & folder itself"),
    ("source", '"people.json"', '"people.json" is not available yet & .parquet'),
    ("source", '"people.csv.gz"', "not available yet"),
    ("source", '"a\\u0000b"', "control"),
    ("ledger", "1", "expected a text"),
    ("ledger", '""', "ledger is left blank"),
    ("ledger", '"data"', "is the policy or the source itself"),
    ("ledger", '"policy.toml"', "is the policy or the source itself"),
    ("ledger", '"accounts/"', '"accounts/" is a folder'),
    ("neighbours", None, "neighbours is missing & add-remove & change-one"),
    ("neighbours", '""', "neighbours is left blank & add-remove & change-one"),
    ("neighbours", '"addremove"', 'unknown value "addremove" & write "add-remove"'),
    ("neighbours", '"both"', 'the choices here are "add-remove", "change-one"'),
    ("neighbours", "true", "not true"),
    ("accounting", None, 'accounting is missing & "pure" & "renyi"'),
    ("accounting", '"Renyi"', 'unknown value "Renyi" & write "renyi"'),
    ("accounting", '""', "left blank"),
    ("budget", None, "budget is missing & epsilon"),
    ("budget", "4", "expected a section with keys, not 4 & epsilon"),
    ("budget", '""', "budget is left blank"),
    ("budget", "[4, 1e-6]", "not [4, 1e-6]"),
    ("budget.delta", "{ epsilon = 1 }", "delta is missing"),
    ("budget.delta", "{ epsilon = 1, delta = 0 }", '"renyi" needs a delta above 0'),
    ("budget.delta", "{ epsilon = 1, delta = 1 }", "1 is not at least 0 and below 1"),
    ("budget.delta", "{ epsilon = 1, delta = 1.0 }", "1.0 is not at least 0 and below 1"),
    ("budget.delta", "{ epsilon = 1, delta = -1e-9 }", "-1e-9 is not at least 0"),
    ("budget.delta", "{ epsilon = 1, delta = nan }", "nan is not a finite number"),
    ("budget.delta", "{ epsilon = 1, delta = 1e-320 }", "1e-320 is too large or too small"),
    ("budget.epsilon", "{ delta = 1e-6 }", "epsilon is missing"),
    ("budget.epsilon", '{ epsilon = "", delta = 1e-6 }', "epsilon is left blank"),
    ("budget.epsilon", '{ epsilon = "4", delta = 1e-6 }', 'the text "4" & remove the quotes'),
    ("budget.epsilon", '{ epsilon = "１", delta = 1e-6 }', 'the text "１"'),
    ("budget.epsilon", "{ epsilon = true, delta = 1e-6 }", "expected a number, not true"),
    ("budget.epsilon", "{ epsilon = 2024-01-01, delta = 1e-6 }", "not 2024-01-01"),
    ("budget.epsilon", "{ epsilon = 0, delta = 1e-6 }", "0 is not above 0"),
    ("budget.epsilon", "{ epsilon = -1, delta = 1e-6 }", "-1 is not above 0"),
    ("budget.epsilon", "{ epsilon = -0.0, delta = 1e-6 }", "-0.0 is not above 0"),
    ("budget.epsilon", "{ epsilon = nan, delta = 1e-6 }", "nan is not a finite number"),
    ("budget.epsilon", "{ epsilon = +inf, delta = 1e-6 }", "+inf is not a finite number"),
    ("budget.epsilon", "{ epsilon = 5e-324, delta = 1e-6 }", "too large or too small"),
    ("budget.epsilon", "{ epsilon = 1e999999999, delta = 1e-6 }", "too large or too small"),
    ("budget.epsilon", f"{{ epsilon = 0.{'1' * 90}, delta = 1e-6 }}", "too many digits"),
    ("budget.epsilon", f"{{ epsilon = {'9' * 90}, delta = 1e-6 }}", "over 40 digits"),
    ("budget.epsilon", f"{{ epsilon = 0x{'f' * 9000}, delta = 1e-6 }}", "over 40 digits"),
    ("budget.epsilon", "{ epsilon = 1e7, delta = 1e-6 }", "1e7 is not between & 1000000"),
    ("budget.epsilon", "{ epsilon = 1e-10, delta = 1e-6 }", "1e-10 is not between 0.000000001"),
    ("budget.eps", "{ epsilon = 1, delta = 1e-6, eps = 1 }", 'unknown key "eps" & "epsilon"'),
    ("delta_per_query", "1e-5", "0.00001 is more than the dataset's delta 0.000001"),
    ("delta_per_query", "0", "leave delta_per_query out"),
    ("delta_per_query", "1.5", "below 1"),
    ("delta_per_query", '""', "left blank"),
    ("failures_max", "0", "0 is not between 1 and 1000000"),
    ("failures_max", "-3", "-3 is not between"),
    ("failures_max", "2.0", "expected an integer, not 2.0"),
    ("failures_max", "true", "expected an integer, not true"),
    ("failures_max", '"20"', 'expected an integer, not the text "20"'),
    ("neighbors", '"add-remove"', 'unknown key "neighbors" & write "neighbours"'),
    ("colour", "1", 'unknown key "colour" & "failures_max"'),
]


@pytest.mark.parametrize(("key", "value", "words"), DATASET)
def test_a_fault_in_the_dataset_is_named(
    write: Write, policy_text: Text, key: str, value: str | None, words: str
) -> None:
    path = write(policy_text({key.partition(".")[0]: value}))
    check_only_fault(path, f"[dataset] {key}", words)


TABLES = [
    ("", "[table]", "no table is declared"),
    ("table = {}", "[table]", "no table is declared"),
    ("table = 3", "[table]", "expected a section with keys, not 3"),
    ("[[table]]", "[table]", "expected a section with keys"),
    ("table = { t = 3 }", "[table.t]", "expected a section with keys, not 3"),
    ("[table.t]", "[table.t]", "declares nothing & privacy_unit"),
    ("[table.t.column]\n", "[table.t] privacy_unit", "is missing & public = true"),
    ("[table.t]\npublic = false", "[table.t] privacy_unit", "privacy_unit is missing"),
    ("[table.t]\npublic = 'yes'", "[table.t] public", 'expected true or false, not "yes"'),
    ("[table.t]\nprivacy_unit = ''", "[table.t] privacy_unit", "left blank & public = true"),
    ("[table.t]\nprivacy_unit = 4", "[table.t] privacy_unit", "not 4"),
    ("[table.t]\nprivacy_unit = 'a\"b'", "[table.t] privacy_unit", "quotation mark"),
    (
        "[table.t]\nprivacy_unit = { via = 'person_id', references = 'people' }\nunique = true",
        "[table.t] privacy_unit.references",
        'no table "people" is declared',
    ),
    (
        "[table.t]\nprivacy_unit = { via = 'person_id' }\nunique = true",
        "[table.t] privacy_unit.references",
        "references is missing & orders.id",
    ),
    (
        "[table.t]\nprivacy_unit = { via = 'a', references = 'p', on = 'b' }\nunique = true\n"
        "[table.p]\nprivacy_unit = 'b'\nunique = true",
        "[table.t] privacy_unit.on",
        'unknown key "on"',
    ),
    (
        "[table.t]\nprivacy_unit = { via = 'a', references = 'p' }\nunique = true\n"
        "[table.p]\npublic = true",
        "[table.t] privacy_unit.references",
        'the table "p" is public & refer to a table whose privacy_unit is a column',
    ),
    (
        "[table.t]\nprivacy_unit = { via = 'a', references = 'p' }\nunique = true\n"
        "[table.p]\nprivacy_unit = 'row'",
        "[table.t] privacy_unit.references",
        "protects each row by itself",
    ),
    (
        "[table.t]\nprivacy_unit = { via = 'a', references = 't' }\nunique = true",
        "[table.t] privacy_unit.references",
        "lead back to this table",
    ),
    (
        "[table.t]\nprivacy_unit = { via = 'a', references = 'o' }\nunique = true\n"
        "[table.o]\nprivacy_unit = { via = 'b', references = 'p' }\nunique = true\n"
        "[table.p]\nprivacy_unit = 'b'\nunique = true",
        "[table.t] privacy_unit.references",
        'which column of "o" is meant & key = "COLUMN"',
    ),
    ("[table.t]\nprivacy_unit = 'Row'", "[table.t] privacy_unit", '"Row" and "row" differ'),
    (
        "[table.t]\nprivacy_unit = 'row'\ncolumn.ROW = { type = 'text' }",
        "[table.t.column] ROW",
        '"ROW" is ambiguous & rename the column',
    ),
    (
        "[table.t]\nprivacy_unit = 'id'\nunique = true\ncolumn.row = { type = 'text' }",
        "[table.t.column] row",
        '"row" is ambiguous',
    ),
    (
        "[table.t]\nprivacy_unit = 'ID'\nunique = true\ncolumn.id = { type = 'text' }",
        "[table.t] privacy_unit",
        '"ID" and "id" differ only by case',
    ),
    (
        "[table.t]\nprivacy_unit = 'id'\nunique = true\ncolumn.id = { type = 'float' }",
        "[table.t] privacy_unit",
        '"id" is a float & integer or a text',
    ),
    ("[table.t]\nprivacy_unit = 'row'\nunique = true", "[table.t] unique", "remove unique"),
    *(
        (f"[table.t]\nprivacy_unit = 'row'\n{key} = 3", f"[table.t] {key}", "a row counts once")
        for key in ("rows_per_unit_max", "rows_per_group_max", "groups_per_unit_max")
    ),
    *(
        (f"[table.t]\npublic = true\n{key} = {value}", f"[table.t] {key}", "a public table has no")
        for key, value in [("privacy_unit", "'id'"), ("unique", "true"), ("rows_per_unit_max", 3)]
    ),
    (
        "[table.t]\npublic = true\ncolumn.x = { type = 'integer', total_bounds = [0, 1] }",
        "[table.t.column] x.total_bounds",
        "public & remove total_bounds",
    ),
    ("[table.t]\nprivacy_unit = 'id'", "[table.t] rows_per_unit_max", "missing & unique = true"),
    (
        "[table.t]\nprivacy_unit = 'id'\nrows_per_group_max = 3",
        "[table.t] rows_per_unit_max",
        "missing & groups_per_unit_max",
    ),
    (
        "[table.t]\nprivacy_unit = 'id'\ngroups_per_unit_max = 3",
        "[table.t] rows_per_unit_max",
        "missing & rows_per_group_max",
    ),
    *(
        (
            f"[table.t]\nprivacy_unit = 'id'\nrows_per_unit_max = {value}",
            "[table.t] rows_per_unit_max",
            words,
        )
        for value, words in [
            ("0", "0 is not between 1 and 1048576"),
            ("-1", "-1 is not between"),
            ("1048577", "1048577 is not between"),
            ("2.5", "expected an integer, not 2.5"),
            ("true", "expected an integer, not true"),
            ("'９'", 'the text "９"'),
            ("''", "left blank"),
        ]
    ),
    (
        "[table.t]\nprivacy_unit = 'id'\nrows_per_unit_max = 3\ngroups_per_unit_max = 4",
        "[table.t] groups_per_unit_max",
        "4 is more than the 3 rows",
    ),
    (
        "[table.t]\nprivacy_unit = 'id'\nrows_per_unit_max = 3\nrows_per_group_max = 4",
        "[table.t] rows_per_group_max",
        "4 is more than the 3 rows",
    ),
    (
        "[table.t]\nprivacy_unit = 'id'\nrows_per_unit_max = 50\nrows_per_group_max = 3\n"
        "groups_per_unit_max = 4",
        "[table.t] rows_per_unit_max",
        "50 rows & 4 groups of 3 rows are 12 & rows_per_unit_max = 12",
    ),
    (
        "[table.t]\nprivacy_unit = 'id'\nrows_per_group_max = 2000\ngroups_per_unit_max = 2000",
        "[table.t] rows_per_group_max",
        "4000000 rows of one unit & 1048576",
    ),
    *(
        (
            f"[table.t]\nprivacy_unit = 'id'\nunique = true\n{key} = 2",
            f"[table.t] {key}",
            f"{key} = 2 contradicts unique",
        )
        for key in ("rows_per_unit_max", "rows_per_group_max", "groups_per_unit_max")
    ),
    ("[table.t]\nprivacy_unit = 'id'\nunique = 1\nrows_per_unit_max = 1", "[table.t] unique", "1"),
    (
        "[table.t]\npublic = true\nprivacy_units = 'id'",
        "[table.t] privacy_units",
        'unknown key "privacy_units" & write "privacy_unit"',
    ),
    (
        "[table.t]\npublic = true\n[table.t.columns]",
        "[table.t] columns",
        'unknown key "columns" & write "column"',
    ),
    ("[table.t]\npublic = true\n[table.T]\npublic = true", "[table.T]", '"T" and "t" differ only'),
    ('[table."a/b"]\npublic = true', '[table."a/b"]', "slash"),
    ('[table."a\\"b"]\npublic = true', '[table."a\\"b"]', "quotation mark"),
    ('[table."a\\tb"]\npublic = true', '[table."a\\tb"]', "control"),
    ('[table.""]\npublic = true', '[table.""]', "empty"),
    ("[table.t]\npublic = true\ncolumn = []", "[table.t.column]", "a line for each column"),
    (
        "[table.t]\npublic = true\ncolumn.age = 'integer'",
        "[table.t.column] age",
        'not "integer" & { type =',
    ),
    (
        "[table.t]\npublic = true\ncolumn.Age = { type = 'text' }\ncolumn.age = { type = 'text' }",
        "[table.t.column] age",
        '"age" and "Age" differ only by case',
    ),
    (
        "[table.t]\npublic = true\n"
        "[table.t.column]\n\"\\u00e9\" = { type = 'text' }\n\"e\\u0301\" = { type = 'text' }",
        '[table.t.column] "e\u0301"',
        "SQL cannot tell them apart",
    ),
    (
        "[table.t]\npublic = true\n[table.t.column]\n'a`b' = { type = 'text' }",
        '[table.t.column] "a`b"',
        "quotation mark",
    ),
]


@pytest.mark.parametrize(("tables", "place", "words"), TABLES)
def test_a_fault_in_a_table_is_named(
    write: Write, policy_text: Text, tables: str, place: str, words: str
) -> None:
    text = policy_text(tables="")
    text = f"{tables}\n{text}" if tables.startswith("table") else f"{text}\n{tables}\n"
    path = write(text)
    if not tables:
        assert [fault.place for fault in faults_of(path)] == [place]
        assert words in faults_of(path)[0].message
    else:
        check_only_fault(path, place, words)


COLUMNS = [
    ("{ bounds = [0, 1] }", "type", "type is missing & integer, decimal, float, text, boolean"),
    ("{ type = '' }", "type", "type is left blank & timestamp"),
    ("{ type = 'int' }", "type", 'unknown value "int" & write "integer"'),
    ("{ type = 'blob' }", "type", 'unknown value "blob" & "date"'),
    ("{ type = 5 }", "type", "not 5"),
    ("{ type = 'text', bound = 1 }", "bound", 'unknown key "bound" & write "bounds"'),
    ("{ type = 'text', bounds = ['a', 'b'] }", "bounds", "a text column has no bounds & remove"),
    ("{ type = 'boolean', bounds = [false, true] }", "bounds", "a boolean column has no bounds"),
    ("{ type = 'integer', bounds = '' }", "bounds", "left blank & [lowest, highest]"),
    ("{ type = 'integer', bounds = 5 }", "bounds", "two values [lowest, highest], not 5"),
    ("{ type = 'integer', bounds = [1] }", "bounds", "not [1]"),
    ("{ type = 'integer', bounds = [1, 2, 3] }", "bounds", "not [1, 2, 3]"),
    ("{ type = 'integer', bounds = [[1], {a = 2}] }", "bounds", "expected a number, not [1]"),
    ("{ type = 'integer', bounds = [120, 0] }", "bounds", "[120, 0] is above the highest"),
    ("{ type = 'integer', bounds = [0, 1.5] }", "bounds", "1.5 is not a whole number"),
    ("{ type = 'integer', bounds = [0, true] }", "bounds", "not true"),
    ("{ type = 'integer', bounds = [0, nan] }", "bounds", "nan is not a finite number"),
    ("{ type = 'integer', bounds = [-inf, 0] }", "bounds", "-inf is not a finite number"),
    ("{ type = 'integer', bounds = [0, '9'] }", "bounds", 'the text "9" & remove the quotes'),
    (f"{{ type = 'integer', bounds = [0, {2**53 + 1}] }}", "bounds", "beyond ±2**53"),
    (f"{{ type = 'integer', bounds = [{-(2**53) - 1}, 0] }}", "bounds", "beyond ±2**53"),
    (f"{{ type = 'integer', bounds = [0, {2**63}] }}", "bounds", "does not fit 64 bits"),
    ("{ type = 'decimal', bounds = [0, 1] }", "precision", "missing beside bounds & 0.01"),
    (
        "{ type = 'float', total_bounds = [0, 1] }",
        "precision",
        "precision is missing beside total_bounds",
    ),
    ("{ type = 'decimal', precision = 0 }", "precision", "0 is not above 0"),
    ("{ type = 'decimal', precision = -0.01 }", "precision", "-0.01 is not above 0"),
    ("{ type = 'float', precision = inf }", "precision", "inf is not a finite number"),
    ("{ type = 'float', precision = '' }", "precision", "left blank"),
    ("{ type = 'integer', precision = 1 }", "precision", "whole steps already & remove precision"),
    ("{ type = 'text', precision = 1 }", "precision", "remove precision"),
    (
        "{ type = 'decimal', bounds = [-0.5, 10], precision = 1 }",
        "bounds",
        "-0.5 is not a multiple of the precision 1",
    ),
    (
        "{ type = 'float', bounds = [0, 0.25], precision = 0.1 }",
        "bounds",
        "0.25 is not a multiple of the precision 0.1",
    ),
    (
        f"{{ type = 'decimal', bounds = [0, {2**53}], precision = 1.0 }}",
        "bounds",
        "reach 2**53 steps of 1 & coarser",
    ),
    (
        "{ type = 'decimal', bounds = [0, 1e9], precision = 1e-9 }",
        "bounds",
        "reach 2**53 steps of 0.000000001",
    ),
    ("{ type = 'date', bounds = [0, 1] }", "bounds", "expected a date such as 2024-12-31, not 0"),
    ("{ type = 'date', bounds = ['2024-02-30', '2024-03-01'] }", "bounds", "of the calendar"),
    ("{ type = 'date', bounds = ['２０24-02-03', '2024-03-01'] }", "bounds", "expected a date"),
    ("{ type = 'date', bounds = ['20240203', '2024-03-01'] }", "bounds", 'not "20240203"'),
    (
        "{ type = 'date', bounds = [2024-01-01T00:00:00, 2024-01-02] }",
        "bounds",
        "expected a date & 2024-01-01T00:00:00",
    ),
    ("{ type = 'date', bounds = [2024-01-02, 2024-01-01] }", "bounds", "above the highest"),
    (
        "{ type = 'timestamp', bounds = [2024-01-01, 2024-01-02] }",
        "bounds",
        "expected a timestamp such as 2024-12-31T23:59:59, not 2024-01-01",
    ),
    ("{ type = 'timestamp', bounds = [12:00:00, 13:00:00] }", "bounds", "not 12:00:00"),
    (
        "{ type = 'timestamp', bounds = [2024-01-01T00:00:00Z, 2024-01-02T00:00:00] }",
        "bounds",
        "has a time zone & without Z",
    ),
    ("{ type = 'timestamp', bounds = ['2024-01-01T25:00', '2024-01-02T00:00'] }", "bounds", "of"),
    ("{ type = 'text', domain = [] }", "domain", "0 values are listed"),
    ("{ type = 'text', domain = '' }", "domain", "left blank"),
    ("{ type = 'text', domain = 'F' }", "domain", 'expected a list of values, not "F"'),
    ("{ type = 'text', domain = ['F', 3] }", "domain", "expected a text in quotes, not 3"),
    ("{ type = 'text', domain = ['F', 'M', 'F'] }", "domain", '"F" is listed twice'),
    ("{ type = 'text', domain = ['\\\\', \"\\u0000\"] }", "domain", "zero character"),
    ("{ type = 'integer', domain = [1, 1.0] }", "domain", "1.0 is listed twice"),
    ("{ type = 'integer', domain = [true] }", "domain", "expected a number, not true"),
    ("{ type = 'boolean', domain = [1] }", "domain", "expected true or false, not 1"),
    ("{ type = 'float', domain = [0.0, -0.0] }", "domain", "-0.0 is listed twice"),
    ("{ type = 'date', domain = ['Monday'] }", "domain", 'not "Monday"'),
    (
        "{ type = 'integer', bounds = [0, 5], domain = [6, 1, -1] }",
        "domain",
        "6 is outside the bounds, and 1 more",
    ),
    (
        "{ type = 'float', bounds = [0, 5], domain = [5.5] }",
        "domain",
        "5.5 is outside the bounds & widen",
    ),
    (
        "{ type = 'date', bounds = [2024-01-01, 2024-12-31], domain = [2025-01-01] }",
        "domain",
        "2025-01-01 is outside",
    ),
    ("{ type = 'text', domain = { table = 'cities' } }", "domain.column", "column is missing"),
    ("{ type = 'text', domain = { column = 'name' } }", "domain.table", "table is missing"),
    (
        "{ type = 'text', domain = { table = 'cities', column = 'name', where = 1 } }",
        "domain.where",
        'unknown key "where"',
    ),
    (
        "{ type = 'text', domain = { table = 'citties', column = 'name' } }",
        "domain",
        'no table "citties" is declared & write "cities"',
    ),
    (
        "{ type = 'text', domain = { table = 't', column = 'x' } }",
        "domain",
        'the table "t" is not public',
    ),
    (
        "{ type = 'text', domain = { table = 'cities', column = 'nam' } }",
        "domain",
        'declares no column "nam" & write "name"',
    ),
    (
        "{ type = 'integer', domain = { table = 'cities', column = 'name' } }",
        "domain",
        "cities.name is of type text, this column integer",
    ),
    ("{ type = 'text', total_bounds = [0, 1] }", "total_bounds", "type text has no totals"),
    ("{ type = 'date', total_bounds = [0, 1] }", "total_bounds", "type date has no totals"),
    ("{ type = 'integer', total_bounds = [1, 5] }", "total_bounds", "[1, 5] leaves out 0"),
    ("{ type = 'integer', bytes_max = 5 }", "bytes_max", "type integer is no text"),
    ("{ type = 'text', bytes_max = 3 }", "bytes_max", "3 is not from 4 to 1,000,000"),
    ("{ type = 'text', bytes_max = 1000001 }", "bytes_max", "not from 4 to 1,000,000"),
    (
        "{ type = 'text', bytes_max = 162761 }",
        "bytes_max",
        "162,761 bytes are too many & bytes_max = 162760 or less",
    ),
    ("{ type = 'text', bytes_max = 4.5 }", "bytes_max", "4.5"),
    ("{ type = 'text', bytes_max = true }", "bytes_max", "true"),
    ("{ type = 'text', bytes_max = 4, domain = ['ok', 'żółć'] }", "domain", "more than 4 bytes"),
    ("{ type = 'integer', total_bounds = [-5, -1] }", "total_bounds", "leaves out 0"),
    ("{ type = 'integer', total_bounds = [5, 0] }", "total_bounds", "above the highest"),
    ("{ type = 'integer', total_bounds = [0, 0.5] }", "total_bounds", "0.5 is not a whole"),
    (
        "{ type = 'decimal', precision = 0.1, total_bounds = [0, 0.55] }",
        "total_bounds",
        "0.55 is not a multiple",
    ),
    (
        "{ type = 'decimal', precision = 1e-9, total_bounds = [0, 5e9] }",
        "total_bounds",
        "reach 2**62 steps",
    ),
]


@pytest.mark.parametrize(("column", "key", "words"), COLUMNS)
def test_a_fault_in_a_column_is_named(
    write: Write, policy_text: Text, column: str, key: str, words: str
) -> None:
    cities = "[table.cities]\npublic = true\ncolumn.name = { type = 'text' }"
    table = f"[table.t]\nprivacy_unit = 'row'\n[table.t.column]\nx = {column}"
    path = write(policy_text(tables=f"{cities}\n{table}"))
    check_only_fault(path, f"[table.t.column] x.{key}", words)


@pytest.mark.slow
def test_a_domain_has_at_most_a_hundred_thousand_values(write: Write, policy_text: Text) -> None:
    for count, faults in ((100_000, 0), (100_001, 1)):
        values = ",".join(map(str, range(count)))
        column = f"column.x = {{ type = 'integer', domain = [{values}] }}"
        path = write(policy_text(tables=f"[table.t]\nprivacy_unit = 'row'\n{column}"))
        if faults:
            check_only_fault(path, "[table.t.column] x.domain", "100,001 values & 100,000 may be")
        else:
            load(path)


@pytest.mark.parametrize(
    ("limits", "column", "fits"),
    [
        ("rows_per_unit_max = 512", f"type = 'integer', bounds = [0, {2**53}]", False),
        ("rows_per_unit_max = 511", f"type = 'integer', bounds = [0, {2**53}]", True),
        ("rows_per_unit_max = 512", f"type = 'integer', bounds = [{-(2**53)}, 0]", False),
        ("rows_per_unit_max = 1048576", f"type = 'integer', bounds = [0, {2**42 - 1}]", True),
        ("rows_per_unit_max = 1048576", f"type = 'integer', bounds = [0, {2**42}]", False),
        (
            "rows_per_unit_max = 1000000",
            "type = 'decimal', bounds = [0, 1e6], precision = 1e-6",
            True,
        ),
        (
            "rows_per_group_max = 1000\ngroups_per_unit_max = 1000",
            "type = 'decimal', bounds = [0, 1e7], precision = 1e-6",
            False,
        ),
        ("unique = true", f"type = 'integer', bounds = [0, {2**53}]", True),
    ],
)
def test_the_sum_of_one_units_rows_must_fit_62_bits(
    write: Write, policy_text: Text, limits: str, column: str, fits: bool
) -> None:
    table = f"[table.t]\nprivacy_unit = 'id'\n{limits}\n[table.t.column]\nx = {{ {column} }}"
    path = write(policy_text(tables=table))
    if fits:
        load(path)
    else:
        check_only_fault(path, "[table.t.column] x.bounds", "beyond 2**62 & fewer rows")


MORE = [
    ("[analysts.ana]", "[analysts]", 'unknown section "analysts" & write "analyst"'),
    ("[zzz]", "[zzz]", 'unknown section "zzz" & "dataset", "engine", "unit"'),
    ("[engine]\nmemory = '4 gigs'", "[engine] memory", '"4 gigs" is not a size & "4GB"'),
    ("[engine]\nmemory = '1MB'", "[engine] memory", "not between 256MB"),
    ("[engine]\nmemory = '-4GB'", "[engine] memory", "not a size"),
    ("[engine]\nmemory = '４GB'", "[engine] memory", "not a size"),
    ("[engine]\nmemory = '9999TB'", "[engine] memory", "not between"),
    ("[engine]\nmemory = 4", "[engine] memory", "expected a text in quotes, not 4"),
    ("[engine]\ndeadline = 0", "[engine] deadline", "0 is not between 0.1 and 86400"),
    ("[engine]\ndeadline = inf", "[engine] deadline", "inf is not a finite number"),
    ("[engine]\ndeadline = '60'", "[engine] deadline", "remove the quotes"),
    ("[engine]\nworkers = 0", "[engine] workers", "0 is not between 1 and 64"),
    ("[engine]\nworkers = 65", "[engine] workers", "65 is not between"),
    ("[engine]\nthreads = 2", "[engine] threads", 'unknown key "threads"'),
    ("[analyst.ana]\nbudget = {epsilon = 5, delta = 0}", "", "delta above 0"),
    (
        "[analyst.ana]\nbudget = {epsilon = 4.1, delta = 1e-6}",
        "[analyst.ana] budget.epsilon",
        "4.1 is more than the dataset's epsilon 4 and could never be spent",
    ),
    (
        "[analyst.ana]\nbudget = {epsilon = 4, delta = 1e-5}",
        "[analyst.ana] budget.delta",
        "0.00001 is more than the dataset's delta 0.000001",
    ),
    ("[analyst.ana]\nepsilon = 1", "[analyst.ana] epsilon", 'unknown key "epsilon" & "budget"'),
    ("[analyst.ana]\n[analyst.ANA]", "[analyst.ANA]", "differ only by case"),
    ("[analyst.'a/b']", '[analyst."a/b"]', "slash"),
    ("[analyst]\nana = 3", "[analyst.ana]", "not 3 & [analyst.NAME]"),
    ("[coalition.c]\nbudget = {epsilon = 1, delta = 1e-7}", "[coalition.c] members", "missing"),
    ("[analyst.a]\n[analyst.b]\n[coalition.c]\nmembers = ['a', 'b']", "[coalition.c] budget", "is"),
    *(
        (
            f"[analyst.ana]\n[analyst.ben]\n[coalition.c]\nmembers = {members}\n"
            "budget = {epsilon = 1, delta = 1e-7}",
            "[coalition.c] members",
            words,
        )
        for members, words in [
            ("'ana'", 'expected a list of analysts, not "ana"'),
            ("['ana']", '["ana"] is not a coalition of two or more'),
            ("[]", "[] is not a coalition"),
            ("['ana', 'anna']", 'no analyst "anna" is declared & write "ana"'),
            ("['ana', 'ana']", '"ana" is listed twice'),
            ("['ana', 7]", "expected the name of an analyst, not 7"),
        ]
    ),
    (
        "[coalition.c]\nmembers = ['a', 'b']\nbudget = {epsilon = 1, delta = 1e-7}",
        "[coalition.c] members",
        'no analyst "a" is declared & declare [analyst.NAME]',
    ),
    (
        "[analyst.a]\n[analyst.b]\n[coalition.c]\nmembers = ['a', 'b']\n"
        "budget = {epsilon = 9, delta = 1e-7}",
        "[coalition.c] budget.epsilon",
        "9 is more than the dataset's epsilon 4",
    ),
]


@pytest.mark.parametrize(("more", "place", "words"), MORE)
def test_a_fault_in_another_section_is_named(
    write: Write, policy_text: Text, more: str, place: str, words: str
) -> None:
    check_only_fault(write(policy_text(more=more)), place or "[analyst.ana] budget.delta", words)


def test_a_policy_without_a_dataset_says_so(write: Write) -> None:
    faults = faults_of(write("[table.t]\npublic = true"))
    assert [(fault.place, fault.message) for fault in faults] == [
        ("[dataset]", "[dataset] is missing")
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[dataset\n", "not valid TOML: & line 1"),
        (b"a = 1\nb = \xef\xbc\x91\n", "not valid TOML: & line 2"),
        (b"a = 1\na = 2\n", "not valid TOML: & line 2"),
        (b"a = " + b"9" * 5000, "not valid TOML"),
        (b"a = [1,\n2\n", "not valid TOML: & line 2"),
        (b"a = " + b"[" * 100_000, "nested too deeply"),
        (b"a = 1\n# caf\xe9\n", "line 2 is not UTF-8"),
        (b"#" * 1_000_001, "larger than 1,000,000 bytes"),
    ],
)
def test_a_file_that_is_no_policy_is_one_fault(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(content)
    faults = faults_of(path)
    assert [fault.place for fault in faults] == [str(path)]
    assert [word for word in words.split(" & ") if word not in faults[0].message] == []


def test_a_file_of_a_terabyte_is_refused_without_reading_it(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.touch()
    os.truncate(path, 2**40)
    assert "is larger than" in faults_of(path)[0].message


def test_a_file_that_is_missing_or_a_folder_is_one_fault(tmp_path: Path) -> None:
    assert "no such file" in faults_of(tmp_path / "absent.toml")[0].message
    assert "is not a file" in faults_of(tmp_path)[0].message
    assert "cannot be read" in faults_of(tmp_path / "a\0b")[0].message


def test_every_fault_is_reported_at_once_in_the_order_of_the_file(write: Write) -> None:
    path = write(
        """
        [dataset]
        name = ""
        source = "data"
        neighbours = "near"
        budget = { epsilon = nan }
        accounting = "renyi"

        [table.people]
        privacy_unit = "id"
        [table.people.column]
        age = { type = "integer", bounds = [9, 0] }
        sex = { type = "txt" }

        [exact.income]
        """
    )
    assert [fault.place for fault in faults_of(path)] == [
        "[dataset] name (line 3)",
        "[dataset] neighbours (line 5)",
        "[dataset] budget.epsilon (line 6)",
        "[dataset] budget.delta (line 6)",
        "[table.people] rows_per_unit_max (line 9)",
        "[table.people.column] age.bounds (line 12)",
        "[table.people.column] sex.type (line 13)",
        "[exact.income] adversary (line 15)",
        "[exact.income] accept (line 15)",
    ]


def test_a_password_in_a_source_is_not_repeated(write: Write, policy_text: Text) -> None:
    text = policy_text({"source": '"postgres://ana:secret@host/db"'})
    assert "secret" not in "".join(map(str, faults_of(write(text))))
