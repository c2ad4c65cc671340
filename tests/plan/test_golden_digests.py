"""A digest outlives the code: it has no name of a class in it, and everything that is measured."""

from __future__ import annotations

import copy
import io
import json
import os
import shutil
import subprocess
import sys
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import pytest

import sanql
from plan.golden import DECLARATIONS, QUESTIONS, TABLES, digests, planned
from sanql.account.events import Event
from sanql.mechanisms import Noise
from sanql.parse.question import parse
from sanql.plan import price
from sanql.plan.digest import question_digest
from sanql.plan.keys import Keys
from sanql.plan.level import Level
from sanql.plan.plan import outline
from sanql.policy.forms import declaration_digest, first_declaration_digest
from sanql.policy.model import Column, Domain, Table, Unit
from sanql.question.expressions import AggregateRef, Expr, Grouping, IntervalEnd
from sanql.question.relations import From, Rows

HERE = Path(__file__).parent
GOLDEN: dict[str, dict[str, str]] = json.loads((HERE / "golden_digests.json").read_text())

CLASSES = (
    "AggregateRef", "BinaryColumn", "BinomialSample", "ColumnRef", "ColumnUnit", "Derived",
    "DiscreteGaussian", "DiscreteLaplace", "ExactHistogram", "ExactValues", "Facts", "FailureEvent",
    "FilteringKey", "GaussianEvent", "Grouped", "JoinKind", "KeyColumn", "KeyRef", "LaplaceEvent",
    "LatticePart", "ListedDomain", "Lookup", "Measured", "Measurement", "NoNoise", "OneGroup", "Ordering",
    "PoissonSample", "Priced", "PrivateKeys", "PublicKeys", "QuantileBins", "RowUnit", "SameIdentity",
    "Scan", "Selected", "SelectionEvent", "Sensitivity", "TableDomain", "TruncatedGeometric",
    "UniformComponent", "UnitAggregate", "ViaUnit",
)  # fmt: skip
FIELDS = (
    "bounds_auto",
    "known_records",
    "l2_squared",
    "linf",
    "nulls_first",
    "one_each",
    "unit_of",
)

# What is no part of a question's name, and why that is right.
NO_PART = {
    "Charge.protects": "the kinds of the tables that are read, which the tables say",
    "Measuring.estimates": "computed from noisy cells",
    "Measuring.counted_apart": "the level apart has the value among its keys",
    "LevelOutline.counts_for": "which level looks its values up in noisy cells",
    "LevelOutline.values_asked": "the measurements say how many values of a unit count",
    "LevelOutline.by_weights": "a way to measure that was not taken",
    "Measuring.hidden_weight": "decides shares of epsilon, and noise is part of it",
    "Measuring.limits": "the level's own limits, by which its error is judged",
    "Measuring.setting": "a measurement has the sensitivity that follows from it",
    "Measuring.other_groups": "follows from `other` and the measurements",
    "Measuring.unit_norms": "follows from limits, keys and neighbours; a measurement has its own norm",
    "Priced.mechanism": "words for what the noises are",
    "Table.protections": "certificates say more by it; no answer and no charge is another",
    "Query.aggregates": "the measurements say what is computed for them",
    "Query.outputs": "computed from noisy cells",
    "Query.having": "computed from noisy cells",
    "Query.order": "computed from noisy cells",
    "Query.limit": "computed from noisy cells",
    "Query.offset": "computed from noisy cells",
    "Query.distinct": "computed from noisy cells",
    "Query.null_groups": "each key says whether NULL is one of its values",
    "Query.sets": "each set is a level of its own",
    "Table.summaries": "how rows are stored, which changes no cell",
    "Table.units_per_selected_group_min": "the threshold follows from it, and is part of the name",
    "Measuring.fewest_units": "the threshold follows from it, and is part of the name",
}
SEEN_OUTSIDE_ONLY = {AggregateRef, Grouping, IntervalEnd}


def test_digests_are_what_they_have_always_been() -> None:
    assert digests() == GOLDEN


def test_no_two_of_them_are_equal() -> None:
    names = [name for both in GOLDEN.values() for name in both.values()]
    assert len(set(names)) == len(names) == 2 * (len(QUESTIONS) + len(DECLARATIONS))


@pytest.mark.slow
def test_renaming_classes_and_fields_of_the_code_changes_no_digest(tmp_path: Path) -> None:
    names = {name: f"Renamed{name}" for name in CLASSES} | {name: f"{name}_x" for name in FIELDS}
    package = Path(sanql.__file__).parent
    shutil.copytree(package, tmp_path / "sanql", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(HERE, tmp_path / "plan", ignore=shutil.ignore_patterns("__pycache__"))
    changed = {name for path in tmp_path.rglob("*.py") for name in rename(path, names)}
    assert changed == names.keys()
    done = subprocess.run(
        [sys.executable, "-m", "plan.golden"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout) == GOLDEN


def rename(path: Path, names: Mapping[str, str]) -> set[str]:
    """Rename identifiers in a file; return which of them were there."""
    text = path.read_text(encoding="utf-8")
    if not any(name in text for name in names):
        return set()
    found = set()
    tokens = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME and token.string in names:
            found.add(token.string)
            tokens.append((token.type, names[token.string]))
        else:
            tokens.append((token.type, token.string))
    path.write_text(tokenize.untokenize(tokens), encoding="utf-8")
    return found


@pytest.mark.slow
def test_every_field_is_part_of_the_name_or_known_to_be_none() -> None:
    part: set[str] = set()
    idle: set[str] = set()
    kinds: set[type] = set()
    for title in QUESTIONS:
        for level in planned(title).levels:
            name = question_digest([level], "data")
            for field, kind, other in altered(level):
                kinds.add(kind)
                if field not in part:
                    (part if is_another(other, name) else idle).add(field)
    assert idle - part == NO_PART.keys()
    known = [Expr, From, Rows, Keys, Noise, Event, Domain, Unit]
    wanted = {kind for union in known for kind in get_args(union) if fields(kind)}
    assert wanted - SEEN_OUTSIDE_ONLY <= kinds


def test_every_field_of_a_declaration_is_part_of_its_name() -> None:
    for declared in DECLARATIONS.values():
        for field, _, other in altered(declared):
            assert declaration_of(other) != declaration_digest(declared), field


def declaration_of(declared: Any) -> str:
    try:
        return declaration_digest(declared)
    except Exception:
        return "not a declaration"


def is_another(level: Level, name: str) -> bool:
    """Return whether a plan has another name, or none: a field that must make sense is looked at."""
    try:
        return question_digest([level], "data") != name
    except Exception:
        return True


def altered(thing: Any) -> Iterator[tuple[str, type, Any]]:
    """Yield everything like this with one field of it, or of what is inside, set to a stray text."""
    for field in fields(thing):
        value = getattr(thing, field.name)
        yield f"{type(thing).__name__}.{field.name}", type(thing), put(thing, field.name, "stray")
        if f"{type(thing).__name__}.{field.name}" not in NO_PART:
            for name, kind, other in altered_inside(value):
                yield name, kind, put(thing, field.name, other)


def altered_inside(value: Any) -> Iterator[tuple[str, type, Any]]:
    if is_dataclass(value):
        yield from altered(value)
    elif isinstance(value, tuple):
        for index, each in enumerate(value):
            for name, kind, other in altered_inside(each):
                yield name, kind, (*value[:index], other, *value[index + 1 :])
    elif isinstance(value, Mapping):
        for key, each in value.items():
            for name, kind, other in altered_inside(each):
                yield name, kind, {**value, key: other}


def put(thing: Any, name: str, value: Any) -> Any:
    """Return a copy with one field set, whatever the class would say to it."""
    other = copy.copy(thing)
    object.__setattr__(other, name, value)
    return other


def digest_with(tables: Mapping[str, Table], sql: str) -> str:
    outlined = outline(parse(sql, tables).private, tables, "add-remove")
    return price(outlined, Fraction(1), Fraction(0)).digest("data")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(age) FROM visits",
        "SELECT COUNT(*) FROM people p JOIN visits v ON p.person = v.person",
        "SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person = p.person)",
        "SELECT region, COUNT(*) FROM visits GROUP BY region",
    ],
)
def test_one_more_declared_column_or_table_keeps_the_name(sql: str) -> None:
    more = Column("more", "integer", (0, 9))
    wider = {
        name: replace(table, columns={**table.columns, "more": more})
        for name, table in TABLES.items()
    } | {"unrelated": Table("unrelated", None, {"more": more})}
    assert digest_with(wider, sql) == digest_with(TABLES, sql)


@pytest.mark.parametrize(
    ("table", "column"),
    [("visits", "age"), ("visits", "region"), ("regions", "name")],
)
def test_a_column_that_is_used_and_declared_otherwise_changes_the_name(
    table: str, column: str
) -> None:
    sql = "SELECT region, SUM(age) FROM visits GROUP BY region"
    own = replace(TABLES[table].columns[column], bounds_auto=True)
    columns = {**TABLES[table].columns, column: own}
    other = {**TABLES, table: replace(TABLES[table], columns=columns)}
    assert digest_with(other, sql) != digest_with(TABLES, sql)


IDENTIFIED = [
    ("SELECT COUNT(*) FROM visits", "visits", "person"),
    ("SELECT COUNT(*) FROM visits", "visits", "PERSON"),
    ("SELECT COUNT(*) FROM notes", "notes", "visit"),
    ("SELECT COUNT(*) FROM notes", "stays", "id"),
    ("SELECT COUNT(*) FROM notes", "stays", "person"),
    ("SELECT COUNT(*) FROM people p JOIN visits v ON p.person = v.person", "people", "person"),
]


def digest_declaring(sql: str, table: str, column: Column) -> str:
    columns = {**TABLES[table].columns, column.name: column}
    return digest_with({**TABLES, table: replace(TABLES[table], columns=columns)}, sql)


@pytest.mark.parametrize(
    ("sql", "table", "column"),
    [*IDENTIFIED, ("SELECT COUNT(DISTINCT id) FROM stays", "stays", "id")],
)
def test_how_long_a_text_may_be_to_be_somebodys_is_part_of_the_name(
    sql: str, table: str, column: str
) -> None:
    names = {
        digest_declaring(sql, table, Column(column, "text", bytes_max=most)) for most in (5, 6)
    }
    assert len(names | {digest_with(TABLES, sql)}) == 3


@pytest.mark.parametrize(("sql", "table", "column"), IDENTIFIED)
def test_what_identifies_somebody_may_be_declared_without_changing_the_name(
    sql: str, table: str, column: str
) -> None:
    assert digest_declaring(sql, table, Column(column, "text")) == digest_with(TABLES, sql)


def test_the_first_form_of_a_declaration_is_not_the_second() -> None:
    for declared in DECLARATIONS.values():
        assert declaration_digest(declared) != first_declaration_digest(declared)
