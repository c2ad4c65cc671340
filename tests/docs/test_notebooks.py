"""The notebooks run from their first cell to their last, and show what a run has shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.hospitals import hospital_in

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def cells(path: Path) -> list[dict[str, Any]]:
    read = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in read["cells"] if cell["cell_type"] == "code"]


def test_there_is_one_for_whoever_asks_owns_and_studies() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["analyst", "owner", "researcher"]


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    hospital_in(tmp_path / "demo")
    monkeypatch.chdir(tmp_path)
    known: dict[str, Any] = {}
    for cell in cells(path):
        lines = [line for line in "".join(cell["source"]).splitlines() if line[:1] != "%"]
        exec(compile("\n".join(lines), path.name, "exec"), known)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_a_notebook_shows_is_of_one_run_without_errors(path: Path) -> None:
    found = cells(path)
    assert [cell["execution_count"] for cell in found] == list(range(1, len(found) + 1))
    shown = [output for cell in found for output in cell["outputs"]]
    assert not [output for output in shown if output["output_type"] == "error"]
    assert len(shown) > len(found) / 2
