"""What a campaign of hours has found so far: written down part by part, so that it can be gone on with.

Each part is a line of a file, with the kernel that it was of. Whoever begins again does not repeat the
parts that are there; one that was not ended is as if it had not been begun.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Found:
    """What was compared, and what was not the same."""

    compared: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    kernels: Counter[str] = field(default_factory=Counter)  # questions of each
    levels: int = 0
    cells: int = 0
    kills: int = 0
    seconds: float = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Found) -> None:
        """Take in what was found in another part."""
        self.compared += other.compared
        self.refused += other.refused
        self.kernels += other.kernels
        self.levels += other.levels
        self.cells += other.cells
        self.kills += other.kills
        self.seconds += other.seconds
        self.wrong += other.wrong


class Record:
    """The lines of a file, each with what came of a part; without a file they are only kept in mind."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.parts: dict[str, dict[str, Any]] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                noted = json.loads(line)
                self.parts[noted.pop("part")] = noted

    def note(self, part: str, came: dict[str, Any]) -> None:
        """Write down what came of a part."""
        assert part not in self.parts
        self.parts[part] = came
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"part": part, **came}, sort_keys=True) + "\n")


def note_found(record: Record, part: str, found: Found) -> None:
    """Write down what was found in a part."""
    record.note(part, {**vars(found), "seconds": round(found.seconds, 1)})


def all_found(record: Record) -> Found:
    """Return what was found in all parts together."""
    total = Found()
    for noted in record.parts.values():
        counts = {
            name: Counter(each) if isinstance(each, dict) else each for name, each in noted.items()
        }
        total.add(Found(**counts))
    return total


def table(title: str, counts: Counter[str]) -> Iterator[str]:
    """Yield the lines of a table of counts."""
    yield from (f"| {title} | |", "|---|---:|")
    yield from (f"| {name} | {number:,} |" for name, number in sorted(counts.items()))
