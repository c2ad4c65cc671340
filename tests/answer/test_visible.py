"""Nothing that people see can steer a terminal, reorder a line, hide, or run as a formula."""

# ruff: noqa: E501  (a table of texts)

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from fractions import Fraction

import pytest
from click.testing import CliRunner
from rich.console import Console

from sanql.account.ledger.ledger import Balance
from sanql.cli.asked_tables import question_rows
from sanql.cli.failing import reported
from sanql.cli.main import main
from sanql.cli.saying import say
from sanql.cli.tables import print_answer, print_balances, print_records, print_rows
from sanql.errors import Fault, PolicyError, Refused
from sanql.parse.question import parse
from sanql.plan.level import Level
from sanql.policy.model import Budget
from sanql.results.answer import Answer
from sanql.visible import csv_text, json_text, visible
from support.one_level import plan_of
from support.plans import explained

# written as ranges, on purpose not as categories: C0, DEL, C1; soft hyphen; zero-width and directional
# marks; overrides; isolates; line and paragraph separators; byte-order mark; tags; surrogates; fillers
UNSEEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)
HOSTILE = [
    "\x1b[2J\x1b[31mred", "\x9b31m", "\x1b]0;title\x07", "\x1b]8;;http://evil\x1b\\link", "bell\x07", "\x00nul",
    "back\x08\x08space", "del\x7f", "line\nnext", "return\rover", "tab\tbed", "\x0b\x0c", "\x85next line",
    "\u202egnol\u202c", "\u2066isolate\u2069", "\u200bzero\u200d\u200c", "\u200emark\u200f", "\ufeffmark",
    "\u2028line\u2029", "\u061carabic", "soft\xadhyphen", "\u2060join", "\U000e0041tag", "\u3164filler", "\u180emvs",
    "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "   \t =cmd|' /C calc'!A0", "\ufeff=1", "\ufeff +1",
    "'=1", '"=1', "\"'=1", "＝1", "＋1", "－1", "＠a", "\u200b=1", "\x00=1", "\xa0=1", "\u3000=1", "|calc", "%0A=1",
    "a;=1", "a,=1", 'a"b', "a\t=1", "</td><script>alert(1)</script>", "&amp;", "[red]rich[/red]", "''", "-1.5e3",
]  # fmt: skip
FORMULA = re.compile(r"^[\s'\"\ufeff\xa0\u3000\u200b\x00]*[=+\-@|%＝＋－＠]")
SQL = "SELECT city, COUNT(*) FROM rows GROUP BY city"

Answered = Callable[..., Answer]
Planned = Callable[..., Level]


@pytest.fixture(scope="module")
def hostile(answered: Answered) -> Answer:
    """Return an answer whose keys are all the hostile texts there are."""
    keys = [*HOSTILE, "Zürich", "北京 x", "a b"]
    return answered(SQL, {"k0": keys, "m0": [1000] * len(keys)}, "1e-6")


def test_nothing_unseen_is_printed(hostile: Answer) -> None:
    for text in (str(hostile), repr(hostile), *hostile.footer()):
        assert not UNSEEN.search(text)
    assert len(str(hostile).splitlines()) == 1 + len(hostile.rows) + len(hostile.footer())
    assert "Zürich" in str(hostile) and "北京 x" in str(hostile)


def test_nothing_unseen_is_in_a_notebook(hostile: Answer) -> None:
    shown = hostile._repr_html_()
    assert not UNSEEN.search(shown) and "\n" not in shown
    assert "<script" not in shown and shown.count("<tr>") == 1 + len(hostile.rows)


def test_nothing_unseen_and_no_formula_is_in_csv(hostile: Answer) -> None:
    text = hostile.to_csv()
    assert not UNSEEN.search(text)
    lines = list(csv.reader(io.StringIO(text)))
    assert len(lines) == len(text.splitlines()) == 1 + len(hostile.rows)
    for (key, *numbers), (original, *_) in zip(lines[1:], hostile.rows, strict=True):
        assert FORMULA.match(original) is None or key.startswith("'")
        assert not key.startswith(tuple("=+-@|%＝＋－＠"))
        assert all(float(number) for number in numbers)


@pytest.mark.parametrize("separator", [";", "|", ","])
def test_no_other_separator_makes_a_formula_of_a_part_of_a_cell(
    hostile: Answer, separator: str
) -> None:
    for line in csv.reader(io.StringIO(hostile.to_csv()), delimiter=separator):
        assert not line[0].startswith(tuple("=+-@"))
        assert all(cell[:1] not in tuple("=+-@") or _is_number(cell) for cell in line)


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"-?[0-9.,]+", cell) is not None


def test_numbers_below_zero_stay_numbers_in_csv(answered: Answered) -> None:
    cells = {"m0": [-1200.0]}
    text = answered("SELECT SUM(score) FROM rows", cells).to_csv()
    values = text.splitlines()[1].split(",")
    assert all(_is_number(value) for value in values) and values[0].startswith("-")


def test_json_is_ascii_without_control_characters_and_reads_back_as_it_was(
    hostile: Answer,
) -> None:
    text = hostile.to_json()
    assert text.isascii() and not re.search("[\x00-\x1f\x7f]", text)
    assert [row[0] for row in json.loads(text)["rows"]] == [row[0] for row in hostile.rows]
    assert json.loads(json_text(HOSTILE)) == HOSTILE


def test_nothing_unseen_is_in_the_tables_of_the_command(hostile: Answer) -> None:
    out = io.StringIO()
    terminal = Console(file=out, width=200, highlight=False, color_system=None)
    print_answer(hostile, terminal)
    left = Budget(Fraction(1), Fraction(0))
    print_balances([Balance(t, "analyst", left, left, left, 0) for t in HOSTILE], terminal)
    bodies = [
        {"time": t, "analyst": t, "question": t, "charge": {"epsilon": "1", "delta": "0"}}
        for t in HOSTILE
    ]
    records = [{"sequence": 1, "kind": "reserve", "hash": "ab", "body": body} for body in bodies]
    typed = [
        {"analyst": t, "time": t, "door": "http", "outcome": "void", "reason": t, "exact": False,
         "purpose": t, "sql": t, "erased": False,
         "price": {"epsilon_exact": "1/1", "delta_exact": "0/1"}}
        for t in HOSTILE
    ]  # fmt: skip
    records += [records[0] | {"question": question} for question in typed]
    opening = {"dataset": "\x1b[31m", "terms": {"unit of \u202e": "\x9b"}}
    records.append({"sequence": 2, "kind": "open", "hash": "ab", "body": opening})
    print_records(records, terminal, wide=True)
    asked = [record for record in records if "question" in record]
    with redirect_stdout(out):
        print_rows(question_rows(asked, wide=True))
    assert not UNSEEN.search(out.getvalue())
    assert "[red]rich" in out.getvalue()


@pytest.mark.parametrize("text", HOSTILE)
def test_errors_quote_typed_text_safely(text: str) -> None:
    raised = [
        Refused("x", f"no {text}", f"not {text}", (1, 2), f"SELECT '{text}'"),
        Refused("x", "no", "y").about(text).at((1, 1)).adding(text),
        PolicyError([Fault(text, text, text)]),
    ]
    for error in raised:
        for shown in (str(error), repr(error), error.message, error.remedy, *map(str, error.args)):
            assert not UNSEEN.search(shown)
    assert raised[0].nearest == f"SELECT '{text}'"  # a question to be asked, as it is


@pytest.mark.parametrize("form", ["table", "json"])
def test_commands_say_nothing_unseen(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    for text in HOSTILE:
        with pytest.raises(SystemExit), reported(form):
            raise Refused("x", f"no {text}", "y", nearest=text)
        say(text, err=True)
    told = capsys.readouterr()
    assert not UNSEEN.search(told.out + told.err)
    if form == "json":
        assert [json.loads(line)["error"]["nearest"] for line in told.out.splitlines()] == HOSTILE


@pytest.mark.parametrize("typed", ["--\x1b[31m", "\x1b]0;x\x07", "query\u202e"])
def test_a_mistyped_command_is_quoted_safely(typed: str) -> None:
    done = CliRunner().invoke(main, [typed])
    assert done.exit_code == 2
    assert not UNSEEN.search(done.output)


def test_what_is_typed_as_a_name_is_shown_safely_everywhere(
    planned: Planned, answered: Answered
) -> None:
    name = "=\u202e\ufeff"
    sql = (
        f'SELECT sex, COUNT(*) AS "{name}", ROUND(AVG(age)) % 7 AS "{name}2" FROM rows GROUP BY sex'
    )
    assert parse(sql, planned(sql).outline.tables).query.outputs[1].name == name
    plan = planned(sql)
    cells = {"k0": ["F", "M"], **{f"m{i}": [9, 9] for i in range(len(plan.measurements))}}
    answer = answered(sql, cells)
    told = explained(plan_of(plan), Fraction(1, 2))
    shown = [str(answer), answer._repr_html_(), answer.to_csv(), answer.to_json(), str(told)]
    for text in [*shown, told._repr_html_(), json_text(told.to_dict())]:
        assert not UNSEEN.search(text)
    assert answer.to_csv().splitlines()[0].split(",")[1].startswith("'=")


@pytest.mark.parametrize(
    "text", ["Zürich", "a b", "naïve café", "日本語", "Ελλάδα", "x=1", "a-b", "100 %", "😀", ""]
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == csv_text(text) == text
