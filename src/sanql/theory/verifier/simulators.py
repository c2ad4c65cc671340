"""Claims that some simulator works, and that none works better.

A simulator is checked condition by condition. That none is better is shown by weights: alpha on
outputs of the real law, beta on those of the ideal one. With Q_k = sum_a W_k(a) s(a, .), every
simulator s within (gamma, delta) has

    delta * sum_k (max alpha_k + max beta_k)
        >= sum_k alpha_k (P_k - gamma Q_k) + beta_k (Q_k - gamma P_k)
        >= sum_k (alpha_k P_k - gamma beta_k P_k)
           + sum_a min_t sum_k W_k(a) (beta_k(t) - gamma alpha_k(t)).

An output beyond those that any condition allows would get alpha = 0 and the largest beta, which
changes no maximum and no minimum. The last line is concave in gamma.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from sanql.theory.verifier.arithmetic import NONE, Law, both, exceeds_below
from sanql.theory.verifier.reading import CertifiedChannel, Rejected, conditioned, number, simulated

Conditions: TypeAlias = Mapping[str, tuple[Law, Law]]
Rows: TypeAlias = Mapping[str, Law]
ROOT = Fraction(1, 2**80)
"""Within what a root is rounded up."""


def simulator(mechanism: CertifiedChannel, claim: dict[str, Any]) -> str:
    """Check a simulator at (gamma, delta), and that below `at_least` there is none."""
    conditions = simulated(mechanism, claim["family"] == "worlds")
    evidence, solved = claim["evidence"], claim["solved"]
    delta = number(claim["delta"])
    if claim["gamma"] == "infinite":
        if claim["family"] != "databases" or delta or not _excluded(conditions):
            raise Rejected("it is not shown that no level is enough")
        return "no level is enough: an output is possible on one database of a group only"
    gamma = number(claim["gamma"])
    rows = _rows(evidence["simulator"])
    worst = max(both(p, _ideal(given, rows), gamma) for p, given in conditions.values())
    if gamma < 1 or worst > delta or (solved == "delta" and worst != delta):
        raise Rejected("the simulator is further from the real laws than claimed, or nearer")
    least = number(claim["at_least"])
    attained = gamma == 1 or any(
        exceeds_below(p, _ideal(given, rows), gamma, delta) for p, given in conditions.values()
    )
    if solved == "delta":
        shown = _needs_delta(conditions, evidence["tests"], gamma, least)
    elif solved == "gamma" and "tests" in evidence:
        shown = attained and _needs_level(conditions, evidence["tests"], delta, least)
    else:
        shown = solved == "gamma" and delta == 0 and _closed_form(conditions, gamma, least)
    if not shown or least > (delta if solved == "delta" else gamma):
        raise Rejected("the tests do not rule out that less is enough")
    return f"holds, and no simulator has a {solved} below {claim['at_least']}"


def inference(mechanism: CertifiedChannel, claim: dict[str, Any]) -> str:
    """Check how often beliefs about a record differ between F and a simulator, in any world."""
    gamma, slack = number(claim["gamma"]), number(claim["delta_hat"])
    rows, failure = _rows(claim["evidence"]["simulator"]), number(claim["failure"])
    worst = NONE
    for world in range(len(mechanism.worlds)):
        bad: dict[tuple[str, str | None], Fraction] = {}
        for person in range(mechanism.people()):
            given = conditioned(mechanism, world, lambda x, i=person: x[i])
            for z, values in given.items():
                for t in mechanism.outputs:
                    real, ideal = _beliefs(mechanism, values, rows, person, t)
                    chance = sum(real.values(), NONE)
                    if chance and not _close(real, ideal, gamma, slack):
                        bad[t, z] = chance
        worst = max(worst, sum(bad.values(), NONE))
    if gamma < 1 or slack < 0 or worst > failure:
        raise Rejected("the simulator misleads more often than claimed")
    if claim["solved"] == "failure" and worst != failure:
        raise Rejected("the simulator misleads less often than claimed")
    return "holds; that no simulator does better is not part of the certificate"


def _rows(content: Any) -> Rows:
    rows = {a: {t: number(mass) for t, mass in row.items()} for a, row in content.items()}
    for row in rows.values():
        if not row or min(row.values()) < 0 or sum(row.values()) != 1:
            raise Rejected("a row of the simulator is no distribution")
    return rows


def _ideal(given: Law, rows: Rows) -> Law:
    law: dict[str, Fraction] = {}
    for a, weight in given.items():
        if a not in rows:
            raise Rejected(f"the simulator has no row for {a!r}")
        for t, mass in rows[a].items():
            law[t] = law.get(t, NONE) + weight * mass
    return law


def _excluded(conditions: Conditions) -> bool:
    """Whether one output is possible under one condition of an input and not under another."""
    groups: dict[str, list[Law]] = {}
    for p, given in conditions.values():
        groups.setdefault(next(iter(given)), []).append(p)
    supports = [[{t for t, mass in p.items() if mass} for p in group] for group in groups.values()]
    return any(one != group[0] for group in supports for one in group)


def _closed_form(conditions: Conditions, gamma: Fraction, level: Fraction) -> bool:
    """Whether one group of databases needs a level, at delta = 0, whatever the simulator.

    Its mass of t lies between max/gamma and gamma min, and the masses sum to 1. The level is gamma
    itself, or 2^-80 less where gamma is a root that was rounded up.
    """
    if level not in (gamma, gamma - ROOT):
        return False
    groups: dict[str, list[Law]] = {}
    for p, given in conditions.values():
        if len(given) != 1:
            raise Rejected("the closed form is for simulators of single databases")
        groups.setdefault(next(iter(given)), []).append(p)
    for group in groups.values():
        outputs = dict.fromkeys(t for p in group for t in p)
        high = {t: max(p.get(t, NONE) for p in group) for t in outputs}
        low = {t: min(p.get(t, NONE) for p in group) for t in outputs}
        if sum(high.values()) >= level or sum(low.values()) * level <= 1:
            return True
        if any(high[t] >= level**2 * low[t] > 0 for t in outputs):
            return True
    return False


def _needs_delta(conditions: Conditions, tests: Any, gamma: Fraction, delta: Fraction) -> bool:
    """Whether the tests show exactly this delta, no more and no less."""
    left, price = _left(conditions, tests, gamma)
    return max(left, NONE) == delta * price if tests else delta == 0


def _needs_level(conditions: Conditions, tests: Any, delta: Fraction, gamma: Fraction) -> bool:
    """Whether the bound crosses delta exactly here: above at 1, concave, so above all the way."""
    if not tests:
        return gamma == 1
    start, price = _left(conditions, tests, Fraction(1))
    end, _ = _left(conditions, tests, gamma)
    return gamma > 1 and start > delta * price and end == delta * price


def _left(conditions: Conditions, tests: Any, gamma: Fraction) -> tuple[Fraction, Fraction]:
    """Return the last line above, and what delta is multiplied with."""
    total, price = NONE, NONE
    inputs: dict[str, dict[str, Fraction]] = {}
    outputs = list(
        dict.fromkeys(t for p, _ in conditions.values() for t, mass in p.items() if mass)
    )
    for place, test in tests.items():
        if place not in conditions:
            raise Rejected(f"there is no condition {place}")
        p, given = conditions[place]
        alpha = {t: number(weight) for t, weight in test["real"].items()}
        beta = {t: number(weight) for t, weight in test["ideal"].items()}
        weights = [*alpha.values(), *beta.values()]
        if weights and min(weights) < 0:
            raise Rejected("a weight is below 0")
        if not {*alpha, *beta} <= set(outputs):
            raise Rejected("a weight is on an output that no condition has")
        price += max(alpha.values(), default=NONE) + max(beta.values(), default=NONE)
        for t, mass in p.items():
            total += mass * (alpha.get(t, NONE) - gamma * beta.get(t, NONE))
        for a, mass in given.items():
            row = inputs.setdefault(a, dict.fromkeys(outputs, NONE))
            for t in outputs:
                row[t] += mass * (beta.get(t, NONE) - gamma * alpha.get(t, NONE))
    return total + sum((min(row.values()) for row in inputs.values()), NONE), price


def _beliefs(
    mechanism: CertifiedChannel, values: Any, rows: Rows, person: int, t: str
) -> tuple[Law, Law]:
    """Return Pr[v, t] for each value of a record, really and simulated."""
    real: dict[str, Fraction] = {}
    ideal: dict[str, Fraction] = {}
    for v, cell in values.items():
        real[v] = sum((m * mechanism.rows[x].get(t, NONE) for x, m in cell.items()), NONE)
        ideal[v] = NONE
        for x, mass in cell.items():
            told = f"{person + 1}: {','.join(x[:person] + x[person + 1 :])}"
            if told not in rows:
                raise Rejected(f"the simulator has no row for {told!r}")
            ideal[v] += mass * rows[told].get(t, NONE)
    return real, ideal


def _close(real: Law, ideal: Law, gamma: Fraction, slack: Fraction) -> bool:
    whole, other = sum(real.values(), NONE), sum(ideal.values(), NONE)
    if not other:
        return False
    p = {v: mass / whole for v, mass in real.items()}
    return both(p, {v: mass / other for v, mass in ideal.items()}, gamma) <= slack
