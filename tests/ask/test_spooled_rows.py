"""Rows of public tables on their way out take a bounded room, and can be cancelled."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from sanql.ask import Session, ask_with, read_request, spool_publicly, spooled_rows
from sanql.ask.request import Request
from sanql.ask.spooled_rows import SpooledAnswer, SpoolFile
from sanql.errors import Refused, Unavailable
from sanql.interrupts import Watch, watched_by
from sanql.parse import QuestionText
from support.policies import dataset

pytestmark = pytest.mark.slow

EVERYTHING = "SELECT a.n, b.n AS m FROM numbers AS a CROSS JOIN numbers AS b"
SECONDS = 60.0


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    (tmp_path / "data").mkdir()
    duckdb.sql(f"COPY (SELECT i AS n FROM range(3000) t(i)) TO '{tmp_path}/data/numbers.parquet'")
    duckdb.sql(f"COPY (SELECT 1 AS id) TO '{tmp_path}/data/people.parquet'")
    policy = tmp_path / "policy.toml"
    policy.write_text(
        dataset("data/")
        + '[table.numbers]\npublic = true\n[table.people]\nprivacy_unit = "id"\nunique = true\n',
        encoding="utf-8",
    )
    with Session(policy) as opened:
        yield opened
    gc.collect()
    assert SpoolFile._all == 0  # all room is given back, also by what was never read


def asked(sql: str) -> Request:
    return read_request(QuestionText(sql), "ana")


def spooled(session: Session, sql: str) -> SpooledAnswer:
    answer = ask_with(session, asked(sql), spool_publicly)
    assert isinstance(answer, SpooledAnswer)
    return answer


def test_an_answer_that_takes_too_much_room_is_refused_and_gives_it_back(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spooled_rows, "ANSWER_BYTES_MAX", 1 << 20)
    with pytest.raises(Refused) as refused:
        spooled(session, EVERYTHING)
    assert refused.value.code == "public_rows_too_many" and "LIMIT" in refused.value.remedy
    answer = spooled(session, "SELECT n FROM numbers")
    assert sum(len(part.rows) for part in answer.parts()) == 3000
    answer.close()


def test_answers_that_are_not_read_yet_leave_others_less_room(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spooled_rows, "ALL_BYTES_MAX", 40_000)
    first = spooled(session, "SELECT n FROM numbers")  # 24,000 bytes
    with pytest.raises(Unavailable) as none_left:
        spooled(session, "SELECT n FROM numbers")
    assert none_left.value.code == "public_rows_unavailable"
    assert "nothing was charged" in none_left.value.message
    first.close()
    spooled(session, "SELECT n FROM numbers").close()


def test_rows_that_nobody_waits_for_are_not_read_to_the_end(session: Session) -> None:
    watch, begun = Watch(), threading.Event()
    ended: list[Exception] = []

    class Begins(spooled_rows._Spool):
        def take(self, rows: object) -> None:
            begun.set()
            super().take(rows)

    def run() -> None:
        with watched_by(watch):
            try:
                spooled(session, EVERYTHING + " CROSS JOIN numbers AS c")
            except Unavailable as fault:
                ended.append(fault)

    original = spooled_rows._Spool
    spooled_rows._Spool = Begins  # type: ignore[misc]
    try:
        reading = threading.Thread(target=run)
        reading.start()
        assert begun.wait(SECONDS)
        watch.cancel()
        reading.join(SECONDS)
    finally:
        spooled_rows._Spool = original  # type: ignore[misc]
    (fault,) = ended
    assert isinstance(fault, Unavailable) and fault.code == "question_cancelled"
    assert "nothing was charged" in fault.message
