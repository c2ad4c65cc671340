"""Every link in the documents leads to a file, and to a heading where it names one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAPERS = {"README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"}
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_link_in_a_document_leads_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^()\s]+)\)", path.read_text(encoding="utf-8"))
    assert [link for link in links if not _found(path, link)] == []


def _found(path: Path, link: str) -> bool:
    if "://" in link:
        return True
    name, _, heading = link.partition("#")
    target = path.parent / name if name else path
    return target.exists() and (not heading or heading in _headings(target))


def _headings(path: Path) -> set[str]:
    lines = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


def test_the_papers_of_the_project_are_there_and_the_readme_leads_to_them() -> None:
    assert {path.name for path in DOCUMENTS} >= PAPERS
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in PAPERS - {"README.md"} if f"]({name})" not in readme] == []
