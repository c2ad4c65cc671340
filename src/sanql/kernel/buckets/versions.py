"""Which kernel this is: all of its modules by their bytes, and the libraries it stands on.

Cells are the same wherever they are computed because the kernel is; one of another version may round,
hash or read otherwise, and its parts must not be added to others.
"""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass, fields
from functools import cache
from importlib.metadata import version
from importlib.resources import files


@dataclass(frozen=True)
class Versions:
    """What has to be the same on every machine that computes parts of one answer."""

    kernel: str
    duckdb: str
    pyarrow: str
    python: str

    def differences(self, other: Versions) -> list[str]:
        """Return what another has otherwise, in words: what, there, here."""
        return [
            f"{each.name} {getattr(other, each.name)} and not {getattr(self, each.name)}"
            for each in fields(self)
            if getattr(self, each.name) != getattr(other, each.name)
        ]


@cache
def own_versions() -> Versions:
    """Return the versions here."""
    python = ".".join(platform.python_version_tuple()[:2])
    return Versions(_kernel(), version("duckdb"), version("pyarrow"), python)


def kernel_modules() -> dict[str, bytes]:
    """Return the source of every module of the kernel, by its place below it."""
    root = files("sanql.kernel")
    found: dict[str, bytes] = {}
    for folder in ("", "buckets"):
        place = root / folder if folder else root
        for module in place.iterdir():
            if module.name.endswith(".py"):
                found["/".join(filter(None, [folder, module.name]))] = module.read_bytes()
    return found


def _kernel() -> str:
    digest = hashlib.sha256()
    for name, content in sorted(kernel_modules().items()):
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]
