"""The policy file as it was written: exact values, and the line of each key."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sanql.errors import Fault, PolicyError
from sanql.policy.lines import KeyPath, find_lines

FILE_BYTES_MAX = 1_000_000


@dataclass(frozen=True)
class WrittenFloat:
    """A TOML float as its text, so that 0.1 stays one tenth."""

    text: str


@dataclass(frozen=True)
class Document:
    """A parsed policy file; its floats are `WrittenFloat`."""

    content: Mapping[str, object]
    lines: Mapping[KeyPath, int]


def read_document(path: Path) -> Document:
    """Return the file's content, or raise PolicyError when it cannot be read as TOML."""
    text = _read_text(path)
    try:
        content = tomllib.loads(text, parse_float=WrittenFloat)
    except RecursionError:
        raise _unreadable(path, "brackets are nested too deeply", "write it flat") from None
    except ValueError as error:  # TOMLDecodeError, or an integer of thousands of digits
        # Parser messages name the line and column, and quote at most one character.
        last = f"line {len(text.splitlines())}, the last one"
        said = str(error).replace("at end of document", f"at {last}")
        remedy = "mend the line named" if "line" in said else f"look for it up to {last}"
        raise _unreadable(path, f"not valid TOML: {said}", remedy) from None
    return Document(content, find_lines(text))


def lines_of(path: Path) -> Mapping[KeyPath, int]:
    """Return the line on which each key of a policy file is written."""
    return read_document(path).lines


def _read_text(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():
            raise _unreadable(path, "is not a file", "name the policy.toml file itself")
        with path.open("rb") as file:
            written = file.read(FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        raise _unreadable(path, "no such file", "name an existing policy file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _unreadable(path, f"cannot be read: {reason}", "make it readable") from None
    if len(written) > FILE_BYTES_MAX:
        raise _unreadable(
            path,
            f"is larger than {FILE_BYTES_MAX:,} bytes",
            "move long domains into a public table and refer to its column",
        )
    try:
        return written.decode("utf-8-sig")  # some editors begin a file with a byte-order mark
    except UnicodeDecodeError as error:
        line = written.count(b"\n", 0, error.start) + 1
        raise _unreadable(
            path, f"line {line} is not UTF-8 text", "save the file in the UTF-8 encoding"
        ) from None


def _unreadable(path: Path, message: str, remedy: str) -> PolicyError:
    return PolicyError([Fault(ascii(str(path))[1:-1], message, remedy)])
