"""The verifier accepts what was found, rejects what was changed, and knows nothing of the solver."""

from __future__ import annotations

import ast
import copy
import json
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sanql.theory.verifier
from sanql.cli.theory import theory
from sanql.theory.certificates import certificate
from sanql.theory.channel_file import parse_channel
from sanql.theory.check import CHECKERS, Levels, check
from sanql.theory.verifier import Rejected, verify
from sanql.theory.verifier.claims import seal

pytestmark = pytest.mark.slow

COIN = {
    "databases": {
        "0,0": ["10/16", "3/16", "2/16", "1/16"],
        "0,1": ["3/16", "9/16", "1/16", "3/16"],
        "1,0": ["3/16", "1/16", "8/16", "4/16"],
        "1,1": ["1/16", "3/16", "3/16", "9/16"],
    },
    "worlds": [{"0,0": "1/2", "1,1": "1/4", "0,1 | seen": "1/8", "1,1 | seen": "1/8"}],
    "secrets": {"first": {"0,0": 0, "0,1": 0, "1,0": 1, "1,1": 1}},
}
LEVELS = Levels(epsilon="1/3", delta="1/50", tau="1/10", failure="1/20", nodes=20)
UNPROVED = "inference-based coupled worlds"
"""Another simulator, or a larger number, may do as well: these claims are only that one does."""


def issued(content: Any, levels: Levels, only: tuple[str, ...] = ()) -> dict[str, Any]:
    described = parse_channel(content)
    findings, _ = check(described, levels, only)
    loaded: dict[str, Any] = json.loads(certificate(described, findings))
    return loaded


def forged(content: dict[str, Any]) -> str:
    """Return a certificate whose seal fits."""
    content["seal"] = seal(content)
    return json.dumps(content)


@pytest.fixture(scope="module")
def honest() -> dict[str, Any]:
    return issued(COIN, LEVELS)


def test_every_definition_with_a_short_proof_is_verified(honest: dict[str, Any]) -> None:
    proved = verify(json.dumps(honest))
    assert len(proved) == len(honest["claims"]) >= 20
    assert {claim.definition for claim in proved} >= {
        "pure differential privacy",
        "simulation-based differential privacy",
        "distributional differential privacy",
        "noiseless privacy",
        "inference-based Pufferfish",
        "approximate semantic privacy",
        "semantic privacy",
        "prior to posterior",
    }
    assert {each["definition"] for each in honest["not_certified"]} <= {
        "approximate semantic privacy",
        "reality-oblivious semantic privacy",
        "reality-oblivious semantic privacy of the belief",
    }


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.lists(st.integers(0, 6), min_size=3, max_size=3).filter(any), min_size=4, max_size=4
    ),
    st.lists(st.integers(0, 5), min_size=4, max_size=4).filter(any),
    st.sampled_from(["0", "1/7", "2"]),
    st.sampled_from(["0", "1/9", "1/2"]),
)
@example([[0, 0, 5], [0, 0, 1], [0, 3, 1], [6, 5, 6]], [5, 5, 4, 0], "1/7", "0")
def test_what_is_found_of_any_mechanism_is_verified(
    rows: list[list[int]], world: list[int], epsilon: str, delta: str
) -> None:
    """Also where masses are 0, levels infinite, and comparisons are missing."""
    names = ["0,0", "0,1", "1,0", "1,1"]
    content = {
        "databases": {
            x: [Fraction(w, sum(row)) for w in row] for x, row in zip(names, rows, strict=True)
        },
        "worlds": [{x: Fraction(w, sum(world)) for x, w in zip(names, world, strict=True)}],
        "secrets": {"same": {"0,0": 0, "0,1": None, "1,0": None, "1,1": 1}},
        "protections": ["records"],
    }
    search = ("semantic-approximate", "reality-oblivious")
    only = tuple(name for name in CHECKERS if name not in search)
    found = issued(content, Levels(epsilon, delta, failure="1/10"), only)
    assert len(verify(json.dumps(found))) == len(found["claims"])


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    children = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in children:
        if isinstance(child, dict | list):
            yield from leaves(child, (*path, key))
        else:
            yield (*path, key)


def changed(value: Any) -> list[Any]:
    """Return other values for a leaf: numbers a little and much larger and smaller."""
    if isinstance(value, str) and value.replace("/", "").isdigit():
        number = Fraction(value)
        others = (number + Fraction(1, 10**9), number - Fraction(1, 10**9), number * 2, number / 2)
        return [str(other) for other in others if other != number]
    return ["tampered", None, 1 if value == 0 else 0]


def put(content: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    copied = copy.deepcopy(content)
    inner: Any = copied
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return copied


def test_a_change_of_any_leaf_breaks_the_seal(honest: dict[str, Any]) -> None:
    for path in leaves(honest):
        value = changed(honest)[0] if not path else "tampered"
        with pytest.raises(Rejected):
            verify(json.dumps(put(honest, path, value)))


def test_a_forged_number_is_rejected_though_the_seal_fits(honest: dict[str, Any]) -> None:
    """Every number a claim was solved for, its lower end and tau's ratio, however little changed."""
    tried = 0
    for claim in honest["claims"]:
        if claim["definition"] == UNPROVED:
            continue
        solved = [claim.get("solved", "tau"), "at_least", "ratio"]
        if claim["kind"] == "belief":
            solved = ["delta"] if claim["family"] == "one" else []
        for name in solved:
            for value in changed(claim[name]) if name in claim else []:
                alone = {**honest, "claims": [claim]}
                with pytest.raises(Rejected):
                    verify(forged(put(alone, ("claims", 0, name), value)))
                tried += 1
    assert tried > 80


def test_forged_evidence_proves_nothing_else(honest: dict[str, Any]) -> None:
    """Another belief, simulator or test is rejected, or proves the same numbers: never others."""
    rejected = 0
    for claim in honest["claims"]:
        alone = {**honest, "claims": [claim]}
        numbers = verify(forged(alone))[0].numbers
        for path in leaves(claim.get("evidence", {})):
            for value in changed(_at(claim["evidence"], path)):
                try:
                    proved = verify(forged(put(alone, ("claims", 0, "evidence", *path), value)))
                except Rejected:
                    rejected += 1
                else:
                    assert proved[0].numbers == numbers
    assert rejected > 500


def test_proofs_of_another_mechanism_or_definition_are_rejected(honest: dict[str, Any]) -> None:
    for x, row in honest["mechanism"]["databases"].items():
        first, second = list(row)[:2]
        other = put(honest, ("mechanism", "databases", x, first), row[second])
        other = put(other, ("mechanism", "databases", x, second), row[first])
        with pytest.raises(Rejected):
            verify(forged(other))
    for path in leaves(honest["mechanism"]):
        with pytest.raises(Rejected):
            verify(forged(put(honest, ("mechanism", *path), "tampered")))
    definitions = {claim["definition"] for claim in honest["claims"]}
    for claim in honest["claims"]:
        for other in definitions - {claim["definition"]}:
            alone = {**honest, "claims": [{**claim, "definition": other}]}
            if claim["family"] == "neighbours" and other == "approximate differential privacy":
                continue  # which the other two are cases of
            with pytest.raises(Rejected):
                verify(forged(alone))


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def test_the_verifier_imports_nothing_of_the_project_but_itself() -> None:
    for file in Path(sanql.theory.verifier.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                own = name.startswith("sanql.theory.verifier")
                assert own or name.split(".")[0] in sys.stdlib_module_names, name


def test_check_writes_a_certificate_and_verify_reads_it(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps(COIN), encoding="utf-8")
    proofs = tmp_path / "proofs.json"
    asked = ["check", str(tmp_path / "c.json"), "--definition", "noiseless", "--delta", "1/50"]
    assert CliRunner().invoke(theory, [*asked, "--certificate", str(proofs)]).exit_code == 0
    told = CliRunner().invoke(theory, ["verify", str(proofs), "--format", "json"])
    assert told.exit_code == 0
    proved = [claim["proved"] for claim in json.loads(told.output)["proved"]]
    assert proved == ["holds, and no smaller delta does", "holds, and no smaller gamma does"]
    proofs.write_text(proofs.read_text("utf-8").replace('"1/50"', '"1/51"'), encoding="utf-8")
    refused = CliRunner().invoke(theory, ["verify", str(proofs)])
    assert refused.exit_code == 2
    assert "the seal does not fit" in refused.output
    missing = CliRunner().invoke(theory, ["verify", str(tmp_path / "none.json")])
    assert missing.exit_code == 2
