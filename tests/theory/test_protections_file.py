"""Protections in files: each form protects what it says, and any function can be given as a table."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sanql.theory.channel_file import ChannelFile, parse_channel
from sanql.theory.check import Levels, check
from sanql.theory.definitions.coupled_worlds import coupled_worlds_delta, distributional_dp_delta
from sanql.theory.errors import TheoryError
from support.commands import run

HALF, QUARTER = "1/2", "1/4"


def file(rows: dict[str, dict[str, Any]], world: dict[str, Any], *protections: Any) -> ChannelFile:
    return parse_channel({"databases": rows, "worlds": [world], "protections": list(protections)})


def least(given: ChannelFile, gamma: int = 1) -> Fraction:
    found = coupled_worlds_delta(given.channel, given.worlds, given.protections, gamma)
    assert not found.at_least or found.at_least["delta"] == found["delta"]
    return Fraction(found["delta"])


def told(databases: list[str], function: Any) -> dict[str, dict[str, Any]]:
    """Return the mechanism that releases a function of the database as it is."""
    return {x: {str(function(x.split(","))): 1} for x in databases}


PEOPLE = [f"{a},{b}" for a, b in product(("F/ill", "F/well", "M/ill", "M/well"), repeat=2)]
EVEN = dict.fromkeys(PEOPLE, "1/16")
BITS = [",".join(x) for x in product("01", repeat=3)]
TOSSED = dict.fromkeys(BITS, "1/8")
GRAPHS = ["", "ann-bob", "bob-cem", "ann-bob,bob-cem"]
BLUR = {"90": {"80": HALF, "100": HALF}, "110": {"100": HALF, "120": HALF}}


ANN = {"node": "ann"}
FIRM = {"firm": 1, "noise": BLUR}
EDGES, FIRMS = dict.fromkeys(GRAPHS, QUARTER), {"90": HALF, "110": HALF}
TWO_SCHOOLS, ONE_SCHOOL = ({"schools": list(members)} for members in ("aab", "bbb"))
PRIVATE = {"private_parts": True}


@pytest.mark.parametrize(
    ("given", "delta"),
    [
        # the public part may be told, the private part of one record may not
        (file(told(PEOPLE, lambda x: x[0][0]), EVEN, PRIVATE), Fraction(0)),
        (file(told(PEOPLE, lambda x: x[0]), EVEN, PRIVATE), Fraction(1, 2)),
        (file(told(BITS, lambda x: x[2]), TOSSED, TWO_SCHOOLS), Fraction(1, 2)),
        (file(told(BITS, lambda x: x[2]), TOSSED, ONE_SCHOOL), Fraction(1, 2)),
        # an edge at a node is that node's, one between others is not
        (file(told(GRAPHS, lambda x: "bob-cem" in x), EDGES, ANN), Fraction(0)),
        (file(told(GRAPHS, lambda x: "ann-bob" in x), EDGES, ANN), Fraction(1, 2)),
        # what is shown blurred may be told blurred; as it is, it is guessed where 100 is shown
        (file(BLUR, FIRMS, FIRM), Fraction(0)),
        (file(told(["90", "110"], lambda x: x[0]), FIRMS, FIRM), Fraction(1, 4)),
        (file(told(BITS, lambda x: 7), TOSSED, "records"), Fraction(0)),
    ],
)
def test_each_form_protects_what_it_says(given: ChannelFile, delta: Fraction) -> None:
    assert least(given) == delta


def test_a_school_that_stays_away_leaves_less_to_simulate_with() -> None:
    rows = told(BITS, lambda x: sum(map(int, x)) % 2)
    alone = least(file(rows, TOSSED, "records"))
    school = least(file(rows, TOSSED, {"schools": ["a", "a", "b"]}))
    assert (alone, school) == (0, 0)  # the parity is hidden by any one fair coin that is left
    skewed = {
        x: str(Fraction(3, 4) ** x.count("1") * Fraction(1, 4) ** x.count("0")) for x in BITS[::2]
    }
    skewed = {x: str(Fraction(mass) * 4) for x, mass in skewed.items()}
    together = least(file(rows, skewed, {"schools": ["a", "a", "b"]}))
    assert together >= least(file(rows, skewed, "records"))


@pytest.mark.slow
def test_records_as_tables_are_distributional_differential_privacy() -> None:
    rng = np.random.default_rng(3)
    pairs = [",".join(x) for x in product("01", repeat=2)]
    for _ in range(40):
        rows = {}
        for x in pairs:
            a = int(rng.integers(0, 8))
            rows[x] = {"yes": f"{a}/8", "no": f"{8 - a}/8"}
        weights = [int(w) for w in rng.integers(1, 9, size=4)]
        world = {x: f"{w}/{sum(weights)}" for x, w in zip(pairs, weights, strict=True)}
        tables = [
            {
                "name": f"place {i}",
                "alt": {x: x.split(",")[1 - i] for x in pairs},
                "priv": {x: x.split(",")[i] for x in pairs},
            }
            for i in (0, 1)
        ]
        given = file(rows, world, *tables)
        for gamma in (1, 2):
            ddp = distributional_dp_delta(given.channel, given.worlds, gamma)
            assert least(given, gamma) == ddp["delta"]


def test_a_view_by_chance_is_a_law() -> None:
    table = {"name": "half", "alt": {"0": {"0": "3/4", "1": QUARTER}, "1": {"0": QUARTER, "1": "3/4"}},
             "priv": {"0": "0", "1": "1"}}  # fmt: skip
    blurred = file({"0": {"0": "3/4", "1": QUARTER}, "1": {"0": QUARTER, "1": "3/4"}},
                   {"0": HALF, "1": HALF}, table)  # fmt: skip
    assert least(blurred) == 0
    plain = file(told(["0", "1"], lambda x: x[0]), {"0": HALF, "1": HALF}, table)
    assert least(plain) == Fraction(1, 4)


@pytest.mark.parametrize(
    ("protection", "said"),
    [
        ("people", "no protection"),
        ({"private_parts": False}, "no protection"),
        ({"private_parts": True}, "has no private part"),
        ({"schools": ["a"]}, "1 schools for 2 records"),
        ({"node": "ann"}, "is no edge"),
        ({"firm": 3, "noise": {}}, "there is no firm 3"),
        ({"firm": 1, "noise": {"0": {"0": 1}}}, "does not say what is shown"),
        ({"name": "x", "alt": {"0,0": "a"}, "priv": {}}, "does not say alt of every database"),
        ({"name": "x", "alt": {"9,9": "a"}, "priv": {}}, "no database"),
    ],
)
def test_a_protection_that_says_too_little_is_refused(protection: Any, said: str) -> None:
    rows = {f"{a},{b}": {"t": 1} for a, b in product("01", repeat=2)}
    with pytest.raises(TheoryError, match=said):
        parse_channel({"databases": rows, "protections": [protection]})
    with pytest.raises(TheoryError, match="protected twice"):
        parse_channel({"databases": rows, "protections": ["records", "records"]})


def test_the_command_decides_both_forms_on_a_file(tmp_path: Path) -> None:
    path = tmp_path / "school.json"
    content = {
        "databases": told(BITS, lambda x: x[2]),
        "worlds": [TOSSED],
        "protections": [{"schools": ["a", "a", "b"]}],
    }
    path.write_text(json.dumps(content), encoding="utf-8")
    asked = ["theory", "check", str(path), "--epsilon", "0", "--format", "json"]
    for name, parameter in (("coupled-worlds", "delta"), ("inference-coupled-worlds", "failure")):
        found = json.loads(run(*asked, "--definition", name).stdout)["findings"]
        assert "protections" in found[0]["definition"]
        assert parameter in found[0]["parameters"]
    certificate = tmp_path / "proof.json"
    run(*asked, "--definition", "coupled-worlds", "--certificate", str(certificate))
    left_out = json.loads(certificate.read_text(encoding="utf-8"))["not_certified"]
    assert {each["reason"] for each in left_out} == {
        "the verifier reads protections of records alone"
    }


def test_what_was_not_declared_is_named() -> None:
    given = parse_channel({"databases": {"0": {"t": 1}, "1": {"t": 1}}, "worlds": [{"0": 1}]})
    with pytest.raises(TheoryError, match="the file gives no protections"):
        check(given, Levels(), ["coupled-worlds"])
