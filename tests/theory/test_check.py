"""The table of definitions: each uses the levels it says, and an unused level is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

from sanql.cli.theory import theory
from sanql.theory.channel_file import parse_channel
from sanql.theory.check import CHECKERS, Levels, check

COIN = {
    "databases": {"0": ["3/4", "1/4"], "1": [0.25, 0.75]},
    "worlds": [{"0": "1/2", "1 | seen": "1/4", "0 | seen": "1/4"}],
    "secrets": {"bit": {"0": 0, "1": 1}},
    "protections": ["records"],
}


def asked(path: Path, content: object, *options: str) -> tuple[int, str]:
    path.write_text(json.dumps(content), encoding="utf-8")
    result = CliRunner().invoke(theory, ["check", str(path), *options, "--format", "json"])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("options", "level"),
    [
        (("--definition", "pure-dp", "--tau", "1/2"), "tau"),
        (("--definition", "pure-dp", "--nodes", "100"), "nodes"),
        (("--definition", "semantic", "--epsilon", "1"), "epsilon"),
        (("--definition", "semantic-believed", "--nodes", "5"), "nodes"),
        (("--definition", "perfect-privacy", "--definition", "pure_dp", "--delta", "0"), "delta"),
    ],
)
def test_a_level_that_no_asked_definition_uses_is_refused(
    tmp_path: Path, options: tuple[str, ...], level: str
) -> None:
    code, output = asked(tmp_path / "c.json", COIN, *options)
    assert code == 2
    error = json.loads(output)["error"]
    assert error["code"] == "unused_option"
    assert f"--{level}" in error["message"]
    assert "--definition" in error["remedy"]


def test_a_level_that_only_skipped_definitions_use_is_refused(tmp_path: Path) -> None:
    empty = {"databases": {"": [1], "0": [1]}, "neighbours": "all"}
    code, output = asked(tmp_path / "c.json", empty, "--tau", "1/2")
    assert code == 2
    assert "semantic-approximate" in json.loads(output)["error"]["remedy"]
    code, _ = asked(tmp_path / "c.json", empty, "--epsilon", "2")
    assert code == 0


def test_the_level_at_a_delta_is_found_where_a_delta_is_given() -> None:
    given = parse_channel(COIN)
    for delta, count in ((0, 1), ("1/10", 2)):
        found, _ = check(given, Levels(delta=delta), ["approximate-dp"])
        assert len(found) == count, "with delta = 0 it is pure-dp, which has its own row"
    assert (found[1]["gamma"], found[1]["delta"]) == (Fraction(13, 5), Fraction(1, 10))


def test_what_would_take_long_is_left_out_unless_asked_for() -> None:
    """Sixteen databases with thirty-three outputs are more than 512 entries; with 32 they are not."""
    names = [f"{x:04b}" for x in range(16)]
    for outputs, long in ((32, set()), (33, {"simulation-approximate", "semantic-approximate"})):
        rows = {",".join(x): [1, *[0] * (outputs - 1)] for x in names}
        _, skipped = check(parse_channel({"databases": rows}), Levels(nodes=1))
        left_out = {each.definition for each in skipped if "entries" in each.reason}
        assert left_out == (long | {"reality-oblivious"} if long else set())
    found, _ = check(parse_channel({"databases": rows}), Levels(), ["simulation-approximate"])
    assert found[0]["delta"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("level", ["epsilon", "delta", "tau", "nodes"])
def test_each_definition_depends_on_just_the_levels_it_says(level: str) -> None:
    """Another value of an unused level changes nothing; of a used one, something somewhere."""
    given = parse_channel(COIN)
    usual, other = Levels(), replace(Levels(), **{level: {"nodes": 1}.get(level, "1/10")})
    for name, definition in CHECKERS.items():
        before, after = (
            [found.to_dict() for found in check(given, levels, [name])[0]]
            for levels in (usual, other)
        )
        assert level in definition.uses or before == after, name
        if level != "nodes":
            assert level not in definition.uses or before != after, name
