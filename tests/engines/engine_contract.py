"""What every engine keeps, whatever it runs in: inherited by one class for each kind of engine.

The oracle is plain DuckDB over the same file, or arithmetic over rows that are known.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernel.test_lockdown import FORBIDDEN, STATEFUL
from kernel.test_settings import WHERE_QUESTIONS_RUN
from sanql.catalog import PreparedSource
from sanql.compile import compile_plan
from sanql.engines import Engine, Pool, Trials, describe, open_engine, prepare
from sanql.errors import PolicyError, Refused, Unavailable
from sanql.kernel import PublicTable, Statement
from sanql.parse.question import parse
from sanql.plan.plan import Plan, outline, price
from sanql.policy import Policy, load
from support.policies import dataset

ROWS = 1000
POLICY = (
    dataset("{source}", name="town", epsilon=1)
    + """\
[engine]
memory = "512 MB"
[table.people]
privacy_unit = "person_id"
rows_per_unit_max = 1
[table.people.column]
age = {{ type = "integer", bounds = [0, 120] }}
city = {{ type = "text" }}
"""
)
COUNT = Statement('SELECT count(*) AS n FROM "data"."main"."people"')
ENDLESS = Statement("SELECT sum(hash(range)) FROM range(1000000000000)")
MANY = Statement("SELECT range AS n FROM range(2000000)")
CELLS = "SELECT city, count(*) AS n, sum(age)::BIGINT AS ages FROM {} WHERE age >= ? GROUP BY ALL"
# a few of each kind: `kernel/test_lockdown.py` has them all, on the connection itself
IMPOSSIBLE = {
    name: {**FORBIDDEN, **STATEFUL}[name]
    for name in (
        "read text", "read own database", "read by path", "list files", "python table",
        "unlock", "open access", "more threads", "insert", "copy out",
        "temporary table", "two statements", "explain",
    )
}  # fmt: skip


class Collecting:
    """A collector that notes how many rows came together, and can do something at the first."""

    def __init__(self, at_first: Callable[[], object] = lambda: None) -> None:
        self.pieces: list[pa.Table] = []
        self._at_first = at_first

    def take(self, rows: pa.Table) -> None:
        self.pieces.append(rows)
        if len(self.pieces) == 1:
            self._at_first()

    def finish(self) -> list[pa.Table]:
        return self.pieces


def _town(folder: Path) -> Policy:
    """Write people into a database, and a policy over it."""
    with duckdb.connect(str(folder / "town.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT range AS person_id, (range % 90)::INTEGER AS age, "
            f"'city ' || range % 7 AS city FROM range({ROWS})"
        )
    (folder / "policy.toml").write_text(POLICY.format(source="town.duckdb"))
    return load(folder / "policy.toml")


class EngineContract:
    """One prepared source and what is asked of it; `kind` says which engine is asked."""

    kind: str

    @pytest.fixture
    def engine(self) -> Engine:
        return open_engine(self.kind)

    @pytest.fixture
    def policy(self, tmp_path: Path) -> Policy:
        return _town(tmp_path)

    @pytest.fixture
    def files(self, tmp_path: Path) -> Policy:
        """The same people in a Parquet file."""
        (tmp_path / "data").mkdir()
        people = {
            "person_id": range(ROWS),
            "age": [i % 90 for i in range(ROWS)],
            "city": [f"city {i % 7}" for i in range(ROWS)],
        }
        pq.write_table(pa.table(people), tmp_path / "data" / "people.parquet")
        (tmp_path / "policy.toml").write_text(POLICY.format(source="data"))
        return load(tmp_path / "policy.toml")

    @pytest.fixture
    def source(self, policy: Policy, engine: Engine) -> PreparedSource:
        return prepare(policy, engine=engine)

    @pytest.fixture
    def pool(self, source: PreparedSource, policy: Policy, engine: Engine) -> Iterator[Pool]:
        with Pool(source, policy.engine, engine) as opened:
            yield opened

    @pytest.fixture(scope="class")
    @classmethod
    def shared(
        cls, tmp_path_factory: pytest.TempPathFactory
    ) -> Iterator[tuple[Pool, PreparedSource]]:
        """One pool for all statements after which it answers as before, and its source."""
        engine = open_engine(cls.kind)
        policy = _town(tmp_path_factory.mktemp("town"))
        source = prepare(policy, engine=engine)
        with Pool(source, policy.engine, engine) as opened:
            yield opened, source

    @pytest.fixture
    def asked(self, shared: tuple[Pool, PreparedSource]) -> Pool:
        return shared[0]

    # what is run

    def test_cells_are_those_that_plain_sql_gives(
        self, shared: tuple[Pool, PreparedSource]
    ) -> None:
        pool, source = shared
        found = pool.run(Statement(CELLS.format('"data"."main"."people"'), (30,)))
        with duckdb.connect(str(source.database), read_only=True) as plain:
            expected = plain.execute(CELLS.format("people"), [30]).to_arrow_table()
        assert found.schema == expected.schema
        assert found.sort_by("city").to_pylist() == expected.sort_by("city").to_pylist()

    def test_an_empty_result_keeps_its_columns(self, asked: Pool) -> None:
        found = asked.run(Statement('SELECT "age" FROM "data"."main"."people" WHERE false'))
        assert (found.num_rows, found.column_names) == (0, ["age"])

    def test_public_tables_are_finished_first_and_gone_afterwards(self, asked: Pool) -> None:
        """Finished: read twice, what is drawn in them is the same."""
        sql = "SELECT count(*) AS n FROM temp.main.public0 a JOIN temp.main.public0 b USING (drawn)"
        for rows in (3, 5):
            made = PublicTable("public0", "SELECT uuid() AS drawn FROM range(?::BIGINT)", (rows,))
            assert asked.run(Statement(sql, (), (made,))).to_pydict() == {"n": [rows]}
        with pytest.raises(Unavailable):
            asked.run(Statement(sql))

    def test_what_is_no_select_makes_no_public_table(self, asked: Pool) -> None:
        made = PublicTable("public0", "SELECT 1; SELECT 2", ())
        with pytest.raises(Unavailable):
            asked.run(Statement("SELECT 1", (), (made,)))

    def test_questions_run_under_the_listed_settings(self, asked: Pool) -> None:
        listed = ", ".join(
            f"current_setting('{name}') AS \"{name}\"" for name in WHERE_QUESTIONS_RUN
        )
        assert asked.run(Statement(f"SELECT {listed}")).to_pylist() == [WHERE_QUESTIONS_RUN]

    @pytest.mark.parametrize("what", IMPOSSIBLE)
    def test_nothing_but_the_data_is_reached_and_nothing_is_changed(
        self, what: str, shared: tuple[Pool, PreparedSource], tmp_path: Path
    ) -> None:
        pool, source = shared
        arrow_table = pa.table({"a": [1]})  # noqa: F841  (what a replacement scan would find)
        (tmp_path / "plain.csv").write_text("a\n1\n")
        folders = tmp_path, source.database.parent
        before = [sorted(path.name for path in folder.iterdir()) for folder in folders]
        sql = IMPOSSIBLE[what].format(database=source.database, folder=tmp_path)
        with pytest.raises(Unavailable):
            pool.run(Statement(sql))
        assert pool.run(COUNT).to_pydict() == {"n": [ROWS]}
        after = [sorted(path.name for path in folder.iterdir()) for folder in folders]
        assert after == before

    # what comes back

    def test_a_result_comes_in_pieces_of_bounded_size(self, asked: Pool) -> None:
        with asked.lease() as lease:
            pieces = lease.stream(MANY, Collecting)
        assert len(pieces) > 5
        assert max(piece.nbytes for piece in pieces) < 4 << 20
        assert sum(piece.num_rows for piece in pieces) == 2_000_000

    def test_what_is_to_be_done_meanwhile_is_done_once(self, asked: Pool) -> None:
        done: list[int] = []
        asked.run(COUNT, lambda: done.append(1))
        assert done == [1]

    # failures

    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT error('Alice')",
            "SELECT 'Alice'::INTEGER",
            'SELECT "nothing" FROM "data"."main"."people"',
            "SELEC",
            "SELECT ?",
        ],
    )
    def test_an_error_is_the_one_constant_and_leaves_no_trace(
        self, sql: str, asked: Pool, capfd: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(Unavailable) as caught:
            asked.run(Statement(sql))
        error = caught.value
        assert (error.code, error.message) == ("unavailable", "the engine could not answer")
        assert (error.__cause__, error.__context__) == (None, None)
        assert capfd.readouterr() == ("", "")
        assert asked.run(COUNT).to_pydict() == {"n": [ROWS]}

    def test_a_failure_after_some_rows_is_the_same_failure(self, asked: Pool) -> None:
        late = "CASE WHEN range = 1999999 THEN error('Alice') ELSE 'x' END"
        collecting = Collecting()
        with asked.lease() as lease, pytest.raises(Unavailable) as caught:
            lease.stream(
                Statement(f"SELECT range AS n, {late} AS x FROM range(2000000)"), lambda: collecting
            )
        assert collecting.pieces, "nothing had come by then, so nothing was tried"
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)

    def test_a_collector_that_fails_is_the_same_failure(self, asked: Pool) -> None:
        def fail() -> None:
            raise MemoryError("Alice")

        with asked.lease() as lease, pytest.raises(Unavailable) as caught:
            lease.stream(MANY, lambda: Collecting(fail))
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)
        assert asked.run(COUNT).to_pydict() == {"n": [ROWS]}

    @pytest.mark.slow
    def test_a_statement_past_its_deadline_is_unavailable_and_the_next_one_works(
        self, source: PreparedSource, policy: Policy, engine: Engine
    ) -> None:
        with Pool(source, replace(policy.engine, deadline_seconds=0.7), engine) as pool:
            pool.warm()
            started = time.monotonic()
            with pytest.raises(Unavailable) as caught:
                pool.run(ENDLESS)
            assert caught.value.code == "unavailable"
            assert 0.7 <= time.monotonic() - started < 10
        with Pool(source, policy.engine, engine) as pool:
            assert pool.run(COUNT).to_pydict() == {"n": [ROWS]}

    @pytest.mark.slow
    def test_a_deadline_holds_for_all_rows_together(
        self, source: PreparedSource, policy: Policy, engine: Engine
    ) -> None:
        endless = Statement("SELECT range AS n FROM range(1000000000000)")
        with (
            Pool(source, replace(policy.engine, deadline_seconds=1.0), engine) as pool,
            pool.lease() as lease,
            pytest.raises(Unavailable),
        ):
            lease.stream(endless, _Forgetting)

    def test_what_is_left_of_a_deadline_may_be_nothing(self, asked: Pool) -> None:
        with pytest.raises(Unavailable):
            asked.run(COUNT, seconds_max=0.0)

    # several at once, and the end

    def test_questions_of_several_threads_are_not_mixed(
        self, source: PreparedSource, policy: Policy, engine: Engine
    ) -> None:
        with Pool(source, replace(policy.engine, workers=2), engine) as pool:

            def ask(number: int) -> int:
                if number % 10 == 7:
                    with pytest.raises(Unavailable):
                        pool.run(Statement("SELECT error('x')"))
                    return number
                asked = Statement("SELECT ?::BIGINT AS echo", (number,))
                return int(pool.run(asked).column(0)[0].as_py())

            with ThreadPoolExecutor(4) as threads:
                assert list(threads.map(ask, range(20))) == list(range(20))

    def test_closing_is_idempotent_and_final(self, pool: Pool) -> None:
        pool.warm()
        pool.close()
        pool.close()
        with pytest.raises(Unavailable) as caught:
            pool.run(COUNT)
        assert caught.value.code == "engine_not_ready"

    def test_closing_ends_a_statement_of_another_thread(
        self, source: PreparedSource, policy: Policy, engine: Engine
    ) -> None:
        pool = Pool(source, policy.engine, engine)
        running = threading.Event()
        with ThreadPoolExecutor(1) as threads:
            asked = threads.submit(pool.run, ENDLESS, running.set)
            running.wait()
            time.sleep(0.2)
            pool.close()
            with pytest.raises(Unavailable):
                asked.result(timeout=20)

    def test_a_retired_pool_finishes_what_runs_and_takes_no_more(self, pool: Pool) -> None:
        with pool.lease() as lease:
            pool.retire()
            assert lease.run(COUNT).to_pydict() == {"n": [ROWS]}
        with pytest.raises(Unavailable):
            pool.run(COUNT)

    # versions of the data

    def test_data_of_another_version_are_not_opened(
        self, source: PreparedSource, policy: Policy, engine: Engine
    ) -> None:
        """The file is written to after it was taken for the data."""
        with duckdb.connect(str(source.database)) as connection:
            connection.execute("INSERT INTO people SELECT * FROM people")
        with Pool(source, policy.engine, engine) as pool, pytest.raises(Unavailable) as caught:
            pool.run(COUNT)
        assert caught.value.code == "engine_not_ready"

    # before there are questions

    def test_a_description_is_of_names_and_types(self, policy: Policy, engine: Engine) -> None:
        found = describe(policy, engine=engine)
        assert found.types == {
            "people": {"person_id": "BIGINT", "age": "BIGINT", "city": "VARCHAR"}
        }
        columns = [column[:2] for column in found.schema["tables"]["people"][0]]  # type: ignore[index]
        assert columns == [["person_id", "BIGINT"], ["age", "INTEGER"], ["city", "VARCHAR"]]

    def test_a_description_touches_no_rows_and_a_copy_names_what_it_cannot_read(
        self, files: Policy, engine: Engine
    ) -> None:
        path = files.path.parent / "data" / "people.parquet"
        whole = path.read_bytes()
        footer = int.from_bytes(whole[-8:-4], "little") + 8
        path.write_bytes(b"PAR1" + b"\xff" * (len(whole) - footer - 4) + whole[-footer:])
        assert set(describe(files, engine=engine).types["people"]) == {"person_id", "age", "city"}
        with pytest.raises(PolicyError) as caught:
            prepare(files, engine=engine)
        (fault,) = caught.value.faults
        assert fault.place == "table.people"
        assert not list(files.ledger.with_suffix(".cache").glob("*.building*"))

    def test_a_source_that_is_none_is_a_fault_of_the_policy(
        self, policy: Policy, engine: Engine, capfd: pytest.CaptureFixture[str]
    ) -> None:
        (policy.path.parent / "town.duckdb").write_bytes(b"Alice" * 10_000)
        with pytest.raises(PolicyError) as caught:
            describe(policy, engine=engine)
        assert "Alice" not in str(caught.value)
        assert capfd.readouterr() == ("", "")

    def test_a_copy_has_the_same_cells_as_its_files(self, files: Policy, engine: Engine) -> None:
        told: list[str] = []
        source = prepare(files, told.append, engine=engine)
        assert told == ["preparing people: 1 of 1"]
        with Pool(source, files.engine, engine) as pool:
            found = pool.run(Statement(CELLS.format(source.relations["people"]), (0,)))
        assert sorted(found.column("n").to_pylist()) == sorted(
            len(range(k, ROWS, 7)) for k in range(7)
        )
        assert sum(found.column("ages").to_pylist()) == sum(i % 90 for i in range(ROWS))

    # trials

    def test_a_long_statement_is_tried_without_rows_and_leaves_nothing(
        self, source: PreparedSource, policy: Policy, engine: Engine
    ) -> None:
        trials = Trials(source, policy.engine, engine)
        for level in _long(policy).levels:
            trials.check(level, compile_plan(level, source, 1))
        empty, pool = trials._begin()
        assert pool.run(COUNT).to_pydict() == {"n": [0]}
        trials.close()
        trials.close()
        assert not empty.database.exists()

    def test_what_cannot_be_tried_in_time_is_refused(
        self, source: PreparedSource, policy: Policy, engine: Engine
    ) -> None:
        trials = Trials(source, replace(policy.engine, deadline_seconds=1e-5), engine)
        with pytest.raises(Refused) as caught:
            for level in _long(policy).levels:
                trials.check(level, compile_plan(level, source, 1))
        assert caught.value.code == "query_too_complex"
        trials.close()


class _Forgetting:
    """A collector of results that do not end."""

    def take(self, rows: pa.Table) -> None: ...

    def finish(self) -> None: ...


def _long(policy: Policy) -> Plan:
    listed = ", ".join(f"SUM(age + {number}) AS s{number}" for number in range(40))
    query = parse(f"SELECT {listed} FROM people", policy.tables).query
    return price(outline(query, policy.tables, policy.neighbours), Fraction(1), Fraction(0))
