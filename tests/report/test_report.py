"""The report says what the account says, means what it says, and is one page that needs nothing else."""

from __future__ import annotations

import json
import math
import os
import sqlite3
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import pytest

import sanql
from sanql.demo.hospital import make_hospital
from sanql.errors import LedgerError
from sanql.policy import Budget, load
from sanql.report import gather, page_of
from sanql.report.gathering import PRIORS, learned
from support.commands import run

HOSTILE = "SELECT COUNT(*) AS \"<script>alert(1)</script>\" FROM people WHERE sex <> '</code><b>'"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    policy = make_hospital(tmp_path_factory.mktemp("report"))
    with sanql.open(policy, analyst="ana") as ana:
        ana.query("SELECT COUNT(*) FROM people", epsilon="0.25")
        ana.query("SELECT COUNT(*) FROM people", epsilon="0.25")  # again, and free
        ana.query(HOSTILE, epsilon="0.5")
    with sanql.open(policy, analyst="bo") as bo:
        bo.query("SELECT kind, COUNT(*) FROM visits GROUP BY kind", epsilon="1")
        bo.query("SELECT AVG(income) FROM people", exact=True)
    return policy


@pytest.mark.slow
def test_every_charge_is_listed_once_and_adds_up_to_what_accounts_have_spent(asked: Path) -> None:
    report = gather(load(asked))
    noisy = [each for each in report.questions if not each["exact"]]
    assert [(each["analyst"], each["price"]["epsilon"]) for each in noisy] == [
        ("ana", 0.25),
        ("ana", 0.5),
        ("bo", 1.0),
    ]
    spent = {each.balance.account: each.balance.spent_upper.epsilon for each in report.accounts}
    prices = [Fraction(each["price"]["epsilon_exact"]) for each in noisy]
    assert spent == {
        "hospital": sum(prices),
        "ana": sum(prices[:2]),
        "bo": prices[2],
        "research": sum(prices),
    }
    assert [(e.balance.account, e.questions) for e in report.accounts] == [
        ("hospital", 3),
        ("ana", 2),
        ("bo", 1),
        ("research", 3),
    ]
    (release,) = report.exact
    assert release["column"] == "income" and "interval" in release["assumes"]


@pytest.mark.parametrize("epsilon", ["0", "1/10", "1", "5"])
def test_beliefs_are_those_of_the_worst_mechanism_that_is_allowed(epsilon: str) -> None:
    """Randomised response: one bit, told truly with the odds e^epsilon."""
    told = learned(Budget(Fraction(epsilon), Fraction(0)))
    truth = 1 / (1 + math.exp(-float(Fraction(epsilon))))
    for prior, after in told.beliefs:
        reached = prior * truth / (prior * truth + (1 - prior) * (1 - truth))
        assert reached <= after <= reached + 2e-4
    # of tests: accuse on the answer 1, or on it and sometimes on 0
    lie = 1 - truth
    best = truth * 0.05 / lie if lie >= 0.05 else truth + lie * (0.05 - lie) / truth
    assert best <= told.found <= best + 2e-4
    assert [prior for prior, _ in told.beliefs] == list(PRIORS)


def test_a_guarantee_that_allows_everything_says_so() -> None:
    told = learned(Budget(Fraction(1000), Fraction(0)))
    assert all(after == 1 for _, after in told.beliefs) and told.found == 1


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loaded: list[str | None] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loaded += [value for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_loads_nothing_and_runs_nothing_of_what_was_typed(asked: Path) -> None:
    html = page_of(gather(load(asked)))
    page = _Page()
    page.feed(html)
    assert page.loaded == []
    assert "script" not in page.tags and "b" not in page.tags
    assert "url(" not in html and "@import" not in html
    assert HOSTILE in page.text
    assert html.count("<svg") == 2


def test_the_page_answers_what_a_board_asks(asked: Path) -> None:
    page = _Page()
    page.feed(page_of(gather(load(asked))))
    said = " ".join(page.text.split())
    assert "3 questions with noise, and 1 exact release, which rests on assumptions" in said
    assert "At most 1.75 of 10 (epsilon); at least 8.25 is left" in said
    most = math.ceil(1e4 / (1 + 9 * math.exp(-1.75))) / 100
    assert f"10 % likely, can come to hold it for at most {most:.4g} % likely" in said
    assert "no fault was found" in said


@pytest.mark.slow
def test_an_account_without_questions_has_a_report_too(tmp_path: Path) -> None:
    policy = make_hospital(tmp_path)
    with sanql.open(policy, analyst="ana") as ana:
        ana.query("SELECT COUNT(*) FROM people", epsilon="0.25")
    text = policy.read_text().replace("[analyst.bo]", "[analyst.cy]").replace('"bo"', '"cy"')
    policy.write_text(text)
    report = gather(load(policy))
    assert "analyst cy" in page_of(report)


@pytest.mark.slow
def test_an_account_that_is_not_sound_has_none(tmp_path: Path) -> None:
    policy = make_hospital(tmp_path)
    with sanql.open(policy, analyst="ana") as ana:
        ana.query("SELECT COUNT(*) FROM people", epsilon="0.25")
    with sqlite3.connect(load(policy).ledger) as ledger:
        ledger.execute("DROP TRIGGER record_UPDATE")
        ledger.execute(
            "UPDATE record SET body = replace(body, '1/4', '1/8') WHERE kind = 'reserve'"
        )
    with pytest.raises(LedgerError):
        gather(load(policy))


def test_the_command_writes_a_page_or_data(asked: Path, tmp_path: Path) -> None:
    for name in ("r.html", "r.json"):
        assert run("report", "-p", asked, "-o", tmp_path / name).exit_code == 0
    shown = json.loads((tmp_path / "r.json").read_text())
    assert shown["verification"]["sound"] is True
    assert shown["accounts"][0]["spent_upper"]["epsilon"] == 1.75
    refused = run("report", "-p", asked, "-o", tmp_path / "r.pdf")
    assert refused.exit_code == 2 and "neither .html nor .json" in refused.output


def test_what_everybody_asked_is_written_for_the_owner_alone(asked: Path, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    before = os.umask(0o022)
    try:
        assert run("report", "-p", asked, "-o", page).exit_code == 0
    finally:
        os.umask(before)
    assert page.stat().st_mode & 0o777 == 0o600
    page.chmod(0o640)  # whoever hands it over says so
    assert run("report", "-p", asked, "-o", page).exit_code == 0
    assert page.stat().st_mode & 0o777 == 0o640
