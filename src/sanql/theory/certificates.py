"""Findings written down so that somebody else can check them: `sanql theory check --certificate`.

A certificate holds the mechanism, each claim, and what shows it: the comparison that is furthest
apart, a simulator, weights that no simulator withstands, a belief. `verifier` reads it and shares no
code with what found it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from sanql.theory.channel_file import ChannelFile
from sanql.theory.channels import Channel
from sanql.theory.definitions.coupled_worlds import conditions_of
from sanql.theory.definitions.finding import (
    BeliefWitness,
    ConditionWitness,
    Finding,
    PairWitness,
    SimulatorWitness,
    UnservedWitness,
)
from sanql.theory.definitions.records import by_others, people
from sanql.theory.definitions.simulator_dual import MixedTest
from sanql.theory.definitions.simulator_lp import Condition, best_simulator, ruling_out
from sanql.theory.definitions.worlds import records
from sanql.theory.distributions import Distribution, Outcome
from sanql.theory.exact import INFINITE, Extended, written
from sanql.theory.verifier import reading as verified
from sanql.theory.verifier.claims import DEFINITIONS, FORMAT, seal
from sanql.theory.verifier.simulators import ROOT

_KIND = {definition: kind for kind, all_of in DEFINITIONS.items() for definition in all_of}
_NOT = "its proof is a search over beliefs, which has no short form"
_OTHERS = "the verifier reads protections of records alone"
Claim = dict[str, Any]


def certificate(given: ChannelFile, findings: Sequence[Finding]) -> str:
    """Return the certificate of what was found, as JSON."""
    mechanism = _mechanism(given)
    claims, left_out = [], []
    for finding in findings:
        claim = _claim(given, mechanism, finding)
        if claim is None:
            reason = _OTHERS if given.protections and "protections" in finding.definition else _NOT
            left_out.append({"definition": finding.definition, "reason": reason})
        else:
            claims.append(claim)
    content: dict[str, Any] = {
        "format": FORMAT,
        "mechanism": mechanism,
        "claims": claims,
        "not_certified": left_out,
    }
    content["seal"] = seal(content)
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _claim(given: ChannelFile, mechanism: Claim, finding: Finding) -> Claim | None:
    if finding.definition not in _KIND:
        return None
    kind, family = _KIND[finding.definition]
    claim: Claim = {"definition": finding.definition, "kind": kind, "family": family}
    numbers = {name: _number(value) for name, value in finding.parameters.items()}
    match kind, family:
        case "pairs", _:
            place = _comparison(mechanism, family, finding)
            solved = finding.solved or "delta"
            return (
                claim
                | {"gamma": "1"}
                | numbers
                | {"solved": solved, "evidence": {"comparison": place}}
            )
        case "secret inference", _:
            return claim | numbers | {"solved": finding.solved or "failure"}
        case "simulator", _:
            return _simulator(given, finding, claim | numbers)
        case "inference", _:
            if finding["gamma"] == INFINITE or not isinstance(finding.witness, UnservedWitness):
                return None
            shown = {"simulator": _rows(finding.witness.simulator)}
            return claim | numbers | {"solved": finding.solved or "failure", "evidence": shown}
        case "shift", _:
            ratio = _number(finding["gamma" if family == "prior" else "ratio"])
            return claim | {"tau": numbers["tau"], "ratio": ratio}
        case _:
            if finding.solved or not isinstance(finding.witness, BeliefWitness):
                return None
            belief = {"belief": _law(finding.witness.belief)}
            low = finding.at_least.get("delta", finding["delta"])
            at_least = {} if family == "one" else {"at_least": _number(low)}
            return claim | numbers | at_least | {"evidence": belief}


def _mechanism(given: ChannelFile) -> Claim:
    """Return the mechanism as the verifier reads it, every choice spelt out."""
    channel = given.channel
    return {
        "databases": {_text(x): _law(channel.row(x)) for x in channel.databases},
        "neighbours": [[_text(x), _text(y)] for x, y in given.neighbours.pairs],
        "default": given.default,
        "worlds": [
            [[_text(x), z, written(mass)] for (x, z), mass in world.cells()]
            for world in given.worlds
        ],
        "secrets": {
            secret.name: {_text(x): secret.value(x) for x in channel.databases}
            for secret in given.secrets
        },
    }


def _comparison(mechanism: Claim, family: str, finding: Finding) -> str | None:
    """Return the verifier's name of the comparison that the witness shows."""
    read = verified.read(mechanism)
    match finding.witness:
        case PairWitness(left, right):
            names = [verified.name(_text(x), _text(y)) for x, y in ((left, right), (right, left))]
            return next(name for name in names if name in verified.neighbouring(read))
        case ConditionWitness(world, protection, (v, w), side) if family == "records":
            person = int(protection.removeprefix("record "))
            names = [verified.name(world + 1, person, a, b, side) for a, b in ((v, w), (w, v))]
            return next(name for name in names if name in verified.by_record(read))
        case ConditionWitness(world, secret, _, side):
            return verified.name(world + 1, secret, side)
        case _:
            return None


def _simulator(given: ChannelFile, finding: Finding, claim: Claim) -> Claim | None:
    solved, channel = finding.solved or "delta", given.channel
    claim |= {"solved": solved}
    if finding["gamma"] == INFINITE:
        known = claim["family"] == "databases" and finding["delta"] == 0
        return claim | {"at_least": "infinite", "evidence": {}} if known else None
    if not isinstance(finding.witness, SimulatorWitness):
        return None
    evidence: Claim = {"simulator": _rows(finding.witness.simulator)}
    gamma, delta = Fraction(finding["gamma"]), Fraction(finding["delta"])
    if solved == "gamma" and claim["family"] == "databases" and delta == 0:
        least = gamma - ROOT if _irrational(channel, gamma) else gamma
        return claim | {"at_least": _number(least), "evidence": evidence}
    low: Extended = Fraction(0 if solved == "delta" else 1)
    evidence["tests"] = {}
    groups = _conditions(given, claim["family"])
    every = dict.fromkeys(t for _, group in groups for each in group for t in each.real.support)
    for names, conditions in groups:
        if solved == "delta":
            best = best_simulator(conditions, gamma)
            found: tuple[Extended, MixedTest | None] = (best.delta_lower, best.tests)
        else:
            start = Fraction(finding.at_least.get("gamma", gamma))
            found = ruling_out(conditions, start, delta)
        if found[0] > low and found[1] is not None:
            low, evidence["tests"] = found[0], _tests(names, conditions, found[1], every)
    return claim | {"at_least": _number(low), "evidence": evidence}


def _irrational(channel: Channel, gamma: Fraction) -> bool:
    """Whether the level is a square root that was rounded up: no ratio or sum of masses is it."""
    for group in by_others(channel).values():
        columns = list(zip(*(channel.masses(x) for x in group), strict=True))
        high, low = [max(c) for c in columns], [min(c) for c in columns]
        roots = (a == gamma**2 * b for a, b in zip(high, low, strict=True) if b)
        if sum(high) == gamma or sum(low) * gamma == 1 or any(roots):
            return False
    return True


def _conditions(given: ChannelFile, family: str) -> list[tuple[list[str], list[Condition]]]:
    """Return groups of conditions that no simulator's row ties together, by the verifier's names."""
    channel = given.channel
    if family == "worlds":
        found = conditions_of(channel, given.worlds, records(people(channel)))
        names = [
            verified.name(world + 1, int(record.removeprefix("record ")), v, z)
            for world, record, v, z in (condition.label for condition in found)
        ]
        return [(names, found)]
    return [
        (
            [verified.name(others[0] + 1, _text(x)) for x in group],
            [
                Condition(channel.row(x), Distribution.point(others), (0, "record", x, None))
                for x in group
            ],
        )
        for others, group in by_others(channel).items()
    ]


def _tests(
    names: Sequence[str],
    conditions: Sequence[Condition],
    tests: MixedTest,
    every: Iterable[Outcome],
) -> Claim:
    """Return tests with weights on every output: one that only others have accuses a simulator most."""
    outputs = list(dict.fromkeys(t for c in conditions for t in c.real.support))
    others = [t for t in every if t not in outputs]

    def weights(row: Sequence[Fraction], beyond: Fraction) -> dict[str, str]:
        pairs = [*zip(outputs, row, strict=True), *((t, beyond) for t in others)]
        return {str(t): written(w) for t, w in pairs if w}

    found = {
        name: {"real": weights(real, Fraction(0)), "ideal": weights(ideal, max(ideal))}
        for name, real, ideal in zip(names, tests.real, tests.ideal, strict=True)
    }
    return {name: test for name, test in found.items() if test["real"] or test["ideal"]}


def _rows(simulator: Channel) -> dict[str, dict[str, str]]:
    rows: dict[str, dict[str, str]] = {}
    for told in simulator.databases:
        assert isinstance(told, tuple)  # noqa: S101  (records() tags the others with the position)
        person, others = told
        rows[f"{person + 1}: {_text(others)}"] = _law(simulator.row(told))
    return rows


def _law(law: Distribution) -> dict[str, str]:
    masses: Mapping[Any, Fraction] = {t: mass for t, mass in law.items() if mass}
    return {_text(t): written(mass) for t, mass in masses.items()}


def _text(value: Any) -> str:
    return verified.written(value) if isinstance(value, tuple) else str(value)


def _number(value: Extended) -> str:
    return "infinite" if value == INFINITE else written(Fraction(value))
