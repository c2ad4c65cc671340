"""The software bill of materials: what San runs with, as CycloneDX 1.6, the same bytes every time.

It lists the pins of requirements.txt, for every Python there is one for, and what the editor of the web
pages is bundled from. The hashes of a component are those of all its files that may be installed, one for
each platform.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from project.pins import OURS, ROOT, Pin
from project.third_party import Licences

_SPDX_NAME = re.compile(r"[A-Za-z0-9.+-]+")
_SPDX_EXPRESSION = re.compile(r"[A-Za-z0-9.+-]+(?: (?:AND|OR|WITH) [A-Za-z0-9.+-]+)+")


def bill(version: str, licence: str, epoch: int, pins: Sequence[Pin], known: Licences) -> str:
    """Return the bill of San's `version`, as of the commit made at `epoch`, as JSON."""
    ours = {
        "type": "application",
        "bom-ref": _purl(OURS, version),
        "name": OURS,
        "version": version,
        "licenses": _licenses(licence),
        "purl": _purl(OURS, version),
    }
    made = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": f"{datetime.fromtimestamp(epoch, UTC):%Y-%m-%dT%H:%M:%SZ}",
            "component": ours,
        },
        "components": [*(_component(pin, known) for pin in pins), *bundled()],
        "dependencies": [
            _needs(_purl(OURS, version), [pin for pin in pins if OURS in pin.parents]),
            *(
                _needs(
                    _purl(pin.name, pin.version),
                    [each for each in pins if pin.name in each.parents and pin.meets(each)],
                )
                for pin in pins
            ),
        ],
    }
    return json.dumps(made, indent=2) + "\n"


def bundled() -> list[dict[str, Any]]:
    """Return what the editor of the web pages is made of, as `make web` installs it."""
    pinned = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))
    made = []
    for path, package in pinned["packages"].items():
        if not path or package.get("dev"):
            continue
        name = path.removeprefix("node_modules/")
        kind, _, digest = package["integrity"].partition("-")
        purl = f"pkg:npm/{quote(name)}@{package['version']}"
        made.append(
            {
                "type": "library",
                "bom-ref": purl,
                "name": name,
                "version": package["version"],
                "hashes": [
                    {"alg": kind.upper().replace("SHA", "SHA-"), "content": b64decode(digest).hex()}
                ],
                "licenses": _licenses(package["license"]),
                "purl": purl,
            }
        )
    return made


def _component(pin: Pin, known: Licences) -> dict[str, Any]:
    where = [{"name": f"{OURS}:only-where", "value": pin.where}] if pin.where else []
    return {
        "type": "library",
        "bom-ref": _purl(pin.name, pin.version),
        "name": pin.name,
        "version": pin.version,
        "hashes": [{"alg": "SHA-256", "content": each} for each in pin.sha256],
        "licenses": _licenses(known[pin.name, pin.version]),
        "purl": _purl(pin.name, pin.version),
        **({"properties": where} if where else {}),
    }


def _licenses(licence: str) -> list[dict[str, Any]]:
    if _SPDX_NAME.fullmatch(licence):
        return [{"license": {"id": licence}}]
    if _SPDX_EXPRESSION.fullmatch(licence):
        return [{"expression": licence}]
    return [{"license": {"name": licence}}]


def _needs(name: str, pins: Sequence[Pin]) -> dict[str, Any]:
    return {"ref": name, "dependsOn": [_purl(pin.name, pin.version) for pin in pins]}


def _purl(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version}"
