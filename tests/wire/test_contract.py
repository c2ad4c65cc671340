"""What every door promises is kept over the wire: the common suite, asked with a driver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from client.san_contract import COUNT, FREE, PARAMETERS, QUESTIONS, REFUSED
from client.town import POOR, make_town
from sanql import Accuracy, San, SanqlError
from sanql.server import ServerSettings
from support.serving import Served, served

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]
Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    made = make_town(tmp_path_factory.mktemp("town"))
    with served([made], ServerSettings(port=0, wire=("127.0.0.1", 0))) as server:
        yield server


@pytest.fixture(scope="module")
def here(town: Served) -> San:
    """Return San on the data for ana."""
    return San(town.datasets[0].session, "ana")


def connected(town: Served, name: str) -> Connection:
    host, _, port = town.server.wire.rpartition(":")
    return psycopg.connect(
        host=host, port=int(port), user=name, password=town.token(name), dbname="town",
        autocommit=True,
    )  # fmt: skip


@pytest.fixture
def ana(town: Served) -> Iterator[Connection]:
    with connected(town, "ana") as connection:
        yield connection


def choose(connection: Connection, options: dict[str, Any]) -> None:
    """Set what other doors are passed beside a question."""
    connection.execute("RESET ALL")
    for name, value in options.items():
        text = _typed(value).replace("'", "''")
        connection.execute(f"SET sanql.{name} = '{text}'".encode())


def _typed(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case {"half_width": width, "confidence": confidence}:
            return f"{width} at {confidence}"
        case Accuracy(half_width):
            return str(half_width)
        case _:
            return str(value)


@pytest.mark.parametrize(("sql", "options"), [*QUESTIONS, *FREE], ids=str)
def test_an_answer_has_the_rows_columns_and_explanation_it_has_here(
    ana: Connection, here: San, sql: str, options: dict[str, Any]
) -> None:
    choose(ana, options)
    explained = here.explain(sql, **options)
    shown = [line for (line,) in ana.execute(f"EXPLAIN {sql}".encode()).fetchall()]
    assert shown == str(explained).splitlines()
    cursor = ana.execute(sql.encode())
    rows = cursor.fetchall()
    local = here.query(sql, **options)
    assert rows == local.rows
    assert [each.name for each in cursor.description or ()] == [*local.columns]
    assert cursor.statusmessage == f"SELECT {len(rows)}"
    prepared = ana.cursor(binary=True)
    prepared.execute(sql.encode(), prepare=True)
    assert prepared.fetchall() == rows


@pytest.mark.parametrize(("sql", "options", "code"), REFUSED, ids=str)
def test_a_refusal_says_the_same_as_here(
    ana: Connection, here: San, sql: str, options: dict[str, Any], code: str
) -> None:
    with pytest.raises(SanqlError) as expected:
        here.query(sql, **options)
    if code == "option_twice":  # over the wire the clause comes before what was set
        return
    with pytest.raises(psycopg.Error) as told:
        choose(ana, options)
        ana.execute(sql.encode())
    assert f"[{expected.value.code}]" in str(told.value.diag.message_primary)
    if code not in ("epsilon_needed", "parameter_missing"):  # whose remedies are the door's own
        assert told.value.diag.message_hint == expected.value.remedy
    assert "--epsilon" not in str(told.value.diag.message_hint)


@pytest.mark.parametrize(
    ("where", "parameters"), [each for each in PARAMETERS if isinstance(each[1], list)], ids=str
)
def test_parameters_are_the_constants_they_are_here(
    ana: Connection, here: San, where: str, parameters: list[Any]
) -> None:
    choose(ana, {"epsilon": "0.3"})
    asked = where
    for number in range(len(parameters), 0, -1):
        asked = asked.replace(f"${number}", "%s")
    rows = ana.execute(
        f"SELECT COUNT(*) FROM people WHERE {asked.replace('?', '%s')}".encode(), parameters
    ).fetchall()
    sql = f"SELECT COUNT(*) FROM people WHERE {where}"
    local = here.query(sql, parameters=parameters, epsilon="0.3")
    assert local.cached and local.rows == rows


def test_a_budget_ends_and_is_shown(town: Served) -> None:
    with connected(town, POOR) as poor:
        choose(poor, {"epsilon": "0.2"})
        first = poor.execute(COUNT.encode()).fetchall()
        choose(poor, {"epsilon": "0.25"})
        with pytest.raises(psycopg.Error) as told:
            poor.execute(COUNT.encode())
        assert told.value.sqlstate == "SB001" and told.value.diag.message_hint
        choose(poor, {"epsilon": "0.2"})
        assert poor.execute(COUNT.encode()).fetchall() == first
        ((account, spent, left, _, _),) = poor.execute("SHOW sanql.budget").fetchall()
    assert POOR in account and 0.2 <= spent <= 0.3 and left < 0.25
