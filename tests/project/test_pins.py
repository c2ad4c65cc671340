"""Requirements are read whole, or not at all."""

from __future__ import annotations

from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from project.pins import DEVELOPMENT, RUNTIME, Pin, read

HASH = "0123456789abcdef" * 4


def _file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "requirements.txt"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("path", [RUNTIME, DEVELOPMENT])
def test_every_line_with_a_version_is_a_pin_and_every_hash_belongs_to_one(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    pins = read(path)
    assert len(pins) == text.count("==") - text.count(" == ")
    assert sum(len(pin.sha256) for pin in pins) == text.count("--hash=")


def test_a_pin_has_its_version_marker_hashes_and_parents(tmp_path: Path) -> None:
    text = (
        f"one==1.0 ; sys_platform == 'win32' \\\n    --hash=sha256:{HASH} \\\n"
        f"    --hash=sha256:{HASH[::-1]}\n    # via\n"
        "    #   sanql (pyproject.toml)\n    #   sanql (pyproject.toml:dev)\n    #   two\n"
        f"two==2 \\\n    --hash=sha256:{HASH}\n    # via sanql (pyproject.toml)\n"
    )
    assert read(_file(tmp_path, text)) == (
        Pin("one", "1.0", "sys_platform == 'win32'", (HASH, HASH[::-1]), ("sanql", "two")),
        Pin("two", "2", "", (HASH,), ("sanql",)),
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "one>=1 \\\n",
        "one==1 \\\n    # via sanql (pyproject.toml)\n",
        f"one==1 \\\n    --hash=md5:{HASH}\n",
        f"one==1 \\\n    --hash=sha256:{HASH}\n-e .\n",
    ],
)
def test_a_file_that_is_not_understood_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match=r"requirements\.txt"):
        read(_file(tmp_path, text))


def test_whatever_a_pinned_package_needs_here_is_pinned_and_says_by_whom() -> None:
    """The other way round than the file was made: from the metadata of what is installed."""
    pins = {pin.name: pin for pin in read(RUNTIME)}
    for name in pins:
        for line in requires(name) or []:
            need = Requirement(line)
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                assert name in pins[canonicalize_name(need.name)].parents, (
                    f"{name} needs {need.name}"
                )
