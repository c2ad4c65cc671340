"""`sanql user`: who may ask, and what is said of their tokens."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sanql.account import People, open_store
from sanql.policy import load
from support.commands import run
from support.hospitals import hospital_in

pytestmark = pytest.mark.usefixtures("in_this_process")

TOKEN = re.compile(r"san_[a-z2-7]{12}_[a-z2-7]{52}")


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return hospital_in(tmp_path / "demo")


def people(policy: Path) -> People:
    return People(open_store(load(policy)))


def test_a_token_is_printed_once_and_alone_on_the_standard_output(policy: Path) -> None:
    done = run("user", "add", "ana", "--role", "analyst", "--dataset", "hospital", "-p", policy)
    assert done.exit_code == 0 and TOKEN.fullmatch(done.stdout.strip())
    assert "ana may ask hospital as analyst" in done.stderr
    found = people(policy).verify(done.stdout.strip())
    assert found is not None and (found.name, found.role) == ("ana", "analyst")
    assert found.expires is not None
    listed = run("user", "list", "-p", policy)
    assert "ana" in listed.stdout and not TOKEN.search(listed.stdout + listed.stderr)


def test_rotating_and_revoking_take_effect_at_once(policy: Path) -> None:
    first = run("user", "add", "ana", "--role", "analyst", "-p", policy).stdout.strip()
    second = run("user", "rotate", "ana", "-p", policy, "--expires", "never").stdout.strip()
    known = people(policy)
    assert known.verify(first) is None
    found = known.verify(second)
    assert found is not None and found.expires is None
    assert run("user", "revoke", "ana", "-p", policy).exit_code == 0
    assert known.verify(second) is None
    listed = json.loads(run("user", "list", "-p", policy, "--format", "json").stdout)
    assert [(who["name"], who["state"]) for who in listed["people"]] == [("ana", "revoked")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (
            ["add", "eve", "--role", "analyst"],
            7,
            "declares its analysts, and 'eve' is none of them",
        ),
        (["add", "a b", "--role", "officer"], 7, "'a b' cannot be a person's name"),
        (["add", "ana", "--role", "analyst", "--dataset", "town"], 7, "of a dataset 'town'"),
        (["add", "ana", "--role", "analyst", "--expires", "soon"], 7, "is no length of time"),
        (["add", "ana", "--role", "queen"], 2, "queen"),
        (["rotate", "eve"], 7, "there is no person 'eve'"),
        (["revoke", "eve"], 7, "there is no person 'eve'"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(
    policy: Path, arguments: list[str], code: int, said: str
) -> None:
    done = run("user", *arguments, "-p", policy)
    assert done.exit_code == code and said in done.stderr
    assert people(policy).listed() == []


def test_one_token_for_several_datasets(tmp_path: Path, policy: Path) -> None:
    other = hospital_in(tmp_path / "other")
    text = other.read_text(encoding="utf-8").replace('name = "hospital"', 'name = "clinic"')
    other.write_text(text, encoding="utf-8")
    done = run("user", "add", "ana", "--role", "analyst", "-p", policy, "-p", other)
    token = done.stdout.strip()
    assert "ana may ask hospital, clinic" in done.stderr
    assert people(policy).verify(token) is not None and people(other).verify(token) is not None


def test_who_signs_on_elsewhere_gets_no_token(policy: Path) -> None:
    done = run("user", "add", "ana", "--role", "analyst", "-p", policy, "--identity", "ana@x.org")
    assert done.exit_code == 0 and done.stdout == ""
    assert people(policy).with_identity("ana@x.org") is not None
