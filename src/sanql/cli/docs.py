"""`sanql docs`: the pages that refusals and remedies name, where there is no browser."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from sanql.cli.saying import say

PACKAGE = Path(__file__).parents[1]


@click.command()
@click.argument("page", required=False)
def docs(page: str | None) -> None:
    """Show a page of the documentation, such as policy or sql; without PAGE, list them.

    PAGE is a name as a refusal gives it (docs/sql.md) or shorter (sql), and may name a heading of it:
    `sanql docs policy#when-the-data-change`.
    """
    pages = find_pages(folder_of_pages())
    if page is None:
        for name, path in pages.items():
            say(f"{name:24} {_title(path)}")
        return
    name, _, heading = page.partition("#")
    found = pages.get(name.removeprefix("docs/").removesuffix(".md"))
    if found is None:
        raise click.UsageError(f"there is no page {name}; `sanql docs` lists them")
    text = found.read_text(encoding="utf-8")
    if heading:
        section = _section(text, heading)
        if section is None:
            known = ", ".join(_anchor(line) for line in _headings(text))
            raise click.UsageError(f"{name} has no heading {heading}; it has {known}")
        text = section
    _show(text)


def folder_of_pages() -> Path:
    """Return where the pages are: in the package where it is installed, else in the clone."""
    installed = PACKAGE / "pages"
    return installed if installed.is_dir() else PACKAGE.parents[1] / "docs"


def find_pages(folder: Path) -> dict[str, Path]:
    """Return the pages of a folder by name, those of subfolders as `theory/4_definitions`."""
    return {
        path.relative_to(folder).with_suffix("").as_posix(): path
        for path in sorted(folder.rglob("*.md"))
    }


def _show(text: str) -> None:
    """Show a page as people read it on a terminal, and as it is written to whatever else reads it."""
    if not sys.stdout.isatty():
        say(text)
        return
    from rich.markdown import Markdown

    from sanql.cli.tables import console

    shown = console()
    with shown.pager(styles=True):
        shown.print(Markdown(text))


def _title(path: Path) -> str:
    return next(iter(_headings(path.read_text(encoding="utf-8"))), "").lstrip("# ")


def _section(text: str, heading: str) -> str | None:
    """Return a heading and what stands below it, up to the next that is as high; None without it."""
    for line in _headings(text):
        if _anchor(line) == heading.lower():
            depth = len(line) - len(line.lstrip("#"))
            rest = text.split(f"\n{line}\n" if not text.startswith(line) else line, 1)[1]
            return f"{line}\n{re.split(rf'(?m)^#{{1,{depth}}} ', rest, maxsplit=1)[0]}"
    return None


def _headings(text: str) -> list[str]:
    """Return the lines of headings, none of which are comments inside examples."""
    without_code = re.sub(r"(?ms)^```.*?^```$", "", text)
    return re.findall(r"(?m)^#+ .+$", without_code)


def _anchor(line: str) -> str:
    """Return a heading as links name it."""
    return re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).replace(" ", "-")
