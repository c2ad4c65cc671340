"""Every row of docs/paper_to_code.md resolves, and no item of the sources is missing."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from sanql.cli.main import main
from sanql.theory.check import CHECKERS
from sanql.theory.implications.search import EDGES
from theory.commands_of_items import as_run
from theory.test_attacked import ATTACKS
from theory.vectors import ALL

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "paper_to_code.md"
NOT_YET = "not yet: noiseless releases"
VERDICTS = ("holds", "corrected", "false as printed", "answered", NOT_YET)
_functions: dict[str, set[str]] = {}
NUMBERED = {
    "Kasiviswanathan": [
        *(f"Definition {k}" for k in ("1.1", "1.2", "2.1", "2.3", "3.1", "3.2", "A.1")),
        *(f"Theorem {k}" for k in ("2.2, first", "2.2, second", "2.4, first", "2.4, second")),
        *(f"Theorem {k}" for k in ("5.1", "A.2", "A.3")),
        *(f"Claim 3.3({k})" for k in range(1, 7)),
        "Lemma 4.1",
        "Corollary 4.2",
        "Corollary 5.2",
        "footnote 4",
    ],
    "Vadhan": ["Definition 1", "Definition 2", "case 1", "case 2", "Claim 1.1", "Claim 1.2",
               "Proposition 1", "Proposition 2"],
    "hockey-stick": ["remark 3", "perfect privacy", "theorem"],
    "Bassily": [
        *(f"Definition {k}" for k in range(1, 10)),
        *(f"Theorem {k}" for k in range(1, 18)),
        "Lemma 1",
        "Lemma 2",
        "Corollary 1",
        "Corollary 2",
        "Example 1",
    ],
    "Fredrikson": ["Definition 21.1", "Definition 21.2", "Example 21.3", "Example 21.4",
                   "Theorem 21.5", "Example 21.6", "Figure 21.1", "Figure 21.2"],
}  # fmt: skip


def rows() -> list[tuple[str, str, str, str, str, str]]:
    """Return (source, item, verdict, code, command, test) of every table row."""
    found, source = [], ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            source = line
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("|") and len(cells) == 5 and cells[0] != "item":
            found.append((source, *cells))
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row[0][3:12]} {row[1]}")
def test_the_row_resolves(row: tuple[str, str, str, str, str, str]) -> None:
    _, _, verdict, code, _, test = row
    assert verdict.startswith(VERDICTS)
    if verdict == NOT_YET:
        assert (code, test) == ("–", "–")
        return
    names = re.findall(r"`([^`]+)`", code)
    tests = re.findall(r"`([^`]+)`", test)
    assert names
    assert tests
    for name in names:
        assert resolve(name) is not None
    for name in tests:
        assert exists(name), f"no such test: {name}"


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row[0][3:12]} {row[1]}")
def test_the_row_names_a_command_that_is_there(row: tuple[str, str, str, str, str, str]) -> None:
    _, item, *_, command, _ = row
    assert command != "–", f"no command for {item}"
    words = command.strip("`").split()
    found = commanded(words)
    if words[:2] == ["theory", "implications"]:
        assert words[2] in {edge.premise for edge in EDGES}
    elif "--definition" in words:
        assert words[words.index("--definition") + 1] in CHECKERS
    assert found.callback is not None


@pytest.mark.slow
@pytest.mark.parametrize("words", sorted({row[4].strip("`") for row in rows()}))
def test_the_command_of_a_row_runs(words: str, tmp_path: Path) -> None:
    asked = as_run(words, tmp_path)
    said = words.split()
    missing = set(said[:2] if said[1] == "implications" else said) - set(asked)
    assert not missing, f"{words} is not what is run"
    done = CliRunner().invoke(main, asked, env={"COLUMNS": "80"})
    assert done.exit_code == 0, f"sanql {shlex.join(asked)}: {done.output}"
    assert done.output.strip()


@pytest.mark.slow
def test_the_tests_of_the_rows_are_collected() -> None:
    named = re.findall(r"`([^`:]+\.py::[^`]+)`", " ".join(row[5] for row in rows()))
    here = Path(__file__).parent
    wanted = sorted({str((ROOT / "tests" if "/" in n else here) / n) for n in named})
    asked = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "", *wanted]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def commanded(words: list[str]) -> click.Command:
    """Return the command of some words, which has every option among them."""
    found: click.Command | None = main
    for word in words:
        if isinstance(found, click.Group):
            found = found.get_command(click.Context(found), word)
    if found is None:
        raise KeyError(words)
    options = {name for option in found.params for name in option.opts}
    missing = {word for word in words if word.startswith("--")} - options
    assert not missing, f"{words} has no {missing}"
    return found


def test_every_row_has_all_its_cells() -> None:
    lines = [
        line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")
    ]
    assert len(lines) == len(rows()) + 5  # the headings


def resolve(name: str) -> object:
    """Return the object a dotted name under sanql.theory (or sanql.mechanisms) stands for."""
    parts = name.split(".")
    package = "sanql" if parts[0] == "mechanisms" else "sanql.theory"
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found: object = importlib.import_module(".".join([package, *parts[:cut]]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise AssertionError(f"no such code: {name}")


def exists(name: str) -> bool:
    """Return whether a test, vector or attack of this name is there."""
    if name.startswith("vector:"):
        return name.removeprefix("vector:") in {vector["id"] for vector in ALL}
    if name.startswith("attack:"):
        return name.removeprefix("attack:") in {edge for a in ATTACKS for edge in a.edges}
    file, _, function = name.partition("::")
    if file not in _functions:
        folder = Path(__file__).parent if "/" not in file else ROOT / "tests"
        tree = ast.parse((folder / file).read_text(encoding="utf-8"))
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        _functions[file] = functions
    return function in _functions[file]


@pytest.mark.parametrize("source", NUMBERED)
def test_every_numbered_item_of_the_source_has_a_row(source: str) -> None:
    items = [item for heading, item, *_ in rows() if source in heading]
    for wanted in NUMBERED[source]:
        pattern = re.compile(rf"{re.escape(wanted)}(?![\d.])")
        assert any(pattern.search(item) for item in items), f"no row for {wanted}"


def test_a_false_statement_names_a_committed_counterexample() -> None:
    for _, item, verdict, *_, test in rows():
        if verdict.startswith("false as printed"):
            refutes = ("test_printed_statements.py", "test_published.py", "vector:")
            refuted = any(kind in test for kind in refutes)
            assert refuted, f"no counterexample for {item}"


ERRATA = ROOT / "docs" / "theory" / "9_errata.md"
IDS = [
    *(f"KS{k}" for k in range(1, 16)),
    *(f"V{k}" for k in range(1, 6)),
    *(f"N{k}" for k in range(1, 4)),
    *(f"CW{k}" for k in range(1, 10)),
]


def errata() -> list[list[str]]:
    """Return (id, kind, where, printed, corrected, test) of every erratum."""
    lines = ERRATA.read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [row for row in rows if re.fullmatch(r"(KS|V|N|CW)\d+", row[0])]


def test_every_erratum_is_in_the_table_once_and_in_order() -> None:
    assert [row[0] for row in errata()] == IDS


@pytest.mark.parametrize("row", errata(), ids=lambda row: row[0])
def test_an_erratum_has_both_forms_and_its_counterexample(row: list[str]) -> None:
    _, kind, where, printed, corrected, test = row
    assert kind in ("false", "loose", "step", "slip")
    assert where
    assert printed
    assert corrected
    assert printed != corrected
    tests = re.findall(r"`([^`]+)`", test)
    assert tests or (kind, test) == ("slip", "–")
    for name in tests:
        assert exists(name), f"no such test: {name}"


def test_every_edge_that_is_false_as_printed_has_an_erratum() -> None:
    told = " ".join(row[2] for row in errata())
    for edge in EDGES:
        if edge.verdict == "false in general":
            item = re.sub(r".*(Claim|Theorem|Lemma|footnote) ([\d.]+).*", r"\2", edge.source)
            assert item in told, f"no erratum for {edge.source}"


def test_a_row_that_does_not_resolve_would_fail() -> None:
    assert not exists("test_lecture.py::test_that_is_not_there")
    assert not exists("vector:Z99")
    assert not exists("attack:nothing")
    with pytest.raises((AssertionError, AttributeError)):
        resolve("divergences.no_such_function")
    with pytest.raises(KeyError):
        commanded(["theory", "attack", "nobody"])
    with pytest.raises(AssertionError):
        commanded(["theory", "check", "--no-such-option"])
