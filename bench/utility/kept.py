"""Answers of others, kept from one measurement to the next: they do not change when San does.

They are kept beside the environments of other libraries, by a hash of all that they depend on: questions,
data, policies, how libraries are asked, how often and at which epsilons.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bench.utility.flights import REAL
from bench.utility.peers import ENVIRONMENTS

HERE = Path(__file__).parent
SOURCES = ("questions.sql", "flights.py", "peers.py", "shapes.py", "timetable.py", "policies/*")

Told = list[dict[str, Any]]


def kept(
    name: str, asked: object, script: str, ask: Callable[[], Iterable[dict[str, Any]] | None]
) -> Told | None:
    """Return what was answered before to the same, asked by the same script, or what is answered now."""
    digest = _digest(name, asked, script)
    path = ENVIRONMENTS / "answers" / f"{name.lower().replace(' ', '_')}-{digest}.jsonl"
    if path.exists():
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    told = ask()
    if told is None:
        return None
    found = list(told)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in found), encoding="utf-8")
    return found


def _digest(name: str, asked: object, script: str) -> str:
    digest = hashlib.sha256(repr((name, asked, os.environ.get(REAL))).encode())
    for pattern in (*SOURCES, script):
        for path in sorted(HERE.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
