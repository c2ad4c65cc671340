"""The textbook names every module and shows every picture."""

from __future__ import annotations

import re
from pathlib import Path

import sanql.theory
from sanql.cli.theory import plot

DOCS = Path(__file__).parents[2] / "docs" / "theory"
PACKAGE = Path(sanql.theory.__file__).parent


def test_every_chapter_is_listed_and_every_link_leads_somewhere() -> None:
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    chapters = {path.name for path in DOCS.glob("[0-9]*.md")}
    assert chapters == set(re.findall(r"\]\((\d_[a-z_]+\.md)\)", index))
    for page in DOCS.glob("*.md"):
        for target in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_public_module_has_its_place_in_a_chapter() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "errors", "exact"}
    infrastructure = {"channel_file", "check"}
    for module in modules - infrastructure:
        assert f"`{module}`" in text, f"no chapter speaks of {module}"


def test_every_picture_is_in_the_gallery() -> None:
    gallery = (DOCS / "8_gallery.md").read_text(encoding="utf-8")
    names = next(p for p in plot.params if p.name == "name").type.choices  # type: ignore[attr-defined]
    for name in names:
        assert f"gallery/{name}.png" in gallery
        assert (DOCS / "gallery" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
