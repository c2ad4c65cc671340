"""What a cluster never learns, writes down or gets away with: from the question to the ledger."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

import sanql
from sanql.ask import Session
from sanql.engines.spark import server as spark_server
from sanql.engines.spark import session as spark_session
from sanql.errors import PolicyError, SanqlError, Unavailable
from sanql.kernel.buckets import Versions, read_layout
from sanql.san import San
from spark.conftest import MASTER, bucket_processes

pytestmark = [pytest.mark.spark, pytest.mark.slow]

MARK = "Zyx-Marker-77"  # in a text of every row
LITERAL = 4_242_421  # in a question
BUCKETS = 5
DEADLINE = 240
POLICY = """
[dataset]
name = "town"
source = "town.duckdb"
neighbours = "add-remove"
budget = {{ epsilon = 100, delta = 1e-4 }}
accounting = "renyi"
failures_max = 100
failures_total_max = 1000
[engine]
deadline = {deadline}
memory = "512MB"
kind = "spark"
master = "{master}"
layout = "layout"
[table.people]
privacy_unit = "person_id"
rows_per_unit_max = 1
[table.people.column]
age = {{ type = "integer", bounds = [0, 120] }}
town = {{ type = "text", domain = ["{mark}", "elsewhere"] }}
"""
ASKED = f"SELECT town, COUNT(*) FROM people WHERE age <> {LITERAL} GROUP BY town"


@pytest.fixture
def town(tmp_path: Path) -> Path:
    """Return the policy of a town whose layout is written."""
    with duckdb.connect(str(tmp_path / "town.duckdb")) as connection:
        connection.execute(
            f"CREATE TABLE people AS SELECT range + 910000000 AS person_id, "
            f"(range % 90)::INTEGER AS age, '{MARK}' AS town FROM range(3000)"
        )
    path = tmp_path / "policy.toml"
    path.write_text(POLICY.format(deadline=DEADLINE, master=MASTER, mark=MARK))
    with Session(path) as session:
        session.data.prepare(BUCKETS)
    return path


@pytest.fixture
def san(town: Path) -> Iterator[San]:
    with sanql.open(town) as opened:
        yield opened


def spent(san: San) -> Fraction:
    return max(balance.spent_upper.epsilon for balance in san.session.ledger.balances())


@pytest.mark.few
def test_what_spark_writes_down_has_no_row_no_literal_and_no_secret(
    san: San, events: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Job names, labels, plans and events: all of the log that a history server would show."""
    secret = 5_151_515_151_515
    monkeypatch.setattr(type(san.session.sampler), "secret", lambda _: secret)
    assert san.query(ASKED, epsilon=1).rows
    time.sleep(2)
    written = b"".join(path.read_bytes() for path in events.rglob("*") if path.is_file())
    assert b"MapInArrow" in written
    for private in (MARK, str(LITERAL), str(secret), "910000", "person_id"):
        assert private.encode() not in written, private


@pytest.mark.few
def test_nothing_but_exact_cells_comes_to_this_process(
    san: San, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The frames that Spark gives back are the result, and hold as many rows as there are groups."""
    seen: list[bytes] = []
    collected = spark_server.SparkServer._collected

    def noting(self: spark_server.SparkServer, question: bytes, *, adds: bool) -> list[bytes]:
        frames = collected(self, question, adds=adds)
        seen.extend(frames)
        return frames

    monkeypatch.setattr(spark_server.SparkServer, "_collected", noting)
    san.query("SELECT COUNT(DISTINCT age) FROM people", epsilon=1)
    san.query(ASKED, epsilon=1)
    rows = [spark_server._rows(frame).num_rows for frame in seen]
    assert 2 <= sum(rows) <= 4
    assert not any(
        str(person).encode() in frame for frame in seen for person in (910000000, 910002999)
    )
    layout = san.session.data.open().source.database.parent
    held = [str(file.resolve()) for file in Path("/proc/self/fd").iterdir() if file.is_symlink()]
    assert not [path for path in held if path.startswith(str(layout)) and path.endswith("parquet")]


@pytest.mark.parametrize("how", ["flipped", "truncated", "swapped", "gone"])
def test_a_bad_bucket_is_unavailable_and_charged_once(how: str, san: San) -> None:
    source = san.session.data.open().source
    layout = read_layout(source.database.parent)
    first, second = (source.database.parent / layout.tables[0].files(n)[0].path for n in (0, 1))
    content = first.read_bytes()
    match how:
        case "flipped":
            first.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
        case "truncated":
            first.write_bytes(content[:-1])
        case "swapped":
            first.write_bytes(second.read_bytes())
        case _:
            first.unlink()
    before = spent(san)
    with pytest.raises(Unavailable) as caught:
        san.query(ASKED, epsilon=1)
    assert caught.value.code == "unavailable"
    assert MARK not in str(caught.value) and "Spark" not in str(caught.value)
    once = spent(san)
    assert once > before
    first.write_bytes(content)
    assert san.query(ASKED, epsilon=1).rows
    assert spent(san) - once <= (once - before) * 2


def test_a_stale_layout_is_refused_before_anything_is_charged(town: Path) -> None:
    with sanql.open(town) as san:
        assert san.query(ASKED, epsilon=1).rows
        before = spent(san)
    with duckdb.connect(str(town.parent / "town.duckdb")) as connection:
        connection.execute("DELETE FROM people WHERE age = 3")
    with Session(town) as session:
        session.data.refresh()
    with sanql.open(town) as san:
        with pytest.raises(PolicyError, match="layout"):
            san.query(ASKED, epsilon=1)
        assert spent(san) == before
        san.session.data.prepare(BUCKETS)
        assert san.query(ASKED, epsilon=1).rows


def test_a_deadline_ends_the_job_on_the_executors(
    town: Path, san: San, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody computes on for an answer that is too late."""
    assert san.query(ASKED, epsilon=1).rows  # so that executors and their processes are there
    pool = san.session.data.open().workers
    slow = (
        "SELECT sum(hash(a.range, b.range))::HUGEINT AS m0 FROM range(10000000) a, range(100000) b"
    )
    with pool.lease() as lease:
        from sanql.kernel import PartialCells, Statement

        sent = Statement("SELECT 1", partial=PartialCells("partial_cells", slow, ()), parts=BUCKETS)
        started = time.monotonic()
        with pytest.raises(Unavailable):
            lease.run(sent, seconds_max=4)
        assert time.monotonic() - started < 20
    deadline = time.monotonic() + 30
    while any(_computes(pid) for pid in bucket_processes()):
        assert time.monotonic() < deadline, "an executor computes on"
    assert san.query(ASKED + " ORDER BY 1", epsilon=1).rows


def _computes(pid: int) -> bool:
    """Return whether a process uses its processor over a second."""
    first = _ticks(pid)
    time.sleep(1)
    return _ticks(pid) - first > 20


def _ticks(pid: int) -> int:
    try:
        return sum(
            map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13])
        )
    except OSError:
        return 0


@pytest.mark.few
def test_another_kernel_on_executors_is_refused_by_name(
    san: San, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Versions("0123456789abcdef", "1.9.0", "1.0", f"{sys.version_info[0]}.1")
    session = spark_session.session_on(MASTER)
    monkeypatch.setattr(spark_session, "own_versions", lambda: other)
    with pytest.raises(Unavailable, match=r"executors have kernel .* not 0123456789abcdef"):
        spark_session._check_versions(session)
    monkeypatch.setattr(spark_server, "own_versions", lambda: other)
    with pytest.raises(Unavailable, match="could not answer"):
        san.query(ASKED, epsilon=1)


@pytest.mark.few
def test_a_killed_bucket_process_costs_an_attempt_and_no_answer(san: San) -> None:
    assert san.query(ASKED, epsilon=1).rows
    for pid in bucket_processes():
        os.kill(pid, signal.SIGKILL)
    assert san.query(ASKED + " ORDER BY 1", epsilon=1, fresh=True).rows


def test_a_session_that_is_taken_away_is_begun_anew(san: San) -> None:
    """By somebody else who stops it: in the middle of a question, and between two of them."""
    assert san.query(ASKED, epsilon=1).rows
    session = spark_session.session_on(MASTER)
    stopping = threading.Timer(0.2, session.stop)
    stopping.start()
    try:
        rows = san.query(ASKED, epsilon=1, fresh=True).rows
        assert rows
    except SanqlError as fault:
        assert fault.code in ("unavailable", "engine_not_ready")
    stopping.join()
    assert san.query(ASKED, epsilon=1, fresh=True).rows
