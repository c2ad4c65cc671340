"""What is changed after rows were looked at is marked wherever the guarantee is said, nothing else."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

import sanql
from sanql.errors import PolicyError
from sanql.examine import chosen_looking, looks_of, looks_path, record_look
from sanql.policy import Policy, load
from sanql.report import gather, page_of
from support.commands import run
from support.hospitals import hospital_in

AGE, INCOME = "table.people.column.age.bounds", "table.people.column.income.bounds"
SQL = "SELECT AVG(age) AS age FROM people"
COUNT = "SELECT COUNT(*) FROM visits"
MARK = "chosen looking at the data"


def looked(folder: Path) -> Path:
    policy = hospital_in(folder)
    record_look(load(policy), "check --data")
    return policy


def changed(policy: Path, old: str, new: str) -> Policy:
    text = policy.read_text(encoding="utf-8")
    assert old in text
    policy.write_text(text.replace(old, new, 1), encoding="utf-8")
    return load(policy)


def test_nothing_is_marked_before_anybody_looks_nor_while_nothing_changes(tmp_path: Path) -> None:
    policy = hospital_in(tmp_path)
    assert chosen_looking(load(policy)) == () and not looks_path(load(policy)).exists()
    changed(policy, "bounds = [0, 110]", "bounds = [0, 100]")
    record_look(load(policy), "rehearse")
    assert chosen_looking(load(policy)) == ()
    assert [look.command for look in looks_of(load(policy)).times] == ["rehearse"]
    assert stat.S_IMODE(looks_path(load(policy)).stat().st_mode) == 0o600


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "marked"),
    [
        ("bounds = [0, 110]", "bounds = [18, 88]", AGE),
        ('["F", "M", "X"]', '["F", "M"]', "table.people.column.sex.domain"),
        ("rows_per_unit_max = 12", "rows_per_unit_max = 10", "table.visits.rows_per_unit_max"),
        ("groups_per_unit_max = 4", "groups_per_unit_max = 3", "table.visits.groups_per_unit_max"),
        (
            "bounds = [0, 110] }",
            "bounds = [0, 110], nullable = false }",
            "table.people.column.age.nullable",
        ),
        ("epsilon = 10.0", "epsilon = 9", "dataset.budget"),
        (
            "bounds = [2025-01-01, 2025-12-31]",
            "bounds = [2025-01-02, 2025-12-31]",
            "table.visits.column.day.bounds",
        ),
        (
            "[table.visits.column]",
            "[table.visits.column]\nperson = { type = 'integer', bounds = [1, 2] }",
            "table.visits.column.person.bounds",
        ),
    ],
)
def test_each_value_that_is_another_since_is_marked_until_it_is_put_back(
    tmp_path: Path, old: str, new: str, marked: str
) -> None:
    policy = looked(tmp_path)
    assert chosen_looking(changed(policy, old, new)) == (marked,)
    record_look(load(policy), "rehearse")  # a second look takes nothing back
    assert chosen_looking(load(policy)) == (marked,)
    assert chosen_looking(changed(policy, new, old)) == ()


def test_how_something_is_written_is_no_change(tmp_path: Path) -> None:
    policy = looked(tmp_path)
    changed(policy, '["F", "M", "X"]', '["X", "M", "F"]')
    assert chosen_looking(changed(policy, "epsilon = 10.0", "epsilon = 10.000")) == ()


def test_a_policy_drafted_while_looking_is_marked_as_a_whole(tmp_path: Path) -> None:
    policy = load(hospital_in(tmp_path))
    record_look(policy, "init --look", drafted=True)
    assert {AGE, INCOME, "dataset.budget"} <= set(chosen_looking(policy))


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("check --data", "nothing"),
        lambda text: text.partition("\n")[2],
        lambda text: text[:40],
        lambda text: text.replace('"form": 1', '"form": 2'),
        lambda text: "[]\n",
    ],
)
def test_a_record_of_looks_that_is_not_as_it_was_written_is_refused(
    tmp_path: Path, damage: Callable[[str], str]
) -> None:
    policy = load(looked(tmp_path))
    record_look(policy, "rehearse")
    path = looks_path(policy)
    path.write_text(damage(path.read_text()))
    for reads in (chosen_looking, lambda policy: record_look(policy, "rehearse")):
        with pytest.raises(PolicyError, match="looks"):
            reads(policy)


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_certificates_report_and_check_say_it(tmp_path: Path) -> None:
    policy = hospital_in(tmp_path)
    assert run("check", "--data", policy).exit_code in (0, 1)
    with sanql.open(policy, analyst="ana") as san:
        assert MARK not in str(san.query(SQL, epsilon=0.1).certificate.sentences())
    assert "No value of the policy has been changed" in page_of(gather(load(policy)))
    changed(policy, "bounds = [0, 110]", "bounds = [18, 88]")
    with sanql.open(policy, analyst="ana") as san:
        over = f"WITH a AS ({SQL}) SELECT age * 2 AS twice FROM a"
        told = [
            san.query(SQL, epsilon=0.2).certificate,
            san.query(SQL, epsilon=0.2).certificate,  # a repeat
            san.explain(SQL, epsilon=0.3).certificate,
            san.query(over, epsilon=0.2).certificate,
            *(answer.certificate for answer in san.batch([SQL, COUNT], epsilon=0.2)),
            san.certificate(2),
        ]
    for certificate in told:
        (line,) = (each for each in certificate.assumptions if MARK in each)
        assert AGE in line and INCOME not in line
    report = gather(load(policy))
    assert report.chosen_looking == (AGE,)
    assert f"<code>{AGE}</code>" in page_of(report) and report.to_dict()["looks"]
    assert AGE in run("check", policy).stdout
    assert AGE in json.loads(run("check", policy, "--format", "json").stdout)["chosen_looking"][0]
