"""`make docs`: the documentation as a site, from the pages as they lie in the repository.

Pages link to each other, to pages of `bench/` and to pictures by their places in the repository, so
a copy of all of them in the same places is what the site is made of: no link is written anew. Pages
that the table of contents in mkdocs.yml does not name come last in it. Nothing is fetched from elsewhere.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
from nbconvert import MarkdownExporter

ROOT = Path(__file__).parents[1]
PAGES, SITE = ROOT / "build" / "pages", ROOT / "build" / "site"
CONTENTS = ROOT / "mkdocs.yml"
LINKED = re.compile(r"\]\(([^()\s#]+)[^()\s]*\)")
# what a browser would fetch by itself; links that somebody follows may lead anywhere
FETCHED = re.compile(
    r"<(?:script|img|link|iframe)\b[^>]*\b(?:src|href)=[\"']?(https?:)?//", re.IGNORECASE
)


def main() -> None:
    """Write build/site, or say which link leads nowhere."""
    shutil.rmtree(PAGES, ignore_errors=True)
    gather(ROOT, PAGES)
    show_notebooks(ROOT / "docs" / "notebooks", PAGES / "docs" / "notebooks")
    named = CONTENTS.read_text(encoding="utf-8")
    written = PAGES.parent / "mkdocs.yml"
    written.write_text(with_all_pages(named, PAGES), encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", str(written)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(command, check=True, cwd=ROOT, env=quiet)
    if outside := fetched_from_elsewhere(SITE):
        raise SystemExit(f"these would be fetched from elsewhere: {', '.join(outside)}")
    print(f"{len(list(SITE.rglob('*.html')))} pages: {SITE / 'README.html'}")


def gather(root: Path, pages: Path) -> None:
    """Copy the README, and every file that it or a page so copied links to, into the same places."""
    own = [*sorted((root / "docs").rglob("*.md")), *sorted((root / "docs").glob("*.css"))]
    pending, known = [root / "README.md", *own], set[Path]()
    while pending:
        path = pending.pop()
        if path in known or not path.is_file():
            continue
        known.add(path)
        copy = pages / path.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
        if path.suffix == ".md":
            links = LINKED.findall(path.read_text(encoding="utf-8"))
            found = [(path.parent / link).resolve() for link in links if "://" not in link]
            pending += [each for each in found if each.is_relative_to(root)]


def show_notebooks(notebooks: Path, pages: Path) -> None:
    """Write each notebook as a page, with the pictures that its cells have drawn."""
    pages.mkdir(parents=True, exist_ok=True)
    for path in sorted(notebooks.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        text, drawn = MarkdownExporter().from_notebook_node(
            notebook, {"output_files_dir": path.stem, "unique_key": path.stem}
        )
        for name, content in drawn["outputs"].items():
            (pages / name).parent.mkdir(parents=True, exist_ok=True)
            (pages / name).write_bytes(content)
        (pages / f"{path.stem}.md").write_text(text, encoding="utf-8")


def with_all_pages(contents: str, pages: Path) -> str:
    """Return the settings with the pages that they do not name, last in the table of contents."""
    every = sorted(path.relative_to(pages).as_posix() for path in pages.rglob("*.md"))
    theory = [page for page in every if page.startswith("docs/theory/") and page not in contents]
    others = [page for page in every if page not in contents and page not in theory]
    lines = [
        *(f"      - {page}" for page in theory),
        "  - More:",
        *(f"      - {p}" for p in others),
    ]
    moved = contents.replace("build/pages", "pages").replace("build/site", "site")
    return moved.rstrip() + "\n" + "\n".join(lines) + "\n"


def fetched_from_elsewhere(site: Path) -> list[str]:
    """Return the pages that would have a browser fetch something from another place."""
    return [
        path.relative_to(site).as_posix()
        for path in sorted(site.rglob("*.html"))
        if FETCHED.search(path.read_text(encoding="utf-8"))
    ]


if __name__ == "__main__":
    main()
