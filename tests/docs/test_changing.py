"""The recipes of docs/changing.md name files that are there, and the ones that such a change touched."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "changing.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^## (.+?)\n(.+?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
PATHS = re.compile(r"`((?:[a-z_]+/)*[a-z_0-9]+(?:\.py|/))`")
DONE = re.compile(r"\*Last done by\* `([^`]+)`: ((?:`[^`]+`(?:, | and )?)+)")
KINDS = (
    "A scalar function",
    "A statistic",
    "A mechanism",
    "An accountant",
    "An engine",
    "A kind of source",
    "A ledger store",
    "An option of questions",
    "A door",
    "A refusal",
    "A definition of privacy",
)


def test_there_is_a_recipe_for_every_usual_change() -> None:
    assert tuple(RECIPES) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_the_files_that_a_recipe_names_are_there(kind: str) -> None:
    named = PATHS.findall(RECIPES[kind])
    assert named
    for name in named:
        places = (ROOT / "src" / "sanql" / name, ROOT / name)
        assert any(place.exists() for place in places), f"{kind}: {name}"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if DONE.search(RECIPES[kind])])
def test_the_last_such_commit_touched_what_its_recipe_says_and_no_more(kind: str) -> None:
    found = DONE.search(RECIPES[kind])
    assert found is not None
    subject, told = found[1], set(re.findall(r"`([^`]+)`", found[2]))
    log = ["git", "log", "-1", "--format=%H", "--fixed-strings", f"--grep={subject}"]
    commit = _git(log)
    if not commit:
        pytest.skip("this checkout has no history to look the commit up in")
    changed = _git(["git", "show", "--format=", "--name-only", commit, "--", "src/sanql"])
    assert {name.removeprefix("src/sanql/") for name in changed.splitlines()} == told


def _git(command: list[str]) -> str:
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
