"""Pictures of a mechanism of one's own show the numbers of its definitions."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

from sanql.cli.theory import theory
from sanql.theory import plots_of_channels as drawn
from sanql.theory.channel_file import parse_channel
from sanql.theory.definitions.dp import approximate_dp_delta
from sanql.theory.definitions.semantic import game_posterior
from sanql.theory.errors import TheoryError
from sanql.theory.testing import tradeoff_vertices

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.slow

FILE = {
    "databases": {
        "0,0": ["3/4", "1/4", 0],
        "0,1": ["1/2", "1/2", 0],
        "1,0": ["1/4", "1/4", "1/2"],
        "1,1": ["1/10", "6/10", "3/10"],
    },
    "outputs": ["low", "middle", "high"],
    "worlds": [{"0,0": "1/4", "0,1": "1/4", "1,0": "1/4", "1,1": "1/4"}],
}
COIN = {"databases": {"0": ["3/4", "1/4"], "1": ["1/4", "3/4"]}}


def test_the_profile_is_the_delta_of_the_definition_on_a_logarithmic_axis() -> None:
    for content in (FILE, COIN):
        given = parse_channel(content)
        axes = drawn.profile_of(given.channel, given.neighbours).axes[0]
        assert axes.get_yscale() == "log"
        levels, deltas = (list(values) for values in axes.lines[0].get_data())
        for level, delta in list(zip(levels, deltas, strict=True))[::15]:
            gamma = Fraction(max(1.0, math.exp(level)))
            found = approximate_dp_delta(given.channel, given.neighbours, gamma)["delta"]
            assert delta == pytest.approx(float(found), abs=1e-12)
        if content is COIN:
            assert axes.lines[1].get_xdata()[0] == pytest.approx(math.log(3))


def test_the_tests_have_h0_as_the_source_has_it() -> None:
    given = parse_channel(FILE)
    member, absent = ("1", "0"), ("0", "0")
    axes = drawn.tests_of(given.channel, member, absent).axes[0]
    corners = [tuple(map(float, corner)) for corner in axes.lines[0].get_xydata()]
    expected = tradeoff_vertices(given.channel.row(member), given.channel.row(absent))
    assert corners == [(float(a), float(b)) for a, b in expected]
    assert axes.lines[0].get_label() == "H0: the database is 1,0"
    # whoever never rejects the member's database accepts it wherever it gives an output at all
    assert corners[0] == (0.0, 0.25 + 0.75)


def test_the_games_are_the_posteriors() -> None:
    given = parse_channel(FILE)
    belief = given.worlds[0].databases()
    axes = drawn.games_of(given.channel, belief, "low", "0").axes[0]
    heights = [[bar.get_height() for bar in bars] for bars in axes.containers]
    assert heights[0] == [0.25] * 4
    for game in range(3):
        law = game_posterior(given.channel, belief, "low", game, "0")
        assert law is not None
        assert heights[game + 1] == [float(law[x]) for x in belief.support]


def test_the_worlds_show_the_real_law_and_a_simulated_one() -> None:
    given = parse_channel(FILE)
    figure = drawn.worlds_of(given, 0.0)
    real = [[bar.get_height() for bar in axes.containers[0]] for axes in figure.axes]
    assert real == [[0.625, 0.375, 0.0], [0.175, 0.425, 0.4]]
    ideal = [[bar.get_height() for bar in axes.containers[1]] for axes in figure.axes]
    # records are independent here, so what is simulated without record 1 does not depend on it
    assert ideal[0] == pytest.approx(ideal[1])
    assert sum(ideal[0]) == pytest.approx(1)
    with pytest.raises(TheoryError, match="no worlds"):
        drawn.worlds_of(parse_channel(COIN), 0.0)


@pytest.mark.parametrize("what", ["profile", "tests", "worlds", "games"])
def test_each_picture_of_a_channel_is_written(what: str, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps(FILE), encoding="utf-8")
    for suffix, start in ((".png", b"\x89PNG"), (".svg", b"<?xml")):
        path = tmp_path / f"{what}{suffix}"
        asked = ["draw", str(tmp_path / "c.json"), what, "--output", str(path)]
        done = CliRunner().invoke(theory, asked)
        assert done.exit_code == 0, done.output
        assert path.read_bytes().startswith(start)
    done = CliRunner().invoke(theory, [*asked[:-1], str(tmp_path / "x.pdf")])
    assert done.exit_code == 2
