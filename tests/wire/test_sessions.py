"""Whoever has a token asks with the tools of PostgreSQL; what comes back is what other doors say."""

from __future__ import annotations

import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest
import trustme
from psycopg import errors

from sanql.errors import SanqlError, ServerError
from sanql.parse import Command, read_command
from sanql.server import ServerSettings
from sanql.server.wire import problems
from sanql.server.wire.variables import Variables
from support.hospitals import hospital_in
from support.serving import Served, served
from wire.conftest import Connect

COUNT = "SELECT COUNT(*) AS n FROM people WHERE age > {}"
PRIVATELY = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon={}) "


def test_an_answer_is_the_one_of_http_and_says_what_it_cost(
    hospital: Served, connect: Connect
) -> None:
    said: list[str] = []
    with connect() as ana:
        ana.add_notice_handler(lambda notice: said.append(notice.message_primary or ""))
        ana.execute("SET sanql.epsilon = 0.01")
        cursor = ana.execute("SELECT sex, COUNT(*) AS n, AVG(age) AS mean FROM people GROUP BY sex")
        rows = cursor.fetchall()
        assert [(each.name, each.type_code) for each in cursor.description or ()] == [
            ("sex", 25),
            ("n", 20),
            ("mean", 701),
        ]
        assert cursor.statusmessage == f"SELECT {len(rows)}"
    asked = {"sql": "SELECT sex, COUNT(*) AS n, AVG(age) AS mean FROM people GROUP BY sex"}
    with hospital.client("ana") as http:
        over_http = http.post("/v1/query", json=asked | {"epsilon": 0.01}).json()
        listed = http.get("/v1/history").json()
    assert [list(row) for row in rows] == over_http["rows"] and over_http["cached"]
    assert any("price: epsilon 0.01" in line and "left: epsilon" in line for line in said)
    assert listed["questions"][-1]["door"] == "wire"


def test_settings_hold_for_the_connection_and_a_clause_comes_first(connect: Connect) -> None:
    with connect("bo") as bo, connect("bo") as other:
        with pytest.raises(psycopg.Error) as needed:
            bo.execute(COUNT.format(1))
        assert needed.value.sqlstate == "SB002"
        bo.execute("SET sanql.epsilon TO '0.02'")
        assert bo.execute("SHOW sanql.epsilon").fetchall() == [("0.02",)]
        assert other.execute("SHOW sanql.epsilon").fetchall() == [("",)]
        before = left(bo)
        bo.execute(COUNT.format(2))
        bo.execute(PRIVATELY.format("0.03") + "COUNT(*) FROM people WHERE age > 3")
        assert before - left(bo) == pytest.approx(0.05)
        bo.execute(COUNT.format(2))
        assert before - left(bo) == pytest.approx(0.05)  # a repeat is free
        for name, value in (("max_rows_contributed", "2"), ("even_if_empty", "true")):
            bo.execute(f"SET sanql.{name} = '{value}'")  # type: ignore[arg-type]
            assert bo.execute(f"SHOW sanql.{name}").fetchall() == [(value,)]  # type: ignore[arg-type]
        bo.execute("RESET ALL")
        assert bo.execute("SHOW sanql.epsilon").fetchall() == [("",)]
        for wrong in ("SET sanql.epsilon = 'much'", "SET sanql.nothing = 1", "SHOW sanql.nothing"):
            with pytest.raises(psycopg.Error):
                bo.execute(wrong)  # type: ignore[arg-type]
        bo.execute("SET application_name = 'notebook'")
        assert bo.execute("SHOW application_name").fetchall() == [("notebook",)]


def left(connection: psycopg.Connection[tuple[Any, ...]]) -> float:
    ((_, _, epsilon, _, _),) = connection.execute("SHOW sanql.budget").fetchall()
    return float(epsilon)


@pytest.mark.parametrize(
    "options",
    ["-c sanql.epsilon=0.02 -c sanql.delta=0", "--sanql.epsilon=0.02", "-csanql.epsilon=0.02"],
)
def test_a_connection_may_begin_with_settings(connect: Connect, options: str) -> None:
    with connect(options=options) as ana:
        assert ana.execute("SHOW sanql.epsilon").fetchall() == [("0.02",)]
        assert len(ana.execute(COUNT.format(4)).fetchall()) == 1
        ana.execute("SET sanql.epsilon = 0.5")
        ana.execute("RESET ALL")  # is what it was begun with
        assert ana.execute("SHOW sanql.epsilon").fetchall() == [("0.02",)]
    with pytest.raises(psycopg.OperationalError, match="much"):
        connect(options="-c sanql.epsilon=much")


@pytest.mark.slow
def test_the_policy_may_say_what_somebodys_questions_cost(tmp_path: Path) -> None:
    made = hospital_in(tmp_path / "hospital")
    made.write_text(
        made.read_text().replace("[analyst.ana]", "[analyst.ana]\nepsilon_per_query = 0.025")
    )
    with served([made], ServerSettings(port=0, wire=("127.0.0.1", 0))) as town:
        host, _, port = town.server.wire.rpartition(":")
        there = f"host={host} port={port} dbname=hospital"
        for name, more, shown in (
            ("ana", "", "0.025"),
            ("ana", "options='-c sanql.epsilon=0.5'", "0.5"),
            ("bo", "", ""),
        ):
            whole = f"{there} user={name} password={town.token(name)} {more}"
            with psycopg.connect(whole, autocommit=True) as somebody:
                assert somebody.execute("SHOW sanql.epsilon").fetchall() == [(shown,)]
                somebody.execute("SET sanql.epsilon = 0.9")
                somebody.execute("RESET sanql.epsilon")
                assert somebody.execute("SHOW sanql.epsilon").fetchall() == [(shown,)]
                if name == "ana" and not more:
                    before = left(somebody)
                    somebody.execute(COUNT.format(3))
                    assert before - left(somebody) == pytest.approx(0.025)


def test_settings_end_with_their_transaction(connect: Connect) -> None:
    with connect() as ana:

        def epsilon() -> str:
            ((value,),) = ana.execute("SHOW sanql.epsilon").fetchall()
            return str(value)

        ana.execute("SET sanql.epsilon = 0.01")
        for end, left_over in (("ROLLBACK", "0.01"), ("COMMIT", "0.03")):
            ana.execute("BEGIN")
            ana.execute("SET LOCAL sanql.epsilon = 0.5")
            assert epsilon() == "0.5"
            ana.execute(end.encode())
            assert epsilon() == "0.01"
            ana.execute("BEGIN")
            ana.execute("SET sanql.epsilon = 0.03")
            ana.execute(end.encode())
            assert epsilon() == left_over
        ana.execute("SET LOCAL sanql.epsilon = 0.7")
        assert epsilon() == "0.03"


def test_after_an_error_nothing_more_is_asked_in_a_transaction(connect: Connect) -> None:
    with connect() as ana:
        ana.execute("SET sanql.epsilon = 0.01")
        before = left(ana)
        ana.execute("BEGIN")
        with pytest.raises(psycopg.Error):
            ana.execute("SELECT nothing FROM people")
        for again in (COUNT.format(71), "SELECT 1", "SET sanql.epsilon = 0.5", "BEGIN"):
            for parameters in ([], None):
                with pytest.raises(errors.InFailedSqlTransaction):
                    ana.execute(again.encode(), parameters, prepare=parameters is not None)
        assert ana.execute("COMMIT").statusmessage == "ROLLBACK"
        assert left(ana) == before
        assert len(ana.execute(COUNT.format(71)).fetchall()) == 1


def test_intervals_may_be_columns(connect: Connect) -> None:
    with connect() as ana:
        ana.execute("SET sanql.epsilon = 0.01")
        ana.execute("SET sanql.intervals = columns")
        cursor = ana.execute(COUNT.format(5))
        assert [each.name for each in cursor.description or ()] == ["n", "n_low", "n_high"]
        ((n, low, high),) = cursor.fetchall()
        assert low < n < high


def test_an_explanation_costs_nothing(connect: Connect) -> None:
    with connect() as ana:
        before = left(ana)
        lines = ana.execute(
            "EXPLAIN ANALYZE " + PRIVATELY.format("0.5") + "COUNT(*) FROM people"
        ).fetchall()
        assert any("epsilon 0.5" in line for (line,) in lines)
        assert left(ana) == before


@pytest.mark.slow
def test_public_rows_stream_and_are_counted(tmp_path: Path) -> None:
    made = hospital_in(tmp_path / "hospital")
    lines = "".join(f"{number},street {number}\n" for number in range(3_000))
    data = made.parent / "data"
    (data / "places.csv").write_text("place,street\n" + lines)
    made.write_text(made.read_text() + "\n[table.places]\npublic = true\n")
    with served([made], ServerSettings(port=0, wire=("127.0.0.1", 0))) as hospital:
        port = hospital.server.wire.rpartition(":")[2]
        there = (
            f"host=127.0.0.1 port={port} user=ana dbname=hospital password={hospital.token('ana')}"
        )
        with psycopg.connect(there, autocommit=True) as ana:
            cursor = ana.execute("SELECT place, street FROM places ORDER BY place")
            assert cursor.statusmessage == "SELECT 3000"
            assert cursor.fetchall() == [(n, f"street {n}") for n in range(3_000)]


def test_every_state_is_of_an_error_that_there_is() -> None:
    page = (Path(__file__).parents[2] / "docs" / "refusals.md").read_text()
    assert [code for code in problems._STATES if f"`{code}`" not in page] == []


@pytest.mark.parametrize(
    ("sql", "name", "value"),
    [
        ("SET sanql.accuracy = '2% of 100'", "sanql.accuracy", "2% of 100"),
        ("SET sanql.accuracy = 2 % of 100", "sanql.accuracy", "2 % of 100"),
        ("SET DateStyle TO ISO, MDY;", "datestyle", "ISO, MDY"),
        ("SET a.b = DEFAULT", "a.b", None),
    ],
)
def test_a_value_is_what_was_typed(sql: str, name: str, value: str | None) -> None:
    assert read_command(sql) == Command("set", name=name, value=value)


def test_nothing_is_set_that_is_not_understood() -> None:
    variables = Variables({})
    for name, value in (("sanql.nonnegative", "perhaps"), ("sanql.intervals", "notices")):
        with pytest.raises(SanqlError):
            variables.set(name, value)
    variables.set("sanql.nonnegative", "true")
    assert variables.options == {"nonnegative": "true"}
    for number in range(100):
        variables.set(f"other{number}", "x")
    with pytest.raises(SanqlError):
        variables.set("one more", "x")
    variables.set("other7", "y")
    assert variables.shown("other7") == "y"


@pytest.mark.parametrize(
    ("sql", "state", "position"),
    [
        ("SELECT nothing FROM people", "42703", 8),
        ("SELECT COUNT(*)\nFROM nowhere", "42P01", 22),
        ("SELECT income FROM people", "0A000", 8),
        ("COPY people TO STDOUT", "0A000", 1),
        ("DECLARE c CURSOR FOR SELECT COUNT(*) FROM people", "0A000", None),
        ("PREPARE q AS SELECT COUNT(*) FROM people", "0A000", None),
        ("EXPLAIN (FORMAT JSON) SELECT COUNT(*) FROM people", "0A000", None),
        ("SET epsilon = 0.1", "22023", None),
        ("INSERT INTO people VALUES (1)", "0A000", 1),
        ("SELECT COUNT(*) FROM people; SELECT COUNT(*) FROM visits", "0A000", 30),
        ("SELECT COUNT(*", "42601", None),
    ],
)
def test_a_refusal_has_a_state_a_place_and_a_remedy(
    connect: Connect, sql: str, state: str, position: int | None
) -> None:
    with connect() as ana:
        ana.execute("SET sanql.epsilon = 0.01")
        with pytest.raises(psycopg.Error) as refused:
            ana.execute(sql)  # type: ignore[arg-type]
        diag = refused.value.diag
        assert diag.message_hint
        assert diag.sqlstate == state
        if position is not None:
            assert diag.statement_position == str(position)
        assert ana.execute("SHOW server_encoding").fetchall() == [("UTF8",)]  # it goes on


def test_a_budget_that_is_spent_has_a_class_of_its_own(connect: Connect) -> None:
    with connect() as ana, pytest.raises(psycopg.Error) as spent:
        ana.execute(PRIVATELY.format("9") + "COUNT(*) FROM people")
    assert spent.value.sqlstate == "SB001"


def test_transactions_are_confirmed_and_change_nothing(connect: Connect) -> None:
    with connect(autocommit=False) as ana:
        assert ana.execute("SHOW transaction_isolation").fetchall() == [("read committed",)]
        assert ana.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
        ana.commit()
        assert ana.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        ana.execute("SAVEPOINT a")
        ana.rollback()
        with ana.transaction():
            ana.execute("SET sanql.epsilon = 0.01")
        assert ana.execute("SHOW sanql.epsilon").fetchall() == [("0.01",)]


def test_whoever_has_no_good_token_hears_one_thing(hospital: Served, connect: Connect) -> None:
    told = set()
    hospital.token("ana")
    revoked = hospital.token("gone")
    hospital.datasets[0].people.revoke("gone")
    for name, password, dataset in (
        ("ana", "wrong", "hospital"),
        ("ana", hospital.token("bo"), "hospital"),
        ("gone", revoked, "hospital"),
        ("nobody", "wrong", "hospital"),
        ("nobody", hospital.token("ana"), "hospital"),
        ("ana", hospital.token("ana"), "another"),
    ):
        with pytest.raises(psycopg.OperationalError) as denied:
            connect(name, password=password, dbname=dataset)
        told.add(str(denied.value).partition("FATAL")[2])
    assert len(told) == 1 and "credential_wrong" in told.pop()


def test_a_connection_ends_with_its_token(hospital: Served, connect: Connect) -> None:
    for end in ("rotate", "revoke"):
        with connect(f"dora.{end}") as dora:
            assert left(dora) > 0
            getattr(hospital.datasets[0].people, end)(f"dora.{end}")
            with pytest.raises(psycopg.Error) as denied:
                dora.execute("SHOW sanql.budget")
            assert denied.value.sqlstate == "28P01"


def test_only_analysts_ask(connect: Connect) -> None:
    with connect("otto", role="owner") as otto, pytest.raises(errors.InsufficientPrivilege):
        otto.execute(PRIVATELY.format("0.01") + "COUNT(*) FROM people")


def test_a_question_is_cancelled_from_another_connection(
    hospital: Served, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sanql.server.wire import answering

    begun = threading.Event()
    really = answering.ask_with

    def slowly(*arguments: Any) -> Any:
        begun.set()
        from sanql.interrupts import is_cancelled

        for _ in range(3000):
            if is_cancelled():
                break
            threading.Event().wait(0.01)
        return really(*arguments)

    monkeypatch.setattr(answering, "ask_with", slowly)
    with connect() as ana:
        ana.execute("SET sanql.epsilon = 0.01")
        before = left(ana)
        threading.Thread(target=lambda: begun.wait(30) and ana.cancel_safe()).start()
        with pytest.raises(errors.QueryCanceled):
            ana.execute(COUNT.format(77))
        assert left(ana) == before


@pytest.mark.slow
def test_over_tls_a_challenge_is_bound_to_the_certificate(tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    certificate, key, root = (tmp_path / name for name in ("cert.pem", "key.pem", "root.pem"))
    certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    key.write_bytes(issued.private_key_pem.bytes())
    authority.cert_pem.write_to_path(str(root))
    settings = ServerSettings(port=0, certificate=certificate, key=key, wire=("127.0.0.1", 0))
    with served([hospital_in(tmp_path / "hospital")], settings) as hospital:
        port = hospital.server.wire.rpartition(":")[2]
        there = (
            f"host=127.0.0.1 port={port} user=ana dbname=hospital password={hospital.token('ana')}"
        )
        bound = f"{there} sslmode=verify-full sslrootcert={root} channel_binding=require"
        with psycopg.connect(bound, autocommit=True) as ana:
            assert left(ana) > 0
            assert ana.pgconn.ssl_in_use
        with pytest.raises(psycopg.OperationalError, match="over TLS"):
            psycopg.connect(f"{there} sslmode=disable")
    with pytest.raises(ServerError, match="clear text"):
        ServerSettings(wire=("0.0.0.0", 0))


@pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")
def test_psql_asks(hospital: Served) -> None:
    host, _, port = hospital.server.wire.rpartition(":")
    there = f"host={host} port={port} user=ana dbname=hospital"
    asked = PRIVATELY.format("0.01") + "COUNT(*) AS n FROM people \\gset\n\\echo found :n\n"
    done = subprocess.run(
        ["psql", there, "-X", "-v", "ON_ERROR_STOP=1"],
        input=asked,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PGPASSWORD": hospital.token("ana"), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0 and "found " in done.stdout, done.stderr
    assert "price: epsilon 0.01" in done.stderr
