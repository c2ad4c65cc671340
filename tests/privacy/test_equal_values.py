"""Values that compare equal are alike in everything, whatever is computed from them.

The engine computes a subquery once for all askers whose values are equal, and a group is shown by one
of its values: which one is its choice. So nothing that may be asked tells equal values apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from compile.test_functions_attacked import HOSTILE, ORDINARY, TABLE, bound
from privacy import equal_pairs, pair_worlds
from privacy.equal_pairs import REFUSED, Pairs
from privacy.native_storage import HEAD, Asked, Native
from privacy.pair_worlds import MANY, Cells, PairWorlds
from sanql.compile.expressions.emitter import Emitter, row_column
from sanql.compile.expressions.values import without_negative_zero
from sanql.errors import PolicyError
from sanql.kernel import lockdown
from sanql.kernel.stored_types import CANONICAL, convert, family
from sanql.question.expressions import Type
from support.scalar_expressions import EXPRESSIONS
from support.volume import few_of

pytestmark = pytest.mark.slow

POLICY = """
[table.t]
privacy_unit = "id"
rows_per_unit_max = 1
[table.t.column]
k = { type = "integer", bounds = [0, 9] }
x = { type = "float" }
y = { type = "decimal", bounds = [-5, 5], precision = 0.01 }
w = { type = "float" }
[table.p]
public = true
[table.p.column]
k = { type = "integer", bounds = [0, 9] }
"""
SCHEMA = [
    "CREATE TABLE t (id BIGINT, k BIGINT, x DOUBLE, y FLOAT, w VARCHAR)",
    "CREATE TABLE p (k BIGINT)",
]
ZEROS = "INSERT INTO t SELECT i, 1, 0e0::DOUBLE, 0e0::FLOAT, '0' FROM range(1000) AS r(i)"
ONE = "INSERT INTO t VALUES (5000, 1, -(0e0::DOUBLE), -(0e0::FLOAT), '-0.0')"
PUBLIC = "INSERT INTO p VALUES (1)"


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Native:
    return Native(tmp_path_factory.mktemp("equal"), POLICY, SCHEMA)


ZERO = [
    "t.x",
    "t.y",
    "t.w",
    "CEIL(t.x - 0.3)",
    "ROUND(-0.2 + t.x, 0)",
    "-t.x",
    "t.x * -3",
    "TRUNC(t.y, 1)",
]
APART = [
    "CAST({0} AS VARCHAR) = '-0.0'",
    "ATAN2({0}, -1) < 0",
    "CONCAT('is ', {0}) LIKE '%-%'",
    "ATAN2({0} * 1, {0} - 1) < 0",
]


@pytest.mark.parametrize("zero", ZERO)
def test_no_expression_tells_the_zeros_apart(native: Native, zero: str) -> None:
    questions = [
        "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM p WHERE p.k = t.k AND "
        + condition.format(zero)
        + ")"
        for condition in APART
    ]
    for rows in ([PUBLIC, ZEROS], [PUBLIC, ONE], [PUBLIC, ZEROS, ONE], [PUBLIC, ONE, ZEROS]):
        assert native.several(questions, rows) == [[{"m0": 0}]] * len(APART)


def test_nor_the_signs_of_what_is_no_number(native: Native) -> None:
    """An infinity less itself is NaN; engines print its sign."""
    questions = [
        f"SELECT COUNT(*) FROM t WHERE CAST({value} AS VARCHAR) LIKE '-%'"
        for value in (
            "((t.x + 1e300) * 1e300 - (t.x + 1e300) * 1e300)",
            "-((t.x + 1e300) * 1e300 - (t.x + 1e300) * 1e300)",
            "(t.x + 1e300) * 1e300 * t.x",
            "-((t.x + 1e300) * 1e300 * t.x)",
        )
    ]
    assert native.several(questions, [ZEROS, ONE]) == [[{"m0": 0}]] * 4


@pytest.fixture(scope="module")
def mixed() -> Iterator[duckdb.DuckDBPyConnection]:
    """Return rows in which awkward and ordinary values meet."""
    with lockdown.connect() as connection:
        picks = []
        for name, (kind, choices) in ORDINARY.items():
            values = [*choices, *HOSTILE[name][1]]
            if kind == "DOUBLE":
                values += ["-(0e0)", "-('nan'::DOUBLE)"]
            listed = ", ".join(f"({value})::{kind}" for value in values)
            place = f"1 + (hash('{name}', range) % {len(values)})::BIGINT"
            picks.append(f"[{listed}][{place}] AS {name}")
        connection.execute(f"CREATE TABLE t AS SELECT {', '.join(picks)} FROM range(2000)")
        lockdown.lock(connection, files_confined=False)
        yield connection


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_no_operator_yields_a_negative_zero(mixed: duckdb.DuckDBPyConnection, text: str) -> None:
    expression = bound(text)
    if expression.facts.type is not Type.REAL:
        return
    scans = {
        name: without_negative_zero(f'"{name}"')
        if column.type in ("decimal", "float")
        else f'"{name}"'
        for name, column in TABLE.columns.items()
    }
    emitter = Emitter(row_column(scans))
    found = mixed.execute(f"SELECT {emitter.sql(expression)} FROM t", emitter.parameters)
    values = [value for (value,) in found.fetchall() if value == 0]
    assert not [value for value in values if math.copysign(1, value) < 0]


def test_files_are_read_with_one_zero(tmp_path: Path) -> None:
    """What a file stores as the other zero is the same number to every question."""
    data = tmp_path / "data"
    data.mkdir()
    zeros = [0.0, -0.0] * 50
    table = pa.table(
        {
            "id": pa.array(range(100)),
            "k": pa.array([1] * 100),
            "x": pa.array(zeros),
            "y": pa.array(zeros, pa.float32()),
            "w": pa.array(["-0.0", "0"] * 50),
        }
    )
    pq.write_table(table, data / "t.parquet")
    (data / "p.csv").write_text("k\n1\n")
    policy = tmp_path / "policy.toml"
    policy.write_text(HEAD.replace("data.duckdb", "data") + POLICY)
    asked = Asked(policy)
    questions = [f"SELECT COUNT(*) FROM t WHERE {APART[0].format(zero)}" for zero in ZERO[:3]]
    assert asked.cells_of(questions, asked.source.database) == [[{"m0": 0}]] * 3


# ---- every pair of every type in every storage

SPELLED = {
    "real": "CONCAT_WS('|', {0}, ATAN2({0}, -1), POWER({0}, -1), -{0}, {0} IS NULL, ISNAN({0}), {0} < 0)",
    "integer": "CONCAT_WS('|', {0}, BIT_COUNT({0}), {0} IS NULL)",
    "text": "CONCAT_WS('|', {0}, LENGTH({0}), STRLEN({0}), UPPER({0}), REVERSE(LEFT({0}, 9)), "
    "{0} > 'abc', {0} IS NULL)",
    "boolean": "CONCAT_WS('|', {0}, NOT {0}, {0} IS TRUE, {0} = TRUE, {0} IS NULL)",
    "moment": "CONCAT_WS('|', {0}, EPOCH({0}), DAYNAME({0}), {0} IS NULL, "
    "STRFTIME({0}, '%Y-%m-%d %H:%M'))",
}
SPELLED_AS = {
    "float": "real", "decimal": "real", "date": "moment", "timestamp": "moment",
    "integer": "integer", "text": "text", "boolean": "boolean",
}  # fmt: skip
# what a subquery over a public table makes of the asking row, once for all askers with equal values
SHARED = (
    "SELECT j, g, COUNT(*) FROM (SELECT t.j AS j, (SELECT MAX(p.w || {own}) FROM p WHERE p.k = t.k) AS g "
    "FROM t) AS w GROUP BY 1, 2"
)
# which value stands for a group, which is the greatest, which comes first, which is the key
CHOSEN = (
    "SELECT j, {inner} AS g, COUNT(*) FROM (SELECT id, j, {c} AS c, COUNT(*) AS n FROM t "
    "GROUP BY id, j, {c}) AS t GROUP BY 1, 2",
    "SELECT j, {inner} AS g, COUNT(*) FROM (SELECT id, j, MAX({c}) AS c FROM t GROUP BY id, j) AS t "
    "GROUP BY 1, 2",
    "SELECT j, g, COUNT(*) FROM (SELECT j, FIRST_VALUE({own}) OVER (PARTITION BY id ORDER BY {c}) AS g "
    "FROM t) AS w GROUP BY 1, 2",
    "SELECT j, g, COUNT(*) FROM (SELECT DISTINCT id, j, {c} AS g FROM t) AS w GROUP BY 1, 2",
)
SHARES = 5  # of all that is asked about the columns of a storage; one at a time
STORAGES = {
    "database": (pair_worlds.database, equal_pairs.of_database()),
    "csv": (pair_worlds.csv, equal_pairs.of_csv()),
    "parquet": (pair_worlds.parquet, equal_pairs.of_parquet()),
    "pandas": (pair_worlds.pandas, equal_pairs.of_frames()),
    "polars": (pair_worlds.polars, equal_pairs.of_frames()),
}


def check(found: dict[str, Cells], column: Pairs) -> None:
    """Nobody changes what others add; a pair that is alike is told apart by nothing."""
    assert found["all"] == found["most"] + found["two"]
    for number, pair in enumerate(column.pairs):
        most, two = (
            {value: count for (of, value), count in found[world].items() if of == str(number)}
            for world in ("most", "two")
        )
        if pair.alike:
            assert {value: count * MANY // 2 for value, count in two.items()} == most, pair


def asked_of(columns: list[Pairs], chosen: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Yield which column is asked about, and in which form: of each declared type one in all of them."""
    seen: set[str] = set()
    for place, column in enumerate(columns):
        for form in (SHARED,) if column.declared in seen else (SHARED, *chosen):
            if form == CHOSEN[-1] and SPELLED_AS[column.declared] == "real":
                continue  # keys without a precision are refused
            yield place, form
        seen.add(column.declared)


# What the engine chooses it chooses in a copy that is the same whoever wrote the Parquet file.
@pytest.mark.parametrize("share", few_of(range(SHARES), 1))
@pytest.mark.parametrize(
    ("storage", "chosen"),
    [
        ("database", CHOSEN),
        ("csv", CHOSEN),
        ("parquet", CHOSEN),
        ("pandas", ()),
        ("polars", ()),
        pytest.param("pandas", CHOSEN, marks=pytest.mark.soak),
        pytest.param("polars", CHOSEN, marks=pytest.mark.soak),
    ],
)
def test_nothing_tells_the_values_of_a_pair_apart(
    storage: str, chosen: tuple[str, ...], share: int, tmp_path: Path
) -> None:
    """Nor does it, where they are two values, make one of them the other for anybody else."""
    write, every = STORAGES[storage]
    asked = [*asked_of(every, chosen)][share::SHARES]
    places = sorted({place for place, _ in asked})
    worlds: PairWorlds = write(tmp_path, [every[place] for place in places])
    for place, form in asked:
        spelled, n = SPELLED[SPELLED_AS[every[place].declared]], places.index(place)
        own, inner = spelled.format(f"t.c{n}"), spelled.format("t.c")
        check(worlds.cells(form.format(own=own, inner=inner, c=f"c{n}")), every[place])


def test_values_that_are_two_are_two_in_the_cells(tmp_path: Path) -> None:
    """The oracle sees a difference where there is one: else it would show nothing above."""
    apart = [
        Pairs(
            column.stored, column.declared, tuple(pair for pair in column.pairs if not pair.alike)
        )
        for column in equal_pairs.of_csv()
        if column.declared == "text"
    ]
    worlds = pair_worlds.csv(tmp_path, apart)
    own = SPELLED["text"].format("t.c0")
    found = worlds.cells(SHARED.format(own=own))
    for number in range(len(apart[0].pairs)):
        assert len([value for of, value in found["two"] if of == str(number)]) == 2


def test_there_is_a_pair_for_every_stored_type_that_may_be_declared() -> None:
    """Whole numbers of up to 64 bits count as one type here, as each is widened by the same cast."""
    narrow = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "USMALLINT", "UINTEGER", "UTINYINT"}
    stored = {
        "narrow" if name in narrow else name
        for (name,) in duckdb.sql("SELECT upper(type_name) FROM duckdb_types()").fetchall()
    }
    listed = {
        ("narrow" if family(c.stored) in narrow else family(c.stored), c.declared)
        for c in equal_pairs.of_database()
    }
    accepted = {
        (name, declared)
        for name in stored
        | {"TIMESTAMP WITH TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"}
        for declared in CANONICAL
        if convert("x", _stored(name), declared) is not None
    }
    assert len(accepted) > 30
    for name, declared in accepted - listed:
        assert declared == "decimal"
        assert (name, "float") in listed
        assert convert("x", _stored(name), declared) == convert("x", _stored(name), "float")


def _stored(name: str) -> str:
    return "INTEGER" if name == "narrow" else name


def test_a_type_of_which_nothing_can_be_read_is_refused_by_name(tmp_path: Path) -> None:
    """1 month and 30 days are equal intervals: no interval is read, as whatever it is declared."""
    policy = HEAD
    with duckdb.connect(tmp_path / "data.duckdb") as connection:
        columns = ", ".join(f"c{n} {stored}" for n, stored in enumerate(REFUSED))
        for kind in CANONICAL:
            connection.execute(f"CREATE TABLE of_{kind} (id BIGINT, {columns})")
            policy += f'[table.of_{kind}]\nprivacy_unit = "id"\nrows_per_unit_max = 1\n'
            policy += f"[table.of_{kind}.column]\n"
            policy += "".join(f'c{n} = {{ type = "{kind}" }}\n' for n in range(len(REFUSED)))
    (tmp_path / "policy.toml").write_text(policy)
    with pytest.raises(PolicyError) as caught:
        Asked(tmp_path / "policy.toml")
    for kind in CANONICAL:
        for n, stored in enumerate(REFUSED):
            fault = (
                f'of_{kind}.column.c{n}: the source stores "c{n}" as {stored}, which is no {kind}'
            )
            assert fault in str(caught.value)


def test_a_collation_is_refused_by_name(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "data.duckdb") as connection:
        connection.execute("CREATE TABLE t (id BIGINT, c VARCHAR COLLATE NOCASE)")
    policy = tmp_path / "policy.toml"
    table = '[table.t]\nprivacy_unit = "id"\nrows_per_unit_max = 1\n[table.t.column]\n'
    policy.write_text(HEAD + table + 'c = { type = "text" }\n')
    with pytest.raises(PolicyError, match="has a collation, which merges different texts"):
        Asked(policy)
