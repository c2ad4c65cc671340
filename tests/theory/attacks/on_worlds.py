"""Attacks on what is said about coupled worlds, noiseless privacy and Pufferfish."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

from sanql.theory.exact import float_upper, log_upper
from sanql.theory.implications.guarantees import Setting
from theory.attacks.engine import (
    Attack,
    Genome,
    Reached,
    are_far,
    conclude,
    delta_between,
    delta_of,
    gamma_of,
    laws,
    level_gene,
    share_gene,
    weights,
)

BITS = list(product((0, 1), repeat=2))
Rows = list[list[int]]
Joint = dict[tuple[int, int], int]


@dataclass(frozen=True)
class Condition:
    """What an attacker may know of a person, and the laws of the output given it, as weights.

    Rows have one common sum, so at one output the weights of several conditions are what Bayes'
    rule compares.
    """

    person: int
    side: int
    real: list[int]
    ideal: list[int]


LONG_CHAIN = (
    *(8, 16, 1, 1, 1, 1, 1, 23),  # 0, 0 and 1, 1 happen: their laws are a factor of 8 apart,
    *(4, 20, 2, 22, 4, 20, 2, 22),  # and three factors of 2 lead from one to the other
    *(1, 0, 0, 0, 0, 0, 1, 0),
    *(2, 2),
)


def _setup(genome: Genome) -> tuple[Rows, Rows, Joint] | None:
    """Two bits, side information in {0, 1}, two outputs: rows, simulator rows, joint law."""
    rows, simulator = weights(genome[:8], 4, 2), weights(genome[8:16], 4, 2)
    joint = genome[16:24]
    if rows is None or simulator is None or not any(joint):
        return None
    return rows, simulator, _cells(joint)


def _cells(joint: Sequence[int]) -> Joint:
    return {(x, z): joint[2 * x + z] for x in range(4) for z in (0, 1)}


def _conditions(rows: Rows, simulator: Rows, joint: Joint) -> list[Condition]:
    """Return every condition that can happen."""
    found = []
    for person, value, z in product((0, 1), repeat=3):
        real, ideal = [0, 0], [0, 0]
        for x in range(4):
            mass = joint[x, z]
            if BITS[x][person] == value and mass:
                simulated = simulator[2 * person + BITS[x][1 - person]]
                for t in (0, 1):
                    real[t] += mass * rows[x][t]
                    ideal[t] += mass * simulated[t]
        if any(real):
            found.append(Condition(person, z, real, ideal))
    return found


def _inference_failure(
    rows: Rows, simulator: Rows, joint: Joint, gamma: Fraction, slack: Fraction
) -> Fraction:
    failed = 0
    conditions = _conditions(rows, simulator, joint)
    for t, z in product((0, 1), repeat=2):
        for person in (0, 1):
            here = [c for c in conditions if (c.person, c.side) == (person, z)]
            real, ideal = [c.real[t] for c in here], [c.ideal[t] for c in here]
            if any(real) and (not any(ideal) or are_far(real, ideal, gamma, slack)):
                failed += sum(real)
                break
    return Fraction(failed, sum(joint.values()) * sum(rows[0]))


def _worst(conditions: list[Condition], gamma: Fraction) -> Fraction:
    return max(delta_of(c.real, c.ideal, gamma) for c in conditions)


def coupled_worlds_give_inference(genome: Genome) -> Reached | None:
    found = _setup(genome)
    if found is None:
        return None
    (rows, simulator, joint), gamma = found, level_gene(genome[24])
    delta = _worst(_conditions(rows, simulator, joint), gamma)
    slack = float(share_gene(genome[25])) if genome[25] % 2 else None
    setting = Setting(records=2, protections=2, delta_hat=slack)
    out = conclude("cw-thm-1", "ddp", gamma, setting, delta=delta)
    if out["failure"] == 1:
        return None  # it says nothing here
    general = conclude("cw-thm-2", "coupled_worlds", gamma, setting, delta=delta)
    assert general.parameters == out.parameters
    top = Fraction(gamma_of(out))
    failed = _inference_failure(rows, simulator, joint, top, Fraction(out["delta_hat"]))
    return failed, out.exact("failure")


def privacy_gives_ddp_in_every_world(genome: Genome) -> Reached | None:
    found = _setup(genome)
    if found is None:
        return None
    rows, _, joint = found
    gamma = level_gene(genome[24])
    near = [(0, 1), (0, 2), (1, 3), (2, 3)]
    delta = max(delta_of(rows[x], rows[y], gamma) for x, y in near)
    inserted = [rows[BITS.index((0, v))] for v in (0, 1)] + [
        rows[BITS.index((v, 0))] for v in (0, 1)
    ]
    out = conclude("cw-dp-ddp", "approximate_dp", gamma, delta=delta)
    stated = Setting(record_protections=True)
    same = conclude("cw-ddp", "coupled_worlds", gamma, stated, delta=delta)
    assert same.parameters == out.parameters
    top = Fraction(gamma_of(out))
    return _worst(_conditions(rows, inserted, joint), top), out.exact("delta")


def _alike(conditions: list[Condition]) -> list[tuple[Condition, Condition]]:
    """Return the pairs about one person and one side information."""
    return [
        (a, b) for a, b in combinations(conditions, 2) if (a.person, a.side) == (b.person, b.side)
    ]


def _noiseless(rows: Rows, joint: Joint, gamma: Fraction) -> Fraction:
    pairs = _alike(_conditions(rows, rows, joint))
    return max((delta_of(a.real, b.real, gamma) for a, b in pairs), default=Fraction(0))


def close_simulations_give_noiseless_privacy(genome: Genome) -> Reached | None:
    found = _setup(genome)
    if found is None:
        return None
    rows, simulator, joint = found
    gamma, middle = level_gene(genome[24]), level_gene(genome[25])
    conditions = _conditions(rows, simulator, joint)
    delta = _worst(conditions, gamma)
    links = [delta_of(a.ideal, b.ideal, middle) for a, b in _alike(conditions)]
    setting = Setting(
        simulator_epsilon=log_upper(middle),
        simulator_delta=min(1.0, float_upper(max(links, default=Fraction(0)))),
    )
    out = conclude("cw-cor-1", "ddp", gamma, setting, delta=delta)
    if out["delta"] == 1:
        return None  # it says nothing here
    secret = conclude("cw-thm-16", "coupled_worlds", gamma, setting, delta=delta)
    assert secret.parameters == out.parameters
    return _noiseless(rows, joint, Fraction(gamma_of(out))), out.exact("delta")


def independent_records_give_noiseless_privacy(genome: Genome) -> Reached | None:
    rows, simulator = weights(genome[:8], 4, 2), weights(genome[8:16], 4, 2)
    parts = weights(genome[16:24], 4, 2)
    side = genome[24:26]
    if rows is None or simulator is None or parts is None or not any(side):
        return None
    joint = {
        (x, z): side[z] * parts[2 * z][BITS[x][0]] * parts[2 * z + 1][BITS[x][1]]
        for x in range(4)
        for z in (0, 1)
    }
    gamma = level_gene(genome[26])
    delta = _worst(_conditions(rows, simulator, joint), gamma)
    out = conclude("cw-cor-2", "ddp", gamma, Setting(independent_records=True), delta=delta)
    if out["delta"] == 1:
        return None  # it says nothing here
    return _noiseless(rows, joint, Fraction(gamma_of(out))), out.exact("delta")


def binary_secrets_are_hard_to_infer(genome: Genome) -> Reached | None:
    rows = laws(genome[:8], 2, 4)
    if rows is None:
        return None
    prior, gamma = share_gene(genome[8]), level_gene(genome[9])
    delta = delta_between(rows[0], rows[1], gamma)
    slack = float(share_gene(genome[10])) if genome[10] % 2 else None
    setting = Setting(binary_secrets=True, delta_hat=slack)
    out = conclude("cw-thm-7", "pufferfish", gamma, setting, delta=delta)
    if out["failure"] == 1:
        return None  # it says nothing here
    failed = Fraction(0)
    for a, b in zip(*rows, strict=True):
        mass = prior * a + (1 - prior) * b
        if mass:
            after = prior * a / mass
            gap = delta_between([after, 1 - after], [prior, 1 - prior], Fraction(gamma_of(out)))
            failed += mass if gap > Fraction(out["delta_hat"]) else 0
    return failed, out.exact("failure")


def same_simulator_survives_processing_mixing_and_forgetting(genome: Genome) -> Reached | None:
    """Theorems 3, 4, 5: post-processing, convex combinations, less side information."""
    found = _setup(genome)
    other = genome[24:32]
    kernel = weights(genome[32:36], 2, 2)
    if found is None or not any(other) or kernel is None:
        return None
    rows, simulator, joint = found
    second = _cells(other)
    gamma, share = level_gene(genome[36]), share_gene(genome[37])

    def delta(f: Rows, s: Rows, j: Joint) -> Fraction:
        return _worst(_conditions(f, s, j), gamma)

    allowed = max(delta(rows, simulator, joint), delta(rows, simulator, second))

    def processed(table: Rows) -> Rows:
        return [[sum(row[t] * kernel[t][u] for t in (0, 1)) for u in (0, 1)] for row in table]

    own = share.numerator * sum(other)
    rest = (share.denominator - share.numerator) * sum(joint.values())
    mixed = {cell: own * joint[cell] + rest * second[cell] for cell in joint}
    forgotten = dict.fromkeys(joint, 0)
    for (x, z), mass in mixed.items():
        for less in (0, 1):
            forgotten[x, less] += mass * kernel[z][less]
    reached = max(
        delta(processed(rows), processed(simulator), joint),
        delta(rows, simulator, mixed),
        delta(rows, simulator, forgotten),
    )
    return reached, allowed


ATTACKS = [
    Attack(("cw-thm-1", "cw-thm-2"), 26, coupled_worlds_give_inference, rows=8, row=2),
    Attack(("cw-dp-ddp", "cw-ddp"), 25, privacy_gives_ddp_in_every_world, rows=4, row=2),
    Attack(
        ("cw-cor-1", "cw-thm-16"),
        26,
        close_simulations_give_noiseless_privacy,
        rows=8,
        row=2,
        openings=(LONG_CHAIN,),
    ),
    Attack(
        ("cw-cor-2",), 27, independent_records_give_noiseless_privacy, rows=8, row=2, tight=True
    ),
    Attack(("cw-thm-7",), 11, binary_secrets_are_hard_to_infer, rows=2, row=4),
    Attack(
        ("theorems 3, 4, 5",),
        38,
        same_simulator_survives_processing_mixing_and_forgetting,
        rows=8,
        row=2,
    ),
]
