"""THIRD_PARTY.md is what the pins and the packages' own metadata say."""

from __future__ import annotations

from email.message import Message
from importlib.metadata import Distribution, distributions, version
from os import PathLike
from pathlib import Path

import pytest
from project.pins import DEVELOPMENT, RUNTIME, read
from project.third_party import PAGE, licences, page, stated

TEXT = PAGE.read_text(encoding="utf-8")
THIRD_CLAUSE = "Neither the name of the holder nor those of others may be used. "
BSD = "Redistributions in binary form must reproduce this. {}It is provided AS IS. "


class Stated(Distribution):
    """A package that states what a test lets it."""

    def __init__(self, *fields: tuple[str, str], files: dict[str, str] | None = None) -> None:
        self._files = {} if files is None else files
        message = Message()
        for field, words in (("Name", "somebodys"), ("Version", "1"), *fields):
            message[field] = words
        self._files["METADATA"] = message.as_string()

    def read_text(self, filename: str | PathLike[str]) -> str | None:
        return self._files.get(str(filename))

    def locate_file(self, path: str | PathLike[str]) -> Path:
        raise AssertionError(f"nobody needs {path}")


def test_the_page_is_up_to_date() -> None:
    assert page(TEXT) == TEXT


def test_every_pin_is_on_the_page_with_its_version_and_nothing_else_is() -> None:
    pinned = {(pin.name, pin.version) for pin in (*read(RUNTIME), *read(DEVELOPMENT))}
    assert set(licences(TEXT)) == pinned


def test_a_package_that_is_installed_states_its_licence_itself() -> None:
    row = f"| click | {version('click')} | BSD-3-Clause |"
    assert row in TEXT
    assert row in page(TEXT.replace(row, row.replace("BSD-3-Clause", "WTFPL")))


def test_a_pin_that_is_neither_installed_nor_on_the_page_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed = [each for each in distributions() if each.metadata["Name"] != "colorama"]
    monkeypatch.setattr("project.third_party.distributions", lambda: installed)
    absent = "| colorama | 0.4.6 |"
    assert absent in TEXT
    with pytest.raises(LookupError, match=r"colorama==0\.4\.6"):
        page("\n".join(line for line in TEXT.splitlines() if not line.startswith(absent)))


@pytest.mark.parametrize(
    ("fields", "licence"),
    [
        ([("License-Expression", "MIT AND Zlib"), ("License", "BSD")], "MIT AND Zlib"),
        ([("License", "Apache 2.0")], "Apache-2.0"),
        ([("Classifier", "License :: OSI Approved :: MIT License")], "MIT"),
        ([("Classifier", "License :: OSI Approved :: BSD License")], "BSD License"),
        (
            [
                ("License", BSD.format("") + BSD.format(THIRD_CLAUSE)),
                ("Classifier", "License :: OSI Approved :: BSD License"),
            ],
            "BSD-2-Clause",
        ),
        (
            [
                ("License", BSD.format(THIRD_CLAUSE)),
                ("Classifier", "License :: OSI Approved :: BSD License"),
            ],
            "BSD-3-Clause",
        ),
    ],
)
def test_a_licence_is_found_where_packages_state_it(
    fields: list[tuple[str, str]], licence: str
) -> None:
    assert stated(Stated(*fields)) == licence


@pytest.mark.parametrize("folder", ["licenses/", ""])
def test_a_family_of_licences_is_told_apart_by_the_file(folder: str) -> None:
    fields = [("License-File", "COPYING"), ("Classifier", "License :: OSI Approved :: BSD License")]
    files = {f"{folder}COPYING": BSD.format(THIRD_CLAUSE)}
    assert stated(Stated(*fields, files=files)) == "BSD-3-Clause"


@pytest.mark.parametrize("words", ["", "Do What You Like"])
def test_a_licence_that_nobody_has_placed_is_an_error_that_names_the_package(words: str) -> None:
    with pytest.raises(ValueError, match="somebodys"):
        stated(Stated(("License", words)))
