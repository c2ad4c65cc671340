"""No expression stored in a database runs on a private row, and no value listed in a type shows.

A generated column is computed when it is read. The engine checks it on INSERT and not on UPDATE, so
one row could make every question fail; a table may have such a column as long as nobody declares it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from sanql.engines.duckdb.engine import WorkerEngine
from sanql.engines.pool import Pool
from sanql.engines.preparation import describe, prepare
from sanql.errors import PolicyError
from sanql.kernel.messages import Statement
from sanql.kernel.stored_types import ColumnType
from sanql.policy.model import Policy

pytestmark = pytest.mark.slow

MakePolicy = Callable[..., Policy]

GENERATED = {
    "typed": "n INTEGER GENERATED ALWAYS AS (CAST(word AS INTEGER)) VIRTUAL",
    "untyped": "n AS (word::INTEGER)",
    "harmless": "n INTEGER AS (id + 1)",
}


def faults(policy: Policy) -> list[tuple[str, str, str]]:
    with pytest.raises(PolicyError) as caught:
        describe(policy)
    return [(fault.place, fault.message, fault.remedy) for fault in caught.value.faults]


def write(path: Path, *statements: str) -> None:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize("form", GENERATED)
@pytest.mark.parametrize("word", ["1", "Alice"])
def test_a_declared_generated_column_is_refused_whatever_its_rows_hold(
    tmp_path: Path, make_policy: MakePolicy, form: str, word: str
) -> None:
    write(
        tmp_path / "d.duckdb",
        f"CREATE TABLE people (id INTEGER, word VARCHAR, {GENERATED[form]})",
        "INSERT INTO people VALUES (1, '1')",
        f"UPDATE people SET word = '{word}'",
    )
    policy = make_policy({"people": ("id", {"n": "integer"})}, "d.duckdb")
    assert faults(policy) == [
        (
            "table.people.column.n",
            'the source computes "n" from other columns when it is read, which may fail on a row',
            "store its values in a column of their own",
        )
    ]


def test_a_generated_column_is_no_privacy_unit_and_no_column_of_a_public_table(
    tmp_path: Path, make_policy: MakePolicy
) -> None:
    write(
        tmp_path / "d.duckdb",
        "CREATE TABLE people (id INTEGER, u INTEGER AS (100 // id))",
        "CREATE TABLE cities (name VARCHAR, code INTEGER AS (CAST(name AS INTEGER)))",
    )
    unit = make_policy({"people": ("u", {})}, "d.duckdb")
    assert [place for place, *_ in faults(unit)] == ["table.people.privacy_unit"]
    public = make_policy({"cities": (None, {})}, "d.duckdb")
    assert list(describe(public).columns["cities"]) == ["name"]


def test_a_generated_column_nobody_declares_is_never_computed(
    tmp_path: Path, make_policy: MakePolicy
) -> None:
    write(
        tmp_path / "d.duckdb",
        "CREATE TABLE people (id INTEGER, word VARCHAR, n INTEGER AS (CAST(word AS INTEGER)))",
        "INSERT INTO people VALUES (1, '1'), (2, '2')",
        "UPDATE people SET word = 'Alice' WHERE id = 2",
    )
    policy = make_policy({"people": ("id", {"word": "text"})}, "d.duckdb")
    source = prepare(policy)
    columns = ", ".join(source.scans["people"].values())
    with Pool(source, policy.engine, WorkerEngine()) as workers:
        found = workers.run(
            Statement(f"SELECT {columns} FROM {source.relations['people']} ORDER BY 1")
        )
    assert [list(row.values()) for row in found.to_pylist()] == [[1, "1"], [2, "Alice"]]


LABELS = ["'a', 'b'", "'a', 'Alice''s, )x COLLATE y'", "'a', ' collate '"]


def test_the_labels_of_an_enum_change_neither_types_nor_faults(
    tmp_path: Path, make_policy: MakePolicy
) -> None:
    """One person's value may be among them: in a list or a struct, as a unit, near a keyword."""
    declared: dict[str, ColumnType] = {
        "m": "text", "ms": "text", "s": "text", "o": "date", "n": "integer",
    }  # fmt: skip
    told = []
    for number, labels in enumerate(LABELS):
        name = f"d{number}.duckdb"
        write(
            tmp_path / name,
            f"CREATE TYPE mood AS ENUM ({labels})",
            "CREATE TYPE age AS INTEGER",
            "CREATE TABLE people (u mood, m mood, ms mood[], s STRUCT(m mood), o mood, n age)",
        )
        found = faults(make_policy({"people": ("u", declared)}, name))
        good = make_policy({"people": ("u", {"m": "text", "n": "integer"})}, name)
        described = describe(good)
        told.append((found, described.schema, described.scans, described.types))
        assert "Alice" not in str(told[-1])
        assert "collate" not in str(told[-1])
    assert told[0] == told[1] == told[2]
    assert [place for place, *_ in told[0][0]] == [
        f"table.people.column.{name}" for name in ("ms", "s", "o")
    ]


def test_units_of_two_enums_are_compared_as_their_labels(
    tmp_path: Path, make_policy: MakePolicy
) -> None:
    """An ENUM is numbered by its own list: the same label has another number in another one."""
    write(
        tmp_path / "d.duckdb",
        "CREATE TYPE one AS ENUM ('b', 'a')",
        "CREATE TYPE other AS ENUM ('a', 'c', 'b')",
        "CREATE TABLE people (u one)",
        "CREATE TABLE visits (u other)",
        "INSERT INTO people VALUES ('a'), ('b')",
        "INSERT INTO visits VALUES ('a'), ('c')",
    )
    policy = make_policy({"people": ("u", {}), "visits": ("u", {})}, "d.duckdb")
    source = prepare(policy)
    assert {name: dict(types) for name, types in source.types.items()} == {
        "people": {"u": "VARCHAR"},
        "visits": {"u": "VARCHAR"},
    }
    people, visits = (
        f"(SELECT {source.scans[name]['u']} AS u FROM {source.relations[name]})"
        for name in ("people", "visits")
    )
    with Pool(source, policy.engine, WorkerEngine()) as workers:
        found = workers.run(Statement(f"SELECT u FROM {people} JOIN {visits} USING (u)"))
    assert found.to_pydict() == {"u": ["a"]}


def test_constraints_defaults_indexes_and_macros_do_not_run_when_a_table_is_read(
    tmp_path: Path, make_policy: MakePolicy
) -> None:
    """What is checked on writing (and can be evaded by ALTER) is no part of what is read."""
    write(
        tmp_path / "d.duckdb",
        "CREATE SEQUENCE numbers",
        "CREATE MACRO nullif(a, b) AS error('shadowed')",
        "CREATE TABLE people (id INTEGER PRIMARY KEY DEFAULT nextval('numbers'), word VARCHAR, "
        "age VARCHAR DEFAULT 'x', CHECK (length(word) < 9))",
        "CREATE INDEX words ON people ((word || 'x'))",
        "INSERT INTO people (word, age) VALUES ('a', '7'), ('b', 'Alice'), (NULL, NULL)",
    )
    declared = {"id": "integer", "word": "text", "age": "integer"}
    policy = make_policy({"people": ("id", declared)}, "d.duckdb")
    source = prepare(policy)
    columns = ", ".join(source.scans["people"].values())
    with Pool(source, policy.engine, WorkerEngine()) as workers:
        found = workers.run(
            Statement(f"SELECT {columns} FROM {source.relations['people']} ORDER BY 1")
        )
    assert [list(row.values()) for row in found.to_pylist()] == [
        [1, "a", 7], [2, "b", None], [3, None, None],
    ]  # fmt: skip
