"""A budget stated as an attacker: what may be learned of a unit decides epsilon."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from sanql.policy.keys import KEYS
from sanql.policy.model import Neighbours, StatedAttacker
from sanql.policy.section import Mistake, Section
from sanql.policy.values import integer_between, parse_number
from sanql.theory.choose import GROUP_MAX, Attacker
from sanql.theory.errors import TheoryError
from sanql.theory.exact import exp_upper

_REMEDY = "write attacker = { prior = 0.1, posterior_at_most = 0.2 }"
_PLACES = 10**6


def read_attacker(
    budget: Section, neighbours: Neighbours | None, delta: Fraction | None
) -> Fraction | None:
    """Return the epsilon of a budget whose attacker may learn no more than is stated.

    What somebody's data are differs by one step between neighbours under change-one, by two (out, and
    in again) under add-remove; a group of k by k times as many. At n steps of (epsilon, delta) the
    attacker faces (n·epsilon, delta·Σ e^(i·epsilon), i < n), so that sum is what his delta is.
    """
    section = budget.section("attacker", _REMEDY)
    if section is None:
        return None
    section.allow(KEYS["attacker"])
    stated: dict[str, Any] = {
        key: section.read(key, parse_number, "write a probability such as 0.1")
        for key in KEYS["attacker"]
        if key != "group_of"
    }
    group = section.read("group_of", integer_between(1, GROUP_MAX), "write how many people") or 1
    if neighbours is None or delta is None:
        return None
    steps = group if neighbours == "change-one" else 2 * group
    failure = stated.pop("failure")
    try:
        attacker = Attacker(**stated, group_of=steps)
        if delta > 0:
            gamma = Fraction(exp_upper(attacker.epsilon))
            faced = delta * sum((gamma**i for i in range(steps)), Fraction(0))
            attacker = Attacker(
                **stated, group_of=steps, delta=min(faced, Fraction(1)), failure=failure
            )
        elif failure is not None:
            attacker = Attacker(**stated, group_of=steps, failure=failure)
    except TheoryError as error:
        budget.fault("attacker", error.message, error.remedy)
        return None
    epsilon = Fraction(math.floor(Fraction(attacker.epsilon) * _PLACES), _PLACES)
    if epsilon <= 0:
        budget.fault("attacker", "no epsilon of six places keeps the attacker to that", _REMEDY)
        return None
    return epsilon


def stated_attackers(root: Section) -> dict[str, StatedAttacker]:
    """Return the attackers of budgets, by "dataset", "analyst NAME" and "coalition NAME".

    What cannot be read has left a fault where budgets were read.
    """
    places = {"dataset": root.content.get("dataset")}
    for kind in ("analyst", "coalition"):
        named = root.content.get(kind)
        if isinstance(named, Mapping):
            places |= {f"{kind} {name}": declared for name, declared in named.items()}
    found = {name: _stated(declared) for name, declared in places.items()}
    return {name: attacker for name, attacker in found.items() if attacker is not None}


def _stated(declared: object) -> StatedAttacker | None:
    for key in ("budget", "attacker"):
        declared = declared.get(key) if isinstance(declared, Mapping) else None
    if not isinstance(declared, Mapping):
        return None
    try:
        numbers = {
            key: parse_number(declared[key])
            for key in ("prior", "posterior_at_most", "false_alarms", "hits_at_most")
            if key in declared
        }
        group = integer_between(1, GROUP_MAX)(declared.get("group_of", 1))
    except Mistake:
        return None
    return StatedAttacker(**numbers, group_of=group)
