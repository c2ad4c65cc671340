"""Numbers that the tutorials print besides their examples are right, and on the safe side."""

from __future__ import annotations

import math
import re
import shlex
from pathlib import Path

import pytest

from support.commands import run
from support.hospitals import hospital_in

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"


def test_beliefs_that_an_officer_is_shown_are_rounded_up_and_hardly_more() -> None:
    text = (TUTORIALS / "officer.md").read_text(encoding="utf-8")
    head, _, *rows = re.findall(r"^\|.*\|$", text.split("## What has been spent")[0], re.MULTILINE)
    epsilons = [float(number) for number in re.findall(r"[\d.]+", head)]
    assert len(epsilons) == 4 and len(rows) == 3
    for row in rows:
        prior, *shown = (float(number) / 100 for number in re.findall(r"[\d.]+", row))
        for epsilon, said in zip(epsilons, shown, strict=True):
            odds = prior / (1 - prior) * math.exp(epsilon)
            assert 0 <= said - odds / (1 + odds) < 0.01


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("name", ["owner", "officer", "researcher"])
def test_the_commands_of_a_tutorial_succeed_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    hospital_in(tmp_path / "demo")
    monkeypatch.chdir(tmp_path)
    text = (TUTORIALS / f"{name}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert blocks
    for line in "".join(blocks).splitlines():
        done = run(*shlex.split(line.removeprefix("sanql ")))
        assert done.exit_code == 0, f"{line}: {done.stderr}"


def test_every_tutorial_is_in_the_readme() -> None:
    readme = (TUTORIALS.parents[1] / "README.md").read_text(encoding="utf-8")
    pages = sorted(TUTORIALS.glob("*.md"))
    assert len(pages) == 4
    assert [page.name for page in pages if f"(docs/tutorials/{page.name})" not in readme] == []
