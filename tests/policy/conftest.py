"""A policy without faults, of which a test changes the part it is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

DATASET = {
    "name": '"clinic"',
    "source": '"data"',
    "neighbours": '"add-remove"',
    "accounting": '"renyi"',
    "budget": "{ epsilon = 4, delta = 1e-6 }",
}
TABLES = """
[table.people]
privacy_unit = "person_id"
unique = true
[table.people.column]
age = { type = "integer", bounds = [0, 120] }
"""

PolicyText = Callable[..., str]


@pytest.fixture(scope="session")
def policy_text() -> PolicyText:
    """Return the text of a policy; `dataset` changes keys of it, of which None removes one."""

    def build(
        dataset: Mapping[str, str | None] | None = None, tables: str = TABLES, more: str = ""
    ) -> str:
        keys = {**DATASET, **(dataset or {})}
        lines = [f"{key} = {value}" for key, value in keys.items() if value is not None]
        return "\n".join(["[dataset]", *lines, "", tables.strip(), "", more.strip(), ""])

    return build


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that writes a policy file and returns its path."""

    def write_text(text: str) -> Path:
        path = tmp_path / "policy.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write_text
