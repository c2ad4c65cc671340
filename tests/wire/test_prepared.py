"""Statements are prepared, bound, described and executed; only executing asks, and only once."""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors

from sanql.demo import make_hospital
from sanql.server import ServerSettings
from support.serving import Served, served
from wire.conftest import Connect
from wire.talking import Talk, talk_to
from wire.test_sessions import left

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]
BY_SEX = "SELECT sex, COUNT(*) AS n, AVG(age) AS mean FROM people WHERE age > {} GROUP BY sex"


@pytest.fixture
def ana(connect: Connect) -> psycopg.Connection[tuple[Any, ...]]:
    connection = connect()
    connection.execute("SET sanql.epsilon = 0.001")
    return connection


@pytest.fixture
def talk(hospital: Served) -> Iterator[Talk]:
    """Return a connection whose every message a test writes."""
    with talk_to(hospital, "bo") as opened:
        opened.simple("SET sanql.epsilon = 0.001")
        yield opened


def asked_so_far(hospital: Served, name: str) -> int:
    with hospital.client(name) as http:
        return len(http.get("/v1/history").json()["questions"])


@pytest.mark.parametrize("binary", [False, True])
def test_parameters_are_the_constants_they_stand_for(
    ana: psycopg.Connection[tuple[Any, ...]], binary: bool
) -> None:
    cursor = ana.cursor(binary=binary)
    cursor.execute(BY_SEX.format("%s"), (33,))
    with_parameter = cursor.fetchall()
    before = left(ana)
    assert with_parameter == ana.execute(BY_SEX.format(33)).fetchall()  # type: ignore[arg-type]
    assert left(ana) == before  # it is the same question
    text = "SELECT COUNT(*) FROM visits WHERE day > %s AND cost < %s AND kind = %s AND %s"
    cursor.execute(text, (date(2020, 1, 1), Decimal("100.5"), "surgery", True))
    before = left(ana)
    spelled = "SELECT COUNT(*) FROM visits WHERE day > DATE '2020-01-01' AND cost < 100.5"
    again = ana.execute(spelled + " AND kind = 'surgery' AND TRUE").fetchall()  # type: ignore[arg-type]
    assert left(ana) == before and again == cursor.fetchall()


@pytest.mark.parametrize("binary", [False, True])
def test_questions_over_statistics_take_parameters_and_are_charged_once(
    ana: psycopg.Connection[tuple[Any, ...]], binary: bool
) -> None:
    share = "SELECT sex, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM people "
    before = left(ana)
    cursor = ana.cursor(binary=binary)
    cursor.execute(
        f"{share} WHERE age > %s AND age > (SELECT AVG(age) FROM people) GROUP BY sex",
        (3 + binary,),
    )
    rows = cursor.fetchall()
    assert [column.name for column in cursor.description or ()] == ["sex", "share"]
    assert abs(sum(percent for _, percent in rows) - 100) < 1e-6
    spent = left(ana)
    assert spent != before
    spelled = (
        f"{share} WHERE age > {3 + binary} AND age > (SELECT AVG(age) FROM people) GROUP BY sex"
    )
    assert ana.execute(spelled).fetchall() == rows  # type: ignore[arg-type]
    assert left(ana) == spent


def test_describing_runs_nothing_and_spends_nothing(talk: Talk, hospital: Served) -> None:
    asked = asked_so_far(hospital, "bo")
    text = BY_SEX.format("$1") + " HAVING COUNT(*) > $2 LIMIT $3"
    talk.parse("mine", text).describe("S", "mine").bind("p", "mine", [b"34", b"0", b"2"])
    talk.describe("P", "p").sync()
    replies = talk.until_ready()
    assert [kind for kind, _ in replies] == ["1", "t", "T", "2", "T", "Z"]
    parameters, columns, of_portal = (replies[place][1] for place in (1, 2, 4))
    assert struct.unpack("!H3I", parameters) == (3, 20, 20, 20)
    assert columns == of_portal and columns.startswith(b"\0\3sex\0")
    assert asked_so_far(hospital, "bo") == asked
    talk.bind("p", "mine", [b"34", b"0", b"2"]).execute("p").sync()
    assert [kind for kind, _ in talk.until_ready()] == ["2", "D", "D", "C", "Z"]
    assert asked_so_far(hospital, "bo") == asked + 1


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SHOW sanql.budget", 5),
        ("SHOW server_version", 1),
        ("EXPLAIN SELECT COUNT(*) FROM people", 1),
        ("SET application_name = 'x'", 0),
        ("BEGIN", 0),
        ("", 0),
    ],
)
def test_whatever_else_is_sent_is_described_too(talk: Talk, sql: str, columns: int) -> None:
    talk.parse("s", sql).describe("S", "s").bind("p", "s").execute("p").sync()
    replies = talk.until_ready()
    described = next((each for each in replies if each[0] in "Tn"), None)
    assert described is not None
    assert (described[0] == "n") == (columns == 0)
    if columns:
        assert int.from_bytes(described[1][:2], "big") == columns
    assert sum(each[0] == "E" for each in replies) == 0
    assert replies[-2][0] in "CI"


def test_rows_come_as_many_at_a_time_as_are_asked_for_and_are_paid_once(
    talk: Talk, hospital: Served
) -> None:
    talk.simple("BEGIN")
    asked = asked_so_far(hospital, "bo")
    talk.parse("", BY_SEX.format(35)).bind("c", "").execute("c", 2).sync()
    first = [kind for kind, _ in talk.until_ready()]
    assert first.count("D") == 2 and "s" in first and "C" not in first
    talk.execute("c", 2).sync()
    second = talk.until_ready()
    assert [kind for kind, _ in second].count("D") == 1
    assert ("C", b"SELECT 1\0") in second
    assert asked_so_far(hospital, "bo") == asked + 1
    talk.simple("COMMIT")
    talk.execute("c", 2).sync()
    assert talk.state_of_error() == "34000"  # it ended with its transaction


def test_outside_a_transaction_a_portal_ends_with_sync(talk: Talk) -> None:
    talk.parse("", BY_SEX.format(36)).bind("c", "").execute("c", 1).sync()
    talk.until_ready()
    talk.execute("c").sync()
    assert talk.state_of_error() == "34000"


@pytest.mark.parametrize(
    ("begun", "state"),
    [
        (lambda t: t.bind("", "nobody"), "26000"),
        (lambda t: t.describe("S", "nobody"), "26000"),
        (lambda t: t.describe("P", "nobody"), "34000"),
        (lambda t: t.execute("nobody"), "34000"),
        (lambda t: t.parse("a", "SELECT 1").parse("a", "SELECT 1"), "42P05"),
        (lambda t: t.parse("", "SELECT COUNT(* FROM people"), "42601"),
        (lambda t: t.parse("", "BEGIN; COMMIT"), "42601"),
        (lambda t: t.parse("", BY_SEX.format("$1")).bind("", ""), "08P01"),
        (lambda t: t.parse("", BY_SEX.format("$1")).bind("", "", [b"x"]), "22P02"),
        (lambda t: t.parse("", BY_SEX.format("$1"), [1184]).bind("", "", [b"x"]), "42846"),
        (lambda t: t.parse("", BY_SEX.format(1)).bind("", "", formats=[7]), "08P01"),
        (lambda t: t.parse("", BY_SEX.format(37)).bind("", "", formats=[0, 1]).execute(""),
         "08P01"),
        (lambda t: t.parse("n" * 300, "BEGIN"), "42622"),
    ],
)  # fmt: skip
def test_after_an_error_all_is_passed_over_until_sync(talk: Talk, begun: Any, state: str) -> None:
    begun(talk)
    talk.parse("later", "BEGIN").bind("later", "later").execute("later").sync()
    assert talk.state_of_error() == state
    talk.describe("S", "later").sync()
    assert talk.state_of_error() == "26000"  # it was passed over
    assert talk.simple("SHOW sanql.epsilon")[-1] == ("Z", b"I")


@pytest.mark.parametrize("number", ["1001", "999999999", "9" * 3_000])
def test_parameters_are_no_more_than_a_statement_may_have(talk: Talk, number: str) -> None:
    talk.parse("", f"SELECT COUNT(*) FROM people WHERE age > ${number}").sync()
    assert talk.state_of_error() == "08P01"


@pytest.mark.parametrize("begun", ["formats", "columns"])
def test_what_cannot_be_sent_is_not_asked(talk: Talk, hospital: Served, begun: str) -> None:
    asked = asked_so_far(hospital, "bo")
    talk.simple("BEGIN")
    talk.parse("", f"SELECT COUNT(*) FROM people WHERE age > 39 AND '{begun}' = 'x'")
    if begun == "formats":
        talk.bind("p", "", formats=[0, 1])
    else:
        talk.bind("p", "").describe("P", "p").sync()
        talk.until_ready()
        talk.simple("SET sanql.intervals = columns")
    talk.execute("p").sync()
    assert talk.state_of_error() in ("08P01", "0A000")
    assert asked_so_far(hospital, "bo") == asked


def test_a_column_may_be_named_after_a_value(talk: Talk) -> None:
    talk.parse("s", "SELECT COUNT(*) + $1 FROM people WHERE age > 37").describe("S", "s").sync()
    talk.until_ready()
    talk.bind("", "s", [b"5"]).execute("").sync()
    assert "D" in [kind for kind, _ in talk.until_ready()]


def test_discarding_all_forgets_statements_too(talk: Talk) -> None:
    talk.parse("a", "BEGIN").sync()
    talk.until_ready()
    assert ("C", b"DISCARD ALL\0") in talk.simple("DISCARD ALL")
    talk.parse("a", "BEGIN").sync()
    assert [kind for kind, _ in talk.until_ready()] == ["1", "Z"]


def test_descriptions_that_nobody_reads_keep_nobody_else_waiting(
    talk: Talk, hospital: Served
) -> None:
    wide = ", ".join(["c.*"] * 40)
    talk.parse("w", f"SELECT {wide} FROM pg_class c WHERE false").sync()
    talk.until_ready()
    talk.socket.settimeout(3)
    with suppress(TimeoutError):
        for _ in range(3_000):
            talk.describe("S", "w")
    with talk_to(hospital, "ana") as other:
        assert other.simple("SHOW sanql.epsilon")[-1] == ("Z", b"I")


def test_statements_are_forgotten_when_they_are_closed(talk: Talk) -> None:
    talk.parse("a", "BEGIN").parse("b", "BEGIN").parse("c", "BEGIN").close("S", "a").sync()
    assert [kind for kind, _ in talk.until_ready()] == ["1", "1", "1", "3", "Z"]
    talk.simple("DEALLOCATE b")
    talk.describe("S", "b").sync()
    assert talk.state_of_error() == "26000"
    talk.simple("DEALLOCATE PREPARE ALL")
    talk.describe("S", "c").sync()
    assert talk.state_of_error() == "26000"
    assert any(kind == "E" for kind, _ in talk.simple("DEALLOCATE nobody"))


def test_a_connection_prepares_no_more_than_it_may(hospital: Served) -> None:
    with talk_to(hospital, "olga", role="owner") as talk:
        for number in range(1_000):
            talk.parse(f"s{number}", "BEGIN")
        talk.parse("one more", "BEGIN").sync()
        replies = talk.until_ready()
    assert [kind for kind, _ in replies].count("1") == 1_000
    assert b"53400" in replies[-2][1]


def test_what_was_described_otherwise_is_not_asked(talk: Talk, hospital: Served) -> None:
    talk.parse("s", "SELECT COUNT(*) AS n FROM people WHERE age > 38").describe("S", "s").sync()
    talk.until_ready()
    talk.simple("SET sanql.intervals = columns")
    asked = asked_so_far(hospital, "bo")
    talk.bind("", "s").execute("").sync()
    assert talk.state_of_error() == "0A000"
    assert asked_so_far(hospital, "bo") == asked
    talk.simple("SET sanql.intervals = none")
    talk.bind("", "s").execute("").sync()
    assert "D" in [kind for kind, _ in talk.until_ready()]


def test_several_statements_may_be_one_text_but_not_several_questions(talk: Talk) -> None:
    kinds = [
        kind for kind, _ in talk.simple("BEGIN; SHOW sanql.epsilon; CLOSE ALL; UNLISTEN *; END")
    ]
    assert kinds == ["C", "T", "D", "C", "C", "C", "C", "Z"]
    replies = talk.simple("SET sanql.delta = 0; SELECT COUNT(* FROM people; RESET sanql.delta")
    assert [kind for kind, _ in replies] == ["C", "E", "Z"]


def test_a_question_that_was_executed_is_cancelled(
    ana: psycopg.Connection[tuple[Any, ...]],
) -> None:
    timer = threading.Timer(0.05, ana.cancel_safe)
    heavy = (
        "SELECT COUNT(*) FROM visits v JOIN people p ON v.person_id = p.person_id WHERE p.age > %s"
    )
    timer.start()
    for number in range(200):
        try:
            ana.execute(heavy, (number % 90,))  # type: ignore[arg-type]
        except errors.QueryCanceled:
            break
        if not timer.is_alive():
            break
    timer.join()
    assert ana.execute("SHOW sanql.epsilon").fetchall() == [("0.001",)]


def test_pipelines_are_answered_in_order(ana: psycopg.Connection[tuple[Any, ...]]) -> None:
    with ana.pipeline() as pipeline:
        cursors = [
            ana.execute("SELECT COUNT(*) FROM people WHERE age > %s", (number,))
            for number in (51, 52, 53)
        ]
        pipeline.sync()
        counts = [cursor.fetchall() for cursor in cursors]
    alone = [
        ana.execute("SELECT COUNT(*) FROM people WHERE age > %s", (number,)).fetchall()
        for number in (51, 52, 53)
    ]
    assert counts == alone


def test_a_person_has_few_answers_that_wait_in_files(tmp_path: Path) -> None:
    made = make_hospital(tmp_path / "hospital")
    lines = "".join(f"{number},street {number}\n" for number in range(50))
    (made.parent / "data" / "places.csv").write_text("place,street\n" + lines)
    made.write_text(made.read_text() + "\n[table.places]\npublic = true\n")
    settings = ServerSettings(port=0, wire=("127.0.0.1", 0))
    with served([made], settings) as server, talk_to(server, "ana") as talk:
        talk.simple("BEGIN")
        for number in range(8):
            talk.parse("", f"SELECT * FROM places WHERE place > {number}")
            talk.bind(f"p{number}", "").execute(f"p{number}", 1).sync()
            assert "s" in [kind for kind, _ in talk.until_ready()]
        talk.parse("", "SELECT * FROM places").bind("more", "").execute("more", 1).sync()
        assert talk.state_of_error() == "53400"
        talk.simple("ROLLBACK")  # which ends them all
        assert len(talk.simple("SELECT * FROM places")) == 53
        with talk_to(server, "ana") as another:
            another.simple("BEGIN")
            another.parse("", "SELECT * FROM places").bind("p", "").execute("p", 1).sync()
            assert "s" in [kind for kind, _ in another.until_ready()]
