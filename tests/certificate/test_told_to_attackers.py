"""An attacker stated in the policy decides epsilon, and is what explanations speak of."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path

import pytest

import sanql
from sanql.account import Charge, GaussianEvent, LaplaceEvent, epsilon_upper
from sanql.certificate import told_to_attacker
from sanql.demo.hospital import make_hospital
from sanql.policy import Budget, StatedAttacker, load
from sanql.results import Explanation
from support.commands import run

BELIEF = StatedAttacker(Fraction(1, 10), Fraction(1, 5))
TEST = StatedAttacker(false_alarms=Fraction(1, 20), hits_at_most=Fraction(1, 10))
FREE = Charge((), Fraction(0), Fraction(0))


def told(text: str) -> tuple[float, float]:
    """What is told alone, and after all answers, of the sentence."""
    found = re.fullmatch(r".*alone at ([\d.]+)%.*, after all answers with it at ([\d.]+)%.*", text)
    assert found is not None
    return float(found[1]) / 100, float(found[2]) / 100


@pytest.mark.parametrize(
    "epsilon", [Fraction(0), Fraction(1, 10), Fraction(811, 1000), Fraction(9)]
)
@pytest.mark.parametrize("group", [1, 3])
def test_beliefs_and_hits_are_those_of_the_guarantee_rounded_up(
    epsilon: Fraction, group: int
) -> None:
    spent, steps = Budget(epsilon, Fraction(0)), 2 * group
    level = math.exp(steps * float(epsilon))
    posterior = level / (level + 9)
    hits = min(0.05 * level, 1 - 0.95 / level)
    belief = StatedAttacker(Fraction(1, 10), Fraction(1, 5), group_of=group)
    test = StatedAttacker(
        false_alarms=TEST.false_alarms, hits_at_most=TEST.hits_at_most, group_of=group
    )
    for attacker, truth in ((belief, posterior), (test, hits)):
        alone, together = told(told_to_attacker(attacker, FREE, spent, "add-remove"))
        assert truth - 1e-9 <= together <= truth + 0.0021
        start = 0.1 if attacker is belief else 0.05
        assert start <= alone <= start + 0.0011


def test_the_noise_of_an_answer_tells_less_than_its_guarantee() -> None:
    events = (GaussianEvent(Fraction(100), Fraction(4)),)
    delta = Fraction(1, 10**6)
    epsilon = epsilon_upper(events, delta)
    charge = Charge(events, epsilon, delta)
    alone, together = told(told_to_attacker(TEST, charge, Budget(epsilon, delta), "change-one"))
    assert 0.05 < alone < together


def test_what_promises_nothing_tells_everything() -> None:
    spent = Budget(Fraction(1), Fraction(1))
    for attacker in (BELIEF, TEST):
        assert told(told_to_attacker(attacker, FREE, spent, "change-one"))[1] == 1
    large = Charge((LaplaceEvent(Fraction(1, 900), 1, 1),), Fraction(900), Fraction(0))
    for attacker in (BELIEF, TEST):
        text = told_to_attacker(attacker, large, Budget(Fraction(900), Fraction(0)), "add-remove")
        assert told(text) == (1, 1)


@pytest.fixture(scope="module")
def stated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's policy with attackers in place of two budgets, and with what else is protected."""
    policy = make_hospital(tmp_path_factory.mktemp("attackers"))
    text = policy.read_text(encoding="utf-8")
    belief = "attacker = { prior = 0.1, posterior_at_most = 0.6 }, delta = 1e-7"
    test = "attacker = { false_alarms = 0.05, hits_at_most = 0.3, group_of = 2 }, delta = 1e-7"
    first, second = (f"budget = {{ {part} }}" for part in (belief, test))
    text = text.replace("budget = { epsilon = 4.0, delta = 1e-7 }", first, 1)
    text = text.replace("budget = { epsilon = 4.0, delta = 1e-7 }", second, 1)
    people = '[table.people]\nprivacy_unit = "person_id"\n'
    assert people in text
    declared = 'public_attributes = ["sex"]\ngroup = { size = 3 }\n'
    policy.write_text(text.replace(people, people + declared), encoding="utf-8")
    return policy


@pytest.mark.slow
def test_the_demo_speaks_of_its_attackers(stated: Path) -> None:
    assert set(load(stated).attackers) == {"analyst ana", "analyst bo"}
    with sanql.open(stated, analyst="ana") as ana:
        before = ana.explain("SELECT COUNT(*) FROM people", epsilon="0.2")
        assert isinstance(before, Explanation)
        (line,) = before.attackers
        assert line.startswith(
            "analyst ana: what is believed of a unit at 10% may be believed at 60%"
        )
        alone, together = told(line)
        assert 0.1 < alone <= together <= 0.6
        assert line in str(before)
        assert Explanation.from_dict(before.to_dict()).attackers == before.attackers
        ana.query("SELECT COUNT(*) FROM people", epsilon="0.2")
        after = ana.explain("SELECT COUNT(*) FROM people WHERE age > 50", epsilon="0.2")
        assert isinstance(after, Explanation)
        assert together < told(after.attackers[0])[1] <= 0.6
    with sanql.open(stated, analyst="bo") as bo:
        visits = bo.explain("SELECT COUNT(*) FROM visits", epsilon="0.05")
        assert isinstance(visits, Explanation)
        assert "a test of 2 units together with 5% false alarms may hit 30%" in visits.attackers[0]


def test_the_command_says_what_else_is_protected(stated: Path) -> None:
    sql = "SELECT COUNT(*) FROM visits"
    said = run("explain", "-p", str(stated), "--analyst", "bo", "-e", "0.05", sql).output
    assert (
        "also: everything but sex, which may be known, of one unit in the data: epsilon 0.1,"
        in said
    )
    assert (
        "also: whether 3 units at most together are in the data or stay away: epsilon 0.15," in said
    )
    assert "analyst bo: a test of 2 units together" in said
