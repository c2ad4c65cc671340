"""The magics, in a real IPython shell that asks a real server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import CapturedIO, capture_output

import sanql
from client.scripted import answering, scripted
from sanql.client import transport
from sanql.results import Answer, Explanation
from support.interrupts import interrupted_at
from support.serving import Served

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]
BY_REGION = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"


@pytest.fixture
def shell(town: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.setenv("SANQL_SERVER", town.url)
    monkeypatch.setenv("SANQL_TOKEN", town.token("ana"))
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance(colors="nocolor", history_load_length=0)
    made.run_line_magic("load_ext", "sanql")
    yield made
    InteractiveShell.clear_instance()


def run(shell: InteractiveShell, cell: str) -> tuple[Any, str]:
    """Return the result of a cell and all that it showed."""
    shown: CapturedIO
    with capture_output() as shown:
        done = shell.run_cell(cell)
    return done, shown.stdout + shown.stderr


def test_a_cell_is_asked_and_its_answer_shown_and_kept(shell: InteractiveShell) -> None:
    done, shown = run(shell, f"%%sanql --epsilon 0.5 by_region\n{BY_REGION}")
    answer = shell.user_ns["by_region"]
    assert isinstance(answer, Answer) and done.result is answer
    assert str(answer) in shown and "price: epsilon 0.5" in shown
    formatted, _ = shell.display_formatter.format(answer)  # type: ignore[union-attr]
    assert formatted["text/html"] == answer._repr_html_()


def test_a_cell_needs_no_name_and_takes_the_options_of_the_command(shell: InteractiveShell) -> None:
    cell = '%%sanql -e 0.5 --confidence 0.9 --rounded 10 --param least=2 --param "name=the north"\n'
    sql = "SELECT COUNT(*) AS n FROM people\nWHERE score > $least AND region <> $name"
    done, shown = run(shell, cell + sql)
    assert done.success and isinstance(done.result, Answer)
    assert done.result.value % 10 == 0 and float(done.result.confidence) == 0.9
    assert "0.9 intervals" in shown


def test_a_line_is_a_question_too(shell: InteractiveShell) -> None:
    run(shell, "n = %sanql --epsilon 0.5 SELECT COUNT(*) FROM people WHERE region = 'north'")
    assert isinstance(shell.user_ns["n"].value, int)


def test_a_cell_can_be_explained_first(shell: InteractiveShell) -> None:
    done, shown = run(shell, f"%%sanql --explain -e 0.45 before\n{BY_REGION}")
    assert isinstance(shell.user_ns["before"], Explanation) and str(done.result) in shown


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("%%sanql -e 1\nSELECT AVG(scor) FROM people", "refused [column_unknown]: "),
        ("%%sanql -e 1\nSELECT AVG(scor) FROM people", "  remedy: did you mean score?"),
        ("%%sanql -e 5000\nSELECT COUNT(*) FROM people", "budget [budget_exceeded]: "),
        ("%%sanql --epsilom 1\nSELECT COUNT(*) FROM people", "No such option"),
        ("%%sanql -e 1 2x\nSELECT COUNT(*) FROM people", "refused [name_invalid]: '2x'"),
        ("%%sanql -e '1\nSELECT COUNT(*) FROM people", "quotation mark"),
        ("%sanql", "write %sanql and a question"),
        ("%sanql connect ftp://x", "[server_address_invalid]"),
        ("%sanql connect http://10.1.1.1", "[address_insecure]"),
        ("%sanql connect http://[::1] --token-file ~/no", "[token_file_unusable]: ~/no cannot be"),
    ],
)
def test_what_goes_wrong_is_said_without_a_traceback(
    shell: InteractiveShell, cell: str, words: str
) -> None:
    done, shown = run(shell, cell)
    assert words in shown and "Traceback" not in shown and "sanql/cli" not in shown
    assert not done.success  # so that what follows in a notebook is not run


def test_another_server_is_connected_by_name(
    shell: InteractiveShell, town: Served, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANQL_SERVER", "http://127.0.0.1:1")
    done, shown = run(shell, f"%%sanql -e 0.5\n{BY_REGION}")
    assert "[server_unreachable]" in shown and not done.success
    (tmp_path / "a token").write_text(town.token("pat"))
    done, _ = run(shell, f"%sanql connect {town.url} --token-file '{tmp_path}/a token'")
    assert done.success
    _, shown = run(shell, "%sanql budget")
    assert "analyst pat" in shown and "analyst ana" not in shown
    assert "score" in run(shell, "%sanql schema")[1]
    assert "nothing has been asked" in run(shell, "%sanql history")[1]


def test_a_notebook_says_its_options_once(shell: InteractiveShell) -> None:
    done, _ = run(shell, "%sanql defaults --epsilon 0.35 --confidence 0.9")
    assert done.result == {"epsilon": "0.35", "confidence": "0.9"}
    done, shown = run(shell, f"%%sanql\n{BY_REGION}")
    assert isinstance(done.result, Answer) and "price: epsilon 0.35" in shown
    assert "0.9 intervals" in shown
    clause = BY_REGION.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.15)")
    assert "price: epsilon 0.15" in run(shell, f"%%sanql\n{clause}")[1]
    assert "parameters are of one question" in run(shell, "%sanql defaults --param a=1")[1]


def test_accounts_and_refusals_are_shown_as_people_read_them(shell: InteractiveShell) -> None:
    done, shown = run(shell, "%sanql budget")
    formatted, _ = shell.display_formatter.format(done.result)  # type: ignore[union-attr]
    assert "<td>analyst ana</td>" in formatted["text/html"] and "left at least" in shown
    shell.user_ns["san"] = sanql.connect()
    done, shown = run(shell, "san.query('SELECT AVG(scor) FROM people', epsilon=1)")
    assert not done.success and "Traceback" not in shown
    assert "Refused [column_unknown]" in shown and "remedy: did you mean score?" in shown


def test_an_interrupt_says_that_the_charge_stays(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = answering({"id": "7", "status": "running", "progress": "charged"}, 202)
    with scripted(running, running, running) as server:
        monkeypatch.setenv("SANQL_SERVER", server.url)
        run(shell, "%sanql schema")  # connects
        with interrupted_at(5, transport):
            done, shown = run(shell, f"%%sanql -e 0.5\n{BY_REGION}")
    assert not done.success and "Traceback" not in shown
    assert "the question is cancelled on the server, and what it was charged stays" in shown


def test_the_extension_needs_no_ipython_to_be_found() -> None:
    assert callable(sanql.load_ipython_extension)  # type: ignore[attr-defined]
