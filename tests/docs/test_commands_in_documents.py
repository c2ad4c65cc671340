"""Every `$ sanql …` line in the documents runs and succeeds in a folder with the demo hospital."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import run
from support.hospitals import hospital_in
from support.serving import Served, served

pytestmark = pytest.mark.usefixtures("in_this_process")

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TRANSCRIPTS = {"spark_demo.md"}  # of commands that need a cluster: `make spark` writes them
COMMANDS = [
    (path.name, line.removeprefix("$ sanql "))
    for path in DOCUMENTS
    if path.name not in TRANSCRIPTS
    for line in path.read_text(encoding="utf-8").splitlines()
    if line.startswith("$ sanql ")
]


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    hospital_in(folder / "demo")
    return folder


@pytest.fixture(scope="module")
def hospital_served(hospital: Path) -> Iterator[Served]:
    with served([hospital / "demo" / "policy.toml"]) as server:
        yield server


@pytest.mark.slow
@pytest.mark.parametrize(("document", "arguments"), COMMANDS)
def test_a_command_in_a_document_succeeds(
    hospital: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    document: str,
    arguments: str,
) -> None:
    monkeypatch.chdir(hospital)
    if document == "client.md":
        server: Served = request.getfixturevalue("hospital_served")
        monkeypatch.setenv("SANQL_SERVER", server.url)
        monkeypatch.setenv("SANQL_TOKEN", server.token("ana"))
    done = run(*shlex.split(arguments))
    assert done.exit_code == 0, f"{document}: {done.stderr}"


def test_every_link_between_documents_leads_somewhere() -> None:
    for path in [*DOCUMENTS, ROOT / "ARCHITECTURE.md", ROOT / "CHANGELOG.md"]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_every_folder_of_the_package_is_in_the_architecture() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "sanql"
    folders = [part.name for part in package.iterdir() if (part / "__init__.py").exists()]
    assert folders
    assert [name for name in folders if f"`{name}/`" not in page] == []


def test_the_package_shows_what_it_offers_and_nothing_else() -> None:
    import sanql

    assert dir(sanql) == sorted(sanql.__all__)
    assert "open" in dir(sanql)
