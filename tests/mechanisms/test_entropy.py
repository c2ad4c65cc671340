"""There is one door to randomness.

The attackers of the textbook play games on made-up data and must be repeatable: they alone may use a
generator, if the caller gives its seed. Nothing they draw enters an answer.
"""

from __future__ import annotations

import ast
from pathlib import Path

import sanql
from sanql.entropy import OsEntropy
from sanql.mechanisms import ExactSampler

SOURCE = Path(next(iter(sanql.__path__)))
DOOR = SOURCE / "entropy.py"
GAMES = SOURCE / "theory" / "attackers"
PLAYED = SOURCE / "cli" / "theory_attack.py"  # `sanql theory attack`, which asks nobody's data
PICTURE = SOURCE / "cli" / "certify_plots.py"  # simulates made-up tables, with a fixed seed
MODULES = {"random", "secrets", "uuid", "numpy.random"}
NAMES = {"urandom", "getrandom", "default_rng", "SystemRandom", "RandomState", "random", "rvs"}


def randomness_in(text: str) -> list[str]:
    """Return the names in a module's code (not its strings) that could yield random bits."""
    if not any(name in text for name in MODULES | NAMES):
        return []  # nor has its tree any of them
    found = []
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                found += [alias.name for alias in names if alias.name in MODULES]
            case ast.ImportFrom(module=module, names=names):
                paths = {f"{module}.{alias.name}" for alias in names} | {str(module)}
                found += sorted(paths & MODULES)
                found += [alias.name for alias in names if alias.name in NAMES]
            case ast.Attribute(attr=name) if name in NAMES:
                found.append(name)
            case _:
                pass
    return found


def test_no_other_file_draws_random_bits() -> None:
    elsewhere = {
        path.relative_to(SOURCE).as_posix(): found
        for path in sorted(SOURCE.rglob("*.py"))
        if path not in (DOOR, PICTURE)
        and GAMES not in path.parents
        and (found := randomness_in(path.read_text(encoding="utf-8")))
    }
    assert elsewhere == {}
    assert randomness_in(DOOR.read_text(encoding="utf-8")) == ["urandom"]


def test_a_game_draws_only_from_a_generator_with_the_callers_seed() -> None:
    for path in sorted(GAMES.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert set(randomness_in(text)) <= {"random", "default_rng"}
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.Import(names=names):
                    assert not {alias.name for alias in names} & MODULES
                case ast.Call(func=ast.Attribute(attr="default_rng"), args=given):
                    assert [getattr(each, "id", None) for each in given] == ["seed"]
                case ast.Attribute(value=ast.Attribute(attr="random"), attr=name):
                    assert name in {"default_rng", "Generator"}
                case _:
                    pass


def test_nothing_that_answers_imports_a_game() -> None:
    importers = [
        path.relative_to(SOURCE).as_posix()
        for path in sorted(SOURCE.rglob("*.py"))
        if path != PLAYED and "theory.attackers" in path.read_text(encoding="utf-8")
    ]
    assert all(name.startswith(("theory/", "audit/")) for name in importers), importers


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
        "from scipy import stats\nstats.laplace.rvs()",
    ]
    assert all(randomness_in(way) for way in ways)


def test_the_operating_systems_entropy_keeps_nothing_between_calls() -> None:
    entropy = OsEntropy()
    assert vars(entropy) == {}
    assert len(entropy.bytes(48)) == 48
    assert entropy.bytes(32) != entropy.bytes(32)  # equal with probability 2^-256


def test_the_sampler_uses_the_operating_systems_entropy_unless_told_otherwise() -> None:
    assert isinstance(ExactSampler().entropy, OsEntropy)
