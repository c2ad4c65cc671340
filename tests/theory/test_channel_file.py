"""Files of mechanisms: what is wrong with one is said by name, with a remedy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from sanql.cli.theory import theory

COIN = {"databases": {"0": ["3/4", "1/4"], "1": [0.25, 0.75]}}


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(theory, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


def written(path: Path, content: object) -> str:
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"databases": {"0": [1], "1": ["1/2"]}}, 'the row of database "1": the masses sum to 1/2'),
        ({"databases": {"0": [1], "1": [1]}, "worlds": [{"0": "2/3"}]}, "world 1: the masses sum"),
        ({"databases": {"0": [1], "1": [2, -1]}}, 'the row of database "1": a mass is -1'),
    ],
)
def test_a_faulty_row_or_world_is_named(tmp_path: Path, content: object, told: str) -> None:
    code, output = run("check", written(tmp_path / "c.json", content))
    assert code == 2
    assert told in output
    assert "Distribution" not in output


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ({"databases": {"0": ["1/2", "1/3"], "1": [0, 1]}}, "mass_sum"),
        ({"databases": {"0": [2, -1], "1": [0, 1]}}, "negative_mass"),
        ({"databases": {"0": [float("nan"), 1], "1": [0, 1]}}, "not_a_number"),
        ({"databases": {"0": [1]}, "neighbor": "x"}, "channel_file"),
        ({"databases": {"0": [1], "1": [1]}, "neighbours": "near"}, "unknown_neighbours"),
        ({"databases": {"0": [1], "1": [1]}, "neighbours": [["0", "7"]]}, "unknown_database"),
        ({"databases": {"0": [1], "1": [1]}, "default": "9"}, "unknown_database"),
        ({"databases": {"0": [1], "1": [1]}, "worlds": [{"5": 1}]}, "unknown_database"),
        ({"databases": {"0": [1], "1": [1]}, "secrets": {"s": {"0": 1}}}, "channel_file"),
        ({"databases": {"0": "all", "1": [1]}}, "channel_file"),
        (
            {"databases": {"10": [1], "12": [1]}, "neighbours": "private-attribute"},
            "unknown_neighbours",
        ),
        ({"databases": {"0,1": [1], "0, 1": [1]}}, "channel_file"),
        ({"databases": {"0": [1], "1": [1]}, "worlds": [{"0|a": 0, "0 | a": 1}]}, "channel_file"),
        ({"databases": {"0": [1], "1": [1]}, "worlds": None}, "channel_file"),
        ({"databases": {"0": [1], "1": [1]}, "outputs": [["a"]]}, "channel_file"),
        ({"databases": {"0": [1], "1": [1]}, "default": [0]}, "channel_file"),
        ({"databases": {}}, "empty"),
        ([], "channel_file"),
    ],
)
def test_a_bad_file_is_one_json_error_and_exit_code_two(
    tmp_path: Path, content: object, code: str
) -> None:
    exit_code, output = run("check", written(tmp_path / "c.json", content), "--format", "json")
    assert exit_code == 2
    error = json.loads(output)["error"]
    assert error["code"] == code
    assert error["message"]
    assert error["remedy"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b'{"databases": {"0": [1], "0": [1]}}', "channel_file"),
        (b'{"databases": {"0": [\xff]}}', "unreadable_file"),
        (b"[" * 100_000, "not_json"),
        (b"", "not_json"),
        (b'{"databases": {"0": [NaN, 1]}}', "not_a_number"),
        (b'{"databases": {"0": [1e400, 1], "1": [0, 1]}}', "mass_sum"),
        (b'{"databases": {"0": {"\\ud800": 1}, "1": [1]}}', "channel_file"),
        (b'{"databases": {"0": {"\\u001b[31m": 1}, "1": [1]}}', "channel_file"),
        (b'{"databases": {"0": [1], "1": [1]}, "secrets": {"a\\nb": {}}}', "channel_file"),
        (b'{"databases": {"0|a": [1], "1": [1]}}', "channel_file"),
        (b'{"databases": {"0": [1], "1": [1]}, "outputs": [null]}', "channel_file"),
        (b'{"databases": {"0": [1], "1": [1]}, "outputs": [true]}', "channel_file"),
    ],
)
def test_a_file_that_is_no_honest_json_is_refused(tmp_path: Path, text: bytes, code: str) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(text)
    exit_code, output = run("check", str(path), "--format", "json")
    assert exit_code == 2
    assert json.loads(output)["error"]["code"] == code


def test_a_file_may_begin_with_the_mark_of_its_encoding(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(COIN).encode())
    code, _ = run("check", str(path), "--definition", "pure-dp")
    assert code == 0
