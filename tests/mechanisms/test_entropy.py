"""There is one door to randomness."""

from __future__ import annotations

import ast
from pathlib import Path

import sanql
from sanql.mechanisms import ExactSampler, OsEntropy

SOURCE = Path(next(iter(sanql.__path__)))
DOOR = SOURCE / "mechanisms" / "entropy.py"
MODULES = {"random", "secrets", "uuid", "numpy.random", "scipy.stats"}
NAMES = {"urandom", "getrandom", "default_rng", "SystemRandom", "RandomState", "uuid4", "uuid1"}


def randomness_in(text: str) -> list[str]:
    """Return the names in a module's code (not its strings) that could yield random bits."""
    found = []
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                found += [alias.name for alias in names if alias.name in MODULES]
            case ast.ImportFrom(module=module, names=names):
                paths = {f"{module}.{alias.name}" for alias in names} | {str(module)}
                found += sorted(paths & MODULES)
                found += [alias.name for alias in names if alias.name in NAMES]
            case ast.Attribute(attr=name) if name in NAMES | {"random"}:
                found.append(name)
            case _:
                pass
    return found


def test_no_other_file_draws_random_bits() -> None:
    elsewhere = {
        path.relative_to(SOURCE).as_posix(): found
        for path in sorted(SOURCE.rglob("*.py"))
        if path != DOOR and (found := randomness_in(path.read_text(encoding="utf-8")))
    }
    assert elsewhere == {}
    assert randomness_in(DOOR.read_text(encoding="utf-8")) == ["urandom"]


def test_the_search_sees_each_way_in() -> None:
    ways = [
        "import random",
        "import secrets as s",
        "from numpy import random",
        "from numpy.random import default_rng",
        "from os import urandom",
        "import os\nos.getrandom(8)",
        "import numpy as np\nnp.random.laplace()",
        "import uuid",
    ]
    assert all(randomness_in(way) for way in ways)


def test_the_operating_systems_entropy_keeps_nothing_between_calls() -> None:
    entropy = OsEntropy()
    assert vars(entropy) == {}
    assert len(entropy.bytes(48)) == 48
    assert entropy.bytes(32) != entropy.bytes(32)  # equal with probability 2^-256


def test_the_sampler_uses_the_operating_systems_entropy_unless_told_otherwise() -> None:
    assert isinstance(ExactSampler().entropy, OsEntropy)
