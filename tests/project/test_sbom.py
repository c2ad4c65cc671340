"""The bill of materials lists what San runs with, the same bytes every time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from project.dist import sbom
from project.pins import RUNTIME, Pin, read
from project.sbom import bill, bundled

EPOCH = 1_700_000_000
PINS = read(RUNTIME)


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(sbom(EPOCH))
    return loaded


def test_the_bill_is_cyclonedx_of_the_version_that_is_built(made: dict[str, Any]) -> None:
    assert (made["bomFormat"], made["specVersion"], made["version"]) == ("CycloneDX", "1.6", 1)
    ours = made["metadata"]["component"]
    pyproject = (RUNTIME.parent / "pyproject.toml").read_text(encoding="utf-8")
    assert ours["name"] == "sanql" and f'version = "{ours["version"]}"' in pyproject
    assert ours["purl"] == f"pkg:pypi/sanql@{ours['version']}"
    assert ours["licenses"] == [{"license": {"id": "Apache-2.0"}}]


def test_every_pin_that_san_runs_with_is_a_component_with_all_its_hashes(
    made: dict[str, Any],
) -> None:
    pinned = [each for each in made["components"] if each not in bundled()]
    listed = {
        (each["name"], each["version"]): [one["content"] for one in each["hashes"]]
        for each in pinned
    }
    assert listed == {(pin.name, pin.version): list(pin.sha256) for pin in PINS}
    for each in pinned:
        assert each["type"] == "library"
        assert each["purl"] == each["bom-ref"] == f"pkg:pypi/{each['name']}@{each['version']}"
        assert {one["alg"] for one in each["hashes"]} == {"SHA-256"}


def test_what_the_editor_of_the_pages_is_bundled_from_is_listed(made: dict[str, Any]) -> None:
    names = {each["name"] for each in made["components"] if each["purl"].startswith("pkg:npm/")}
    licences = (RUNTIME.parent / "src/sanql/server/web/static/editor.txt").read_text(
        encoding="utf-8"
    )
    assert names == {
        line.removeprefix("== ") for line in licences.splitlines() if line[:3] == "== "
    }
    for each in bundled():
        [digest] = each["hashes"]
        assert digest["alg"] == "SHA-512" and len(digest["content"]) == 128


def test_every_component_has_a_licence_by_its_spdx_name(made: dict[str, Any]) -> None:
    for each in made["components"]:
        (only,) = each["licenses"]
        assert "expression" in only or "id" in only["license"], each["name"]


def test_where_a_component_is_not_for_every_python_the_bill_says_for_which(
    made: dict[str, Any],
) -> None:
    said = {
        each["bom-ref"]: each["properties"][0]["value"]
        for each in made["components"]
        if "properties" in each
    }
    assert said == {f"pkg:pypi/{pin.name}@{pin.version}": pin.where for pin in PINS if pin.where}


def test_everything_is_needed_by_something_that_is_installed_with_it(made: dict[str, Any]) -> None:
    needs = {each["ref"]: set(each["dependsOn"]) for each in made["dependencies"]}
    assert len(needs) == len(made["dependencies"]) == len(PINS) + 1
    reached, edge = set[str](), {made["metadata"]["component"]["bom-ref"]}
    while edge:
        reached |= edge
        edge = {ref for name in edge for ref in needs[name]} - reached
    assert reached == set(needs)
    versions = {pin.name: pin.version for pin in PINS if pin.where.endswith("< '3.12'")}
    scipy, numpy = (f"pkg:pypi/{name}@{versions[name]}" for name in ("scipy", "numpy"))
    assert needs[scipy] == {numpy}


def test_the_only_time_in_the_bill_is_the_commits_and_nothing_in_it_is_random() -> None:
    first, later = sbom(EPOCH), sbom(EPOCH + 1)
    assert first == sbom(EPOCH)
    assert json.loads(first)["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"
    assert first.replace("2023-11-14T22:13:20Z", "2023-11-14T22:13:21Z") == later
    assert "serialNumber" not in json.loads(first)


def test_a_licence_that_has_no_spdx_name_is_given_in_its_own_words() -> None:
    pin, words = Pin("one", "2", "", ("0",), ("sanql",)), {("one", "2"): "BSD License"}
    made = json.loads(bill("1", "MIT", EPOCH, [pin], words))
    assert made["components"][0]["licenses"] == [{"license": {"name": "BSD License"}}]
