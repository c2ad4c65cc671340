"""A certificate as a whole: its seal, its mechanism, and claim by claim what is proved.

The object has the keys format, mechanism, claims, not_certified and seal, the SHA-256 of the rest.
The seal catches accidents; whoever forges it is caught by the arithmetic.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from sanql.theory.verifier.beliefs import belief, shift
from sanql.theory.verifier.comparisons import pairs, secret_inference
from sanql.theory.verifier.reading import Rejected, read
from sanql.theory.verifier.simulators import inference, simulator

FORMAT = "sanql theory certificate 1"
_KINDS = {
    "pairs": pairs,
    "secret inference": secret_inference,
    "simulator": simulator,
    "inference": inference,
    "shift": shift,
    "belief": belief,
}
DEFINITIONS = {
    ("pairs", "neighbours"): {
        "pure differential privacy",
        "approximate differential privacy",
        "perfect privacy",
    },
    ("pairs", "records"): {"noiseless privacy"},
    ("pairs", "secrets"): {"Pufferfish privacy"},
    ("secret inference", ""): {"inference-based Pufferfish"},
    ("simulator", "databases"): {"simulation-based differential privacy"},
    ("simulator", "worlds"): {"distributional differential privacy"},
    ("inference", ""): {"inference-based coupled worlds"},
    ("shift", "prior"): {"prior to posterior"},
    ("shift", "games"): {"semantic privacy"},
    ("shift", "informed"): {"semantic privacy, informed beliefs"},
    ("belief", "one"): {"semantic privacy of the belief"},
    ("belief", "all"): {"approximate semantic privacy"},
}
"""How each definition may be proved: a claim cannot borrow the proof of a weaker one."""


@dataclass(frozen=True)
class Verified:
    """One claim, its numbers, and what the verifier proved of it."""

    definition: str
    numbers: dict[str, str]
    proved: str


def verify(text: str) -> list[Verified]:
    """Return what every claim of a certificate proves, or raise `Rejected`."""
    try:
        content = json.loads(text, object_pairs_hook=_once)
        return _verified(content)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise Rejected(f"it is no certificate: {type(error).__name__}") from error


def seal(content: dict[str, Any]) -> str:
    """Return the SHA-256 of everything but the seal."""
    rest = {key: value for key, value in content.items() if key != "seal"}
    plain = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(plain.encode()).hexdigest()


def _verified(content: dict[str, Any]) -> list[Verified]:
    if content["format"] != FORMAT:
        raise Rejected(f"the format is not {FORMAT!r}")
    if content["seal"] != seal(content):
        raise Rejected("the seal does not fit: something was changed after it was written")
    mechanism = read(content["mechanism"])
    found = []
    for claim in content["claims"]:
        definition, kind = claim["definition"], claim["kind"]
        if definition not in DEFINITIONS.get((kind, claim["family"]), set()):
            raise Rejected(f"{definition}: it is not proved by {kind} of {claim['family']}")
        numbers = {name: claim[name] for name in _NAMES if name in claim}
        _pinned(definition, numbers)
        try:
            found.append(Verified(definition, numbers, _KINDS[kind](mechanism, claim)))
        except Rejected as error:
            raise Rejected(f"{definition}: {error}") from error
    return found


_NAMES = ("gamma", "delta", "delta_hat", "failure", "tau", "ratio", "at_least")


def _pinned(definition: str, numbers: dict[str, str]) -> None:
    """Refuse numbers that the definition itself fixes."""
    pure = definition == "pure differential privacy" and numbers["delta"] != "0"
    if pure or (definition == "perfect privacy" and numbers["gamma"] != "1"):
        raise Rejected(f"{definition} is another definition at these numbers")


def _once(pairs_read: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs_read)
    if len(found) != len(pairs_read):
        raise ValueError("a key is given twice")
    return found
