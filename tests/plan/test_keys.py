"""Which keys are known without the data, and that each of them is one cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction

import pytest

from plan.conftest import TABLES
from sanql.errors import Refused
from sanql.parse.question import parse
from sanql.plan.keys import OneGroup, PrivateKeys, PublicKeys, keys_of
from sanql.plan.level import LevelOutline
from sanql.plan.plan import outline
from sanql.policy.model import Column, ColumnUnit, ListedDomain, RowUnit, Table, TableDomain
from sanql.question.expressions import ColumnRef, Facts, Query, Type
from sanql.question.public_query import PublicQuery

Outlined = Callable[..., LevelOutline]

FEBRUARY = date(2020, 2, 1)
# key: its values, and whether rows with other values are left out
PUBLIC: dict[str, tuple[list[object], bool]] = {
    "sex": (["F", "M", "X"], True),
    "score": (list(range(-10, 31)), True),
    "member": ([False, True], True),
    "age >= 18": ([False, True], True),
    "member IS NULL": ([False, True], False),
    "age // 50": ([0, 1, 2, 3], True),
    "ROUND(age, -2)": ([0, 100, 200], True),
    "COALESCE(age // 100, 7)": ([0, 1, 2, 7], False),
    "born": ([date.fromordinal(date(2020, 1, 15).toordinal() + day) for day in range(48)], True),
    "EXTRACT(year FROM born)": ([2020], True),
    "EXTRACT(month FROM born)": (list(range(1, 13)), True),
    "EXTRACT(month FROM ever)": (list(range(1, 13)), True),
    "DAYOFYEAR(ever)": (list(range(1, 367)), True),
    "YEAR(ever) > 2020": ([False, True], True),
    "DATE_TRUNC('month', born)": ([date(2020, 1, 1), FEBRUARY, date(2020, 3, 1)], True),
    "DATE_TRUNC('quarter', born)": ([date(2020, 1, 1)], True),
    "DATE_TRUNC('year', born)": ([date(2020, 1, 1)], True),
    "DATE_TRUNC('week', born)": ([date.fromordinal(737437 + 7 * week) for week in range(8)], True),
    "DATE_TRUNC('hour', seen)": (
        [datetime(2020, 1, 31, 22), datetime(2020, 1, 31, 23),
         datetime(2020, 2, 1), datetime(2020, 2, 1, 1)],
        True,
    ),
    "DATE_TRUNC('day', seen)": ([datetime(2020, 1, 31), datetime(2020, 2, 1)], True),
    "CASE WHEN age < 18 THEN 'minor' ELSE 'adult' END": (["minor", "adult"], False),
    "CASE WHEN age < 18 THEN 'minor' END": (["minor", None], False),
    "CASE WHEN member THEN 1 ELSE 2.5 END": ([1, Fraction(5, 2)], False),
    "CASE WHEN member THEN age // 100 ELSE 9 END": ([0, 1, 2, 9], True),
    "'all'": (["all"], False),
}  # fmt: skip
PRIVATE = [
    "city",
    "LOWER(sex)",  # a function of a listed column has other values
    "CASE WHEN member THEN sex ELSE 'none' END",  # and values outside the list exist
    "big",
    "big % 100000",
    "ever",
    "YEAR(ever)",  # 9,999 are possible, and nearly all of them empty
    "YEAR(ever) - 2000",
    "COALESCE(YEAR(ever), 0)",
    "DATE_TRUNC('year', ever)",
    "CAST(age AS VARCHAR)",
    "CASE WHEN member THEN 1180591620717411303424 ELSE 0 END",  # no engine integer holds it
    "CASE WHEN member THEN 1e300 ELSE 0.5 END",
]


@pytest.mark.parametrize(("key", "expected"), PUBLIC.items())
def test_keys_that_policy_or_arithmetic_bound_are_public(
    outlined: Outlined, key: str, expected: tuple[list[object], bool]
) -> None:
    keys = outlined(f"SELECT {key}, COUNT(*) FROM people GROUP BY 1").keys
    assert isinstance(keys, PublicKeys)
    assert (list(keys.columns[0].values), keys.columns[0].filtered) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("key", PRIVATE)
def test_other_keys_are_selected_privately(outlined: Outlined, key: str) -> None:
    outline = outlined(f"SELECT {key}, COUNT(*) FROM people GROUP BY 1")
    assert isinstance(outline.keys, PrivateKeys)
    assert outline.selects_keys


@pytest.mark.parametrize(
    ("key", "distinct"),
    [
        # what the engine takes for one key is one key, or its group would appear twice and a unit
        # in it would move two cells
        ("CASE WHEN member THEN DATE '2020-01-01' ELSE TIMESTAMP '2020-01-01 00:00:00' END", 1),
        ("CASE WHEN member THEN 1 ELSE 1.0 END", 1),
        ("CASE WHEN member THEN 0.0 ELSE -0.0 END", 1),
        ("CASE WHEN member THEN 'a' ELSE 'a' END", 1),
        ("price", 2),
    ],
)
def test_a_key_is_never_listed_twice(outlined: Outlined, key: str, distinct: int) -> None:
    keys = outlined(f"SELECT {key}, COUNT(*) FROM people GROUP BY 1").keys
    assert isinstance(keys, PublicKeys)
    assert keys.count == distinct


def test_without_group_by_there_is_one_group(outlined: Outlined) -> None:
    assert outlined("SELECT COUNT(*) FROM people").keys == OneGroup()


def test_a_column_of_a_public_table_gives_keys_whose_number_only_the_engine_knows(
    outlined: Outlined,
) -> None:
    keys = outlined("SELECT region, COUNT(*) FROM people GROUP BY 1").keys
    assert isinstance(keys, PublicKeys)
    assert keys.columns[0].values == TableDomain("regions", "name")
    assert keys.count is None


def test_public_keys_multiply_and_one_unknown_key_makes_all_unknown(outlined: Outlined) -> None:
    both = outlined("SELECT sex, member, COUNT(*) FROM people GROUP BY 1, 2").keys
    assert isinstance(both, PublicKeys)
    assert both.count == 6
    mixed = outlined("SELECT sex, city, COUNT(*) FROM people GROUP BY 1, 2").keys
    assert isinstance(mixed, PrivateKeys)


def test_too_many_derived_keys_are_selected_instead(outlined: Outlined) -> None:
    few = "SELECT COUNT(*) FROM people GROUP BY age, score"
    many = "SELECT COUNT(*) FROM people GROUP BY age, score, born"
    assert isinstance(outlined(few).keys, PublicKeys)
    assert isinstance(outlined(many).keys, PrivateKeys)


def test_groups_of_one_unit_each_are_refused_unless_their_keys_are_public() -> None:
    facts = Facts(Type.INTEGER, Fraction(0), Fraction(10**7), nullable=False)
    key = ColumnRef("id", facts, origin=("people", "id"))
    column = Column("id", "integer", bounds=(Fraction(0), Fraction(10**7)))
    tables = {"people": Table("people", ColumnUnit("id"), {"id": column}, 1)}
    with pytest.raises(Refused) as error:
        keys_of((key,), tables)
    assert error.value.code == "returns_individuals"
    listed = replace(column, domain=ListedDomain((1, 2)))
    listing = {"people": replace(tables["people"], columns={"id": listed})}
    assert isinstance(keys_of((key,), listing), PublicKeys)
    others = {"people": replace(tables["people"], unit=ColumnUnit("person"))}
    assert isinstance(keys_of((key,), others), PrivateKeys)


@pytest.mark.parametrize(
    ("key", "where", "left"),
    [
        ("sex", "sex IN ('F', 'X', 'Y')", ["F", "X"]),
        ("sex", "sex = 'F'", ["F"]),
        ("sex", "sex <> 'F'", ["M", "X"]),
        ("sex", "sex NOT IN ('F', 'X') AND age > 3", ["M"]),
        ("sex", "NOT sex = 'F' OR age > 3", ["F", "M", "X"]),
        ("sex", "NOT NOT sex = 'F'", ["F"]),
        ("sex", "sex <> city", ["F", "M", "X"]),
        ("member", "member", [True]),
        ("member", "NOT member", [False]),
        ("member", "NOT (member AND age > 3)", [False, True]),
        ("score", "score > 27 AND score <> 29", [28, 30]),
        ("age // 50", "age <> 3", [0, 1, 2, 3]),
        ("sex", "sex < 'M'", ["F"]),
        ("sex", "'M' <= sex", ["M", "X"]),
        ("sex", "sex BETWEEN 'G' AND 'P'", ["M"]),
        ("sex", "sex NOT BETWEEN 'G' AND 'P'", ["F", "X"]),
        ("sex", "NOT sex > 'M'", ["F", "M"]),
        ("sex", "sex = 'F' OR sex > 'P'", ["F", "X"]),
        ("sex", "sex = 'F' OR age > 3", None),
        ("sex", "sex > city", None),
        ("score", "score < 28.5 AND score > 26", [27, 28]),
        ("price", "price > 1.5", None),
        ("price", "price = 2", [2]),
        ("price", "NOT price = 2", None),
        ("price", "price <> 2", None),  # 2.02 has the key 2 too, and is not excluded
    ],
)
def test_keys_that_a_condition_excludes_do_not_appear(
    outlined: Outlined, key: str, where: str, left: list[object] | None
) -> None:
    every = outlined(f"SELECT {key}, COUNT(*) FROM people GROUP BY 1").keys
    keys = outlined(f"SELECT {key}, COUNT(*) FROM people WHERE {where} GROUP BY 1").keys
    assert isinstance(keys, PublicKeys) and isinstance(every, PublicKeys)
    found = keys.columns[0].values
    assert found == every.columns[0].values if left is None else list(found) == left  # type: ignore[arg-type]


def question(sql: str, tables: Mapping[str, Table] = TABLES) -> None:
    """Outline a question, as is done before it is priced."""
    query = parse(sql, tables).query
    assert not isinstance(query, PublicQuery)
    outline(query, tables, "add-remove")


@pytest.mark.parametrize(
    ("key", "where", "remedy"),
    [
        ("sex", "sex = 'f'", "did you mean 'F'? the keys are F, M, X"),
        ("sex", "sex > 'Z'", "the keys are F, M, X"),
        ("sex", "sex = 'F' AND sex = 'M'", "the keys are F, M, X"),
        ("sex", "sex IN ('A', 'B') AND age > 3", "the keys are F, M, X"),
        ("score", "score = 99", "the keys are -10, -9, -8, -7, -6, -5, -4, -3, …"),
        ("member", "member AND NOT member", "the keys are False, True"),
        ("score, sex", "sex = 'Z'", "the keys are F, M, X"),
        ("ROLLUP (sex)", "sex = 'Z'", "the keys are F, M, X"),
    ],
)
def test_a_condition_that_leaves_no_key_is_refused_before_it_is_charged(
    key: str, where: str, remedy: str
) -> None:
    with pytest.raises(Refused) as refused:
        question(f"SELECT COUNT(*) FROM people WHERE {where} GROUP BY {key}")
    assert (refused.value.code, refused.value.remedy) == ("keys_excluded", remedy)


def test_a_key_that_looks_like_the_one_typed_is_named() -> None:
    city = Column("city", "text", domain=ListedDomain(("Basel", "Bern")))
    tables = {"people": Table("people", RowUnit(), {"city": city}, 1, None, 1)}
    with pytest.raises(Refused) as refused:
        question("SELECT city, COUNT(*) FROM people WHERE city = 'Brn' GROUP BY city", tables)
    assert refused.value.remedy == "did you mean 'Bern'? the keys are Basel, Bern"


@pytest.mark.parametrize(
    ("key", "where"),
    [
        ("seen", "seen = DATE '2020-01-31'"),  # a date is a moment to the engine, not to Python
        ("born", "born = TIMESTAMP '2020-01-20 00:00:00'"),
        ("price", "price = 2.02"),  # which has the key 2
        ("sex", "sex IS NULL"),
        ("sex", "city = 'nowhere'"),
    ],
)
def test_what_may_have_a_key_is_not_refused(key: str, where: str) -> None:
    question(f"SELECT COUNT(*) FROM people WHERE {where} GROUP BY {key}")


@pytest.mark.parametrize(
    ("where", "remedy"),
    [
        ("age = NULL", "write age IS NULL"),
        ("NULL = sex", "write sex IS NULL"),
        ("age > 3 AND sex <> NULL", "write sex IS NOT NULL"),
        ("age + 1 < NULL", "write x IS NULL"),
    ],
)
def test_a_comparison_with_null_is_refused_with_what_is_meant(where: str, remedy: str) -> None:
    with pytest.raises(Refused) as refused:
        question(f"SELECT COUNT(*) FROM people WHERE {where}")
    assert (refused.value.code, refused.value.remedy) == ("null_compared", remedy)


@pytest.mark.parametrize("where", ["age = 3 OR sex = NULL", "(age = NULL) IS NULL", "1 = NULL"])
def test_other_conditions_may_have_nulls(where: str) -> None:
    question(f"SELECT COUNT(*) FROM people WHERE {where}")


@pytest.mark.parametrize(
    ("key", "more"),
    [
        ("member", 1),
        ("sex", 1),
        ("region", 0),  # how many it has, its public table decides
        ("member IS NULL", 0),
        ("CASE WHEN age < 18 THEN 'minor' END", 0),  # NULL is among its values anyway
    ],
)
def test_null_is_one_group_more_that_a_unit_may_be_in(key: str, more: int) -> None:
    query = parse(f"SELECT {key}, COUNT(*) FROM visits GROUP BY 1", TABLES).query
    assert isinstance(query, Query)
    without, level = (
        outline(replace(query, null_groups=asked), TABLES, "add-remove").levels[0]
        for asked in (False, True)
    )
    assert isinstance(level.keys, PublicKeys) and isinstance(without.keys, PublicKeys)
    assert level.keys.columns[0].shows_null == (key != "member IS NULL")
    groups = without.keys.count
    assert level.keys.count == (None if groups is None else groups + more)
    assert level.limits.groups == min(3, level.keys.count or 3)
    assert level.limits.groups == without.limits.groups + more * (groups == 2)
