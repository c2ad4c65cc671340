"""Writes THIRD_PARTY.md: every package that is pinned, and its licence as its own metadata state it.

Run it after the requirements have changed: `python -m project.third_party`. A test compares. Pins
for another Python or system are not installed here: their rows are kept from the page there is. For
a new one, `pip install --no-deps --only-binary=:all: --python-version 3.12 --target FOLDER`, and run
this with FOLDER on the PYTHONPATH.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, distributions

from project.pins import DEVELOPMENT, ROOT, RUNTIME, Pin, read

PAGE = ROOT / "THIRD_PARTY.md"
INTRODUCTION = """# Packages of others

Written by `project/third_party.py` from the pinned requirements and the metadata of the packages. They
are installed beside San and are no part of its wheel or sdist. The licence is what a package states for
itself, by its SPDX name where it has one. Some wheels bundle libraries with licences of their own, which
are among the files of those packages.

One thing of others is in the wheel: `src/sanql/server/web/static/editor.js`, the editor of the page that
asks, bundled by `make web` from CodeMirror, Lezer, style-mod, w3c-keyname, crelt and find-cluster-break
(`web/package-lock.json` pins them), all under the MIT licence, whose texts are in `editor.txt` beside it.
The sdist has `tests/web/axe.min.js` besides, axe-core 4.14.0 by Deque Systems, unchanged, under MPL-2.0:
it looks at the pages for the tests, and is no part of the wheel.
"""
RUNNING = "What San runs with, the pins of `requirements.txt`:"
DEVELOPING = "What its tests, tools and extras need besides, the pins of `requirements-dev.txt`:"
HEAD = "| package | version | licence | asked for by | only where |\n|---|---|---|---|---|"

Licences = Mapping[tuple[str, str], str]

SPDX = {
    "Apache 2.0": "Apache-2.0",
    "Apache-2.0": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD-3-Clause": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT": "MIT",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
# Names of families, told apart by the text or left as they are.
FAMILIES = {"Apache Software License", "BSD License", "Python Software Foundation License"}


def page(recorded: str) -> str:
    """Return THIRD_PARTY.md, with the rows of `recorded` for packages that are not installed here."""
    running, developing = read(RUNTIME), read(DEVELOPMENT)
    names = {(pin.name, pin.version) for pin in running}
    more = [pin for pin in developing if (pin.name, pin.version) not in names]
    known = {**licences(recorded), **_installed()}
    missing = [
        f"{pin.name}=={pin.version}"
        for pin in (*running, *more)
        if (pin.name, pin.version) not in known
    ]
    if missing:
        raise LookupError(
            f"not installed here, and not on the page: {', '.join(missing)}\n"
            "Run project/third_party.py where they are; its first lines say how."
        )
    parts = [INTRODUCTION, RUNNING, "", _table(running, known), "", DEVELOPING, ""]
    return "\n".join([*parts, _table(more, known), ""])


def _table(pins: Iterable[Pin], known: Licences) -> str:
    rows = [
        (
            pin.name,
            pin.version,
            known[pin.name, pin.version],
            ", ".join(pin.parents),
            f"`{pin.where}`" if pin.where else "",
        )
        for pin in pins
    ]
    return "\n".join([HEAD, *("| " + " | ".join(row) + " |" for row in rows)])


def licences(text: str) -> dict[tuple[str, str], str]:
    """Return what a page says: the licence of each package and version."""
    rows = re.findall(r"^\| ([a-z0-9-]+) \| (\S+) \| (.+?) \| .*\|$", text, re.MULTILINE)
    return {(name, version): licence for name, version, licence in rows if name != "package"}


def _installed() -> dict[tuple[str, str], str]:
    pinned = {(pin.name, pin.version) for pin in (*read(RUNTIME), *read(DEVELOPMENT))}
    found = {}
    for package in distributions():
        name = re.sub(r"[-_.]+", "-", package.metadata["Name"] or "").lower()
        if (name, package.version) in pinned:
            found[name, package.version] = stated(package)
    return found


def stated(package: Distribution) -> str:
    """Return the licence that a package's metadata state; words that nobody has placed are an error."""
    fields = package.metadata
    if expression := fields["License-Expression"]:
        return expression
    said = [
        fields["License"] or "",
        *(
            line.rpartition(" :: ")[2]
            for line in fields.get_all("Classifier") or []
            if line.startswith("License :: ")
        ),
    ]
    for words in said:
        if words in SPDX:
            return SPDX[words]
    for words in said:
        if words in FAMILIES:
            return _told_apart(words, _text(package))
    raise ValueError(f"{fields['Name']}: {said} is no licence that project/third_party.py knows")


def _text(package: Distribution) -> str:
    files = [
        package.read_text(f"{folder}{name}")
        for name in package.metadata.get_all("License-File") or []
        for folder in ("licenses/", "")
    ]
    return next((text for text in (package.metadata["License"], *files) if text), "")


def _told_apart(family: str, text: str) -> str:
    """Apache's licences say their version; BSD's differ in what comes before the first disclaimer."""
    words = " ".join(text.split())
    if family == "Apache Software License" and "Apache License Version 2.0," in words:
        return "Apache-2.0"
    conditions, disclaimer, _ = words.partition("AS IS")
    if family != "BSD License" or not disclaimer:
        return family
    if "Redistributions in binary form must" not in conditions:
        return family
    return "BSD-3-Clause" if "Neither the name" in conditions else "BSD-2-Clause"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
