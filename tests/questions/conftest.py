"""The three shapes, opened once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from questions.asking import Shape, open_shape


@pytest.fixture(scope="session")
def shape(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Shape]]:
    """Return a function that gives a shape by name."""
    opened: dict[str, Shape] = {}

    def by_name(name: str) -> Shape:
        if name not in opened:
            opened[name] = open_shape(name, tmp_path_factory.mktemp(name))
        return opened[name]

    yield by_name
    for each in opened.values():
        each.close()
