"""Libraries that are not wanted in a process: Arrow imports NumPy and pandas wherever it finds them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


def hide_modules(*modules: str) -> None:
    """From now on, these modules are not to be found in this process, as if not installed."""
    sys.meta_path.insert(0, _Hiding(frozenset(modules)))


def show_modules() -> None:
    """Let all modules be found again, for a library that does not do without."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Hiding)]


class _Hiding:
    def __init__(self, modules: frozenset[str]) -> None:
        self._modules = modules

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        if fullname in self._modules:
            raise ModuleNotFoundError(f"{fullname} is hidden", name=fullname)
        return None
