"""The packages that requirements files pin, as data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUNTIME = ROOT / "requirements.txt"
DEVELOPMENT = ROOT / "requirements-dev.txt"
OURS = "sanql"

_PIN = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>[^\s;]+)(?: ; (?P<where>.+?))? \\")
_HASH = re.compile(r"    --hash=sha256:(?P<sha256>[0-9a-f]{64})(?: \\)?")
_VIA = re.compile(r"    #(?: via|  )(?: (?P<parent>[a-z0-9-]+)(?: \(pyproject\.toml.*\))?)?")


@dataclass(frozen=True)
class Pin:
    """One version of one package: where it is installed, its files' hashes, and who asks for it."""

    name: str
    version: str
    where: str  # an environment marker; empty where it is installed everywhere
    sha256: tuple[str, ...]
    parents: tuple[str, ...]

    def meets(self, other: Pin) -> bool:
        """Say whether both can be installed at once: of numpy there is one for each Python."""
        apart = all("python_full_version" in pin.where for pin in (self, other))
        return not apart or self.where == other.where


def read(path: Path) -> tuple[Pin, ...]:
    """Return the pins of a requirements file; a line that is not understood is an error."""
    pins: list[Pin] = []
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        if line.startswith("#"):
            continue
        if found := _PIN.fullmatch(line):
            pins.append(Pin(found["name"], found["version"], found["where"] or "", (), ()))
        elif pins:
            pins[-1] = _with(pins[-1], line, f"{path.name}:{number}")
        else:
            raise ValueError(f"{path.name}:{number}: no pin, hash or `via`: {line!r}")
    bare = [pin.name for pin in pins if not pin.sha256]
    if bare or not pins:
        raise ValueError(f"{path.name}: pins without hashes: {bare or 'there are no pins'}")
    return tuple(pins)


def _with(pin: Pin, line: str, place: str) -> Pin:
    if found := _HASH.fullmatch(line):
        hashes = (*pin.sha256, found["sha256"])
        return Pin(pin.name, pin.version, pin.where, hashes, pin.parents)
    if found := _VIA.fullmatch(line):
        parents = (*pin.parents, found["parent"]) if found["parent"] else pin.parents
        return Pin(pin.name, pin.version, pin.where, pin.sha256, tuple(dict.fromkeys(parents)))
    raise ValueError(f"{place}: no pin, hash or `via`: {line!r}")
